/* device_clocks.h: whether the clock of a device is off, by the work that was launched on it.
**
** Nothing begins before the call that launched it.  The lag of work is the time from the start of its call to its own.
**
**   another clock   More than few begin before their call, or all of them begin later than MOVED_NS after theirs: the
**                   clock of the device is off.  What it has to be moved by makes the first lag 0; those that lie
**                   apart from all others say nothing.
**   a lost moment   Where more than few begin at one moment, as at 0, that moment says nothing of clocks.  Where a
**                   stream has more than few of them, and they were launched one by one, their times were lost.
*/
#ifndef TFPROF_DEVICE_CLOCKS_H
#define TFPROF_DEVICE_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct work {
  int64_t start, end, lag; /* lag: ROW_NULL where the call is not known */
  int64_t correlation, thread;
  uint32_t device, number, row; /* number: of the segment, in the order of `sources` */
  bool is_taken_out, is_lost; /* lost: begins at a moment of many that were launched one by one */
};

/* Looks at the work of a device, all of which has a lag, by which it is sorted. *by: what all its times have to be
** moved by, 0: they are right. Marks what is lost. False: no memory. */
bool device_clock_find(struct work *work, size_t count, int64_t *by);

#endif
