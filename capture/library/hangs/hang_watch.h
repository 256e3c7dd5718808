/* hang_watch.h: source "hangs": notices that steps have ceased to end, and writes what the process is at then.
**
** A program has a pace: the median of its last steps.  Where no step has ended for five times that, and for twenty
** seconds at least (--hang-after), all threads of the process are looked at, once for each such time: what they wait
** for, whether they have a processor, their Python stacks, the op and range that they are in, and the collectives
** of the process (hang_rows.h, flight_recorder.h).  It is
** done on the writer thread, which takes no lock and not the GIL, for who hangs may have both; and written at once,
** since who sees a job hang ends it by SIGKILL.
**
** Time in which the process was stopped does not count, nor that before the first step: a program without steps is not
** watched, which is told at its end.  A long evaluation, or a checkpoint that takes its time, looks the same but for
** its ops, ranges and allocations that go on.
**
** What it costs: while steps end, two numbers are read when the writer thread wakes; a look takes some tenth of a
** millisecond for each thread, and a wait of a tenth of a second that keeps nobody.
*/
#ifndef TFPROF_CAPTURE_HANG_WATCH_H
#define TFPROF_CAPTURE_HANG_WATCH_H

#include "recorder/parts.h"
#include "recorder/source.h"

extern const struct capture_source hangs_source;
extern struct capture_part hangs_part;

enum { HANG_AFTER_SECONDS = 20 }; /* where nothing else is asked for */
/* Before it begins: the least time, in seconds; 0: nothing is watched. */
void hang_watch_set(double seconds, bool with_c_stacks);
/* Before its end: by what the program ends, such as KeyboardInterrupt, where that is not in order. */
void hang_watch_tell_failure(const char *what);
/* The threads of Python cannot be listed as they should: why. */
void hang_watch_lacks_threads(const char *reason);

#endif
