/* test_capture_slow_steps.c: which of the steps that take long do so regularly (governor/long_steps.h): a recording
** that keeps its last seconds writes those of the others.
*/
#include "check.h"
#include "governor/long_steps.h"

#define FACTOR 1.5
enum { MILLISECOND = 1000000 };

static struct long_steps steps;

static bool add(int64_t number, int64_t milliseconds) {
  return long_steps_add(&steps, FACTOR, number, milliseconds * MILLISECOND);
}

/* An evaluation of two seconds each hundred steps, and a checkpoint of nine each 250, as long as each other to a tenth:
** the third of each is regular, and all after it; one that takes longer than ever is not. */
static void test_regular(void) {
  unsigned told = 0, evaluations = 0;
  long_steps_begin(&steps);
  for (int64_t number = 1; number <= 3000; number++) {
    if (number % 100 == 50) {
      bool is_regular = add(number + number / 100 % 2, 1900 + number % 7 * 30);
      check(is_regular == (evaluations >= 2), "evaluation at step %lld", (long long)number);
      evaluations++;
    }
    if (number % 250 == 0) told += !add(number, 9000 - number % 1000);
  }
  check(told == 2, "%u checkpoints were told", told);
  check(!add(3050, 60000), "one that takes a minute");
}

/* What comes by chance is told, but for what happens to lie as far apart as what was before it. */
static void test_by_chance(void) {
  uint64_t state = 12345;
  unsigned regular = 0, count = 2000;
  int64_t number = 100;
  long_steps_begin(&steps);
  for (unsigned i = 0; i < count; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    number += 10 + (int64_t)(state >> 40) % 2000;
    regular += add(number, 900 + (int64_t)(state >> 20) % 300);
  }
  check(regular < count / 8, "%u of %u are regular", regular, count);
}

/* A pace that changes for good is told at its beginning, and so is the next such stretch. */
static void test_stretches(void) {
  unsigned told = 0;
  long_steps_begin(&steps);
  for (int64_t number = 500; number < 520; number++) told += !add(number, 300);
  check(told == 2, "%u of a stretch", told);
  check(!add(4000, 300), "the next stretch");
}

/* More kinds than are known are not regular, and none is read beyond its place. */
static void test_kinds(void) {
  long_steps_begin(&steps);
  for (int64_t round = 0; round < 5; round++)
    for (int64_t kind = 0; kind < 3 * LONG_SERIES; kind++)
      check(!add(1000 * (round + 1) + kind, (int64_t)10 << kind), "kind %lld", (long long)kind);
}

int main(void) {
  test_regular();
  test_by_chance();
  test_stretches();
  test_kinds();
  return check_result();
}
