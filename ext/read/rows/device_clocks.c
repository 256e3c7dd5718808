/* device_clocks.c: see device_clocks.h. */
#include "read/rows/device_clocks.h"

#include <stdlib.h>

#include "read/rows/eager_rows.h"
#include "read/rows/launch_order.h"

enum { FEW = 2, FEW_SHARE = 20, APART_SHARE = 3, APART_TIMES = 10, ENOUGH = 8 };
static const int64_t SKEW_NS = ORDER_SKEW_NS, MOVED_NS = INT64_C(60) * 1000000000;

static int compare_moments(const void *a, const void *b) {
  const int64_t *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

/* When they, or their calls, begin, sorted; the caller frees them. NULL: no memory. */
static int64_t *sorted_starts(const struct work *work, size_t count, bool is_of_calls) {
  int64_t *starts = malloc((count + 1) * sizeof *starts);
  if (!starts) return NULL;
  for (size_t i = 0; i < count; i++) starts[i] = work[i].start - (is_of_calls ? work[i].lag : 0);
  qsort(starts, count, sizeof *starts, compare_moments);
  return starts;
}

/* Whether more than three quarters of them, or of their calls, begin at moments of their own: times that were lost are
** all the same. */
static bool are_moments(const struct work *work, size_t count, bool is_of_calls, bool *has_memory) {
  int64_t *starts = sorted_starts(work, count, is_of_calls);
  size_t moments = 0;
  *has_memory &= starts != NULL;
  for (size_t i = 0; starts && i < count; i++) moments += !i || starts[i] != starts[i - 1];
  free(starts);
  return moments > count - count / 4;
}

/* The moment at which more of the work begins than few; ROW_NULL: there is none. False: no memory. */
static bool find_shared_moment(const struct work *work, size_t count, int64_t *moment) {
  int64_t *starts = sorted_starts(work, count, false);
  size_t most = FEW > count / FEW_SHARE ? FEW : count / FEW_SHARE;
  *moment = ROW_NULL;
  if (!starts) return false;
  for (size_t first = 0, last; first < count; first = last) {
    for (last = first; last < count && starts[last] == starts[first];) last++;
    if (last - first <= most) continue;
    most = last - first;
    *moment = starts[first];
  }
  free(starts);
  return true;
}

/* By how much the clock of a device has to be moved, from its work in the order of lags. 0: not at all. */
static int64_t clock_fault(const struct work *work, size_t count, bool *has_memory) {
  size_t middle = count / 2, low = middle, early = 0;
  for (; low > 0; low--) { /* those that lie apart say nothing about the clock */
    int64_t gap = work[low].lag - work[low - 1].lag, width = work[middle].lag - work[low].lag;
    if (gap > SKEW_NS && gap / APART_TIMES > width && low * APART_SHARE <= count) break;
  }
  while (low + early < count && work[low + early].lag < -SKEW_NS) early++;
  bool is_early = early > FEW && early > count / FEW_SHARE;
  bool is_late = count >= ENOUGH && work[low].lag > MOVED_NS;
  if (!is_early && !(is_late && are_moments(work, count, true, has_memory))) return 0;
  return are_moments(work, count, false, has_memory) ? -work[low].lag : 0;
}

/* The same without the work that begins at a moment of many. */
static int64_t clock_fault_but_at(const struct work *work, size_t count, int64_t moment, bool *has_memory) {
  if (moment == ROW_NULL) return clock_fault(work, count, has_memory);
  struct work *others = malloc((count + 1) * sizeof *others);
  size_t kept = 0;
  *has_memory &= others != NULL;
  if (!others) return 0;
  for (size_t i = 0; i < count; i++)
    if (work[i].start != moment) others[kept++] = work[i];
  int64_t by = kept ? clock_fault(others, kept, has_memory) : 0;
  free(others);
  return by;
}

/* Marks what begins at a moment of many whose calls do not: a stream does not begin them all at once. */
static void mark_lost(struct work *work, size_t count, int64_t moment) {
  int64_t first = INT64_MAX, last = INT64_MIN; /* calls of a stream */
  int64_t stream = ROW_NULL;
  size_t together = 0;
  for (size_t i = 0; i < count; i++) {
    if (work[i].start != moment || (together && work[i].thread != stream)) continue;
    int64_t call = work[i].start - work[i].lag;
    if (call < first) first = call;
    if (call > last) last = call;
    stream = work[i].thread;
    together++;
  }
  if (together <= FEW || last - first <= SKEW_NS) return;
  for (size_t i = 0; i < count; i++) work[i].is_lost = work[i].start == moment;
}

bool device_clock_find(struct work *work, size_t count, int64_t *by) {
  int64_t moment;
  bool has_memory = true;
  *by = 0;
  if (!find_shared_moment(work, count, &moment)) return false;
  *by = clock_fault_but_at(work, count, moment, &has_memory);
  if (moment != ROW_NULL) mark_lost(work, count, moment);
  return has_memory;
}
