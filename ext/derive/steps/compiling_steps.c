/* compiling_steps.c: see compiling_steps.h.
**
** Phases of a compilation lie inside one another and on several threads, so what counts is the time in which anything
** was compiled: stretches that do not touch, each with the time of all before it.  A step then costs two searches.
*/
#include "derive/steps/compiling_steps.h"

#include <stdlib.h>

enum { HALF = 2, SMALL_PART = 10 };

struct stretch {
  int64_t start, end;
  int64_t before; /* time of the stretches before it */
};

struct stretches {
  struct stretch *items;
  uint32_t count;
};

static int stretches_by_start(const void *left, const void *right) {
  const struct stretch *a = left, *b = right;
  return a->start != b->start ? (a->start < b->start ? -1 : 1) : a->end < b->end ? -1 : a->end > b->end;
}

/* Makes one of those that overlap or touch. */
static void join_stretches(struct stretches *all) {
  uint32_t joined = 0;
  qsort(all->items, all->count, sizeof *all->items, stretches_by_start);
  for (uint32_t i = 0; i < all->count; i++) {
    struct stretch *last = joined ? &all->items[joined - 1] : NULL, next = all->items[i];
    if (last && next.start <= last->end) {
      if (next.end > last->end) last->end = next.end;
    } else {
      next.before = last ? derive_sum(last->before, derive_difference(last->end, last->start)) : 0;
      all->items[joined++] = next;
    }
  }
  all->count = joined;
}

static enum tfprof_status load_stretches(struct stretches *all, const struct profile *profile,
                                         struct tfprof_error *error) {
  int64_t *starts = NULL, *ends = NULL;
  uint32_t count;
  enum tfprof_status status = derive_row_count(profile, TABLE_compilations, &count, error);
  if (status || !count) return status;
  status = derive_all_integers(profile, TABLE_compilations, COLUMN_compilations_start_ns, &starts, error);
  if (!status) status = derive_all_integers(profile, TABLE_compilations, COLUMN_compilations_end_ns, &ends, error);
  if (!status && !(all->items = scratch_allocate(count * sizeof *all->items))) status = error_no_memory(error);
  for (uint32_t i = 0; i < count && !status; i++) {
    if (starts[i] == NO_VALUE || ends[i] == NO_VALUE || ends[i] <= starts[i]) continue;
    all->items[all->count++] = (struct stretch){starts[i], ends[i], 0};
  }
  if (!status && all->count) join_stretches(all);
  scratch_free(starts);
  scratch_free(ends);
  return status;
}

/* How much was compiled before a time. */
static int64_t compiled_before(const struct stretches *all, int64_t time) {
  uint32_t low = 0, high = all->count; /* items[low - 1].start < time <= items[high].start */
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (all->items[middle].start < time) low = middle + 1; else high = middle;
  }
  if (!low) return 0;
  const struct stretch *last = &all->items[low - 1];
  return derive_sum(last->before, derive_difference(time < last->end ? time : last->end, last->start));
}

/* Whether more than a part of 1 / `of` of the step was compiling. */
static bool is_compiling(const struct stretches *all, int64_t start, int64_t end, int64_t of) {
  if (start == NO_VALUE || end == NO_VALUE || end <= start) return false;
  int64_t compiled = derive_difference(compiled_before(all, end), compiled_before(all, start));
  return compiled > derive_difference(end, start) / of;
}

enum tfprof_status compiling_steps_count(const struct profile *profile, const uint32_t *order, const int64_t *starts,
                                         const int64_t *ends, uint32_t count, uint32_t most, uint32_t *found,
                                         struct tfprof_error *error) {
  struct stretches all = {NULL, 0};
  uint32_t first = 0, anywhere = 0;
  enum tfprof_status status = load_stretches(&all, profile, error);
  for (uint32_t i = 0; i < count && all.count && !status; i++) {
    int64_t start = starts[order[i]], end = ends[order[i]];
    anywhere += is_compiling(&all, start, end, SMALL_PART);
    first += first == i && is_compiling(&all, start, end, HALF);
  }
  if (anywhere > count / 2) first = 0;
  *found = first < most ? first : most;
  scratch_free(all.items);
  return status;
}
