/* step_paces.c: steps.pace_ns, how long steps take of a loop whose host runs ahead of its device.
**
** Such a host hands out the work of a step in less time than the device needs for it, as long as there is room in the
** device's queue: in a short recording its steps are as short as launching is.  What a step takes then is the time from
** the end of the work of the step before it to the end of its own (or to its end on the host, where that is later), of
** the first step from the start of its work, or its duration, if that is longer.  That is so where the work of all
** steps together ends later than the host, by a fifth of the host's time, and nearly all steps have work that was
** recorded.  Where the source numbers its steps, as XPlane does, these are its own, and the pass has nothing to do.
*/
#include "derive/passes.h"
#include "derive/rows.h"

#include <stdlib.h>

struct paced {
  int64_t start, end, device_start, device_end; /* NO_VALUE */
  uint32_t row;
};

static int paced_by_start(const void *left, const void *right) {
  const struct paced *a = left, *b = right;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

static enum tfprof_status add_device_work(struct paced *steps, uint32_t count, struct profile *profile,
                                          struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_device_steps, &block, &status, error);) {
    int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
    uint32_t of_steps[ROWS_BLOCK];
    block_integers(&block, COLUMN_device_steps_start_ns, starts);
    block_integers(&block, COLUMN_device_steps_end_ns, ends);
    block_references(&block, COLUMN_device_steps_step_id, count, of_steps);
    for (uint32_t i = 0; i < block.count; i++) {
      if (of_steps[i] == NO_ROW || starts[i] == NO_VALUE || ends[i] == NO_VALUE) continue;
      struct paced *step = &steps[of_steps[i]];
      if (step->device_start == NO_VALUE || starts[i] < step->device_start) step->device_start = starts[i];
      if (step->device_end == NO_VALUE || ends[i] > step->device_end) step->device_end = ends[i];
    }
  }
  return status;
}

/* Of steps by their start; false: the host does not run ahead. */
static bool find_paces(const struct paced *steps, uint32_t count, int64_t *paces) {
  uint32_t with_work = 0;
  int64_t until = NO_VALUE, host_end = NO_VALUE;
  for (uint32_t i = 0; i < count; i++) {
    const struct paced *step = &steps[i];
    bool has_work = step->device_end != NO_VALUE;
    int64_t end = has_work && step->device_end > step->end ? step->device_end : step->end;
    int64_t before = until != NO_VALUE ? until : has_work ? step->device_start : step->start;
    int64_t start = step->start > before ? step->start : before;
    with_work += has_work;
    if (until == NO_VALUE || end > until) until = end;
    if (host_end == NO_VALUE || step->end > host_end) host_end = step->end;
    paces[step->row] = until > start ? derive_difference(until, start) : 0;
    int64_t duration = derive_difference(step->end, step->start);
    if (!i && paces[step->row] < duration) paces[step->row] = duration;
  }
  if (!count || (uint64_t)with_work * 10 < (uint64_t)count * 9) return false;
  return derive_difference(until, host_end) > derive_difference(host_end, steps[0].start) / 5;
}

static enum tfprof_status run_step_paces(struct profile *profile, struct tfprof_error *error) {
  int64_t *starts = NULL, *ends = NULL;
  uint32_t rows, count = 0;
  enum tfprof_status status = derive_row_count(profile, TABLE_steps, &rows, error);
  if (status || !rows || !profile->tables[TABLE_device_steps].rows) return status;
  struct paced *steps = scratch_allocate((size_t)rows * sizeof *steps);
  int64_t *paces = scratch_allocate((size_t)rows * sizeof *paces);
  if (!steps || !paces) status = error_no_memory(error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_start_ns, &starts, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_end_ns, &ends, error);
  for (uint32_t row = 0; row < rows && !status; row++) {
    steps[row] = (struct paced){starts[row], ends[row], NO_VALUE, NO_VALUE, row};
    paces[row] = NO_VALUE;
  }
  if (!status) status = add_device_work(steps, rows, profile, error);
  for (uint32_t row = 0; row < rows && !status; row++) {
    if (steps[row].start != NO_VALUE && steps[row].end != NO_VALUE) steps[count++] = steps[row];
  }
  if (!status) qsort(steps, count, sizeof *steps, paced_by_start);
  if (!status && find_paces(steps, count, paces))
    status = derive_set_integers(profile, TABLE_steps, COLUMN_steps_pace_ns, paces, error);
  scratch_free(steps);
  scratch_free(paces);
  scratch_free(starts);
  scratch_free(ends);
  return status;
}

static bool has_no_device_pace(const struct profile *profile) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  if (!profile->tables[TABLE_kernels].rows) return true;
  return ops->segment_count && column_set_has(&ops->segments[0]->is_raw, COLUMN_ops_marked_step);
}

const struct derive_pass derive_step_paces = {
    .name = "paces of steps",
    .summary = "From the end of a step's work on devices to the end of the next one's, where the host runs ahead.",
    .makes_table = -1,
    .is_idle = has_no_device_pace,
    .reads = {{TABLE_steps, COLUMN_steps_start_ns},
              {TABLE_steps, COLUMN_steps_end_ns},
              {TABLE_device_steps, COLUMN_device_steps_step_id},
              {TABLE_device_steps, COLUMN_device_steps_start_ns},
              {TABLE_device_steps, COLUMN_device_steps_end_ns}},
    .writes = {{TABLE_steps, COLUMN_steps_pace_ns}},
    .run = run_step_paces,
};
