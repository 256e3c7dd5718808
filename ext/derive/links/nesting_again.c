/* nesting_again.c: which op called which on threads whose rows are not in end order, or where something crossed.
**
** The rows of such a thread are collected from all segments and brought into end order (span_order.h). Asynchronous
** ranges are found by what they cross and left out. Ops that cross each other are counted, and some of them kept, to be
** told.
*/
#include "derive/links/nesting.h"
#include "derive/links/span_order.h"
#include "store/scratch.h"

enum { ROUNDING_NS = 1000, FEW_SHARE = 50, MOST_OF_THREAD = 256 };

/* How many rows of the stack began before `start`: they lie below all that did not. */
static uint32_t begun_before(const struct open_row *stack, uint32_t count, int64_t start) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (stack[middle].start < start) low = middle + 1; else high = middle;
  }
  return low;
}

/* Marks the user ranges that cross a row of another category. Needs room for 2 * count rows in `room`. */
static void mark_async(struct span *spans, uint32_t count, struct open_row *room) {
  struct open_row *calls = room, *ranges = room + count;
  uint32_t call_count = 0, range_count = 0;
  for (uint32_t i = 0; i < count; i++) {
    struct span *span = &spans[i];
    if (span->start == span->end || span->is_frame) continue; /* a moment crosses nothing, and a frame tells nothing */
    if (span->is_user) {
      uint32_t below = begun_before(calls, call_count, span->start);
      if (below && calls[below - 1].end > span->start) {
        span->is_async = true; /* begun inside a call, outlived it */
      } else {
        ranges[range_count++] = (struct open_row){span->start, span->end, i, false, false};
      }
    } else {
      /* Ranges that ended inside this call: those that began before it cross it, the others are done with. */
      while (range_count && ranges[range_count - 1].end > span->start) {
        range_count--;
        if (ranges[range_count].start < span->start) spans[ranges[range_count].row].is_async = true;
      }
      while (call_count && calls[call_count - 1].start >= span->start) call_count--;
      calls[call_count++] = (struct open_row){span->start, span->end, i, false, false};
    }
  }
}

/* Whether the row on top of the stack is an op that crosses the one below. Where times are rounded to microseconds an
** op may seem to outlive its caller by one. */
static bool is_crossing_op(const struct open_row *top) {
  const struct open_row *below = top - 1;
  bool are_ops = !top->is_frame && !top->is_range && !below->is_frame && !below->is_range && below->row != NO_ROW;
  if (!are_ops || top->start >= top->end || below->end <= top->start || top->end <= below->end) return false;
  return (uint64_t)below->end - (uint64_t)top->start > ROUNDING_NS &&
         (uint64_t)top->end - (uint64_t)below->end > ROUNDING_NS;
}

/* Some of the ops that cross on a thread, by which their names are asked for. */
static void keep_pairs(struct nesting *nesting, const struct crossing_pair *pairs, uint32_t count) {
  uint32_t at = atomic_fetch_add(&nesting->pair_count, count);
  for (uint32_t i = 0; i < count && at < MOST_PAIRS; i++) nesting->pairs[at++] = pairs[i];
}

static bool nest_spans(struct nesting *nesting, struct span *spans, uint32_t count) {
  struct part part = {.thread = 0};
  struct crossing_pair pairs[MOST_OF_THREAD];
  uint32_t crossing = 0;
  if (!nesting_reserve(&part, count)) return false;
  for (uint32_t i = 0; i < count; i++) {
    struct span *span = &spans[i];
    if (span->is_user && !span->is_async && span->start < span->end) {
      uint32_t below = begun_before(part.stack + 1, part.count - 1, span->start);
      while (below && part.stack[below].is_frame && part.stack[below].end > span->start) below--;
      if (below && part.stack[below].end > span->start) {
        span->is_async = true;
        if (part.stack[below].is_range) atomic_fetch_add(&nesting->crossing_ranges, 1);
      }
    }
    if (span->is_async) {
      nesting->depths[span->row] = NO_ROW;
      nesting->selves[span->row] = NO_VALUE;
    } else {
      int64_t until;
      struct open_row *top = close_row(part.stack + part.count - 1, span->start, span->end, span->row,
                                       nesting->parents, nesting->selves, &until);
      top->is_frame = span->is_frame;
      top->is_range = span->is_user;
      part.count = (uint32_t)(top - part.stack) + 1;
      if (!is_crossing_op(top)) continue;
      if (crossing < MOST_OF_THREAD) pairs[crossing] = (struct crossing_pair){{top[-1].row, top->row}};
      crossing++;
    }
  }
  scratch_free(part.stack);
  if (crossing > count / FEW_SHARE) {
    atomic_fetch_add(&nesting->crossing_ops, crossing);
    keep_pairs(nesting, pairs, crossing < MOST_OF_THREAD ? crossing : MOST_OF_THREAD);
  }
  return true;
}

static bool nest_thread_spans(struct nesting *nesting, const struct lane *lane, struct span *spans, uint32_t count) {
  bool is_crossed = true;
  for (uint32_t i = 0; i < count; i++) nesting->parents[spans[i].row] = NO_ROW;
  if (lane->is_disordered && !span_order_by_end(spans, count, &is_crossed)) return false;
  if (is_crossed) {
    struct open_row *room = scratch_allocate(2 * (size_t)count * sizeof *room);
    if (!room) return false;
    mark_async(spans, count, room);
    scratch_free(room);
  }
  return nest_spans(nesting, spans, count);
}

/* What nesting_again() goes through: the rows of some threads, each thread's together. */
struct again {
  struct nesting *nesting;
  struct span *spans;
  uint32_t *threads; /* in question */
  uint32_t thread_count;
  string_id user, python;
};

static bool is_to_nest_again(const struct lane *lane) { return lane->is_disordered || lane->is_crossed; }

/* Puts the rows of one segment to their places. */
static void collect_segment(void *context, size_t i, unsigned worker) {
  const struct again *again = context;
  struct nesting *nesting = again->nesting;
  const struct segment *segment = nesting->profile->tables[TABLE_ops].segments[i];
  const struct part_list *list = &nesting->parts[i];
  uint32_t *part_of = nesting->part_of[worker];
  if (store_interrupted(nesting->profile->store)) atomic_store(&nesting->failure, TFPROF_INTERRUPTED);
  if (!part_of) part_of = scratch_allocate_zeroed((size_t)nesting->lane_count + 1, sizeof *part_of);
  if (!part_of) atomic_store(&nesting->failure, TFPROF_NO_MEMORY);
  if (atomic_load(&nesting->failure)) return;
  nesting->part_of[worker] = part_of;
  for (uint32_t k = 0; k < list->count; k++) {
    if (is_to_nest_again(&nesting->lanes[list->items[k].thread])) part_of[list->items[k].thread] = k + 1;
  }
  for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
    uint32_t count = derive_block_rows(segment, first);
    uint32_t threads[ROWS_BLOCK], row = (uint32_t)segment->first_row + first;
    int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
    string_id categories[ROWS_BLOCK];
    derive_references(segment->columns[COLUMN_ops_thread_id], first, count, nesting->lane_count, threads);
    derive_integers(segment->columns[COLUMN_ops_start_ns], first, count, starts);
    derive_integers(segment->columns[COLUMN_ops_end_ns], first, count, ends);
    derive_texts(segment->columns[COLUMN_ops_category], first, count, categories);
    for (uint32_t k = 0; k < count; k++, row++) {
      if (threads[k] == NO_ROW || !part_of[threads[k]] || starts[k] == NO_VALUE || ends[k] < starts[k]) continue;
      struct part *part = &list->items[part_of[threads[k]] - 1];
      again->spans[part->first_span++] =
          (struct span){.start = starts[k], .end = ends[k], .row = row, .is_user = categories[k] == again->user,
                        .is_frame = categories[k] == again->python};
    }
  }
  for (uint32_t k = 0; k < list->count; k++) part_of[list->items[k].thread] = 0;
}

static void nest_thread_again(void *context, size_t i, unsigned worker) {
  const struct again *again = context;
  struct nesting *nesting = again->nesting;
  const struct lane *lane = &nesting->lanes[again->threads[i]];
  (void)worker;
  if (store_interrupted(nesting->profile->store)) atomic_store(&nesting->failure, TFPROF_INTERRUPTED);
  if (atomic_load(&nesting->failure)) return;
  if (!nest_thread_spans(nesting, lane, again->spans + lane->first_span, lane->rows))
    atomic_store(&nesting->failure, TFPROF_NO_MEMORY);
}

/* The threads that need it, and where the rows go that each segment has of them. Returns the number of rows. */
static size_t find_places(struct again *again) {
  struct nesting *nesting = again->nesting;
  size_t total = 0;
  for (uint32_t thread = 0; thread < nesting->lane_count; thread++) {
    struct lane *lane = &nesting->lanes[thread];
    lane->first_span = lane->next_span = total;
    if (!is_to_nest_again(lane) || !lane->rows) continue;
    again->threads[again->thread_count++] = thread;
    total += lane->rows;
  }
  for (size_t s = 0; s < nesting->profile->tables[TABLE_ops].segment_count && total; s++) {
    for (uint32_t k = 0; k < nesting->parts[s].count; k++) {
      struct part *part = &nesting->parts[s].items[k];
      part->first_span = nesting->lanes[part->thread].next_span;
      nesting->lanes[part->thread].next_span += part->rows;
    }
  }
  return total;
}

enum tfprof_status nesting_again(struct nesting *nesting, struct tfprof_error *error) {
  struct again again = {.nesting = nesting,
                        .user = derive_known_text(nesting->profile, "user"),
                        .python = derive_known_text(nesting->profile, "python")};
  again.threads = scratch_allocate(((size_t)nesting->lane_count + 1) * sizeof *again.threads);
  if (!again.threads) return error_no_memory(error);
  size_t total = find_places(&again);
  enum tfprof_status status = TFPROF_OK;
  if (total) {
    again.spans = scratch_allocate(total * sizeof *again.spans);
    if (again.spans) {
      derive_parallel(total, nesting->profile->tables[TABLE_ops].segment_count, collect_segment, &again);
      derive_parallel(total, again.thread_count, nest_thread_again, &again);
      status = derive_failure(atomic_load(&nesting->failure), error);
    } else {
      status = error_no_memory(error);
    }
  }
  scratch_free(again.spans);
  scratch_free(again.threads);
  return status;
}
