/* memory_traces.c: memory_events.code_trace_id and allocations.code_trace_id: the place in the program that asked for
** memory.
**
** It is the stack that was recorded with the event; without one, as on autograd's own threads, that of the innermost
** op, but not of a range: lines come and go while it is open. The recorder leaves out those of small pieces while it
** records no ops. Releases have none: where memory is given back says little, for it is where the last reference
** happened to end.
*/
#include "derive/passes.h"
#include "derive/rows.h"

#include <string.h>

static enum tfprof_status leave_out_ranges(struct profile *profile, uint32_t *of_op, struct tfprof_error *error) {
  string_id user = derive_known_text(profile, "user");
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_ops, &block, &status, error);) {
    string_id categories[ROWS_BLOCK];
    block_texts(&block, COLUMN_ops_category, categories);
    for (uint32_t i = 0; i < block.count; i++)
      if (categories[i] == user) of_op[block.row + i] = NO_ROW;
  }
  return status;
}

static enum tfprof_status run_memory_traces(struct profile *profile, struct tfprof_error *error) {
  string_id release = derive_known_text(profile, "release");
  uint32_t rows, made, op_count, trace_count, *of_event = NULL, *of_allocation = NULL, *of_op = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_memory_events, &rows, error);
  if (!status) status = derive_row_count(profile, TABLE_allocations, &made, error);
  if (!status) status = derive_row_count(profile, TABLE_ops, &op_count, error);
  if (!status) status = derive_row_count(profile, TABLE_code_traces, &trace_count, error);
  if (status || !rows || !trace_count) return status;
  of_event = scratch_allocate((size_t)rows * sizeof *of_event);
  of_allocation = scratch_allocate(((size_t)made + 1) * sizeof *of_allocation);
  if (!of_event || !of_allocation) status = error_no_memory(error);
  if (!status && op_count) status = derive_all_references(profile, TABLE_ops, COLUMN_ops_code_trace_id, &of_op, error);
  if (!status && op_count) status = leave_out_ranges(profile, of_op, error);
  if (!status) {
    memset(of_event, 0xff, (size_t)rows * sizeof *of_event); /* NO_ROW */
    memset(of_allocation, 0xff, (size_t)made * sizeof *of_allocation);
  }
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_memory_events, &block, &status, error);) {
    uint32_t traces[ROWS_BLOCK], ops[ROWS_BLOCK], allocations[ROWS_BLOCK];
    string_id kinds[ROWS_BLOCK];
    block_references(&block, COLUMN_memory_events_recorded_code_trace, trace_count, traces);
    block_references(&block, COLUMN_memory_events_op_id, op_count, ops);
    block_references(&block, COLUMN_memory_events_allocation_id, made, allocations);
    block_texts(&block, COLUMN_memory_events_kind, kinds);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t trace = traces[i] == NO_ROW && ops[i] != NO_ROW ? of_op[ops[i]] : traces[i];
      if (kinds[i] == release) continue;
      of_event[block.row + i] = trace;
      if (allocations[i] != NO_ROW) of_allocation[allocations[i]] = trace;
    }
  }
  if (!status)
    status = derive_set_references(profile, TABLE_memory_events, COLUMN_memory_events_code_trace_id, of_event, error);
  if (!status && made)
    status = derive_set_references(profile, TABLE_allocations, COLUMN_allocations_code_trace_id, of_allocation, error);
  scratch_free(of_event);
  scratch_free(of_allocation);
  scratch_free(of_op);
  return status;
}

const struct derive_pass derive_memory_traces = {
    .name = "memory traces",
    .summary = "The trace recorded with an event of memory; without one that of the innermost op that is no range.",
    .makes_table = -1,
    .reads = {{TABLE_memory_events, COLUMN_memory_events_kind},
              {TABLE_memory_events, COLUMN_memory_events_op_id},
              {TABLE_memory_events, COLUMN_memory_events_allocation_id},
              {TABLE_memory_events, COLUMN_memory_events_recorded_code_trace},
              {TABLE_ops, COLUMN_ops_category},
              {TABLE_ops, COLUMN_ops_code_trace_id}},
    .writes = {{TABLE_memory_events, COLUMN_memory_events_code_trace_id},
               {TABLE_allocations, COLUMN_allocations_code_trace_id}},
    .run = run_memory_traces,
    .is_alone = true,
};
