/* secret_words.c: see secret_words.h.
**
** A value is masked for the name that stands before it (secret_names.h), in the word before or in the same one:
** --token X, TOKEN=X, {"token": "X"}, Authorization: Bearer X, ?token=X; for where it stands: user:X@host; or for what
** it looks like: the beginnings that providers give to their keys, forty hexadecimal digits, a long run of letters and
** digits as chance mixes them.  Everything else is to stay as it is, since people read it: paths, numbers, names of
** runs with their dates and hyperparameters, hashes where a name says that they are hashes, UUIDs.
*/
#include "secret_words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/list.h"
#include "secret_names.h"

/* ---- Texts that grow. */

struct text {
  char *bytes;
  size_t length, capacity;
  bool has_failed;
};

static void text_add(struct text *text, const char *bytes, size_t length) {
  if (text->has_failed || !array_reserve(text->bytes, text->capacity, text->length + length + 1)) {
    text->has_failed = true;
    return;
  }
  memcpy(text->bytes + text->length, bytes, length);
  text->length += length;
  text->bytes[text->length] = '\0';
}

static void text_mask(struct text *text) { text_add(text, SECRET_MASK, strlen(SECRET_MASK)); }

/* ---- What keys look like. */

static bool is_key_letter(char letter) { return isalnum((unsigned char)letter) || letter == '_' || letter == '-'; }

static size_t key_run(const char *text, const char *end) {
  const char *at = text;
  while (at < end && is_key_letter(*at)) at++;
  return (size_t)(at - text);
}

struct letters {
  unsigned upper, lower, digits, changes; /* from one of these to another, between neighbours */
};

static struct letters count_letters(const char *text, size_t length) {
  struct letters count = {0};
  int former = -1;
  for (size_t i = 0; i < length; i++) {
    unsigned char letter = (unsigned char)text[i];
    int kind = isdigit(letter) ? 0 : isupper(letter) ? 1 : islower(letter) ? 2 : -1;
    count.digits += kind == 0;
    count.upper += kind == 1;
    count.lower += kind == 2;
    count.changes += kind >= 0 && former >= 0 && kind != former;
    former = kind;
  }
  return count;
}

struct key_beginning {
  const char *text;
  size_t least;  /* so many characters at least follow, */
  bool is_mixed; /* with a digit, or letters of both cases, among them */
};

/* Whether the run is a key of one of the providers. Real ones are longer than what is asked for here. */
static bool has_known_beginning(const char *run, size_t length) {
  static const char library[] = "sk-learn";
  static const struct key_beginning beginnings[] = {
      {"sk-", 6, true},      {"sk_live_", 8, false}, {"sk_test_", 8, false}, {"rk_live_", 8, false},
      {"hf_", 10, true},     {"api_org_", 10, true}, {"ghp_", 8, true},      {"gho_", 8, true},
      {"ghu_", 8, true},     {"ghs_", 8, true},      {"ghr_", 8, true},      {"github_pat_", 8, false},
      {"glpat-", 8, false},  {"gldt-", 8, false},    {"xoxa-", 8, false},    {"xoxb-", 8, false},
      {"xoxp-", 8, false},   {"xoxo-", 8, false},    {"xoxr-", 8, false},    {"xoxs-", 8, false},
      {"xapp-", 8, false},   {"AKIA", 12, false},    {"ASIA", 12, false},    {"AIza", 20, false},
      {"nvapi-", 8, false},  {"npm_", 16, true},     {"pypi-", 32, true},    {"dckr_pat_", 8, false},
      {"gsk_", 12, true},    {"pplx-", 12, true},    {"r8_", 16, true},      {"dapi", 30, true},
      {"whsec_", 8, false},  {"wandb_v1_", 8, false}, {"lsv2_", 12, true},   {"ya29", 20, true},
      {"tfp_", 30, true},    {"dop_v1_", 16, true},  {"shpat_", 16, true},   {"sntrys_", 12, true}};
  if (strncmp(run, library, strlen(library)) == 0) return false;
  for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
    size_t begin = strlen(beginnings[i].text);
    if (length < begin + beginnings[i].least || memcmp(run, beginnings[i].text, begin) != 0) continue;
    struct letters rest = count_letters(run + begin, length - begin);
    bool is_upper = memcmp(run, "AKIA", 4) == 0 || memcmp(run, "ASIA", 4) == 0;
    if (is_upper ? rest.lower == 0 : !beginnings[i].is_mixed || rest.digits || (rest.upper && rest.lower)) return true;
  }
  return false;
}

static bool is_hexadecimal(const char *run, size_t length) {
  struct letters count = count_letters(run, length);
  for (size_t i = 0; i < length; i++)
    if (!isxdigit((unsigned char)run[i])) return false;
  return count.digits && count.upper + count.lower && !(count.upper && count.lower);
}

/* Among letters and digits that chance mixes, five of eight neighbours differ in kind; in names few do. */
static bool is_drawn_by_chance(const char *run, size_t length) {
  enum { SHORTEST = 20, HUNDREDTHS = 45 };
  for (size_t begin = 0, end; begin < length; begin = end + 1) {
    end = begin;
    while (end < length && isalnum((unsigned char)run[end])) end++;
    struct letters count = count_letters(run + begin, end - begin);
    if (end - begin >= SHORTEST && count.upper && count.lower && count.digits > 1 &&
        (size_t)count.changes * 100 >= HUNDREDTHS * (end - begin - 1))
      return true;
  }
  return false;
}

/* JSON Web Token: three parts in base64url, of which the first two are JSON, which begins with {". */
static size_t web_token(const char *text, const char *end) {
  size_t first = key_run(text, end);
  if (first < 8 || strncmp(text, "eyJ", 3) != 0 || text + first == end || text[first] != '.') return 0;
  size_t second = key_run(text + first + 1, end), length = first + 1 + second;
  if (second < 4) return 0;
  return text + length < end && text[length] == '.' ? length + 1 + key_run(text + length + 1, end) : length;
}

/* How long the key is that begins here; 0: none does. `before`: the character before, 0 at the beginning. */
static size_t key_length(const char *text, const char *end, char before, bool is_hash) {
  enum { SHORTEST_HEXADECIMAL = 40 };
  size_t length = web_token(text, end), run = key_run(text, end);
  if (length) return length;
  if (has_known_beginning(text, run)) return run;
  /* Hexadecimal digits are a hash within a path, behind @ and behind sha256: or a name that says so. */
  bool is_in_path = before == '/' || (text + run < end && text[run] == '/');
  bool may_be_hash = is_hash || is_in_path || before == '@' || before == ':';
  if (run >= SHORTEST_HEXADECIMAL && is_hexadecimal(text, run)) return may_be_hash ? 0 : run;
  return is_drawn_by_chance(text, run) ? run : 0;
}

/* ---- One text: a word, or what stands within it. */

struct scan {
  const char *at, *end, *whole;
  struct text *out;
  bool is_in_query; /* behind the ? of a URL */
  bool is_hash;     /* the name before says that a hash follows */
  bool has_blanks;  /* it is a text: code, a line of a shell, JSON */
};

static void pass(struct scan *scan, size_t length) {
  text_add(scan->out, scan->at, length);
  scan->at += length;
}

static void mask(struct scan *scan, size_t length) {
  text_mask(scan->out);
  scan->at += length;
}

static bool is_name_letter(char letter) { return is_key_letter(letter) || letter == '.'; }

/* https://USER:PASSWORD@HOST/PATH: what stands before the @. */
static void scan_authority(struct scan *scan) {
  const char *stop = scan->at, *at_sign = NULL, *colon = NULL;
  for (; stop < scan->end && !strchr("/?#\"' \t\n", *stop); stop++)
    if (*stop == '@') at_sign = stop;
  if (!at_sign) return;
  for (const char *c = scan->at; c < at_sign && !colon; c++)
    if (*c == ':') colon = c;
  /* git@github.com and the like are no secrets; where there is one word, for a page, it is a key. */
  bool is_page = scan->at - scan->whole >= 7 && strncmp(scan->at - 4, "p://", 4) == 0;
  is_page |= scan->at - scan->whole >= 8 && strncmp(scan->at - 4, "s://", 4) == 0;
  if (colon) {
    size_t user = (size_t)(colon - scan->at);
    if (key_length(scan->at, colon, 0, false) == user && user) mask(scan, user);
    else pass(scan, user);
    pass(scan, 1);
    if (scan->at < at_sign && *scan->at != '$') mask(scan, (size_t)(at_sign - scan->at));
  } else if (is_page && scan->at < at_sign && *scan->at != '$') {
    mask(scan, (size_t)(at_sign - scan->at));
  }
}

/* Where the value ends that begins at `value`: at its quote, or where the next thing begins. */
static const char *value_end(const struct scan *scan, const char *value, char quote, bool takes_all) {
  const char *at = value;
  if (quote) {
    while (at < scan->end && *at != quote) at += *at == '\\' && at + 1 < scan->end ? 2 : 1;
    return at < scan->end ? at : scan->end;
  }
  if (takes_all) return scan->end;
  while (at < scan->end && !strchr(" \t\n\"'&;,|)}]>", *at)) at++;
  return at;
}

/* Authorization: Bearer X: the kind of authorization stays. */
static size_t authorization_scheme(const char *value, const char *end) {
  static const char *const schemes[] = {"Bearer ", "Basic ", "Token ", "Digest ", "ApiKey "};
  for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
    size_t length = strlen(schemes[i]);
    if ((size_t)(end - value) > length && strncasecmp(value, schemes[i], length) == 0) return length;
  }
  return 0;
}

/* What has dots in it may be a name, a number or a host, and any of its parts a key; the first is not. */
static void pass_parts(struct scan *scan, size_t length) {
  for (const char *end = scan->at + length; scan->at < end;) {
    const char *dot = memchr(scan->at, '.', (size_t)(end - scan->at));
    size_t part = (size_t)((dot ? dot : end) - scan->at);
    pass(scan, part);
    if (!dot) break;
    pass(scan, 1);
    size_t key = key_length(scan->at, scan->end, '.', scan->is_hash);
    if (key && scan->at + key <= end) mask(scan, key);
  }
}

/* NAME=VALUE, NAME: VALUE, "NAME": "VALUE". The name is passed, and the value where it is masked. */
static void scan_name(struct scan *scan, size_t length) {
  const char *name = scan->at, *at = name + length;
  char quote = 0;
  bool is_quoted = at < scan->end && (*at == '"' || *at == '\'') && name > scan->whole && name[-1] == *at;
  if (is_quoted) at++;
  while (scan->has_blanks && at < scan->end && *at == ' ') at++;
  bool is_equal = at < scan->end && *at == '=' && !(at + 1 < scan->end && (at[1] == '=' || at[1] == '~'));
  bool is_colon = at < scan->end && *at == ':' && at + 1 < scan->end && at[1] != '/' && at[1] != ':' && at[1] != '\\';
  enum name_kind kind = is_equal || is_colon ? secret_name_kind(name, length, scan->is_in_query) : NAME_OF_ANYTHING;
  if (kind < NAME_OF_TOKEN) {
    pass_parts(scan, length);
    scan->is_hash = kind == NAME_OF_HASH;
    return;
  }
  at++;
  while (scan->has_blanks && at < scan->end && *at == ' ') at++;
  if (at < scan->end && (*at == '"' || *at == '\'')) quote = *at++;
  bool takes_all = !quote && !scan->has_blanks && !scan->is_in_query && !is_quoted;
  for (const char *c = scan->whole; c < name && takes_all; c++) takes_all = *c == '-' || *c == '+';
  size_t scheme = authorization_scheme(at, scan->end);
  at += scheme;
  const char *stop = value_end(scan, at, quote, takes_all);
  pass(scan, (size_t)(at - scan->at));
  if (!secret_value_is_harmless(kind, at, (size_t)(stop - at))) mask(scan, (size_t)(stop - at));
}

static bool is_option(const char *word, size_t length) {
  return length > 1 && word[0] == '-' && !isdigit((unsigned char)word[1]) && word[1] != '.';
}

/* --token X within a text. */
static bool scan_option(struct scan *scan) {
  size_t length = 0;
  while (scan->at + length < scan->end && is_name_letter(scan->at[length])) length++;
  const char *value = scan->at + length;
  if (!is_option(scan->at, length) || value == scan->end || *value != ' ') return false;
  while (value < scan->end && *value == ' ') value++;
  char quote = value < scan->end && (*value == '"' || *value == '\'') ? *value++ : '\0';
  const char *stop = value_end(scan, value, quote, false);
  enum name_kind kind = secret_name_kind(scan->at, length, false);
  scan->is_hash = kind == NAME_OF_HASH;
  if (kind < NAME_OF_TOKEN || (!quote && is_option(value, (size_t)(stop - value)))) return false;
  pass(scan, (size_t)(value - scan->at));
  if (secret_value_is_harmless(kind, value, (size_t)(stop - value))) return true;
  mask(scan, (size_t)(stop - value));
  return true;
}

static void scan_text(struct text *out, const char *text, size_t length, bool is_hash) {
  struct scan scan = {.at = text, .end = text + length, .whole = text, .out = out, .is_hash = is_hash};
  if (memmem(text, length, "PRIVATE KEY-----", 16)) {
    text_mask(out);
    return;
  }
  scan.has_blanks = memchr(text, ' ', length) || memchr(text, '\n', length);
  while (scan.at < scan.end) {
    char before = scan.at > text ? scan.at[-1] : '\0';
    if (strncmp(scan.at, "://", 3) == 0 && isalpha((unsigned char)before)) {
      pass(&scan, 3);
      scan_authority(&scan);
      continue;
    }
    if (*scan.at == '?') scan.is_in_query = true;
    if (isspace((unsigned char)*scan.at)) scan.is_in_query = false;
    if (!is_key_letter(*scan.at) || is_name_letter(before)) {
      pass(&scan, 1);
      continue;
    }
    size_t scheme = scan.has_blanks ? authorization_scheme(scan.at, scan.end) : 0;
    if (scheme && (scan.at[0] == 'B' || scan.at[0] == 'b')) {
      const char *stop = value_end(&scan, scan.at + scheme, '\0', false);
      pass(&scan, scheme);
      if (stop - scan.at >= 8 && count_letters(scan.at, (size_t)(stop - scan.at)).digits)
        mask(&scan, (size_t)(stop - scan.at));
      continue;
    }
    size_t dashes = 0;
    if (scan.has_blanks && scan_option(&scan)) continue;
    while (scan.at + dashes < scan.end && scan.at[dashes] == '-') dashes++;
    if (dashes) {
      pass(&scan, dashes);
      before = '-';
    }
    size_t key = key_length(scan.at, scan.end, before, scan.is_hash), name = 0;
    while (scan.at + name < scan.end && is_name_letter(scan.at[name])) name++;
    if (key) mask(&scan, key);
    else if (name) scan_name(&scan, name);
  }
}

/* ---- The words of a command. */

struct words_state {
  enum name_kind kind; /* of the option in the word before, whose value this one may be */
  const char *program; /* of those whose options are known, the last one that was named */
  bool is_code_next, is_user_next, has_python_begun;
};

static const char *base_name(const char *word) {
  const char *slash = strrchr(word, '/');
  return slash ? slash + 1 : word;
}

static const char *known_program(const char *word) {
  static const char *const programs[] = {"python",  "pypy",  "ipython",   "curl",
                                         "sshpass", "mysql", "mysqldump", "mariadb"};
  const char *name = base_name(word);
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
    size_t length = strlen(programs[i]);
    if (strncmp(name, programs[i], length) == 0 && name[length + strspn(name + length, "0123456789.dtm")] == '\0')
      return programs[i];
  }
  return NULL;
}

static bool is_python(const char *program) {
  return program && (strcmp(program, "python") == 0 || strcmp(program, "pypy") == 0 || strcmp(program, "ipython") == 0);
}

/* -c, -uc, -Ic: where the code begins in the word; NULL: it is no such option. */
static const char *code_option(const char *word) {
  if (word[0] != '-' || word[1] == '-') return NULL;
  const char *at = word + 1 + strspn(word + 1, "bBdEhiIOPqRsSuvVx");
  return *at == 'c' ? at + 1 : NULL;
}

/* USER:PASSWORD */
static void mask_login(struct text *out, const char *word) {
  const char *colon = strchr(word, ':');
  text_add(out, word, colon ? (size_t)(colon + 1 - word) : strlen(word));
  if (colon && colon[1]) text_mask(out);
}

/* Options of programs that are known: whether the word was one with a secret. */
static bool mask_known_option(struct words_state *state, struct text *out, const char *word) {
  const char *program = state->program;
  bool is_database = program && (strncmp(program, "my", 2) == 0 || strncmp(program, "ma", 2) == 0);
  if (program && strcmp(program, "curl") == 0) {
    if (strcmp(word, "-u") == 0 || strcmp(word, "--user") == 0 || strcmp(word, "-U") == 0 ||
        strcmp(word, "--proxy-user") == 0)
      state->is_user_next = true;
  } else if (program && (is_database || strcmp(program, "sshpass") == 0) && strncmp(word, "-p", 2) == 0) {
    if (!word[2] && !is_database) state->kind = NAME_OF_PASSWORD;
    if (!word[2]) return false;
    text_add(out, word, 2);
    text_mask(out);
    return true;
  }
  return false;
}

static bool is_option_name(const char *word) {
  size_t length = strlen(word);
  for (size_t i = 0; i < length; i++)
    if (!is_name_letter(word[i])) return false;
  return is_option(word, length);
}

static void mask_word(struct words_state *state, struct text *out, const char *word, bool with_code) {
  const struct words_state former = *state;
  size_t length = strlen(word);
  *state = (struct words_state){.program = former.program, .has_python_begun = former.has_python_begun};
  text_add(out, "", 0);
  if (former.is_code_next && !with_code) {
    text_mask(out);
    state->has_python_begun = true;
    return;
  }
  if (former.is_user_next) {
    mask_login(out, word);
    return;
  }
  if (former.kind >= NAME_OF_TOKEN && !is_option(word, length) && !strchr(word, ' ')) {
    if (secret_value_is_harmless(former.kind, word, length)) text_add(out, word, length);
    else text_mask(out);
    return;
  }
  if (former.kind >= NAME_OF_TOKEN && !is_option(word, length)) {
    size_t scheme = authorization_scheme(word, word + length);
    text_add(out, word, scheme);
    text_mask(out);
    return;
  }
  const char *program = known_program(word);
  if (program) {
    state->program = program;
    state->has_python_begun = false;
  } else if (is_python(former.program) && !former.has_python_begun) {
    const char *code = code_option(word);
    state->is_code_next = code && !*code;
    if (word[0] != '-') state->has_python_begun = true; /* the script: what follows is its own */
    if (code && *code && !with_code) {
      text_add(out, word, (size_t)(code - word));
      text_mask(out);
      state->has_python_begun = true;
      return;
    }
  }
  if (mask_known_option(state, out, word)) return;
  scan_text(out, word, length, former.kind == NAME_OF_HASH);
  if (state->kind == NAME_OF_ANYTHING && is_option_name(word)) state->kind = secret_name_kind(word, length, false);
}

char **secret_words_mask(char *const *words, bool with_code) {
  size_t count = 0;
  while (words[count]) count++;
  char **masked = calloc(count + 1, sizeof *masked);
  struct words_state state = {.kind = NAME_OF_ANYTHING};
  for (size_t i = 0; masked && i < count; i++) {
    struct text out = {0};
    mask_word(&state, &out, words[i], with_code);
    masked[i] = out.bytes;
    if (!out.has_failed && out.bytes) continue;
    secret_words_free(masked);
    return NULL;
  }
  return masked;
}

void secret_words_free(char **words) {
  for (char **word = words; word && *word; word++) free(*word);
  free(words);
}
