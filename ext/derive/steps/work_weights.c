/* work_weights.c: is_measured, sample_weight and sampled_step_id of what devices did and of the calls behind it.
**
** The work of devices is recorded in every step, unless that would take too much of the program: then only in the steps
** whose ops are, and the dump says so (capture_thinned), or, where the framework's own profiler records it, in the
** windows of that.  There a row stands for as many steps as its step does (steps.sample_weight), and sampled_step_id is
** that step, by which sample_error() tells how sure a sum is.  Elsewhere a row stands for itself.  Warm-up steps are
** no measured ones; what lies outside of all steps is measured.  Where all rows are alike the columns take no memory.
*/
#include "derive/steps/work_weights.h"

#include "derive/passes.h"
#include "derive/rows.h"

#include <math.h>
#include <string.h>

/* Whether kernels were recorded only in some steps for what that takes. */
static enum tfprof_status find_thinning(const struct profile *profile, bool *is_there, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  string_id reason = derive_known_text(profile, "capture_thinned"), kernels = derive_known_text(profile, "kernels");
  *is_there = false;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_diagnostics, &block, &status, error);) {
    string_id reasons[ROWS_BLOCK], tables[ROWS_BLOCK];
    block_texts(&block, COLUMN_diagnostics_reason, reasons);
    block_texts(&block, COLUMN_diagnostics_table_name, tables);
    for (uint32_t i = 0; i < block.count; i++) *is_there |= reasons[i] == reason && tables[i] == kernels;
  }
  return status;
}

enum tfprof_status work_weights_load(const struct profile *profile, struct work_weights *work,
                                     struct tfprof_error *error) {
  bool is_thinned;
  bool in_windows = strcmp(profile_origin(profile), "tfprof") == 0 && profile_has_xplane_kernels(profile);
  enum tfprof_status status = find_thinning(profile, &is_thinned, error);
  if (!status) status = derive_row_count(profile, TABLE_steps, &work->step_count, error);
  if (status) return status;
  work->steps = scratch_allocate(((size_t)work->step_count + 1) * sizeof *work->steps);
  if (!work->steps) return error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_steps, &block, &status, error);) {
    int64_t warmup[ROWS_BLOCK], recorded[ROWS_BLOCK];
    double weights[ROWS_BLOCK];
    block_integers(&block, COLUMN_steps_is_warmup, warmup);
    block_integers(&block, COLUMN_steps_ops_recorded, recorded);
    block_reals(&block, COLUMN_steps_sample_weight, weights);
    for (uint32_t i = 0; i < block.count; i++) {
      /* A warm-up step speaks for itself, but outside of windows nothing of it is recorded. NAN: for itself, too. */
      bool is_warmup = warmup[i] == 1;
      bool is_other = is_warmup ? in_windows && recorded[i] == 0
                                : (in_windows || is_thinned) && !isnan(weights[i]) && weights[i] != 1;
      double weight = !is_other ? 1 : is_warmup ? 0 : weights[i];
      work->is_thinned |= is_other;
      /* Of some warm-up steps the work was left out to see what recording it takes: they have no weight. */
      bool is_left_out = weight == 0 || (is_warmup && weights[i] == 0);
      work->has_warmup |= is_warmup;
      work->has_left_out |= is_left_out;
      work->steps[block.row + i] = (struct step_work){weight, is_warmup, is_left_out};
    }
  }
  return status;
}

/* Where the columns of a table are. */
struct work_table {
  unsigned table, step_id, is_measured, sample_weight, sampled_step_id;
  unsigned carried_by; /* 0: it has no such column */
};

static enum tfprof_status set_whole(struct segment *segment, const struct work_table *table) {
  struct column *one = column_constant_real(segment->rows, 1.0);
  enum tfprof_status status = segment_set_column(segment, table->sample_weight, one);
  return status ? status : segment_set_column(segment, table->sampled_step_id, column_absent(segment->rows));
}

/* Of each row of the segment. */
struct work_values {
  int64_t *is_measured;
  double *weights;
  uint32_t *steps;
};

/* What carries collectives out that a device recorded. */
struct device_carriers {
  string_id kernel, copies;
};

static void weigh_block(const struct work_weights *work, const struct device_carriers *devices,
                        const struct work_table *table, const struct segment *segment, uint32_t first,
                        const struct work_values *values) {
  uint32_t count = derive_block_rows(segment, first), steps[ROWS_BLOCK];
  string_id carriers[ROWS_BLOCK];
  derive_references(segment->columns[table->step_id], first, count, work->step_count, steps);
  if (table->carried_by) derive_texts(segment->columns[table->carried_by], first, count, carriers);
  for (uint32_t i = 0; i < count; i++) {
    struct step_work step = steps[i] == NO_ROW ? (struct step_work){1, false, false} : work->steps[steps[i]];
    /* The marks of hosts are there in every step. */
    bool is_of_host =
        table->carried_by && (!carriers[i] || (carriers[i] != devices->kernel && carriers[i] != devices->copies));
    double weight = is_of_host ? 1 : step.weight;
    values->is_measured[first + i] = !step.is_warmup && weight != 0;
    values->weights[first + i] = weight;
    values->steps[first + i] = is_of_host ? NO_ROW : steps[i];
  }
}

/* Where no step stands for others the weights take no memory. */
static enum tfprof_status set_segment(const struct work_weights *work, const struct device_carriers *devices,
                                      const struct work_table *table, struct segment *segment,
                                      struct tfprof_error *error) {
  size_t rows = (size_t)segment->rows + 1;
  struct work_values values = {scratch_allocate(rows * sizeof *values.is_measured),
                               scratch_allocate(rows * sizeof *values.weights),
                               scratch_allocate(rows * sizeof *values.steps)};
  enum tfprof_status status = values.is_measured && values.weights && values.steps ? TFPROF_OK : error_no_memory(error);
  for (uint32_t first = 0; first < segment->rows && !status; first += ROWS_BLOCK)
    weigh_block(work, devices, table, segment, first, &values);
  if (!status) status = derive_set_segment_integers(segment, table->is_measured, values.is_measured);
  if (!status && work->is_thinned) status = derive_set_segment_reals(segment, table->sample_weight, values.weights);
  if (!status && work->is_thinned) status = derive_set_segment(segment, table->sampled_step_id, values.steps);
  if (!status && !work->is_thinned) status = set_whole(segment, table);
  scratch_free(values.is_measured);
  scratch_free(values.weights);
  scratch_free(values.steps);
  return status ? derive_failure((int)status, error) : TFPROF_OK;
}

/* only NULL: all segments. */
static enum tfprof_status weigh_work(struct profile *profile, const struct work_table *table,
                                     const struct segment *only, struct tfprof_error *error) {
  const struct profile_table *content = &profile->tables[table->table];
  const struct device_carriers devices = {derive_known_text(profile, "kernel"), derive_known_text(profile, "copies")};
  struct work_weights work = {.steps = NULL};
  enum tfprof_status status = work_weights_load(profile, &work, error);
  for (size_t i = 0; i < content->segment_count && !status; i++) {
    struct segment *segment = content->segments[i];
    if (only && segment != only) continue;
    if (work.is_thinned || work.has_warmup) {
      status = set_segment(&work, &devices, table, segment, error);
    } else if (segment_set_column(segment, table->is_measured, column_constant(segment->rows, 1)) ||
               set_whole(segment, table)) {
      status = error_no_memory(error);
    }
    if (!status) status = derive_poll(profile, error);
  }
  scratch_free(work.steps);
  return status;
}

#define WEIGH(its_table, carried) \
  static const struct work_table its_table##_columns = { \
      .table = TABLE_##its_table, \
      .step_id = COLUMN_##its_table##_step_id, \
      .is_measured = COLUMN_##its_table##_is_measured, \
      .sample_weight = COLUMN_##its_table##_sample_weight, \
      .sampled_step_id = COLUMN_##its_table##_sampled_step_id, \
      .carried_by = carried, \
  }; \
  static enum tfprof_status run_##its_table(struct profile *profile, struct tfprof_error *error) { \
    return weigh_work(profile, &its_table##_columns, NULL, error); \
  } \
  static enum tfprof_status run_segment_of_##its_table(struct profile *profile, struct segment *segment, \
                                                  struct tfprof_error *error) { \
    return weigh_work(profile, &its_table##_columns, segment, error); \
  } \
  const struct derive_pass derive_weights_of_##its_table = { \
      .name = "weights of " #its_table, \
      .summary = "A row stands for as many steps as its step, where work of devices was recorded only in some.", \
      .makes_table = -1, \
      .reads = {WORK_WEIGHTS_READ}, \
      .reads_here = {{TABLE_##its_table, COLUMN_##its_table##_step_id}, {TABLE_##its_table, carried}}, \
      .writes = {{TABLE_##its_table, COLUMN_##its_table##_is_measured}, \
                 {TABLE_##its_table, COLUMN_##its_table##_sample_weight}, \
                 {TABLE_##its_table, COLUMN_##its_table##_sampled_step_id}}, \
      .run = run_##its_table, \
      .run_segment = run_segment_of_##its_table, \
  };
WEIGH(kernels, 0)
WEIGH(transfers, 0)
WEIGH(api_calls, 0)
WEIGH(syncs, 0)
WEIGH(device_activities, 0)
WEIGH(step_activity_totals, 0)
WEIGH(collectives, COLUMN_collectives_carried_by)
