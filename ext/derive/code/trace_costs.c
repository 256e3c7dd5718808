/* trace_costs.c: code_traces.op_count, self_ns and backward_ns: what the ops cost that come from a place in the
** program.
**
** One pass over ops adds up, for each trace, the self time of those whose origin it is: of measured steps, weighed by
** ops.sample_weight; ranges, modules and Python frames are no ops here.  There are some thousand traces where there are
** millions of ops, so views by line start from these.
*/
#include "derive/passes.h"
#include "derive/rows.h"

#include <math.h>

struct costs {
  uint32_t trace_count;
  double *counts, *self_ns, *backward_ns; /* by row of code_traces; NAN: nothing yet */
  string_id marks[OP_MARKS];
};

struct cost_block {
  uint32_t traces[ROWS_BLOCK];
  string_id categories[ROWS_BLOCK];
  int64_t is_measured[ROWS_BLOCK], is_backward[ROWS_BLOCK], self_ns[ROWS_BLOCK];
};

static void add_trace_cost(double *sum, double value) { *sum = isnan(*sum) ? value : *sum + value; }

static void add_block(struct costs *costs, struct cost_block *block, const struct segment *segment, uint32_t first) {
  const struct column *weights = segment->columns[COLUMN_ops_sample_weight];
  uint32_t count = derive_block_rows(segment, first);
  derive_references(segment->columns[COLUMN_ops_origin_code_trace_id], first, count, costs->trace_count, block->traces);
  derive_texts(segment->columns[COLUMN_ops_category], first, count, block->categories);
  derive_integers(segment->columns[COLUMN_ops_is_measured], first, count, block->is_measured);
  derive_integers(segment->columns[COLUMN_ops_is_backward], first, count, block->is_backward);
  derive_integers(segment->columns[COLUMN_ops_self_ns], first, count, block->self_ns);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t trace = block->traces[i];
    string_id category = block->categories[i];
    if (trace == NO_ROW || block->is_measured[i] != 1 || !category || derive_is_op_mark(costs->marks, category) ||
        column_is_null(weights, first + i))
      continue;
    double weight = column_real(weights, first + i), time = (double)block->self_ns[i] * weight;
    add_trace_cost(&costs->counts[trace], weight);
    if (block->self_ns[i] == NO_VALUE) continue;
    add_trace_cost(&costs->self_ns[trace], time);
    if (block->is_backward[i] == 1) add_trace_cost(&costs->backward_ns[trace], time);
  }
}

static enum tfprof_status add_ops(struct costs *costs, const struct profile *profile, struct tfprof_error *error) {
  struct cost_block *block = scratch_allocate(sizeof *block);
  enum tfprof_status status = block ? TFPROF_OK : error_no_memory(error);
  for (struct row_block ops = {0}; derive_next_block(profile, TABLE_ops, &ops, &status, error);) {
    add_block(costs, block, ops.segment, ops.first);
  }
  scratch_free(block);
  return status;
}

/* Whole nanoseconds within the limit of durations, as all are: so that a saved copy has the same. */
static enum tfprof_status set_times(struct profile *profile, unsigned column, const double *sums, uint32_t count,
                                    struct tfprof_error *error) {
  int64_t *times = scratch_allocate((size_t)count * sizeof *times);
  if (!times) return error_no_memory(error);
  for (uint32_t i = 0; i < count; i++) {
    double sum = sums[i];
    if (isnan(sum)) times[i] = NO_VALUE;
    else if (fabs(sum) < (double)STORE_TIME_LIMIT) times[i] = llround(sum);
    else times[i] = sum < 0 ? -STORE_TIME_LIMIT : STORE_TIME_LIMIT;
  }
  enum tfprof_status status = derive_set_integers(profile, TABLE_code_traces, column, times, error);
  scratch_free(times);
  return status;
}

static double *make_sums(uint32_t count) {
  double *sums = scratch_allocate(((size_t)count + 1) * sizeof *sums);
  for (uint32_t i = 0; sums && i < count; i++) sums[i] = NAN;
  return sums;
}

static enum tfprof_status run_trace_costs(struct profile *profile, struct tfprof_error *error) {
  struct costs costs = {.trace_count = 0};
  derive_op_marks(profile, costs.marks);
  enum tfprof_status status = derive_row_count(profile, TABLE_code_traces, &costs.trace_count, error);
  if (status || !costs.trace_count) return status;
  costs.counts = make_sums(costs.trace_count);
  costs.self_ns = make_sums(costs.trace_count);
  costs.backward_ns = make_sums(costs.trace_count);
  if (!costs.counts || !costs.self_ns || !costs.backward_ns) status = error_no_memory(error);
  if (!status) status = add_ops(&costs, profile, error);
  if (!status) status = derive_set_reals(profile, TABLE_code_traces, COLUMN_code_traces_op_count, costs.counts, error);
  if (!status) status = set_times(profile, COLUMN_code_traces_self_ns, costs.self_ns, costs.trace_count, error);
  if (!status) status = set_times(profile, COLUMN_code_traces_backward_ns, costs.backward_ns, costs.trace_count, error);
  scratch_free(costs.counts);
  scratch_free(costs.self_ns);
  scratch_free(costs.backward_ns);
  return status;
}

const struct derive_pass derive_trace_costs = {
    .name = "costs of traces",
    .summary = "The ops of measured steps that come from each call stack, and their self time, weighed; one pass.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_origin_code_trace_id},
              {TABLE_ops, COLUMN_ops_category},
              {TABLE_ops, COLUMN_ops_is_measured},
              {TABLE_ops, COLUMN_ops_is_backward},
              {TABLE_ops, COLUMN_ops_sample_weight},
              {TABLE_ops, COLUMN_ops_self_ns}},
    .writes = {{TABLE_code_traces, COLUMN_code_traces_op_count},
               {TABLE_code_traces, COLUMN_code_traces_self_ns},
               {TABLE_code_traces, COLUMN_code_traces_backward_ns}},
    .run = run_trace_costs,
};
