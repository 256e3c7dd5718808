/* profile_functions.c: what is open.
**
**   tfprof_open(path)          opens a profile, a run directory or all that a glob matches, or refreshes it where it is
**                              open; returns the run's id
**   tfprof_open('path', path)  the same
**   tfprof_open(key, value, ...)
**                              files that belong together as one profile, by the keys of the reader that knows them
**                              (the list of them: tfprof_open())
**   tfprof_close(run)          closes a run, named by its id, by its path however that is spelled, or by the last part
**                              of the path where one run alone has it; returns its id
**   tfprof_refresh()           reads what was recorded since; returns how many rows that are
**   tfprof_save(path)          writes everything that is open as dumps; returns how many profiles that are;
**                              the path must be new, or an empty directory
**   tfprof_views_create()      makes the stored views that are missing; returns how many it made
**   tfprof_version()           the version of the extension
**
** All but the last have effects outside the query, and so cannot be called from views and triggers of a database.
*/
#include <stdlib.h>
#include <string.h>

#include "func/functions.h"
#include "read/dump/saved_runs.h"
#include "read/read.h"
#include "vtab/connection.h"
#include "vtab/stored_views.h"

SQLITE_EXTENSION_INIT3

/* A file's name ends at a NUL character: what is behind it would be left out silently. */
static bool holds_nul(sqlite3_value *value, const char *text) {
  return strlen(text) != (size_t)sqlite3_value_bytes(value);
}

const char *path_argument(sqlite3_context *context, sqlite3_value *value, const char *function) {
  const char *path = sqlite3_value_type(value) == SQLITE_TEXT ? (const char *)sqlite3_value_text(value) : NULL;
  const char *problem = !path                    ? "the path must be a text"
                        : holds_nul(value, path) ? "the path holds a NUL character, which no file's name can have"
                        : !*path                 ? "the path is empty"
                                                 : NULL;
  if (!problem) return path;
  char *message = sqlite3_mprintf("%s: %s", function, problem);
  if (message) sqlite3_result_error(context, message, -1);
  else sqlite3_result_error_nomem(context);
  sqlite3_free(message);
  return NULL;
}

static void open_path(sqlite3_context *context, sqlite3_value *value) {
  struct connection *connection = sqlite3_user_data(context);
  struct tfprof_error error;
  uint32_t run;
  const char *path = path_argument(context, value, "tfprof_open");
  if (!path) return;
  connection_begin(connection);
  enum tfprof_status status = read_open(connection->store, path, &run, &error);
  connection_end(connection);
  if (status) {
    connection_result_error(context, &error);
  } else {
    sqlite3_result_int64(context, run);
  }
}

/* One key with its value, which is left out where that is NULL or empty, as an option that is not given. NULL, or what
** is wrong (to be freed with sqlite3_free). */
static char *take_option(struct read_option *options, size_t *count, const char *name, sqlite3_value *value) {
  const char *text = (const char *)sqlite3_value_text(value);
  const struct read_key *key = read_find_key(name);
  struct read_option option = {key, text, sqlite3_value_int64(value)};
  if (!key) {
    char keys[400];
    read_list_keys(keys, sizeof keys);
    return sqlite3_mprintf("tfprof_open: there is no key '%q'; the supported keys are: path, %s", name, keys);
  }
  if (key->kind == READ_NUMBER) {
    if (sqlite3_value_numeric_type(value) != SQLITE_INTEGER || option.number < 0)
      return sqlite3_mprintf("tfprof_open: %s must be a number from 0 on, not '%q'", name, text ? text : "NULL");
  } else {
    if (sqlite3_value_type(value) == SQLITE_NULL || (text && !*text)) return NULL;
    if (sqlite3_value_type(value) != SQLITE_TEXT) return sqlite3_mprintf("tfprof_open: %s must be a text", name);
    if (holds_nul(value, text))
      return sqlite3_mprintf("tfprof_open: %s holds a NUL character, which no file's name can have", name);
  }
  options[(*count)++] = option;
  return NULL;
}

static void open_files(sqlite3_context *context, int count, sqlite3_value **values) {
  struct connection *connection = sqlite3_user_data(context);
  struct read_option *options = calloc((size_t)count, sizeof *options);
  struct tfprof_error error;
  char *message = NULL;
  size_t option_count = 0;
  uint32_t run;
  if (!options) {
    sqlite3_result_error_nomem(context);
    return;
  }
  for (int i = 0; i < count && !message; i += 2) {
    const char *key = (const char *)sqlite3_value_text(values[i]);
    message = take_option(options, &option_count, key ? key : "", values[i + 1]);
  }
  if (message) {
    sqlite3_result_error(context, message, -1);
  } else {
    connection_begin(connection);
    enum tfprof_status status = read_open_named(connection->store, options, option_count, &run, &error);
    connection_end(connection);
    if (status) connection_result_error(context, &error);
    else sqlite3_result_int64(context, run);
  }
  sqlite3_free(message);
  free(options);
}

static void open_function(sqlite3_context *context, int count, sqlite3_value **values) {
  const char *key = count ? (const char *)sqlite3_value_text(values[0]) : NULL;
  if (count == 1) {
    open_path(context, values[0]);
  } else if (count == 2 && key && strcmp(key, "path") == 0) {
    open_path(context, values[1]);
  } else if (count && count % 2 == 0) {
    open_files(context, count, values);
  } else {
    char keys[400];
    read_list_keys(keys, sizeof keys);
    char *message = sqlite3_mprintf(
        "tfprof_open takes a path, or keys each with a value; the supported keys are: path, %s", keys);
    if (message) sqlite3_result_error(context, message, -1);
    else sqlite3_result_error_nomem(context);
    sqlite3_free(message);
  }
}

/* The run that the value names; 0: none, then the function's error is set. */
static uint32_t run_argument(sqlite3_context *context, sqlite3_value *value) {
  struct connection *connection = sqlite3_user_data(context);
  struct tfprof_error error;
  sqlite3_int64 number = sqlite3_value_int64(value);
  if (sqlite3_value_type(value) == SQLITE_TEXT && sqlite3_value_numeric_type(value) != SQLITE_INTEGER) {
    const char *path = path_argument(context, value, "tfprof_close");
    uint32_t run = 0;
    if (path && store_name_run(connection->store, path, &run, &error)) connection_result_error(context, &error);
    return run;
  }
  if (sqlite3_value_numeric_type(value) == SQLITE_INTEGER && number > 0 && number <= (sqlite3_int64)UINT32_MAX)
    return (uint32_t)number;
  sqlite3_result_error(context, "tfprof_close takes the id or the path of a run, see the table runs", -1);
  return 0;
}

static void close_function(sqlite3_context *context, int count, sqlite3_value **values) {
  struct connection *connection = sqlite3_user_data(context);
  struct tfprof_error error;
  uint32_t run = run_argument(context, values[0]);
  (void)count;
  if (!run) return;
  if (store_close_run(connection->store, run, &error)) {
    connection_result_error(context, &error);
  } else {
    sqlite3_result_int64(context, run);
  }
}

static void refresh_function(sqlite3_context *context, int count, sqlite3_value **values) {
  struct connection *connection = sqlite3_user_data(context);
  struct tfprof_error error;
  uint64_t added = 0;
  (void)count;
  (void)values;
  connection_begin(connection);
  enum tfprof_status status = read_refresh(connection->store, &added, &error);
  connection_end(connection);
  if (status) {
    connection_result_error(context, &error);
  } else {
    sqlite3_result_int64(context, (sqlite3_int64)added);
  }
}

static void save_function(sqlite3_context *context, int count, sqlite3_value **values) {
  struct connection *connection = sqlite3_user_data(context);
  struct tfprof_error error;
  const char *path = path_argument(context, values[0], "tfprof_save");
  (void)count;
  if (!path) return;
  connection_begin(connection);
  enum tfprof_status status = saved_runs_write(connection->store, path, &error);
  connection_end(connection);
  if (status) {
    connection_result_error(context, &error);
  } else {
    sqlite3_result_int64(context, (sqlite3_int64)store_profile_count(connection->store));
  }
}

static void views_create_function(sqlite3_context *context, int count, sqlite3_value **values) {
  unsigned created = 0;
  char *message = NULL;
  (void)count;
  (void)values;
  int result = stored_views_create(sqlite3_user_data(context), &created, &message);
  if (result) {
    sqlite3_result_error(context, message ? message : sqlite3_errstr(result), -1);
    sqlite3_result_error_code(context, result);
  } else {
    sqlite3_result_int64(context, created);
  }
  sqlite3_free(message);
}

static void version_function(sqlite3_context *context, int count, sqlite3_value **values) {
  (void)count;
  (void)values;
  sqlite3_result_text(context, TFPROF_RELEASE, -1, SQLITE_STATIC);
}

const struct function_spec profile_functions[] = {
    {.name = "tfprof_open", .argument_count = -1, .has_effects = true, .function = open_function},
    {.name = "tfprof_close", .argument_count = 1, .has_effects = true, .function = close_function},
    {.name = "tfprof_refresh", .argument_count = 0, .has_effects = true, .function = refresh_function},
    {.name = "tfprof_save", .argument_count = 1, .has_effects = true, .function = save_function},
    {.name = "tfprof_views_create", .argument_count = 0, .has_effects = true, .function = views_create_function},
    {.name = "tfprof_version", .argument_count = 0, .function = version_function},
    {0},
};
