/* hung_steps.c: steps.is_hung, whether the process was found hanging while it was in the step (hangs), and nothing else
** went on in it.  What such a step took says nothing of the others.
*/
#include "derive/passes.h"
#include "derive/rows.h"

#include <stdlib.h>

static int hangs_by_time(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

/* When hangs were noticed, in their order. *count: how many. */
static enum tfprof_status list_hangs(struct profile *profile, int64_t **noticed, uint32_t *count,
                                     struct tfprof_error *error) {
  int64_t *working = NULL;
  uint32_t rows, kept = 0;
  *count = 0;
  enum tfprof_status status = derive_row_count(profile, TABLE_hangs, &rows, error);
  if (status || !rows) return status;
  status = derive_all_integers(profile, TABLE_hangs, COLUMN_hangs_noticed_ns, noticed, error);
  if (!status) status = derive_all_integers(profile, TABLE_hangs, COLUMN_hangs_is_working, &working, error);
  for (uint32_t i = 0; i < rows && !status; i++)
    if (working[i] == 0 && (*noticed)[i] != NO_VALUE) (*noticed)[kept++] = (*noticed)[i];
  if (kept) qsort(*noticed, kept, sizeof **noticed, hangs_by_time);
  *count = kept;
  scratch_free(working);
  return status;
}

static bool has_one_within(const int64_t *times, uint32_t count, int64_t start, int64_t end) {
  uint32_t first = 0; /* behind the start */
  for (uint32_t beyond = count; first < beyond;) {
    uint32_t middle = first + (beyond - first) / 2;
    if (times[middle] > start) beyond = middle;
    else first = middle + 1;
  }
  return first < count && times[first] < end;
}

static enum tfprof_status run_hung_steps(struct profile *profile, struct tfprof_error *error) {
  int64_t *noticed = NULL, *starts = NULL, *ends = NULL;
  uint32_t count, hang_count = 0;
  enum tfprof_status status = derive_row_count(profile, TABLE_steps, &count, error);
  if (status || !count) return status;
  int64_t *hung = scratch_allocate_zeroed(count, sizeof *hung);
  if (!hung) status = error_no_memory(error);
  if (!status) status = list_hangs(profile, &noticed, &hang_count, error);
  if (!status && hang_count) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_start_ns, &starts, error);
  if (!status && hang_count) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_end_ns, &ends, error);
  for (uint32_t i = 0; i < count && !status && hang_count; i++) {
    if (starts[i] == NO_VALUE || ends[i] == NO_VALUE) continue;
    hung[i] = has_one_within(noticed, hang_count, starts[i], ends[i]);
  }
  if (!status) status = derive_set_integers(profile, TABLE_steps, COLUMN_steps_is_hung, hung, error);
  scratch_free(hung);
  scratch_free(noticed);
  scratch_free(starts);
  scratch_free(ends);
  return status;
}

const struct derive_pass derive_hung_steps = {
    .name = "hung steps",
    .summary = "Steps in which the process was found hanging.",
    .makes_table = -1,
    .reads = {{TABLE_steps, COLUMN_steps_start_ns},
              {TABLE_steps, COLUMN_steps_end_ns},
              {TABLE_hangs, COLUMN_hangs_noticed_ns},
              {TABLE_hangs, COLUMN_hangs_is_working}},
    .writes = {{TABLE_steps, COLUMN_steps_is_hung}},
    .run = run_hung_steps,
};
