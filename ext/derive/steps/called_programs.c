/* called_programs.c: ops.called_program, which of the programs of one name a call of jax.jit runs.
**
** JAX's profiler names a call after the Python function, PjitFunction(step), and what XLA runs for it after the
** module, jit_step: two compiled functions called step, as the generator's and the discriminator's, are one there.  The
** programs that run have numbers.  Where as many runs of modules of that name began as there are calls (a few more or
** less, at the ends of the recording), the first call is that of the first run, and so on.  Runs are told apart by
** their own number where there is one, else by another program in between.
*/
#include "derive/steps/called_programs.h"
#include "derive/passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char called_by_jax[] = "PjitFunction(";

enum tfprof_status find_calls_of_jax(struct profile *profile, struct programs *programs, struct tfprof_error *error) {
  const struct pool *pool = store_pool(profile->store);
  enum tfprof_status status = TFPROF_OK;
  /* By name; NO_ROW: it is no call. */
  string_id *modules = scratch_allocate_zeroed((size_t)pool_count(pool) + 1, sizeof *modules);
  if (!modules) return error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_ops, &block, &status, error);) {
    string_id names[ROWS_BLOCK];
    block_texts(&block, COLUMN_ops_name, names);
    for (uint32_t i = 0; i < block.count && !status; i++) {
      if (!names[i] || modules[names[i]] == NO_ROW) continue;
      const char *name = pool_text(pool, names[i]);
      if (!modules[names[i]]) {
        char module[256] = "";
        size_t length = strlen(name), prefix = sizeof called_by_jax - 1;
        bool is_call = !strncmp(name, called_by_jax, prefix) && name[length - 1] == ')' && length < sizeof module;
        if (is_call) snprintf(module, sizeof module, "jit_%.*s", (int)(length - prefix - 1), name + prefix);
        modules[names[i]] = is_call ? derive_known_text(profile, module) : NO_ROW;
        if (modules[names[i]] == NO_ROW) continue; /* no call, or of a module that nothing names */
      }
      struct program_call call = {.name = names[i], .module = modules[names[i]], .row = (uint32_t)block.row + i};
      derive_integers(block.segment->columns[COLUMN_ops_start_ns], block.first + i, 1, &call.start);
      derive_integers(block.segment->columns[COLUMN_ops_end_ns], block.first + i, 1, &call.end);
      derive_references(block.segment->columns[COLUMN_ops_thread_id], block.first + i, 1, NO_ROW, &call.thread);
      if (call.start == NO_VALUE || call.end < call.start || call.thread == NO_ROW) continue;
      struct program_call *calls =
          scratch_grow(programs->calls, programs->call_count, &programs->call_capacity, 256, sizeof *calls);
      if (calls) (programs->calls = calls)[programs->call_count++] = call;
      else status = error_no_memory(error);
    }
  }
  scratch_free(modules);
  return status;
}

enum tfprof_status find_executions(struct profile *profile, unsigned table, unsigned module, unsigned program,
                                   unsigned run, unsigned start, struct programs *programs,
                                   struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, table, &block, &status, error);) {
    int64_t numbers[ROWS_BLOCK];
    string_id modules[ROWS_BLOCK];
    block_integers(&block, program, numbers);
    block_texts(&block, module, modules);
    for (uint32_t i = 0; i < block.count && !status; i++) {
      if (numbers[i] == NO_VALUE || !modules[i]) continue;
      struct program_execution one = {.program = numbers[i], .run = NO_VALUE, .module = modules[i],
                              .row = (uint32_t)block.row + i};
      derive_integers(block.segment->columns[start], block.first + i, 1, &one.start);
      if (run) derive_integers(block.segment->columns[run], block.first + i, 1, &one.run);
      if (one.start == NO_VALUE) continue;
      struct program_execution *executions = scratch_grow(programs->executions, programs->execution_count,
                                                  &programs->execution_capacity, 256, sizeof *executions);
      if (executions) (programs->executions = executions)[programs->execution_count++] = one;
      else status = error_no_memory(error);
    }
  }
  return status;
}

/* ---- Putting them together. */

static int by_name_and_thread(const void *left, const void *right) {
  const struct program_call *a = left, *b = right;
  if (a->module != b->module) return a->module < b->module ? -1 : 1;
  if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

static int by_start_of_call(const void *left, const void *right) {
  const struct program_call *a = left, *b = right;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

static int by_run(const void *left, const void *right) {
  const struct program_execution *a = left, *b = right;
  if (a->module != b->module) return a->module < b->module ? -1 : 1;
  if (a->program != b->program) return a->program < b->program ? -1 : 1;
  if (a->run != b->run) return a->run < b->run ? -1 : 1;
  return a->start < b->start ? -1 : a->start > b->start;
}

static int by_start_of_run(const void *left, const void *right) {
  const struct program_execution *a = left, *b = right;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->program < b->program ? -1 : a->program > b->program;
}

/* The runs of one module in the order of their starts, of its executions; how many. */
static uint32_t merge_runs(struct program_execution *executions, uint32_t count, bool *are_several) {
  uint32_t runs = 0, kept = 0, number = 0;
  for (uint32_t i = 0; i < count; i++) { /* those that have a number: the first of each */
    const struct program_execution *last = runs ? &executions[runs - 1] : NULL;
    bool is_of_last = last && last->program == executions[i].program;
    number += !is_of_last;
    executions[i].number = number;
    if (is_of_last && executions[i].run != NO_VALUE && last->run == executions[i].run) continue;
    executions[runs++] = executions[i];
  }
  *are_several = number > 1;
  qsort(executions, runs, sizeof *executions, by_start_of_run);
  for (uint32_t i = 0; i < runs; i++) {
    bool is_same = kept && executions[i].run == NO_VALUE && executions[kept - 1].program == executions[i].program;
    if (!is_same) executions[kept++] = executions[i];
  }
  return kept;
}

static void join_module(struct programs *programs, struct program_call *calls, uint32_t call_count,
                        struct program_execution *executions, uint32_t execution_count) {
  uint32_t outermost = 0;
  bool are_several;
  for (uint32_t i = 0; i < call_count; i++) {
    const struct program_call *last = outermost ? &calls[outermost - 1] : NULL;
    if (last && last->thread == calls[i].thread && calls[i].start < last->end) continue; /* within another */
    calls[outermost++] = calls[i];
  }
  uint32_t runs = merge_runs(executions, execution_count, &are_several);
  uint32_t missing = runs > outermost ? runs - outermost : outermost - runs;
  if (!are_several || missing > outermost / 10 + 1) return;
  qsort(calls, outermost, sizeof *calls, by_start_of_call);
  for (uint32_t i = 0; i < outermost && i < runs; i++)
    programs->values[programs->value_count++] = (struct row_value){calls[i].row, executions[i].number};
}

static int by_row_of_call(const void *left, const void *right) {
  const struct row_value *a = left, *b = right;
  return a->row < b->row ? -1 : a->row > b->row;
}

static void join_programs(struct programs *programs) {
  struct program_call *calls = programs->calls;
  struct program_execution *executions = programs->executions;
  qsort(calls, programs->call_count, sizeof *calls, by_name_and_thread);
  qsort(executions, programs->execution_count, sizeof *executions, by_run);
  for (uint32_t first = 0, end, run = 0; first < programs->call_count; first = end) {
    for (end = first; end < programs->call_count && calls[end].module == calls[first].module;) end++;
    while (run < programs->execution_count && executions[run].module < calls[first].module) run++;
    uint32_t begin = run;
    while (run < programs->execution_count && executions[run].module == calls[first].module) run++;
    join_module(programs, calls + first, end - first, executions + begin, run - begin);
  }
  qsort(programs->values, programs->value_count, sizeof *programs->values, by_row_of_call);
}

static enum tfprof_status run_called_programs(struct profile *profile, struct tfprof_error *error) {
  struct programs programs = {.calls = NULL};
  enum tfprof_status status = find_calls_of_jax(profile, &programs, error);
  if (!status && programs.call_count) {
    status = find_executions(profile, TABLE_ops, COLUMN_ops_hlo_module, COLUMN_ops_program, COLUMN_ops_program_run,
                             COLUMN_ops_start_ns, &programs, error);
    if (!status)
      status = find_executions(profile, TABLE_kernels, COLUMN_kernels_hlo_module, COLUMN_kernels_program, 0,
                               COLUMN_kernels_start_ns, &programs, error);
    programs.values = scratch_allocate(programs.call_count * sizeof *programs.values);
    if (!status && !programs.values) status = error_no_memory(error);
    if (!status && programs.execution_count) join_programs(&programs);
    if (!status && programs.value_count)
      status = derive_set_few_references(profile, TABLE_ops, COLUMN_ops_called_program, programs.values,
                                         programs.value_count, error);
  }
  scratch_free(programs.calls);
  scratch_free(programs.executions);
  scratch_free(programs.values);
  return status;
}

/* Nothing says which program anything belongs to. */
static bool tells_no_programs(const struct profile *profile) {
  const struct profile_table *ops = &profile->tables[TABLE_ops], *kernels = &profile->tables[TABLE_kernels];
  for (size_t i = 0; i < ops->segment_count; i++)
    if (column_set_has(&ops->segments[i]->is_raw, COLUMN_ops_program)) return false;
  for (size_t i = 0; i < kernels->segment_count; i++)
    if (column_set_has(&kernels->segments[i]->is_raw, COLUMN_kernels_program)) return false;
  return true;
}

const struct derive_pass derive_called_programs = {
    .name = "called programs",
    .summary = "Which of the programs of one name a call of jax.jit runs, by the order of calls and runs.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_name},
              {TABLE_ops, COLUMN_ops_thread_id},
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_ops, COLUMN_ops_end_ns},
              {TABLE_ops, COLUMN_ops_hlo_module},
              {TABLE_ops, COLUMN_ops_program},
              {TABLE_ops, COLUMN_ops_program_run},
              {TABLE_kernels, COLUMN_kernels_hlo_module},
              {TABLE_kernels, COLUMN_kernels_program},
              {TABLE_kernels, COLUMN_kernels_start_ns}},
    .writes = {{TABLE_ops, COLUMN_ops_called_program}},
    .run = run_called_programs,
    .is_idle = tells_no_programs,
};
