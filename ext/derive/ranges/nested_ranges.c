/* nested_ranges.c: parent_id, depth and step_id of ranges that the source itself has as ranges.
**
** On each thread or stream the ranges are gone through in the order of their starts, of those that start together the
** longer one first: the parent is the innermost open one that does not end before.  Ranges that may end on another
** thread, or have no thread, start or end, nest with nothing.  The step is the one in whose span a range of a host
** thread began; marks on a stream belong to a step by what they enclose, which is not known here.
**
** Ranges that were made from ops get theirs where they are made (ranges.c).
*/
#include "derive/match.h"
#include "derive/passes.h"
#include "derive/steps/step_lookup.h"

struct nested {
  uint32_t *threads, *parents, *steps;
  int64_t *starts, *ends, *process_wide, *lane_streams, *depths;
};

static enum tfprof_status nest(const struct nested *n, uint32_t rows, struct tfprof_error *error) {
  struct lane_span *spans = scratch_allocate((size_t)rows * sizeof *spans);
  uint32_t *open = scratch_allocate((size_t)rows * sizeof *open), count = 0, depth = 0;
  enum tfprof_status status = spans && open ? TFPROF_OK : error_no_memory(error);
  for (uint32_t row = 0; row < rows && !status; row++) {
    n->parents[row] = NO_ROW;
    n->depths[row] = NO_VALUE;
    bool is_wide = n->process_wide[row] != NO_VALUE && n->process_wide[row];
    if (is_wide || n->threads[row] == NO_ROW || n->starts[row] == NO_VALUE || n->ends[row] == NO_VALUE ||
        n->ends[row] < n->starts[row])
      continue;
    spans[count++] = (struct lane_span){n->starts[row], n->ends[row], n->threads[row], row};
  }
  if (!status) status = lane_span_sort(spans, count, error);
  for (uint32_t i = 0; i < count && !status; i++) {
    if (i && spans[i].lane != spans[i - 1].lane) depth = 0;
    while (depth && (spans[open[depth - 1]].end < spans[i].end || spans[open[depth - 1]].end <= spans[i].start))
      depth--;
    if (depth) n->parents[spans[i].row] = spans[open[depth - 1]].row;
    n->depths[spans[i].row] = depth;
    open[depth++] = i;
  }
  scratch_free(spans);
  scratch_free(open);
  return status;
}

static enum tfprof_status run_nested_ranges(struct profile *profile, struct tfprof_error *error) {
  static const unsigned table = TABLE_ranges;
  struct nested n = {0};
  struct step_lookup lookup = {0};
  uint32_t rows;
  enum tfprof_status status = derive_row_count(profile, TABLE_ranges, &rows, error);
  if (status || !rows || profile->tables[TABLE_ranges].is_made) return status;
  status = derive_all_references(profile, table, COLUMN_ranges_thread_id, &n.threads, error);
  if (!status) status = derive_all_integers(profile, table, COLUMN_ranges_start_ns, &n.starts, error);
  if (!status) status = derive_all_integers(profile, table, COLUMN_ranges_end_ns, &n.ends, error);
  if (!status) status = derive_all_integers(profile, table, COLUMN_ranges_is_process_wide, &n.process_wide, error);
  if (!status) status = derive_all_integers(profile, TABLE_threads, COLUMN_threads_stream, &n.lane_streams, error);
  if (!status) status = step_lookup_of_profile(&lookup, profile, error);
  n.parents = scratch_allocate((size_t)rows * sizeof *n.parents);
  n.steps = scratch_allocate((size_t)rows * sizeof *n.steps);
  n.depths = scratch_allocate((size_t)rows * sizeof *n.depths);
  if (!status && (!n.parents || !n.steps || !n.depths)) status = error_no_memory(error);
  if (!status) status = nest(&n, rows, error);
  for (uint32_t row = 0; row < rows && !status; row++) {
    bool is_on_stream = n.threads[row] != NO_ROW && n.lane_streams[n.threads[row]] != NO_VALUE;
    bool has_step = lookup.count && !is_on_stream && n.starts[row] != NO_VALUE;
    n.steps[row] = has_step ? step_lookup_find(&lookup, n.starts[row]) : NO_ROW;
  }
  if (!status) status = derive_set_references(profile, table, COLUMN_ranges_parent_id, n.parents, error);
  if (!status) status = derive_set_integers(profile, table, COLUMN_ranges_depth, n.depths, error);
  if (!status) status = derive_set_references(profile, table, COLUMN_ranges_step_id, n.steps, error);
  step_lookup_free(&lookup);
  scratch_free(n.threads);
  scratch_free(n.parents);
  scratch_free(n.steps);
  scratch_free(n.starts);
  scratch_free(n.ends);
  scratch_free(n.process_wide);
  scratch_free(n.lane_streams);
  scratch_free(n.depths);
  return status;
}

const struct derive_pass derive_nested_ranges = {
    .name = "nested ranges",
    .summary =
        "Ranges of the source: parents by a stack over each thread in the order of starts, steps by their start.",
    .makes_table = -1,
    .reads = {{TABLE_ranges, COLUMN_ranges_thread_id},
              {TABLE_ranges, COLUMN_ranges_start_ns},
              {TABLE_ranges, COLUMN_ranges_end_ns},
              {TABLE_ranges, COLUMN_ranges_is_process_wide},
              {TABLE_threads, COLUMN_threads_stream},
              {TABLE_steps, COLUMN_steps_start_ns},
              {TABLE_steps, COLUMN_steps_end_ns}},
    .writes = {{TABLE_ranges, COLUMN_ranges_parent_id},
               {TABLE_ranges, COLUMN_ranges_depth},
               {TABLE_ranges, COLUMN_ranges_step_id}},
    .run = run_nested_ranges,
};
