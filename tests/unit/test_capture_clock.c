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

/* A reading that does not fit: one of the clocks has jumped, which is no affair of the slope. */
static void test_unfitting_reading(void) {
  struct clock_map map = {.capacity = 4};
  map.pieces = malloc(map.capacity * sizeof *map.pieces);
  map.pieces[0] = (struct clock_piece){1000, 5000, 1};
  map.count = 1;
  map.last = (struct clock_reading){.ticks = 1000, .monotonic_ns = 5000};
  clock_map_steer(&map, &(struct clock_reading){.ticks = 1000001000, .monotonic_ns = 3600000005000});
  clock_map_steer(&map, &(struct clock_reading){.ticks = 3600000001000, .monotonic_ns = 1000005000});
  clock_map_steer(&map, &(struct clock_reading){.ticks = 10, .monotonic_ns = 1000005000});
  CHECK(clock_map_ns(&map, 2000001000) == 2000005000, "the map follows a jump");
  clock_map_end(&map);
}

/* The counter jumps: ticks of both eras are in order, and map to the times that they were read at. */
static void test_eras(void) {
  static const int64_t jumps[] = {5000000000000, -5000000000000, -1000000000, 2000000000, -900000};
  struct clock_map map;
  CHECK(clock_map_begin(&map), "no memory");
  const uint64_t begin = 10000000000000;
  clock_map_restart(&map, &(struct clock_reading){.ticks = begin, .monotonic_ns = 1000});
  CHECK(clock_map_place(&map, begin + 7) == begin + 7, "ticks are moved without a jump");
  int64_t moved = 0, now = 1000;
  for (size_t i = 0; i < sizeof jumps / sizeof *jumps; i++) {
    /* It was looked at the clocks; 20 ms later came the jump, and 30 ms after that it is seen. */
    uint64_t before = begin + (uint64_t)(now - 1000 + 19000000 + moved), read = before + 1000000 + 30000000;
    int64_t before_ns = now + 19000000, until_ns = now + 50000000;
    moved += jumps[i];
    read += (uint64_t)jumps[i];
    clock_map_begin_era(&map, &(struct clock_reading){.ticks = read, .monotonic_ns = until_ns}, 1);
    uint64_t after = read - 29000000, place = clock_map_place(&map, before);
    uint64_t start = clock_map_search_start(&map, before, after);
    bool is_far = llabs(jumps[i]) > 100000000;
    CHECK(clock_map_place(&map, after) < clock_map_place(&map, read), "jump %zu: ticks go back", i);
    CHECK(llabs(clock_map_ns(&map, clock_map_place(&map, after)) - (before_ns + 2000000)) < 10,
          "jump %zu: off behind", i);
    CHECK(!is_far || place < clock_map_place(&map, after), "jump %zu: ticks of the former era are later", i);
    CHECK(!is_far || llabs(clock_map_ns(&map, place) - before_ns) < 10, "jump %zu: off before it by %lld ns", i,
          (long long)(clock_map_ns(&map, place) - before_ns));
    CHECK(start <= clock_map_place(&map, after), "jump %zu: a start after its end", i);
    CHECK(!is_far || start == place, "jump %zu: an op that was open has another start", i);
    now = until_ns;
  }
  /* One that began before all that is known. */
  for (int i = 0; i < CLOCK_ERAS; i++) {
    now += 50000000;
    moved += 5000000000000;
    clock_map_begin_era(&map, &(struct clock_reading){begin + (uint64_t)(now - 1000 + moved), now, now, 0}, 1);
  }
  uint64_t last = begin + (uint64_t)(now - 1000 + moved);
  CHECK(clock_map_search_start(&map, begin + 5, last) <= clock_map_place(&map, last), "a start after its end");
  CHECK(map.era_count == CLOCK_ERAS, "%u eras", map.era_count);
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
  CHECK(clock_end_ticks(5000000000000, 965) == 965, "an end read after a jump is moved");
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
  test_unfitting_reading();
  test_eras();
  test_ends();
  test_early_reading();
  test_this_machine();
  return failures != 0;
}
