/* job.h: a question of a page, from the request to its answer. */
#ifndef TFPROF_SERVE_JOB_H
#define TFPROF_SERVE_JOB_H

#include "serve/request_values.h"

/* Those that come first are answered first; from JOB_RECORDABLE on by the recorder (recorder.h), the others by the
** run's worker. */
enum job_kind { JOB_EVENTS, JOB_CHANGES, JOB_PANEL, JOB_SQL, JOB_RECORDABLE, JOB_RECORD };

struct job {
  enum job_kind kind;
  struct request_values values;
  char *sql;  /* of JOB_SQL; the job's own */
  int socket; /* of who asks; -1: unknown */
  /* The answer. */
  bool is_interrupted; /* it is not all there */
  unsigned status;     /* of HTTP */
  const char *type;    /* of its content */
  unsigned char *bytes;
  size_t length;
  /* For the worker (worker.h). */
  struct job *next;
  bool is_unwanted; /* a newer one has taken its place, or nobody waits for it any more */
  bool is_put_off;  /* one of a kind that comes first has come: it begins once more after that */
  int64_t begun_ns; /* the last time */
  int64_t first_begun_ns;
  void (*done)(struct job *job); /* on any thread; what is done last with the job */
  void *user;
};

#endif
