/* step_paces.c: steps.pace_ns, how long steps take of a loop whose host runs ahead of its device (step_reach.h).
**
** Where the source numbers its steps, as XPlane does, these are its own, and the pass has nothing to do.
*/
#include "derive/passes.h"
#include "derive/time/step_reach.h"

static enum tfprof_status run_step_paces(struct profile *profile, struct tfprof_error *error) {
  struct step_reach reach;
  uint32_t rows;
  enum tfprof_status status = derive_row_count(profile, TABLE_steps, &rows, error);
  if (!status) status = step_reach_find(profile, &reach, error);
  if (status || !reach.starts) return status;
  int64_t *paces = reach.ends;
  for (uint32_t row = 0; row < rows; row++)
    if (paces[row] != NO_VALUE) paces[row] = derive_difference(paces[row], reach.starts[row]);
  status = derive_set_integers(profile, TABLE_steps, COLUMN_steps_pace_ns, paces, error);
  step_reach_free(&reach);
  return status;
}

static bool has_no_device_pace(const struct profile *profile) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  if (!profile->tables[TABLE_kernels].rows) return true;
  return ops->segment_count && column_set_has(&ops->segments[0]->is_raw, COLUMN_ops_marked_step);
}

const struct derive_pass derive_step_paces = {
    .name = "paces of steps",
    .summary = "From the end of a step's work on main streams to the end of the next one's, where the host runs ahead.",
    .makes_table = -1,
    .is_idle = has_no_device_pace,
    .reads = {STEP_REACH_READS},
    .writes = {{TABLE_steps, COLUMN_steps_pace_ns}},
    .run = run_step_paces,
};
