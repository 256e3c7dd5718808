/* window_steps.h: which steps have their ops from windows of the framework's own profiler (profiler_windows). */
#ifndef TFPROF_DERIVE_WINDOW_STEPS_H
#define TFPROF_DERIVE_WINDOW_STEPS_H

#include "derive/steps/sampling.h"

#define WINDOW_STEPS_READ                                             \
  {TABLE_profiler_windows, COLUMN_profiler_windows_start_ns},         \
      {TABLE_profiler_windows, COLUMN_profiler_windows_end_ns},       \
      {TABLE_profiler_windows, COLUMN_profiler_windows_opening_ns},   \
      {TABLE_profiler_windows, COLUMN_profiler_windows_step_count},   \
      {TABLE_profiler_windows, COLUMN_profiler_windows_is_read}

/* Whether the profile is a recording with such windows. */
bool window_steps_are_told(const struct profile *profile);
/* Sets recorded[step] to 0 for steps that no window holds whose file was read. Where `sampling` tells no interval the
** windows speak for all steps, and it is told of as many intervals: each from one of them to the next, the first from
** the beginning. Arrays of `count` steps; `order`: their rows by their starts. */
enum tfprof_status window_steps_find(struct profile *profile, const uint32_t *order, const int64_t *starts,
                                     const int64_t *ends, uint32_t count, int64_t *recorded, struct sampling *sampling,
                                     struct tfprof_error *error);

/* Windows in which steps ended, as the recorder has counted them. */
struct counted_windows {
  struct counted_window {
    int64_t from, end, step_count;
  } *items;
  uint32_t count;
};
enum tfprof_status counted_windows_load(struct counted_windows *windows, struct profile *profile,
                                        struct tfprof_error *error);
static inline void counted_windows_free(struct counted_windows *windows) { scratch_free(windows->items); }

#endif
