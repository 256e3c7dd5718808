/* device_time_of_ops.c: ops.device_self_ns, device_ns and tensor_core_ns: how long devices worked for an op.
**
** Each kernel, copy and fill counts with its duration for the op that launched it, and for all ops around that one; for
** tensor_core_ns kernels on tensor cores do.  Where a profile has any of them an op without has 0; where it has none
** nothing is known.
*/
#include "derive/links/ancestors.h"
#include "derive/passes.h"
#include "derive/rows.h"

struct source {
  unsigned table, op, dur; /* columns */
};
static const struct source kernels = {TABLE_kernels, COLUMN_kernels_op_id, COLUMN_kernels_dur_ns};
static const struct source transfers = {TABLE_transfers, COLUMN_transfers_op_id, COLUMN_transfers_dur_ns};

/* only_tensor_cores: of kernels those that use them. */
static enum tfprof_status add_durations(struct profile *profile, const struct source *source, bool only_tensor_cores,
                                        uint32_t op_count, int64_t *sums, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, source->table, &block, &status, error);) {
    int64_t durations[ROWS_BLOCK], uses[ROWS_BLOCK];
    uint32_t ops[ROWS_BLOCK];
    block_integers(&block, source->dur, durations);
    block_references(&block, source->op, op_count, ops);
    if (only_tensor_cores) block_integers(&block, COLUMN_kernels_uses_tensor_core, uses);
    for (uint32_t i = 0; i < block.count; i++) {
      if (only_tensor_cores && uses[i] != 1) continue;
      if (ops[i] != NO_ROW && durations[i] != NO_VALUE)
        sums[ops[i]] = (int64_t)((uint64_t)sums[ops[i]] + (uint64_t)durations[i]);
    }
  }
  return status;
}

/* Adds to each op what the ops inside it have. An op is done when all of its children are: `waiting` counts those. */
static void add_up(int64_t *sums, const uint32_t *parents, uint32_t *waiting, uint32_t count) {
  for (uint32_t op = 0; op < count; op++) {
    if (parents[op] != NO_ROW) waiting[parents[op]]++;
  }
  for (uint32_t op = 0; op < count; op++) {
    if (waiting[op]) continue;
    waiting[op] = UINT32_MAX; /* done; its parent is next when this was its last child */
    for (uint32_t at = op, up; (up = parents[at]) != NO_ROW; at = up) {
      sums[up] = (int64_t)((uint64_t)sums[up] + (uint64_t)sums[at]);
      if (--waiting[up]) break;
      waiting[up] = UINT32_MAX;
    }
  }
}

static enum tfprof_status sum_up(struct profile *profile, bool only_tensor_cores, struct tfprof_error *error) {
  uint32_t kernel_count, transfer_count = 0, ops, *parents = NULL, *waiting = NULL;
  int64_t *sums = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_kernels, &kernel_count, error);
  if (!status && !only_tensor_cores) status = derive_row_count(profile, TABLE_transfers, &transfer_count, error);
  if (!status) status = derive_row_count(profile, TABLE_ops, &ops, error);
  if (status || (!kernel_count && !transfer_count) || !ops) return status;
  status = derive_all_op_parents(profile, &parents, error);
  waiting = scratch_allocate_zeroed(ops, sizeof *waiting);
  sums = scratch_allocate_zeroed(ops, sizeof *sums);
  if (!status && (!waiting || !sums)) status = error_no_memory(error);
  if (!status) status = add_durations(profile, &kernels, only_tensor_cores, ops, sums, error);
  if (!status && !only_tensor_cores) {
    status = add_durations(profile, &transfers, false, ops, sums, error);
    if (!status) status = derive_set_integers(profile, TABLE_ops, COLUMN_ops_device_self_ns, sums, error);
  }
  if (!status) {
    unsigned column = only_tensor_cores ? COLUMN_ops_tensor_core_ns : COLUMN_ops_device_ns;
    add_up(sums, parents, waiting, ops);
    status = derive_set_integers(profile, TABLE_ops, column, sums, error);
  }
  scratch_free(parents);
  scratch_free(waiting);
  scratch_free(sums);
  return status;
}

static enum tfprof_status run_device_time_of_ops(struct profile *profile, struct tfprof_error *error) {
  return sum_up(profile, false, error);
}

static enum tfprof_status run_tensor_cores(struct profile *profile, struct tfprof_error *error) {
  return sum_up(profile, true, error);
}

const struct derive_pass derive_device_time_of_ops = {
    .name = "device time of ops",
    .summary = "Durations of what each op launched, summed up from the innermost ops outwards.",
    .makes_table = -1,
    .reads = {{TABLE_kernels, COLUMN_kernels_op_id},
              {TABLE_kernels, COLUMN_kernels_dur_ns},
              {TABLE_transfers, COLUMN_transfers_op_id},
              {TABLE_transfers, COLUMN_transfers_dur_ns},
              {TABLE_ops, COLUMN_ops_parent_id}},
    .writes = {{TABLE_ops, COLUMN_ops_device_ns}, {TABLE_ops, COLUMN_ops_device_self_ns}},
    .run = run_device_time_of_ops,
};

const struct derive_pass derive_tensor_core_time_of_ops = {
    .name = "tensor core time of ops",
    .summary = "Durations of the kernels on tensor cores that each op launched, summed up in the same way.",
    .makes_table = -1,
    .reads = {{TABLE_kernels, COLUMN_kernels_op_id},
              {TABLE_kernels, COLUMN_kernels_dur_ns},
              {TABLE_kernels, COLUMN_kernels_uses_tensor_core},
              {TABLE_ops, COLUMN_ops_parent_id}},
    .writes = {{TABLE_ops, COLUMN_ops_tensor_core_ns}},
    .run = run_tensor_cores,
};
