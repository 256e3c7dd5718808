/* last_steps.c: device_activities.is_before_last_step, by which HolisticTraceAnalysis leaves out what it does.
**
** The profiler stops within its last step, whose work on devices may be cut off.  So what was launched from the start
** of that step on does not count, where the profiler marked two steps or more; neither does what no recorded call
** launched.  A trace that holds no launching call at all, of which HTA would leave out everything, tells less: there
** the step of the op that an activity names counts, and of what names none the start of the activity itself.
*/
#include "derive/passes.h"
#include "derive/rows.h"

/* The latest start of a step that the profiler marked; NO_VALUE where all of them have one name. */
static int64_t find_last_start(const struct profile *profile) {
  const struct profile_table *steps = &profile->tables[TABLE_steps];
  string_id profiler = derive_known_text(profile, "profiler"), first_name = 0;
  bool has_other_name = false;
  int64_t last = NO_VALUE;
  for (size_t s = 0; s < steps->segment_count; s++) {
    const struct segment *segment = steps->segments[s];
    for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
      uint32_t count = derive_block_rows(segment, first);
      string_id origins[ROWS_BLOCK], names[ROWS_BLOCK];
      int64_t starts[ROWS_BLOCK];
      derive_texts(segment->columns[COLUMN_steps_origin], first, count, origins);
      derive_texts(segment->columns[COLUMN_steps_name], first, count, names);
      derive_integers(segment->columns[COLUMN_steps_start_ns], first, count, starts);
      for (uint32_t i = 0; i < count; i++) {
        if (origins[i] != profiler) continue;
        if (starts[i] > last) last = starts[i]; /* NO_VALUE is the lowest */
        if (!first_name) first_name = names[i];
        has_other_name |= names[i] && names[i] != first_name;
      }
    }
  }
  return has_other_name ? last : NO_VALUE;
}

/* When each activity was launched, as far as steps and the activities themselves tell. */
static void estimate_launches(const struct segment *segment, uint32_t first, uint32_t count, const int64_t *step_starts,
                              uint32_t step_count, int64_t *launches) {
  uint32_t steps[ROWS_BLOCK];
  derive_references(segment->columns[COLUMN_device_activities_step_id], first, count, step_count, steps);
  derive_integers(segment->columns[COLUMN_device_activities_start_ns], first, count, launches);
  for (uint32_t i = 0; i < count; i++) {
    if (steps[i] != NO_ROW) launches[i] = step_starts[steps[i]];
  }
}

static enum tfprof_status run_last_steps(struct profile *profile, struct tfprof_error *error) {
  const struct profile_table *activities = &profile->tables[TABLE_device_activities];
  int64_t last = find_last_start(profile), *step_starts = NULL;
  bool is_told =
      last == NO_VALUE || derive_has_value(profile, TABLE_device_activities, COLUMN_device_activities_launch_ns);
  uint32_t step_count;
  enum tfprof_status status = derive_row_count(profile, TABLE_steps, &step_count, error);
  if (!status && !is_told)
    status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_start_ns, &step_starts, error);
  for (size_t s = 0; s < activities->segment_count && !status; s++) {
    struct segment *segment = activities->segments[s];
    const struct column *launches = segment->columns[COLUMN_device_activities_launch_ns];
    int64_t *values = scratch_allocate(((size_t)segment->rows + 1) * sizeof *values);
    if (!values) {
      status = error_no_memory(error);
      break;
    }
    for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
      uint32_t count = derive_block_rows(segment, first);
      if (is_told) derive_integers(launches, first, count, values + first);
      else estimate_launches(segment, first, count, step_starts, step_count, values + first);
      for (uint32_t i = first; i < first + count; i++)
        values[i] = last == NO_VALUE || (values[i] != NO_VALUE && values[i] < last);
    }
    struct column *column = column_from_integers(values, NULL, segment->rows);
    scratch_free(values);
    if (segment_set_column(segment, COLUMN_device_activities_is_before_last_step, column))
      status = error_no_memory(error);
    if (!status) status = derive_poll(profile, error);
  }
  scratch_free(step_starts);
  return status;
}

const struct derive_pass derive_last_steps = {
    .name = "last steps",
    .summary = "What was launched before the last step that the profiler marked, as HolisticTraceAnalysis counts.",
    .makes_table = -1,
    .reads = {{TABLE_device_activities, COLUMN_device_activities_launch_ns},
              {TABLE_device_activities, COLUMN_device_activities_start_ns},
              {TABLE_device_activities, COLUMN_device_activities_step_id},
              {TABLE_steps, COLUMN_steps_origin},
              {TABLE_steps, COLUMN_steps_name},
              {TABLE_steps, COLUMN_steps_start_ns}},
    .writes = {{TABLE_device_activities, COLUMN_device_activities_is_before_last_step}},
    .run = run_last_steps,
};
