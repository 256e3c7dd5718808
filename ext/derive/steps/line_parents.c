/* line_parents.c: see line_parents.h. */
#include "derive/steps/line_parents.h"

#include <stdlib.h>

struct line_span {
  int64_t start, end;
  uint32_t thread, row;
};

struct line_spans {
  struct line_span *items;
  uint32_t count, capacity;
};

/* The columns of a block that say where its rows lie. */
struct span_columns {
  int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
  uint32_t threads[ROWS_BLOCK];
};

static void read_spans(const struct row_block *block, uint32_t thread_count, struct span_columns *columns) {
  block_integers(block, COLUMN_ops_start_ns, columns->starts);
  block_integers(block, COLUMN_ops_end_ns, columns->ends);
  block_references(block, COLUMN_ops_thread_id, thread_count, columns->threads);
}

static bool has_span(const struct span_columns *columns, uint32_t i) {
  return columns->threads[i] != NO_ROW && columns->starts[i] != NO_VALUE && columns->ends[i] >= columns->starts[i];
}

/* Those on which nesting left out a row. */
static enum tfprof_status choose_threads(const struct profile *profile, uint32_t thread_count, bool *is_chosen,
                                         bool *is_any, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_ops, &block, &status, error);) {
    struct span_columns columns;
    int64_t depths[ROWS_BLOCK], smallest, largest;
    block_integers(&block, COLUMN_ops_depth, depths);
    if (derive_range(depths, block.count, &smallest, &largest)) continue; /* none is left out */
    read_spans(&block, thread_count, &columns);
    for (uint32_t i = 0; i < block.count; i++) {
      if (depths[i] != NO_VALUE || !has_span(&columns, i)) continue;
      is_chosen[columns.threads[i]] = *is_any = true;
    }
  }
  return status;
}

static enum tfprof_status collect_spans(const struct profile *profile, uint32_t thread_count, const bool *is_chosen,
                                        struct line_spans *spans, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_ops, &block, &status, error);) {
    struct span_columns columns;
    read_spans(&block, thread_count, &columns);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t thread = columns.threads[i], row = (uint32_t)block.row + i;
      if (!has_span(&columns, i) || !is_chosen[thread]) continue;
      struct line_span *room = scratch_grow(spans->items, spans->count, &spans->capacity, ROWS_BLOCK, sizeof *room);
      if (!room) return error_no_memory(error);
      spans->items = room;
      spans->items[spans->count++] = (struct line_span){columns.starts[i], columns.ends[i], thread, row};
    }
  }
  return status;
}

static int by_thread_and_span(const void *left, const void *right) {
  const struct line_span *a = left, *b = right;
  if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  if (a->end != b->end) return a->end > b->end ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

/* `open` has room for all spans; those on it enclose each other. A row of no length has nothing to enclose with. */
static void find_parents(const struct line_span *spans, uint32_t count, const struct line_span **open,
                         uint32_t *parents) {
  uint32_t depth = 0;
  for (uint32_t i = 0; i < count; i++) {
    const struct line_span *span = &spans[i];
    while (depth && (open[depth - 1]->thread != span->thread || open[depth - 1]->end < span->end)) depth--;
    parents[span->row] = depth ? open[depth - 1]->row : NO_ROW;
    if (span->start < span->end) open[depth++] = span;
  }
}

enum tfprof_status line_parents_find(const struct profile *profile, uint32_t *parents, struct tfprof_error *error) {
  struct line_spans spans = {.items = NULL};
  uint32_t thread_count;
  enum tfprof_status status = derive_row_count(profile, TABLE_threads, &thread_count, error);
  if (status) return status;
  bool *is_chosen = scratch_allocate_zeroed((size_t)thread_count + 1, sizeof *is_chosen);
  if (!is_chosen) status = error_no_memory(error);
  bool is_any = false;
  if (!status) status = choose_threads(profile, thread_count, is_chosen, &is_any, error);
  if (!status && is_any) status = collect_spans(profile, thread_count, is_chosen, &spans, error);
  if (!status && spans.count) {
    const struct line_span **open = scratch_allocate((size_t)spans.count * sizeof *open);
    if (open) {
      qsort(spans.items, spans.count, sizeof *spans.items, by_thread_and_span);
      find_parents(spans.items, spans.count, open, parents);
    } else {
      status = error_no_memory(error);
    }
    scratch_free(open);
  }
  scratch_free(spans.items);
  scratch_free(is_chosen);
  return status;
}
