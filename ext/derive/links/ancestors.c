/* ancestors.c: see ancestors.h. The last row of a block comes first, for parents mostly come after their children. */
#include "derive/links/ancestors.h"

#include <assert.h>

enum { BLOCK_ROWS = 1 << 14 /* what a thread is given at a time */ };

bool derive_may_have_circles(const struct profile *profile) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  return ops->segment_count && column_set_has(&ops->segments[0]->is_raw, COLUMN_ops_parent_id);
}

/* Every row is passed once: the way up from a row ends at one that was passed before, and if that was on the same way,
** it closes a circle. */
static bool cut_circles(uint32_t *parents, uint32_t rows) {
  uint32_t *passed_from = scratch_allocate_zeroed((size_t)rows + 1, sizeof *passed_from); /* 1 + row; 0: not passed */
  if (!passed_from) return false;
  for (uint32_t i = 0; i < rows; i++) {
    uint32_t row = i, last = NO_ROW;
    for (; row != NO_ROW && !passed_from[row]; row = parents[row]) {
      passed_from[row] = i + 1;
      last = row;
    }
    if (row != NO_ROW && last != NO_ROW && passed_from[row] == i + 1) parents[last] = NO_ROW;
  }
  scratch_free(passed_from);
  return true;
}

enum tfprof_status derive_all_op_parents(const struct profile *profile, uint32_t **parents,
                                         struct tfprof_error *error) {
  uint32_t *all = NULL;
  enum tfprof_status status = derive_all_references(profile, TABLE_ops, COLUMN_ops_parent_id, &all, error);
  if (!status && derive_may_have_circles(profile) && !cut_circles(all, (uint32_t)profile->tables[TABLE_ops].rows)) {
    scratch_free(all);
    return error_no_memory(error);
  }
  *parents = all;
  return status;
}

/* ---- in blocks, from the last one to the first ---- */

struct blocks {
  const uint32_t *parents;
  uint32_t *values, rows;
};

/* Several threads may find the value of the same row, each the same one. */
static inline uint32_t value_of(const uint32_t *values, uint32_t row) {
  return __atomic_load_n(&values[row], __ATOMIC_RELAXED);
}

static inline void set_value(uint32_t *values, uint32_t row, uint32_t value) {
  __atomic_store_n(&values[row], value, __ATOMIC_RELAXED);
}

/* The rows of a block: *first and the number after the last. */
static uint32_t rows_of_block(const struct blocks *blocks, size_t i, uint32_t *first) {
  *first = ((blocks->rows - 1) / BLOCK_ROWS - (uint32_t)i) * BLOCK_ROWS;
  return blocks->rows - *first < BLOCK_ROWS ? blocks->rows : *first + BLOCK_ROWS;
}

static void for_blocks(struct blocks *blocks, void (*task)(void *context, size_t i, unsigned worker)) {
  derive_parallel(blocks->rows, ((size_t)blocks->rows + BLOCK_ROWS - 1) / BLOCK_ROWS, task, blocks);
}

/* No ancestor has a value: kept apart from NO_ROW, so that no path is gone again. */
#define NOTHING (NO_ROW - 1)

static void inherit_in_block(void *context, size_t i, unsigned worker) {
  const struct blocks *blocks = context;
  const uint32_t *parents = blocks->parents;
  uint32_t *values = blocks->values, first, next = rows_of_block(blocks, i, &first);
  (void)worker;
  while (next-- > first) {
    uint32_t row, value = NO_ROW;
    if (value_of(values, next) != NO_ROW) continue;
    for (row = parents[next]; row != NO_ROW && value == NO_ROW; row = parents[row]) value = value_of(values, row);
    if (value == NO_ROW) value = NOTHING;
    set_value(values, next, value);
    for (row = parents[next]; row != NO_ROW && value_of(values, row) == NO_ROW; row = parents[row])
      set_value(values, row, value);
  }
}

void derive_inherit(const uint32_t *parents, uint32_t *values, uint32_t rows) {
  struct blocks blocks = {parents, values, rows};
  for (uint32_t i = 0; i < rows; i++) assert(values[i] == NO_ROW || values[i] < NOTHING);
  for_blocks(&blocks, inherit_in_block);
  for (uint32_t i = 0; i < rows; i++) values[i] = values[i] == NOTHING ? NO_ROW : values[i];
}

/* The path up to the first row that has a number is gone twice, to count it and to number it. */
static void number_block(void *context, size_t i, unsigned worker) {
  const struct blocks *blocks = context;
  const uint32_t *parents = blocks->parents;
  uint32_t *depths = blocks->values, first, next = rows_of_block(blocks, i, &first);
  (void)worker;
  while (next-- > first) {
    uint32_t row = parents[next], length = 1, known = NO_ROW;
    if (value_of(depths, next) != UNKNOWN_DEPTH) continue;
    for (; row != NO_ROW && (known = value_of(depths, row)) == UNKNOWN_DEPTH; row = parents[row]) length++;
    uint32_t depth = row == NO_ROW ? length - 1 : known + length;
    set_value(depths, next, depth);
    for (row = parents[next]; length > 1; row = parents[row], length--) set_value(depths, row, --depth);
  }
}

void derive_number_depths(const uint32_t *parents, uint32_t *depths, uint32_t rows) {
  struct blocks blocks = {parents, depths, rows};
  for_blocks(&blocks, number_block);
}
