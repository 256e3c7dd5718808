/* clock.c: choice of the counter, readings of all clocks, and the map from ticks to CLOCK_MONOTONIC (see clock.h). */
#include "clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  READING_TRIES = 100,
  MAXIMUM_PIECES = 1 << 18, /* three days of one piece a second: 6 MB */
  JUMP_NS = 1000000,        /* a clock that is this far ahead has jumped: no slope should make up for it */
  BASELINE_NS = 1000000000, /* slopes that were measured over this time or more are equally good */
};

bool clock_is_counter;
static const char *source_name = "clock_gettime";
static struct clock_reading first_reading;

const char *clock_source(void) { return source_name; }

static size_t read_file(const char *path, char *buffer, size_t size) {
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return 0;
  ssize_t length = read(descriptor, buffer, size - 1);
  close(descriptor);
  if (length < 0) length = 0;
  buffer[length] = 0;
  return (size_t)length;
}

/* The kernel trusts the counter on every processor when it is its own clocksource; the two flags say that its rate
** does not follow the processor's frequency and that it runs on in deep sleep. */
static bool counter_is_steady(void) {
  char text[8192];
  if (!read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", text, sizeof text)) return false;
  text[strcspn(text, "\n")] = 0;
#if defined(__x86_64__)
  if (strcmp(text, "tsc")) return false;
  if (!read_file("/proc/cpuinfo", text, sizeof text)) return false;
  if (!strstr(text, " constant_tsc") || !strstr(text, " nonstop_tsc")) return false;
  source_name = "tsc";
  return true;
#elif defined(__aarch64__)
  if (strcmp(text, "arch_sys_counter")) return false;
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
    if (after - before >= best) continue;
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
    while (now.monotonic_ns - first_reading.monotonic_ns < 20000000) {
      usleep(2000);
      clock_read(&now);
    }
    rate = (double)(now.monotonic_ns - first_reading.monotonic_ns) / (double)(now.ticks - first_reading.ticks);
  }
  map->pieces[0] = (struct clock_piece){now.ticks, now.monotonic_ns, rate};
  map->baseline_ns = capped_baseline((double)(now.monotonic_ns - first_reading.monotonic_ns));
  map->count = 1;
  map->last = now;
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

void clock_map_steer(struct clock_map *map, const struct clock_reading *reading) {
  if (clock_is_counter) clock_map_bend(map, reading);
}

void clock_map_restart(struct clock_map *map, const struct clock_reading *reading) {
  map->pieces[0] = (struct clock_piece){reading->ticks, reading->monotonic_ns, 1};
  map->baseline_ns = 1;
  map->count = 1;
  map->last = *reading;
}

void clock_map_bend(struct clock_map *map, const struct clock_reading *reading) {
  if (reading->ticks <= map->last.ticks || !reserve_piece(map)) return;
  const struct clock_piece *old = &map->pieces[map->count - 1];
  double elapsed = (double)(reading->ticks - map->last.ticks);
  double measured = (double)(reading->monotonic_ns - map->last.monotonic_ns) / elapsed;
  int64_t value = clock_map_ns(map, reading->ticks);
  int64_t error = reading->monotonic_ns - value;
  /* Where one of the clocks has jumped, the slope measured across the jump means nothing. */
  bool has_jumped = measured < old->rate * 0.999 || measured > old->rate * 1.001;
  if (has_jumped && error > JUMP_NS) {
    value += error;
    error = 0;
  }
  /* Both slopes count by the time that they were measured over: a reading soon after another tells little of the slope,
  ** and of two that stand a second apart the mean steadies it against noise of single readings.  What the map is off by
  ** is made up for in a second, after which the next reading comes. */
  double baseline = capped_baseline((double)(reading->monotonic_ns - map->last.monotonic_ns));
  double share = has_jumped ? 0 : baseline / (baseline + map->baseline_ns);
  double rate = old->rate + (measured - old->rate) * share;
  if (!has_jumped) map->baseline_ns = capped_baseline(map->baseline_ns + baseline);
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
