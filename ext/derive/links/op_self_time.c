/* op_self_time.c: ops.op_self_ns, what an op took without the ops inside it, all other rows looked through.
**
** Sources that record the framework's own functions beside its ops have rows of category runtime between an op and the
** ops inside it, and below it: ops.self_ns is without those too. Here a row that is no op nor a stage of the input
** pipeline counts for the op around it, as XProf has it.
*/
#include "derive/links/ancestors.h"
#include "derive/passes.h"
#include "derive/rows.h"

#include <string.h>

/* `nearest` gets the own number of each row that is an op or of the input pipeline, and `selves` its net time. */
static enum tfprof_status mark_ops(struct profile *profile, uint32_t *nearest, int64_t *selves,
                                   struct tfprof_error *error) {
  string_id op = derive_known_text(profile, "op"), input = derive_known_text(profile, "input");
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_ops, &block, &status, error);) {
    string_id categories[ROWS_BLOCK];
    int64_t durations[ROWS_BLOCK];
    block_texts(&block, COLUMN_ops_category, categories);
    block_integers(&block, COLUMN_ops_net_ns, durations);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t row = (uint32_t)block.row + i;
      bool is_op = categories[i] == op || categories[i] == input;
      nearest[row] = is_op ? row : NO_ROW;
      selves[row] = is_op ? durations[i] : NO_VALUE;
    }
  }
  return status;
}

/* Each op takes its duration from the nearest one around it. `durations` are those of ops, else NO_VALUE. */
static void take_from_outer(const uint32_t *parents, const uint32_t *nearest, const int64_t *durations, int64_t *selves,
                            uint32_t rows) {
  for (uint32_t row = 0; row < rows; row++) {
    if (durations[row] == NO_VALUE || parents[row] == NO_ROW) continue;
    uint32_t outer = nearest[parents[row]];
    if (outer == NO_ROW || selves[outer] == NO_VALUE) continue;
    selves[outer] = (int64_t)((uint64_t)selves[outer] - (uint64_t)durations[row]);
  }
}

static enum tfprof_status run_op_self_time(struct profile *profile, struct tfprof_error *error) {
  uint32_t rows, *parents = NULL, *nearest = NULL;
  int64_t *durations = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &rows, error);
  if (status || !rows) return status;
  status = derive_all_op_parents(profile, &parents, error);
  nearest = scratch_allocate((size_t)rows * sizeof *nearest);
  durations = scratch_allocate(2 * (size_t)rows * sizeof *durations);
  if (!status && (!nearest || !durations)) status = error_no_memory(error);
  if (!status) status = mark_ops(profile, nearest, durations, error);
  if (!status) {
    int64_t *selves = durations + rows;
    memcpy(selves, durations, (size_t)rows * sizeof *selves);
    derive_inherit(parents, nearest, rows);
    take_from_outer(parents, nearest, durations, selves, rows);
    status = derive_set_integers(profile, TABLE_ops, COLUMN_ops_op_self_ns, selves, error);
  }
  scratch_free(parents);
  scratch_free(nearest);
  scratch_free(durations);
  return status;
}

const struct derive_pass derive_op_self_time = {
    .name = "self time of ops",
    .summary = "Net times of ops without those of the nearest ops inside, from the nearest op around each.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_parent_id}, {TABLE_ops, COLUMN_ops_category}, {TABLE_ops, COLUMN_ops_net_ns}},
    .writes = {{TABLE_ops, COLUMN_ops_op_self_ns}},
    .run = run_op_self_time,
};
