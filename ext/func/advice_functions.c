/* advice_functions.c: what checks suggest, in the words of a framework.
**
**   advice_words(key, framework)
**                           the text of advice_words.def; the key is mostly the name of a check.  framework is as in
**                           profiles.framework: of another one, or NULL, it is what any program can do.  An error
**                           where there is no such key
*/
#include <stdlib.h>
#include <string.h>

#include "func/functions.h"

SQLITE_EXTENSION_INIT3

enum { OF_PYTORCH, OF_TENSORFLOW, OF_JAX, OF_ANY, ADVICE_KINDS };

static const struct advice {
  const char *key, *texts[ADVICE_KINDS];
} advices[] = {
#define ADVICE(key, pytorch, tensorflow, jax, any) {key, {pytorch, tensorflow, jax, any}},
#include "func/advice_words.def"
#undef ADVICE
};

static int compare_advice(const void *key, const void *advice) {
  return strcmp(key, ((const struct advice *)advice)->key);
}

static int advice_kind(const char *framework) {
  static const char *const names[] = {"pytorch", "tensorflow", "jax"};
  size_t length = framework ? strcspn(framework, ",") : 0; /* of several the first */
  for (int i = 0; i < OF_ANY; i++) {
    if (strlen(names[i]) == length && strncmp(framework, names[i], length) == 0) return i;
  }
  return OF_ANY;
}

static void advice_words_function(sqlite3_context *context, int count, sqlite3_value **values) {
  const char *key = (const char *)sqlite3_value_text(values[0]);
  const struct advice *advice =
      key ? bsearch(key, advices, sizeof advices / sizeof advices[0], sizeof advices[0], compare_advice) : NULL;
  (void)count;
  if (!advice) {
    sqlite3_result_error(context, "advice_words: there is no such key in ext/func/advice_words.def", -1);
    return;
  }
  const char *text = advice->texts[advice_kind((const char *)sqlite3_value_text(values[1]))];
  sqlite3_result_text(context, text ? text : advice->texts[OF_PYTORCH], -1, SQLITE_STATIC);
}

const struct function_spec advice_functions[] = {
    {.name = "advice_words", .argument_count = 2, .function = advice_words_function},
    {0},
};
