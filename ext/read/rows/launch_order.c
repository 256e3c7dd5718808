/* launch_order.c: see launch_order.h.  The largest part is the longest subsequence whose starts do not fall, found by
** binary search among the last starts of those of each length.
*/
#include "read/rows/launch_order.h"

#include <stdlib.h>

enum { ENOUGH = 8 }; /* that a single one is a fault, whatever share of all it is */

static int by_key(const void *left, const void *right) {
  const struct in_order *a = left, *b = right;
  if (a->lane != b->lane) return a->lane < b->lane ? -1 : 1;
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->number < b->number ? -1 : a->number > b->number;
}

struct longest { uint32_t *last, *before; }; /* by length: its last event; by event: the one before it */

/* How many of the sequences, by length, may be followed by this start. */
static size_t sequences_before(const struct in_order *events, const uint32_t *last, size_t count, int64_t start) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (events[last[middle]].start <= start) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Marks those of a lane that are out of order: more than one of `share` stay. */
static void judge_lane(struct in_order *events, size_t count, const struct longest *longest, unsigned share) {
  size_t length = 0, out = 0;
  for (size_t i = 0; i < count; i++) {
    size_t at = sequences_before(events, longest->last, length, events[i].start);
    longest->before[i] = at ? longest->last[at - 1] : UINT32_MAX;
    longest->last[at] = (uint32_t)i;
    length += at == length;
  }
  for (size_t i = 0; i < count; i++) events[i].away = 1;
  for (uint32_t i = length ? longest->last[length - 1] : UINT32_MAX; i != UINT32_MAX; i = longest->before[i])
    events[i].away = 0;
  int64_t next = INT64_MAX, previous = INT64_MIN; /* starts of sound ones */
  for (size_t i = count; i-- > 0;) {
    if (!events[i].away) next = events[i].start;
    else events[i].away = events[i].start > next ? events[i].start - next : -1;
  }
  for (size_t i = 0; i < count; i++) {
    if (!events[i].away) previous = events[i].start;
    else if (events[i].away < 0) events[i].away = events[i].start < previous ? previous - events[i].start : 0;
    if (events[i].away > ORDER_SKEW_NS) out++;
    else events[i].away = 0;
  }
  bool is_order = out * share <= count || (out == 1 && count >= ENOUGH);
  for (size_t i = 0; i < count && !is_order; i++) events[i].away = 0;
}

bool launch_order_find(struct in_order *events, size_t count, unsigned share) {
  struct longest longest = {malloc((count + 1) * sizeof *longest.last), malloc((count + 1) * sizeof *longest.before)};
  bool ok = longest.last && longest.before && count < UINT32_MAX;
  if (ok && count) qsort(events, count, sizeof *events, by_key);
  for (size_t first = 0, last; ok && first < count; first = last) {
    for (last = first; last < count && events[last].lane == events[first].lane;) last++;
    judge_lane(events + first, last - first, &longest, share);
  }
  free(longest.last);
  free(longest.before);
  return ok;
}
