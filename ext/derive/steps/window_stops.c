/* window_stops.c: see window_stops.h.
**
** Where a step begins with a call, a stop lies just before the next one's beginning; where it ends with one, just
** behind the end of the one before.  In between is what the hooks do, and what keeps the thread from running meanwhile.
** So a stop parts two steps that lies near to where they meet, by NEAR_PART of what else the step holds.  The stop of
** an opening may be told to have begun a little before the step's end (profiler_windows.opening_ns): then that end
** counts.
**
** What is further within is left where it is: the program counts other steps than the recorder did.  A window that was
** closed since no step came (budget) was so on another thread, which keeps nobody.
*/
#include "derive/steps/window_stops.h"

#include <stdlib.h>

enum { NEAR_PART = 4, MOST_BACK = 16 /* steps of other threads that may lie between */ };

static int stops_by_start(const void *left, const void *right) {
  const struct window_stop *a = left, *b = right;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return (a->end > b->end) - (a->end < b->end);
}

static void add_stop(struct window_stops *stops, int64_t start, int64_t took, bool is_before, uint32_t thread) {
  int64_t other;
  if (start == NO_VALUE || took == NO_VALUE || took <= 0) return;
  if (is_before ? __builtin_sub_overflow(start, took, &other) : __builtin_add_overflow(start, took, &other)) return;
  stops->items[stops->count++] = (struct window_stop){is_before ? other : start, is_before ? start : other, thread};
}

/* Windows of a damaged file may overlap. */
static void cut_overlaps(struct window_stops *stops) {
  uint32_t kept = 0;
  qsort(stops->items, stops->count, sizeof *stops->items, stops_by_start);
  for (uint32_t i = 0; i < stops->count; i++) {
    struct window_stop stop = stops->items[i];
    if (kept && stop.start < stops->items[kept - 1].end) stop.start = stops->items[kept - 1].end;
    if (stop.end > stop.start) stops->items[kept++] = stop;
  }
  stops->count = kept;
}

enum tfprof_status window_stops_load(struct window_stops *stops, struct profile *profile, struct tfprof_error *error) {
  uint32_t count = 0;
  *stops = (struct window_stops){.count = 0};
  string_id budget = derive_known_text(profile, "budget");
  enum tfprof_status status = derive_row_count(profile, TABLE_profiler_windows, &count, error);
  if (!status && !(stops->items = scratch_allocate((2 * (size_t)count + 1) * sizeof *stops->items)))
    status = error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_profiler_windows, &block, &status, error);) {
    int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK], openings[ROWS_BLOCK], closings[ROWS_BLOCK];
    uint32_t threads[ROWS_BLOCK];
    string_id endings[ROWS_BLOCK];
    block_integers(&block, COLUMN_profiler_windows_start_ns, starts);
    block_integers(&block, COLUMN_profiler_windows_end_ns, ends);
    block_integers(&block, COLUMN_profiler_windows_opening_ns, openings);
    block_integers(&block, COLUMN_profiler_windows_closing_ns, closings);
    block_references(&block, COLUMN_profiler_windows_thread_id, NO_ROW, threads);
    block_texts(&block, COLUMN_profiler_windows_ending, endings);
    for (uint32_t i = 0; i < block.count; i++) {
      add_stop(stops, starts[i], openings[i], true, threads[i]);
      if (endings[i] != budget) add_stop(stops, ends[i], closings[i], false, threads[i]);
    }
  }
  if (!status) cut_overlaps(stops);
  return status;
}

static bool is_of_thread(const struct window_stop *stop, uint32_t thread) {
  return stop->thread == NO_ROW || thread == NO_ROW || stop->thread == thread;
}

/* ---- Parting. */

static bool is_near_meeting(int64_t distance, const struct step *step, const struct window_stop *stop) {
  double other = (double)step->end - (double)step->start - ((double)stop->end - (double)stop->start);
  return (double)distance <= other / NEAR_PART;
}

/* The stop ends within the step; `before` and `next` are NULL at the ends. */
static void part_steps(const struct window_stop *stop, struct step *before, struct step *step, struct step *next,
                       bool begin_with_calls) {
  if (stop->start <= step->start) {
    step->start = stop->end;
    return;
  }
  int64_t behind = derive_difference(stop->start, step->start), until = derive_difference(step->end, stop->end);
  bool is_parted = before && before->end != step->start; /* by another stop, which this one may follow at once */
  if (begin_with_calls && !(is_parted && is_near_meeting(behind, step, stop))) {
    if (!is_near_meeting(until, step, stop)) return;
    if (next && next->start == step->end) next->start = stop->end;
    step->end = stop->start;
  } else if (is_near_meeting(behind, step, stop)) {
    if (before && !is_parted) before->end = stop->start;
    step->start = stop->end;
  }
}

void window_stops_part(const struct window_stops *stops, struct step *steps, uint32_t count, bool begin_with_calls) {
  uint32_t i = 0;
  for (uint32_t k = 0; k < stops->count; k++) {
    const struct window_stop *stop = &stops->items[k];
    while (i < count && steps[i].end <= stop->start) i++;
    uint32_t at = i;
    if (at < count && steps[at].end <= stop->end) at++; /* the step's end lies in it */
    if (at == count || steps[at].start >= stop->end || steps[at].end <= stop->end) continue;
    struct step *before = at ? &steps[at - 1] : NULL, *next = at + 1 < count ? &steps[at + 1] : NULL;
    if (is_of_thread(stop, steps[at].thread)) part_steps(stop, before, &steps[at], next, begin_with_calls);
  }
}

/* ---- What it took. */

static int64_t common(const struct window_stop *stop, int64_t start, int64_t end) {
  if (stop->start > start) start = stop->start;
  if (stop->end < end) end = stop->end;
  return end > start ? derive_difference(end, start) : 0;
}

void window_stops_before(const struct window_stops *stops, const struct step *steps, uint32_t count, int64_t *paused) {
  uint32_t k = 0;
  for (uint32_t i = 0; i < count; i++) {
    paused[i] = 0;
    for (; k < stops->count && stops->items[k].end <= steps[i].start; k++)
      if (i) paused[i] = derive_sum(paused[i], common(&stops->items[k], steps[i - 1].end, steps[i].start));
  }
}

/* What a stop has in common with a step that ends in it is not told well (see above). */
void window_stops_within(const struct window_stops *stops, const uint32_t *order, const int64_t *starts,
                         const int64_t *ends, const uint32_t *threads, uint32_t count, int64_t *within) {
  uint32_t place = 0; /* of the first step that begins with the stop or later */
  for (uint32_t i = 0; i < count; i++) within[i] = 0;
  for (uint32_t k = 0; k < stops->count; k++) {
    const struct window_stop *stop = &stops->items[k];
    while (place < count && starts[order[place]] < stop->start) place++;
    for (uint32_t i = place > MOST_BACK ? place - MOST_BACK : 0; i < count; i++) {
      uint32_t step = order[i];
      if (starts[step] >= stop->end) break;
      bool is_within = starts[step] != NO_VALUE && starts[step] <= stop->start && ends[step] >= stop->end;
      if (is_within && is_of_thread(stop, threads[step]))
        within[step] = derive_sum(within[step], derive_difference(stop->end, stop->start));
    }
  }
}
