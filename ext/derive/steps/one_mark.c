/* one_mark.c: see one_mark.h. */
#include "derive/steps/one_mark.h"

#include <stdlib.h>
#include <string.h>

static int compare_names(const struct mark *a, const struct mark *b) {
  if (a->name != b->name) return a->name < b->name ? -1 : 1;
  if (a->number != b->number) return a->number < b->number ? -1 : 1;
  return 0;
}

static int compare_spans(const struct mark *a, const struct mark *b) {
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  if (a->end != b->end) return a->end > b->end ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

static int by_thread_and_name(const void *left, const void *right) {
  const struct mark *a = left, *b = right;
  if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
  int names = compare_names(a, b);
  return names ? names : compare_spans(a, b);
}

static int by_name(const void *left, const void *right) {
  int names = compare_names(left, right);
  return names ? names : compare_spans(left, right);
}

static int by_start(const void *left, const void *right) { return compare_spans(left, right); }

/* Times of a damaged file may be further apart than 64 bits can say. */
static double length(const struct mark *mark) { return (double)mark->end - (double)mark->start; }

/* Keeps one of those of a thread that overlap, of marks in the order of threads and names. */
static uint32_t merge_marks(struct mark_list *list) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < list->count; i++) {
    const struct mark *mark = &list->items[i];
    struct mark *before = kept ? &list->items[kept - 1] : NULL;
    bool is_same = before && before->thread == mark->thread && !compare_names(before, mark) &&
                   (mark->start < before->end || mark->start == before->start);
    if (!is_same) list->items[kept++] = *mark;
    else if (length(mark) > length(before)) *before = *mark;
  }
  uint32_t merged = list->count - kept;
  list->count = kept;
  return merged;
}

/* How many marks of other threads are of the same name as one of this thread, and overlap it. */
static bool count_copies(const struct mark_list *list, uint32_t thread, uint32_t *copies) {
  struct mark *marks = scratch_allocate(((size_t)list->count + 1) * sizeof *marks);
  bool *is_copy = scratch_allocate_zeroed((size_t)list->count + 1, sizeof *is_copy);
  bool ok = marks && is_copy;
  if (ok) {
    memcpy(marks, list->items, list->count * sizeof *marks);
    qsort(marks, list->count, sizeof *marks, by_name);
  }
  for (uint32_t first = 0, last; ok && first < list->count; first = last) {
    int64_t latest_end = INT64_MIN, next_start = INT64_MAX; /* of the thread's own */
    for (last = first; last < list->count && !compare_names(&marks[last], &marks[first]); last++) {
      if (marks[last].thread != thread) is_copy[last] = marks[last].start < latest_end;
      else if (marks[last].end > latest_end) latest_end = marks[last].end;
    }
    for (uint32_t i = last; i-- > first;) {
      if (marks[i].thread == thread) next_start = marks[i].start;
      else is_copy[i] |= next_start < marks[i].end;
    }
  }
  for (uint32_t i = 0; ok && i < list->count; i++) *copies += is_copy[i];
  scratch_free(marks);
  scratch_free(is_copy);
  return ok;
}

bool marks_keep_one(struct mark_list *list, bool are_threads_alike, uint32_t *repeated) {
  uint32_t best = 0, best_count = 0, first = 0;
  *repeated = 0;
  if (list->count == 0) return true;
  qsort(list->items, list->count, sizeof *list->items, by_thread_and_name);
  *repeated = merge_marks(list);
  for (uint32_t i = 1; i <= list->count; i++) {
    if (i < list->count && list->items[i].thread == list->items[first].thread) continue;
    if (i - first > best_count) {
      best = first;
      best_count = i - first;
    }
    first = i;
  }
  if (!are_threads_alike && best_count < list->count && !count_copies(list, list->items[best].thread, repeated))
    return false;
  memmove(list->items, list->items + best, best_count * sizeof *list->items);
  list->count = best_count;
  qsort(list->items, list->count, sizeof *list->items, by_start);
  return true;
}
