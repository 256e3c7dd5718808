/* crossing_ranges.c: ranges.is_crossing, whether a range crosses another one of its thread.
**
** Coroutines take turns on a thread: the range of one begins within that of another and outlives it.  Whose an op in
** both is no trace tells, so that the ranges themselves say it.
**
** A range crosses one that is open when it begins, and ends first.  All ranges of a thread are gone through by their
** start with a heap of the ends of those that are open; then once more with time reversed, which finds the others of
** each pair.  Ranges that begin or end together nest.
**
** PyTorch's own ranges that nest with nothing do so because they cross something (ranges.c), so they count, too.  Other
** ranges that may end on another thread cross nothing.
*/
#include "derive/match.h"
#include "derive/passes.h"
#include "derive/rows.h"

struct end_heap {
  int64_t *items; /* the least first */
  size_t count;
};

static void heap_add(struct end_heap *heap, int64_t end) {
  size_t at = heap->count++;
  for (; at > 0 && heap->items[(at - 1) / 2] > end; at = (at - 1) / 2) heap->items[at] = heap->items[(at - 1) / 2];
  heap->items[at] = end;
}

static void heap_take(struct end_heap *heap) {
  int64_t end = heap->items[--heap->count];
  size_t at = 0;
  for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
    if (child + 1 < heap->count && heap->items[child + 1] < heap->items[child]) child++;
    if (heap->items[child] >= end) break;
    heap->items[at] = heap->items[child];
  }
  heap->items[at] = end;
}

/* Marks what outlives one within which it begins. The spans are in order. */
static void mark_crossing(const struct lane_span *spans, size_t count, struct end_heap *open, int64_t *is_crossing) {
  for (size_t first = 0, next; first < count; first = next) {
    bool is_new_lane = first == 0 || spans[first].lane != spans[first - 1].lane;
    if (is_new_lane) open->count = 0;
    for (next = first; next < count && spans[next].lane == spans[first].lane; next++) {
      if (spans[next].start != spans[first].start) break;
    }
    while (open->count && open->items[0] <= spans[first].start) heap_take(open);
    for (size_t i = first; i < next; i++) {
      if (open->count && open->items[0] < spans[i].end) is_crossing[spans[i].row] = 1;
    }
    for (size_t i = first; i < next; i++) heap_add(open, spans[i].end);
  }
}

static enum tfprof_status gather_ranges(struct profile *profile, struct lane_span *spans, size_t *count,
                                        int64_t *is_crossing, struct tfprof_error *error) {
  uint32_t threads;
  string_id torch = derive_known_text(profile, "torch");
  enum tfprof_status status = derive_row_count(profile, TABLE_threads, &threads, error);
  for (struct row_block block = {0}; !status && derive_next_block(profile, TABLE_ranges, &block, &status, error);) {
    int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK], wide[ROWS_BLOCK];
    uint32_t lanes[ROWS_BLOCK];
    string_id domains[ROWS_BLOCK];
    block_texts(&block, COLUMN_ranges_domain, domains);
    block_integers(&block, COLUMN_ranges_start_ns, starts);
    block_integers(&block, COLUMN_ranges_end_ns, ends);
    block_integers(&block, COLUMN_ranges_is_process_wide, wide);
    block_references(&block, COLUMN_ranges_thread_id, threads, lanes);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t row = (uint32_t)block.row + i;
      bool is_of_thread = lanes[i] != NO_ROW && (wide[i] != 1 || (torch && domains[i] == torch));
      bool is_known = starts[i] != NO_VALUE && ends[i] != NO_VALUE && is_of_thread;
      is_crossing[row] = is_known ? 0 : NO_VALUE;
      if (is_known && ends[i] > starts[i]) spans[(*count)++] = (struct lane_span){starts[i], ends[i], lanes[i], row};
    }
  }
  return status;
}

static enum tfprof_status run_crossing_ranges(struct profile *profile, struct tfprof_error *error) {
  uint32_t rows;
  size_t count = 0;
  enum tfprof_status status = derive_row_count(profile, TABLE_ranges, &rows, error);
  if (status || !rows) return status;
  struct lane_span *spans = scratch_allocate((size_t)rows * sizeof *spans);
  struct end_heap open = {scratch_allocate((size_t)rows * sizeof(int64_t)), 0};
  int64_t *is_crossing = scratch_allocate((size_t)rows * sizeof *is_crossing);
  if (!spans || !open.items || !is_crossing) status = error_no_memory(error);
  if (!status) status = gather_ranges(profile, spans, &count, is_crossing, error);
  for (unsigned direction = 0; direction < 2 && !status; direction++) {
    for (size_t i = 0; i < count && direction; i++) {
      spans[i] = (struct lane_span){-spans[i].end, -spans[i].start, spans[i].lane, spans[i].row};
    }
    status = lane_span_sort(spans, count, error);
    if (!status) mark_crossing(spans, count, &open, is_crossing);
  }
  if (!status) status = derive_set_integers(profile, TABLE_ranges, COLUMN_ranges_is_crossing, is_crossing, error);
  scratch_free(spans);
  scratch_free(open.items);
  scratch_free(is_crossing);
  return status;
}

const struct derive_pass derive_crossing_ranges = {
    .name = "crossing ranges",
    .summary = "Which ranges begin in another one of their thread and outlive it, or are outlived so.",
    .makes_table = -1,
    .reads = {{TABLE_ranges, COLUMN_ranges_domain},
              {TABLE_ranges, COLUMN_ranges_thread_id},
              {TABLE_ranges, COLUMN_ranges_start_ns},
              {TABLE_ranges, COLUMN_ranges_end_ns},
              {TABLE_ranges, COLUMN_ranges_is_process_wide}},
    .writes = {{TABLE_ranges, COLUMN_ranges_is_crossing}},
    .run = run_crossing_ranges,
};
