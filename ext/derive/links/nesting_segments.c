/* nesting_segments.c: which op called which, within each segment and then across them (nesting.h).
**
** Segments are nested side by side. Each leaves the rows of a thread that found no parent, and those that took all that
** the segment had and might take more from before it. Joining the segments in order lets these take what is left there.
** It also tells which threads are not in end order, or have rows that cross: these are gone through again
** (nesting_again.c).
*/
#include "derive/links/ancestors.h"
#include "derive/links/nesting.h"
#include "store/scratch.h"

bool nesting_reserve(struct part *part, uint32_t more) {
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
  if (!nesting_reserve(part, count)) return false;
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

enum tfprof_status nesting_of_segments(struct nesting *nesting, struct tfprof_error *error) {
  size_t segments = nesting->profile->tables[TABLE_ops].segment_count;
  derive_parallel(nesting->rows, segments, nest_segment, nesting);
  enum tfprof_status status = derive_failure(atomic_load(&nesting->failure), error);
  for (size_t i = 0; i < segments && !status; i++) {
    for (uint32_t k = 0; k < nesting->parts[i].count; k++) join_part(nesting, &nesting->parts[i].items[k]);
  }
  return status;
}
