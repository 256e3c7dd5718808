/* calling_ops.c: api_calls.op_id: the innermost op that made a call.
**
** Where the call carries the op's number (CUPTI's external correlation, "External id" of libkineto, which is pushed at
** the start and popped at the end of every op), the op with that number is it - if it ran on the same thread at that
** time. That must be looked at because libkineto before 2022 wrote the call's own correlation where there was no op,
** and the two counts overlap.
**
** A number that names an op of another thread or another time is wrong: the innermost op by time counts then, and how
** many those are is told, since kernels and times would else be of the wrong op. But some writers give the calls of a
** thread another id than its ops: the tracer's own number of the thread, or of the process. It has no ops, so that
** time tells nothing there; where nearly all its calls lie within the ops that their numbers name, it is these.
**
** Calls without such an op get the innermost op by time on their thread (innermost_ops.h), and so do those of which it
** is a mark of the program's: marks push no number, but some writers give them that of the first op inside.
*/
#include "derive/links/innermost_ops.h"
#include "derive/passes.h"

enum { MOST_OUTSIDE = 20 }; /* of so many calls of a thread without ops one may lie outside the op it names */

struct calls {
  struct profile *profile;
  uint32_t op_count, thread_count;
  int64_t *starts, *ends; /* of ops, where calls carry their numbers */
  int64_t *categories;
  uint32_t *threads;
  struct lane_calls {
    bool has_ops;
    uint32_t within, outside; /* calls that lie in the op of another thread that they name, or do not */
  } *lanes;
  uint32_t *ops;           /* of calls: the result */
  struct lane_span *loose; /* calls without a known op */
  size_t loose_count;
  int64_t wrong; /* calls whose number names an op that did not make them */
};

static enum tfprof_status load_ops(struct calls *c, struct tfprof_error *error) {
  enum tfprof_status status = derive_all_integers(c->profile, TABLE_ops, COLUMN_ops_start_ns, &c->starts, error);
  if (!status) status = derive_all_integers(c->profile, TABLE_ops, COLUMN_ops_end_ns, &c->ends, error);
  if (!status) status = derive_all_integers(c->profile, TABLE_ops, COLUMN_ops_category, &c->categories, error);
  if (!status) status = derive_all_references(c->profile, TABLE_ops, COLUMN_ops_thread_id, &c->threads, error);
  return status;
}

/* Whether the calls of a thread are of ops that have another id of it. */
static bool is_lane_of_others(const struct lane_calls *lane) {
  return !lane->has_ops && lane->within && lane->outside <= lane->within / MOST_OUTSIDE;
}

static enum tfprof_status by_number(struct calls *c, struct tfprof_error *error) {
  struct match match = {.form = MATCH_NOTHING};
  string_id user = derive_known_text(c->profile, "user");
  bool have_numbers = derive_has_value(c->profile, TABLE_api_calls, COLUMN_api_calls_op_correlation);
  enum tfprof_status status = have_numbers ? load_ops(c, error) : TFPROF_OK;
  if (!status && have_numbers) status = match_make(&match, c->profile, TABLE_ops, COLUMN_ops_correlation, error);
  for (struct row_block block = {0}; derive_next_block(c->profile, TABLE_api_calls, &block, &status, error);) {
    int64_t numbers[ROWS_BLOCK], times[ROWS_BLOCK], own[ROWS_BLOCK];
    uint32_t threads[ROWS_BLOCK], row = (uint32_t)block.row;
    block_integers(&block, COLUMN_api_calls_op_correlation, numbers);
    block_integers(&block, COLUMN_api_calls_start_ns, times);
    block_integers(&block, COLUMN_api_calls_correlation, own);
    block_references(&block, COLUMN_api_calls_thread_id, c->thread_count, threads);
    for (uint32_t k = 0; k < block.count; k++) {
      uint32_t op = numbers[k] == NO_VALUE || numbers[k] == 0 ? NO_ROW : match_find(&match, numbers[k]);
      bool is_op = op < c->op_count && c->starts[op] != NO_VALUE && c->categories[op] != user;
      bool is_before = is_op && c->ends[op] != NO_VALUE && c->ends[op] < times[k]; /* an end may be lost */
      bool is_within = is_op && c->starts[op] <= times[k] && !is_before;
      bool is_it = is_within && c->threads[op] == threads[k];
      bool is_wrong = is_op && !is_it && numbers[k] != own[k] && threads[k] != NO_ROW && times[k] != NO_VALUE;
      c->wrong += is_wrong;
      if (is_wrong && is_within) c->lanes[threads[k]].within++;
      else if (is_wrong) c->lanes[threads[k]].outside++;
      if (is_it || (is_wrong && is_within)) c->ops[row + k] = op; /* by_time() decides on the latter */
      if (!is_it && threads[k] != NO_ROW && times[k] != NO_VALUE)
        c->loose[c->loose_count++] = (struct lane_span){times[k], times[k], threads[k], row + k};
    }
  }
  match_free(&match);
  for (uint32_t i = 0; i < c->op_count && c->wrong && !status; i++) {
    if (c->threads[i] < c->thread_count && c->categories[i] != user) c->lanes[c->threads[i]].has_ops = true;
  }
  for (uint32_t i = 0; i < c->thread_count && !status; i++) {
    if (is_lane_of_others(&c->lanes[i])) c->wrong -= c->lanes[i].within;
  }
  return status;
}

static const char *const wrong_texts[] = {
    "warning", "wrong_op_numbers",
    "calls whose External id names an op of another thread or another time: they, and what they launched, count for "
    "the innermost op around them", NULL};

static void tell_wrong(const struct calls *c) {
  struct profile_table *calls = &c->profile->tables[TABLE_api_calls];
  if (!c->wrong) return;
  segment_diagnose(calls->segments[0], COLUMN_api_calls_op_id, wrong_texts[0], wrong_texts[1], c->wrong, -1, "%s",
                   wrong_texts[2]);
  column_set_add(&calls->segments[0]->is_told, COLUMN_api_calls_op_id);
}

static enum tfprof_status by_time(struct calls *c, struct tfprof_error *error) {
  uint32_t *ops = scratch_allocate(c->loose_count * sizeof *ops);
  enum tfprof_status status = ops ? lane_span_sort(c->loose, c->loose_count, error) : error_no_memory(error);
  if (!status) status = innermost_ops_find(c->profile, c->loose, c->loose_count, ops, error);
  for (size_t i = 0; i < c->loose_count && !status; i++) {
    uint32_t *op = &c->ops[c->loose[i].row];
    if (*op == NO_ROW || !is_lane_of_others(&c->lanes[c->loose[i].lane])) *op = ops[i];
  }
  scratch_free(ops);
  return status;
}

static enum tfprof_status run_calling_ops(struct profile *profile, struct tfprof_error *error) {
  struct calls c = {.profile = profile};
  uint32_t call_count;
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &c.op_count, error);
  if (!status) status = derive_row_count(profile, TABLE_threads, &c.thread_count, error);
  if (!status) status = derive_row_count(profile, TABLE_api_calls, &call_count, error);
  if (status || !call_count) return status;
  c.ops = scratch_allocate((size_t)call_count * sizeof *c.ops);
  c.loose = scratch_allocate((size_t)call_count * sizeof *c.loose);
  c.lanes = scratch_allocate_zeroed((size_t)c.thread_count + 1, sizeof *c.lanes);
  if (!c.ops || !c.loose || !c.lanes) status = error_no_memory(error);
  for (uint32_t i = 0; i < call_count && !status; i++) c.ops[i] = NO_ROW;
  if (!status && c.op_count) status = by_number(&c, error);
  if (!status && c.loose_count) status = by_time(&c, error);
  if (!status) status = derive_set_references(profile, TABLE_api_calls, COLUMN_api_calls_op_id, c.ops, error);
  if (!status) tell_wrong(&c);
  scratch_free(c.starts);
  scratch_free(c.ends);
  scratch_free(c.categories);
  scratch_free(c.threads);
  scratch_free(c.lanes);
  scratch_free(c.ops);
  scratch_free(c.loose);
  return status;
}

const struct derive_pass derive_calling_ops = {
    .name = "ops of calls",
    .summary = "The op that made a call: by the number that both carry, else the innermost around it on its thread.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_correlation},
              {TABLE_ops, COLUMN_ops_category},
              {TABLE_ops, COLUMN_ops_thread_id},
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_ops, COLUMN_ops_end_ns},
              {TABLE_api_calls, COLUMN_api_calls_correlation},
              {TABLE_api_calls, COLUMN_api_calls_op_correlation},
              {TABLE_api_calls, COLUMN_api_calls_thread_id},
              {TABLE_api_calls, COLUMN_api_calls_start_ns}},
    .writes = {{TABLE_api_calls, COLUMN_api_calls_op_id}},
    .run = run_calling_ops,
    .has_diagnostics = true,
    .texts = wrong_texts,
};
