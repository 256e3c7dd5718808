/* device_clock.c: see device_clock.h. */
#include "device_clock.h"

#include <string.h>

enum { TRIES = 20, SET_NS = 1000000 /* a clock that is so far from where it should be was set */ };

bool device_clock_read(const struct cupti_api *api, struct clock_reading *reading) {
  uint64_t best = UINT64_MAX;
  *reading = (struct clock_reading){0};
  for (int i = 0; i < TRIES; i++) {
    uint64_t time, before = clock_monotonic_ns();
    if (api->GetTimestamp(&time)) return false;
    uint64_t after = clock_monotonic_ns();
    if (after - before >= best) continue;
    best = after - before;
    reading->ticks = time;
    reading->monotonic_ns = (int64_t)(before + (after - before) / 2);
    reading->uncertainty_ns = best < UINT32_MAX ? (uint32_t)best : UINT32_MAX;
  }
  return true;
}

bool device_clock_begin(struct device_clock *clock) {
  memset(clock, 0, sizeof *clock);
  return clock_map_begin(&clock->map);
}

void device_clock_end(struct device_clock *clock) { clock_map_end(&clock->map); }

static double magnitude(double value) { return value < 0 ? -value : value; }

void device_clock_note(struct device_clock *clock, const struct clock_reading *reading) {
  double offset = (double)(int64_t)(reading->ticks - (uint64_t)reading->monotonic_ns);
  clock->readings++;
  if (reading->uncertainty_ns > clock->uncertainty_ns) clock->uncertainty_ns = reading->uncertainty_ns;
  double error = clock->has_begun ? (double)(reading->monotonic_ns - device_clock_ns(clock, reading->ticks)) : 0;
  struct clock_reading placed = *reading;
  placed.ticks = clock_map_place(&clock->map, reading->ticks);
  bool was_set = clock->has_begun && (placed.ticks < clock->map.last.ticks || magnitude(error) > SET_NS);
  if (was_set) clock->jumps++;
  if (!clock->has_begun) clock_map_restart(&clock->map, reading);
  else if (was_set) clock_map_begin_era(&clock->map, reading, 1); /* records from before are still to come */
  else clock_map_bend(&clock->map, &placed);
  if (!clock->has_begun || was_set) {
    clock->first_offset_ns = offset;
    clock->first_ns = reading->monotonic_ns;
    error = 0;
  }
  clock->map.checked_ticks = reading->ticks;
  clock->map.checked_ns = reading->monotonic_ns;
  clock->has_begun = true;
  clock->last_offset_ns = offset;
  clock->last_ns = reading->monotonic_ns;
  clock->error_ns = error;
  if (magnitude(error) > clock->worst_ns) clock->worst_ns = magnitude(error);
}
