/* worker.c: see worker.h. */
#include "serve/worker.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "serve/answers.h"

#define SECOND_NS INT64_C(1000000000)
static const int64_t sql_limit_ns = 10 * SECOND_NS, panel_limit_ns = 120 * SECOND_NS, put_off_limit_ns = 60 * SECOND_NS;
static const int64_t notice_ns = 2 * SECOND_NS; /* so long an interrupted query may take to end */

static atomic_uint left_count; /* of all workers */

/* What a thread has for itself, so that it goes on when its worker has left it. */
struct worker_thread {
  struct worker *worker;
  pthread_t thread;
  struct served_run run; /* the thread's alone, but for run.db, which may be interrupted under the worker's `lock` */
  struct job asked;      /* what it answers: a copy of the job, with its SQL */
  /* Under the worker's `lock`. */
  bool is_given_up; /* the job is another's to answer, and may be gone */
  bool is_left;
  struct worker_thread *next; /* of those that are left */
};

/* ---- the thread ---- */

/* NULL: it ends. */
static struct job *take_job(struct worker_thread *thread) {
  struct worker *worker = thread->worker;
  pthread_mutex_lock(&worker->lock);
  while (!worker->first && !worker->is_ending && !thread->is_left) pthread_cond_wait(&worker->wake, &worker->lock);
  struct job *job = thread->is_left ? NULL : worker->first;
  if (job) {
    worker->first = job->next;
    job->begun_ns = served_now();
    if (!job->first_begun_ns) job->first_begun_ns = job->begun_ns;
    worker->running = job;
    thread->asked = *job;
    job->sql = NULL;
  }
  pthread_mutex_unlock(&worker->lock);
  return job;
}

/* Behind those of its kind, or before them, where its turn had come. */
static void insert_job(struct worker *worker, struct job *job, bool is_first) {
  struct job **place = &worker->first;
  while (*place && ((*place)->kind < job->kind || (!is_first && (*place)->kind == job->kind))) place = &(*place)->next;
  job->next = *place;
  *place = job;
}

/* The thread's answer becomes the job's. */
static void take_answer(struct job *job, const struct job *asked) {
  job->sql = asked->sql;
  job->is_interrupted = asked->is_interrupted;
  job->status = asked->status;
  job->type = asked->type;
  job->bytes = asked->bytes;
  job->length = asked->length;
}

static void run_job(struct worker_thread *thread, struct job *job) {
  struct worker *worker = thread->worker;
  pthread_mutex_lock(&worker->lock);
  bool is_wanted = !thread->is_given_up && !job->is_unwanted && !worker->is_ending;
  enum worker_state state = worker->state;
  pthread_mutex_unlock(&worker->lock);
  if (is_wanted && state == WORKER_OPEN) answer_job(&thread->run, &thread->asked);
  pthread_mutex_lock(&worker->lock);
  if (thread->is_given_up) {
    thread->is_given_up = false;
    if (!thread->is_left) worker->is_stuck = false;
    pthread_mutex_unlock(&worker->lock);
    free(thread->asked.sql);
    free(thread->asked.bytes);
    return;
  }
  worker->running = NULL;
  take_answer(job, &thread->asked);
  bool is_ending = worker->is_ending, is_unwanted = job->is_unwanted;
  bool is_put_off = job->is_put_off && job->is_interrupted && !is_ending && !is_unwanted;
  job->is_put_off = job->is_interrupted = false;
  if (is_put_off) {
    free(job->bytes);
    job->bytes = NULL;
    insert_job(worker, job, true);
  }
  pthread_mutex_unlock(&worker->lock);
  if (is_put_off) return;
  if (is_ending) answer_text(job, 503, "the server ends\n");
  else if (is_unwanted) answer_text(job, 409, "a newer question has taken the place of this one\n");
  else if (state != WORKER_OPEN) answer_text(job, 503, "%s\n", worker->message);
  job->done(job);
}

/* From here on nobody interrupts it. Whether it was left behind: nobody else frees it then. */
static bool end_thread(struct worker_thread *thread) {
  struct worker *worker = thread->worker;
  pthread_mutex_lock(&worker->lock);
  bool is_left = thread->is_left;
  struct worker_thread **place = &worker->left;
  while (is_left && *place != thread) place = &(*place)->next;
  if (is_left) *place = thread->next;
  pthread_mutex_unlock(&worker->lock);
  return is_left;
}

static void *thread_run(void *pointer) {
  struct worker_thread *thread = pointer;
  struct worker *worker = thread->worker;
  struct tfprof_error error;
  struct job *job;
  enum tfprof_status status = served_run_open(&thread->run, &error);
  pthread_mutex_lock(&worker->lock);
  if (!thread->is_left) {
    worker->state = status ? WORKER_FAILED : WORKER_OPEN;
    if (status) error_text(&error, worker->message, sizeof worker->message);
    pthread_cond_broadcast(&worker->changed);
  }
  pthread_mutex_unlock(&worker->lock);
  while ((job = take_job(thread))) run_job(thread, job);
  bool is_left = end_thread(thread);
  if (!status) served_run_close(&thread->run);
  if (is_left) {
    atomic_fetch_sub(&left_count, 1);
    free(thread);
  }
  return NULL;
}

void worker_prepare(struct worker *worker, const char *const *paths, size_t path_count) {
  pthread_condattr_t attributes;
  *worker = (struct worker){.paths = paths, .path_count = path_count, .state = WORKER_OPENING};
  pthread_mutex_init(&worker->lock, NULL);
  pthread_cond_init(&worker->wake, NULL);
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&worker->changed, &attributes);
  pthread_condattr_destroy(&attributes);
}

/* Under `lock`. */
static bool begin_thread(struct worker *worker) {
  sigset_t all, before;
  if (worker->thread) return true;
  struct worker_thread *thread = calloc(1, sizeof *thread);
  if (!thread) return false;
  thread->worker = worker;
  thread->run = (struct served_run){.paths = worker->paths, .path_count = worker->path_count};
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool is_started = pthread_create(&thread->thread, NULL, thread_run, thread) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (is_started) worker->thread = thread;
  else free(thread);
  return is_started;
}

bool worker_start(struct worker *worker) {
  pthread_mutex_lock(&worker->lock);
  bool is_started = begin_thread(worker);
  pthread_mutex_unlock(&worker->lock);
  return is_started;
}

/* ---- giving up; all of it under `lock` ---- */

/* An interrupt is forgotten that comes while SQLite prepares, so that it comes again while the job runs. */
static void interrupt_job(struct worker *worker) {
  if (worker->running && worker->state == WORKER_OPEN) sqlite3_interrupt(worker->thread->run.db);
}

/* Whether the thread was left behind. Ending, the server leaves any number. */
static bool leave_thread(struct worker *worker) {
  struct worker_thread *thread = worker->thread;
  if (atomic_fetch_add(&left_count, 1) >= MOST_LEFT_BEHIND && !worker->is_ending) {
    atomic_fetch_sub(&left_count, 1);
    return false;
  }
  pthread_detach(thread->thread);
  thread->is_left = true;
  thread->next = worker->left;
  worker->left = thread;
  worker->thread = NULL;
  worker->is_stuck = false;
  worker->state = WORKER_OPENING;
  return true;
}

/* What runs was interrupted long ago and goes on: nothing waits for it any more. Its job, which is to be answered. */
static struct job *give_up_job(struct worker *worker) {
  struct job *job = worker->running;
  worker->running = NULL;
  worker->thread->is_given_up = true;
  worker->is_stuck = true;
  return job;
}

static void tell_given_up(struct job *job) {
  answer_text(job, 504,
              "This takes longer than the %lld seconds that it may, and an interrupt does not end it: a function "
              "works on a long text, or there are many of them in one row. It goes on by itself.\n",
              (long long)((job->kind == JOB_SQL ? sql_limit_ns : panel_limit_ns) / 1000000000));
  fprintf(stderr, "tfprof serve: a query that cannot be interrupted goes on by itself, beside at most %u others\n",
          MOST_LEFT_BEHIND - 1);
}

static void tell_stuck(struct job *job) {
  answer_text(job, 503,
              "As many queries as may, %u, go on that cannot be interrupted; this is answered when one has ended, or "
              "when the server has begun anew.\n",
              MOST_LEFT_BEHIND);
}

/* ---- from other threads ---- */

static bool is_of_view(const struct job *job, const struct job *other) {
  return *other->values.view && job->kind == other->kind && strcmp(job->values.view, other->values.view) == 0;
}

void worker_submit(struct worker *worker, struct job *job) {
  pthread_mutex_lock(&worker->lock);
  for (struct job *other = worker->first; other; other = other->next) other->is_unwanted |= is_of_view(other, job);
  if (worker->running && is_of_view(worker->running, job)) {
    worker->running->is_unwanted = true;
    interrupt_job(worker);
  }
  /* A picture that is zoomed does not wait for the rows of a panel. They are put off, for put_off_limit_ns at most. */
  struct job *running = worker->running;
  if (running && running->kind == JOB_PANEL && job->kind == JOB_EVENTS &&
      served_now() - running->first_begun_ns < put_off_limit_ns) {
    running->is_put_off = true;
    interrupt_job(worker);
  }
  insert_job(worker, job, false);
  pthread_cond_signal(&worker->wake);
  pthread_mutex_unlock(&worker->lock);
}

static bool has_hung_up(const struct job *job) {
  struct pollfd asker = {.fd = job->socket, .events = POLLRDHUP};
  return job->socket >= 0 && poll(&asker, 1, 0) > 0 && (asker.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL));
}

static bool is_late(const struct job *job, int64_t now, int64_t more_ns) {
  return now - job->begun_ns > (job->kind == JOB_SQL ? sql_limit_ns : panel_limit_ns) + more_ns;
}

bool worker_watch(struct worker *worker) {
  struct job *given_up = NULL, *waiting = NULL;
  int64_t now = served_now();
  pthread_mutex_lock(&worker->lock);
  bool is_busy = worker->running || worker->first || worker->is_stuck;
  for (struct job *job = worker->first; job; job = job->next) job->is_unwanted |= has_hung_up(job);
  for (struct worker_thread *left = worker->left; left; left = left->next) sqlite3_interrupt(left->run.db);
  if (worker->running) {
    struct job *job = worker->running;
    job->is_unwanted |= has_hung_up(job);
    if (job->is_unwanted || job->is_put_off || is_late(job, now, 0) || worker->is_ending) interrupt_job(worker);
    if (worker->state == WORKER_OPEN && is_late(job, now, notice_ns)) given_up = give_up_job(worker);
  }
  if (worker->is_stuck && !leave_thread(worker)) {
    waiting = worker->first;
    worker->first = NULL;
  }
  if (worker->first && !worker->is_ending) begin_thread(worker); /* where none can be had now, it is tried again */
  pthread_mutex_unlock(&worker->lock);
  if (given_up) {
    tell_given_up(given_up);
    given_up->done(given_up);
  }
  while (waiting) {
    struct job *next = waiting->next;
    tell_stuck(waiting);
    waiting->done(waiting);
    waiting = next;
  }
  return is_busy;
}

enum worker_state worker_state(struct worker *worker, char *message, size_t message_size) {
  pthread_mutex_lock(&worker->lock);
  enum worker_state state = worker->state;
  snprintf(message, message_size, "%s", state == WORKER_FAILED ? worker->message : "");
  pthread_mutex_unlock(&worker->lock);
  return state;
}

enum worker_state worker_wait(struct worker *worker, int64_t ns) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += ns;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_mutex_lock(&worker->lock);
  while (worker->state == WORKER_OPENING && pthread_cond_timedwait(&worker->changed, &worker->lock, &until) == 0) {
  }
  enum worker_state state = worker->state;
  pthread_mutex_unlock(&worker->lock);
  return state;
}

void worker_end(struct worker *worker) {
  pthread_mutex_lock(&worker->lock);
  worker->is_ending = true;
  pthread_cond_broadcast(&worker->wake);
  pthread_mutex_unlock(&worker->lock);
  worker_watch(worker);
}

/* Whether it has ended by itself. */
static bool wait_for_thread(struct worker *worker, pthread_t thread, int64_t until_ns) {
  struct timespec until;
  bool has_ended = false;
  do {
    worker_watch(worker);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&worker->lock);
    bool is_left = !worker->thread;
    pthread_mutex_unlock(&worker->lock);
    if (is_left) return false;
    has_ended = pthread_timedjoin_np(thread, NULL, &until) == 0;
  } while (!has_ended && served_now() < until_ns);
  return has_ended;
}

bool worker_stop(struct worker *worker, int64_t until_ns) {
  pthread_mutex_lock(&worker->lock);
  struct worker_thread *thread = worker->thread;
  pthread_mutex_unlock(&worker->lock);
  if (thread && wait_for_thread(worker, thread->thread, until_ns)) {
    free(thread);
    worker->thread = NULL;
  }
  pthread_mutex_lock(&worker->lock);
  struct job *rest = worker->first, *running = worker->running ? give_up_job(worker) : NULL;
  if (worker->thread) leave_thread(worker);
  worker->first = NULL;
  bool has_left = worker->left != NULL;
  pthread_mutex_unlock(&worker->lock);
  if (running) {
    running->next = rest;
    rest = running;
  }
  while (rest) {
    struct job *next = rest->next;
    answer_text(rest, 503, "the server ends\n");
    rest->done(rest);
    rest = next;
  }
  if (has_left) return false;
  pthread_mutex_destroy(&worker->lock);
  pthread_cond_destroy(&worker->wake);
  pthread_cond_destroy(&worker->changed);
  return true;
}
