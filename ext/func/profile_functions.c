/* profile_functions.c: what is open. */
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
    return sqlite3_mprintf("tfprof_open: there is no key '%q'; the supported keys are: path%s%s", name,
                           *keys ? ", " : "", keys);
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
        "tfprof_open takes a path, or keys each with a value; the supported keys are: path%s%s", *keys ? ", " : "",
        keys);
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
    {.name = "tfprof_open",
     .argument_count = -1,
     .has_effects = true,
     .function = open_function,
     .text = {"path",
              "Opens a profile, a directory of a run, or all files that a glob matches.",
              "Returns the id of the run, as in runs.id. What is open already, by whatever spelling of its path, is "
              "refreshed and not opened again. Single files of a directory that is opened become part of its run. "
              "With keys and values in the place of the path it opens files of TensorFlow's profiler together as one "
              "profile: tfprof_open('graph_path', 'graph.pbtxt', 'run_meta_path', 'run_meta'). The keys are path, "
              "profile_path, graph_path, run_meta_path, step, op_log_path and checkpoint_path. A path where nothing "
              "can be opened is an error. A file of a directory that cannot be opened is a row of diagnostics.",
              "SELECT tfprof_open('run')"}},
    {.name = "tfprof_close",
     .argument_count = 1,
     .has_effects = true,
     .function = close_function,
     .text = {"run",
              "Closes a run.",
              "run is an id, as in runs.id, the path in any spelling, or the last part of the path where one run "
              "alone has it. Returns the id. Queries that are reading the run finish undisturbed. A run that is not "
              "open is an error.",
              "SELECT tfprof_close('run')"}},
    {.name = "tfprof_refresh",
     .argument_count = 0,
     .has_effects = true,
     .function = refresh_function,
     .text = {"",
              "Reads what was recorded since the run was opened or refreshed.",
              "Files of processes that began later are read, too. Returns the number of new rows. A file that is "
              "gone or was cut is a row of diagnostics: what had been read of it stays, and the rest is NULL until a "
              "refresh finds it again. A recording that another one has replaced makes room for it, as a profile "
              "with an id of its own.",
              "SELECT tfprof_refresh()"}},
    {.name = "tfprof_save",
     .argument_count = 1,
     .has_effects = true,
     .function = save_function,
     .text = {"path",
              "Writes everything that is open as dumps.",
              "path must be new, or an empty directory. Returns the number of profiles. The dumps hold source lines, "
              "names, commands, paths and hosts as what is open does.",
              "SELECT tfprof_save('copy')"}},
    {.name = "tfprof_views_create",
     .argument_count = 0,
     .has_effects = true,
     .function = views_create_function,
     .text = {"",
              "Makes the views that are missing.",
              "Views are made when the extension is loaded. They are missing where that was not possible, because of "
              "PRAGMA query_only or because the transaction in which it happened was rolled back, and after PRAGMA "
              "temp_store = …, with which SQLite throws away all that is TEMP. Returns the number of views that it "
              "made. A view of yours with the same name stays as it is.",
              "SELECT tfprof_views_create()"}},
    {.name = "tfprof_version",
     .argument_count = 0,
     .function = version_function,
     .text = {"",
              "The version of tfprof, as a text.",
              "The text is the same as that of tfprof --version without the name.",
              "SELECT tfprof_version()"}},
    {0},
};
