/* regexp_functions.c: regular expressions, by PCRE2.
**
** regexp() is registered only where there is none: the sqlite3 shell has its own.  Matching is bounded in memory, and
** in time by the length of the text, so that all texts of a file together take no longer than their size allows.  A
** pattern that backtracks without end is an error, not a hang.
*/
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "func/functions.h"

SQLITE_EXTENSION_INIT3

enum {
  KEPT_PATTERNS = 4,
  MAXIMUM_STEPS = 2000000,       /* some tens of milliseconds */
  FREE_STEPS = 10000,            /* for each text, and more for each of its bytes: */
  STEPS_OF_A_BYTE = 200,
  MAXIMUM_KIBIBYTES = 64 * 1024,
  MAXIMUM_PATTERN = 32 * 1024,
};

/* Compiled patterns of one function on one connection. SQLite would keep one for as long as a statement runs, but
** tables evaluate REGEXP by a statement for each distinct text. */
struct patterns {
  pcre2_compile_context *compile_context;
  pcre2_match_context *match_context;
  struct kept { char *text; size_t length; pcre2_code *code; pcre2_match_data *match_data; } kept[KEPT_PATTERNS];
  unsigned next;
};

static void forget(struct kept *kept) {
  pcre2_code_free(kept->code);
  pcre2_match_data_free(kept->match_data);
  free(kept->text);
  *kept = (struct kept){0};
}

static void free_patterns(void *pointer) {
  struct patterns *patterns = pointer;
  for (unsigned i = 0; i < KEPT_PATTERNS; i++) forget(&patterns->kept[i]);
  pcre2_compile_context_free(patterns->compile_context);
  pcre2_match_context_free(patterns->match_context);
  free(patterns);
}

static void *make_patterns(void) {
  struct patterns *patterns = calloc(1, sizeof *patterns);
  if (!patterns) return NULL;
  patterns->compile_context = pcre2_compile_context_create(NULL);
  patterns->match_context = pcre2_match_context_create(NULL);
  if (!patterns->compile_context || !patterns->match_context) {
    free_patterns(patterns);
    return NULL;
  }
  pcre2_set_newline(patterns->compile_context, PCRE2_NEWLINE_LF);
  pcre2_set_max_pattern_length(patterns->compile_context, MAXIMUM_PATTERN);
  pcre2_set_heap_limit(patterns->match_context, MAXIMUM_KIBIBYTES);
  return patterns;
}

static void fail_regexp(sqlite3_context *context, const char *what, const char *pattern, int code) {
  unsigned char reason[256];
  pcre2_get_error_message(code, reason, sizeof reason);
  char *message = sqlite3_mprintf("%s '%.200s': %s", what, pattern, (const char *)reason);
  sqlite3_result_error(context, message ? message : what, -1);
  sqlite3_free(message);
}

/* NULL: an error was set. */
static struct kept *compile(sqlite3_context *context, struct patterns *patterns, const char *text, size_t length,
                            uint32_t options) {
  for (unsigned i = 0; i < KEPT_PATTERNS; i++) {
    struct kept *kept = &patterns->kept[i];
    if (kept->code && kept->length == length && memcmp(kept->text, text, length) == 0) return kept;
  }
  struct kept *kept = &patterns->kept[patterns->next];
  int code;
  size_t offset;
  forget(kept);
  kept->code =
      pcre2_compile((PCRE2_SPTR)text, length,
                    options | PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C,
                    &code, &offset, patterns->compile_context);
  if (!kept->code) {
    fail_regexp(context, "not a regular expression:", text, code);
    return NULL;
  }
  kept->match_data = pcre2_match_data_create_from_pattern(kept->code, NULL);
  kept->text = malloc(length + 1);
  if (!kept->match_data || !kept->text) {
    forget(kept);
    sqlite3_result_error_nomem(context);
    return NULL;
  }
  memcpy(kept->text, text, length + 1);
  kept->length = length;
  patterns->next = (patterns->next + 1) % KEPT_PATTERNS;
  return kept;
}

static void match(sqlite3_context *context, sqlite3_value **values, uint32_t options) {
  struct patterns *patterns = sqlite3_user_data(context);
  const char *pattern = (const char *)sqlite3_value_text(values[0]);
  size_t pattern_length = (size_t)sqlite3_value_bytes(values[0]);
  const char *text = (const char *)sqlite3_value_text(values[1]);
  size_t length = (size_t)sqlite3_value_bytes(values[1]);
  if (!pattern || !text) return;
  struct kept *kept = compile(context, patterns, pattern, pattern_length, options);
  if (!kept) return;
  bool is_long = length > (MAXIMUM_STEPS - FREE_STEPS) / STEPS_OF_A_BYTE;
  uint32_t steps = is_long ? MAXIMUM_STEPS : FREE_STEPS + STEPS_OF_A_BYTE * (uint32_t)length;
  pcre2_set_match_limit(patterns->match_context, steps);
  int code = pcre2_match(kept->code, (PCRE2_SPTR)text, length, 0, 0, kept->match_data, patterns->match_context);
  if (code < 0 && code != PCRE2_ERROR_NOMATCH) {
    fail_regexp(context, "cannot match", pattern, code);
  } else {
    sqlite3_result_int(context, code >= 0);
  }
}

static void regexp_function(sqlite3_context *context, int count, sqlite3_value **values) {
  (void)count;
  match(context, values, 0);
}

static void full_match_function(sqlite3_context *context, int count, sqlite3_value **values) {
  (void)count;
  match(context, values, PCRE2_ANCHORED | PCRE2_ENDANCHORED);
}

const struct function_spec regexp_functions[] = {
    {.name = "regexp",
     .argument_count = 2,
     .only_if_absent = true,
     .function = regexp_function,
     .make_data = make_patterns,
     .free_data = free_patterns,
     .text = {"pattern, text",
              "1 where the regular expression matches anywhere in the text, else 0. It makes text REGEXP pattern "
              "work.",
              "Expressions are those of PCRE2. NULL in, NULL out. A pattern that is no expression is an error, and "
              "so is one that backtracks without end. The sqlite3 shell has a regexp() of its own, which stays.",
              "SELECT count(*) FROM ops WHERE name REGEXP '^aten::(mm|addmm)$'"}},
    {.name = "regexp_full_match",
     .argument_count = 2,
     .function = full_match_function,
     .make_data = make_patterns,
     .free_data = free_patterns,
     .text = {"pattern, text",
              "1 where the regular expression matches the whole text, else 0.",
              "Expressions are those of PCRE2. NULL in, NULL out. A pattern that is no expression is an error, and "
              "so is one that backtracks without end.",
              "SELECT count(*) FROM ops WHERE regexp_full_match('aten::.*mm', name)"}},
    {0},
};
