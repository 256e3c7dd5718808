/* served_run.h: one run, or several together, as the server has it open: a connection of its own that one thread uses.
**
** What is recorded while it is open is taken in by served_run_refresh(): `version` rises when rows came.  A directory
** into which nothing has been recorded yet is waited for, as that of a program that records when it is asked.
*/
#ifndef TFPROF_SERVED_RUN_H
#define TFPROF_SERVED_RUN_H

#include <sqlite3.h>

#include "lanes/sweep_index.h"
#include "vtab/connection.h"

struct served_run {
  const char *const *paths; /* as tfprof_open() takes them */
  size_t path_count;
  uint64_t awaited; /* a bit for each path that is still an empty directory */
  sqlite3 *db;               /* NULL: not open */
  struct sweep_index *index; /* of its timeline; NULL: none */
  struct connection *connection;
  int64_t origin_ns; /* the first start_ns of all profiles */
  uint64_t version;  /* from 1 */
  int64_t refreshed_ns;
  uint64_t counted_version; /* that these two are of; 0: of none */
  uint64_t event_count;     /* what a timeline shows */
  int64_t span_ns;
};

/* What has become of the program that is recorded. */
struct served_state {
  bool is_growing;    /* a process may still write */
  int64_t age_ns;     /* since the last of the files was written; -1: not known */
  int64_t step_count; /* measured steps, and in how many of them ops were recorded: 0 where all were */
  int64_t sampled_count;
};

/* Opens what the paths name. TFPROF_OK, or what opening says; then it is closed again. */
enum tfprof_status served_run_open(struct served_run *run, struct tfprof_error *error);
void served_run_close(struct served_run *run);
/* Reads what was recorded since, at most each `pause_ns`. */
enum tfprof_status served_run_refresh(struct served_run *run, int64_t pause_ns, struct tfprof_error *error);
void served_run_look(struct served_run *run, struct served_state *state);

int64_t served_now(void); /* CLOCK_MONOTONIC */

#endif
