/* execution_modes.c: ops.execution_mode, of sources that tell it of the call around an op.
**
** What TensorFlow runs op by op lies in calls that say so; what executors of functions run lies in theirs.  The nearest
** call around an op counts.  Stages of the input pipeline run in whichever call asks for an element, and have none.
*/
#include "derive/links/ancestors.h"
#include "derive/passes.h"

static enum tfprof_status run_execution_modes(struct profile *profile, struct tfprof_error *error) {
  uint32_t rows, *parents = NULL;
  string_id input = derive_known_text(profile, "input");
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &rows, error);
  if (status || !rows) return status;
  status = derive_all_op_parents(profile, &parents, error);
  uint32_t *modes = scratch_allocate((size_t)rows * sizeof *modes);
  if (!status && !modes) status = error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_ops, &block, &status, error);) {
    block_texts(&block, COLUMN_ops_called_mode, modes + block.row);
    for (uint32_t i = 0; i < block.count; i++) {
      if (!modes[block.row + i]) modes[block.row + i] = NO_ROW;
    }
  }
  if (!status) derive_inherit(parents, modes, rows);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_ops, &block, &status, error);) {
    string_id categories[ROWS_BLOCK];
    block_texts(&block, COLUMN_ops_category, categories);
    for (uint32_t i = 0; i < block.count; i++) {
      if (modes[block.row + i] == NO_ROW || categories[i] == input) modes[block.row + i] = 0;
    }
  }
  if (!status) status = derive_set_texts(profile, TABLE_ops, COLUMN_ops_execution_mode, modes, error);
  scratch_free(parents);
  scratch_free(modes);
  return status;
}

static bool has_no_modes(const struct profile *profile) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  for (size_t s = 0; s < ops->segment_count; s++) {
    const struct segment *segment = ops->segments[s];
    const struct column *modes = segment->columns[COLUMN_ops_called_mode];
    bool may_have =
        modes ? derive_find_value(modes, 0) < segment->rows : column_set_has(&segment->is_raw, COLUMN_ops_called_mode);
    if (may_have) return false;
  }
  return true;
}

const struct derive_pass derive_execution_modes = {
    .name = "execution modes",
    .summary = "Whether ops ran eagerly or in a function, by the nearest call around each that tells it.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_parent_id}, {TABLE_ops, COLUMN_ops_category}, {TABLE_ops, COLUMN_ops_called_mode}},
    .writes = {{TABLE_ops, COLUMN_ops_execution_mode}},
    .run = run_execution_modes,
    .is_idle = has_no_modes,
};
