/* kept.h: what processes that are gone have kept (--keep) and could not write themselves. */
#ifndef TFPROF_LAUNCHER_KEPT_H
#define TFPROF_LAUNCHER_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct outcome;

/* The program has ended: writes what its processes that are gone have kept, but of one that ended with status 0, into
** the run's directory, and gives the memory back. Of one that was killed this is all that is left. */
void kept_collect(const char *run_directory, const struct outcome *outcome);
/* The same for processes of earlier runs whose tfprof-capture was killed with them, into their directories; says so. */
void kept_collect_left(bool is_quiet);

#endif
