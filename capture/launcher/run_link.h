/* run_link.h: which runs are being recorded, beside the sockets of programs that can be asked (common/control_place.h):
** a symbolic link PID-STARTTIME.run for each tfprof-capture that records, to its run directory.  The recorded programs
** have no part in it.
*/
#ifndef TFPROF_LAUNCHER_RUN_LINK_H
#define TFPROF_LAUNCHER_RUN_LINK_H

#include "recording.h"

#include <stdbool.h>

/* Of this process. Where there is no place for it nothing is linked. */
void run_link_begin(const char *directory);
void run_link_end(void);
/* Calls `tell` for each process that a run of this user still records, with the run's directory. Links of runs that are
** over are removed. */
void run_links_tell(void (*tell)(void *context, const char *directory, const struct process_recording *process),
                    void *context);

#endif
