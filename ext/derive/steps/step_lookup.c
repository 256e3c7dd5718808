/* step_lookup.c: makes the list of moments of step_lookup.h by a sweep over the steps in the order of their starts.
**
** The stack holds the steps that have begun, the latest on top; those that have ended are taken off only when they
** come to the top, so that each is put and taken once.  Sorting dominates: n log n in the number of steps.
*/
#include "derive/steps/step_lookup.h"

#include <assert.h>
#include <stdlib.h>

struct step_span {
  int64_t start, end;
  uint32_t step;
};

static int lookup_by_start(const void *left, const void *right) {
  const struct step_span *a = left, *b = right;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->step < b->step ? -1 : a->step > b->step;
}

/* From `time` on `step` applies. A change at the moment of the one before replaces it. */
static void change(struct step_lookup *lookup, int64_t time, uint32_t step) {
  if (lookup->count && lookup->times[lookup->count - 1] == time) lookup->count--;
  lookup->times[lookup->count] = time;
  lookup->steps[lookup->count++] = step;
}

/* Takes off what has ended by `time`, noting what applies in between. */
static uint32_t unwind(struct step_lookup *lookup, const struct step_span *spans, const uint32_t *stack, uint32_t depth,
                       int64_t time) {
  while (depth && spans[stack[depth - 1]].end <= time) {
    int64_t end = spans[stack[--depth]].end;
    while (depth && spans[stack[depth - 1]].end <= end) depth--;
    change(lookup, end, depth ? spans[stack[depth - 1]].step : NO_ROW);
  }
  return depth;
}

enum tfprof_status step_lookup_make(struct step_lookup *lookup, const int64_t *starts, const int64_t *ends,
                                    uint32_t count, struct tfprof_error *error) {
  *lookup = (struct step_lookup){.count = 0};
  struct step_span *spans = scratch_allocate(((size_t)count + 1) * sizeof *spans);
  uint32_t *stack = scratch_allocate(((size_t)count + 1) * sizeof *stack);
  lookup->times = scratch_allocate((2 * (size_t)count + 1) * sizeof *lookup->times);
  lookup->steps = scratch_allocate((2 * (size_t)count + 1) * sizeof *lookup->steps);
  enum tfprof_status status = TFPROF_OK;
  if (spans && stack && lookup->times && lookup->steps) {
    uint32_t used = 0, depth = 0;
    for (uint32_t step = 0; step < count; step++) {
      if (starts[step] == NO_VALUE || ends[step] == NO_VALUE || ends[step] <= starts[step]) continue;
      spans[used++] = (struct step_span){starts[step], ends[step], step};
    }
    qsort(spans, used, sizeof *spans, lookup_by_start);
    for (uint32_t i = 0; i < used; i++) {
      depth = unwind(lookup, spans, stack, depth, spans[i].start);
      stack[depth++] = i;
      change(lookup, spans[i].start, spans[i].step);
    }
    unwind(lookup, spans, stack, depth, INT64_MAX);
    for (uint32_t i = 1; i < lookup->count; i++) assert(lookup->times[i - 1] < lookup->times[i]);
    assert(lookup->count <= 2 * (uint64_t)count);
  } else {
    status = error_no_memory(error);
  }
  scratch_free(spans);
  scratch_free(stack);
  return status;
}

enum tfprof_status step_lookup_of_profile(struct step_lookup *lookup, const struct profile *profile,
                                          struct tfprof_error *error) {
  int64_t *starts = NULL, *ends = NULL;
  uint32_t count;
  *lookup = (struct step_lookup){.count = 0};
  enum tfprof_status status = derive_row_count(profile, TABLE_steps, &count, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_start_ns, &starts, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_end_ns, &ends, error);
  if (!status) status = step_lookup_make(lookup, starts, ends, count, error);
  scratch_free(starts);
  scratch_free(ends);
  return status;
}

void step_lookup_free(struct step_lookup *lookup) {
  scratch_free(lookup->times);
  scratch_free(lookup->steps);
  *lookup = (struct step_lookup){.count = 0};
}

uint32_t step_lookup_search(struct step_lookup *lookup, int64_t time) {
  uint32_t low = 0, high = lookup->count; /* times[low - 1] <= time < times[high] */
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (lookup->times[middle] <= time) low = middle + 1; else high = middle;
  }
  if (low == 0) return NO_ROW;
  lookup->hint = low - 1;
  return lookup->steps[low - 1];
}
