/* worker.c: see worker.h. */
#include "serve/worker.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "serve/answers.h"

static const int64_t sql_limit_ns = 10000000000, panel_limit_ns = 120000000000, put_off_limit_ns = 60000000000;

/* ---- the thread ---- */

static struct job *take_job(struct worker *worker) {
  pthread_mutex_lock(&worker->lock);
  while (!worker->first && !worker->is_ending) pthread_cond_wait(&worker->wake, &worker->lock);
  struct job *job = worker->first;
  if (job) {
    worker->first = job->next;
    job->begun_ns = served_now();
    if (!job->first_begun_ns) job->first_begun_ns = job->begun_ns;
    worker->running = job;
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

static void run_job(struct worker *worker, struct job *job) {
  pthread_mutex_lock(&worker->lock);
  bool is_wanted = !job->is_unwanted && !worker->is_ending;
  enum worker_state state = worker->state;
  pthread_mutex_unlock(&worker->lock);
  if (is_wanted && state == WORKER_OPEN) answer_job(&worker->run, job);
  pthread_mutex_lock(&worker->lock);
  worker->running = NULL;
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

static void *worker_run(void *pointer) {
  struct worker *worker = pointer;
  struct tfprof_error error;
  struct job *job;
  enum tfprof_status status = served_run_open(&worker->run, &error);
  pthread_mutex_lock(&worker->lock);
  worker->state = status ? WORKER_FAILED : WORKER_OPEN;
  if (status) error_text(&error, worker->message, sizeof worker->message);
  pthread_cond_broadcast(&worker->changed);
  pthread_mutex_unlock(&worker->lock);
  while ((job = take_job(worker))) run_job(worker, job);
  if (!status) served_run_close(&worker->run);
  return NULL;
}

void worker_prepare(struct worker *worker, const char *const *paths, size_t path_count) {
  pthread_condattr_t attributes;
  *worker = (struct worker){.run = {.paths = paths, .path_count = path_count}, .state = WORKER_OPENING};
  pthread_mutex_init(&worker->lock, NULL);
  pthread_cond_init(&worker->wake, NULL);
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&worker->changed, &attributes);
  pthread_condattr_destroy(&attributes);
}

bool worker_start(struct worker *worker) {
  sigset_t all, before;
  pthread_mutex_lock(&worker->lock);
  if (!worker->has_thread) {
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    worker->has_thread = pthread_create(&worker->thread, NULL, worker_run, worker) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  bool is_started = worker->has_thread;
  pthread_mutex_unlock(&worker->lock);
  return is_started;
}

/* ---- from other threads ---- */

/* An interrupt is forgotten that comes while SQLite prepares, so that it comes again while the job runs. */
static void interrupt_job(struct worker *worker) {
  if (worker->running && worker->state == WORKER_OPEN) sqlite3_interrupt(worker->run.db);
}

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
  /* A picture that is zoomed does not wait for the rows of a panel, which come later then, but not ever later. */
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

bool worker_watch(struct worker *worker) {
  pthread_mutex_lock(&worker->lock);
  bool is_busy = worker->running || worker->first;
  for (struct job *job = worker->first; job; job = job->next) job->is_unwanted |= has_hung_up(job);
  if (worker->running) {
    struct job *job = worker->running;
    job->is_unwanted |= has_hung_up(job);
    bool is_late = served_now() - job->begun_ns > (job->kind == JOB_SQL ? sql_limit_ns : panel_limit_ns);
    if (job->is_unwanted || job->is_put_off || is_late || worker->is_ending) interrupt_job(worker);
  }
  pthread_mutex_unlock(&worker->lock);
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

void worker_stop(struct worker *worker) {
  struct timespec until;
  pthread_mutex_lock(&worker->lock);
  bool is_running = worker->has_thread;
  worker->is_ending = true;
  pthread_cond_signal(&worker->wake);
  pthread_mutex_unlock(&worker->lock);
  while (is_running) {
    worker_watch(worker);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    is_running = pthread_timedjoin_np(worker->thread, NULL, &until) != 0;
  }
  pthread_mutex_destroy(&worker->lock);
  pthread_cond_destroy(&worker->wake);
  pthread_cond_destroy(&worker->changed);
}
