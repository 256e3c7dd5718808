/* launch_steps.c: graph_launches.step_id and kernel_count, of launches that the source has itself, as those of programs
** on a TPU: the step of the device that a launch begins in, and how many kernels begin in it.  Of launches made of
** calls and kernels graph_launches.c tells both.
*/
#include "derive/links/device_spans.h"
#include "derive/passes.h"

static enum tfprof_status find_steps_around(struct profile *profile, uint32_t *steps, struct tfprof_error *error) {
  struct device_spans spans;
  enum tfprof_status status = device_spans_of_steps(profile, &spans, error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_graph_launches, &block, &status, error);) {
    int64_t starts[ROWS_BLOCK];
    uint32_t devices[ROWS_BLOCK];
    block_integers(&block, COLUMN_graph_launches_start_ns, starts);
    block_references(&block, COLUMN_graph_launches_device_id, NO_ROW, devices);
    for (uint32_t i = 0; i < block.count; i++) {
      bool is_known = devices[i] != NO_ROW && starts[i] != NO_VALUE;
      steps[block.row + i] = is_known ? device_spans_find(&spans, devices[i], starts[i]) : NO_ROW;
    }
  }
  device_spans_free(&spans);
  return status;
}

static enum tfprof_status count_kernels(struct profile *profile, int64_t *counts, uint32_t launch_count,
                                        struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_kernels, &block, &status, error);) {
    uint32_t launches[ROWS_BLOCK];
    block_references(&block, COLUMN_kernels_graph_launch_id, launch_count, launches);
    for (uint32_t i = 0; i < block.count; i++) {
      if (launches[i] != NO_ROW) counts[launches[i]]++;
    }
  }
  return status;
}

static enum tfprof_status run_launch_steps(struct profile *profile, struct tfprof_error *error) {
  uint32_t rows, *steps = NULL;
  if (profile->tables[TABLE_graph_launches].is_made) return TFPROF_OK;
  enum tfprof_status status = derive_row_count(profile, TABLE_graph_launches, &rows, error);
  if (status || !rows) return status;
  int64_t *counts = scratch_allocate_zeroed(rows, sizeof *counts);
  steps = scratch_allocate((size_t)rows * sizeof *steps);
  if (!counts || !steps) status = error_no_memory(error);
  if (!status) status = find_steps_around(profile, steps, error);
  if (!status) status = count_kernels(profile, counts, rows, error);
  if (!status)
    status = derive_set_references(profile, TABLE_graph_launches, COLUMN_graph_launches_step_id, steps, error);
  if (!status)
    status = derive_set_integers(profile, TABLE_graph_launches, COLUMN_graph_launches_kernel_count, counts, error);
  scratch_free(counts);
  scratch_free(steps);
  return status;
}

static bool are_made(const struct profile *profile) { return profile->tables[TABLE_graph_launches].is_made; }

const struct derive_pass derive_launch_steps = {
    .name = "steps of launches",
    .summary = "The device's own step that a program began in, and the kernels that began in it.",
    .makes_table = -1,
    .reads = {{TABLE_graph_launches, COLUMN_graph_launches_start_ns},
              {TABLE_graph_launches, COLUMN_graph_launches_device_id},
              {TABLE_kernels, COLUMN_kernels_graph_launch_id},
              {TABLE_ops, COLUMN_ops_name},
              {TABLE_ops, COLUMN_ops_marked_step},
              {TABLE_ops, COLUMN_ops_thread_id},
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_ops, COLUMN_ops_end_ns},
              {TABLE_threads, COLUMN_threads_device_id},
              {TABLE_steps, COLUMN_steps_origin},
              {TABLE_steps, COLUMN_steps_number}},
    .writes = {{TABLE_graph_launches, COLUMN_graph_launches_step_id},
               {TABLE_graph_launches, COLUMN_graph_launches_kernel_count}},
    .run = run_launch_steps,
    .is_idle = are_made,
};
