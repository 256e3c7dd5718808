/* tfprof.c: the extension, and its manual.  The only file that registers anything.
**
** tfprof makes profiles of training jobs a set of SQL tables.  It is loaded into any SQLite from 3.38 on:
**
**     $ sqlite3 -cmd '.load ./tfprof' -cmd "SELECT tfprof_open('run')"
**     sqlite> SELECT name, count(*), sum(dur_ns) FROM kernels GROUP BY name ORDER BY 3 DESC LIMIT 10;
**     sqlite> SELECT * FROM tfprof_tables;
**
** The path needs a slash, so that the system does not look for it elsewhere.  The environment variable TFPROF_OPEN
** names what is opened on loading, several paths separated by colons; what of them cannot be opened is told in the
** table diagnostics and in SQLite's log, and loading fails when none can.  Loading a second time into the same
** connection changes nothing; two connections share nothing.
**
** TABLES
**
**   profiles, steps, ops, kernels and some sixty more exist as soon as the extension is loaded and show what is open.
**   Reading them decodes no more than the columns and rows that a query needs, on first use, and keeps it.  Tables that
**   are there for speed alone, such as op_totals, are not listed, but where the hidden column is_cache is named.
**
**   tfprof_tables      what there is
**   tfprof_columns     what it means, of these seven, too
**   tfprof_functions   the functions, with examples
**   tfprof_formats     the kinds of files that can be opened
**   tfprof_reasons     the codes of diagnostics.reason: what happened, and what to do
**   tfprof_views       the stored SELECTs, and whether they work
**   tfprof_panels      those that a report shows
**
**   id joins with xs.id: kernels.op_id = ops.id.  Ids are unique over everything open and say nothing else.  _ns are
**   nanoseconds, since 1970 for start_ns and end_ns; unknown is NULL.
**
**   Every table takes a hidden argument that selects among what is open: the id of a profile, the path of a file or of
**   a run in any spelling, the last part of such a path, or a glob over them, as in SELECT count(*) FROM
**   kernels('*rank3*') or ... WHERE profile = 3.  What fits nothing is an error that says what is open (see
**   store/selection.c).  Only = is understood; NULL is an error.
**
**   =, <>, <, <=, >, >=, BETWEEN, IS, IN, LIKE, GLOB, REGEXP, ORDER BY, GROUP BY and DISTINCT are done by the tables
**   themselves; EXPLAIN QUERY PLAN shows how (vtab/plan.h explains the words).  With the environment variable
**   TFPROF_VERIFY_CONSTRAINTS=1 SQLite checks every row again.
**
** FUNCTIONS
**
**   SELECT * FROM tfprof_functions describes all functions, and those that are tables: arguments with their units, what
**   comes back, an example.  So does docs/functions.md.  The texts are written where a function is registered
**   (vtab/function_spec.h).  Functions that open, close, write or set something have effects: they cannot be used in
**   views and triggers of a database.  The others are pure.
**
** CLASSIC VIEWS (where the build has them: ext/classic)
**
**   scope_view, graph_view, code_view and op_view are the views of the TensorFlow profiler: one row for each line of
**   its output, which is in displayed_text; own and total values of every metric beside it.  Its options are hidden
**   columns: SELECT depth, name, total_micros FROM scope_view WHERE max_depth = 4 AND order_by = 'micros'.  -select,
**   which is a keyword, is called selected.
**
**   node_type_patterns(pattern, type) is a TEMP table for types of your own, for any source: all nodes whose whole
**   names the regular expression matches have the type, as if an OpLog gave it to them.  -account_type_regexes and
**   -select op_types know it: INSERT INTO node_type_patterns VALUES ('.+attention.+', 'attention').
**
** VIEWS
**
**   The SELECTs of sql/views and sql/advise are TEMP views: op_summary, step_summary, ... and advise, which is all
**   findings together, from tfprof_findings; a check that fails is one of them, and takes no other down.  One with
**   :parameters is a function instead: SELECT * FROM op_diff('runA', 'runB').  When loading could not make the views,
**   because of PRAGMA query_only or because the transaction in which it happened was rolled back, SELECT
**   tfprof_views_create() does; so it does after PRAGMA temp_store = ..., with which SQLite throws away all that is
**   TEMP.  A view of your own with the same name is left alone.
**
** TRUST
**
**   Tables show what is open and nothing else, so they may be used in views of a database that is not trusted.  Only
**   the functions with effects reach the file system.
**
**   A program that runs the SQL of strangers, such as Datasette, loads tfprof without these functions, by another entry
**   point:
**
**     $ TFPROF_OPEN=run datasette --load-extension=tfprof:sqlite3_tfprof_noaccess_init
**     sqlite> .load ./tfprof sqlite3_tfprof_noaccess_init
**
**   What TFPROF_OPEN names is open then on every connection, and what the SQL says can open, close, read and write
**   nothing else, nor change a setting.  A load by the usual entry point, which only the program itself can do, adds
**   them.
*/
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "func/functions.h"
#include "read/open/path_list.h"
#include "read/read.h"
#include "vtab/connection.h"
#include "vtab/findings.h"
#include "vtab/listing.h"
#include "vtab/stored_views.h"
#include "vtab/table_module.h"
#include "vtab/table_part.h"
#include "vtab/timeline_table.h"
#include "vtab/view_function.h"

SQLITE_EXTENSION_INIT3

int tfprof_init_without_views(sqlite3 *db, char **message, const sqlite3_api_routines *api);
int tfprof_init_without_access(sqlite3 *db, char **message, const sqlite3_api_routines *api);

enum { OLDEST_SQLITE = 3038000 }; /* sqlite3_vtab_in, sqlite3_vtab_distinct */

__attribute__((visibility("default"))) int sqlite3_tfprof_init(sqlite3 *db, char **message,
                                                               const sqlite3_api_routines *api);
__attribute__((visibility("default"))) int sqlite3_tfprof_noaccess_init(sqlite3 *db, char **message,
                                                                        const sqlite3_api_routines *api);

/* Opens what TFPROF_OPEN names. Of several paths those that cannot be opened are diagnostics of the first profile, and
** lines of SQLite's log; an error when nothing can be opened. */
static int open_from_environment(struct connection *connection, char **message) {
  const char *paths = getenv("TFPROF_OPEN");
  struct path_list failures = {0}; /* messages */
  struct tfprof_error error = {0};
  enum tfprof_status status = TFPROF_OK;
  connection_begin(connection);
  while (paths && *paths && !status) {
    size_t length = strcspn(paths, ":");
    uint32_t run;
    char *path = strndup(paths, length);
    status = !path ? error_no_memory(&error) : length ? read_open(connection->store, path, &run, &error) : TFPROF_OK;
    if (status && status != TFPROF_NO_MEMORY && status != TFPROF_INTERRUPTED) {
      char text[2200];
      error_text(&error, text, sizeof text);
      status = paths_add(&failures, text, "", &error);
    }
    free(path);
    paths += length + (paths[length] == ':');
  }
  size_t open = store_profile_count(connection->store);
  struct profile *profile = open ? store_profile_at(connection->store, 0) : NULL;
  for (size_t i = 0; i < failures.count && profile && !status; i++) {
    profile_diagnose(profile, "error", "unopened_file", 1, -1, -1, "TFPROF_OPEN: %s", failures.paths[i]);
    sqlite3_log(SQLITE_WARNING, "TFPROF_OPEN: %s", failures.paths[i]);
  }
  bool has_failed = status || (failures.count && !profile);
  if (has_failed) *message = sqlite3_mprintf("TFPROF_OPEN: %s", status ? error.message : failures.paths[0]);
  connection_end(connection);
  paths_clear(&failures);
  return has_failed ? SQLITE_ERROR : SQLITE_OK;
}

static const struct function_spec *const all_functions[] = {
    profile_functions,    pprof_functions,        timeline_functions, dot_functions,
    settings_functions,   interval_functions,     depth_functions,    statistics_functions,
    sample_error_functions, tree_functions,       text_functions,     format_functions,
    chart_functions,      regexp_functions,       flops_functions,    advice_functions,
    NULL};

#define PART(name) extern const struct table_part name##_tables;
#include "parts.def"
#undef PART

static const struct table_part *const all_parts[] = {
#define PART(name) &name##_tables,
#include "parts.def"
#undef PART
    NULL};

static bool is_there(sqlite3 *db, const struct function_spec *spec) {
  sqlite3_stmt *statement = NULL;
  char *sql = sqlite3_mprintf("SELECT %s(%s)", spec->name, spec->argument_count == 1 ? "NULL" : "NULL, NULL");
  bool is_prepared = sql && sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK;
  sqlite3_finalize(statement);
  sqlite3_free(sql);
  return is_prepared;
}

static int register_function(struct connection *connection, const struct function_spec *spec) {
  int flags = SQLITE_UTF8 | (spec->has_effects   ? SQLITE_DIRECTONLY
                             : spec->is_volatile ? SQLITE_INNOCUOUS
                                                 : SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS);
  void *data = connection;
  void (*destroy)(void *) = connection_release;
  if (spec->only_if_absent && is_there(connection->db, spec)) return SQLITE_OK;
  if (spec->make_data) {
    data = spec->make_data();
    destroy = spec->free_data;
    if (!data) return SQLITE_NOMEM;
  } else {
    connection_retain(connection);
  }
  /* On failure SQLite calls the destructor itself. */
  if (spec->value) {
    return sqlite3_create_window_function(connection->db, spec->name, spec->argument_count, flags, data, spec->step,
                                          spec->final, spec->value, spec->inverse, destroy);
  }
  return sqlite3_create_function_v2(connection->db, spec->name, spec->argument_count, flags, data, spec->function,
                                    spec->step, spec->final, destroy);
}

/* Those with effects, or the others. */
static int register_functions(struct connection *connection, bool have_effects) {
  int result = SQLITE_OK;
  for (const struct function_spec *const *group = all_functions; *group; group++) {
    for (const struct function_spec *spec = *group; spec->name && !result; spec++) {
      if (spec->has_effects == have_effects) result = register_function(connection, spec);
    }
  }
  return result;
}

static int add_effects(struct connection *connection) {
  int result = register_functions(connection, true);
  connection->has_effects = result == SQLITE_OK;
  return result;
}

static int register_all(struct connection *connection, char **message) {
  connection->functions = all_functions;
  int result = open_from_environment(connection, message);
  if (!result) result = register_functions(connection, false);
  if (!result) result = table_module_register(connection);
  if (!result) result = listing_register(connection);
  if (!result) result = connection_begin_parts(connection, all_parts);
  if (!result) result = view_function_register(connection);
  if (!result) result = findings_register(connection);
  if (!result) result = timeline_table_register(connection);
  if (!result) result = connection_publish(connection); /* last: what failed half-way is not found */
  if (result && !*message) *message = sqlite3_mprintf("tfprof: %s", sqlite3_errstr(result));
  return result;
}

static int attach(sqlite3 *db, char **message, bool with_effects, bool with_views) {
  if (sqlite3_libversion_number() < OLDEST_SQLITE) {
    *message = sqlite3_mprintf("tfprof needs SQLite 3.38 or newer, this is %s", sqlite3_libversion());
    return SQLITE_ERROR;
  }
  int result = SQLITE_OK;
  bool is_of_other_build;
  struct connection *connection = connection_find(db, &is_of_other_build);
  if (is_of_other_build) {
    *message = sqlite3_mprintf("tfprof: another build of tfprof (another file) is loaded in this connection already");
    return SQLITE_ERROR;
  }
  if (connection) {
    connection_retain(connection);
  } else {
    connection = connection_create(db);
    result = connection ? register_all(connection, message) : SQLITE_NOMEM;
  }
  if (!result && with_effects && !connection->has_effects) result = add_effects(connection);
  if (!result && with_views) {
    /* Without views everything else works, and tfprof_views tells. */
    unsigned created;
    char *trouble = NULL;
    stored_views_create(connection, &created, &trouble);
    sqlite3_free(trouble);
  }
  connection_release(connection);
  return result;
}

/* SQLite is called through this pointer, which all connections of a process share. */
static int take_api(char **message, const sqlite3_api_routines *api) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  if (!sqlite3_api) sqlite3_api = api; /* once: other threads read it without the lock, after they came here */
  bool is_same = sqlite3_api == api;
  pthread_mutex_unlock(&lock);
  if (is_same) return SQLITE_OK;
  *message = api->mprintf("tfprof: another SQLite library in this process has loaded it already");
  return SQLITE_ERROR;
}

/* For the shell, which makes the views when the first SQL comes (shell/session.c, through linked.c). */
int tfprof_init_without_views(sqlite3 *db, char **message, const sqlite3_api_routines *api) {
  int result = take_api(message, api);
  return result ? result : attach(db, message, true, false);
}

/* For the server of the page, whose SQL comes from browsers. */
int tfprof_init_without_access(sqlite3 *db, char **message, const sqlite3_api_routines *api) {
  int result = take_api(message, api);
  return result ? result : attach(db, message, false, false);
}

/* The entry points. The library stays in memory for good (linked with -z nodelete), so that nothing dangles when one of
** them fails half-way. */
int sqlite3_tfprof_init(sqlite3 *db, char **message, const sqlite3_api_routines *api) {
  int result = take_api(message, api);
  return result ? result : attach(db, message, true, true);
}

/* For the SQL of strangers: see TRUST above. */
int sqlite3_tfprof_noaccess_init(sqlite3 *db, char **message, const sqlite3_api_routines *api) {
  int result = take_api(message, api);
  return result ? result : attach(db, message, false, true);
}
