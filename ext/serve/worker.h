/* worker.h: one thread that answers the questions to a run, one after the other.
**
** Questions of a timeline go before those of panels, also of one that runs: it is given up and begins once more after
** them, unless it has been going for a minute.  A question that a newer one of the same view follows is given up,
** and so is one whose asker has gone, or that takes longer than it may: worker_watch(), called now and then, sees to
** that.  To give up is to interrupt the query, which leaves everything else as it was.
*/
#ifndef TFPROF_SERVE_WORKER_H
#define TFPROF_SERVE_WORKER_H

#include <pthread.h>

#include "serve/job.h"
#include "serve/served_run.h"

enum worker_state { WORKER_OPENING, WORKER_OPEN, WORKER_FAILED };

struct worker {
  struct served_run run; /* its thread's alone, but for run.db, which may be interrupted under `lock` */
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t wake, changed; /* a job has come; the state has changed */
  /* Under `lock`. */
  struct job *first, *running;
  enum worker_state state;
  char message[2200]; /* of WORKER_FAILED */
  bool is_ending, has_thread;
};

/* Before anything else. paths live as long as the worker. */
void worker_prepare(struct worker *worker, const char *const *paths, size_t path_count);
/* Begins to open the run, if that has not begun. false: no thread. */
bool worker_start(struct worker *worker);
/* Takes the job; job->done is called in any case. */
void worker_submit(struct worker *worker, struct job *job);
/* Whether something runs or waits. */
bool worker_watch(struct worker *worker);
enum worker_state worker_state(struct worker *worker, char *message, size_t message_size);
/* Waits until the run is open or cannot be opened, for at most so long. */
enum worker_state worker_wait(struct worker *worker, int64_t ns);
/* Gives up what runs, answers what waits, and ends the thread; nothing may be submitted any more. */
void worker_stop(struct worker *worker);

#endif
