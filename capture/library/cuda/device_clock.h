/* device_clock.h: the clock that the times of CUPTI's records are of, brought onto CLOCK_MONOTONIC.
**
** CUPTI is told to keep time by CLOCK_MONOTONIC itself (device_clock_keep), so there is nothing to bring over as a
** rule.  What it is told last holds, and cannot be taken back: torch.profiler makes it count the processor's ticks, and
** leaves it so when it has ended (Kineto's CuptiActivityProfiler.cpp; cuptiActivityRegisterTimestampCallback with NULL
** answers CUPTI_ERROR_INVALID_PARAMETER in CUPTI 11.8 to 13.0).  So the clock that a time is of is told by the time:
**
**   CLOCK_MONOTONIC   it lies between the beginning of the recording and now
**   CUPTI's own       it lies between readings of a clock that counts nanoseconds: CLOCK_REALTIME, unless another one
**                     was read, which is set and slewed
**   another one's     else: it has no time, which is counted
**
** CUPTI may have records of its own clock whatever it was told.  Each time that it is told again the first kernels
** afterwards have times of that clock, one more each time (pytorch/pytorch#192021).  And where there is a context when
** somebody subscribes, the work of devices keeps the clock of that moment (pytorch PR 190346, mended in CUDA 13.3.3).
** So CUPTI is told again only where cuptiGetTimestamp says that it keeps another clock than ours (device_clock_kept),
** and before we subscribe, as far as that can be; that a record is of another clock is no reason by itself.
**
** CUPTI's clock is read each time that buffers are fetched: of several tries the tightest counts (device_clock_read, on
** the thread that fetches).  The writer thread bends the map of CUPTI's own by it (recorder/clock.h), which keeps the
** order of all times.  Only where that clock was set does a new era of the map begin: the records that were read
** between the readings before and after it are counted, for their times may be of either era.
*/
#ifndef TFPROF_CAPTURE_DEVICE_CLOCK_H
#define TFPROF_CAPTURE_DEVICE_CLOCK_H

#include "cupti_api.h"
#include "recorder/clock.h"

#define DEVICE_CLOCK_UNKNOWN INT64_MIN /* a time that is of no clock that we know */

struct device_reading {
  struct clock_reading clock; /* `ticks` are CUPTI's */
  bool counts_ns;             /* CUPTI's clock does; else it is another one's */
};

/* Times of that clock that there can be: from the first one on, so many. */
struct clock_reach {
  uint64_t first, length;
};

struct device_clock {
  struct clock_reach ours;    /* CLOCK_MONOTONIC */
  struct clock_reach cuptis;  /* its own */
  struct clock_map map;       /* of CUPTI's own */
  bool is_read, is_systems;   /* CUPTI's own was read; it is CLOCK_REALTIME */
  bool is_kept;               /* at the last reading CUPTI kept time by our clock */
  uint64_t readings, jumps;   /* how often it was set */
  uint64_t doubtful;          /* records whose times may be of either era */
  uint64_t since_reading;     /* records since the last reading */
  bool was_set;               /* at the last reading */
  double first_offset_ns;     /* CUPTI's less ours, */
  double last_offset_ns;      /* now */
  int64_t first_ns, last_ns;  /* when */
  double error_ns, worst_ns;  /* of the map at the last reading; the largest of all */
  uint32_t uncertainty_ns;    /* of the readings, at most */
};

/* ---- On the threads that listen. */

/* CUPTI keeps time by our clock from now on: before any kind of record is enabled, so that all records are of it.
** false: this CUPTI cannot (before that of CUDA 11.8), or does not. */
bool device_clock_keep(const struct cupti_api *api);
/* Whose clock CUPTI keeps time by now. */
enum device_clock_kept { KEPT_OURS, KEPT_ITS_OWN /* or CUPTI does not tell */, KEPT_ANOTHERS };
enum device_clock_kept device_clock_kept(const struct cupti_api *api);
/* false: CUPTI does not tell. Takes 2 ms more where its clock is none of the system's: to see whether it counts
** nanoseconds. */
bool device_clock_read(const struct cupti_api *api, struct device_reading *reading);

/* ---- On the writer thread. */

bool device_clock_begin(struct device_clock *clock);
void device_clock_end(struct device_clock *clock);
void device_clock_note(struct device_clock *clock, const struct device_reading *taken);
/* Before records are read, each time: no time is later than now. And afterwards: how many there were. */
void device_clock_look(struct device_clock *clock);
void device_clock_count(struct device_clock *clock, uint64_t records);
/* CLOCK_MONOTONIC of a time of a record, or DEVICE_CLOCK_UNKNOWN. */
static inline int64_t device_clock_ns(const struct device_clock *clock, uint64_t time) {
  if (__builtin_expect(time - clock->ours.first < clock->ours.length, 1)) return (int64_t)time;
  if (time - clock->cuptis.first >= clock->cuptis.length) return DEVICE_CLOCK_UNKNOWN;
  return clock_map_ns(&clock->map, clock_map_place(&clock->map, time));
}

#endif
