/* launched_runs.c: see launched_runs.h.
**
** Calls and runs are put together program by program, as the name of the call tells it: PjitFunction(step) launches
** runs of jit_step.  Where more of these ran than were called, something else launches them, and none is told.  The
** step of a call is that in which the middle of it lies: its ends are those of the step, by another clock.
*/
#include "derive/steps/launched_runs.h"
#include "derive/steps/called_programs.h"
#include "derive/steps/step_lookup.h"

#include <stdlib.h>

struct settled_window {
  int64_t start, end;
};

struct launch {
  int64_t start, end;
  uint32_t window, thread;
  string_id module;
};

struct run_op {
  int64_t run;
  uint32_t window, row;
  string_id module;
};

bool launched_runs_are_told(const struct profile *profile) {
  return profile->tables[TABLE_profiler_windows].segment_count > 0;
}

static int windows_by_time(const void *left, const void *right) {
  const struct settled_window *a = left, *b = right;
  return (a->start > b->start) - (a->start < b->start);
}

static int launches_by_thread(const void *left, const void *right) {
  const struct launch *a = left, *b = right;
  if (a->window != b->window) return a->window < b->window ? -1 : 1;
  if (a->module != b->module) return a->module < b->module ? -1 : 1;
  if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return (a->end < b->end) - (a->end > b->end);
}

static int ops_by_run(const void *left, const void *right) {
  const struct run_op *a = left, *b = right;
  if (a->window != b->window) return a->window < b->window ? -1 : 1;
  if (a->module != b->module) return a->module < b->module ? -1 : 1;
  if (a->run != b->run) return a->run < b->run ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

static enum tfprof_status load_settled(struct profile *profile, struct settled_window **windows, uint32_t *count,
                                       struct tfprof_error *error) {
  uint32_t rows = 0;
  *count = 0;
  enum tfprof_status status = derive_row_count(profile, TABLE_profiler_windows, &rows, error);
  if (!status && !(*windows = scratch_allocate(((size_t)rows + 1) * sizeof **windows))) status = error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_profiler_windows, &block, &status, error);) {
    int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK], settled[ROWS_BLOCK];
    block_integers(&block, COLUMN_profiler_windows_start_ns, starts);
    block_integers(&block, COLUMN_profiler_windows_end_ns, ends);
    block_integers(&block, COLUMN_profiler_windows_is_settled, settled);
    for (uint32_t i = 0; i < block.count; i++)
      if (settled[i] == 1 && starts[i] != NO_VALUE && ends[i] > starts[i])
        (*windows)[(*count)++] = (struct settled_window){starts[i], ends[i]};
  }
  if (!status) qsort(*windows, *count, sizeof **windows, windows_by_time);
  return status;
}

/* The window that holds the moment; NO_ROW. */
static uint32_t window_at(const struct settled_window *windows, uint32_t count, int64_t time) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (windows[middle].start <= time) low = middle + 1; else high = middle;
  }
  return low && time < windows[low - 1].end ? low - 1 : NO_ROW;
}

static uint32_t take_launches(const struct programs *programs, const struct settled_window *windows, uint32_t count,
                              struct launch *launches) {
  uint32_t taken = 0, kept = 0;
  for (uint32_t i = 0; i < programs->call_count; i++) {
    const struct program_call *call = &programs->calls[i];
    uint32_t window = window_at(windows, count, call->start);
    if (window != NO_ROW)
      launches[taken++] = (struct launch){call->start, call->end, window, call->thread, call->module};
  }
  if (taken) qsort(launches, taken, sizeof *launches, launches_by_thread);
  for (uint32_t i = 0; i < taken; i++) {
    const struct launch *last = kept ? &launches[kept - 1] : NULL;
    bool is_within = last && last->window == launches[i].window && last->module == launches[i].module &&
                     last->thread == launches[i].thread && launches[i].start < last->end;
    if (!is_within) launches[kept++] = launches[i];
  }
  return kept;
}

static uint32_t take_ops(const struct programs *programs, const struct settled_window *windows, uint32_t count,
                         struct run_op *ops) {
  uint32_t taken = 0;
  for (uint32_t i = 0; i < programs->execution_count; i++) {
    const struct program_execution *op = &programs->executions[i];
    uint32_t window = op->run == NO_VALUE ? NO_ROW : window_at(windows, count, op->start);
    if (window != NO_ROW) ops[taken++] = (struct run_op){op->run, window, op->row, op->module};
  }
  if (taken) qsort(ops, taken, sizeof *ops, ops_by_run);
  return taken;
}

/* Of one program in one window. Launches of several threads are in no order that tells: none is joined. */
static void join_runs(const struct launch *launches, uint32_t launch_count, const struct run_op *ops, uint32_t op_count,
                      struct step_lookup *lookup, uint32_t *steps) {
  uint32_t runs = 0, run = 0;
  for (uint32_t i = 0; i < op_count; i++) runs += !i || ops[i].run != ops[i - 1].run;
  if (runs > launch_count) return;
  for (uint32_t i = 1; i < launch_count; i++)
    if (launches[i].thread != launches[0].thread) return;
  for (uint32_t i = 0; i < op_count; i++) {
    run += i && ops[i].run != ops[i - 1].run;
    int64_t middle = launches[run].start + derive_difference(launches[run].end, launches[run].start) / 2;
    if (steps[ops[i].row] == NO_ROW) steps[ops[i].row] = step_lookup_find(lookup, middle);
  }
}

enum tfprof_status launched_runs_find(struct profile *profile, uint32_t *steps, struct tfprof_error *error) {
  struct programs programs = {.calls = NULL};
  struct settled_window *windows = NULL;
  struct step_lookup lookup = {.count = 0};
  uint32_t window_count = 0, launch_count = 0, op_count = 0;
  enum tfprof_status status = load_settled(profile, &windows, &window_count, error);
  bool is_any = !status && window_count;
  if (is_any) status = find_calls_of_jax(profile, &programs, error);
  if (is_any && !status)
    status = find_executions(profile, TABLE_ops, COLUMN_ops_hlo_module, COLUMN_ops_program, COLUMN_ops_program_run,
                             COLUMN_ops_start_ns, &programs, error);
  struct launch *launches = scratch_allocate(((size_t)programs.call_count + 1) * sizeof *launches);
  struct run_op *ops = scratch_allocate(((size_t)programs.execution_count + 1) * sizeof *ops);
  if (!status && (!launches || !ops)) status = error_no_memory(error);
  if (is_any && !status) status = step_lookup_of_profile(&lookup, profile, error);
  if (is_any && !status) {
    launch_count = take_launches(&programs, windows, window_count, launches);
    op_count = take_ops(&programs, windows, window_count, ops);
  }
  for (uint32_t first = 0, end, at = 0; first < op_count; first = end) {
    const struct run_op *op = &ops[first];
    for (end = first; end < op_count && ops[end].window == op->window && ops[end].module == op->module;) end++;
    while (at < launch_count && (launches[at].window < op->window ||
                                 (launches[at].window == op->window && launches[at].module < op->module)))
      at++;
    uint32_t begin = at;
    while (at < launch_count && launches[at].window == op->window && launches[at].module == op->module) at++;
    join_runs(launches + begin, at - begin, op, end - first, &lookup, steps);
  }
  step_lookup_free(&lookup);
  scratch_free(launches);
  scratch_free(ops);
  scratch_free(windows);
  scratch_free(programs.calls);
  scratch_free(programs.executions);
  return status;
}
