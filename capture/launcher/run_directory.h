/* run_directory.h: the directory that a recording goes into. */
#ifndef TFPROF_LAUNCHER_RUN_DIRECTORY_H
#define TFPROF_LAUNCHER_RUN_DIRECTORY_H

#include <limits.h>
#include <stdbool.h>

struct run_directory {
  char path[PATH_MAX]; /* as the user would type it */
  char absolute[PATH_MAX];
  bool is_new; /* made here, so that it may be removed again while it is empty */
  int lock;    /* descriptor that keeps other recordings out; -1: this file system has no locks */
};

/* What becomes of a recording that is there. */
enum run_directory_former { RUN_DIRECTORY_REFUSE, RUN_DIRECTORY_REPLACE, RUN_DIRECTORY_KEEP /* it is added to */ };

/* Makes or takes over the directory. `output` NULL: tfprof-run, or the first of tfprof-run-2, ... without a recording.
** Returns 0, or the exit status for main() after saying on stderr what is wrong. */
int run_directory_open(const char *output, enum run_directory_former former, bool quiet,
                       struct run_directory *directory);
/* Removes the directory again if it was made here and nothing is in it: for a program that could not be started. */
void run_directory_discard(struct run_directory *directory);

/* True for the name of a dump: *.tfprof */
bool run_directory_is_dump(const char *name);

#endif
