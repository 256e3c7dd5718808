/* call_time.c: api_calls.op_ns, what a call took of the own time of the op that made it.
**
** An op's time without its calls is never below 0 this way, whatever the source says of them: calls inside calls (the
** driver's in the runtime's) count once; a call whose number names an op counts there only where that op is also the
** innermost row around it, for else its time is no own time of that op already; what reaches beyond the op's end, or
** beyond its own time, is left out.
*/
#include "derive/links/innermost_ops.h"
#include "derive/passes.h"

struct call_time {
  struct profile *profile;
  uint32_t op_count, call_count, thread_count;
  struct lane_span *calls; /* in order of thread and start, `count` of them */
  size_t count;
  uint32_t *around;   /* of `calls`: the innermost row of ops */
  uint32_t *made_by;  /* of calls: api_calls.op_id */
  int64_t *left;      /* of ops: own time that no call has taken yet */
  int64_t *ends;      /* of ops */
  int64_t *times;     /* of calls: the result */
};

static enum tfprof_status gather_calls(struct call_time *c, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(c->profile, TABLE_api_calls, &block, &status, error);) {
    int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
    uint32_t threads[ROWS_BLOCK];
    block_integers(&block, COLUMN_api_calls_start_ns, starts);
    block_integers(&block, COLUMN_api_calls_end_ns, ends);
    block_references(&block, COLUMN_api_calls_thread_id, c->thread_count, threads);
    for (uint32_t k = 0; k < block.count; k++) {
      uint32_t row = (uint32_t)block.row + k;
      c->times[row] = c->made_by[row] == NO_ROW ? NO_VALUE : 0;
      bool is_known = threads[k] != NO_ROW && starts[k] != NO_VALUE && ends[k] != NO_VALUE && ends[k] >= starts[k];
      if (is_known) c->calls[c->count++] = (struct lane_span){starts[k], ends[k], threads[k], row};
    }
  }
  return status;
}

/* In order of thread and start, so that what lies in an earlier call of the thread is passed over. */
static void share_time(const struct call_time *c) {
  int64_t done = INT64_MIN;
  for (size_t i = 0; i < c->count; i++) {
    const struct lane_span *call = &c->calls[i];
    if (!i || call->lane != c->calls[i - 1].lane) done = INT64_MIN;
    int64_t start = call->start > done ? call->start : done;
    if (call->end > done) done = call->end;
    uint32_t op = c->made_by[call->row];
    if (op == NO_ROW || op != c->around[i] || c->left[op] == NO_VALUE || c->ends[op] == NO_VALUE) continue;
    int64_t end = call->end < c->ends[op] ? call->end : c->ends[op];
    if (end <= start) continue;
    int64_t time = derive_difference(end, start);
    if (time > c->left[op]) time = c->left[op] > 0 ? c->left[op] : 0;
    c->left[op] -= time;
    c->times[call->row] = time;
  }
}

static enum tfprof_status run_call_time(struct profile *profile, struct tfprof_error *error) {
  struct call_time c = {.profile = profile};
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &c.op_count, error);
  if (!status) status = derive_row_count(profile, TABLE_threads, &c.thread_count, error);
  if (!status) status = derive_row_count(profile, TABLE_api_calls, &c.call_count, error);
  if (status || !c.call_count) return status;
  status = derive_all_references(profile, TABLE_api_calls, COLUMN_api_calls_op_id, &c.made_by, error);
  if (!status) status = derive_all_integers(profile, TABLE_ops, COLUMN_ops_self_ns, &c.left, error);
  if (!status) status = derive_all_integers(profile, TABLE_ops, COLUMN_ops_end_ns, &c.ends, error);
  c.calls = scratch_allocate((size_t)c.call_count * sizeof *c.calls);
  c.around = scratch_allocate((size_t)c.call_count * sizeof *c.around);
  c.times = scratch_allocate((size_t)c.call_count * sizeof *c.times);
  if (!status && (!c.calls || !c.around || !c.times)) status = error_no_memory(error);
  if (!status) status = gather_calls(&c, error);
  if (!status && c.count) {
    status = lane_span_sort(c.calls, c.count, error);
    if (!status) status = innermost_ops_find(profile, c.calls, c.count, c.around, error);
    if (!status) share_time(&c);
  }
  if (!status) status = derive_set_integers(profile, TABLE_api_calls, COLUMN_api_calls_op_ns, c.times, error);
  scratch_free(c.calls);
  scratch_free(c.around);
  scratch_free(c.times);
  scratch_free(c.made_by);
  scratch_free(c.left);
  scratch_free(c.ends);
  return status;
}

const struct derive_pass derive_call_time = {
    .name = "own time of ops in calls",
    .summary = "Calls on each thread in order, each once, taken off the own time of the innermost op around them.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_thread_id},
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_ops, COLUMN_ops_end_ns},
              {TABLE_ops, COLUMN_ops_self_ns},
              {TABLE_api_calls, COLUMN_api_calls_op_id},
              {TABLE_api_calls, COLUMN_api_calls_thread_id},
              {TABLE_api_calls, COLUMN_api_calls_start_ns},
              {TABLE_api_calls, COLUMN_api_calls_end_ns}},
    .writes = {{TABLE_api_calls, COLUMN_api_calls_op_ns}},
    .run = run_call_time,
};
