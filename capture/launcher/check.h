/* check.h: tfprof-capture --check. */
#ifndef TFPROF_LAUNCHER_CHECK_H
#define TFPROF_LAUNCHER_CHECK_H

#include <limits.h>
#include <stdbool.h>

/* A folder of its own for what the check records. false: said on stderr why there can be none. */
bool check_begin(char directory[PATH_MAX]);
/* The Python that the command line leads to (NULL: python3) runs the check, in the environment that is set by now; no
** script of the command line is run. Removes the folder. Returns the exit status: 0 where ops can be recorded, 125
** where they cannot or no Python is named, else why it cannot be run. */
int check_run(char **command, const char *hooks, const char *directory);

#endif
