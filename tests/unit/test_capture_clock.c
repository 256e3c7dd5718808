/* test_capture_clock.c: the map from ticks to nanoseconds goes up, has no jumps, keeps what it said, and follows the
** clock; an end is never before its start. */
#include "recorder/clock.h"

#include <stdio.h>
#include <stdlib.h>

static int failures;
#define CHECK(holds, ...) ((holds) ? (void)0 : (failures++, (void)printf(__VA_ARGS__), (void)printf("\n")))

enum { SECONDS = 3000 };

static double larger(double worst, double error) {
  if (error < 0) error = -error;
  return error > worst ? error : worst;
}

/* A counter of 2.5 GHz whose rate wanders, and readings that are off by up to 200 ns. */
static void test_wandering_counter(void) {
  struct clock_map map = {.capacity = 4};
  map.pieces = malloc(map.capacity * sizeof *map.pieces);
  double true_ns = 1e12;
  uint64_t ticks = 1000000;
  map.pieces[0] = (struct clock_piece){ticks, (int64_t)true_ns, 0.4};
  map.count = 1;
  map.last = (struct clock_reading){.ticks = ticks, .monotonic_ns = (int64_t)true_ns};
  static uint64_t kept_ticks[SECONDS];
  static int64_t kept_ns[SECONDS];
  int64_t before = 0;
  double worst = 0;
  srand(1);
  for (int second = 0; second < SECONDS; second++) {
    double rate = 0.4 * (1 + 1e-8 * abs(second % 400 - 200) + 2e-8 * (rand() % 100));
    for (int part = 0; part < 100; part++) {
      ticks += 25000000;
      true_ns += 25000000 * rate;
      int64_t ns = clock_map_ns(&map, ticks);
      CHECK(ns > before, "second %d: the map goes back", second);
      before = ns;
      if (second > 5) worst = larger(worst, (double)ns - true_ns);
    }
    kept_ticks[second] = ticks - 7;
    kept_ns[second] = clock_map_ns(&map, ticks - 7);
    struct clock_reading reading = {.ticks = ticks, .monotonic_ns = (int64_t)true_ns + rand() % 401 - 200};
    int64_t at_bend = clock_map_ns(&map, ticks);
    clock_map_steer(&map, &reading);
    CHECK(clock_map_ns(&map, ticks) == at_bend, "second %d: the map jumps by %lld ns", second,
          (long long)(clock_map_ns(&map, ticks) - at_bend));
  }
  for (int second = 0; second < SECONDS; second++)
    CHECK(clock_map_ns(&map, kept_ticks[second]) == kept_ns[second], "second %d is mapped otherwise now", second);
  CHECK(worst < 3000, "the map is off by %.0f ns", worst);
  printf("%d seconds: never off by more than %.0f ns\n", SECONDS, worst);
  clock_map_end(&map);
}

/* The machine slept, or was moved to another host: the clock is far ahead, or far behind. The map still goes up. */
static void test_jumps(void) {
  struct clock_map map = {.capacity = 4};
  map.pieces = malloc(map.capacity * sizeof *map.pieces);
  map.pieces[0] = (struct clock_piece){1000, 5000, 1};
  map.count = 1;
  map.last = (struct clock_reading){.ticks = 1000, .monotonic_ns = 5000};
  uint64_t ticks = 1000;
  int64_t clock = 5000, before = 0;
  for (int second = 0; second < 40; second++) {
    ticks += 1000000000;
    clock += 1000000000 + (second == 10 ? 3600000000000 : second == 20 ? -500000000 : 0);
    int64_t ns = clock_map_ns(&map, ticks - 1);
    CHECK(ns > before, "second %d: the map goes back", second);
    before = ns;
    clock_map_steer(&map, &(struct clock_reading){.ticks = ticks, .monotonic_ns = clock});
    ns = clock_map_ns(&map, ticks);
    CHECK(ns >= before, "second %d: the map goes back at a bend", second);
    before = ns;
  }
  CHECK(llabs(clock_map_ns(&map, ticks) - clock) < 1000000, "the map does not come back to the clock: %lld ns",
        (long long)(clock_map_ns(&map, ticks) - clock));
  clock_map_end(&map);
}

/* A reading that follows another within a millisecond tells nothing of the slope: the next second rests on the
** first. */
static void test_early_reading(void) {
  for (int off = -200; off <= 200; off += 100) {
    struct clock_map map = {.capacity = 4, .baseline_ns = 1e9};
    map.pieces = malloc(map.capacity * sizeof *map.pieces);
    map.pieces[0] = (struct clock_piece){1000, 5000, 1};
    map.count = 1;
    map.last = (struct clock_reading){.ticks = 1000, .monotonic_ns = 5000};
    clock_map_steer(&map, &(struct clock_reading){.ticks = 801000, .monotonic_ns = 805000 + off});
    int64_t error = clock_map_ns(&map, 1000801000) - 1000805000;
    CHECK(llabs(error) <= 500, "a reading that is off by %d ns puts the map off by %lld ns a second later", off,
          (long long)error);
    clock_map_end(&map);
  }
}

static void test_ends(void) {
  CHECK(clock_end_ticks(1000, 1100) == 1100 && clock_end_ticks(1000, 1000) == 1000, "an end is moved");
  CHECK(clock_end_ticks(1000, 965) == 1000, "an end read early on another processor lies before the start");
}

static void test_this_machine(void) {
  struct clock_map map;
  CHECK(clock_map_begin(&map), "no memory");
  clock_map_start(&map);
  for (int i = 0; i < 1000; i++) {
    uint64_t before = clock_monotonic_ns(), ticks = clock_ticks(), after = clock_monotonic_ns();
    int64_t ns = clock_map_ns(&map, ticks);
    CHECK(ns > (int64_t)before - 5000 && ns < (int64_t)after + 5000, "%s: %lld ns off", clock_source(),
          (long long)(ns - (int64_t)before));
  }
  CHECK(clock_map_ns(&map, map.pieces[0].ticks - 1000) <= map.pieces[0].ns, "before the first piece");
  clock_map_end(&map);
}

int main(void) {
  clock_begin();
  test_wandering_counter();
  test_jumps();
  test_ends();
  test_early_reading();
  test_this_machine();
  return failures != 0;
}
