/* training_passes.c: see training_passes.h. */
#include "derive/memory/training_passes.h"

#include <stdlib.h>

static bool add_moment(struct moments *moments, int64_t time) {
  int64_t *times = scratch_grow(moments->times, moments->count, &moments->capacity, 256, sizeof *times);
  if (!times) return false;
  moments->times = times;
  times[moments->count++] = time;
  return true;
}

bool training_passes_add(struct training_passes *passes, enum pass_kind kind, bool is_in_module, int64_t start,
                         int64_t end) {
  if (kind == PASS_BACKWARD)
    return add_moment(&passes->backward_starts, start) && add_moment(&passes->backward_ends, end);
  if (kind == PASS_OPTIMIZER &&
      !(add_moment(&passes->optimizer_starts, start) && add_moment(&passes->optimizer_ends, end)))
    return false;
  if (is_in_module && !add_moment(&passes->in_modules, start)) return false;
  return add_moment(&passes->breaks, start);
}

static int compare_moments(const void *a, const void *b) {
  int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
  return left < right ? -1 : left > right;
}

static void sort_moments(struct moments *moments) {
  if (moments->count) qsort(moments->times, moments->count, sizeof *moments->times, compare_moments);
}

struct pass_span {
  int64_t start, end;
};

static int compare_pass_spans(const void *a, const void *b) {
  const struct pass_span *left = a, *right = b;
  if (left->start != right->start) return left->start < right->start ? -1 : 1;
  return left->end < right->end ? -1 : left->end > right->end;
}

/* By start; of ends, the last so far. */
static bool sort_spans(struct moments *starts, struct moments *ends) {
  uint32_t count = starts->count;
  struct pass_span *spans = scratch_allocate(((size_t)count + 1) * sizeof *spans);
  if (!spans) return false;
  for (uint32_t i = 0; i < count; i++) spans[i] = (struct pass_span){starts->times[i], ends->times[i]};
  if (count) qsort(spans, count, sizeof *spans, compare_pass_spans);
  int64_t last = INT64_MIN;
  for (uint32_t i = 0; i < count; i++) {
    last = spans[i].end > last ? spans[i].end : last;
    starts->times[i] = spans[i].start;
    ends->times[i] = last;
  }
  scratch_free(spans);
  return true;
}

bool training_passes_sort(struct training_passes *passes) {
  sort_moments(&passes->breaks);
  sort_moments(&passes->in_modules);
  return sort_spans(&passes->backward_starts, &passes->backward_ends) &&
         sort_spans(&passes->optimizer_starts, &passes->optimizer_ends);
}

void training_passes_free(struct training_passes *passes) {
  scratch_free(passes->breaks.times);
  scratch_free(passes->in_modules.times);
  scratch_free(passes->backward_starts.times);
  scratch_free(passes->backward_ends.times);
  scratch_free(passes->optimizer_starts.times);
  scratch_free(passes->optimizer_ends.times);
}

/* How many of them are not after a time. */
static uint32_t moments_until(const struct moments *moments, int64_t time) {
  uint32_t low = 0, high = moments->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (moments->times[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

int64_t training_passes_backward_end(const struct training_passes *passes, int64_t time) {
  uint32_t next = moments_until(&passes->breaks, time);
  int64_t limit = next < passes->breaks.count ? passes->breaks.times[next] : INT64_MAX;
  uint32_t begun = moments_until(&passes->backward_starts, limit);
  return begun ? passes->backward_ends.times[begun - 1] : time;
}

int64_t training_passes_optimizer_end(const struct training_passes *passes, int64_t time) {
  uint32_t begun = moments_until(&passes->optimizer_starts, time);
  int64_t end = begun ? passes->optimizer_ends.times[begun - 1] : INT64_MIN;
  return end >= time ? end : INT64_MIN;
}

static int64_t last_until(const struct moments *moments, int64_t time) {
  uint32_t count = moments_until(moments, time);
  return count ? moments->times[count - 1] : INT64_MIN;
}

bool training_passes_is_before_forward(const struct training_passes *passes, int64_t time, int64_t *next) {
  uint32_t begun = moments_until(&passes->in_modules, time);
  int64_t forward = begun ? passes->in_modules.times[begun - 1] : INT64_MIN;
  *next = begun < passes->in_modules.count ? passes->in_modules.times[begun] : INT64_MAX;
  return !begun || last_until(&passes->backward_starts, time) > forward ||
         last_until(&passes->optimizer_starts, time) > forward;
}
