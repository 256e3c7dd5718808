/* advice_functions.c: which frameworks a process uses, and what checks suggest, in the words of one. */
#include <stdlib.h>
#include <string.h>

#include "func/functions.h"
#include "schema/framework_list.h"

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

/* What follows the first of a list; NULL: nothing. */
static const char *rest_of_list(const char *list) {
  size_t length = list ? strcspn(list, ",") : 0;
  return list && list[length] ? list + length + 1 + strspn(list + length + 1, " ") : NULL;
}

/* Names and versions are lists of the same order; where one of them is NULL the other alone. */
static void framework_versions_function(sqlite3_context *context, int count, sqlite3_value **values) {
  const char *name = (const char *)sqlite3_value_text(values[0]);
  const char *version = (const char *)sqlite3_value_text(values[1]);
  (void)count;
  if (!name && !version) return;
  sqlite3_str *text = sqlite3_str_new(sqlite3_context_db_handle(context));
  while ((name && *name) || (version && *version)) {
    int name_length = name ? (int)strcspn(name, ",") : 0, version_length = version ? (int)strcspn(version, ",") : 0;
    sqlite3_str_appendf(text, "%s%.*s%s%.*s", sqlite3_str_length(text) ? ", " : "", name_length, name ? name : "",
                        name_length && version_length ? " " : "", version_length, version ? version : "");
    name = rest_of_list(name);
    version = rest_of_list(version);
  }
  int failure = sqlite3_str_errcode(text);
  char *made = sqlite3_str_finish(text);
  if (failure) sqlite3_result_error_code(context, failure);
  else if (!made) sqlite3_result_text(context, "", 0, SQLITE_STATIC);
  if (failure) sqlite3_free(made);
  else if (made) sqlite3_result_text(context, made, -1, sqlite3_free);
}

static void has_framework_function(sqlite3_context *context, int count, sqlite3_value **values) {
  (void)count;
  const char *list = (const char *)sqlite3_value_text(values[0]), *name = (const char *)sqlite3_value_text(values[1]);
  sqlite3_result_int(context, framework_is_listed(list, name));
}

const struct function_spec advice_functions[] = {
    {.name = "framework_versions",
     .argument_count = 2,
     .function = framework_versions_function,
     .text = {"list, versions",
              "The frameworks of a process with their versions, as a text: jax 0.10.2, pytorch 2.13.0.",
              "list is as profiles.framework has it, versions as profiles.framework_version has it. NULL of two "
              "NULLs.",
              "SELECT framework_versions(framework, framework_version) FROM profiles"}},
    {.name = "has_framework",
     .argument_count = 2,
     .function = has_framework_function,
     .text = {"list, name",
              "1 where the list of frameworks names this one, else 0.",
              "list is as profiles.framework has it: 'jax, pytorch'.",
              "SELECT has_framework('jax, pytorch', 'jax')"}},
    {.name = "advice_words",
     .argument_count = 2,
     .function = advice_words_function,
     .text = {"key, framework",
              "What a finding of the advisor suggests, in the words of a framework.",
              "key is mostly the name of a check. framework is as profiles.framework has it. Of another one, or "
              "NULL, the text is what any program can do. A key that there is not is an error.",
              "SELECT advice_words('blocking_copies', 'pytorch')"}},
    {0},
};
