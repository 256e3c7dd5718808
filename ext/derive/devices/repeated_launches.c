/* repeated_launches.c: device_kernel_totals.launched_count, launched_ns and repeated_count: how many of a device's
** kernels each step launches again.
**
** Kernels of measured steps, those of the view _measured_steps, are counted step by step: of those that are alike
** (launch_groups.c) on a device every step repeats as many as the step launches that launches fewest of them.  What is
** part of a device graph is launched with it, and counts for nothing.
*/
#include "derive/groups.h"
#include "derive/passes.h"

enum { KEY_DEVICE, KEY_GROUP, KEYS };

/* Kernels of a device that are alike. */
struct alike {
  uint32_t step, step_count;   /* the step that is being counted; how many had any */
  int64_t in_step, least;      /* in it; of those before it */
};

struct launches {
  int64_t count, repeated;
  double sum;
};

struct repeating {
  struct profile *profile;
  uint32_t rows, devices, steps, measured_count;
  bool *is_measured;  /* by step */
  uint32_t *by_step;  /* rows of kernels, in the order of their steps */
  struct groups groups;
  struct alike *alike; /* by group */
  uint32_t capacity;
  struct launches *of_device; /* the last: of none */
};

/* ---- which steps, and what is of them ---- */

static enum tfprof_status find_measured(struct repeating *r, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  bool has_ops = false;
  r->is_measured = scratch_allocate_zeroed((size_t)r->steps + 1, sizeof *r->is_measured);
  if (!r->is_measured) return error_no_memory(error);
  for (unsigned i = 0; i < 2 && !status; i++) { /* at first only whether ops were recorded in any */
    for (struct row_block block = {0}; derive_next_block(r->profile, TABLE_steps, &block, &status, error);) {
      int64_t warmups[ROWS_BLOCK], recorded[ROWS_BLOCK];
      double weights[ROWS_BLOCK];
      block_integers(&block, COLUMN_steps_is_warmup, warmups);
      block_integers(&block, COLUMN_steps_ops_recorded, recorded);
      block_reals(&block, COLUMN_steps_sample_weight, weights);
      for (uint32_t k = 0; k < block.count; k++) {
        bool has_own = recorded[k] == 1;
        if (i == 0) has_ops |= has_own;
        else r->is_measured[block.row + k] = warmups[k] == 0 && (has_ops ? has_own && !isnan(weights[k]) : true);
      }
    }
  }
  for (uint32_t i = 0; i < r->steps && !status; i++) r->measured_count += r->is_measured[i];
  if (!r->steps) r->is_measured[0] = true; /* all that has no step */
  return status;
}

/* The place of the kernels of none is behind all steps. */
static enum tfprof_status sort_by_step(struct repeating *r, struct tfprof_error *error) {
  uint32_t *steps = NULL;
  enum tfprof_status status = derive_all_references(r->profile, TABLE_kernels, COLUMN_kernels_step_id, &steps, error);
  uint32_t *ends = scratch_allocate_zeroed((size_t)r->steps + 2, sizeof *ends);
  r->by_step = scratch_allocate(((size_t)r->rows + 1) * sizeof *r->by_step);
  if (!status && (!ends || !r->by_step)) status = error_no_memory(error);
  if (!status) {
    for (uint32_t row = 0; row < r->rows; row++) ends[(steps[row] == NO_ROW ? r->steps : steps[row]) + 1]++;
    for (uint32_t step = 0; step <= r->steps; step++) ends[step + 1] += ends[step];
    for (uint32_t row = 0; row < r->rows; row++) r->by_step[ends[steps[row] == NO_ROW ? r->steps : steps[row]]++] = row;
  }
  scratch_free(ends);
  scratch_free(steps);
  return status;
}

/* ---- counting ---- */

static void end_step(struct alike *alike) {
  if (alike->in_step < alike->least) alike->least = alike->in_step;
  alike->step_count++;
}

static enum tfprof_status add_launch(struct repeating *r, uint32_t step, const int64_t *key,
                                     struct tfprof_error *error) {
  bool is_new = false;
  uint32_t known = r->groups.count, number = groups_number(&r->groups, key);
  if (number != NO_ROW && (is_new = number == known)) {
    struct alike *alike = scratch_grow(r->alike, known, &r->capacity, 256, sizeof *alike);
    if (!alike) number = NO_ROW;
    else r->alike = alike;
  }
  if (number == NO_ROW) return error_no_memory(error);
  struct alike *alike = &r->alike[number];
  if (is_new) *alike = (struct alike){.step = step, .least = INT64_MAX};
  if (alike->step != step) {
    end_step(alike);
    alike->step = step;
    alike->in_step = 0;
  }
  alike->in_step++;
  return TFPROF_OK;
}

static int64_t launched_value(const struct segment *segment, unsigned column, uint32_t row) {
  const struct column *values = segment->columns[column];
  return column_is_null(values, row) ? NO_VALUE : column_integer(values, row);
}

static enum tfprof_status count_launches(struct repeating *r, struct tfprof_error *error) {
  const struct profile_table *kernels = &r->profile->tables[TABLE_kernels];
  enum tfprof_status status = TFPROF_OK;
  size_t hint = 0;
  for (uint32_t i = 0; i < r->rows && !status; i++) {
    if (i % ROWS_BLOCK == 0 && (status = derive_poll(r->profile, error))) break;
    const struct segment *segment = derive_segment_of(kernels, r->by_step[i], &hint);
    uint32_t row = (uint32_t)(r->by_step[i] - segment->first_row);
    int64_t step = launched_value(segment, COLUMN_kernels_step_id, row), device;
    if (step < 0 || step >= r->steps) step = r->steps;
    if (!r->is_measured[step] || launched_value(segment, COLUMN_kernels_graph_launch_id, row) != NO_VALUE) continue;
    device = launched_value(segment, COLUMN_kernels_device_id, row);
    if (device < 0 || device >= r->devices) device = r->devices;
    int64_t duration = launched_value(segment, COLUMN_kernels_dur_ns, row);
    struct launches *launches = &r->of_device[device];
    launches->count++;
    if (duration != NO_VALUE) launches->sum += (double)duration;
    const int64_t key[KEYS] = {[KEY_DEVICE] = device,
                               [KEY_GROUP] = launched_value(segment, COLUMN_kernels_launch_group, row)};
    if (r->steps) status = add_launch(r, (uint32_t)step, key, error);
  }
  for (uint32_t i = 0; i < r->groups.count && !status; i++) {
    struct alike *alike = &r->alike[i];
    end_step(alike);
    if (alike->step_count == r->measured_count)
      r->of_device[r->groups.keys[(size_t)i * KEYS + KEY_DEVICE]].repeated += alike->least * r->measured_count;
  }
  return status;
}

/* ---- columns ---- */

static enum tfprof_status set_launches(const struct repeating *r, struct tfprof_error *error) {
  uint32_t count, *devices = NULL;
  enum tfprof_status status = derive_row_count(r->profile, TABLE_device_kernel_totals, &count, error);
  int64_t *values = scratch_allocate(((size_t)count + 1) * sizeof *values);
  if (!status && !values) status = error_no_memory(error);
  if (!status)
    status = derive_all_references(r->profile, TABLE_device_kernel_totals, COLUMN_device_kernel_totals_device_id,
                                   &devices, error);
#define SET(column, expression) \
  do { \
    for (uint32_t i = 0; i < count && !status; i++) { \
      const struct launches *launches = &r->of_device[devices[i] == NO_ROW ? r->devices : devices[i]]; \
      values[i] = (expression); \
    } \
    if (!status) \
      status = derive_set_integers(r->profile, TABLE_device_kernel_totals, COLUMN_device_kernel_totals_##column, \
                                   values, error); \
  } while (0)
  SET(launched_count, launches->count);
  SET(launched_ns, whole_sum(launches->sum));
  SET(repeated_count, launches->repeated);
#undef SET
  scratch_free(values);
  scratch_free(devices);
  return status;
}

static enum tfprof_status run_repeated_launches(struct profile *profile, struct tfprof_error *error) {
  struct repeating r = {.profile = profile, .groups = {.width = KEYS}};
  enum tfprof_status status = derive_row_count(profile, TABLE_kernels, &r.rows, error);
  if (!status) status = derive_row_count(profile, TABLE_devices, &r.devices, error);
  if (!status) status = derive_row_count(profile, TABLE_steps, &r.steps, error);
  if (status || !r.rows) return status;
  r.of_device = scratch_allocate_zeroed((size_t)r.devices + 1, sizeof *r.of_device);
  if (!r.of_device) status = error_no_memory(error);
  if (!status) status = find_measured(&r, error);
  if (!status) status = sort_by_step(&r, error);
  if (!status) status = count_launches(&r, error);
  if (!status) status = set_launches(&r, error);
  scratch_free(r.is_measured);
  scratch_free(r.by_step);
  scratch_free(r.alike);
  scratch_free(r.of_device);
  groups_free(&r.groups);
  return status;
}

const struct derive_pass derive_repeated_launches = {
    .name = "launches that repeat",
    .summary = "How many of a device's kernels every measured step launches again, by counting those that are alike in "
               "each step.",
    .makes_table = -1,
    .reads = {{TABLE_steps, COLUMN_steps_is_warmup},
              {TABLE_steps, COLUMN_steps_ops_recorded},
              {TABLE_steps, COLUMN_steps_sample_weight},
              {TABLE_kernels, COLUMN_kernels_step_id},
              {TABLE_kernels, COLUMN_kernels_device_id},
              {TABLE_kernels, COLUMN_kernels_graph_launch_id},
              {TABLE_kernels, COLUMN_kernels_launch_group},
              {TABLE_kernels, COLUMN_kernels_dur_ns},
              {TABLE_device_kernel_totals, COLUMN_device_kernel_totals_device_id}},
    .writes = {{TABLE_device_kernel_totals, COLUMN_device_kernel_totals_launched_count},
               {TABLE_device_kernel_totals, COLUMN_device_kernel_totals_launched_ns},
               {TABLE_device_kernel_totals, COLUMN_device_kernel_totals_repeated_count}},
    .run = run_repeated_launches,
};
