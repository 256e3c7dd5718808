/* check.h: tfprof-capture --check. */
#ifndef TFPROF_LAUNCHER_CHECK_H
#define TFPROF_LAUNCHER_CHECK_H

#include <limits.h>
#include <stdbool.h>

/* A folder of its own for what the check records. false: said on stderr why there can be none. */
bool check_begin(char directory[PATH_MAX]);
/* `python` (its words, or NULL: the one on PATH) runs the check, in the environment that is set by now. Removes the
** folder. Returns the exit status. */
int check_run(char **python, const char *hooks, const char *directory);

#endif
