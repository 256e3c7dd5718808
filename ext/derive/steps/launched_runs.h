/* launched_runs.h: the step that launched what XLA ran on CPUs, of JAX, which returns from calls before that is done.
**
** JAX's profiler gives each run of a program a number, in the order in which they were launched, and its calls none;
** and what a pool runs it connects with nothing once runs wait for each other.  Where the recorder had waited for all
** work before it opened a window of that profiler (profiler_windows.is_settled), the first run of a program in it is
** that of the first call, and so on.  In other windows runs of earlier calls go on, and nothing tells how many.
*/
#ifndef TFPROF_DERIVE_LAUNCHED_RUNS_H
#define TFPROF_DERIVE_LAUNCHED_RUNS_H

#include "derive/rows.h"

/* Whether anything may be told. */
bool launched_runs_are_told(const struct profile *profile);
/* steps[op] becomes the step for the ops of such runs that have none (NO_ROW). */
enum tfprof_status launched_runs_find(struct profile *profile, uint32_t *steps, struct tfprof_error *error);
#define LAUNCHED_RUNS_READ                                            \
  {TABLE_profiler_windows, COLUMN_profiler_windows_start_ns},         \
      {TABLE_profiler_windows, COLUMN_profiler_windows_end_ns},       \
      {TABLE_profiler_windows, COLUMN_profiler_windows_is_settled},   \
      {TABLE_ops, COLUMN_ops_hlo_module},                             \
      {TABLE_ops, COLUMN_ops_program},                                \
      {TABLE_ops, COLUMN_ops_program_run}

#endif
