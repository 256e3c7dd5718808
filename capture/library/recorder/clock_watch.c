/* clock_watch.c: see clock_watch.h. */
#include "clock_watch.h"

#include "clock.h"

#include <stdlib.h>

enum { ASLEEP_NS = 10000000 }; /* shorter ones say nothing */

static int64_t asleep_ns; /* what CLOCK_BOOTTIME was ahead of CLOCK_MONOTONIC */

/* The two are read one after the other, which may take long: of some tries that which took least counts. */
static int64_t ahead_ns(void) {
  enum { TRIES = 5 };
  int64_t ahead = 0, best = INT64_MAX;
  for (int i = 0; i < TRIES; i++) {
    struct timespec now;
    int64_t before = (int64_t)moment_now_ns();
    if (clock_gettime(CLOCK_BOOTTIME, &now)) return 0;
    int64_t after = (int64_t)moment_now_ns();
    if (after < before || after - before >= best) continue;
    best = after - before;
    ahead = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - before;
  }
  return ahead;
}

void clock_watch_begin(void) { asleep_ns = ahead_ns(); }

static double seconds(int64_t ns) { return (double)ns * 1e-9; }

static void diagnose_jump(struct recorder *recorder, const struct clock_jump *jump) {
  double since = seconds(jump->since_ns), until = seconds(jump->until_ns);
  if (jump->clock_ns)
    recorder_diagnose(recorder, "warning", "clock_jump", 0, NULL,
                      "CLOCK_MONOTONIC went back by %.6f s when it was %.6f s: the process was moved or restored; from "
                      "here on times count from where it was",
                      seconds(jump->clock_ns), until);
  if (jump->counter_ns)
    recorder_diagnose(recorder, "warning", "clock_jump", 0, NULL,
                      "the processor's counter went %s by %.6f s between %.6f s and %.6f s of CLOCK_MONOTONIC: the "
                      "machine slept, or the process was moved or restored; all is recorded, times from here on are "
                      "those of a new map, and what was running meanwhile lasted as long as CLOCK_MONOTONIC says",
                      jump->counter_ns < 0 ? "back" : "ahead", seconds(llabs(jump->counter_ns)), since, until);
}

uint64_t clock_watch_look(struct recorder *recorder) {
  enum { JUMPS = 8 };
  struct clock_jump jump;
  for (int i = 0; i < JUMPS && !clock_map_check(&recorder->clock, &jump); i++) diagnose_jump(recorder, &jump);
  return clock_map_place(&recorder->clock, recorder->clock.checked_ticks);
}

static void watch_sleep(struct recorder *recorder) {
  int64_t now = ahead_ns(), slept = now - asleep_ns;
  asleep_ns = now;
  if (slept < ASLEEP_NS) return;
  recorder_diagnose(recorder, "info", "clock_sleep", 0, NULL,
                    "the machine slept for %.3f s, until %.3f s of CLOCK_MONOTONIC at the latest, which does not count "
                    "them",
                    seconds(slept), seconds((int64_t)clock_monotonic_ns()));
}

void clock_watch_tick(struct recorder *recorder) {
  watch_sleep(recorder);
  const char *name = clock_source();
  if (clock_is_still_trusted()) return;
  struct clock_jump jump;
  clock_map_check(&recorder->clock, &jump); /* ticks are nanoseconds now */
  recorder_diagnose(recorder, "warning", "clock_unstable", 0, NULL,
                    "the kernel keeps time by %s no longer: times before may be off by what it drifted in the last "
                    "second, and are read by clock_gettime from here on",
                    name);
}
