/* test_capture_budget.c: a file grows as fast as it may (byte_budget.h), whatever a job would write: jobs are
** simulated, whose allocations and whose ops take so many bytes a second. */
#include "governor/byte_budget.h"
#include "stopping_check.h"

#include <math.h>

enum { HOUR = 20 << 20, SECONDS_OF_HOUR = 3600 };

struct job {
  double memory, ops; /* bytes a second of what is left out when it is thinned, and of the recorded steps at level 0 */
};

struct run {
  struct byte_budget budget;
  double written;
  uint64_t seconds;
};

static void begin(struct run *run, uint64_t hour) {
  *run = (struct run){.written = 0};
  byte_budget_begin(&run->budget, hour);
}

static void go_on(struct run *run, const struct job *job, uint64_t seconds) {
  for (uint64_t end = run->seconds + seconds; run->seconds < end;) {
    run->written += ldexp(job->ops, -(int)run->budget.levels) + (run->budget.is_thinned ? 0 : job->memory) + 100;
    run->seconds++;
    byte_budget_note(&run->budget, (double)run->seconds, (uint64_t)run->written);
  }
}

int main(void) {
  static const struct job small = {2000, 1000}, launch_bound = {450e3, 50e3}, wild = {5e6, 2e6}, idle = {0, 0};
  struct run run;

  begin(&run, HOUR);
  go_on(&run, &small, 5 * SECONDS_OF_HOUR);
  check(!run.budget.is_thinned && !run.budget.levels, "what stays below the rate is thinned");

  begin(&run, HOUR);
  go_on(&run, &launch_bound, 15);
  check(!run.budget.is_thinned, "the first seconds are thinned");
  go_on(&run, &launch_bound, 10 * SECONDS_OF_HOUR - 15);
  check(run.budget.is_thinned && run.budget.levels >= 3 && run.budget.levels <= 5, "%u levels", run.budget.levels);
  check(run.written < 11.1 * HOUR && run.written > 4 * HOUR, "%.1f MB in ten hours", run.written / 1e6);
  /* It does less: the steps come back, not the allocations. */
  go_on(&run, &idle, 2 * SECONDS_OF_HOUR);
  check(run.budget.is_thinned && !run.budget.levels, "%u levels of a job that has become idle", run.budget.levels);

  begin(&run, HOUR);
  go_on(&run, &wild, SECONDS_OF_HOUR);
  check(run.written < 3.5 * HOUR, "%.1f MB in the first hour of a job without measure", run.written / 1e6);
  check(byte_budget_patience(&run.budget) >= 10, "short-lived pieces get rows where nothing is left");

  begin(&run, 0);
  go_on(&run, &wild, SECONDS_OF_HOUR);
  check(!run.budget.is_thinned && !run.budget.levels, "a rate that nobody asked for");
  return 0;
}
