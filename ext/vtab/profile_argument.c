/* profile_argument.c: see profile_argument.h; store/selection.c says what the text may be. */
#include "vtab/profile_argument.h"

SQLITE_EXTENSION_INIT3

enum tfprof_status profile_argument_take(struct profile_argument *argument, sqlite3_value *value,
                                         struct tfprof_error *error) {
  int type = sqlite3_value_type(value);
  double real = sqlite3_value_double(value);
  if (type == SQLITE_FLOAT && real == (double)sqlite3_value_int64(value)) {
    argument->text = sqlite3_snprintf(sizeof argument->number, argument->number, "%lld", sqlite3_value_int64(value));
    return TFPROF_OK;
  }
  const char *problem = NULL;
  if (type == SQLITE_NULL) problem = "NULL";
  if (type == SQLITE_BLOB || type == SQLITE_FLOAT) problem = "none of these";
  argument->text = problem ? NULL : (const char *)sqlite3_value_text(value);
  if (!problem && !argument->text) return error_no_memory(error);
  if (!problem && !*argument->text) problem = "empty";
  if (!problem) return TFPROF_OK;
  return error_set(error, TFPROF_USAGE,
                   "profile must be a profile's id, a path or a glob over paths, and is %s; '*' is all that is open",
                   problem);
}
