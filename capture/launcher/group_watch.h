/* group_watch.h: tells whether a signal went to our whole process group, and so to the program as well. */
#ifndef TFPROF_LAUNCHER_GROUP_WATCH_H
#define TFPROF_LAUNCHER_GROUP_WATCH_H

#include <signal.h>
#include <stdbool.h>

/* Before the program is started, with the signals of interest blocked. Without it (no process to be had) the origin of
** a signal decides: what comes from the terminal goes to the group. */
void group_watch_begin(void);
void group_watch_end(void);
/* That it reads from; -1: it is not there. */
int group_watch_descriptor(void);
/* Waits up to 50 ms for the answer about a signal that was just taken. */
bool group_watch_saw(const siginfo_t *information);

#endif
