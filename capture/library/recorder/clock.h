/* clock.h: the time of an event, read in a few nanoseconds and later brought onto CLOCK_MONOTONIC.
**
** A callback stores raw ticks: the processor's own counter where the kernel itself keeps time by it (clocksource "tsc"
** with the flags constant_tsc and nonstop_tsc, or "arch_sys_counter"), else CLOCK_MONOTONIC nanoseconds.  rdtsc takes
** 9 ns, clock_gettime 22 ns.
**
** The writer thread maps ticks to nanoseconds by a continuous, increasing, piecewise linear function.  Each second a
** simultaneous reading of both clocks begins a new piece at the value the map has there, with the slope that meets the
** next reading.  A piece never changes once a tick after its beginning has been mapped, so a start and an end mapped
** at different moments still nest as they were.
*/
#ifndef TFPROF_CAPTURE_CLOCK_H
#define TFPROF_CAPTURE_CLOCK_H

#include "moments.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Written by clock_begin, before any callback exists; and once more where the kernel trusts the counter no longer. */
extern _Atomic bool clock_is_counter;
/* By so much CLOCK_MONOTONIC has gone back since the recording began, in all; 0 but where a process was restored. */
extern _Atomic int64_t clock_gone_back_ns;

/* CLOCK_MONOTONIC, made to go on where it has gone back: the times of the dump. */
static inline uint64_t clock_monotonic_ns(void) {
  return moment_now_ns() + (uint64_t)atomic_load_explicit(&clock_gone_back_ns, memory_order_relaxed);
}

/* The same moment as those wait for it who know the system's clock only. */
static inline struct timespec clock_deadline(uint64_t ns) {
  ns -= (uint64_t)atomic_load_explicit(&clock_gone_back_ns, memory_order_relaxed);
  return moment_at(ns);
}

/* Processor time of the calling thread. */
static inline double clock_thread_ns(void) {
  struct timespec used;
  return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) ? 0 : (double)used.tv_sec * 1e9 + (double)used.tv_nsec;
}

/* The compiler's own names: <x86intrin.h> has others for them, and takes most of the time that these files compile. */
static inline uint64_t clock_counter(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return moment_now_ns();
#endif
}

static inline uint64_t clock_ticks(void) {
  return atomic_load_explicit(&clock_is_counter, memory_order_relaxed) ? clock_counter() : moment_now_ns();
}

enum { CLOCK_SKEW_TICKS = 1 << 20 /* more than processors differ by: half a millisecond */ };

/* The end of what another thread may have begun. Neither reading had a fence, the two may be of two processors, and the
** end is read before it is known what it ends: one that is some nanoseconds early is where it began. One that is
** earlier by far was read after the counter had gone back. */
static inline uint64_t clock_end_ticks(uint64_t start_ticks, uint64_t end_ticks) {
  return end_ticks < start_ticks && start_ticks - end_ticks < CLOCK_SKEW_TICKS ? start_ticks : end_ticks;
}

/* The clock is not read before what comes before it is done, nor what comes after it before. */
static inline void clock_fence(void) {
#if defined(__x86_64__)
  __builtin_ia32_lfence();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");
#endif
}

/* One reading of all clocks as close together as a few tries make it. */
struct clock_reading {
  uint64_t ticks;
  int64_t monotonic_ns, realtime_ns;
  uint32_t uncertainty_ns; /* the other clocks were read within this time */
};

/* Chooses the counter and takes the first reading. Called when the library is loaded. */
void clock_begin(void);
void clock_read(struct clock_reading *reading);
/* Whether the kernel still keeps time by the counter; if not, ticks are no longer read from it. */
bool clock_is_still_trusted(void);
/* The name of the source of ticks, for the diagnostic: "tsc", "arch_sys_counter", "clock_gettime". */
const char *clock_source(void);

struct clock_piece {
  uint64_t ticks; /* where the piece begins */
  int64_t ns;     /* the value there */
  double rate;    /* ns per tick */
};

/* Ticks as they were read, from the first to the last that there can be; the first one is `place` in the map. */
struct clock_era {
  uint64_t first, last, place;
};
enum { CLOCK_ERAS = 16 }; /* the last ones are known */

struct clock_map {
  struct clock_piece *pieces;
  size_t count, capacity;
  struct clock_reading last;
  double baseline_ns; /* the time that the slope of the last piece was measured over, a second at most */
  struct clock_era eras[CLOCK_ERAS]; /* the newest one last */
  unsigned era_count;
  uint64_t checked_ticks;  /* until then, as it was read, the counter is known to have gone as the map says, */
  int64_t checked_ns;      /* and then it was, */
  int64_t checked_real_ns; /* of CLOCK_REALTIME */
};

/* false: no memory. */
bool clock_map_begin(struct clock_map *map);
/* The first piece, and the first era, before any tick is mapped: it rests on all the time since clock_begin, of which
** there must have been 20 ms; until then it sleeps. */
void clock_map_start(struct clock_map *map);
void clock_map_end(struct clock_map *map);
/* Begins a new piece at `reading`. Only ticks before it may have been mapped until now. */
void clock_map_steer(struct clock_map *map, const struct clock_reading *reading);
/* The same two for a map of another clock than the ticks, whose readings are given: it begins anew, counting
** nanoseconds; and a new piece. */
void clock_map_restart(struct clock_map *map, const struct clock_reading *reading);
void clock_map_bend(struct clock_map *map, const struct clock_reading *reading);

/* How the clocks went apart between two moments. */
struct clock_jump {
  int64_t since_ns, until_ns;
  int64_t counter_ns; /* by so much the counter went ahead of CLOCK_MONOTONIC; below 0: it fell behind, or went back */
  int64_t clock_ns;   /* by so much CLOCK_MONOTONIC went back itself */
};
/* Whether the counter has gone on as the map says, up to now. If not a new era has begun, `jump` says by how much the
** clocks differed, and 20 ms have been slept. */
bool clock_map_check(struct clock_map *map, struct clock_jump *jump);
/* A new era that begins between the last reading and this one, where ticks have this rate. */
void clock_map_begin_era(struct clock_map *map, const struct clock_reading *reading, double rate);
/* Ticks as they were read become those of the map. The same of where something began that ended then. */
uint64_t clock_map_search_place(const struct clock_map *map, uint64_t ticks);
uint64_t clock_map_search_start(const struct clock_map *map, uint64_t start_ticks, uint64_t end_ticks);
static inline uint64_t clock_map_place(const struct clock_map *map, uint64_t ticks) {
  return __builtin_expect(map->era_count > 1, 0) ? clock_map_search_place(map, ticks) : ticks;
}

int64_t clock_map_search(const struct clock_map *map, uint64_t ticks);

/* What ends is not before it began: an end in another era than the beginning is mapped by other readings. */
static inline int64_t clock_span_ns(int64_t start_ns, int64_t end_ns) {
  return end_ns > start_ns ? end_ns - start_ns : 0;
}

static inline int64_t clock_map_ns(const struct clock_map *map, uint64_t ticks) {
  const struct clock_piece *piece = &map->pieces[map->count - 1];
  if (__builtin_expect(ticks < piece->ticks, 0)) return clock_map_search(map, ticks);
  return piece->ns + (int64_t)((double)(ticks - piece->ticks) * piece->rate);
}

#endif
