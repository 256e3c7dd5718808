/* test_worker_threads.c: the order in which a worker of `tfprof serve` answers: the questions of a timeline come before
** a panel that runs, which then begins once more; after a minute they wait for it. A thread whose query hears no
** interrupt is left behind, up to as many as may be. Answers are made here: that to a panel takes until it is let go or
** interrupted, that to SQL until it is heard, where it is a deaf one.
*/
#include "check.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "serve/answers.h"
#include "serve/worker.h"

enum { WAITS = 20000 };

static atomic_int panel_begins, events_done, panels_done, deaf_begins, deaf_ends, opened;
static atomic_bool is_let_go, is_heard;
static atomic_llong later_ns; /* is added to the time */

/* ---- what the worker asks for ---- */

int64_t served_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec + later_ns;
}

enum tfprof_status served_run_open(struct served_run *run, struct tfprof_error *error) {
  opened++;
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
  if (job->kind == JOB_SQL && strcmp(job->sql, "deaf") == 0) {
    deaf_begins++;
    while (!is_heard) nanosleep(&(struct timespec){0, 1000000}, NULL);
    job->bytes = calloc(1, 1);
    deaf_ends++;
  }
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

/* ---- queries that hear no interrupt ---- */

static struct job make_sql(const char *sql) {
  struct job job = make_job(JOB_SQL);
  job.sql = strdup(sql);
  return job;
}

/* What is answered to it, while it goes on. */
static unsigned ask_deaf(struct worker *worker) {
  struct job deaf = make_sql("deaf");
  int begun = deaf_begins, done = events_done;
  worker_start(worker);
  worker_submit(worker, &deaf);
  check(comes_to(worker, &deaf_begins, begun + 1), "it does not begin");
  check(events_done == done, "it is given up at once");
  later_ns += 13000000000;
  check(comes_to(worker, &events_done, done + 1), "it is not given up");
  check(!deaf.sql && !deaf.bytes, "what the thread uses is the job's");
  return deaf.status;
}

static unsigned ask_other(struct worker *worker) {
  struct job other = make_sql("other");
  int done = events_done;
  worker_start(worker);
  worker_submit(worker, &other);
  check(comes_to(worker, &events_done, done + 1), "what comes next is not answered");
  free(other.sql);
  return other.status;
}

static void test_left_behind(struct worker *worker) {
  opened = events_done = 0;
  for (int i = 0; i < MOST_LEFT_BEHIND; i++) {
    unsigned deaf = ask_deaf(worker), next = ask_other(worker);
    check(deaf == 504 && next == 200, "%u and %u are answered", deaf, next);
  }
  check(opened == MOST_LEFT_BEHIND, "%d runs were opened", (int)opened); /* the first one was open */
  unsigned deaf = ask_deaf(worker), next = ask_other(worker);
  check(deaf == 504 && next == 503, "%u and %u are answered where no more may be left behind", deaf, next);
  check(deaf_begins == MOST_LEFT_BEHIND + 1 && deaf_ends == 0, "%d ended", (int)deaf_ends);
  is_heard = true;
  check(comes_to(worker, &deaf_ends, MOST_LEFT_BEHIND + 1), "they do not end");
  for (int i = 0; i < WAITS && next != 200; i++) next = ask_other(worker);
  check(next == 200, "%u is answered after all", next);
}

/* Ending does not wait for it. */
static void test_left_at_end(void) {
  static const char *const paths[] = {"nowhere"};
  static struct worker worker; /* the thread's, as long as the program lives */
  struct job deaf = make_sql("deaf"), waits = make_sql("waits");
  int begun = deaf_begins;
  is_heard = false;
  events_done = 0;
  worker_prepare(&worker, paths, 1);
  worker_start(&worker);
  worker_submit(&worker, &deaf);
  check(comes_to(&worker, &deaf_begins, begun + 1), "it does not begin");
  worker_submit(&worker, &waits);
  worker_end(&worker);
  check(!worker_stop(&worker, served_now() + 50000000), "nothing was left behind");
  check(events_done == 2 && deaf.status == 503 && waits.status == 503, "%u and %u are answered", deaf.status,
        waits.status);
  free(waits.sql);
  begun = deaf_ends;
  is_heard = true;
  for (int i = 0; i < WAITS && deaf_ends == begun; i++) nanosleep(&(struct timespec){0, 1000000}, NULL);
}

int main(void) {
  static const char *const paths[] = {"nowhere"};
  struct worker worker;
  worker_prepare(&worker, paths, 1);
  if (!check(worker_start(&worker), "no thread")) return check_result();
  test_put_off(&worker);
  test_no_longer(&worker);
  test_left_behind(&worker);
  for (bool is_left = true; is_left;) {
    pthread_mutex_lock(&worker.lock);
    is_left = worker.left != NULL;
    pthread_mutex_unlock(&worker.lock);
  }
  worker_end(&worker);
  check(worker_stop(&worker, served_now() + 60000000000), "threads are left behind");
  test_left_at_end();
  return check_result();
}
