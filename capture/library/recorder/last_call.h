/* last_call.h: the launcher says that a signal is about to end the program, a moment before it hands it on.
**
** A program that is killed by SIGTERM's default action takes with it what has not been written yet, of the last half
** second.  So the launcher makes a file, waits for a sixth of a second, and removes it (launcher/last_call.c); the
** writer thread looks for it whenever it wakes, and writes all that waits while it is there.  The file lies in memory,
** in /dev/shm, where looking for it takes a microsecond and never hangs.
*/
#ifndef TFPROF_CAPTURE_LAST_CALL_H
#define TFPROF_CAPTURE_LAST_CALL_H

#include <stdbool.h>

/* Where the file will be; NULL: nowhere. Before the writer thread begins. */
void last_call_expect(const char *path);
bool last_call_has_come(void);

#endif
