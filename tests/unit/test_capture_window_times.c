/* test_capture_window_times.c: what windows of the framework's profiler take from steps, as the pace of steps is told
** (governor/sampling.h): it is left out once, of the step in which it was taken, and of no later one.
*/
#include "check.h"
#include "governor/sampling.h"
#include "recorder/clock.h"
#include "recorder/gate.h"
#include "windows/window_source.h"

#include <unistd.h>

enum { STEP_US = 10000, THREAD = 1, NAME = 1 };

static const struct capture_source *const no_sources[] = {NULL};
static uint64_t seen;

static void end_step(void) {
  uint64_t now = clock_ticks();
  check(sampling_mark_ended(MARK_OPTIMIZER, THREAD, NAME, now, now), "a step has ended");
}

/* How long it is told that the last step took. */
static int64_t told_ns(void) {
  int64_t took[PACE_HISTORY], usual[PACE_HISTORY], number;
  unsigned count = sampling_took(&seen, took, usual, &number);
  check(count == 1, "%u steps are told", count);
  return count ? took[count - 1] : 0;
}

static void check_step(void (*within)(void), const char *what) {
  usleep(STEP_US);
  within();
  end_step();
  int64_t took_ns = told_ns();
  check(took_ns >= STEP_US * 1000, "%s: a step of %d us took %lld ns", what, STEP_US, (long long)took_ns);
}

static void refuse(void) { windows_opened(false); }

static void open_one(void) {
  windows_opening("jax", false);
  windows_opened(true);
}

static void open_none(void) {
  windows_opening("jax", false);
  windows_opened(false);
}

static void close_one(void) {
  static const struct window_result told = {.bytes = "told", .size = 4};
  check(windows_closing("steps"), "one is open");
  windows_closed(&told);
}

int main(void) {
  static const struct sampling_options options = {.mode = OPS_SAMPLED, .overhead = 0.02, .last_step = -1, .seed = 1};
  gate_own();
  sampling_begin(&options, no_sources);
  end_step();
  sampling_took(&seen, (int64_t[PACE_HISTORY]){0}, (int64_t[PACE_HISTORY]){0}, &(int64_t){0});
  check_step(refuse, "none was asked for before");
  check_step(open_one, "one is opened");
  check_step(refuse, "one is open");
  check_step(close_one, "it is closed");
  check_step(refuse, "it was closed in the step before");
  check_step(open_none, "one that cannot be opened");
  check_step(refuse, "it could not in the step before");
  sampling_end();
  return check_result();
}
