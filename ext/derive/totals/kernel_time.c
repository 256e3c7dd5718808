/* kernel_time.c: the tables device_kernel_totals and step_kernel_totals: all kernels of a device added up, and those
** that a step launched on a device.
**
** What views tell of devices and of steps on them they take from these, instead of from every kernel.  Kernels are
** sorted by device (and step) and start; one sweep adds durations up, unites the spans, and follows how many blocks
** there are at each moment.
*/
#include "derive/match.h"
#include "derive/passes.h"
#include "derive/totals/groups.h"

#include <stdlib.h>

struct kernel_row {
  int64_t duration, tensor_core, eligible;
  double blocks, occupancy;
  bool is_compute;
};

struct time_total {
  uint32_t step, device; /* NO_ROW: none */
  int64_t count, blocks_known;
  double sum, compute, busy, filled, occupied, occupancy_known, tensor_core, eligible, without, small, empty;
};

struct kernel_time {
  struct profile *profile;
  bool by_step;
  uint32_t rows, devices, steps; /* of the last two 1 more, for none */
  struct kernel_row *kernels;
  struct lane_span *spans, *ends; /* of each kernel; ends: its end, of those that count for blocks, as a moment */
  size_t end_count;
  struct time_total *totals;
  uint32_t total_count;
};

/* ---- kernels ---- */

static enum tfprof_status read_kernels(struct kernel_time *t, struct tfprof_error *error) {
  string_id compute = derive_known_text(t->profile, "compute");
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(t->profile, TABLE_kernels, &block, &status, error);) {
    int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK], durations[ROWS_BLOCK], uses[ROWS_BLOCK], eligible[ROWS_BLOCK];
    double blocks[ROWS_BLOCK], occupancies[ROWS_BLOCK];
    uint32_t devices[ROWS_BLOCK], steps[ROWS_BLOCK];
    string_id kinds[ROWS_BLOCK];
    block_integers(&block, COLUMN_kernels_start_ns, starts);
    block_integers(&block, COLUMN_kernels_end_ns, ends);
    block_integers(&block, COLUMN_kernels_dur_ns, durations);
    block_integers(&block, COLUMN_kernels_uses_tensor_core, uses);
    block_integers(&block, COLUMN_kernels_tensor_core_eligible, eligible);
    block_reals(&block, COLUMN_kernels_blocks_per_multiprocessor, blocks);
    block_reals(&block, COLUMN_kernels_occupancy_ratio, occupancies);
    block_references(&block, COLUMN_kernels_device_id, t->devices - 1, devices);
    block_texts(&block, COLUMN_kernels_kind, kinds);
    if (t->by_step) block_references(&block, COLUMN_kernels_step_id, t->steps - 1, steps);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t row = (uint32_t)block.row + i;
      uint32_t device = devices[i] == NO_ROW ? t->devices - 1 : devices[i];
      uint32_t step = !t->by_step ? 0 : steps[i] == NO_ROW ? t->steps - 1 : steps[i];
      bool is_span = starts[i] != NO_VALUE && ends[i] > starts[i]; /* NO_VALUE is below all */
      t->kernels[row] = (struct kernel_row){durations[i], uses[i], eligible[i], blocks[i], occupancies[i],
                                            kinds[i] == compute && compute};
      t->spans[row] = (struct lane_span){starts[i], is_span ? ends[i] : starts[i], step * t->devices + device, row};
    }
  }
  return status;
}

/* ---- totals ---- */

static void add_kernel(struct time_total *total, const struct kernel_row *kernel) {
  double duration = (double)kernel->duration;
  total->blocks_known += !isnan(kernel->blocks);
  if (kernel->duration == NO_VALUE) return;
  total->count++;
  total->sum += duration;
  if (kernel->is_compute) total->compute += duration;
  if (!isnan(kernel->occupancy)) {
    total->occupied += duration * kernel->occupancy;
    total->occupancy_known += duration;
  }
  if (kernel->tensor_core > 0) total->tensor_core += duration;
  if (kernel->eligible > 0) total->eligible += duration;
  if (kernel->eligible == 1 && kernel->tensor_core == 0) total->without += duration;
  if (kernel->is_compute && kernel->blocks < 1) { /* not where it is NAN */
    total->small += duration;
    total->empty += duration * (1 - kernel->blocks);
  }
}

static double united(const struct lane_span *spans, size_t count) {
  double length = 0;
  int64_t until = 0;
  for (size_t i = 0, begun = 0; i < count; i++) {
    if (spans[i].end <= spans[i].start || (begun && spans[i].end <= until)) continue;
    length += (double)derive_difference(spans[i].end, begun && spans[i].start < until ? until : spans[i].start);
    until = spans[i].end;
    begun = 1;
  }
  return length;
}

static bool has_blocks(const struct kernel_time *t, const struct lane_span *span) {
  return span->end > span->start && !isnan(t->kernels[span->row].blocks);
}

/* The integral of the blocks per multiprocessor of all that run at a moment, at most 1. Where one ends as another
** begins it ends first, so that they are never counted twice. */
static double filled(const struct kernel_time *t, const struct lane_span *spans, size_t count,
                     const struct lane_span *ends, size_t end_count) {
  double area = 0, weight = 0;
  size_t start = 0, depth = 0;
  int64_t last = 0;
  for (size_t end = 0; end < end_count;) {
    while (start < count && !has_blocks(t, &spans[start])) start++;
    bool is_start = start < count && spans[start].start < ends[end].start;
    const struct lane_span *point = is_start ? &spans[start++] : &ends[end++];
    if (depth) area += (weight < 1 ? weight : 1) * (double)derive_difference(point->start, last);
    depth += is_start ? 1 : (size_t)-1;
    double blocks = t->kernels[point->row].blocks;
    weight = depth ? weight + (is_start ? blocks : -blocks) : 0; /* no remainder is carried on */
    last = point->start;
  }
  return area;
}

/* Makes totals of what lies in order. */
static enum tfprof_status total_lanes(struct kernel_time *t, struct tfprof_error *error) {
  size_t end = 0;
  uint32_t capacity = 0;
  for (size_t first = 0, next; first < t->rows; first = next) {
    uint32_t lane = t->spans[first].lane, step = lane / t->devices, device = lane % t->devices;
    size_t first_end = end;
    struct time_total *totals = scratch_grow(t->totals, t->total_count, &capacity, 256, sizeof *totals);
    if (!totals) return error_no_memory(error);
    t->totals = totals;
    struct time_total *total = &totals[t->total_count++];
    *total = (struct time_total){.step = step == t->steps - 1 ? NO_ROW : step,
                                 .device = device == t->devices - 1 ? NO_ROW : device};
    for (next = first; next < t->rows && t->spans[next].lane == lane; next++)
      add_kernel(total, &t->kernels[t->spans[next].row]);
    while (end < t->end_count && t->ends[end].lane == lane) end++;
    total->busy = united(t->spans + first, next - first);
    total->filled = filled(t, t->spans + first, next - first, t->ends + first_end, end - first_end);
  }
  return TFPROF_OK;
}

static enum tfprof_status find_totals(struct kernel_time *t, struct tfprof_error *error) {
  enum tfprof_status status = read_kernels(t, error);
  for (uint32_t row = 0; row < t->rows; row++) {
    const struct lane_span *span = &t->spans[row];
    if (has_blocks(t, span))
      t->ends[t->end_count++] = (struct lane_span){span->end, span->end, span->lane, row};
  }
  if (!status) status = lane_span_sort(t->spans, t->rows, error);
  if (!status) status = lane_span_sort(t->ends, t->end_count, error);
  if (!status) status = total_lanes(t, error);
  return status;
}

/* ---- columns ---- */

static enum tfprof_status set_time_columns(const struct kernel_time *t, struct tfprof_error *error) {
  unsigned table = t->by_step ? TABLE_step_kernel_totals : TABLE_device_kernel_totals;
  uint32_t count = t->total_count;
  uint32_t *references = scratch_allocate(((size_t)count + 1) * sizeof *references);
  int64_t *integers = scratch_allocate(((size_t)count + 1) * sizeof *integers);
  double *reals = scratch_allocate(((size_t)count + 1) * sizeof *reals);
  enum tfprof_status status = references && integers && reals ? TFPROF_OK : error_no_memory(error);
#define SET(kind, column, expression) \
  do { \
    unsigned of_table = t->by_step ? COLUMN_step_kernel_totals_##column : COLUMN_device_kernel_totals_##column; \
    for (uint32_t i = 0; i < count && !status; i++) kind[i] = (expression); \
    if (!status) status = derive_set_##kind(t->profile, table, of_table, kind, error); \
  } while (0)
  if (t->by_step) {
    for (uint32_t i = 0; i < count && !status; i++) references[i] = t->totals[i].step;
    if (!status)
      status = derive_set_references(t->profile, table, COLUMN_step_kernel_totals_step_id, references, error);
  }
  SET(references, device_id, t->totals[i].device);
  SET(integers, count, t->totals[i].count);
  SET(integers, blocks_known_count, t->totals[i].blocks_known);
  SET(integers, sum_ns, whole_sum(t->totals[i].sum));
  SET(integers, compute_ns, whole_sum(t->totals[i].compute));
  SET(integers, busy_ns, whole_sum(t->totals[i].busy));
  SET(reals, filled_ratio, t->totals[i].filled / t->totals[i].busy); /* NAN: NULL */
  SET(reals, occupancy_ratio, t->totals[i].occupied / t->totals[i].occupancy_known);
  SET(integers, occupancy_known_ns, whole_sum(t->totals[i].occupancy_known));
  SET(integers, tensor_core_ns, whole_sum(t->totals[i].tensor_core));
  SET(integers, eligible_ns, whole_sum(t->totals[i].eligible));
  SET(integers, without_tensor_core_ns, whole_sum(t->totals[i].without));
  SET(integers, small_ns, whole_sum(t->totals[i].small));
  SET(reals, empty_ratio, t->totals[i].empty / t->totals[i].small);
#undef SET
  scratch_free(references);
  scratch_free(integers);
  scratch_free(reals);
  return status;
}

static enum tfprof_status run_kernel_time(struct profile *profile, bool by_step, struct tfprof_error *error) {
  struct kernel_time t = {.profile = profile, .by_step = by_step};
  uint32_t steps = 0, devices = 0;
  enum tfprof_status status = derive_row_count(profile, TABLE_kernels, &t.rows, error);
  if (!status) status = derive_row_count(profile, TABLE_devices, &devices, error);
  if (!status && by_step) status = derive_row_count(profile, TABLE_steps, &steps, error);
  if (status || !t.rows) return status;
  t.devices = devices + 1;
  t.steps = steps + 1;
  if (((uint64_t)steps + 1) * ((uint64_t)devices + 1) >= NO_ROW)
    return error_set(error, TFPROF_LIMIT, "%u steps on %u devices are too many", steps, devices);
  t.kernels = scratch_allocate((size_t)t.rows * sizeof *t.kernels);
  t.spans = scratch_allocate((size_t)t.rows * sizeof *t.spans);
  t.ends = scratch_allocate((size_t)t.rows * sizeof *t.ends);
  if (!t.kernels || !t.spans || !t.ends) status = error_no_memory(error);
  if (!status) status = find_totals(&t, error);
  if (!status)
    status = derive_make_table(profile, by_step ? TABLE_step_kernel_totals : TABLE_device_kernel_totals, t.total_count,
                               error);
  if (!status) status = set_time_columns(&t, error);
  scratch_free(t.kernels);
  scratch_free(t.spans);
  scratch_free(t.ends);
  scratch_free(t.totals);
  return status;
}

static enum tfprof_status run_device_kernel_totals(struct profile *profile, struct tfprof_error *error) {
  return run_kernel_time(profile, false, error);
}

static enum tfprof_status run_step_kernel_totals(struct profile *profile, struct tfprof_error *error) {
  return run_kernel_time(profile, true, error);
}

#define READS \
  {TABLE_kernels, COLUMN_kernels_start_ns}, {TABLE_kernels, COLUMN_kernels_end_ns}, \
      {TABLE_kernels, COLUMN_kernels_dur_ns}, {TABLE_kernels, COLUMN_kernels_kind}, \
      {TABLE_kernels, COLUMN_kernels_device_id}, {TABLE_kernels, COLUMN_kernels_uses_tensor_core}, \
      {TABLE_kernels, COLUMN_kernels_tensor_core_eligible}, {TABLE_kernels, COLUMN_kernels_blocks_per_multiprocessor}, \
      {TABLE_kernels, COLUMN_kernels_occupancy_ratio}, {TABLE_devices, COLUMN_devices_ordinal}

const struct derive_pass derive_device_kernel_totals = {
    .name = "totals of kernels by device",
    .summary = "Times of all kernels of a device, by a sweep in the order of starts.",
    .makes_table = TABLE_device_kernel_totals,
    .reads = {READS},
    .run = run_device_kernel_totals,
};

const struct derive_pass derive_step_kernel_totals = {
    .name = "totals of kernels by step",
    .summary = "Times of the kernels that a step launched on a device, by a sweep in the order of starts.",
    .makes_table = TABLE_step_kernel_totals,
    .reads = {READS, {TABLE_kernels, COLUMN_kernels_step_id}, {TABLE_steps, COLUMN_steps_start_ns}},
    .run = run_step_kernel_totals,
};
