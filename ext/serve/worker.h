/* worker.h: a thread that answers the questions to a run, one after the other.
**
** Questions of a timeline go before those of panels, also of one that runs: it is given up and begins once more after
** them, unless it has been going for a minute.  A question that a newer one of the same view follows is given up,
** and so is one whose asker has gone, or that takes longer than it may: worker_watch(), called now and then, sees to
** that.  To give up is to interrupt the query, which leaves everything else as it was.
**
** SQLite notices an interrupt between two rows and not within a function, nor between the functions of one row.  So a
** query may go on long after it was given up.  A thread whose query does so is left behind: its asker is told, another
** thread opens the run anew and answers what waits, and the thread that is left ends whenever its query does.  At most
** MOST_LEFT_BEHIND threads of the whole server are; while there are so many, a worker that would need one more answers
** each question with an error at once.
*/
#ifndef TFPROF_SERVE_WORKER_H
#define TFPROF_SERVE_WORKER_H

#include <pthread.h>

#include "serve/job.h"
#include "serve/served_run.h"

enum worker_state { WORKER_OPENING, WORKER_OPEN, WORKER_FAILED };
enum { MOST_LEFT_BEHIND = 4 };

struct worker_thread;

struct worker {
  const char *const *paths;
  size_t path_count;
  pthread_mutex_t lock;
  pthread_cond_t wake, changed; /* a job has come; the state has changed */
  /* Under `lock`. */
  struct worker_thread *thread; /* NULL: none has begun since the last one was left behind */
  struct worker_thread *left;   /* those that are left behind */
  struct job *first, *running;  /* what waits, and what `thread` answers */
  bool is_stuck;                /* `thread` goes on with a question that was given up, and cannot be left behind */
  enum worker_state state;      /* of `thread` */
  char message[2200];           /* of WORKER_FAILED */
  bool is_ending;
};

/* Before anything else. paths live as long as the worker. */
void worker_prepare(struct worker *worker, const char *const *paths, size_t path_count);
/* Begins to open the run, if that has not begun. false: no thread. */
bool worker_start(struct worker *worker);
/* Takes the job; job->done is called in any case. */
void worker_submit(struct worker *worker, struct job *job);
/* Gives up what is to be given up. Whether something runs or waits. */
bool worker_watch(struct worker *worker);
enum worker_state worker_state(struct worker *worker, char *message, size_t message_size);
/* Waits until the run is open or cannot be opened, for at most so long. */
enum worker_state worker_wait(struct worker *worker, int64_t ns);
/* Nothing may be submitted any more: gives up what runs. */
void worker_end(struct worker *worker);
/* After worker_end(): waits until the thread has ended, until that time at most. false: threads are left behind, and
** the worker is theirs as long as the program lives. */
bool worker_stop(struct worker *worker, int64_t until_ns);

#endif
