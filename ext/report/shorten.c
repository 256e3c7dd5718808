/* shorten.c: gives what a script binds (constants, functions, classes, parameters) names of one or two letters, the
** most used the shortest: see shorten.h.
**
** The same name is the same short one wherever it stands, so that what hides what stays as it was.  A name must be
** known as one for that: words after a dot, keys of objects and methods of classes are none, and `{ a }` becomes
** `{a:b}`.
** Which brace is an object and which a block is told by the token before it.
**
** What the browser gives (document, Math) is bound nowhere and stays.  A name that is bound in one place and stands in
** another where no binding reaches means there what the browser gives: it stays everywhere.  How far a binding reaches
** is taken as too far rather than too short: to the end of the block.
*/
#include "report/shorten.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 4096, MOST_REGIONS = 1 << 15, MOST_LETTERS = 3 };

/* A word that is a name somewhere. */
struct name {
  const char *text;
  size_t length, count; /* of the times that it stands for a value */
  size_t first_region;  /* plus 1 */
  bool is_bound, is_kept;
  char short_text[MOST_LETTERS + 1];
};

/* Tokens in which a binding is seen. */
struct region {
  size_t from, to;
  size_t next; /* of the same name, plus 1 */
};

enum brace { NO_BRACE, BRACE_BLOCK, BRACE_OBJECT, BRACE_CLASS };
enum use { USE_NONE, USE_VALUE, USE_SHORTHAND };

struct shortener {
  const char *script;
  const struct script_token *tokens;
  size_t count;
  size_t *partner; /* of brackets */
  size_t *opener;  /* plus 1, of the innermost bracket around a token */
  uint8_t *brace, *use;
  struct name names[MOST_NAMES];
  size_t name_count;
  struct region regions[MOST_REGIONS];
  size_t region_count;
  const char *error;
  size_t place;
};

static const char *const reserved[] = {
    "async",  "await",     "break",  "case",   "catch",      "class", "const",   "continue", "default",
    "delete", "do",        "else",   "export", "extends",    "false", "finally", "for",      "function",
    "get",    "if",        "import", "in",     "instanceof", "let",   "new",     "null",     "of",
    "return", "set",       "static", "super",  "switch",     "this",  "throw",   "true",     "try",
    "typeof", "undefined", "var",    "void",   "while",      "with",  "yield",   NULL};

static void give_up(struct shortener *s, size_t token, const char *error) {
  if (s->error) return;
  s->error = error;
  s->place = token < s->count ? s->tokens[token].at : 0;
}

/* ---- tokens ---- */

static bool has_text(const struct shortener *s, size_t token, const char *text) {
  if (token >= s->count) return false;
  const struct script_token *t = &s->tokens[token];
  return t->length == strlen(text) && memcmp(s->script + t->at, text, t->length) == 0;
}

static bool has_text_among(const struct shortener *s, size_t token, const char *const *texts) {
  for (; *texts; texts++)
    if (has_text(s, token, *texts)) return true;
  return false;
}

static bool is_bare_word(const struct shortener *s, size_t token) {
  return token < s->count && s->tokens[token].kind == TOKEN_WORD && !s->tokens[token].is_member;
}

static bool is_arrow(const struct shortener *s, size_t token) {
  return has_text(s, token, "=") && has_text(s, token + 1, ">") && s->tokens[token + 1].at == s->tokens[token].at + 1;
}

/* `=` that gives a value, not a part of `==` or `=>`. */
static bool is_default(const struct shortener *s, size_t token) {
  if (!has_text(s, token, "=") || is_arrow(s, token)) return false;
  return !(has_text(s, token + 1, "=") && s->tokens[token + 1].at == s->tokens[token].at + 1);
}

static bool is_opener(const struct shortener *s, size_t token) {
  return token < s->count && s->tokens[token].kind == TOKEN_OPENER;
}

/* ---- brackets and braces ---- */

static enum brace brace_of(const struct shortener *s, size_t token) {
  static const char *const words[] = {"else", "try", "do", "finally", NULL};
  size_t before = token - 1;
  if (token == 0 || has_text(s, before, ";") || has_text(s, before, ")") || has_text(s, before, "}"))
    return BRACE_BLOCK;
  if (has_text(s, before, ">") && before && is_arrow(s, before - 1)) return BRACE_BLOCK;
  if (has_text(s, before, "{")) return s->brace[before] == BRACE_BLOCK ? BRACE_BLOCK : BRACE_OBJECT;
  if (is_bare_word(s, before) && has_text_among(s, before, words)) return BRACE_BLOCK;
  bool is_class =
      is_bare_word(s, before) && before && (has_text(s, before - 1, "class") || has_text(s, before - 1, "extends"));
  return is_class ? BRACE_CLASS : BRACE_OBJECT;
}

static void match_brackets(struct shortener *s) {
  size_t innermost = 0;
  for (size_t i = 0; i < s->count; i++) {
    if (s->tokens[i].kind == TOKEN_CLOSER && innermost) {
      s->partner[i] = innermost - 1;
      s->partner[innermost - 1] = i;
      innermost = s->opener[innermost - 1];
    }
    s->opener[i] = innermost;
    if (!is_opener(s, i)) continue;
    s->brace[i] = has_text(s, i, "{") ? (uint8_t)brace_of(s, i) : NO_BRACE;
    innermost = i + 1;
  }
}

/* Whether a word stands for a value; where it is a key, too, as that. */
static enum use use_of(struct shortener *s, size_t token) {
  static const char *const modifiers[] = {"get", "set", "async", NULL};
  if (!is_bare_word(s, token) || has_text_among(s, token, reserved)) return USE_NONE;
  size_t opener = s->opener[token];
  enum brace brace = opener ? (enum brace)s->brace[opener - 1] : NO_BRACE;
  if (brace == BRACE_CLASS) {
    if (!has_text(s, token + 1, "(")) give_up(s, token, "a class with something else than methods");
    return USE_NONE;
  }
  if (brace != BRACE_OBJECT) return USE_VALUE;
  size_t before = token - 1; /* there is the brace */
  bool is_modified = has_text_among(s, before, modifiers) && has_text(s, token + 1, "(");
  if (!is_modified && before != opener - 1 && !has_text(s, before, ",")) return USE_VALUE;
  if (is_modified || has_text(s, token + 1, ":") || has_text(s, token + 1, "(")) return USE_NONE;
  if (has_text(s, token + 1, ",") || has_text(s, token + 1, "}") || is_default(s, token + 1)) return USE_SHORTHAND;
  give_up(s, token, "neither a key nor a value: what is this brace? Parentheses or a name tell");
  return USE_NONE;
}

/* ---- names ---- */

static struct name *find_name(struct shortener *s, size_t token) {
  const struct script_token *t = &s->tokens[token];
  const char *text = s->script + t->at;
  for (size_t i = 0; i < s->name_count; i++)
    if (s->names[i].length == t->length && memcmp(s->names[i].text, text, t->length) == 0) return &s->names[i];
  if (s->name_count == MOST_NAMES) {
    give_up(s, token, "more names than there is room for");
    return &s->names[0];
  }
  s->names[s->name_count] = (struct name){.text = text, .length = t->length};
  return &s->names[s->name_count++];
}

static void bind_name(struct shortener *s, size_t token, size_t from, size_t to) {
  if (!is_bare_word(s, token) || has_text_among(s, token, reserved)) return;
  struct name *name = find_name(s, token);
  if (s->region_count == MOST_REGIONS) {
    give_up(s, token, "more bindings than there is room for");
    return;
  }
  name->is_bound = true;
  s->regions[s->region_count++] = (struct region){from, to, name->first_region};
  name->first_region = s->region_count;
}

/* Behind the value that begins there, within the same bracket. */
static size_t skip_value(const struct shortener *s, size_t token, size_t to) {
  while (token < to && !has_text(s, token, ",") && !has_text(s, token, ";") && s->tokens[token].kind != TOKEN_CLOSER)
    token = is_opener(s, token) ? s->partner[token] + 1 : token + 1;
  return token;
}

/* The names of patterns that are parted by commas, as parameters are; behind the last. */
static size_t bind_patterns(struct shortener *s, size_t token, size_t to, size_t region_from, size_t region_to) {
  while (token < to && !s->error) {
    while (has_text(s, token, ".") || has_text(s, token, ",")) token++;
    if (is_bare_word(s, token) && has_text(s, token + 1, ":")) token += 2; /* a key */
    if (token >= to) break;
    if (is_opener(s, token)) {
      bind_patterns(s, token + 1, s->partner[token], region_from, region_to);
      token = s->partner[token] + 1;
    } else {
      bind_name(s, token++, region_from, region_to);
    }
    if (is_default(s, token)) token = skip_value(s, token + 1, to);
    if (!has_text(s, token, ",")) break;
  }
  return token;
}

/* The block around a token: that of a `for` for what it declares in its parentheses. */
static void find_block(const struct shortener *s, size_t token, size_t *from, size_t *to) {
  size_t opener = s->opener[token];
  while (opener && s->brace[opener - 1] == NO_BRACE) opener = s->opener[opener - 1];
  *from = opener ? opener - 1 : 0;
  *to = opener ? s->partner[opener - 1] : s->count;
}

static void bind_arrow(struct shortener *s, size_t arrow) {
  size_t first = arrow - 1, body = arrow + 2;
  if (has_text(s, first, ")")) first = s->partner[first];
  size_t end = is_opener(s, body) && s->brace[body] == BRACE_BLOCK ? s->partner[body] : skip_value(s, body, s->count);
  if (first == arrow - 1) bind_name(s, first, first, end);
  else bind_patterns(s, first + 1, arrow - 1, first, end);
}

/* Parameters of functions, methods and `catch`: `)` before the brace of a block. */
static void bind_parameters(struct shortener *s, size_t closer) {
  static const char *const statements[] = {"if", "while", "for", "switch", "with", NULL};
  size_t first = s->partner[closer];
  if (!first || s->tokens[first - 1].kind != TOKEN_WORD) return;
  if (!s->tokens[first - 1].is_member && has_text_among(s, first - 1, statements)) return;
  bind_patterns(s, first + 1, closer, first, s->partner[closer + 1]);
}

static void bind_all(struct shortener *s) {
  for (size_t i = 0; i < s->count && !s->error; i++) {
    size_t from, to;
    if (is_arrow(s, i) && i) {
      bind_arrow(s, i);
    } else if (has_text(s, i, ")") && has_text(s, i + 1, "{")) {
      bind_parameters(s, i);
    } else if (is_bare_word(s, i) && (has_text(s, i, "const") || has_text(s, i, "let"))) {
      if (s->opener[i] && s->brace[s->opener[i] - 1] == BRACE_OBJECT) give_up(s, i, "a declaration in an object");
      find_block(s, i, &from, &to);
      bind_patterns(s, i + 1, s->count, from, to);
    } else if (is_bare_word(s, i) && (has_text(s, i, "function") || has_text(s, i, "class"))) {
      find_block(s, i, &from, &to);
      bind_name(s, i + 1, from, to);
    }
  }
}

/* Counts what stands for values, and keeps what stands where no binding reaches. */
static void use_all(struct shortener *s) {
  for (size_t i = 0; i < s->count && !s->error; i++) {
    s->use[i] = (uint8_t)use_of(s, i);
    if (s->use[i] == USE_NONE) continue;
    struct name *name = find_name(s, i);
    bool is_seen = false;
    name->count++;
    for (size_t at = name->first_region; at && !is_seen; at = s->regions[at - 1].next)
      is_seen = i >= s->regions[at - 1].from && i <= s->regions[at - 1].to;
    name->is_kept |= !is_seen;
  }
}

/* ---- short names ---- */

static int compare_names(const void *left, const void *right) {
  const struct name *const *a = left, *const *b = right;
  if ((*a)->count != (*b)->count) return (*a)->count > (*b)->count ? -1 : 1;
  return (*a > *b) - (*a < *b); /* the one that came first */
}

/* The `number`th of all names of letters: a, b ... Z, aa, ab ... */
static void make_short(size_t number, char text[MOST_LETTERS + 1]) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const size_t base = sizeof letters - 1;
  char reversed[MOST_LETTERS];
  size_t length = 0;
  for (number++; number && length < MOST_LETTERS; number = (number - 1) / base)
    reversed[length++] = letters[(number - 1) % base];
  for (size_t i = 0; i < length; i++) text[i] = reversed[length - 1 - i];
  text[length] = 0;
}

static bool is_taken(const struct shortener *s, const char *text) {
  size_t length = strlen(text);
  for (const char *const *word = reserved; *word; word++)
    if (strcmp(*word, text) == 0) return true;
  for (size_t i = 0; i < s->name_count; i++) {
    const struct name *name = &s->names[i];
    if (name->is_kept && name->length == length && memcmp(name->text, text, length) == 0) return true;
  }
  return false;
}

static void choose_names(struct shortener *s) {
  struct name *list[MOST_NAMES];
  size_t count = 0, number = 0;
  for (size_t i = 0; i < s->name_count; i++) {
    s->names[i].is_kept |= !s->names[i].is_bound;
    if (!s->names[i].is_kept) list[count++] = &s->names[i];
  }
  qsort(list, count, sizeof list[0], compare_names);
  for (size_t i = 0; i < count; i++) {
    do make_short(number++, list[i]->short_text);
    while (is_taken(s, list[i]->short_text));
  }
}

static size_t write_script(struct shortener *s, char *out, size_t length) {
  size_t written = 0, at = 0;
  for (size_t i = 0; i < s->count; i++) {
    if (s->use[i] == USE_NONE) continue;
    const struct script_token *token = &s->tokens[i];
    const struct name *name = find_name(s, i);
    if (name->is_kept || has_text(s, i, name->short_text)) continue;
    size_t end = s->use[i] == USE_SHORTHAND ? token->at + token->length : token->at;
    memcpy(out + written, s->script + at, end - at);
    written += end - at;
    if (s->use[i] == USE_SHORTHAND) out[written++] = ':';
    written += strlen(strcpy(out + written, name->short_text));
    at = token->at + token->length;
  }
  memcpy(out + written, s->script + at, length - at);
  written += length - at;
  out[written] = 0;
  return written;
}

size_t shorten_names(char *out, const char *script, size_t length, const struct script_tokens *tokens,
                     const char **error, size_t *place) {
  struct shortener *s = calloc(1, sizeof *s);
  size_t count = tokens->count, written = 0;
  *place = 0;
  *error = "not enough memory";
  if (!s) return 0;
  s->script = script;
  s->tokens = tokens->tokens;
  s->count = count;
  s->partner = calloc(count + 1, sizeof *s->partner);
  s->opener = calloc(count + 1, sizeof *s->opener);
  s->brace = calloc(count + 1, 1);
  s->use = calloc(count + 1, 1);
  if (s->partner && s->opener && s->brace && s->use) {
    match_brackets(s);
    bind_all(s);
    use_all(s);
    if (!s->error) {
      choose_names(s);
      written = write_script(s, out, length);
    }
    *error = s->error;
    *place = s->place;
  }
  free(s->partner);
  free(s->opener);
  free(s->brace);
  free(s->use);
  free(s);
  return written;
}
