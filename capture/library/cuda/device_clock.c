/* device_clock.c: see device_clock.h. */
#include "device_clock.h"

#include <string.h>
#include <unistd.h>

enum { TRIES = 20, SET_NS = 1000000 /* a clock that is so far from where it should be was set */, RATE_US = 2000 };
#define NEAR_NS INT64_C(1000000000)    /* readings of one clock are no further apart */
#define MARGIN_NS UINT64_C(60000000000) /* of what there can be: devices' times are estimates, and clocks are slewed */
#define RATE_TOLERANCE 0.01
#define KEPT_NS INT64_C(1000000) /* a clock that is so near to ours is ours */

static uint64_t our_clock(void) { return clock_monotonic_ns(); }

bool device_clock_keep(const struct cupti_api *api) {
  return api->ActivityRegisterTimestampCallback && !api->ActivityRegisterTimestampCallback(our_clock);
}

static bool is_near(int64_t a, int64_t b) { return a - b < NEAR_NS && b - a < NEAR_NS; }

enum device_clock_kept device_clock_kept(const struct cupti_api *api) {
  uint64_t time;
  struct timespec real;
  int64_t before = (int64_t)clock_monotonic_ns();
  if (api->GetTimestamp(&time)) return KEPT_ITS_OWN;
  int64_t after = (int64_t)clock_monotonic_ns(), told = (int64_t)time;
  if (told - before > -KEPT_NS && told - after < KEPT_NS) return KEPT_OURS;
  clock_gettime(CLOCK_REALTIME, &real);
  return is_near(told, (int64_t)real.tv_sec * 1000000000 + real.tv_nsec) ? KEPT_ITS_OWN : KEPT_ANOTHERS;
}

static bool read_once(const struct cupti_api *api, struct clock_reading *reading) {
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
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  int64_t since_ns = (int64_t)clock_monotonic_ns() - reading->monotonic_ns;
  reading->realtime_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - since_ns;
  return reading->ticks <= INT64_MAX;
}

bool device_clock_read(const struct cupti_api *api, struct device_reading *reading) {
  struct clock_reading first;
  if (!read_once(api, &first)) return false;
  *reading = (struct device_reading){first, true};
  int64_t time = (int64_t)first.ticks;
  if (is_near(time, first.monotonic_ns) || is_near(time, first.realtime_ns)) return true;
  usleep(RATE_US);
  if (!read_once(api, &reading->clock)) return false;
  double passed = (double)(reading->clock.monotonic_ns - first.monotonic_ns);
  double counted = (double)(int64_t)(reading->clock.ticks - first.ticks);
  reading->counts_ns = counted > passed * (1 - RATE_TOLERANCE) && counted < passed * (1 + RATE_TOLERANCE);
  return true;
}

/* ---- On the writer thread. */


void device_clock_end(struct device_clock *clock) { clock_map_end(&clock->map); }

static void reach(struct clock_reach *known, uint64_t time) {
  uint64_t first = time > MARGIN_NS ? time - MARGIN_NS : 1, last = time + MARGIN_NS;
  if (known->length && known->first < first) first = known->first;
  if (known->length && known->first + known->length > last) last = known->first + known->length;
  *known = (struct clock_reach){first, last - first};
}

void device_clock_look(struct device_clock *clock) {
  uint64_t now = clock_monotonic_ns();
  reach(&clock->ours, now);
  /* What has come since is of the newest era as well. */
  clock->map.checked_ticks += now - (uint64_t)clock->map.checked_ns;
  clock->map.checked_ns = (int64_t)now;
  reach(&clock->cuptis, clock->map.checked_ticks);
}

/* CUPTI's own is taken for the system's, as it is by itself, until it is read. */
bool device_clock_begin(struct device_clock *clock) {
  struct clock_reading now;
  memset(clock, 0, sizeof *clock);
  if (!clock_map_begin(&clock->map)) return false;
  clock_read(&now);
  now.ticks = (uint64_t)now.realtime_ns;
  clock_map_restart(&clock->map, &now);
  clock->is_systems = true;
  device_clock_look(clock);
  return true;
}

void device_clock_count(struct device_clock *clock, uint64_t records) { clock->since_reading += records; }

static double magnitude(double value) { return value < 0 ? -value : value; }

/* How far the map was off, and whether the clock was set. */
static double bend_map(struct device_clock *clock, const struct clock_reading *reading, bool *was_set) {
  struct clock_reading placed = *reading;
  uint64_t foretold = clock->map.checked_ticks + (uint64_t)(reading->monotonic_ns - clock->map.checked_ns);
  if (magnitude((double)(int64_t)(reading->ticks - foretold)) <= SET_NS) clock->map.checked_ticks = reading->ticks;
  placed.ticks = clock_map_place(&clock->map, reading->ticks);
  double error = (double)(reading->monotonic_ns - clock_map_ns(&clock->map, placed.ticks));
  *was_set = placed.ticks < clock->map.last.ticks || magnitude(error) > SET_NS;
  if (*was_set) clock_map_begin_era(&clock->map, reading, 1); /* records from before are still to come */
  else clock_map_bend(&clock->map, &placed);
  clock->map.checked_ticks = reading->ticks;
  clock->map.checked_ns = reading->monotonic_ns;
  reach(&clock->cuptis, reading->ticks);
  return *was_set ? 0 : error;
}

/* The first reading that CUPTI tells of its own: another clock than the system's is a map of its own. */
static void begin_own(struct device_clock *clock, const struct clock_reading *reading) {
  clock->is_read = true;
  clock->is_systems = is_near((int64_t)reading->ticks, reading->realtime_ns);
  if (clock->is_systems) return;
  clock_map_restart(&clock->map, reading);
  clock->cuptis = (struct clock_reach){0};
}

/* While CUPTI keeps time by ours: of its own there may be records, and the system's goes on. */
static void follow_system(struct device_clock *clock, const struct clock_reading *reading) {
  struct clock_reading own = *reading;
  bool was_set;
  own.ticks = (uint64_t)reading->realtime_ns;
  if (clock->is_systems) bend_map(clock, &own, &was_set);
}

void device_clock_note(struct device_clock *clock, const struct device_reading *taken) {
  const struct clock_reading *reading = &taken->clock;
  double offset = (double)((int64_t)reading->ticks - reading->monotonic_ns), error = offset;
  bool was_set = false, was_kept = clock->is_kept, is_first = !clock->readings++;
  if (!taken->counts_ns) return;
  clock->is_kept = is_near((int64_t)reading->ticks, reading->monotonic_ns);
  if (reading->uncertainty_ns > clock->uncertainty_ns) clock->uncertainty_ns = reading->uncertainty_ns;
  if (clock->is_kept) {
    follow_system(clock, reading);
  } else {
    if (!clock->is_read) begin_own(clock, reading);
    error = bend_map(clock, reading, &was_set);
  }
  clock->jumps += was_set;
  if (was_set || clock->was_set) clock->doubtful += clock->since_reading;
  clock->was_set = was_set;
  clock->since_reading = 0;
  if (is_first || was_set || clock->is_kept != was_kept) {
    clock->first_offset_ns = offset;
    clock->first_ns = reading->monotonic_ns;
  }
  clock->last_offset_ns = offset;
  clock->last_ns = reading->monotonic_ns;
  clock->error_ns = error;
  if (magnitude(error) > clock->worst_ns) clock->worst_ns = magnitude(error);
}
