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
#include "store/scratch.h"
#include "store/parallel.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* What depths holds until all parents are known. */
#define UNKNOWN_DEPTH (NO_ROW - 1)

struct open_row {
  int64_t start, end;
  uint32_t row;
};

/* A row that took all that its segment had left and might take more from before the segment. */
struct reaching_row {
  int64_t start, end;
  int64_t until; /* what lies after it is covered already */
  uint32_t row;
};

/* What one segment makes of a thread. */
struct part {
  uint32_t thread;
  uint32_t rows;
  struct open_row *stack; /* ended rows without a parent so far, above one that stands for what came before */
  uint32_t count, capacity;
  struct reaching_row *reaching; /* in row order */
  uint32_t reaching_count, reaching_capacity;
  int64_t first_end, last_end;
  int64_t first_tied_start; /* of the first row with a length among those that end with the first; INT64_MIN: none */
  int64_t tied_start; /* of the last row with a length among those that ended with the last one, else its own */
  bool is_disordered, is_crossed;
  struct part *before; /* the last one of the same thread that has rows on its stack */
};

struct part_list {
  struct part *items;
  uint32_t count, capacity;
};

struct lane {
  struct part *last; /* with rows on its stack; those before it hang on it */
  uint32_t rows;
  int64_t last_end, tied_start;
  bool is_disordered, is_crossed;
};

struct nesting {
  struct profile *profile;
  uint32_t rows;
  struct lane *lanes;
  uint32_t lane_count;
  int64_t *selves;   /* by row number; the other two lie behind it */
  uint32_t *parents;
  uint32_t *depths;  /* NO_ROW: nests with nothing */
  struct part_list *parts; /* by segment */
  uint32_t *part_of[PARALLEL_MAXIMUM_WORKERS]; /* by thread: 1 + index of its part in the segment that is worked on */
  atomic_int failure; /* an enum tfprof_status */
};

/* Makes room for `more` rows. The first place is taken by a row that encloses all others, ends the search for children
** and never becomes one. */
static bool reserve(struct part *part, uint32_t more) {
  if (part->count && part->capacity - part->count >= more) return true;
  uint32_t capacity = part->capacity ? part->capacity : 64;
  while (capacity - part->count < more + 1) capacity *= 2;
  struct open_row *stack = scratch_resize(part->stack, (size_t)capacity * sizeof *stack);
  if (!stack) return false;
  stack[0] = (struct open_row){INT64_MIN, INT64_MAX, NO_ROW};
  if (!part->count) part->count = 1;
  part->stack = stack;
  part->capacity = capacity;
  return true;
}

static bool add_reaching(struct part *part, struct reaching_row row) {
  struct reaching_row *rows =
      scratch_grow(part->reaching, part->reaching_count, &part->reaching_capacity, 16, sizeof *rows);
  if (!rows) return false;
  part->reaching = rows;
  part->reaching[part->reaching_count++] = row;
  return true;
}

/* Takes from the stack what lies inside a row and returns the new top. *until is how far down the row is covered by
** its children, *covered how much of it. */
static inline struct open_row *take_children(struct open_row *top, int64_t start, uint32_t row, uint32_t *parents,
                                             int64_t *until, uint64_t *covered) {
  for (; top->start >= start; top--) {
    *covered += (uint64_t)(top->end < *until ? top->end : *until) - (uint64_t)top->start;
    *until = top->start;
    parents[top->row] = row;
  }
  return top;
}

/* Makes a row the parent of what it encloses and puts it on the stack; returns the new top. */
static inline struct open_row *close_row(struct open_row *top, int64_t start, int64_t end, uint32_t row,
                                         uint32_t *parents, int64_t *selves, int64_t *until) {
  uint64_t covered = 0;
  *until = end;
  if (start < end) top = take_children(top, start, row, parents, until, &covered);
  *++top = (struct open_row){start, end, row};
  selves[row] = (int64_t)((uint64_t)end - (uint64_t)start - covered);
  return top;
}

static void note_first(struct part *part, const int64_t *starts, const int64_t *ends, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (starts[i] == NO_VALUE || ends[i] < starts[i]) continue;
    part->first_end = ends[i];
    part->first_tied_start = starts[i] < ends[i] ? starts[i] : INT64_MIN;
    return;
  }
}

/* Rows of one thread that lie next to each other, with the state of the part in registers. Rows that end together must
** have begun in the reverse order, but one of no length says nothing about the order of those before and after it. */
static bool close_rows(struct nesting *nesting, struct part *part, const int64_t *starts, const int64_t *ends,
                       uint32_t row, uint32_t count) {
  if (!reserve(part, count)) return false;
  if (!part->rows) note_first(part, starts, ends, count);
  struct open_row *top = part->stack + part->count - 1;
  uint32_t *parents = nesting->parents, usable = 0;
  int64_t *selves = nesting->selves, last_end = part->last_end, tied_start = part->tied_start, until;
  bool is_disordered = part->is_disordered;
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
      if (end == part->first_end && part->first_tied_start == INT64_MIN) part->first_tied_start = start;
    }
    if (is_disordered) continue;
    top = close_row(top, start, end, row, parents, selves, &until);
    /* What is below is the one that ended last of all that began earlier: if it does not cross, none does. */
    if (top[-1].end > start) {
      if (top[-1].row != NO_ROW) part->is_crossed = true;
      else if (!add_reaching(part, (struct reaching_row){start, end, until, row})) return false;
    }
  }
  part->count = (uint32_t)(top - part->stack) + 1;
  part->rows += usable;
  part->last_end = last_end;
  part->tied_start = tied_start;
  part->is_disordered = is_disordered;
  return true;
}

/* The part of a thread in the segment that a worker is at. */
static struct part *find_part(struct part_list *list, uint32_t *part_of, uint32_t thread) {
  if (part_of[thread]) return &list->items[part_of[thread] - 1];
  struct part *items = scratch_grow(list->items, list->count, &list->capacity, 8, sizeof *items);
  if (!items) return NULL;
  list->items = items;
  list->items[list->count] = (struct part){.thread = thread, .last_end = INT64_MIN, .first_tied_start = INT64_MIN};
  part_of[thread] = ++list->count;
  return &list->items[list->count - 1];
}

static bool nest_block(struct nesting *nesting, const struct segment *segment, struct part_list *list,
                       uint32_t *part_of, uint32_t first, uint32_t count) {
  uint32_t threads[ROWS_BLOCK], row = (uint32_t)segment->first_row + first;
  int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
  derive_references(segment->columns[COLUMN_ops_thread_id], first, count, nesting->lane_count, threads);
  derive_integers(segment->columns[COLUMN_ops_start_ns], first, count, starts);
  derive_integers(segment->columns[COLUMN_ops_end_ns], first, count, ends);
  for (uint32_t i = 0; i < count; i++) {
    nesting->parents[row + i] = NO_ROW;
    nesting->depths[row + i] = UNKNOWN_DEPTH;
  }
  for (uint32_t i = 0, next; i < count; i = next) {
    for (next = i + 1; next < count && threads[next] == threads[i]; next++) continue;
    if (threads[i] == NO_ROW) {
      for (uint32_t k = i; k < next; k++) {
        nesting->depths[row + k] = NO_ROW;
        nesting->selves[row + k] = NO_VALUE;
      }
    } else {
      struct part *part = find_part(list, part_of, threads[i]);
      if (!part || !close_rows(nesting, part, starts + i, ends + i, row + i, next - i)) return false;
    }
  }
  return true;
}

/* Nests the rows of one segment among themselves. */
static void nest_segment(void *context, size_t i, unsigned worker) {
  struct nesting *nesting = context;
  const struct segment *segment = nesting->profile->tables[TABLE_ops].segments[i];
  struct part_list *list = &nesting->parts[i];
  uint32_t **part_of = &nesting->part_of[worker];
  if (!*part_of) *part_of = scratch_allocate_zeroed((size_t)nesting->lane_count + 1, sizeof **part_of);
  int failure = *part_of ? atomic_load(&nesting->failure) : TFPROF_NO_MEMORY;
  for (uint32_t first = 0; first < segment->rows && !failure; first += ROWS_BLOCK) {
    uint32_t count = segment->rows - first < ROWS_BLOCK ? segment->rows - first : ROWS_BLOCK;
    if (store_interrupted(nesting->profile->store)) failure = TFPROF_INTERRUPTED;
    else if (!nest_block(nesting, segment, list, *part_of, first, count)) failure = TFPROF_NO_MEMORY;
  }
  for (uint32_t k = 0; k < list->count; k++) (*part_of)[list->items[k].thread] = 0;
  if (failure) atomic_store(&nesting->failure, failure);
}

/* Lets a row take what segments before its own have left. */
static void reach_back(struct nesting *nesting, struct lane *lane, const struct reaching_row *reaching) {
  uint64_t covered = 0;
  int64_t until = reaching->until;
  for (; lane->last; lane->last = lane->last->before) {
    struct part *part = lane->last;
    struct open_row *top = part->stack + part->count - 1;
    if (reaching->start < reaching->end) {
      top = take_children(top, reaching->start, reaching->row, nesting->parents, &until, &covered);
    }
    part->count = (uint32_t)(top - part->stack) + 1;
    if (top->row == NO_ROW) continue; /* nothing is left */
    if (top->end > reaching->start) lane->is_crossed = true;
    break;
  }
  nesting->selves[reaching->row] = (int64_t)((uint64_t)nesting->selves[reaching->row] - covered);
}

/* Puts a part to those of the segments before. */
static void join_part(struct nesting *nesting, struct part *part) {
  struct lane *lane = &nesting->lanes[part->thread];
  if (!part->rows) return;
  bool is_later = !lane->rows || part->first_end > lane->last_end;
  bool is_tied = lane->rows && part->first_end == lane->last_end;
  lane->is_disordered |= part->is_disordered || !(is_later || is_tied);
  lane->is_disordered |= is_tied && part->first_tied_start > lane->tied_start;
  lane->is_crossed |= part->is_crossed;
  if (is_later || part->last_end > lane->last_end || part->first_tied_start != INT64_MIN) {
    lane->tied_start = part->tied_start;
  }
  lane->last_end = part->last_end;
  lane->rows += part->rows;
  if (lane->is_disordered) return; /* it will be done again */
  for (uint32_t i = 0; i < part->reaching_count; i++) reach_back(nesting, lane, &part->reaching[i]);
  if (part->count > 1) {
    part->before = lane->last;
    lane->last = part;
  }
}

/* Each segment by itself, side by side, then what lies across them. */
static enum tfprof_status first_pass(struct nesting *nesting, struct tfprof_error *error) {
  size_t segments = nesting->profile->tables[TABLE_ops].segment_count;
  derive_parallel(nesting->rows, segments, nest_segment, nesting);
  enum tfprof_status status = derive_failure(atomic_load(&nesting->failure), error);
  for (size_t i = 0; i < segments && !status; i++) {
    for (uint32_t k = 0; k < nesting->parts[i].count; k++) join_part(nesting, &nesting->parts[i].items[k]);
  }
  return status;
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
  struct span *scratch = scratch_allocate(count * sizeof *scratch);
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
  scratch_free(scratch);
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

static bool nest_spans(struct nesting *nesting, struct span *spans, uint32_t count) {
  struct part part = {.thread = 0};
  if (!reserve(&part, count)) return false;
  for (uint32_t i = 0; i < count; i++) {
    struct span *span = &spans[i];
    if (span->is_user && !span->is_async && span->start < span->end) {
      uint32_t below = begun_before(part.stack + 1, part.count - 1, span->start);
      if (below && part.stack[below].end > span->start) span->is_async = true;
    }
    if (span->is_async) {
      nesting->depths[span->row] = NO_ROW;
      nesting->selves[span->row] = NO_VALUE;
    } else {
      int64_t until;
      struct open_row *top = close_row(part.stack + part.count - 1, span->start, span->end, span->row,
                                       nesting->parents, nesting->selves, &until);
      part.count = (uint32_t)(top - part.stack) + 1;
    }
  }
  scratch_free(part.stack);
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
  struct open_row *room = scratch_allocate(2 * (size_t)count * sizeof *room);
  if (!room) return false;
  mark_async(spans, count, room);
  scratch_free(room);
  return nest_spans(nesting, spans, count);
}

/* Collects the rows of all threads that need it, each thread's together, and nests them again. */
static enum tfprof_status second_pass(struct nesting *nesting, struct tfprof_error *error) {
  const struct profile_table *ops = &nesting->profile->tables[TABLE_ops];
  string_id user = derive_known_text(nesting->profile, "user");
  uint64_t total = 0;
  size_t *next = scratch_allocate(((size_t)nesting->lane_count + 1) * sizeof *next);
  if (!next) return error_no_memory(error);
  for (uint32_t thread = 0; thread < nesting->lane_count; thread++) {
    const struct lane *lane = &nesting->lanes[thread];
    next[thread] = total;
    if (lane->is_disordered || lane->is_crossed) total += lane->rows;
  }
  if (total == 0) {
    scratch_free(next);
    return TFPROF_OK;
  }
  enum tfprof_status status = TFPROF_OK;
  struct span *spans = scratch_allocate(total * sizeof *spans);
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
  scratch_free(spans);
  scratch_free(next);
  return status;
}

/* ---- depths ---- */

/* From the last row to the first: in end order a parent is always known before its children. Where it is not, the path
** up to the first known row is gone twice, to count it and to number it, so that this is linear in any order. */
static void number_depths(struct nesting *nesting) {
  const uint32_t *parents = nesting->parents;
  uint32_t *depths = nesting->depths;
  for (uint32_t i = nesting->rows; i-- > 0;) {
    uint32_t row = parents[i], length = 1;
    if (depths[i] != UNKNOWN_DEPTH) continue;
    for (; row != NO_ROW && depths[row] == UNKNOWN_DEPTH; row = parents[row]) length++;
    uint32_t depth = row == NO_ROW ? length - 1 : depths[row] + length;
    depths[i] = depth;
    for (row = parents[i]; length > 1; row = parents[row], length--) depths[row] = --depth;
  }
}

static enum tfprof_status set_depths(const struct nesting *nesting, struct tfprof_error *error) {
  /* NO_ROW means NULL for references, which is what it means here. */
  return derive_set_references(nesting->profile, TABLE_ops, COLUMN_ops_depth, nesting->depths, error);
}

/* What row numbers without a row hold. */
static void fill_gaps(struct nesting *nesting) {
  const struct profile_table *ops = &nesting->profile->tables[TABLE_ops];
  uint32_t row = 0;
  for (size_t i = 0; i < ops->segment_count; i++) {
    for (; row < ops->segments[i]->first_row; row++) nesting->parents[row] = nesting->depths[row] = NO_ROW;
    row += ops->segments[i]->rows;
  }
}

static enum tfprof_status nest(struct nesting *nesting, struct tfprof_error *error) {
  struct profile *profile = nesting->profile;
  fill_gaps(nesting);
  enum tfprof_status status = first_pass(nesting, error);
  if (!status) status = second_pass(nesting, error);
  if (!status) number_depths(nesting);
  if (!status) status = derive_set_references(profile, TABLE_ops, COLUMN_ops_parent_id, nesting->parents, error);
  if (!status) status = set_depths(nesting, error);
  if (!status) status = derive_set_integers(profile, TABLE_ops, COLUMN_ops_self_ns, nesting->selves, error);
  return status;
}

static void clear(struct nesting *nesting, size_t segments) {
  for (size_t i = 0; nesting->parts && i < segments; i++) {
    for (uint32_t k = 0; k < nesting->parts[i].count; k++) {
      scratch_free(nesting->parts[i].items[k].stack);
      scratch_free(nesting->parts[i].items[k].reaching);
    }
    scratch_free(nesting->parts[i].items);
  }
  for (unsigned i = 0; i < PARALLEL_MAXIMUM_WORKERS; i++) scratch_free(nesting->part_of[i]);
  scratch_free(nesting->parts);
  scratch_free(nesting->lanes);
  scratch_free(nesting->selves);
}

static enum tfprof_status run(struct profile *profile, struct tfprof_error *error) {
  struct nesting nesting = {.profile = profile};
  size_t segments = profile->tables[TABLE_ops].segment_count;
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &nesting.rows, error);
  if (!status) status = derive_row_count(profile, TABLE_threads, &nesting.lane_count, error);
  if (status) return status;
  size_t rows = (size_t)nesting.rows + 1;
  nesting.parts = scratch_allocate_zeroed(segments + 1, sizeof *nesting.parts);
  nesting.lanes = scratch_allocate_zeroed((size_t)nesting.lane_count + 1, sizeof *nesting.lanes);
  nesting.selves = scratch_allocate(rows * (sizeof *nesting.selves + 2 * sizeof *nesting.parents));
  if (nesting.parts && nesting.lanes && nesting.selves) {
    nesting.parents = (uint32_t *)(nesting.selves + rows);
    nesting.depths = nesting.parents + rows;
    status = nest(&nesting, error);
  } else {
    status = error_no_memory(error);
  }
  clear(&nesting, segments);
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
