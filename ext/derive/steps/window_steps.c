/* window_steps.c: see window_steps.h.
**
** The recorder opens and closes a window between steps, and counts those between.  A step may begin where the one
** before it ends, so before the profiler is on, and may last until the next one begins, so longer than the window.  So
** a window holds as many of the steps that begin in it, or while it is opened, as the recorder has counted.  Where
** fewer begin in it, what counts for steps here is longer than what the recorder counted, and must end in it, too.
**
** The recorder opens them at intervals that it fits to what they cost, so they speak for the steps up to the next one.
*/
#include "derive/steps/window_steps.h"

#include <stdlib.h>

enum { SLACK_NS = 1000 /* between two readings of the clock */ };

struct window {
  int64_t from, end, step_count; /* `from`: opening began */
  bool is_read;
};

struct held_steps { /* of one window */
  const uint32_t *order;
  const int64_t *starts, *ends;
  uint32_t first, count; /* places in `order` of those that begin in it */
};

static int windows_by_start(const void *left, const void *right) {
  const struct window *a = left, *b = right;
  return (a->from > b->from) - (a->from < b->from);
}

bool window_steps_are_told(const struct profile *profile) {
  return profile->tables[TABLE_profiler_windows].segment_count > 0;
}

static struct window make_window(int64_t start, int64_t end, int64_t opening, int64_t step_count, int64_t is_read) {
  int64_t before = opening == NO_VALUE || opening < 0 ? SLACK_NS : opening + SLACK_NS;
  bool is_known = is_read == 1 && start != NO_VALUE && end != NO_VALUE;
  return (struct window){is_known ? derive_difference(start, before) : 0, end, step_count, is_known};
}

static enum tfprof_status load_windows(struct profile *profile, struct window **windows, uint32_t *count,
                                       struct tfprof_error *error) {
  static const uint16_t columns[] = {COLUMN_profiler_windows_start_ns, COLUMN_profiler_windows_end_ns,
                                     COLUMN_profiler_windows_opening_ns, COLUMN_profiler_windows_step_count,
                                     COLUMN_profiler_windows_is_read};
  enum { COLUMNS = sizeof columns / sizeof *columns };
  int64_t *values[COLUMNS] = {NULL};
  enum tfprof_status status = derive_row_count(profile, TABLE_profiler_windows, count, error);
  for (unsigned i = 0; i < COLUMNS && !status; i++)
    status = derive_all_integers(profile, TABLE_profiler_windows, columns[i], &values[i], error);
  if (!status && !(*windows = scratch_allocate((*count + (size_t)1) * sizeof **windows)))
    status = error_no_memory(error);
  for (uint32_t i = 0; i < *count && !status; i++)
    (*windows)[i] = make_window(values[0][i], values[1][i], values[2][i], values[3][i], values[4][i]);
  if (!status) qsort(*windows, *count, sizeof **windows, windows_by_start);
  for (unsigned i = 0; i < COLUMNS; i++) scratch_free(values[i]);
  return status;
}

/* The first place in the order from which on steps begin at the time or later. */
static uint32_t place_of_step(const uint32_t *order, const int64_t *starts, uint32_t count, int64_t time) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (starts[order[middle]] < time) low = middle + 1; else high = middle;
  }
  return low;
}

static void note_held(const struct window *window, const struct held_steps *held, bool *is_held) {
  bool is_counted = window->step_count != NO_VALUE && window->step_count >= 0;
  bool has_all = is_counted && held->count >= window->step_count;
  uint32_t most = has_all ? (uint32_t)window->step_count : held->count;
  for (uint32_t i = 0; i < most; i++) {
    uint32_t step = held->order[held->first + i];
    bool is_timed = held->starts[step] != NO_VALUE && held->ends[step] != NO_VALUE;
    is_held[step] = is_timed && (has_all || held->ends[step] <= window->end);
  }
}

/* `places`: of each window, the first step that begins in it; ascending. */
static enum tfprof_status tell_intervals(struct sampling *sampling, const struct window *windows,
                                         const uint32_t *places, uint32_t window_count, uint32_t count,
                                         struct tfprof_error *error) {
  uint32_t first = 0; /* step of the block, which ends where the next window begins */
  int64_t from = -INT64_MAX;
  for (uint32_t i = 0; i < window_count; i++) {
    if (!windows[i].is_read) continue;
    uint32_t next = i + 1;
    while (next < window_count && !windows[next].is_read) next++;
    uint32_t end = next < window_count ? places[next] : count;
    if (!sampling_add_interval(sampling, from, (double)end - first)) return error_no_memory(error);
    first = end;
    from = next < window_count ? windows[next].from : from;
  }
  return TFPROF_OK;
}

enum tfprof_status window_steps_find(struct profile *profile, const uint32_t *order, const int64_t *starts,
                                     const int64_t *ends, uint32_t count, int64_t *recorded, struct sampling *sampling,
                                     struct tfprof_error *error) {
  struct window *windows = NULL;
  uint32_t window_count = 0, done = 0; /* so many steps of the order: windows of a damaged file may overlap */
  bool *is_held = scratch_allocate_zeroed((size_t)count + 1, sizeof *is_held);
  enum tfprof_status status =
      is_held ? load_windows(profile, &windows, &window_count, error) : error_no_memory(error);
  uint32_t *places = status ? NULL : scratch_allocate(((size_t)window_count + 1) * sizeof *places);
  if (!status && !places) status = error_no_memory(error);
  for (uint32_t i = 0; !status && i < window_count; i++) {
    const struct window *window = &windows[i];
    places[i] = done;
    if (!window->is_read) continue;
    uint32_t first = place_of_step(order, starts, count, window->from);
    uint32_t end = place_of_step(order, starts, count, window->end);
    if (first < done) first = done;
    if (end < first) end = first;
    note_held(window, &(struct held_steps){order, starts, ends, first, end - first}, is_held);
    places[i] = first;
    done = end;
  }
  if (!status && !sampling->interval.count)
    status = tell_intervals(sampling, windows, places, window_count, count, error);
  for (uint32_t i = 0; i < count && !status; i++)
    if (!is_held[i]) recorded[i] = 0;
  scratch_free(windows);
  scratch_free(places);
  scratch_free(is_held);
  return status;
}

enum tfprof_status counted_windows_load(struct counted_windows *windows, struct profile *profile,
                                        struct tfprof_error *error) {
  struct window *all = NULL;
  uint32_t count = 0;
  *windows = (struct counted_windows){.count = 0};
  if (!window_steps_are_told(profile)) return TFPROF_OK;
  enum tfprof_status status = load_windows(profile, &all, &count, error);
  if (!status && !(windows->items = scratch_allocate(((size_t)count + 1) * sizeof *windows->items)))
    status = error_no_memory(error);
  for (uint32_t i = 0; i < count && !status; i++) {
    const struct window *one = &all[i];
    if (!one->is_read || one->step_count == NO_VALUE || one->step_count < 1) continue;
    windows->items[windows->count++] = (struct counted_window){one->from, one->end, one->step_count};
  }
  scratch_free(all);
  return status;
}
