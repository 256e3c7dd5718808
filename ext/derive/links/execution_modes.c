/* execution_modes.c: ops.execution_mode, of sources that tell it of the call around an op.
**
** What TensorFlow runs op by op lies in calls that say so; what executors of functions run lies in theirs.  The nearest
** call around an op counts; where there is none on its thread, that around what handed the work on, from thread to
** thread.  Stages of the input pipeline run in whichever call asks for an element, and have none.
**
** What was going on when the recording began has no call around it: an op whose other calls all have one mode has that,
** too, so that it is not shown as two.
*/
#include "derive/links/ancestors.h"
#include "derive/passes.h"

#include <stdlib.h>

enum { MAXIMUM_HANDINGS = 16 /* from thread to thread */ };

struct handing {
  int64_t context;
  uint32_t row; /* that produces it, or consumes it */
};
struct handing_list {
  struct handing *items;
  uint32_t count, capacity;
};

static int by_context(const void *left, const void *right) {
  const struct handing *a = left, *b = right;
  if (a->context != b->context) return a->context < b->context ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

static enum tfprof_status list_handings(struct profile *profile, unsigned column, struct handing_list *list,
                                        struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_ops, &block, &status, error);) {
    int64_t contexts[ROWS_BLOCK];
    block_integers(&block, column, contexts);
    for (uint32_t i = 0; i < block.count; i++) {
      if (contexts[i] == NO_VALUE) continue;
      struct handing *items = scratch_grow(list->items, list->count, &list->capacity, 256, sizeof *items);
      if (!items) return error_no_memory(error);
      list->items = items;
      list->items[list->count++] = (struct handing){contexts[i], (uint32_t)block.row + i};
    }
  }
  return status;
}

/* The mode of the first row that produces the context; NO_ROW: none is known. */
static uint32_t mode_of_producer(const struct handing_list *produced, int64_t context, const uint32_t *modes) {
  uint32_t low = 0, high = produced->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (produced->items[middle].context < context) low = middle + 1;
    else high = middle;
  }
  bool is_there = low < produced->count && produced->items[low].context == context;
  return is_there ? modes[produced->items[low].row] : NO_ROW;
}

/* Rows that have no mode by what lies around them get it from what handed them their work, and hand it to those in
** them; those may have handed work on themselves. */
static enum tfprof_status follow_handings(struct profile *profile, const uint32_t *parents, uint32_t *modes,
                                          uint32_t rows, struct tfprof_error *error) {
  struct handing_list produced = {.items = NULL}, consumed = {.items = NULL};
  enum tfprof_status status = list_handings(profile, COLUMN_ops_produced_context, &produced, error);
  if (!status) status = list_handings(profile, COLUMN_ops_consumed_context, &consumed, error);
  if (!status && produced.count) qsort(produced.items, produced.count, sizeof *produced.items, by_context);
  bool has_changed = produced.count && consumed.count;
  for (unsigned i = 0; i < MAXIMUM_HANDINGS && has_changed && !status; i++) {
    has_changed = false;
    for (uint32_t k = 0; k < consumed.count; k++) {
      uint32_t row = consumed.items[k].row;
      if (modes[row] != NO_ROW) continue;
      modes[row] = mode_of_producer(&produced, consumed.items[k].context, modes);
      has_changed |= modes[row] != NO_ROW;
    }
    if (has_changed) derive_inherit(parents, modes, rows);
    status = derive_poll(profile, error);
  }
  scratch_free(produced.items);
  scratch_free(consumed.items);
  return status;
}

/* Ops without a mode get that which all others of their name have. `modes` has NO_ROW for none. */
static enum tfprof_status follow_names(struct profile *profile, uint32_t *modes, struct tfprof_error *error) {
  size_t names_count = (size_t)pool_count(store_pool(profile->store)) + 1;
  uint32_t *mode_of_name = scratch_allocate_zeroed(names_count, sizeof *mode_of_name); /* 0: none, NO_ROW: several */
  string_id op = derive_known_text(profile, "op");
  enum tfprof_status status = mode_of_name ? TFPROF_OK : error_no_memory(error);
  for (unsigned is_filling = 0; is_filling < 2; is_filling++) {
    for (struct row_block block = {0}; derive_next_block(profile, TABLE_ops, &block, &status, error);) {
      string_id categories[ROWS_BLOCK], names[ROWS_BLOCK];
      block_texts(&block, COLUMN_ops_category, categories);
      block_texts(&block, COLUMN_ops_name, names);
      for (uint32_t i = 0; i < block.count; i++) {
        uint32_t *mode = &modes[block.row + i], *common = &mode_of_name[names[i]];
        if (!op || !names[i] || categories[i] != op || (*mode == NO_ROW) != is_filling) continue;
        if (!is_filling) *common = *common && *common != *mode ? NO_ROW : *mode;
        else if (*common) *mode = *common;
      }
    }
  }
  scratch_free(mode_of_name);
  return status;
}

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
  if (!status) status = follow_handings(profile, parents, modes, rows, error);
  if (!status) status = follow_names(profile, modes, error);
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
    .summary = "Whether ops ran eagerly or in a function, by the nearest call around each or around what caused it, "
               "else as all others of its name.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_parent_id},
              {TABLE_ops, COLUMN_ops_category},
              {TABLE_ops, COLUMN_ops_name},
              {TABLE_ops, COLUMN_ops_called_mode},
              {TABLE_ops, COLUMN_ops_produced_context},
              {TABLE_ops, COLUMN_ops_consumed_context}},
    .writes = {{TABLE_ops, COLUMN_ops_execution_mode}},
    .run = run_execution_modes,
    .is_idle = has_no_modes,
};
