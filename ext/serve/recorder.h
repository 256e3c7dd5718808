/* recorder.h: recordings that a page asks for: tfprof-capture does them, which lies beside this program.
**
** Who may ask is decided before (request_rules.h): whoever has the token, from a page of this server.
*/
#ifndef TFPROF_SERVE_RECORDER_H
#define TFPROF_SERVE_RECORDER_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "serve/job.h"

enum { MOST_RECORDINGS = 8 };

struct recorder {
  char program[PATH_MAX]; /* tfprof-capture; empty: there is none */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* Under `lock`. */
  unsigned under_way;
  pid_t children[MOST_RECORDINGS]; /* 0: none */
  bool is_ending;
};

void recorder_prepare(struct recorder *recorder);
/* Takes a job of the kinds JOB_RECORDABLE and JOB_RECORD; job->done is called in any case. `path`: of the run. */
void recorder_submit(struct recorder *recorder, struct job *job, const char *path);
/* Ends what is under way, in order, and waits for it; nothing may be submitted any more. */
void recorder_end(struct recorder *recorder);

#endif
