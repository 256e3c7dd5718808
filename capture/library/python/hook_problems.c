/* hook_problems.c: see hook_problems.h. */
#include "hook_problems.h"

#include "recorder/recorder.h"

#include <stdatomic.h>
#include <stdio.h>

enum { PROBLEMS_MAXIMUM = 8, PROBLEM_TEXT = 300 };
static char problems[PROBLEMS_MAXIMUM][PROBLEM_TEXT];
static _Atomic unsigned problem_count;
static unsigned written; /* of the file */

void hook_problem_tell(const char *text) {
  unsigned count = atomic_load_explicit(&problem_count, memory_order_relaxed);
  if (count == PROBLEMS_MAXIMUM) return;
  snprintf(problems[count], sizeof problems[count], "%s", text);
  atomic_store_explicit(&problem_count, count + 1, memory_order_release);
}

static bool problems_open(struct recorder *recorder) {
  (void)recorder;
  written = 0;
  return true;
}

static void problems_tick(struct recorder *recorder, const struct clock_reading *now, bool is_end) {
  (void)now;
  (void)is_end;
  for (unsigned count = atomic_load_explicit(&problem_count, memory_order_acquire); written < count; written++)
    recorder_diagnose(recorder, "warning", "capture_hook_failed", 1, NULL,
                      "what the recorder does as the program calls a function has failed, which may leave out rows of "
                      "it: %s", problems[written]);
}

const struct capture_source hook_problems_source = {
    .name = "hook problems", .open = problems_open, .tick = problems_tick};
