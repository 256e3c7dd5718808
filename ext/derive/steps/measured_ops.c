/* measured_ops.c: ops.is_measured, which ops count for statistics.
**
** Those of measured steps: no warm-up, and with their ops recorded.  In a profile without such steps all of them count,
** so that it still has answers.  The views that leave warm-up out would each have to find this out row by row; as a
** column it takes no memory where all ops are alike, and is compared where the rows lie.
*/
#include "derive/passes.h"
#include "derive/rows.h"

/* is_measured of each step, and how many are. */
static enum tfprof_status find_steps(const struct profile *profile, uint8_t **is_measured, uint32_t *step_count,
                                     uint32_t *measured_count, struct tfprof_error *error) {
  const struct profile_table *steps = &profile->tables[TABLE_steps];
  enum tfprof_status status = derive_row_count(profile, TABLE_steps, step_count, error);
  if (status) return status;
  *is_measured = scratch_allocate_zeroed((size_t)*step_count + 1, 1);
  if (!*is_measured) return error_no_memory(error);
  *measured_count = 0;
  for (size_t s = 0; s < steps->segment_count; s++) {
    const struct segment *segment = steps->segments[s];
    for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
      uint32_t count = derive_block_rows(segment, first);
      int64_t warmup[ROWS_BLOCK], recorded[ROWS_BLOCK];
      derive_integers(segment->columns[COLUMN_steps_is_warmup], first, count, warmup);
      derive_integers(segment->columns[COLUMN_steps_ops_recorded], first, count, recorded);
      for (uint32_t i = 0; i < count; i++) {
        bool is_one = warmup[i] == 0 && recorded[i] == 1;
        (*is_measured)[segment->first_row + first + i] = is_one;
        *measured_count += is_one;
      }
    }
  }
  return TFPROF_OK;
}

static enum tfprof_status set_segment(struct segment *segment, const uint8_t *is_measured, uint32_t step_count,
                                      struct tfprof_error *error) {
  struct column_builder builder;
  const struct column *step_ids = segment->columns[COLUMN_ops_step_id];
  if (column_builder_start(&builder, segment->rows, 0, 1, false, false)) return error_no_memory(error);
  uint32_t measured = 0;
  for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
    uint32_t count = derive_block_rows(segment, first);
    uint32_t steps[ROWS_BLOCK];
    int64_t values[ROWS_BLOCK];
    derive_references(step_ids, first, count, step_count, steps);
    for (uint32_t i = 0; i < count; i++) {
      values[i] = steps[i] != NO_ROW && is_measured[steps[i]];
      measured += (uint32_t)values[i];
    }
    column_builder_put_all(&builder, first, values, count);
  }
  struct column *column = NULL;
  if (measured == 0 || measured == segment->rows) {
    column_builder_cancel(&builder);
    column = column_constant(segment->rows, measured != 0);
  } else {
    column = column_builder_done(&builder);
  }
  return segment_set_column(segment, COLUMN_ops_is_measured, column) ? error_no_memory(error) : TFPROF_OK;
}

/* One segment, or all of them where `only` is NULL. */
static enum tfprof_status measure_ops(struct profile *profile, const struct segment *only, struct tfprof_error *error) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  uint8_t *is_measured = NULL;
  uint32_t step_count, measured_count;
  enum tfprof_status status = find_steps(profile, &is_measured, &step_count, &measured_count, error);
  for (size_t s = 0; s < ops->segment_count && !status; s++) {
    struct segment *segment = ops->segments[s];
    if (only && segment != only) continue;
    if (measured_count) {
      status = set_segment(segment, is_measured, step_count, error);
    } else if (segment_set_column(segment, COLUMN_ops_is_measured, column_constant(segment->rows, 1))) {
      status = error_no_memory(error);
    }
    if (!status) status = derive_poll(profile, error);
  }
  scratch_free(is_measured);
  return status;
}

static enum tfprof_status run_measured_ops(struct profile *profile, struct tfprof_error *error) {
  return measure_ops(profile, NULL, error);
}

static enum tfprof_status run_segment(struct profile *profile, struct segment *segment, struct tfprof_error *error) {
  return measure_ops(profile, segment, error);
}

const struct derive_pass derive_measured_ops = {
    .name = "measured ops",
    .summary = "Ops of steps that are no warm-up and had their ops recorded; all ops where there are no such steps.",
    .makes_table = -1,
    .reads = {{TABLE_steps, COLUMN_steps_is_warmup}, {TABLE_steps, COLUMN_steps_ops_recorded}},
    .reads_here = {{TABLE_ops, COLUMN_ops_step_id}},
    .writes = {{TABLE_ops, COLUMN_ops_is_measured}},
    .run = run_measured_ops,
    .run_segment = run_segment,
};
