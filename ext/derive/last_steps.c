/* last_steps.c: device_activities.is_before_last_step, by which HolisticTraceAnalysis leaves out what it does.
**
** The profiler stops within its last step, whose work on devices may be cut off.  So what was launched from the start
** of that step on does not count, where the profiler marked two steps or more.
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
      uint32_t count = segment->rows - first < ROWS_BLOCK ? segment->rows - first : ROWS_BLOCK;
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

static enum tfprof_status run(struct profile *profile, struct tfprof_error *error) {
  const struct profile_table *activities = &profile->tables[TABLE_device_activities];
  int64_t last = find_last_start(profile);
  enum tfprof_status status = TFPROF_OK;
  for (size_t s = 0; s < activities->segment_count && !status; s++) {
    struct segment *segment = activities->segments[s];
    const struct column *launches = segment->columns[COLUMN_device_activities_launch_ns];
    int64_t *values = scratch_allocate(((size_t)segment->rows + 1) * sizeof *values);
    if (!values) return error_no_memory(error);
    for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
      uint32_t count = segment->rows - first < ROWS_BLOCK ? segment->rows - first : ROWS_BLOCK;
      derive_integers(launches, first, count, values + first);
      for (uint32_t i = first; i < first + count; i++)
        values[i] = last == NO_VALUE || (values[i] != NO_VALUE && values[i] < last);
    }
    struct column *column = column_from_integers(values, NULL, segment->rows);
    scratch_free(values);
    if (segment_set_column(segment, COLUMN_device_activities_is_before_last_step, column))
      status = error_no_memory(error);
    if (!status) status = derive_poll(profile, error);
  }
  return status;
}

const struct derive_pass derive_last_steps = {
    .name = "last steps",
    .summary = "What was launched before the last step that the profiler marked, as HolisticTraceAnalysis counts.",
    .makes_table = -1,
    .reads = {{TABLE_device_activities, COLUMN_device_activities_launch_ns},
              {TABLE_steps, COLUMN_steps_origin},
              {TABLE_steps, COLUMN_steps_name},
              {TABLE_steps, COLUMN_steps_start_ns}},
    .writes = {{TABLE_device_activities, COLUMN_device_activities_is_before_last_step}},
    .run = run,
};
