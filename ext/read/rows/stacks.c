/* stacks.c: see stacks.h. */
#include "read/rows/stacks.h"

#include <string.h>

#include "base/hash.h"

uint32_t stacks_push(struct row_map *stacks, uint32_t parent, uint32_t frame) {
  assert(parent <= stacks->count);
  uint32_t before = stacks->count, row = row_map_number(stacks, (struct row_key){{parent, frame, 0}});
  if (row == ROW_MAP_NONE) return 0;
  if (row == before) stacks->values[row] = parent ? stacks->values[parent - 1] + 1 : 1;
  return row + 1;
}

static uint64_t hash_frame_text(uint64_t hash, const char *text) {
  return hash_fnv1a_value(text ? hash_fnv1a(hash, text, strlen(text)) : hash, 0xff);
}

int64_t stacks_hash(const int64_t *below, const char *file, const char *function, int64_t line) {
  uint64_t hash = below ? (uint64_t)*below : HASH_FNV1A_START;
  hash = hash_fnv1a_value(hash_frame_text(hash_frame_text(hash, file), function), (uint64_t)line);
  return (int64_t)hash == ROW_NULL ? 0 : (int64_t)hash;
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
