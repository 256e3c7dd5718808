/* slow_steps.c: see slow_steps.h. */
#include "slow_steps.h"

#include "long_steps.h"
#include "recorder/triggers.h"
#include "sampling.h"

#include <stdio.h>

enum { FEWEST_STEPS = 15 };

static double factor = SLOW_STEP_FACTOR;
static uint64_t seen, regular;
static struct long_steps long_steps;

void slow_steps_set(double its_factor) { factor = its_factor; }

void slow_steps_begin(void) {
  seen = regular = 0;
  long_steps_begin(&long_steps);
}

uint64_t slow_steps_take_regular(void) {
  uint64_t count = regular;
  regular = 0;
  return count;
}

static void tell_slow_step(int64_t number, int64_t took_ns, int64_t usual_ns) {
  struct kept_trigger facts = {.step_plus_one = number + 1, .dur_ns = took_ns, .usual_ns = usual_ns};
  snprintf(facts.message, sizeof facts.message, "step %lld took %.1f ms, %.1f times the median of those before it",
           (long long)number, (double)took_ns * 1e-6, (double)took_ns / (double)usual_ns);
  trigger_note(TRIGGER_SLOW_STEP, &facts, 0);
}

/* Of several the slowest. */
void slow_steps_look(void) {
  int64_t took_ns[PACE_HISTORY], usual_ns[PACE_HISTORY], number;
  double most = 0;
  unsigned slowest = PACE_HISTORY;
  if (factor <= 0 || !triggers_are_on()) return;
  unsigned count = sampling_took(&seen, took_ns, usual_ns, &number);
  for (unsigned i = 0; i < count; i++) {
    if (seen - count + i < FEWEST_STEPS || usual_ns[i] <= 0) continue;
    double times = (double)took_ns[i] / (double)usual_ns[i];
    if (times <= factor) continue;
    bool is_regular = long_steps_add(&long_steps, factor, number + i, took_ns[i]);
    regular += is_regular;
    if (is_regular || times <= most) continue;
    most = times;
    slowest = i;
  }
  if (slowest < count) tell_slow_step(number + slowest, took_ns[slowest], usual_ns[slowest]);
}
