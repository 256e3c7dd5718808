/* span_order.c: the rows of one thread brought into the order in which they ended (span_order.h).
**
** Most sources write rows in order of their beginning, some of them a little off. From that order one sweep is enough:
** the rows that have begun and not ended yet wait in end order. From any other order it is a radix sort by start,
** then by end.
*/
#include "derive/links/span_order.h"

#include "derive/rows.h"
#include "store/scratch.h"

#include <string.h>

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

bool span_order_by_end(struct span *spans, uint32_t count, bool *is_crossed) {
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
