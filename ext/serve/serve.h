/* serve.h: a server of the page: runs looked at in a browser, also while they are recorded. */
#ifndef TFPROF_SERVE_H
#define TFPROF_SERVE_H

#include <stdbool.h>
#include <stddef.h>

#include "serve/request_rules.h"

enum { MOST_SERVED_RUNS = 64 };

struct serve_options {
  const char *const *paths; /* the runs: so many at most */
  size_t path_count;
  unsigned port;       /* 0: any that is free */
  const char *address; /* NULL: 127.0.0.1 */
  const char *socket;  /* the path of a socket of the file system, instead */
  const char *host_names[MOST_HOST_NAMES];
  size_t host_name_count;
  const char *token; /* NULL: made anew */
  bool stays;        /* also when nobody asks any more */
};

enum serve_result { SERVE_ENDED, SERVE_FAILED, SERVE_NOT_OPENED };

/* Prints where it listens on standard output and serves until a signal ends it; what goes wrong is told on standard
** error. Of a tfprof that was built without it: tells that, and what to do. */
enum serve_result serve_run(const struct serve_options *options);

#endif
