/* test_worker_threads.c: the order in which a worker of `tfprof serve` answers: the questions of a timeline come before
** a panel that runs, which then begins once more; after a minute they wait for it. Answers are made here: that to a
** panel takes until it is let go or interrupted.
*/
#include "check.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "serve/answers.h"
#include "serve/worker.h"

enum { WAITS = 20000 };

static atomic_int panel_begins, events_done, panels_done;
static atomic_bool is_let_go;
static atomic_llong later_ns; /* is added to the time */

/* ---- what the worker asks for ---- */

int64_t served_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec + later_ns;
}

enum tfprof_status served_run_open(struct served_run *run, struct tfprof_error *error) {
  return sqlite3_open(":memory:", &run->db) ? error_set(error, TFPROF_IO, "no database") : TFPROF_OK;
}

void served_run_close(struct served_run *run) { sqlite3_close(run->db); }

void answer_text(struct job *job, unsigned status, const char *format, ...) {
  (void)format;
  free(job->bytes);
  job->bytes = NULL;
  job->status = status;
}

void answer_job(struct served_run *run, struct job *job) {
  static const char forever[] = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
  sqlite3_stmt *statement = NULL;
  job->status = 200;
  if (job->kind != JOB_PANEL) return;
  panel_begins++;
  if (sqlite3_prepare_v2(run->db, forever, -1, &statement, NULL)) return;
  while (!is_let_go && !job->is_interrupted) job->is_interrupted = sqlite3_step(statement) == SQLITE_INTERRUPT;
  sqlite3_finalize(statement);
  job->bytes = calloc(1, 1);
}

/* ---- the test ---- */

static void note_done(struct job *job) {
  if (job->kind == JOB_PANEL) panels_done++;
  else events_done++;
}

/* Whether the number becomes at least that. */
static bool comes_to(struct worker *worker, atomic_int *number, int wanted) {
  for (int i = 0; i < WAITS && *number < wanted; i++) {
    nanosleep(&(struct timespec){0, 1000000}, NULL);
    if (i % 20 == 0) worker_watch(worker);
  }
  return *number >= wanted;
}

static struct job make_job(enum job_kind kind) { return (struct job){.kind = kind, .socket = -1, .done = note_done}; }

static void test_put_off(struct worker *worker) {
  struct job panel = make_job(JOB_PANEL), other = make_job(JOB_PANEL), events = make_job(JOB_EVENTS);
  worker_submit(worker, &panel);
  worker_submit(worker, &other);
  check(comes_to(worker, &panel_begins, 1), "the panel does not begin");
  worker_submit(worker, &events);
  check(comes_to(worker, &events_done, 1) && panels_done == 0, "events wait for a panel");
  check(comes_to(worker, &panel_begins, 2), "the panel does not begin once more");
  is_let_go = true;
  check(comes_to(worker, &panels_done, 2) && panel.status == 200 && other.status == 200, "panels are not answered");
  check(panel_begins == 3, "%d begins of two panels, one of them twice", (int)panel_begins);
  free(panel.bytes);
  free(other.bytes);
}

static void test_no_longer(struct worker *worker) {
  struct job panel = make_job(JOB_PANEL), events = make_job(JOB_EVENTS);
  panel_begins = events_done = panels_done = 0;
  is_let_go = false;
  worker_submit(worker, &panel);
  check(comes_to(worker, &panel_begins, 1), "the panel does not begin");
  later_ns = 61000000000;
  worker_submit(worker, &events);
  for (int i = 0; i < 5; i++) {
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    worker_watch(worker);
  }
  check(events_done == 0 && panel_begins == 1, "a panel is put off after a minute");
  is_let_go = true;
  check(comes_to(worker, &events_done, 1) && panels_done == 1, "events do not come");
  free(panel.bytes);
}

int main(void) {
  static const char *const paths[] = {"nowhere"};
  struct worker worker;
  worker_prepare(&worker, paths, 1);
  if (!check(worker_start(&worker), "no thread")) return check_result();
  test_put_off(&worker);
  test_no_longer(&worker);
  is_let_go = true;
  worker_stop(&worker);
  return check_result();
}
