/* device_clock.h: CUPTI's clock, which the times of its records are of, brought onto CLOCK_MONOTONIC.
**
** It is CLOCK_REALTIME on Linux as a rule, which is set and slewed, and the times of devices are CUPTI's estimates on
** it.  Both clocks are read as one each time that buffers are fetched: of several tries the tightest counts
** (device_clock_read, on the thread that fetches).  The writer thread bends the map by it (recorder/clock.h), which
** keeps the order of all times.  Only where the clock was set does a new era of the map begin; that is counted.
*/
#ifndef TFPROF_CAPTURE_DEVICE_CLOCK_H
#define TFPROF_CAPTURE_DEVICE_CLOCK_H

#include "cupti_api.h"
#include "recorder/clock.h"

struct device_clock {
  struct clock_map map;
  bool has_begun;
  uint64_t readings, jumps;  /* how often it was set */
  double first_offset_ns;    /* CUPTI's less ours, */
  double last_offset_ns;     /* now */
  int64_t first_ns, last_ns; /* when */
  double error_ns, worst_ns; /* of the map at the last reading; the largest of all */
  uint32_t uncertainty_ns;   /* of the readings, at most */
};

/* false: CUPTI does not tell. `ticks` are CUPTI's nanoseconds then. */
bool device_clock_read(const struct cupti_api *api, struct clock_reading *reading);

/* ---- On the writer thread. */

bool device_clock_begin(struct device_clock *clock);
void device_clock_end(struct device_clock *clock);
void device_clock_note(struct device_clock *clock, const struct clock_reading *reading);
static inline int64_t device_clock_ns(const struct device_clock *clock, uint64_t time) {
  return clock_map_ns(&clock->map, clock_map_place(&clock->map, time));
}

#endif
