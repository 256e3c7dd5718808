/* pool_regions.c: see pool_regions.h. */
#include "derive/steps/pool_regions.h"

#include <stdlib.h>

static int by_thread_and_start(const void *left, const void *right) {
  const struct pool_region *a = left, *b = right;
  if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

/* Marks become regions in place: until then `end` is the start of those that begin one, and NO_VALUE of the others. */
static uint32_t pair_marks(struct pool_region *marks, uint32_t count) {
  uint32_t found = 0;
  for (uint32_t i = 0; i + 1 < count; i++) {
    bool is_region = marks[i].end != NO_VALUE && marks[i + 1].end == NO_VALUE && marks[i].thread == marks[i + 1].thread;
    if (!is_region) continue;
    marks[found] = marks[i];
    marks[found++].end = marks[i + 1].start;
  }
  return found;
}

enum tfprof_status pool_regions_find(struct pool_regions *regions, const struct profile *profile,
                                     struct tfprof_error *error) {
  string_id start = derive_known_text(profile, POOL_REGION_START);
  string_id stop = derive_known_text(profile, "ThreadpoolListener::StopRegion");
  enum tfprof_status status = TFPROF_OK;
  size_t capacity = 0;
  *regions = (struct pool_regions){NULL, 0};
  if (!start || !stop) return TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_ops, &block, &status, error);) {
    string_id names[ROWS_BLOCK];
    int64_t times[ROWS_BLOCK];
    uint32_t threads[ROWS_BLOCK];
    if (regions->count + (size_t)ROWS_BLOCK > capacity) {
      capacity = capacity ? capacity * 2 : 4 * (size_t)ROWS_BLOCK;
      void *grown = scratch_resize(regions->items, capacity * sizeof *regions->items);
      if (!grown) return error_no_memory(error);
      regions->items = grown;
    }
    block_texts(&block, COLUMN_ops_name, names);
    block_integers(&block, COLUMN_ops_start_ns, times);
    block_references(&block, COLUMN_ops_thread_id, NO_ROW, threads);
    for (uint32_t i = 0; i < block.count; i++) {
      bool is_mark = (names[i] == start || names[i] == stop) && times[i] != NO_VALUE && threads[i] != NO_ROW;
      if (!is_mark) continue;
      int64_t end = names[i] == start ? times[i] : NO_VALUE;
      regions->items[regions->count++] = (struct pool_region){times[i], end, threads[i], (uint32_t)block.row + i};
    }
  }
  qsort(regions->items, regions->count, sizeof *regions->items, by_thread_and_start);
  regions->count = pair_marks(regions->items, regions->count);
  return TFPROF_OK;
}

void pool_regions_free(struct pool_regions *regions) {
  scratch_free(regions->items);
  *regions = (struct pool_regions){NULL, 0};
}

const struct pool_region *pool_region_around(const struct pool_regions *regions, uint32_t thread, int64_t start,
                                             int64_t end) {
  uint32_t low = 0, high = regions->count; /* the first that begins later */
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const struct pool_region *at = &regions->items[middle];
    if (at->thread < thread || (at->thread == thread && at->start <= start)) low = middle + 1;
    else high = middle;
  }
  const struct pool_region *found = low ? &regions->items[low - 1] : NULL;
  return found && found->thread == thread && end <= found->end ? found : NULL;
}
