/* stacks.c: see stacks.h. */
#include "read/rows/stacks.h"

uint32_t stacks_push(struct row_map *stacks, uint32_t parent, uint32_t frame) {
  assert(parent <= stacks->count);
  uint32_t before = stacks->count, row = row_map_number(stacks, (struct row_key){{parent, frame, 0}});
  if (row == ROW_MAP_NONE) return 0;
  if (row == before) stacks->values[row] = parent ? stacks->values[parent - 1] + 1 : 1;
  return row + 1;
}

bool stacks_set(struct eager_rows *rows, const struct row_map *stacks) {
  assert(!rows->count || rows->count == stacks->count);
  for (uint32_t i = 0; i < rows->count; i++) {
    uint32_t parent = stacks_parent(stacks, i);
    rows->values[i] = parent ? (int64_t)parent - 1 : ROW_NULL;
  }
  eager_rows_set(rows, COLUMN_code_traces_parent_id);
  for (uint32_t i = 0; i < rows->count; i++) rows->values[i] = stacks_frame(stacks, i);
  eager_rows_set(rows, COLUMN_code_traces_leaf_frame_id);
  for (uint32_t i = 0; i < rows->count; i++) rows->values[i] = stacks->values[i];
  return eager_rows_set(rows, COLUMN_code_traces_depth);
}
