/* patterns.c: lists of regular expressions, by PCRE2, with RE2's full match.  Matching is bounded in memory, and
** in time by the length of the name, as in func/regexp_functions.c; what would take longer does not match.  As there
** may be as many names as a file is long, matching looks now and then whether it is to go on; once it is not, nothing
** matches any more, so that whoever goes through the names is done soon and asks classic_patterns_interrupted(). */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "classic/views/classic.h"

enum {
  MAXIMUM_STEPS = 2000000,
  FREE_STEPS = 10000, /* for each name, and more for each of its bytes: */
  STEPS_OF_A_BYTE = 200,
  MAXIMUM_KIBIBYTES = 64 * 1024,
  STEPS_BETWEEN_LOOKS = 8000000,
  MAXIMUM_PATTERN = 32 * 1024
};

struct classic_patterns {
  pcre2_code **codes; /* NULL: matches everything */
  size_t count;
  bool is_all, is_empty, is_interrupted;
  struct store *store; /* that can be interrupted */
  uint32_t steps; /* that matching may have taken since it looked */
  pcre2_match_context *context;
  pcre2_match_data *data;
};

/* One expression. False: no memory. */
static bool add_pattern(struct classic_patterns *patterns, pcre2_compile_context *context, const char *text,
                        size_t length, char **wrong) {
  int code;
  size_t offset;
  unsigned char reason[200];
  pcre2_code **codes = realloc(patterns->codes, (patterns->count + 1) * sizeof *codes);
  if (!codes) return false;
  patterns->codes = codes;
  if (length == 2 && memcmp(text, ".*", 2) == 0) {
    codes[patterns->count++] = NULL;
    return true;
  }
  pcre2_code *compiled = pcre2_compile((PCRE2_SPTR)text, length,
                                       PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_UTF | PCRE2_MATCH_INVALID_UTF |
                                           PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C,
                                       &code, &offset, context);
  if (compiled) {
    pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE); /* where it cannot be had matching is slower */
    codes[patterns->count++] = compiled;
  } else if (!*wrong) {
    pcre2_get_error_message(code, reason, sizeof reason);
    if (asprintf(wrong, "'%.*s' is no regular expression: %s, at character %zu; it matches nothing", (int)length, text,
                 (char *)reason, offset + 1) < 0)
      *wrong = NULL;
  }
  return true;
}

/* Whether the comma at `at` is that of a repetition, such as x{1,2}, in a list that begins at `list`. */
static bool is_of_repetition(const char *list, const char *at) {
  const char *before = at;
  while (before > list && before[-1] >= '0' && before[-1] <= '9') before--;
  return before < at && before > list && before[-1] == '{' && at[1 + strspn(at + 1, "0123456789")] == '}';
}

/* The expressions in a list, which `comma` parts. */
static struct classic_patterns *create(struct store *store, const char *list, const char *comma, char **wrong) {
  struct classic_patterns *patterns = calloc(1, sizeof *patterns);
  pcre2_compile_context *context = pcre2_compile_context_create(NULL);
  *wrong = NULL;
  bool ok = patterns && context;
  if (ok) {
    patterns->store = store;
    patterns->is_all = strcmp(list, ".*") == 0;
    patterns->is_empty = list[strspn(list, ",")] == '\0';
    patterns->context = pcre2_match_context_create(NULL);
    patterns->data = pcre2_match_data_create(1, NULL);
    ok = patterns->context && patterns->data;
  }
  if (ok) {
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_set_max_pattern_length(context, MAXIMUM_PATTERN);
    pcre2_set_heap_limit(patterns->context, MAXIMUM_KIBIBYTES);
  }
  for (const char *at = list; ok && *at;) {
    size_t length = strcspn(at, comma);
    while (at[length] && is_of_repetition(at, at + length)) length += 1 + strcspn(at + length + 1, comma);
    if (length) ok = add_pattern(patterns, context, at, length, wrong);
    at += length + (at[length] != '\0');
  }
  pcre2_compile_context_free(context);
  if (ok) return patterns;
  classic_patterns_free(patterns);
  free(*wrong);
  *wrong = NULL;
  return NULL;
}

struct classic_patterns *classic_patterns_create(struct store *store, const char *list, char **wrong) {
  return create(store, list, ",", wrong);
}

struct classic_patterns *classic_pattern_create(struct store *store, const char *expression, char **wrong) {
  return create(store, expression, "", wrong);
}

void classic_patterns_free(struct classic_patterns *patterns) {
  if (!patterns) return;
  for (size_t i = 0; i < patterns->count; i++) pcre2_code_free(patterns->codes[i]);
  free(patterns->codes);
  pcre2_match_context_free(patterns->context);
  pcre2_match_data_free(patterns->data);
  free(patterns);
}

static bool matches(struct classic_patterns *patterns, size_t i, const char *text, size_t length) {
  if (!patterns->codes[i]) return true;
  if (patterns->is_interrupted) return false;
  bool is_long = length > (MAXIMUM_STEPS - FREE_STEPS) / STEPS_OF_A_BYTE;
  uint32_t steps = is_long ? MAXIMUM_STEPS : FREE_STEPS + STEPS_OF_A_BYTE * (uint32_t)length;
  patterns->steps += steps;
  if (patterns->steps >= STEPS_BETWEEN_LOOKS) {
    patterns->is_interrupted = store_interrupted(patterns->store);
    patterns->steps = 0;
  }
  pcre2_set_match_limit(patterns->context, steps);
  return pcre2_match(patterns->codes[i], (PCRE2_SPTR)text, length, 0, 0, patterns->data, patterns->context) >= 0;
}

bool classic_patterns_match(struct classic_patterns *patterns, const char *text, size_t length) {
  for (size_t i = 0; i < patterns->count; i++) {
    if (matches(patterns, i, text, length)) return true;
  }
  return false;
}

uint64_t classic_patterns_matching(struct classic_patterns *patterns, const char *text, size_t length) {
  uint64_t found = 0;
  for (size_t i = 0; i < patterns->count; i++) {
    if (matches(patterns, i, text, length)) found |= UINT64_C(1) << (i < 63 ? i : 63);
  }
  return found;
}

bool classic_patterns_is_all(const struct classic_patterns *patterns) { return patterns->is_all; }
bool classic_patterns_is_empty(const struct classic_patterns *patterns) { return patterns->is_empty; }

enum tfprof_status classic_patterns_interrupted(const struct classic_patterns *patterns, struct tfprof_error *error) {
  return patterns->is_interrupted ? error_set(error, TFPROF_INTERRUPTED, "interrupted") : TFPROF_OK;
}
