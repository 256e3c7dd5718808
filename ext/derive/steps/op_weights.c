/* op_weights.c: ops.sample_weight, for how many calls a row speaks, where the source does not say so itself.
**
** An op has the weight of the step in which it began (step_marks.c): where ops were recorded only in some steps, it
** stands for those of the others.  It is 1 for ranges of the user, which are recorded in every step, and for what lies
** in no step or in one that was recorded in part.  Where all weights are 1 the column takes no memory.
*/
#include "derive/passes.h"
#include "derive/rows.h"

/* The weight of each step, 1 where it has none; *all_one: there is no other. */
static enum tfprof_status step_weights(const struct profile *profile, double **weights, uint32_t *count, bool *all_one,
                                       struct tfprof_error *error) {
  const struct profile_table *steps = &profile->tables[TABLE_steps];
  enum tfprof_status status = derive_row_count(profile, TABLE_steps, count, error);
  if (status) return status;
  *weights = scratch_allocate(((size_t)*count + 1) * sizeof **weights);
  if (!*weights) return error_no_memory(error);
  for (uint32_t i = 0; i < *count; i++) (*weights)[i] = 1;
  *all_one = true;
  for (size_t s = 0; s < steps->segment_count; s++) {
    const struct segment *segment = steps->segments[s];
    const struct column *column = segment->columns[COLUMN_steps_sample_weight];
    for (uint32_t i = 0; column && i < segment->rows; i++) {
      double weight = column_is_null(column, i) ? 0 : column_real(column, i);
      if (weight > 0 && weight != 1) {
        (*weights)[segment->first_row + i] = weight;
        *all_one = false;
      }
    }
  }
  return TFPROF_OK;
}

static enum tfprof_status weigh(struct segment *segment, const double *weights, uint32_t step_count, string_id user,
                                struct tfprof_error *error) {
  double *values = scratch_allocate(((size_t)segment->rows + 1) * sizeof *values);
  if (!values) return error_no_memory(error);
  for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
    uint32_t count = derive_block_rows(segment, first);
    uint32_t steps[ROWS_BLOCK];
    string_id categories[ROWS_BLOCK];
    derive_references(segment->columns[COLUMN_ops_step_id], first, count, step_count, steps);
    derive_texts(segment->columns[COLUMN_ops_category], first, count, categories);
    for (uint32_t i = 0; i < count; i++) {
      values[first + i] = steps[i] == NO_ROW || categories[i] == user ? 1 : weights[steps[i]];
    }
  }
  struct column *column = column_from_reals(values, NULL, segment->rows);
  scratch_free(values);
  return segment_set_column(segment, COLUMN_ops_sample_weight, column) ? error_no_memory(error) : TFPROF_OK;
}

/* only NULL: all segments. */
static enum tfprof_status weigh_all(struct profile *profile, const struct segment *only, struct tfprof_error *error) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  string_id user = derive_known_text(profile, "user");
  double *weights = NULL;
  uint32_t step_count;
  bool all_one = true;
  enum tfprof_status status = step_weights(profile, &weights, &step_count, &all_one, error);
  for (size_t s = 0; s < ops->segment_count && !status; s++) {
    struct segment *segment = ops->segments[s];
    if (only && segment != only) continue;
    if (!all_one) {
      status = weigh(segment, weights, step_count, user, error);
    } else if (segment_set_column(segment, COLUMN_ops_sample_weight, column_constant_real(segment->rows, 1.0))) {
      status = error_no_memory(error);
    }
    if (!status) status = derive_poll(profile, error);
  }
  scratch_free(weights);
  return status;
}

static enum tfprof_status run_op_weights(struct profile *profile, struct tfprof_error *error) {
  return weigh_all(profile, NULL, error);
}

static enum tfprof_status run_segment(struct profile *profile, struct segment *segment, struct tfprof_error *error) {
  return weigh_all(profile, segment, error);
}

const struct derive_pass derive_op_weights = {
    .name = "op weights",
    .summary = "An op speaks for as many calls as its step speaks for steps; 1 where every step was recorded.",
    .makes_table = -1,
    .reads = {{TABLE_steps, COLUMN_steps_sample_weight}},
    .reads_here = {{TABLE_ops, COLUMN_ops_step_id}, {TABLE_ops, COLUMN_ops_category}},
    .writes = {{TABLE_ops, COLUMN_ops_sample_weight}},
    .run = run_op_weights,
    .run_segment = run_segment,
};
