/* nesting.c: ops.parent_id, depth and self_ns: which op called which, from time spans and row order alone.
**
** On one thread the ops of a call stack end in the reverse order of their beginning, so a row that has just ended has
** as its children exactly the earlier rows of its thread that no other row has taken yet and that began no earlier
** than it. A recording writes rows as they end.  One pass with a stack of rows without a parent per thread is
** therefore enough: each row takes from the top of the stack all that began no earlier than itself and is then put
** there itself.  Starts and ends both rise from the bottom of the stack to its top.  Each row is put and taken once:
** linear.  (The same idea as building a tree from its postfix form; the TensorBoard plugin does it from the prefix
** form, sorted by start.)
**
** What counts as nested, precisely: the parent of a row is the row on the same thread that encloses it and ends first.
**   - Equal spans: the row that ended first (comes first in end order) is the child.
**   - Equal ends: the row that began later is the child.  A row of no length that comes after a row which ends at the
**     same moment is not its child, since it came after.
**   - A row of no length has no children, for there is nothing to share out.
**   - A row that overlaps another without lying inside it is not its child, and does not shorten its self_ns.
**   - A row without start or end or thread, or with an end before its start, nests with nothing: parent_id, depth and
**     self_ns are NULL for it.
**
** Ranges of category `user` may be asynchronous: begun on one thread and ended on another, long after the function
** that began them has returned.  By time alone such a range would swallow all ops that its thread happened to run
** until then. It is recognised by crossing: it begins inside a row of another category and outlives it, or ends
** inside one that began later; or it begins inside another user range and outlives that.  Rows of a call stack never
** cross.  An asynchronous range nests with nothing: parent_id, depth and self_ns are NULL, and rows inside it belong
** to what is around it. (One that by chance crosses nothing cannot be told from a synchronous range and is taken for
** one.)
**
** Other sources write rows in order of their beginning or in none.  Each thread's rows are checked for end order on
** the way, and where they are not in it, they are sorted (radix sort by start, then by end) and gone through again;
** so are the rows of a thread on which something crossed, now with the crossing ranges left out.  Ties in a sorted
** source: rows of equal spans are parent first if the source is closer to start order, else child first.
**
** self_ns is the duration minus what the direct children cover.  Children that overlap each other (only rows that
** cross do) are counted once, so that it is never negative.
*/
#include "derive/passes.h"
#include "derive/rows.h"

#include <stdlib.h>
#include <string.h>

struct open_row {
  int64_t start, end;
  uint32_t row;
};

struct lane {
  struct open_row *stack; /* ended rows without a parent so far, above one that stands for the bottom */
  uint32_t count, capacity;
  uint32_t rows;
  int64_t last_end;
  int64_t tied_start; /* of the last row with a length among those that ended with the last one, else its own */
  bool is_disordered, is_crossed;
};

struct nesting {
  struct profile *profile;
  uint32_t rows;
  struct lane *lanes;
  uint32_t lane_count;
  uint32_t *parents; /* by row number */
  int64_t *selves;
  uint32_t *depths;  /* NO_ROW: nests with nothing */
};

/* Makes room for `more` rows. The first place is taken by a row that began before all others and ends the search for
** children; it never becomes one. */
static bool reserve(struct lane *lane, uint32_t more) {
  if (lane->count && lane->capacity - lane->count >= more) return true;
  uint32_t capacity = lane->capacity ? lane->capacity : 64;
  while (capacity - lane->count < more + 1) capacity *= 2;
  struct open_row *stack = realloc(lane->stack, (size_t)capacity * sizeof *stack);
  if (!stack) return false;
  stack[0] = (struct open_row){INT64_MIN, INT64_MIN, NO_ROW};
  if (!lane->count) lane->count = 1;
  lane->stack = stack;
  lane->capacity = capacity;
  return true;
}

/* Makes a row the parent of what it encloses and puts it on the stack; returns the new top. */
static inline struct open_row *close_row(struct open_row *top, int64_t start, int64_t end, uint32_t row,
                                         uint32_t *parents, int64_t *selves, bool *is_crossed) {
  uint64_t covered = 0;
  if (start < end) {
    int64_t until = end; /* what lies after it is covered already */
    for (; top->start >= start; top--) {
      covered += (uint64_t)(top->end < until ? top->end : until) - (uint64_t)top->start;
      until = top->start;
      parents[top->row] = row;
    }
  }
  /* The top is the one that ended last of all that began earlier: if it does not cross, none does. */
  if (top->end > start) *is_crossed = true;
  *++top = (struct open_row){start, end, row};
  selves[row] = (int64_t)((uint64_t)end - (uint64_t)start - covered);
  return top;
}

/* Rows of one thread that lie next to each other, with the state of the lane in registers. Rows that end together must
** have begun in the reverse order, but one of no length says nothing about the order of those before and after it. */
static bool close_rows(struct nesting *nesting, struct lane *lane, const int64_t *starts, const int64_t *ends,
                       uint32_t row, uint32_t count) {
  if (!reserve(lane, count)) return false;
  struct open_row *top = lane->stack + lane->count - 1;
  uint32_t *parents = nesting->parents, usable = 0;
  int64_t *selves = nesting->selves, last_end = lane->last_end, tied_start = lane->tied_start;
  bool is_disordered = lane->is_disordered, is_crossed = lane->is_crossed;
  for (uint32_t i = 0; i < count; i++, row++) {
    int64_t start = starts[i], end = ends[i];
    if (start == NO_VALUE || end < start) {
      nesting->depths[row] = NO_ROW;
      selves[row] = NO_VALUE;
      continue;
    }
    usable++;
    if (end > last_end) {
      last_end = end;
      tied_start = start;
    } else if (end < last_end) {
      is_disordered = true;
    } else if (start < end) {
      if (start > tied_start) is_disordered = true;
      tied_start = start;
    }
    if (!is_disordered) top = close_row(top, start, end, row, parents, selves, &is_crossed);
  }
  lane->count = (uint32_t)(top - lane->stack) + 1;
  lane->rows += usable;
  lane->last_end = last_end;
  lane->tied_start = tied_start;
  lane->is_disordered = is_disordered;
  lane->is_crossed = is_crossed;
  return true;
}

static enum tfprof_status first_pass(struct nesting *nesting, struct tfprof_error *error) {
  const struct profile_table *ops = &nesting->profile->tables[TABLE_ops];
  for (size_t s = 0; s < ops->segment_count; s++) {
    const struct segment *segment = ops->segments[s];
    for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
      uint32_t count = segment->rows - first < ROWS_BLOCK ? segment->rows - first : ROWS_BLOCK;
      uint32_t threads[ROWS_BLOCK], row = (uint32_t)segment->first_row + first;
      int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
      enum tfprof_status status = derive_poll(nesting->profile, error);
      if (status) return status;
      derive_references(segment->columns[COLUMN_ops_thread_id], first, count, nesting->lane_count, threads);
      derive_integers(segment->columns[COLUMN_ops_start_ns], first, count, starts);
      derive_integers(segment->columns[COLUMN_ops_end_ns], first, count, ends);
      for (uint32_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && threads[next] == threads[i]; next++) continue;
        if (threads[i] == NO_ROW) {
          for (uint32_t k = i; k < next; k++) {
            nesting->depths[row + k] = NO_ROW;
            nesting->selves[row + k] = NO_VALUE;
          }
        } else if (!close_rows(nesting, &nesting->lanes[threads[i]], starts + i, ends + i, row + i, next - i)) {
          return error_no_memory(error);
        }
      }
    }
  }
  return TFPROF_OK;
}

/* ---- threads that are not in end order, or where something crossed ---- */

struct span {
  int64_t start, end;
  uint32_t row;
  bool is_user, is_async;
};

/* Stable, by start or end relative to the smallest, upwards or downwards; `scratch` is as large as `spans`. */
static void radix_sort(struct span *spans, struct span *scratch, uint32_t count, bool by_end, bool downwards) {
  enum { BITS = 11, BUCKETS = 1 << BITS };
  uint64_t origin = (uint64_t)(by_end ? spans[0].end : spans[0].start), largest = 0;
  for (uint32_t i = 0; i < count; i++) {
    int64_t value = by_end ? spans[i].end : spans[i].start;
    if (value < (int64_t)origin) origin = (uint64_t)value;
  }
  for (uint32_t i = 0; i < count; i++) {
    uint64_t key = (uint64_t)(by_end ? spans[i].end : spans[i].start) - origin;
    if (key > largest) largest = key;
  }
  struct span *from = spans, *to = scratch;
  for (unsigned shift = 0; shift < 64 && largest >> shift; shift += BITS) {
    uint32_t starts[BUCKETS] = {0}, sum = 0;
    for (uint32_t i = 0; i < count; i++) {
      uint64_t key = (uint64_t)(by_end ? from[i].end : from[i].start) - origin;
      if (downwards) key = largest - key;
      starts[key >> shift & (BUCKETS - 1)]++;
    }
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++) {
      uint32_t here = starts[bucket];
      starts[bucket] = sum;
      sum += here;
    }
    for (uint32_t i = 0; i < count; i++) {
      uint64_t key = (uint64_t)(by_end ? from[i].end : from[i].start) - origin;
      if (downwards) key = largest - key;
      to[starts[key >> shift & (BUCKETS - 1)]++] = from[i];
    }
    struct span *other = from;
    from = to;
    to = other;
  }
  if (from != spans) memcpy(spans, from, count * sizeof *spans);
}

/* Into end order; equal ends by start downwards, equal spans as the source's order suggests. */
static bool sort_spans(struct span *spans, uint32_t count, bool is_parent_first) {
  struct span *scratch = malloc(count * sizeof *scratch);
  if (!scratch) return false;
  if (is_parent_first) {
    for (uint32_t i = 0; i < count / 2; i++) {
      struct span other = spans[i];
      spans[i] = spans[count - 1 - i];
      spans[count - 1 - i] = other;
    }
  }
  radix_sort(spans, scratch, count, false, true);
  radix_sort(spans, scratch, count, true, false);
  free(scratch);
  return true;
}

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
    if (span->start == span->end) continue; /* a moment crosses nothing */
    if (span->is_user) {
      uint32_t below = begun_before(calls, call_count, span->start);
      if (below && calls[below - 1].end > span->start) {
        span->is_async = true; /* begun inside a call, outlived it */
      } else {
        ranges[range_count++] = (struct open_row){span->start, span->end, i};
      }
    } else {
      /* Ranges that ended inside this call: those that began before it cross it, the others are done with. */
      while (range_count && ranges[range_count - 1].end > span->start) {
        range_count--;
        if (ranges[range_count].start < span->start) spans[ranges[range_count].row].is_async = true;
      }
      while (call_count && calls[call_count - 1].start >= span->start) call_count--;
      calls[call_count++] = (struct open_row){span->start, span->end, i};
    }
  }
}

static bool nest_spans(struct nesting *nesting, struct lane *lane, struct span *spans, uint32_t count) {
  lane->count = 0;
  if (!reserve(lane, count)) return false;
  for (uint32_t i = 0; i < count; i++) {
    struct span *span = &spans[i];
    if (span->is_user && !span->is_async && span->start < span->end) {
      uint32_t below = begun_before(lane->stack, lane->count, span->start);
      if (below && lane->stack[below - 1].end > span->start) span->is_async = true;
    }
    if (span->is_async) {
      nesting->depths[span->row] = NO_ROW;
      nesting->selves[span->row] = NO_VALUE;
    } else {
      struct open_row *top = close_row(lane->stack + lane->count - 1, span->start, span->end, span->row,
                                       nesting->parents, nesting->selves, &lane->is_crossed);
      lane->count = (uint32_t)(top - lane->stack) + 1;
    }
  }
  return true;
}

static bool is_closer_to_start_order(const struct span *spans, uint32_t count) {
  uint32_t start_inversions = 0, end_inversions = 0;
  for (uint32_t i = 1; i < count; i++) {
    start_inversions += spans[i].start < spans[i - 1].start;
    end_inversions += spans[i].end < spans[i - 1].end;
  }
  return start_inversions <= end_inversions;
}

static bool nest_again(struct nesting *nesting, struct lane *lane, struct span *spans, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) nesting->parents[spans[i].row] = NO_ROW;
  if (lane->is_disordered && !sort_spans(spans, count, is_closer_to_start_order(spans, count))) return false;
  struct open_row *room = malloc(2 * (size_t)count * sizeof *room);
  if (!room) return false;
  mark_async(spans, count, room);
  free(room);
  return nest_spans(nesting, lane, spans, count);
}

/* Collects the rows of all threads that need it, each thread's together, and nests them again. */
static enum tfprof_status second_pass(struct nesting *nesting, struct tfprof_error *error) {
  const struct profile_table *ops = &nesting->profile->tables[TABLE_ops];
  string_id user = derive_known_text(nesting->profile, "user");
  uint64_t total = 0;
  size_t *next = malloc(((size_t)nesting->lane_count + 1) * sizeof *next);
  if (!next) return error_no_memory(error);
  for (uint32_t thread = 0; thread < nesting->lane_count; thread++) {
    const struct lane *lane = &nesting->lanes[thread];
    next[thread] = total;
    if (lane->is_disordered || lane->is_crossed) total += lane->rows;
  }
  if (total == 0) {
    free(next);
    return TFPROF_OK;
  }
  enum tfprof_status status = TFPROF_OK;
  struct span *spans = malloc(total * sizeof *spans);
  if (!spans) status = error_no_memory(error);
  for (size_t s = 0; s < ops->segment_count && !status; s++) {
    const struct segment *segment = ops->segments[s];
    for (uint32_t first = 0; first < segment->rows && !status; first += ROWS_BLOCK) {
      uint32_t count = segment->rows - first < ROWS_BLOCK ? segment->rows - first : ROWS_BLOCK;
      uint32_t threads[ROWS_BLOCK], row = (uint32_t)segment->first_row + first;
      int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
      string_id categories[ROWS_BLOCK];
      derive_references(segment->columns[COLUMN_ops_thread_id], first, count, nesting->lane_count, threads);
      derive_integers(segment->columns[COLUMN_ops_start_ns], first, count, starts);
      derive_integers(segment->columns[COLUMN_ops_end_ns], first, count, ends);
      derive_texts(segment->columns[COLUMN_ops_category], first, count, categories);
      for (uint32_t i = 0; i < count; i++, row++) {
        if (threads[i] == NO_ROW || starts[i] == NO_VALUE || ends[i] < starts[i]) continue;
        const struct lane *lane = &nesting->lanes[threads[i]];
        if (!lane->is_disordered && !lane->is_crossed) continue;
        spans[next[threads[i]]++] =
            (struct span){.start = starts[i], .end = ends[i], .row = row, .is_user = categories[i] == user};
      }
      status = derive_poll(nesting->profile, error);
    }
  }
  for (uint32_t thread = 0; thread < nesting->lane_count && !status; thread++) {
    struct lane *lane = &nesting->lanes[thread];
    if (!lane->is_disordered && !lane->is_crossed) continue;
    if (!nest_again(nesting, lane, spans + (next[thread] - lane->rows), lane->rows)) status = error_no_memory(error);
    if (!status) status = derive_poll(nesting->profile, error);
  }
  free(spans);
  free(next);
  return status;
}

/* From the last row to the first: in end order a parent is always known before its children. Where it is not, the path
** up to the first known row is gone twice, to count it and to number it, so that this is linear in any order. */
static void number_depths(struct nesting *nesting) {
  const uint32_t unknown = NO_ROW - 1; /* what depths holds until now; NO_ROW: nests with nothing */
  const uint32_t *parents = nesting->parents;
  uint32_t *depths = nesting->depths;
  for (uint32_t i = nesting->rows; i-- > 0;) {
    uint32_t row = parents[i], length = 1;
    if (depths[i] != unknown) continue;
    for (; row != NO_ROW && depths[row] == unknown; row = parents[row]) length++;
    uint32_t depth = row == NO_ROW ? length - 1 : depths[row] + length;
    depths[i] = depth;
    for (row = parents[i]; length > 1; row = parents[row], length--) depths[row] = --depth;
  }
}

static enum tfprof_status set_depths(const struct nesting *nesting, struct tfprof_error *error) {
  /* NO_ROW means NULL for references, which is what it means here. */
  return derive_set_references(nesting->profile, TABLE_ops, COLUMN_ops_depth, nesting->depths, error);
}

static enum tfprof_status run(struct profile *profile, struct tfprof_error *error) {
  struct nesting nesting = {.profile = profile};
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &nesting.rows, error);
  if (!status) status = derive_row_count(profile, TABLE_threads, &nesting.lane_count, error);
  if (status) return status;
  size_t rows = (size_t)nesting.rows + 1;
  nesting.lanes = calloc((size_t)nesting.lane_count + 1, sizeof *nesting.lanes);
  for (uint32_t i = 0; nesting.lanes && i < nesting.lane_count; i++) nesting.lanes[i].last_end = INT64_MIN;
  nesting.parents = malloc(rows * sizeof *nesting.parents);
  nesting.depths = malloc(rows * sizeof *nesting.depths);
  nesting.selves = malloc(rows * sizeof *nesting.selves);
  if (nesting.lanes && nesting.parents && nesting.depths && nesting.selves) {
    memset(nesting.parents, 0xff, rows * sizeof *nesting.parents);
    for (uint32_t row = 0; row < nesting.rows; row++) nesting.depths[row] = NO_ROW - 1;
    status = first_pass(&nesting, error);
    if (!status) status = second_pass(&nesting, error);
    if (!status) number_depths(&nesting);
    if (!status) status = derive_set_references(profile, TABLE_ops, COLUMN_ops_parent_id, nesting.parents, error);
    if (!status) status = set_depths(&nesting, error);
    if (!status) status = derive_set_integers(profile, TABLE_ops, COLUMN_ops_self_ns, nesting.selves, error);
  } else {
    status = error_no_memory(error);
  }
  for (uint32_t thread = 0; nesting.lanes && thread < nesting.lane_count; thread++) free(nesting.lanes[thread].stack);
  free(nesting.lanes);
  free(nesting.parents);
  free(nesting.depths);
  free(nesting.selves);
  return status;
}

const struct derive_pass derive_nesting = {
    .name = "nesting",
    .summary = "Which op called which, from spans in end order with a stack per thread; asynchronous ranges left out.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_thread_id},
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_ops, COLUMN_ops_end_ns},
              {TABLE_ops, COLUMN_ops_category}},
    .writes = {{TABLE_ops, COLUMN_ops_parent_id}, {TABLE_ops, COLUMN_ops_depth}, {TABLE_ops, COLUMN_ops_self_ns}},
    .run = run,
};
