/* memory_of_ops.c: ops.allocated_bytes, allocation_count, released_bytes and allocated_self_bytes, from the events of
** memory in them.
**
** Each event counts for the innermost op around it and for all ops around that one. Where a profile has events of
** memory at all an op without any has 0; where it has none nothing is known.  Events of all devices count together.
*/
#include "derive/links/ancestors.h"
#include "derive/passes.h"
#include "derive/rows.h"

struct sums {
  int64_t *allocated, *count, *released, *self; /* by op */
};

static enum tfprof_status sum_events(struct profile *profile, const struct sums *sums, uint32_t op_count,
                                     struct tfprof_error *error) {
  string_id allocate = derive_known_text(profile, "allocate"), release = derive_known_text(profile, "release");
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_memory_events, &block, &status, error);) {
    int64_t bytes[ROWS_BLOCK];
    uint32_t ops[ROWS_BLOCK];
    string_id kinds[ROWS_BLOCK];
    block_integers(&block, COLUMN_memory_events_bytes, bytes);
    block_references(&block, COLUMN_memory_events_op_id, op_count, ops);
    block_texts(&block, COLUMN_memory_events_kind, kinds);
    for (uint32_t i = 0; i < block.count; i++) {
      if (ops[i] == NO_ROW || bytes[i] == NO_VALUE) continue;
      if (kinds[i] == allocate) {
        sums->self[ops[i]] = (int64_t)((uint64_t)sums->self[ops[i]] + (uint64_t)bytes[i]);
        sums->count[ops[i]]++;
      } else if (kinds[i] == release) {
        sums->released[ops[i]] = (int64_t)((uint64_t)sums->released[ops[i]] - (uint64_t)bytes[i]);
      }
    }
  }
  return status;
}

/* Adds to each op what the ops inside it have. An op is done when all of its children are: `waiting` counts those. */
static void add_up(const struct sums *sums, const uint32_t *parents, uint32_t *waiting, uint32_t count) {
  for (uint32_t op = 0; op < count; op++)
    if (parents[op] != NO_ROW) waiting[parents[op]]++;
  for (uint32_t op = 0; op < count; op++) {
    if (waiting[op]) continue;
    waiting[op] = UINT32_MAX; /* done; its parent is next when this was its last child */
    for (uint32_t at = op, up; (up = parents[at]) != NO_ROW; at = up) {
      sums->allocated[up] = (int64_t)((uint64_t)sums->allocated[up] + (uint64_t)sums->allocated[at]);
      sums->released[up] = (int64_t)((uint64_t)sums->released[up] + (uint64_t)sums->released[at]);
      sums->count[up] += sums->count[at];
      if (--waiting[up]) break;
      waiting[up] = UINT32_MAX;
    }
  }
}

static enum tfprof_status run_memory_of_ops(struct profile *profile, struct tfprof_error *error) {
  uint32_t events, ops, *parents = NULL, *waiting = NULL;
  struct sums sums = {0};
  enum tfprof_status status = derive_row_count(profile, TABLE_memory_events, &events, error);
  if (!status) status = derive_row_count(profile, TABLE_ops, &ops, error);
  if (status || !events || !ops) return status;
  status = derive_all_op_parents(profile, &parents, error);
  waiting = scratch_allocate_zeroed(ops, sizeof *waiting);
  sums.allocated = scratch_allocate((size_t)ops * sizeof *sums.allocated);
  sums.count = scratch_allocate_zeroed(ops, sizeof *sums.count);
  sums.released = scratch_allocate_zeroed(ops, sizeof *sums.released);
  sums.self = scratch_allocate_zeroed(ops, sizeof *sums.self);
  if (!status && (!waiting || !sums.allocated || !sums.count || !sums.released || !sums.self))
    status = error_no_memory(error);
  if (!status) status = sum_events(profile, &sums, ops, error);
  if (!status) {
    for (uint32_t op = 0; op < ops; op++) sums.allocated[op] = sums.self[op];
    add_up(&sums, parents, waiting, ops);
    status = derive_set_integers(profile, TABLE_ops, COLUMN_ops_allocated_bytes, sums.allocated, error);
  }
  if (!status) status = derive_set_integers(profile, TABLE_ops, COLUMN_ops_allocation_count, sums.count, error);
  if (!status) status = derive_set_integers(profile, TABLE_ops, COLUMN_ops_released_bytes, sums.released, error);
  if (!status) status = derive_set_integers(profile, TABLE_ops, COLUMN_ops_allocated_self_bytes, sums.self, error);
  scratch_free(parents);
  scratch_free(waiting);
  scratch_free(sums.allocated);
  scratch_free(sums.count);
  scratch_free(sums.released);
  scratch_free(sums.self);
  return status;
}

const struct derive_pass derive_memory_of_ops = {
    .name = "memory of ops",
    .summary = "What was allocated and released inside each op, summed up from the innermost ops outwards.",
    .makes_table = -1,
    .reads = {{TABLE_memory_events, COLUMN_memory_events_kind},
              {TABLE_memory_events, COLUMN_memory_events_bytes},
              {TABLE_memory_events, COLUMN_memory_events_op_id},
              {TABLE_ops, COLUMN_ops_parent_id}},
    .writes = {{TABLE_ops, COLUMN_ops_allocated_bytes},
               {TABLE_ops, COLUMN_ops_allocation_count},
               {TABLE_ops, COLUMN_ops_released_bytes},
               {TABLE_ops, COLUMN_ops_allocated_self_bytes}},
    .run = run_memory_of_ops,
    .is_alone = true,
};
