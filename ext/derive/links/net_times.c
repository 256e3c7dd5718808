/* net_times.c: ops.net_ns, how long an op took without what recording the ops inside it took.
**
** It is its own time and the net times of what it called (ops.self_ns is net already, recording_cost.h), and no more
** than it lasted.  A source that does not tell what recording takes has the durations themselves, in no more memory.
*/
#include "derive/links/ancestors.h"
#include "derive/passes.h"
#include "derive/steps/sampling.h"

static enum tfprof_status share_durations(struct profile *profile, struct tfprof_error *error) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  for (size_t s = 0; s < ops->segment_count; s++) {
    struct segment *segment = ops->segments[s];
    struct column *durations = column_retain(segment->columns[COLUMN_ops_dur_ns]);
    if (segment_set_column(segment, COLUMN_ops_net_ns, durations)) return error_no_memory(error);
  }
  return TFPROF_OK;
}

struct by_depth {
  uint32_t *depths, *order; /* rows, the deepest first */
};

/* A counting sort of the rows that have a parent. */
static uint32_t order_by_depth(const uint32_t *parents, struct by_depth *by, uint32_t *counts, uint32_t deepest,
                               uint32_t rows) {
  uint32_t ordered = 0;
  for (uint32_t row = 0; row < rows; row++) {
    if (parents[row] != NO_ROW) counts[by->depths[row]]++;
  }
  for (uint32_t depth = deepest + 1; depth-- > 0;) {
    uint32_t count = counts[depth];
    counts[depth] = ordered;
    ordered += count;
  }
  for (uint32_t row = 0; row < rows; row++) {
    if (parents[row] != NO_ROW) by->order[counts[by->depths[row]]++] = row;
  }
  return ordered;
}

/* nets[] are own times; each row gives its parent what it is, when all inside it have done so. */
static enum tfprof_status add_net_times(const uint32_t *parents, const int64_t *durations, int64_t *nets,
                                        uint32_t rows, struct tfprof_error *error) {
  struct by_depth by = {.depths = scratch_allocate((size_t)rows * sizeof *by.depths),
                        .order = scratch_allocate((size_t)rows * sizeof *by.order)};
  uint32_t deepest = 0, *counts = NULL;
  if (by.depths && by.order) {
    for (uint32_t row = 0; row < rows; row++) by.depths[row] = UNKNOWN_DEPTH;
    derive_number_depths(parents, by.depths, rows);
    for (uint32_t row = 0; row < rows; row++) {
      if (parents[row] != NO_ROW && by.depths[row] > deepest) deepest = by.depths[row];
    }
    counts = scratch_allocate_zeroed((size_t)deepest + 1, sizeof *counts);
  }
  uint32_t ordered = counts ? order_by_depth(parents, &by, counts, deepest, rows) : 0;
  for (uint32_t i = 0; i < ordered; i++) {
    uint32_t row = by.order[i], parent = parents[row];
    if (nets[row] == NO_VALUE) nets[row] = durations[row];
    if (durations[row] != NO_VALUE && nets[row] > durations[row]) nets[row] = durations[row];
    if (nets[row] == NO_VALUE || nets[parent] == NO_VALUE) continue;
    if (__builtin_add_overflow(nets[parent], nets[row], &nets[parent])) nets[parent] = INT64_MAX;
  }
  for (uint32_t row = 0; row < rows; row++) { /* the outermost */
    if (nets[row] == NO_VALUE || nets[row] > durations[row]) nets[row] = durations[row];
  }
  bool has_memory = counts != NULL;
  scratch_free(by.depths);
  scratch_free(by.order);
  scratch_free(counts);
  return has_memory ? TFPROF_OK : error_no_memory(error);
}

static enum tfprof_status add_all_net_times(struct profile *profile, struct tfprof_error *error) {
  uint32_t rows, *parents = NULL;
  int64_t *durations = NULL, *nets = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &rows, error);
  if (status || !rows) return status;
  status = derive_all_op_parents(profile, &parents, error);
  if (!status) status = derive_all_integers(profile, TABLE_ops, COLUMN_ops_dur_ns, &durations, error);
  if (!status) status = derive_all_integers(profile, TABLE_ops, COLUMN_ops_self_ns, &nets, error);
  if (!status) status = add_net_times(parents, durations, nets, rows, error);
  if (!status) status = derive_set_integers(profile, TABLE_ops, COLUMN_ops_net_ns, nets, error);
  scratch_free(parents);
  scratch_free(durations);
  scratch_free(nets);
  return status;
}

static enum tfprof_status run_net_times(struct profile *profile, struct tfprof_error *error) {
  struct sampling sampling;
  enum tfprof_status status = sampling_load(&sampling, profile, error);
  bool is_told = sampling_op_cost(&sampling) > 0;
  sampling_free(&sampling);
  if (status) return status;
  return is_told ? add_all_net_times(profile, error) : share_durations(profile, error);
}

const struct derive_pass derive_net_times = {
    .name = "net times of ops",
    .summary = "Durations of ops without what recording the ops inside took: own times added up, the deepest first.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_parent_id},
              {TABLE_ops, COLUMN_ops_dur_ns},
              {TABLE_ops, COLUMN_ops_self_ns},
              {TABLE_counters, COLUMN_counters_name},
              {TABLE_counters, COLUMN_counters_time_ns},
              {TABLE_counters, COLUMN_counters_value}},
    .writes = {{TABLE_ops, COLUMN_ops_net_ns}},
    .run = run_net_times,
    .is_alone = true,
};
