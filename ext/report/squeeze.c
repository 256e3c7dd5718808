/* squeeze.c: reads a JavaScript module token by token and writes it without comments and needless space: see squeeze.h.
**
** Strings, templates and regular expressions stay byte by byte; code within a template is code.  Imports and the word
** `export` go, since all modules of the page become one function.  A slash begins a regular expression where no value
** stands before it; after `)` that depends on the word before its `(`.  After `}` nobody knows without a parser: an
** error, which parentheses around the expression mend.  A space stays where its neighbours would become one token; a
** newline, also of a comment, stays unless the statement cannot end there (after a separator or an operator), needs
** none to end (before `}`) or cannot begin there (before `)`, `]`, `,`).  A semicolon before `}` goes where a value
** ends before it, as that of an empty statement does not; so do parentheses around the one name before `=>`.
*/
#include "report/squeeze.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { MAXIMUM_DEPTH = 256 };

struct squeezer {
  const char *source;
  size_t at, length;
  char *out;
  size_t written;
  const char *error;
  bool has_space, has_newline; /* since the last token */
  bool after_value;            /* a slash divides */
  bool after_number, after_brace;
  bool is_ended;    /* the last token is the semicolon of a statement that ends in a value */
  const char *word; /* the last token, where it was a word; its length */
  size_t word_length;
  bool is_member; /* that word came after a dot */
  size_t depth;
  char openers[MAXIMUM_DEPTH]; /* ( [ {, c: the parenthesis of a condition, $: code in a template */
};

static bool is_word_byte(char byte) { return isalnum((unsigned char)byte) || strchr("_$#", byte) || (byte & 0x80); }

static bool is_in_text(const char *word, size_t length, const char *const *words) {
  for (; *words; words++)
    if (strlen(*words) == length && memcmp(word, *words, length) == 0) return true;
  return false;
}

static char byte_at(const struct squeezer *s, size_t at) { return at < s->length ? s->source[at] : 0; }

/* Space and comments. */
static void skip_space(struct squeezer *s) {
  for (; s->at < s->length; s->at++) {
    char byte = s->source[s->at], next = byte_at(s, s->at + 1);
    if (byte == '/' && next == '/') {
      while (byte_at(s, s->at + 1) && byte_at(s, s->at + 1) != '\n') s->at++;
    } else if (byte == '/' && next == '*') {
      const char *end = strstr(s->source + s->at + 2, "*/");
      if (!end) {
        s->error = "a comment that does not end";
        return;
      }
      s->has_newline |= memchr(s->source + s->at, '\n', (size_t)(end - s->source) - s->at) != NULL;
      s->at = (size_t)(end - s->source) + 1;
    } else if (byte == '\n') {
      s->has_newline = true;
    } else if (!strchr(" \t\r", byte)) {
      return;
    }
    s->has_space = true;
  }
}

/* What stays of the space between what is written and the token that comes. */
static void write_space(struct squeezer *s) {
  char last = s->written ? s->out[s->written - 1] : ';', next = byte_at(s, s->at);
  char before = s->written > 1 ? s->out[s->written - 2] : ' ';
  bool is_step = (last == '+' || last == '-') && before == last;
  /* A value may end in a regular expression, whose last byte looks like an operator. */
  bool goes_on = !s->after_value && !is_step && strchr(",;{([&|?:=<>*%^~!+-", last);
  if (s->has_newline && !goes_on && !(strchr(")],}", next) && next)) {
    s->out[s->written++] = '\n';
  } else if (s->has_space) {
    bool is_parted = strchr("()[]{},;", last) || (strchr("()[]{},;'\"`", next) && next);
    bool is_joined = is_word_byte(last) && is_word_byte(next);
    bool is_number = s->after_number && next == '.';
    bool is_operators = !is_word_byte(last) && !is_word_byte(next) && !strchr("'\"`", last) &&
                        !(strchr("=&|?:*%>", last) && strchr("-+!~", next)) && !(strchr("=&|?:", last) && next == '/');
    bool is_regex_end = last == '/' && s->after_value && is_word_byte(next);
    bool is_mark = last == '?' && next == '.'; /* of `a ? .5 : b` */
    if (is_joined || is_number || is_regex_end || is_mark || (is_operators && !is_parted)) s->out[s->written++] = ' ';
  }
  s->has_space = s->has_newline = false;
}

static void write_until(struct squeezer *s, size_t end) {
  memcpy(s->out + s->written, s->source + s->at, end - s->at);
  s->written += end - s->at;
  s->at = end;
}

static void end_token(struct squeezer *s, bool after_value) {
  s->after_value = after_value;
  s->after_number = s->after_brace = s->is_member = s->is_ended = false;
  s->word = NULL;
}

static void take_string(struct squeezer *s) {
  char quote = s->source[s->at];
  size_t end = s->at + 1;
  while (end < s->length && s->source[end] != quote && s->source[end] != '\n') end += s->source[end] == '\\' ? 2 : 1;
  if (byte_at(s, end) != quote) {
    s->error = "a string that does not end on its line";
    return;
  }
  write_until(s, end + 1);
  end_token(s, true);
}

/* To the template's end, or to code in it. The place is behind its opening or the code before. */
static void take_template(struct squeezer *s) {
  size_t end = s->at;
  while (end < s->length && s->source[end] != '`' && !(s->source[end] == '$' && byte_at(s, end + 1) == '{'))
    end += s->source[end] == '\\' ? 2 : 1;
  if (end >= s->length) {
    s->error = "a template that does not end";
  } else if (s->source[end] == '`') {
    write_until(s, end + 1);
    end_token(s, true);
  } else if (s->depth == MAXIMUM_DEPTH) {
    s->error = "nested too deep";
  } else {
    write_until(s, end + 2);
    s->openers[s->depth++] = '$';
    end_token(s, false);
  }
}

static void take_regex(struct squeezer *s) {
  bool in_class = false;
  size_t end = s->at + 1;
  for (; end < s->length && s->source[end] != '\n' && (in_class || s->source[end] != '/'); end++) {
    if (s->source[end] == '\\') end++;
    else if (s->source[end] == '[') in_class = true;
    else if (s->source[end] == ']') in_class = false;
  }
  if (byte_at(s, end) != '/') {
    s->error = "a regular expression that does not end on its line";
    return;
  }
  for (end++; end < s->length && is_word_byte(s->source[end]);) end++;
  write_until(s, end);
  end_token(s, true);
}

static void take_word(struct squeezer *s) {
  static const char *const operators[] = {"return", "typeof", "case", "in",         "of",    "do",    "else", "void",
                                          "delete", "throw",  "new",  "instanceof", "yield", "await", NULL};
  size_t start = s->at, end = start;
  bool is_number = isdigit((unsigned char)s->source[start]);
  bool is_member = s->written && s->out[s->written - 1] == '.' && !(s->written > 1 && s->out[s->written - 2] == '.');
  while (end < s->length && (is_word_byte(s->source[end]) || (is_number && s->source[end] == '.') ||
                             (is_number && strchr("+-", s->source[end]) && strchr("eE", s->source[end - 1]) &&
                              s->source[start + 1] != 'x')))
    end++;
  write_until(s, end);
  end_token(s, is_number || is_member || !is_in_text(s->source + start, end - start, operators));
  s->after_number = is_number;
  if (is_number) return;
  s->word = s->source + start;
  s->word_length = end - start;
  s->is_member = is_member;
}

static void take_opener(struct squeezer *s) {
  static const char *const conditions[] = {"if", "while", "for", "with", NULL};
  char kind = s->source[s->at];
  if (kind == '(' && s->word && !s->is_member && is_in_text(s->word, s->word_length, conditions)) kind = 'c';
  if (s->depth == MAXIMUM_DEPTH) {
    s->error = "nested too deep";
    return;
  }
  s->openers[s->depth++] = kind;
  write_until(s, s->at + 1);
  end_token(s, false);
}

static void take_closer(struct squeezer *s) {
  char byte = s->source[s->at], kind = s->depth ? s->openers[s->depth - 1] : 0;
  if (!kind || !strchr(byte == ')' ? "(c" : byte == ']' ? "[" : "{$", kind)) {
    s->error = "a bracket that closes another";
    return;
  }
  s->depth--;
  if (byte == '}' && kind == '{' && s->is_ended) s->written--;
  write_until(s, s->at + 1);
  if (kind == '$') {
    take_template(s);
  } else {
    end_token(s, kind != 'c');
    s->after_brace = byte == '}';
  }
}

/* `(name)` that is written, as `name`. */
static void bare_parameter(struct squeezer *s) {
  size_t end = s->written - 1, start = end;
  while (start && is_word_byte(s->out[start - 1])) start--;
  if (start == end || !start || s->out[start - 1] != '(' || (start > 1 && is_word_byte(s->out[start - 2]))) return;
  memmove(s->out + start - 1, s->out + start, end - start);
  s->written -= 2;
}

static void take_operator(struct squeezer *s) {
  char byte = s->source[s->at];
  bool is_ended = byte == ';' && s->after_value;
  if (byte == '=' && byte_at(s, s->at + 1) == '>' && s->written && s->out[s->written - 1] == ')') bare_parameter(s);
  bool is_step = (byte == '+' || byte == '-') && byte_at(s, s->at + 1) == byte;
  bool after_value = is_step && s->after_value; /* of `i++ / 2` */
  write_until(s, s->at + (is_step ? 2 : 1));
  end_token(s, after_value);
  s->is_ended = is_ended;
}

/* An import, or the word `export`: whether there was one. */
static bool skip_module_words(struct squeezer *s) {
  const char *line = s->source + s->at;
  if (s->depth || (s->at && line[-1] != '\n')) return false;
  if (strncmp(line, "export ", 7) == 0) {
    static const char *const kinds[] = {"async", "class", "const", "function", "let", NULL};
    s->at += 7;
    if (!is_in_text(line + 7, strcspn(line + 7, " "), kinds)) s->error = "an export of another kind than a declaration";
    s->has_newline = s->has_space = true;
    return true;
  }
  if (strncmp(line, "import ", 7) != 0) return false;
  size_t size = strcspn(line, ";");
  if (!line[size]) s->error = "an import that does not end";
  else s->at += size + 1;
  return true;
}

size_t squeeze_module(char *out, const char *source, size_t length, const char **error, size_t *place) {
  struct squeezer s = {.source = source, .length = length, .out = out};
  for (;;) {
    skip_space(&s);
    if (s.error || s.at >= length) break;
    if (skip_module_words(&s)) {
      if (s.error) break;
      continue;
    }
    write_space(&s);
    char byte = source[s.at];
    if (byte == '"' || byte == '\'') {
      take_string(&s);
    } else if (byte == '`') {
      write_until(&s, s.at + 1);
      take_template(&s);
    } else if (byte == '/' && s.after_brace) {
      s.error = "a slash after a brace, which may divide or begin a regular expression: put parentheses";
    } else if (byte == '/' && !s.after_value) {
      take_regex(&s);
    } else if (is_word_byte(byte)) {
      take_word(&s);
    } else if (strchr("([{", byte)) {
      take_opener(&s);
    } else if (strchr(")]}", byte)) {
      take_closer(&s);
    } else {
      take_operator(&s);
    }
    if (s.error) break;
  }
  if (!s.error && s.depth) s.error = "a bracket that is not closed";
  *error = s.error;
  *place = s.at;
  out[s.written] = 0;
  return s.written;
}
