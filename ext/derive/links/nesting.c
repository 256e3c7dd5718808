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
** cross.  Frames of Python do not count there: where they are recorded, every range begins within that of __enter__ or
** start, outlives it, and ends within that of __exit__ or stop.  Such frames lie beside the range.  An asynchronous
** range nests with nothing: parent_id, depth and self_ns are NULL, and rows inside it belong to what is around it.
** (One that by chance crosses nothing cannot be told from a synchronous range and is taken for one.)
**
** Other sources write rows in order of their beginning or in none.  Each thread's rows are checked for end order on
** the way, and where they are not in it, they are brought into it and gone through again; so are the rows of a thread
** on which something crossed, now with the crossing ranges left out.  From start order that takes one sweep with the
** rows that have begun and not ended yet, in end order; from any other a radix sort by start, then by end.  Ties in a
** sorted source: rows of equal spans are parent first if the source is closer to start order, else child first.
**
** self_ns is the duration minus what the direct children cover.  Children that overlap each other (only rows that
** cross do) are counted once, so that it is never negative.  What recording the direct children took, where the source
** tells, is taken off as well: that was paid between them (steps/recording_cost.h).
*/
#include "derive/links/ancestors.h"
#include "derive/links/async_names.h"
#include "derive/passes.h"
#include "derive/steps/sampling.h"
#include "store/scratch.h"
#include "store/parallel.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDING_NS = 1000, FEW_SHARE = 50, MOST_PAIRS = 4096, MOST_OF_THREAD = 256 };

struct crossing_pair { uint32_t rows[2]; }; /* of which one began inside the other and outlived it */

struct open_row {
  int64_t start, end;
  uint32_t row;
  bool is_frame, is_range; /* of Python, of category user: told where rows are gone through again */
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
  size_t first_span;   /* of its rows, where its thread is gone through again */
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
  size_t first_span, next_span; /* of its rows, where it is gone through again */
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
  _Atomic uint32_t crossing_ranges; /* that begin in another one and outlive it */
  _Atomic uint32_t crossing_ops;    /* the same, on threads where they are not a few */
  _Atomic uint32_t pair_count;      /* of those, that there are or would be with more room */
  struct crossing_pair pairs[MOST_PAIRS];
};

/* Makes room for `more` rows. The first place is taken by a row that encloses all others, ends the search for children
** and never becomes one. */
static bool reserve_open_rows(struct part *part, uint32_t more) {
  if (part->count && part->capacity - part->count >= more) return true;
  uint32_t capacity = part->capacity ? part->capacity : 64;
  while (capacity - part->count < more + 1) capacity *= 2;
  struct open_row *stack = scratch_resize(part->stack, (size_t)capacity * sizeof *stack);
  if (!stack) return false;
  stack[0] = (struct open_row){INT64_MIN, INT64_MAX, NO_ROW, false, false};
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
  *++top = (struct open_row){start, end, row, false, false};
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
  if (!reserve_open_rows(part, count)) return false;
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
    uint32_t count = derive_block_rows(segment, first);
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
  bool is_user, is_async, is_frame;
};

enum sort_key { BY_ROW, BY_START, BY_START_DOWNWARDS, BY_END };

static uint64_t key_of(const struct span *span, enum sort_key key) {
  return key == BY_ROW ? span->row : (uint64_t)(key == BY_END ? span->end : span->start);
}

/* Stable, by what keys are above the smallest; `scratch` is as large as `spans`. */
static void radix_sort(struct span *spans, struct span *scratch, uint32_t count, enum sort_key sort_key) {
  enum { BITS = 11, BUCKETS = 1 << BITS };
  uint64_t origin = key_of(&spans[0], sort_key), largest = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t value = key_of(&spans[i], sort_key);
    if ((int64_t)value < (int64_t)origin) origin = value;
  }
  for (uint32_t i = 0; i < count; i++) {
    uint64_t key = key_of(&spans[i], sort_key) - origin;
    if (key > largest) largest = key;
  }
  struct span *from = spans, *to = scratch;
  for (unsigned shift = 0; shift < 64 && largest >> shift; shift += BITS) {
    uint32_t starts[BUCKETS] = {0}, sum = 0;
    for (uint32_t i = 0; i < count; i++) {
      uint64_t key = key_of(&from[i], sort_key) - origin;
      if (sort_key == BY_START_DOWNWARDS) key = largest - key;
      starts[key >> shift & (BUCKETS - 1)]++;
    }
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++) {
      uint32_t here = starts[bucket];
      starts[bucket] = sum;
      sum += here;
    }
    for (uint32_t i = 0; i < count; i++) {
      uint64_t key = key_of(&from[i], sort_key) - origin;
      if (sort_key == BY_START_DOWNWARDS) key = largest - key;
      to[starts[key >> shift & (BUCKETS - 1)]++] = from[i];
    }
    struct span *other = from;
    from = to;
    to = other;
  }
  if (from != spans) memcpy(spans, from, count * sizeof *spans);
}

/* From any order of one source, which `spans` may have lost, into end order; equal ends by start downwards, equal
** spans as the source's order suggests. */
static bool sort_spans(struct span *spans, uint32_t count, bool is_parent_first) {
  struct span *scratch = scratch_allocate(count * sizeof *scratch);
  if (!scratch) return false;
  radix_sort(spans, scratch, count, BY_ROW);
  if (is_parent_first) {
    for (uint32_t i = 0; i < count / 2; i++) {
      struct span other = spans[i];
      spans[i] = spans[count - 1 - i];
      spans[count - 1 - i] = other;
    }
  }
  radix_sort(spans, scratch, count, BY_START_DOWNWARDS);
  radix_sort(spans, scratch, count, BY_END);
  scratch_free(scratch);
  return true;
}

/* Puts the spans that began before one that comes earlier to where they belong. Where these are not few nothing is
** done, and *is_done is false. */
static bool move_late(struct span *spans, uint32_t count, bool *is_done) {
  int64_t last = INT64_MIN;
  uint32_t late = 0, kept = 0;
  for (uint32_t i = 0; i < count; i++) {
    late += spans[i].start < last;
    last = spans[i].start > last ? spans[i].start : last;
  }
  *is_done = late <= count / 8;
  if (!late || !*is_done) return true;
  struct span *moved = scratch_allocate(2 * (size_t)late * sizeof *moved);
  if (!moved) return false;
  last = INT64_MIN;
  late = 0;
  for (uint32_t i = 0; i < count; i++) {
    bool is_late = spans[i].start < last;
    if (is_late) {
      moved[late++] = spans[i];
    } else {
      last = spans[i].start;
      spans[kept++] = spans[i];
    }
  }
  radix_sort(moved, moved + late, late, BY_START);
  for (uint32_t to = count; late;) { /* from the last on; none that began together with a moved one comes after it */
    bool is_kept = kept && spans[kept - 1].start > moved[late - 1].start;
    spans[--to] = is_kept ? spans[--kept] : moved[--late];
  }
  scratch_free(moved);
  return true;
}

/* From start order into end order; ties as above. Spans that have begun wait, the one to end next last, until one
** begins after they have ended.  A new one mostly ends before all that wait; where it crosses some it goes below them.
** Each comes to where one before it has been.  Many that cross many would take too long: *is_done is false then, and
** the order is lost. */
static bool sort_started(struct span *spans, uint32_t count, bool *is_done, bool *is_crossed) {
  uint64_t budget = 4 * (uint64_t)count + ROWS_BLOCK;
  struct span *waiting = NULL;
  uint32_t waits = 0, capacity = 0, done = 0, i = 0;
  *is_crossed = false;
  for (; i < count && budget; i++) {
    struct span span = spans[i];
    while (waits && waiting[waits - 1].end < span.start) spans[done++] = waiting[--waits];
    struct span *room = scratch_grow(waiting, waits, &capacity, 64, sizeof *room);
    if (!room) {
      scratch_free(waiting);
      return false;
    }
    waiting = room;
    uint32_t at = waits++;
    for (; at && waiting[at - 1].end < span.end; at--) {
      const struct span *above = &waiting[at - 1];
      *is_crossed |= above->start < span.start && above->end > span.start;
      waiting[at] = *above;
      if (budget) budget--;
    }
    waiting[at] = span;
  }
  *is_done = i == count;
  while (waits) spans[done++] = waiting[--waits];
  scratch_free(waiting);
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
  if (!reserve_open_rows(&part, count)) return false;
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

/* Brings the spans of one thread from the order of their rows into end order, and tells whether any may cross. */
static bool bring_into_order(struct span *spans, uint32_t count, bool *is_crossed) {
  uint32_t start_inversions = 0, end_inversions = 0;
  bool is_done = false;
  for (uint32_t i = 1; i < count; i++) {
    start_inversions += spans[i].start < spans[i - 1].start;
    end_inversions += spans[i].end < spans[i - 1].end;
  }
  bool is_parent_first = start_inversions <= end_inversions;
  *is_crossed = true;
  if (is_parent_first && !move_late(spans, count, &is_done)) return false;
  if (is_done && !sort_started(spans, count, &is_done, is_crossed)) return false;
  return is_done || sort_spans(spans, count, is_parent_first);
}

static bool nest_again(struct nesting *nesting, const struct lane *lane, struct span *spans, uint32_t count) {
  bool is_crossed = true;
  for (uint32_t i = 0; i < count; i++) nesting->parents[spans[i].row] = NO_ROW;
  if (lane->is_disordered && !bring_into_order(spans, count, &is_crossed)) return false;
  if (is_crossed) {
    struct open_row *room = scratch_allocate(2 * (size_t)count * sizeof *room);
    if (!room) return false;
    mark_async(spans, count, room);
    scratch_free(room);
  }
  return nest_spans(nesting, spans, count);
}

/* What second_pass() goes through: the rows of some threads, each thread's together. */
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
  if (!nest_again(nesting, lane, again->spans + lane->first_span, lane->rows))
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

static enum tfprof_status second_pass(struct nesting *nesting, struct tfprof_error *error) {
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

/* ---- what recording took ---- */

/* Each record of an op took so much from what is around it. */
static enum tfprof_status take_cost_off(struct nesting *nesting, int64_t of_op, struct tfprof_error *error) {
  string_id op = derive_known_text(nesting->profile, "op"), autograd = derive_known_text(nesting->profile, "autograd");
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(nesting->profile, TABLE_ops, &block, &status, error);) {
    string_id categories[ROWS_BLOCK];
    block_texts(&block, COLUMN_ops_category, categories);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t parent = nesting->parents[block.row + i];
      if (parent == NO_ROW || (categories[i] != op && categories[i] != autograd)) continue;
      int64_t *self = &nesting->selves[parent];
      *self = *self > of_op ? *self - of_op : 0;
    }
  }
  return status;
}

static enum tfprof_status take_recording_off(struct nesting *nesting, struct tfprof_error *error) {
  struct sampling sampling;
  enum tfprof_status status = sampling_load(&sampling, nesting->profile, error);
  double of_op = sampling_op_cost(&sampling);
  sampling_free(&sampling);
  return !status && of_op > 0 && of_op < 1e9 ? take_cost_off(nesting, (int64_t)of_op, error) : status;
}

/* ---- the columns ---- */

static enum tfprof_status set_depths(const struct nesting *nesting, struct tfprof_error *error) {
  /* NO_ROW means NULL for references, which is what it means here. */
  return derive_set_references(nesting->profile, TABLE_ops, COLUMN_ops_depth, nesting->depths, error);
}

static enum tfprof_status ask_for_async(const struct nesting *nesting, bool *are_async, struct tfprof_error *error) {
  uint32_t count = atomic_load(&nesting->pair_count);
  struct crossing_names *pairs = scratch_allocate(MOST_PAIRS * sizeof *pairs);
  int64_t *names = NULL, *room = scratch_allocate(2 * sizeof *room * MOST_PAIRS);
  enum tfprof_status status = pairs && room ? TFPROF_OK : error_no_memory(error);
  if (!status) status = derive_all_integers(nesting->profile, TABLE_ops, COLUMN_ops_name, &names, error);
  if (count > MOST_PAIRS) count = MOST_PAIRS;
  for (uint32_t i = 0; i < count && !status; i++) {
    const uint32_t *rows = nesting->pairs[i].rows;
    pairs[i] = (struct crossing_names){{names[rows[0]], names[rows[1]]}};
  }
  *are_async = !status && async_names_explain(pairs, count, names, nesting->rows, room);
  scratch_free(names);
  scratch_free(room);
  scratch_free(pairs);
  return status;
}

static const char *const crossing_texts[] = {
    "warning", "crossing_ranges",
    "ranges of one thread cross each other, as those of coroutines do: each of these began inside another one and "
    "outlived it; it has no ops of its own, and those of both may count for the one that began first",
    "crossing_ops",
    "ops of one thread cross each other, each of these began inside another one and outlived it, as calls of a thread "
    "cannot: several processes or threads have its number, as where traces were merged, or ops are asynchronous; which "
    "op called which is not known there; open the file of each process instead where several were merged",
    "info",
    "ops of one thread cross each other, each of these began inside another one and outlived it: a few of their names "
    "are in all of that, so that ops of these are asynchronous and end after the call that began them; which op called "
    "which is not known there", NULL};

static void tell_crossing(struct segment *segment, unsigned column, uint32_t count, const char *severity,
                          const char *reason, const char *message) {
  if (!count) return;
  segment_diagnose(segment, column, severity, reason, count, -1, "%s", message);
  column_set_add(&segment->is_told, column);
}

static enum tfprof_status tell_crossings(struct nesting *nesting, struct tfprof_error *error) {
  struct profile_table *ops = &nesting->profile->tables[TABLE_ops];
  uint32_t crossing = atomic_load(&nesting->crossing_ops);
  bool are_async;
  /* Of other sources lines need be no threads. */
  bool has_threads = strcmp(profile_origin(nesting->profile), "kineto") == 0;
  if (!ops->segment_count) return TFPROF_OK;
  tell_crossing(ops->segments[0], COLUMN_ops_parent_id, atomic_load(&nesting->crossing_ranges), crossing_texts[0],
                crossing_texts[1], crossing_texts[2]);
  if (!has_threads || !crossing) return TFPROF_OK;
  enum tfprof_status status = ask_for_async(nesting, &are_async, error);
  if (!status)
    tell_crossing(ops->segments[0], COLUMN_ops_depth, crossing, crossing_texts[are_async ? 5 : 0], crossing_texts[3],
                  crossing_texts[are_async ? 6 : 4]);
  return status;
}

static enum tfprof_status nest(struct nesting *nesting, struct tfprof_error *error) {
  struct profile *profile = nesting->profile;
  enum tfprof_status status = first_pass(nesting, error);
  if (!status) status = second_pass(nesting, error);
  if (!status) derive_number_depths(nesting->parents, nesting->depths, nesting->rows);
  if (!status) status = derive_set_references(profile, TABLE_ops, COLUMN_ops_parent_id, nesting->parents, error);
  if (!status) status = set_depths(nesting, error);
  if (!status) status = take_recording_off(nesting, error);
  if (!status) status = derive_set_integers(profile, TABLE_ops, COLUMN_ops_self_ns, nesting->selves, error);
  if (!status) status = tell_crossings(nesting, error);
  return status;
}

static void clear_nesting(struct nesting *nesting, size_t segments) {
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

static enum tfprof_status run_nesting(struct profile *profile, struct tfprof_error *error) {
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
  clear_nesting(&nesting, segments);
  return status;
}

const struct derive_pass derive_nesting = {
    .name = "nesting",
    .summary = "Which op called which, from spans in end order with a stack per thread; asynchronous ranges left out.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_name},
              {TABLE_ops, COLUMN_ops_thread_id},
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_ops, COLUMN_ops_end_ns},
              {TABLE_ops, COLUMN_ops_category},
              {TABLE_counters, COLUMN_counters_name},
              {TABLE_counters, COLUMN_counters_time_ns},
              {TABLE_counters, COLUMN_counters_value}},
    .writes = {{TABLE_ops, COLUMN_ops_parent_id}, {TABLE_ops, COLUMN_ops_depth}, {TABLE_ops, COLUMN_ops_self_ns}},
    .run = run_nesting,
    .has_diagnostics = true,
    .texts = crossing_texts,
};
