/* kernel_time.c: the tables device_kernel_totals and step_kernel_totals: all kernels of a device added up, and those
** that a step launched on a device.
**
** What views tell of devices and of steps on them they take from these, instead of from every kernel.  One sweep over
** the kernels of each device in the order of their starts, devices side by side, adds durations up, unites the spans,
** and follows how many blocks there are at each moment.  Most sources have kernels in that order already; else they are
** sorted first.
*/
#include "derive/groups.h"
#include "derive/match.h"
#include "derive/passes.h"
#include "store/parallel.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct kernel {
  int64_t start, end, duration, tensor_core, eligible;
  double blocks, occupancy;
  uint32_t device, step; /* the last of each means none */
  bool is_compute;
};

/* One that runs, of those whose blocks are known. */
struct running {
  int64_t end;
  double blocks;
};

struct time_total {
  uint32_t step, device; /* NO_ROW: none */
  int64_t count, blocks_known;
  double sum, compute, busy, filled, occupied, occupancy_known, tensor_core, eligible, without, small, empty;
  /* The sweep */
  bool has_begun;
  int64_t busy_until, last; /* the end of all so far; the moment up to which `filled` is known */
  double weight;            /* blocks per multiprocessor of all that run */
  struct running *running;  /* a heap, the first to end on top */
  uint32_t depth, capacity;
};

/* Of some of the devices: those whose number has the task as remainder. */
struct device_times {
  struct groups lanes; /* a step and device each, or a device: the number of its total */
  struct time_total *totals;
  uint32_t total_count, capacity;
};

struct kernel_time {
  struct profile *profile;
  bool by_step, is_ordered;
  uint32_t rows, devices, steps; /* of the last two 1 more, for none */
  uint32_t tasks;
  struct device_times of_task[PARALLEL_MAXIMUM_WORKERS];
  struct time_total *totals; /* of all of them */
  uint32_t total_count;
  atomic_int failure; /* an enum tfprof_status */
};

/* ---- what runs at a moment ---- */

static bool begin_running(struct time_total *total, int64_t end, double blocks) {
  struct running *heap = scratch_grow(total->running, total->depth, &total->capacity, 4, sizeof *heap);
  if (!heap) return false;
  total->running = heap;
  uint32_t at = total->depth++;
  for (; at > 0 && heap[(at - 1) / 2].end > end; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
  heap[at] = (struct running){end, blocks};
  return true;
}

static struct running end_running(struct time_total *total) {
  struct running *heap = total->running, first = heap[0], last = heap[--total->depth];
  uint32_t at = 0;
  for (uint32_t child; (child = 2 * at + 1) < total->depth; at = child) {
    if (child + 1 < total->depth && heap[child + 1].end < heap[child].end) child++;
    if (heap[child].end >= last.end) break;
    heap[at] = heap[child];
  }
  heap[at] = last;
  return first;
}

/* Adds what the blocks fill, at most 1, up to a moment. */
static void fill_until(struct time_total *total, int64_t moment) {
  double weight = total->weight < 1 ? total->weight : 1;
  if (total->depth) total->filled += weight * (double)derive_difference(moment, total->last);
  total->last = moment;
}

/* Where one ends as another begins it ends first, so that they are never counted twice. */
static void pass_ends(struct time_total *total, int64_t moment) {
  while (total->depth && total->running[0].end <= moment) {
    fill_until(total, total->running[0].end);
    total->weight -= end_running(total).blocks;
    if (!total->depth) total->weight = 0; /* no remainder is carried on */
  }
}

/* ---- totals ---- */

static void add_kernel(struct time_total *total, const struct kernel *kernel) {
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

/* One that begins no earlier than those before it. False: no memory. */
static bool sweep_over(struct time_total *total, const struct kernel *kernel) {
  if (kernel->start == NO_VALUE || kernel->end <= kernel->start) return true; /* NO_VALUE is below all */
  if (!total->has_begun || kernel->end > total->busy_until) {
    bool overlaps = total->has_begun && kernel->start < total->busy_until;
    total->busy += (double)derive_difference(kernel->end, overlaps ? total->busy_until : kernel->start);
    total->busy_until = kernel->end;
    total->has_begun = true;
  }
  if (isnan(kernel->blocks)) return true;
  pass_ends(total, kernel->start);
  fill_until(total, kernel->start);
  total->weight += kernel->blocks;
  return begin_running(total, kernel->end, kernel->blocks);
}

/* NULL: no memory. */
static struct time_total *total_of(const struct kernel_time *t, struct device_times *d, const struct kernel *kernel) {
  const int64_t lane = t->by_step ? (int64_t)kernel->step * t->devices + kernel->device : kernel->device;
  uint32_t number = groups_number(&d->lanes, &lane);
  if (number == NO_ROW || number < d->total_count) return number == NO_ROW ? NULL : &d->totals[number];
  struct time_total *totals = scratch_grow(d->totals, d->total_count, &d->capacity, 256, sizeof *totals);
  if (!totals) return NULL;
  d->totals = totals;
  totals[d->total_count] = (struct time_total){.step = kernel->step == t->steps - 1 ? NO_ROW : kernel->step,
                                               .device = kernel->device == t->devices - 1 ? NO_ROW : kernel->device};
  return &totals[d->total_count++];
}

static bool take_kernel(const struct kernel_time *t, struct device_times *d, const struct kernel *kernel) {
  struct time_total *total = total_of(t, d, kernel);
  if (!total) return false;
  add_kernel(total, kernel);
  return sweep_over(total, kernel);
}

/* ---- kernels ---- */

enum { KERNELS_AT_ONCE = 256 /* whose columns fit into the nearest cache */ };

/* The kernels of a block, or of a part of one. */
static void read_kernels(const struct kernel_time *t, const struct row_block *block, struct kernel *kernels) {
  int64_t starts[KERNELS_AT_ONCE], ends[KERNELS_AT_ONCE], durations[KERNELS_AT_ONCE], uses[KERNELS_AT_ONCE],
      eligible[KERNELS_AT_ONCE];
  double blocks[KERNELS_AT_ONCE], occupancies[KERNELS_AT_ONCE];
  uint32_t devices[KERNELS_AT_ONCE], steps[KERNELS_AT_ONCE];
  string_id kinds[KERNELS_AT_ONCE], compute = derive_known_text(t->profile, "compute");
  block_integers(block, COLUMN_kernels_start_ns, starts);
  block_integers(block, COLUMN_kernels_end_ns, ends);
  block_integers(block, COLUMN_kernels_dur_ns, durations);
  block_integers(block, COLUMN_kernels_uses_tensor_core, uses);
  block_integers(block, COLUMN_kernels_tensor_core_eligible, eligible);
  block_reals(block, COLUMN_kernels_blocks_per_multiprocessor, blocks);
  block_reals(block, COLUMN_kernels_occupancy_ratio, occupancies);
  block_references(block, COLUMN_kernels_device_id, t->devices - 1, devices);
  block_texts(block, COLUMN_kernels_kind, kinds);
  if (t->by_step) block_references(block, COLUMN_kernels_step_id, t->steps - 1, steps);
  for (uint32_t i = 0; i < block->count; i++) {
    uint32_t device = devices[i] == NO_ROW ? t->devices - 1 : devices[i];
    uint32_t step = !t->by_step ? 0 : steps[i] == NO_ROW ? t->steps - 1 : steps[i];
    kernels[i] = (struct kernel){starts[i],      ends[i], durations[i], uses[i], eligible[i], blocks[i],
                                 occupancies[i], device,  step,         kinds[i] == compute && compute};
  }
}

/* Goes on to the next part of a block, from the block before its first. */
static bool next_part(const struct row_block *block, struct row_block *part) {
  uint32_t first = part->segment ? part->first + part->count : block->first, end = block->first + block->count;
  if (first == end) return false;
  *part = *block;
  part->first = first;
  part->count = end - first < KERNELS_AT_ONCE ? end - first : KERNELS_AT_ONCE;
  part->row = block->row + (first - block->first);
  return true;
}

/* Whether each device's kernels come in the order of their starts. */
static enum tfprof_status look_at_order(struct kernel_time *t, struct tfprof_error *error) {
  int64_t *last = scratch_allocate(t->devices * sizeof *last); /* start, by device */
  enum tfprof_status status = last ? TFPROF_OK : error_no_memory(error);
  for (uint32_t i = 0; i < t->devices && last; i++) last[i] = INT64_MIN;
  t->is_ordered = true;
  for (struct row_block block = {0}; derive_next_block(t->profile, TABLE_kernels, &block, &status, error);) {
    int64_t starts[ROWS_BLOCK];
    uint32_t devices[ROWS_BLOCK];
    block_integers(&block, COLUMN_kernels_start_ns, starts);
    block_references(&block, COLUMN_kernels_device_id, t->devices - 1, devices);
    for (uint32_t i = 0; i < block.count && t->is_ordered; i++) {
      int64_t *before = &last[devices[i] == NO_ROW ? t->devices - 1 : devices[i]];
      if (starts[i] == NO_VALUE) continue;
      t->is_ordered = starts[i] >= *before;
      *before = starts[i];
    }
    if (!t->is_ordered) break;
  }
  scratch_free(last);
  return status;
}

static bool has_kernel_of_task(const struct kernel_time *t, const struct row_block *block, size_t task) {
  uint32_t devices[ROWS_BLOCK];
  if (t->tasks == 1) return true;
  block_references(block, COLUMN_kernels_device_id, t->devices - 1, devices);
  for (uint32_t i = 0; i < block->count; i++) {
    if ((devices[i] == NO_ROW ? t->devices - 1 : devices[i]) % t->tasks == task) return true;
  }
  return false;
}

static enum tfprof_status sweep_as_they_are(const struct kernel_time *t, struct device_times *d, size_t task) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(t->profile, TABLE_kernels, &block, &status, NULL);) {
    if (!has_kernel_of_task(t, &block, task)) continue;
    for (struct row_block part = {0}; next_part(&block, &part);) {
      struct kernel kernels[KERNELS_AT_ONCE];
      read_kernels(t, &part, kernels);
      for (uint32_t i = 0; i < part.count; i++) {
        if (kernels[i].device % t->tasks == task && !take_kernel(t, d, &kernels[i])) return TFPROF_NO_MEMORY;
      }
    }
  }
  return status;
}

/* Of all devices. */
static enum tfprof_status sweep_sorted(const struct kernel_time *t, struct device_times *d) {
  struct kernel *kernels = scratch_allocate((size_t)t->rows * sizeof *kernels);
  struct lane_span *spans = scratch_allocate((size_t)t->rows * sizeof *spans);
  enum tfprof_status status = kernels && spans ? TFPROF_OK : TFPROF_NO_MEMORY;
  for (struct row_block block = {0}; derive_next_block(t->profile, TABLE_kernels, &block, &status, NULL);) {
    for (struct row_block part = {0}; next_part(&block, &part);) read_kernels(t, &part, kernels + part.row);
    for (uint32_t i = 0; i < block.count; i++) {
      const struct kernel *kernel = &kernels[block.row + i];
      spans[block.row + i] = (struct lane_span){kernel->start, kernel->end, kernel->device, (uint32_t)block.row + i};
    }
  }
  if (!status) status = lane_span_sort(spans, t->rows, NULL);
  for (uint32_t i = 0; i < t->rows && !status; i++) {
    if (!take_kernel(t, d, &kernels[spans[i].row])) status = TFPROF_NO_MEMORY;
    else if (i % ROWS_BLOCK == 0) status = derive_poll(t->profile, NULL);
  }
  scratch_free(kernels);
  scratch_free(spans);
  return status;
}

static void sweep_devices(void *context, size_t task, unsigned worker) {
  struct kernel_time *t = context;
  struct device_times *d = &t->of_task[task];
  (void)worker;
  d->lanes.width = 1;
  enum tfprof_status status = t->is_ordered ? sweep_as_they_are(t, d, task) : sweep_sorted(t, d);
  for (uint32_t i = 0; i < d->total_count; i++) {
    pass_ends(&d->totals[i], INT64_MAX);
    scratch_free(d->totals[i].running);
  }
  if (status) atomic_store(&t->failure, (int)status);
}

static int by_step_and_device(const void *left, const void *right) {
  const struct time_total *a = left, *b = right;
  if (a->step != b->step) return a->step < b->step ? -1 : 1;
  return a->device < b->device ? -1 : a->device > b->device;
}

static enum tfprof_status find_totals(struct kernel_time *t, struct tfprof_error *error) {
  enum tfprof_status status = look_at_order(t, error);
  if (status) return status;
  t->tasks = !t->is_ordered ? 1 : parallel_workers();
  if (t->tasks > t->devices - 1) t->tasks = t->devices > 1 ? t->devices - 1 : 1;
  derive_parallel(t->rows, t->tasks, sweep_devices, t);
  status = derive_failure(atomic_load(&t->failure), error);
  for (uint32_t i = 0; i < t->tasks; i++) t->total_count += t->of_task[i].total_count;
  t->totals = scratch_allocate(((size_t)t->total_count + 1) * sizeof *t->totals);
  if (!t->totals && !status) status = error_no_memory(error);
  for (uint32_t i = 0, at = 0; i < t->tasks && !status; at += t->of_task[i++].total_count) {
    if (t->of_task[i].total_count)
      memcpy(t->totals + at, t->of_task[i].totals, t->of_task[i].total_count * sizeof *t->totals);
  }
  for (uint32_t i = 0; i < t->tasks; i++) {
    scratch_free(t->of_task[i].totals);
    groups_free(&t->of_task[i].lanes);
  }
  if (!status) qsort(t->totals, t->total_count, sizeof *t->totals, by_step_and_device);
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
  SET_TOTALS(kind, t->profile, table, \
             t->by_step ? COLUMN_step_kernel_totals_##column : COLUMN_device_kernel_totals_##column, expression)
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
  status = find_totals(&t, error);
  if (!status)
    status = derive_make_table(profile, by_step ? TABLE_step_kernel_totals : TABLE_device_kernel_totals, t.total_count,
                               error);
  if (!status) status = set_time_columns(&t, error);
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
