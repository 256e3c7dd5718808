/* clock.c: choice of the counter, readings of all clocks, and the map from ticks to CLOCK_MONOTONIC (see clock.h). */
#include "clock.h"

#include "small_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  READING_TRIES = 100,
  MAXIMUM_PIECES = 1 << 18, /* three days of one piece a second: 6 MB */
  JUMP_NS = 1000000,        /* a clock that is this far ahead has jumped: no slope should make up for it */
  BASELINE_NS = 1000000000, /* slopes that were measured over this time or more are equally good */
  SHORT_BASELINE_NS = 20000000,
  MARGIN_NS = 1000000,     /* of where an era begins and ends */
  UNKNOWN_NS = 1000000000, /* that may have passed while CLOCK_MONOTONIC went back */
  RATE_TRIES = 5,
};
#define LONGEST_STALL_NS INT64_C(60000000000) /* between two checks */
#define RATE_TOLERANCE 0.001 /* rates differ by less, however the clock is slewed */

_Atomic bool clock_is_counter;
_Atomic int64_t clock_gone_back_ns;
static const char *source_name = "clock_gettime";
static struct clock_reading first_reading;

const char *clock_source(void) { return source_name; }

/* The kernel trusts the counter on every processor when it is its own clocksource. `otherwise`: where nobody says. */
static bool is_clocksource(const char *name, bool otherwise) {
  char text[64];
  const char *source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
  if (!small_file_read(source, text, sizeof text)) return otherwise;
  text[strcspn(text, "\n")] = 0;
  return strcmp(text, name) == 0;
}

bool clock_is_still_trusted(void) {
  if (!clock_is_counter || is_clocksource(source_name, true)) return true;
  clock_is_counter = false;
  source_name = "clock_gettime";
  return false;
}

/* The two flags say that its rate does not follow the processor's frequency and that it runs on in deep sleep. */
static bool counter_is_steady(void) {
#if defined(__x86_64__)
  char text[8192];
  if (!is_clocksource("tsc", false)) return false;
  if (!small_file_read("/proc/cpuinfo", text, sizeof text)) return false;
  if (!strstr(text, " constant_tsc") || !strstr(text, " nonstop_tsc")) return false;
  source_name = "tsc";
  return true;
#elif defined(__aarch64__)
  if (!is_clocksource("arch_sys_counter", false)) return false;
  source_name = "arch_sys_counter";
  return true;
#else
  return false;
#endif
}

static int64_t realtime_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Ticks are read before and after the two clocks; the try with the least time between the two is kept. */
void clock_read(struct clock_reading *reading) {
  uint64_t best = UINT64_MAX;
  for (int i = 0; i < READING_TRIES; i++) {
    uint64_t begin_ns = clock_monotonic_ns();
    uint64_t before = clock_ticks();
    uint64_t middle_ns = clock_monotonic_ns();
    uint64_t after = clock_ticks();
    int64_t real_ns = realtime_ns();
    uint64_t end_ns = clock_monotonic_ns();
    if (after < before || after - before >= best) continue;
    best = after - before;
    reading->ticks = before + (after - before) / 2;
    reading->monotonic_ns = (int64_t)middle_ns;
    reading->realtime_ns = real_ns - (int64_t)(end_ns - middle_ns) / 2;
    uint64_t spread = end_ns - begin_ns;
    reading->uncertainty_ns = spread > UINT32_MAX ? UINT32_MAX : (uint32_t)spread;
  }
}

void clock_begin(void) {
  clock_is_counter = counter_is_steady();
  clock_read(&first_reading);
}

static double capped_baseline(double ns) { return ns < BASELINE_NS ? ns : BASELINE_NS; }

/* All ticks are of it, and are what they are. */
static void begin_first_era(struct clock_map *map) {
  map->eras[0] = (struct clock_era){0, UINT64_MAX, 0};
  map->era_count = 1;
  map->checked_ticks = map->last.ticks;
  map->checked_ns = map->last.monotonic_ns;
  map->checked_real_ns = map->last.realtime_ns;
}

bool clock_map_begin(struct clock_map *map) {
  memset(map, 0, sizeof *map);
  map->capacity = 1024;
  map->pieces = malloc(map->capacity * sizeof *map->pieces);
  return map->pieces != NULL;
}

void clock_map_start(struct clock_map *map) {
  struct clock_reading now;
  clock_read(&now);
  double rate = 1;
  if (clock_is_counter) {
    /* A short baseline has a poor slope: it is waited for until the error is some 1e-6. */
    while (now.monotonic_ns - first_reading.monotonic_ns < SHORT_BASELINE_NS) {
      usleep(2000);
      clock_read(&now);
    }
    rate = (double)(now.monotonic_ns - first_reading.monotonic_ns) / (double)(now.ticks - first_reading.ticks);
  }
  map->pieces[0] = (struct clock_piece){now.ticks, now.monotonic_ns, rate};
  map->baseline_ns = capped_baseline((double)(now.monotonic_ns - first_reading.monotonic_ns));
  map->count = 1;
  map->last = now;
  begin_first_era(map);
}

void clock_map_end(struct clock_map *map) {
  free(map->pieces);
  memset(map, 0, sizeof *map);
}

/* Room for one more piece. When the memory bound is reached every second old piece is given up: the bend it made is
** then straight, which only ranges can notice that have been open for days. */
static bool reserve_piece(struct clock_map *map) {
  if (map->count < map->capacity) return true;
  if (map->capacity < MAXIMUM_PIECES) {
    struct clock_piece *pieces = realloc(map->pieces, 2 * map->capacity * sizeof *pieces);
    if (pieces) {
      map->pieces = pieces;
      map->capacity *= 2;
      return true;
    }
  }
  if (map->count < 16) return false;
  size_t kept = 0, old = map->count / 2;
  for (size_t i = 0; i < map->count; i++)
    if (i >= old || i % 2 == 0) map->pieces[kept++] = map->pieces[i];
  map->count = kept;
  for (size_t i = 0; i + 1 < old / 2; i++) {
    struct clock_piece *piece = &map->pieces[i], *next = piece + 1;
    piece->rate = (double)(next->ns - piece->ns) / (double)(next->ticks - piece->ticks);
  }
  return true;
}

static int64_t allowed_error_ns(const struct clock_map *map, int64_t now_ns) {
  return JUMP_NS + (int64_t)((double)(now_ns - map->last.monotonic_ns) * RATE_TOLERANCE);
}

/* Where one of the clocks has jumped, which clock_map_check will see, nothing is known of the slope. */
void clock_map_steer(struct clock_map *map, const struct clock_reading *reading) {
  if (!clock_is_counter) return;
  struct clock_reading placed = *reading;
  placed.ticks = clock_map_place(map, reading->ticks);
  int64_t error = reading->monotonic_ns - clock_map_ns(map, placed.ticks);
  if (llabs(error) <= allowed_error_ns(map, reading->monotonic_ns)) clock_map_bend(map, &placed);
}

void clock_map_restart(struct clock_map *map, const struct clock_reading *reading) {
  map->pieces[0] = (struct clock_piece){reading->ticks, reading->monotonic_ns, 1};
  map->baseline_ns = 1;
  map->count = 1;
  map->last = *reading;
  begin_first_era(map);
}

void clock_map_bend(struct clock_map *map, const struct clock_reading *reading) {
  if (reading->ticks <= map->last.ticks || !reserve_piece(map)) return;
  const struct clock_piece *old = &map->pieces[map->count - 1];
  double elapsed = (double)(reading->ticks - map->last.ticks);
  double measured = (double)(reading->monotonic_ns - map->last.monotonic_ns) / elapsed;
  int64_t value = clock_map_ns(map, reading->ticks);
  int64_t error = reading->monotonic_ns - value;
  bool is_off = measured < old->rate * (1 - RATE_TOLERANCE) || measured > old->rate * (1 + RATE_TOLERANCE);
  /* Both slopes count by the time that they were measured over: a reading soon after another tells little of the slope,
  ** and of two that stand a second apart the mean steadies it against noise of single readings.  What the map is off by
  ** is made up for in a second, after which the next reading comes. */
  double baseline = capped_baseline((double)(reading->monotonic_ns - map->last.monotonic_ns));
  double share = is_off ? 0 : baseline / (baseline + map->baseline_ns);
  double rate = old->rate + (measured - old->rate) * share;
  if (!is_off) map->baseline_ns = capped_baseline(map->baseline_ns + baseline);
  double next = BASELINE_NS / rate;
  double steered = rate + (double)error / (elapsed > next ? elapsed : next);
  if (steered < rate / 2) steered = rate / 2;
  if (steered > rate * 2) steered = rate * 2;
  map->pieces[map->count++] = (struct clock_piece){reading->ticks, value, steered};
  map->last = *reading;
}

int64_t clock_map_search(const struct clock_map *map, uint64_t ticks) {
  size_t low = 0, high = map->count; /* the last piece that begins at or before ticks, or the first of all */
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (map->pieces[middle].ticks <= ticks)
      low = middle;
    else
      high = middle;
  }
  const struct clock_piece *piece = &map->pieces[low];
  if (ticks < piece->ticks) return piece->ns - (int64_t)((double)(piece->ticks - ticks) * piece->rate);
  return piece->ns + (int64_t)((double)(ticks - piece->ticks) * piece->rate);
}

/* ---- Eras. */

/* How many ticks pass meanwhile, and a little more. */
static uint64_t ticks_within(int64_t ns, double rate) { return (uint64_t)((double)(ns + MARGIN_NS) / rate); }

void clock_map_begin_era(struct clock_map *map, const struct clock_reading *reading, double rate) {
  if (!reserve_piece(map)) return;
  struct clock_era *old = &map->eras[map->era_count - 1];
  int64_t passed_ns = reading->monotonic_ns - map->checked_ns;
  if (passed_ns < 0) passed_ns = 0;
  uint64_t place_then = clock_map_place(map, map->checked_ticks);
  uint64_t longest = ticks_within(passed_ns, map->pieces[map->count - 1].rate), since = ticks_within(passed_ns, rate);
  old->last = map->checked_ticks > UINT64_MAX - longest ? UINT64_MAX : map->checked_ticks + longest;
  if (since > reading->ticks) since = reading->ticks;
  struct clock_era era = {reading->ticks - since, UINT64_MAX, place_then + longest + 1};
  if (map->era_count == CLOCK_ERAS) memmove(map->eras, map->eras + 1, sizeof *map->eras * --map->era_count);
  map->eras[map->era_count++] = era;
  int64_t ns = reading->monotonic_ns - (int64_t)((double)since * rate);
  map->pieces[map->count++] = (struct clock_piece){era.place, ns, rate};
  map->last = *reading;
  map->last.ticks = era.place + since;
  map->baseline_ns = SHORT_BASELINE_NS;
  map->checked_ticks = reading->ticks;
  map->checked_ns = reading->monotonic_ns;
  map->checked_real_ns = reading->realtime_ns;
}

/* The rate of the ticks that are read now, which may be those of another machine: of two measurements that agree. 0:
** they do not, for the counter has jumped again. */
static double measure_rate(struct clock_reading *now) {
  double before = 0;
  struct clock_reading begin;
  clock_read(&begin);
  for (int i = 0; i < RATE_TRIES; i++) {
    usleep(SHORT_BASELINE_NS / 2000);
    clock_read(now);
    int64_t ticks = (int64_t)(now->ticks - begin.ticks), ns = now->monotonic_ns - begin.monotonic_ns;
    double rate = ticks > 0 && ns > 0 ? (double)ns / (double)ticks : 0;
    begin = *now;
    if (rate > 0 && rate > before * (1 - RATE_TOLERANCE) && rate < before * (1 + RATE_TOLERANCE))
      return (rate + before) / 2;
    before = rate;
  }
  return 0;
}

/* Nothing of the newest era has been mapped yet. */
static void correct_rate(struct clock_map *map) {
  struct clock_reading now;
  double rate = measure_rate(&now);
  struct clock_piece *piece = &map->pieces[map->count - 1];
  uint64_t place = clock_map_place(map, now.ticks);
  if (rate == 0 || place <= map->last.ticks) return;
  double between = (double)(now.monotonic_ns - map->last.monotonic_ns) / (double)(place - map->last.ticks);
  if (between < rate * (1 - RATE_TOLERANCE) || between > rate * (1 + RATE_TOLERANCE)) return; /* it jumped in between */
  int64_t ns = now.monotonic_ns - (int64_t)((double)(place - piece->ticks) * between);
  *piece = (struct clock_piece){piece->ticks, ns, between};
}

/* How long it is since the last check, where CLOCK_MONOTONIC went back: as the counter says, or CLOCK_REALTIME, which
** counts the time that the process did not run, too. */
static int64_t passed_since(const struct clock_map *map, int64_t expected_ns, int64_t real_ns) {
  int64_t passed_ns = expected_ns - map->checked_ns;
  if (passed_ns <= 0 || passed_ns > LONGEST_STALL_NS) passed_ns = real_ns - map->checked_real_ns;
  return passed_ns <= 0 || passed_ns > UNKNOWN_NS ? UNKNOWN_NS : passed_ns;
}

bool clock_map_check(struct clock_map *map, struct clock_jump *jump) {
  int64_t before_ns = (int64_t)clock_monotonic_ns();
  uint64_t ticks = clock_ticks();
  int64_t after_ns = (int64_t)clock_monotonic_ns();
  const struct clock_piece *piece = &map->pieces[map->count - 1];
  const struct clock_era *era = &map->eras[map->era_count - 1];
  int64_t since_piece = (int64_t)(ticks - era->first + era->place - piece->ticks);
  int64_t expected_ns = piece->ns + (int64_t)((double)since_piece * piece->rate), real_ns = realtime_ns();
  int64_t earliest_ns = after_ns < before_ns ? after_ns : before_ns, gone_back_ns = map->checked_ns - earliest_ns;
  if (gone_back_ns > 0) {
    gone_back_ns += passed_since(map, expected_ns, real_ns);
    atomic_fetch_add(&clock_gone_back_ns, gone_back_ns);
    before_ns = after_ns = earliest_ns + gone_back_ns;
  }
  int64_t allowed_ns = allowed_error_ns(map, after_ns);
  bool goes_on = expected_ns >= before_ns - allowed_ns && expected_ns <= after_ns + allowed_ns;
  if (goes_on && gone_back_ns <= 0) {
    map->checked_ticks = ticks;
    map->checked_ns = before_ns;
    map->checked_real_ns = real_ns;
    return true;
  }
  *jump = (struct clock_jump){map->checked_ns, after_ns, goes_on ? 0 : expected_ns - before_ns,
                              gone_back_ns > 0 ? gone_back_ns : 0};
  struct clock_reading now;
  clock_read(&now);
  clock_map_begin_era(map, &now, clock_is_counter ? piece->rate : 1);
  if (clock_is_counter) correct_rate(map);
  return false;
}

static uint64_t place_in(const struct clock_era *era, uint64_t ticks) {
  return era->place + (ticks > era->first ? ticks - era->first : 0);
}

/* The number of the newest era before `end` that the ticks can be of; `end`: none. */
static unsigned find_era(const struct clock_map *map, unsigned end, uint64_t ticks) {
  for (unsigned i = end; i--;) {
    const struct clock_era *era = &map->eras[i];
    if (ticks >= era->first && ticks <= (i + 1 == map->era_count ? map->checked_ticks : era->last)) return i;
  }
  return end;
}

/* What is later than the last check is of an earlier era, or has come since. */
static unsigned era_of(const struct clock_map *map, uint64_t ticks) {
  unsigned found = find_era(map, map->era_count, ticks);
  return found < map->era_count ? found : map->era_count - 1;
}

uint64_t clock_map_search_place(const struct clock_map *map, uint64_t ticks) {
  return place_in(&map->eras[era_of(map, ticks)], ticks);
}

uint64_t clock_map_search_start(const struct clock_map *map, uint64_t start_ticks, uint64_t end_ticks) {
  unsigned its = era_of(map, end_ticks);
  const struct clock_era *era = &map->eras[its];
  if (start_ticks >= era->first && (start_ticks <= end_ticks || start_ticks - end_ticks < CLOCK_SKEW_TICKS))
    return place_in(era, start_ticks);
  unsigned earlier = find_era(map, its, start_ticks);
  if (earlier < its) return place_in(&map->eras[earlier], start_ticks);
  return era->place ? era->place : place_in(era, end_ticks); /* when it was is not known: not before the era */
}
