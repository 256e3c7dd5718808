/* device_links.c: from work on a device to the call that launched it, and through it to the op and the step.
**
** Call and work carry the same correlation.  Of a call that launched a graph there are many kernels (1:N); work without
** a call (launched before the recording began) keeps the op that its own op_correlation names.  What the source writes
** as op of a kernel is otherwise not asked: it is that of the call.
*/
#include "derive/match.h"
#include "derive/passes.h"

#include <stdlib.h>

struct link_columns {
  uint16_t table, correlation, op_correlation, start; /* read */
  uint16_t call, op, step;                            /* written */
  int delay;                                          /* written, -1: no such column */
};

struct links {
  uint32_t *calls, *ops, *steps;
  int64_t *delays;
};

static enum tfprof_status set_all(struct profile *profile, const struct link_columns *c, const struct links *l,
                                  struct tfprof_error *error) {
  enum tfprof_status status = derive_set_references(profile, c->table, c->call, l->calls, error);
  if (!status) status = derive_set_references(profile, c->table, c->op, l->ops, error);
  if (!status) status = derive_set_references(profile, c->table, c->step, l->steps, error);
  if (!status && c->delay >= 0) status = derive_set_integers(profile, c->table, (unsigned)c->delay, l->delays, error);
  return status;
}

static enum tfprof_status link_rows(struct profile *profile, const struct link_columns *c, struct tfprof_error *error) {
  const struct profile_table *content = &profile->tables[c->table];
  uint32_t rows, *call_ops = NULL, *call_steps = NULL, *op_steps = NULL;
  int64_t *call_ends = NULL;
  struct match calls = {0}, ops = {0};
  struct links l = {0};
  enum tfprof_status status = derive_row_count(profile, c->table, &rows, error);
  if (status || !rows) return status;
  l.calls = malloc((size_t)rows * sizeof *l.calls);
  l.ops = malloc((size_t)rows * sizeof *l.ops);
  l.steps = malloc((size_t)rows * sizeof *l.steps);
  l.delays = malloc((size_t)rows * sizeof *l.delays);
  if (!l.calls || !l.ops || !l.steps || !l.delays) status = error_no_memory(error);
  for (uint32_t i = 0; i < rows && !status; i++) {
    l.calls[i] = l.ops[i] = l.steps[i] = NO_ROW;
    l.delays[i] = NO_VALUE;
  }
  if (!status) status = match_make(&calls, profile, TABLE_api_calls, COLUMN_api_calls_correlation, error);
  if (!status) status = match_make(&ops, profile, TABLE_ops, COLUMN_ops_correlation, error);
  if (!status) status = derive_all_references(profile, TABLE_api_calls, COLUMN_api_calls_op_id, &call_ops, error);
  if (!status) status = derive_all_references(profile, TABLE_api_calls, COLUMN_api_calls_step_id, &call_steps, error);
  if (!status) status = derive_all_integers(profile, TABLE_api_calls, COLUMN_api_calls_end_ns, &call_ends, error);
  if (!status) status = derive_all_references(profile, TABLE_ops, COLUMN_ops_step_id, &op_steps, error);
  for (size_t s = 0; s < content->segment_count && !status; s++) {
    const struct segment *segment = content->segments[s];
    for (uint32_t first = 0; first < segment->rows && !status; first += ROWS_BLOCK) {
      uint32_t count = segment->rows - first < ROWS_BLOCK ? segment->rows - first : ROWS_BLOCK;
      int64_t numbers[ROWS_BLOCK], op_numbers[ROWS_BLOCK], starts[ROWS_BLOCK];
      derive_integers(segment->columns[c->correlation], first, count, numbers);
      derive_integers(segment->columns[c->op_correlation], first, count, op_numbers);
      derive_integers(segment->columns[c->start], first, count, starts);
      for (uint32_t i = 0; i < count; i++) {
        uint32_t row = (uint32_t)segment->first_row + first + i;
        uint32_t call = numbers[i] == NO_VALUE || numbers[i] == 0 ? NO_ROW : match_find(&calls, numbers[i]);
        if (call != NO_ROW) {
          l.calls[row] = call;
          l.ops[row] = call_ops[call];
          l.steps[row] = call_steps[call];
          /* Times are below 2^62 in every source, but nobody has checked these sums. */
          if (starts[i] != NO_VALUE && call_ends[call] != NO_VALUE &&
              __builtin_sub_overflow(starts[i], call_ends[call], &l.delays[row])) {
            l.delays[row] = NO_VALUE;
          }
        } else if (op_numbers[i] != NO_VALUE && op_numbers[i] != 0 && op_numbers[i] != numbers[i]) {
          uint32_t op = match_find(&ops, op_numbers[i]);
          l.ops[row] = op;
          if (op != NO_ROW) l.steps[row] = op_steps[op];
        }
      }
      status = derive_poll(profile, error);
    }
  }
  if (!status) status = set_all(profile, c, &l, error);
  match_free(&calls);
  match_free(&ops);
  free(call_ops);
  free(call_steps);
  free(call_ends);
  free(op_steps);
  free(l.calls);
  free(l.ops);
  free(l.steps);
  free(l.delays);
  return status;
}

#define SUMMARY "The launching call by correlation, and its op and step."
#define CALL_READS \
  {TABLE_api_calls, COLUMN_api_calls_correlation}, {TABLE_api_calls, COLUMN_api_calls_op_id}, \
      {TABLE_api_calls, COLUMN_api_calls_step_id}, {TABLE_api_calls, COLUMN_api_calls_end_ns}, \
      {TABLE_ops, COLUMN_ops_correlation}, {TABLE_ops, COLUMN_ops_step_id}
#define PASS(table, delay_column, ...) \
  static enum tfprof_status run_##table(struct profile *profile, struct tfprof_error *error) { \
    static const struct link_columns columns = {TABLE_##table, \
                                                COLUMN_##table##_correlation, \
                                                COLUMN_##table##_op_correlation, \
                                                COLUMN_##table##_start_ns, \
                                                COLUMN_##table##_api_call_id, \
                                                COLUMN_##table##_op_id, \
                                                COLUMN_##table##_step_id, \
                                                delay_column}; \
    return link_rows(profile, &columns, error); \
  } \
  const struct derive_pass derive_links_of_##table = { \
      .name = "links of " #table, \
      .summary = SUMMARY, \
      .makes_table = -1, \
      .reads = {CALL_READS, \
                {TABLE_##table, COLUMN_##table##_correlation}, \
                {TABLE_##table, COLUMN_##table##_op_correlation}, \
                {TABLE_##table, COLUMN_##table##_start_ns}}, \
      .writes = {{TABLE_##table, COLUMN_##table##_api_call_id}, \
                 {TABLE_##table, COLUMN_##table##_op_id}, \
                 {TABLE_##table, COLUMN_##table##_step_id}, \
                 __VA_ARGS__}, \
      .run = run_##table, \
      .is_alone = true, \
  };

PASS(kernels, COLUMN_kernels_launch_delay_ns, {TABLE_kernels, COLUMN_kernels_launch_delay_ns})
PASS(transfers, -1, {0, 0})
PASS(syncs, -1, {0, 0})
