/* device_steps.c: the table device_steps: when the work that a step launched ran on a device, and for how long.
**
** One row for each step and device with kernels, copies or fills of the step; waits are no work.  They are sorted by
** step, device and start, and swept.
*/
#include "derive/match.h"
#include "derive/passes.h"

struct row { uint32_t step, device; int64_t start, end, busy; };

static enum tfprof_status collect_device_work(struct profile *profile, unsigned table, const uint16_t columns[4],
                                              uint32_t devices, struct lane_span *spans, uint32_t *count,
                                              struct tfprof_error *error) {
  uint32_t rows, *steps = NULL, *of_device = NULL;
  int64_t *starts = NULL, *ends = NULL;
  enum tfprof_status status = derive_row_count(profile, table, &rows, error);
  if (!status) status = derive_all_references(profile, table, columns[0], &steps, error);
  if (!status) status = derive_all_references(profile, table, columns[1], &of_device, error);
  if (!status) status = derive_all_integers(profile, table, columns[2], &starts, error);
  if (!status) status = derive_all_integers(profile, table, columns[3], &ends, error);
  for (uint32_t row = 0; row < rows && !status; row++) {
    bool is_known =
        steps[row] != NO_ROW && of_device[row] != NO_ROW && starts[row] != NO_VALUE && ends[row] != NO_VALUE;
    if (is_known && ends[row] >= starts[row])
      spans[(*count)++] = (struct lane_span){starts[row], ends[row], steps[row] * devices + of_device[row], row};
  }
  scratch_free(steps);
  scratch_free(of_device);
  scratch_free(starts);
  scratch_free(ends);
  return status;
}

/* Makes rows of the sorted spans in place; returns their number. */
static uint32_t sweep(const struct lane_span *spans, uint32_t count, uint32_t devices, struct row *rows) {
  uint32_t made = 0;
  for (uint32_t i = 0; i < count; i++) {
    struct row *row = made ? &rows[made - 1] : NULL;
    if (!row || spans[i].lane != spans[i - 1].lane) {
      row = &rows[made++];
      *row = (struct row){spans[i].lane / devices, spans[i].lane % devices, spans[i].start, spans[i].start, 0};
    }
    if (spans[i].end <= row->end) continue;
    int64_t more = derive_difference(spans[i].end, spans[i].start > row->end ? spans[i].start : row->end);
    row->busy = (int64_t)((uint64_t)row->busy + (uint64_t)more);
    row->end = spans[i].end;
  }
  return made;
}

static enum tfprof_status set_device_step_columns(struct profile *profile, const struct row *rows, uint32_t count,
                                                  struct tfprof_error *error) {
  uint32_t *references = scratch_allocate(((size_t)count + 1) * sizeof *references);
  int64_t *integers = scratch_allocate(((size_t)count + 1) * sizeof *integers);
  enum tfprof_status status = references && integers ? TFPROF_OK : error_no_memory(error);
  if (!status) status = derive_make_table(profile, TABLE_device_steps, count, error);
#define SET(kind, column, array, expression) \
  for (uint32_t i = 0; i < count && !status; i++) array[i] = (expression); \
  if (!status) status = derive_set_##kind(profile, TABLE_device_steps, COLUMN_device_steps_##column, array, error)
  SET(references, step_id, references, rows[i].step);
  SET(references, device_id, references, rows[i].device);
  SET(integers, start_ns, integers, rows[i].start);
  SET(integers, end_ns, integers, rows[i].end);
  SET(integers, dur_ns, integers, derive_difference(rows[i].end, rows[i].start));
  SET(integers, busy_ns, integers, rows[i].busy);
#undef SET
  scratch_free(references);
  scratch_free(integers);
  return status;
}

static enum tfprof_status run_device_steps(struct profile *profile, struct tfprof_error *error) {
  static const uint16_t of_kernels[4] = {COLUMN_kernels_step_id, COLUMN_kernels_device_id, COLUMN_kernels_start_ns,
                                         COLUMN_kernels_end_ns};
  static const uint16_t of_transfers[4] = {COLUMN_transfers_step_id, COLUMN_transfers_device_id,
                                           COLUMN_transfers_start_ns, COLUMN_transfers_end_ns};
  uint32_t kernels, transfers, steps, devices, count = 0;
  enum tfprof_status status = derive_row_count(profile, TABLE_kernels, &kernels, error);
  if (!status) status = derive_row_count(profile, TABLE_transfers, &transfers, error);
  if (!status) status = derive_row_count(profile, TABLE_steps, &steps, error);
  if (!status) status = derive_row_count(profile, TABLE_devices, &devices, error);
  if (status || !steps || !devices) return status;
  if ((uint64_t)steps * devices >= NO_ROW)
    return error_set(error, TFPROF_LIMIT, "%u steps on %u devices are too many", steps, devices);
  size_t all = (size_t)kernels + transfers;
  struct lane_span *spans = scratch_allocate((all + 1) * sizeof *spans);
  struct row *rows = scratch_allocate((all + 1) * sizeof *rows);
  if (!spans || !rows) status = error_no_memory(error);
  if (!status) status = collect_device_work(profile, TABLE_kernels, of_kernels, devices, spans, &count, error);
  if (!status) status = collect_device_work(profile, TABLE_transfers, of_transfers, devices, spans, &count, error);
  if (!status) status = lane_span_sort(spans, count, error);
  if (!status && count) status = set_device_step_columns(profile, rows, sweep(spans, count, devices, rows), error);
  scratch_free(spans);
  scratch_free(rows);
  return status;
}

const struct derive_pass derive_device_steps = {
    .name = "device steps",
    .summary = "The span and the union of the work of each step on each device, by a sweep in the order of starts.",
    .makes_table = TABLE_device_steps,
    .reads = {{TABLE_kernels, COLUMN_kernels_step_id},
              {TABLE_kernels, COLUMN_kernels_device_id},
              {TABLE_kernels, COLUMN_kernels_start_ns},
              {TABLE_kernels, COLUMN_kernels_end_ns},
              {TABLE_transfers, COLUMN_transfers_step_id},
              {TABLE_transfers, COLUMN_transfers_device_id},
              {TABLE_transfers, COLUMN_transfers_start_ns},
              {TABLE_transfers, COLUMN_transfers_end_ns},
              {TABLE_steps, COLUMN_steps_start_ns},
              {TABLE_devices, COLUMN_devices_ordinal}},
    .run = run_device_steps,
};
