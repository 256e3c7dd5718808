/* profile_functions.c: what is open.
**
**   tfprof_open(path)          opens a profile, a run directory or all that a glob matches, or refreshes it where it is
**                              open; returns the run's id
**   tfprof_open('path', path)  the same
**   tfprof_close(run_id)       closes a run; returns its id
**   tfprof_refresh()           reads what was recorded since; returns how many rows that are
**   tfprof_save(path)          writes everything that is open as dumps; returns how many profiles that are
**   tfprof_views_create()      makes the stored views that are missing; returns how many it made
**   tfprof_version()           the version of the extension
**
** All but the last have effects outside the query, and so cannot be called from views and triggers of a database.
*/
#include <string.h>

#include "func/functions.h"
#include "read/dump_save.h"
#include "read/read.h"
#include "vtab/connection.h"
#include "vtab/stored_views.h"

SQLITE_EXTENSION_INIT3

static void open_path(sqlite3_context *context, sqlite3_value *value) {
  struct connection *connection = sqlite3_user_data(context);
  struct tfprof_error error;
  uint32_t run;
  const char *path = sqlite3_value_type(value) == SQLITE_TEXT ? (const char *)sqlite3_value_text(value) : NULL;
  if (!path || !*path) {
    sqlite3_result_error(context, "tfprof_open: the path must be a text", -1);
    return;
  }
  connection_begin(connection);
  enum tfprof_status status = read_open(connection->store, path, &run, &error);
  connection_end(connection);
  if (status) {
    connection_result_error(context, &error);
  } else {
    sqlite3_result_int64(context, run);
  }
}

static void open_function(sqlite3_context *context, int count, sqlite3_value **values) {
  if (count == 1) {
    open_path(context, values[0]);
    return;
  }
  const char *key = count ? (const char *)sqlite3_value_text(values[0]) : NULL;
  if (count == 2 && key && strcmp(key, "path") == 0) {
    open_path(context, values[1]);
    return;
  }
  char *message =
      key && count % 2 == 0
          ? sqlite3_mprintf("tfprof_open: there is no key '%q'; the supported key is: path", key)
          : sqlite3_mprintf("tfprof_open takes a path, or keys each with a value; the supported key is: path");
  sqlite3_result_error(context, message ? message : "tfprof_open: no memory", -1);
  sqlite3_free(message);
}

static void close_function(sqlite3_context *context, int count, sqlite3_value **values) {
  struct connection *connection = sqlite3_user_data(context);
  struct tfprof_error error;
  (void)count;
  sqlite3_int64 run = sqlite3_value_int64(values[0]);
  if (sqlite3_value_numeric_type(values[0]) != SQLITE_INTEGER || run < 0 || run > (sqlite3_int64)UINT32_MAX) {
    sqlite3_result_error(context, "tfprof_close takes the id of a run, see the table runs", -1);
    return;
  }
  if (store_close_run(connection->store, (uint32_t)run, &error)) {
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
  const char *path = sqlite3_value_type(values[0]) == SQLITE_TEXT ? (const char *)sqlite3_value_text(values[0]) : NULL;
  (void)count;
  if (!path || !*path) {
    sqlite3_result_error(context, "tfprof_save: the path must be a text", -1);
    return;
  }
  connection_begin(connection);
  enum tfprof_status status = dump_save(connection->store, path, &error);
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
