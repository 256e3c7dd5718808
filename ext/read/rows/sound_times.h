/* sound_times.h: times that cannot be true are mended once, when rows have been read.
**
** Clocks of devices and buffers of profilers fail: kernels begin at time 0, the end of one lies hours behind the last
** event, another one lasts over hundreds of later kernels of its stream.  A single such number would be the longest
** gap, the span of the run and a share of thousands of percent, so it is taken out before anything is computed:
**
**   far away      An event whose start lies hours or decades away from nearly all others has no time: start and
**                 duration are NULL.  All events that begin at the same moment count as one, so that time 0 is never
**                 where nearly all others lie.
**   launches      Work that lies out of the order in which its stream was given it has no time.  Where calls and what
**                 they launched are read together, as of traces in JSON, work that begins before its call, or when all
**                 else is long over, has none either, and a device whose clock is off is moved as a whole.  Of XSpaces
**                 the devices are read without the host, which may be many times as large, when a query asks for
**                 them: their numbers tell the order alone.
**   over others   A stream runs one thing after the other.  What lasts over many later ones of its stream ends where
**                 the next one begins.
**   over marks    Numbered marks of a thread follow one another.  One that lasts on when the next one has begun ends
**                 there (mark_times.c).
**   over a thread Ops and calls that outlive what they began in and last over what follows on their thread, while
**                 others of their name are short, have a start and no duration (thread_times.c).
**   long          What ends far behind all else that was recorded, and nothing waited for or lies around, has a start
**                 and no duration, and neither has work that ends long after a synchronization waited for it
**                 (long_times.c).
**
** What many rows have in common is no fault of single events, and stays: a recording with a long pause, streams on
** which work overlaps.  Recordings of our own are not looked at: their rows are decoded as queries ask for them, and
** devices and host have one clock, which the recorder watches.  What was mended is told in diagnostics with stream,
** name, count and the time at stake.
*/
#ifndef TFPROF_SOUND_TIMES_H
#define TFPROF_SOUND_TIMES_H

#include "store/store.h"

/* Looks at these tables, of which all segments are there with their columns, and at the streams of the table threads
** where kernels or transfers are among them. *is_changed: some time is another one now. */
enum tfprof_status sound_times_mend(struct profile *profile, const uint16_t *tables, unsigned count, bool *is_changed,
                                    struct tfprof_error *error);

#endif
