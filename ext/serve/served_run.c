/* served_run.c: see served_run.h. */
#include "serve/served_run.h"

#include <assert.h>
#include <time.h>

#include "linked.h"
#include "read/dump/growth.h"
#include "read/open/paths.h"
#include "read/read.h"
#include "serve/serve.h"
#include "serve/sql_rules.h"
#include "vtab/stored_views.h"

int64_t served_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void find_origin(struct served_run *run) {
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(run->db, "SELECT min(start_ns) FROM tfprof_own.profiles", -1, &statement, NULL) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW)
    run->origin_ns = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
}

/* Opens the paths of `wanted`; those that are empty directories are awaited. */
static enum tfprof_status open_paths(struct served_run *run, uint64_t wanted, struct tfprof_error *error) {
  for (size_t i = 0; i < run->path_count; i++) {
    const uint64_t bit = UINT64_C(1) << i;
    uint32_t number;
    if (!(wanted & bit)) continue;
    enum tfprof_status status = read_open(run->connection->store, run->paths[i], &number, error);
    bool is_awaited = status == TFPROF_NOT_FOUND && paths_is_empty_directory(run->paths[i]);
    if (status && !is_awaited) return status;
    run->awaited = is_awaited ? run->awaited | bit : run->awaited & ~bit;
  }
  return TFPROF_OK;
}

enum tfprof_status served_run_open(struct served_run *run, struct tfprof_error *error) {
  char *message = NULL;
  bool is_of_other_build;
  int result = sqlite3_open_v2(":memory:", &run->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
  if (result == SQLITE_OK) result = tfprof_attach_noaccess(run->db, &message);
  run->connection =
      result == SQLITE_OK || result == SQLITE_OK_LOAD_PERMANENTLY ? connection_find(run->db, &is_of_other_build) : NULL;
  enum tfprof_status status = TFPROF_OK;
  if (!run->connection) status = error_set(error, TFPROF_IO, "%s", message ? message : sqlite3_errstr(result));
  sqlite3_free(message);
  message = NULL;
  if (run->connection) connection_begin(run->connection);
  static_assert(MOST_SERVED_RUNS <= 64, "a bit for each");
  run->awaited = 0;
  if (!status) status = open_paths(run, UINT64_MAX, error);
  if (run->connection) connection_end(run->connection);
  if (status) {
    served_run_close(run);
    return status;
  }
  unsigned created;
  stored_views_create(run->connection, &created, &message); /* trouble is told by tfprof_views */
  sqlite3_free(message);
  sql_rules_apply(run->db);
  run->index = sweep_index_create(); /* without one it takes longer */
  find_origin(run);
  run->version = 1;
  run->refreshed_ns = served_now();
  return TFPROF_OK;
}

void served_run_close(struct served_run *run) {
  sweep_index_free(run->index);
  run->index = NULL;
  sqlite3_close_v2(run->db);
  run->db = NULL;
  run->connection = NULL;
}

enum tfprof_status served_run_refresh(struct served_run *run, int64_t pause_ns, struct tfprof_error *error) {
  uint64_t added = 0;
  if (served_now() - run->refreshed_ns < pause_ns) return TFPROF_OK;
  const uint64_t awaited = run->awaited;
  connection_begin(run->connection);
  enum tfprof_status status = read_refresh(run->connection->store, &added, error);
  /* What cannot be read yet, such as a file that is being made, is tried again. */
  if (!status && awaited && open_paths(run, awaited, NULL) == TFPROF_OK) added += run->awaited != awaited;
  connection_end(run->connection);
  run->refreshed_ns = served_now();
  if (status) return status;
  if (added) {
    run->version++;
    find_origin(run);
  }
  return TFPROF_OK;
}

/* ---- what has become of it ---- */

void served_run_look(struct served_run *run, struct served_state *state) {
  static const char sampling[] = "SELECT sum(recorded_count), sum(step_count) FROM temp.sampling_summary";
  struct growth growth;
  sqlite3_stmt *statement = NULL;
  growth_look(run->connection->store, &growth);
  *state = (struct served_state){.is_growing = growth.writing > 0, .age_ns = growth.age_ns};
  if (sqlite3_prepare_v2(run->db, sampling, -1, &statement, NULL) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW) {
    state->sampled_count = sqlite3_column_int64(statement, 0);
    state->step_count = sqlite3_column_int64(statement, 1);
  }
  sqlite3_finalize(statement);
}
