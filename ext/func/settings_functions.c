/* settings_functions.c: settings of this connection (vtab/settings.h). */
#include "func/functions.h"
#include "vtab/settings.h"

SQLITE_EXTENSION_INIT3

static void setting_function(sqlite3_context *context, int count, sqlite3_value **values) {
  const struct connection *connection = sqlite3_user_data(context);
  const char *name = (const char *)sqlite3_value_text(values[0]);
  (void)count;
  double value = settings_get(connection, name ? name : "", sqlite3_value_double(values[1]));
  if (value == sqlite3_value_double(values[1])) sqlite3_result_value(context, values[1]);
  else sqlite3_result_double(context, value);
}

static void set_function(sqlite3_context *context, int count, sqlite3_value **values) {
  struct connection *connection = sqlite3_user_data(context);
  const char *name = (const char *)sqlite3_value_text(values[0]);
  char *message = NULL;
  (void)count;
  int type = sqlite3_value_numeric_type(values[1]);
  bool ok = true;
  if (!name) {
    sqlite3_result_error(context, "tfprof_set: the name must be a text", -1);
    return;
  }
  if (type == SQLITE_NULL) {
    ok = settings_reset(connection, name, &message);
  } else if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
    ok = settings_set(connection, name, sqlite3_value_double(values[1]), &message);
  } else {
    sqlite3_result_error(context, "tfprof_set: the value must be a number, or NULL", -1);
    return;
  }
  if (ok) {
    sqlite3_result_value(context, values[0]);
  } else if (message) {
    char *text = sqlite3_mprintf("tfprof_set: %s", message);
    sqlite3_result_error(context, text ? text : message, -1);
    sqlite3_free(text);
  } else {
    sqlite3_result_error_nomem(context);
  }
  sqlite3_free(message);
}

const struct function_spec settings_functions[] = {
    {.name = "tfprof_setting",
     .argument_count = 2,
     .is_volatile = true,
     .function = setting_function,
     .text = {"name, default",
              "What tfprof_set() has set for this name, else the default.",
              "Both are as tfprof_set() takes them. Stored SELECTs ask for their thresholds by it.",
              "SELECT tfprof_setting('compat', 0)"}},
    {.name = "tfprof_set",
     .argument_count = 2,
     .has_effects = true,
     .function = set_function,
     .text = {"name, value",
              "Changes a setting of this connection, such as where a check of the advisor begins to speak.",
              "The value is a number. NULL sets the default again. Returns the name. A name that no setting has is "
              "an error that lists them all. compat is one of them: 1 makes the classic views do what TensorFlow's "
              "profiler does by mistake.",
              "SELECT tfprof_set('compat', NULL)"}},
    {0},
};
