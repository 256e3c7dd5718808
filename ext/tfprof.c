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
**   tfprof_tables(name, rows, title)                                    what there is
**   tfprof_columns(table_name, column_name, type, unit, description)    what it means
**   tfprof_formats(name, description)                                   the kinds of files that can be opened
**   tfprof_views(name, kind, title, parameters, sql, message)           the stored SELECTs, and if they work
**   tfprof_panels(name, title, parameters, sql)                         those that a report shows
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
**   tfprof_open(path)           opens a profile, a run directory or all that a glob matches; the id of the run.  What
**                               is open already, by whatever name, is refreshed and not opened again; single files
**                               of a directory that is opened become part of its run
**   tfprof_open(key, value, …)  opens TensorFlow's files of one program together, by the options of the classic tfprof:
**                               profile_path, graph_path, run_meta_path, step, op_log_path, checkpoint_path
**   tfprof_close(run)           closes a run, named by its id, its path or the last part of that; queries that are
**                               reading it finish undisturbed; its id
**   tfprof_refresh()            reads what was recorded since, by processes that began later too; the number of new
**                               rows.  A file that is gone or was cut is a row in diagnostics: what had been read of it
**                               stays, the rest is NULL until a refresh finds it again.  A recording that another one
**                               has replaced makes room for it, as a profile with an id of its own
**   tfprof_save(path)           writes what is open as dumps, to a path that is new or an empty directory; the number
**                               of profiles
**   tfprof_timeline(path [, profile])
**                               writes a Chrome trace for Perfetto and other viewers; the number of events
**   tfprof_pprof(path [, metric [, profile]])
**                               writes call stacks for `go tool pprof`; the number of samples
**   tfprof_dot(path, name [, hops [, profile]])
**                               writes a module or computation of XLA, or an instruction with what is so many edges
**                               (3) around it, as a graph for Graphviz; the number of instructions.  What these four
**                               write holds source, names, commands, paths and hosts as what is open does
**   tfprof_views_create()       makes the views that are missing (see below); how many
**   tfprof_set(name, value)     a setting of this connection, such as where a check of the advisor begins to speak
**                               (sql/README.md), or compat (ext/classic/README.md); NULL: back to the default; its name
**
**   These nine have effects and cannot be used in views and triggers of a database.  The others are pure:
**
**   tfprof_version()            the version
**   union_ns(start, end)        aggregate: how much time the intervals cover, overlaps counted once
**   overlap_ns(a0, a1, b0, b1)  how much time two intervals have in common
**   depth_ns(start, end, minimum)
**                               aggregate: for how long at least so many of the intervals overlap
**   depth_summary(start, end)   aggregate: a JSON object with statistics of how many intervals overlap
**   capped_ns(start, end, weight, cap)
**                               aggregate: the sum of overlapping weights, at most cap, over time
**   ordered_concat(text, separator, key)
**                               aggregate: the texts in the order of the key
**   path_sums(id, parent, key, value)
**                               aggregate: a JSON object with the sum for each key over the nodes of trees below it
**   raise_error(message)        ends the query with that error, in views that must not answer; NULL of NULL
**   is_library_file(path)       1: of an installed package or Python's library, 0: of a program, NULL: no file
**   source_kind(path)           whose code it is: program, generated, library, framework or python; NULL: no file
**   percentile(x, p)            aggregate, p is 0 ... 100; only where SQLite has none
**   median(x)                   aggregate; only where SQLite has none
**   stddev(x)                   aggregate: standard deviation of a sample
**   sample_error(x, step_id)    aggregate: the error of a sum over recorded steps as an estimate of that over all
**                               (view sampled_steps); 0 where all were recorded, NULL where too few were
**   flops(op_type, input_shapes, output_shape, attributes)
**                               floating point operations of a call; NULL where that cannot be told
**   flops_formula(op_type)      how flops() counts this type
**   tfprof_setting(name, default)   what tfprof_set() set, else the default
**   advice_words(key, framework)
**                               what a finding suggests, in the words of a framework (func/advice_words.def)
**   framework_versions(list, versions)
**                               profiles.framework with profiles.framework_version: jax 0.10.2, pytorch 2.13.0
**   has_framework(list, name)   whether a list of frameworks (profiles.framework: 'pytorch, jax') names one
**   format_ns(x), format_bytes(x), format_count(x), format_micros(x)
**                               for people to read: 1.23 ms, 45.6 MiB, 789 k
**   bar(x, maximum [, width])   a bar as text: ███▌
**   sparkline(x [, width]), histogram(x [, bins])
**                               aggregates: the values of the rows as a curve: ▁▂▃█▂, and how often they are how large
**   regexp(pattern, text)       search, makes REGEXP work; only where there is none
**   regexp_full_match(pattern, text)
**                               whether the pattern matches the whole text
**
** CLASSIC VIEWS
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
** TIMELINE
**
**   timeline(from_ns, to_ns, bucket_ns, lanes) is a table of all that has a place in time, by lane and bucket of time,
**   for drawing: of several events in a bucket it keeps the count, their time and the longest (vtab/timeline_table.c).
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
#include "vtab/classic_views.h"
#include "vtab/connection.h"
#include "vtab/findings.h"
#include "vtab/listing.h"
#include "vtab/stored_views.h"
#include "vtab/table_module.h"
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
  const struct function_spec *const all[] = {profile_functions, interval_functions, depth_functions,
                                             statistics_functions, sample_error_functions, flops_functions,
                                             advice_functions, format_functions, chart_functions, regexp_functions,
                                             pprof_functions, timeline_functions, dot_functions, text_functions,
                                             tree_functions, settings_functions};
  int result = SQLITE_OK;
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    for (const struct function_spec *spec = all[i]; spec->name && !result; spec++) {
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
  int result = open_from_environment(connection, message);
  if (!result) result = connection_publish(connection);
  if (!result) result = register_functions(connection, false);
  if (!result) result = table_module_register(connection);
  if (!result) result = listing_register(connection);
  if (!result) result = classic_views_register(connection);
  if (!result) result = view_function_register(connection);
  if (!result) result = findings_register(connection);
  if (!result) result = timeline_table_register(connection);
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
