/* calling_ops.c: api_calls.op_id: the innermost op that made a call.
**
** Where the call carries the op's number (CUPTI's external correlation, "External id" of libkineto, which is pushed at
** the start and popped at the end of every op), the op with that number is it - if it ran on the same thread at that
** time. That must be looked at because libkineto before 2022 wrote the call's own correlation where there was no op,
** and the two counts overlap.
**
** Calls without such an op get the innermost op by time on their thread.  They are sorted, and every op looks up which
** of them lie inside it (of several ops the one that began last is the innermost), threads side by side.  Where that
** takes too long - many calls, each in many ops - the ops are sorted as well and one sweep with a stack of the ops that
** have begun does it.
*/
#include "derive/match.h"
#include "derive/passes.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "store/parallel.h"

struct search {
  struct profile *profile;
  uint32_t op_count, thread_count;
  int64_t *starts, *ends; /* of ops, once somebody asks for them in another order than their own */
  uint32_t *threads;
  uint32_t *ops;          /* of calls: the result */
  struct lane_span *loose; /* calls without a known op, by thread and time */
  size_t loose_count;
  struct lane_span *spans; /* ops on the threads of those calls */
  size_t span_count;
};

static enum tfprof_status load_ops(struct search *s, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  if (s->threads) return status;
  status = derive_all_integers(s->profile, TABLE_ops, COLUMN_ops_start_ns, &s->starts, error);
  if (!status) status = derive_all_integers(s->profile, TABLE_ops, COLUMN_ops_end_ns, &s->ends, error);
  if (!status) status = derive_all_references(s->profile, TABLE_ops, COLUMN_ops_thread_id, &s->threads, error);
  return status;
}

static enum tfprof_status by_number(struct search *s, struct tfprof_error *error) {
  struct match match = {.form = MATCH_NOTHING};
  bool have_numbers = derive_has_value(s->profile, TABLE_api_calls, COLUMN_api_calls_op_correlation);
  enum tfprof_status status = have_numbers ? load_ops(s, error) : TFPROF_OK;
  if (!status && have_numbers) status = match_make(&match, s->profile, TABLE_ops, COLUMN_ops_correlation, error);
  for (struct row_block block = {0}; derive_next_block(s->profile, TABLE_api_calls, &block, &status, error);) {
    int64_t numbers[ROWS_BLOCK], times[ROWS_BLOCK];
    uint32_t threads[ROWS_BLOCK], row = (uint32_t)block.row;
    block_integers(&block, COLUMN_api_calls_op_correlation, numbers);
    block_integers(&block, COLUMN_api_calls_start_ns, times);
    block_references(&block, COLUMN_api_calls_thread_id, s->thread_count, threads);
    for (uint32_t k = 0; k < block.count; k++) {
      uint32_t op = numbers[k] == NO_VALUE || numbers[k] == 0 ? NO_ROW : match_find(&match, numbers[k]);
      bool is_it = op < s->op_count && s->threads[op] == threads[k] && s->starts[op] <= times[k] &&
                   times[k] <= s->ends[op] && s->starts[op] != NO_VALUE;
      if (is_it) s->ops[row + k] = op;
      else if (threads[k] != NO_ROW && times[k] != NO_VALUE)
        s->loose[s->loose_count++] = (struct lane_span){times[k], times[k], threads[k], row + k};
    }
  }
  match_free(&match);
  return status;
}

/* The first of the sorted calls `low` ... `high` - 1 that is not before the moment. Ops come in nearly the order of
** time, so it is mostly close to the one found before, `hint`. */
static size_t first_call(const struct lane_span *calls, size_t low, size_t high, size_t hint, int64_t moment) {
  enum { CLOSE = 8 };
  for (unsigned i = 0; i < CLOSE; i++) {
    if (hint > low && calls[hint - 1].start >= moment) {
      high = --hint;
    } else if (hint < high && calls[hint].start < moment) {
      low = ++hint;
    } else {
      return hint;
    }
  }
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (calls[middle].start < moment) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* What one of several looks up: the calls of some of the threads. */
struct looking_up {
  struct search *s;
  size_t *first_of_lane; /* by thread: its first call, and that of the next */
  size_t *hints;         /* by thread: the first call that the last op was looked up for */
  uint8_t *task_of_lane;
  int64_t *best_starts, *best_ends; /* by call: of the op that was found */
  uint64_t budget;                  /* of one task */
  atomic_int failure;               /* an enum tfprof_status */
  atomic_bool takes_too_long;
};

/* The calls in an op. */
static void look_up_op(struct looking_up *l, uint32_t op, uint32_t lane, int64_t start, int64_t end,
                       uint64_t *budget) {
  struct search *s = l->s;
  size_t last = l->first_of_lane[lane + 1];
  size_t at = first_call(s->loose, l->first_of_lane[lane], last, l->hints[lane], start);
  for (l->hints[lane] = at; at < last && s->loose[at].start <= end && *budget; at++, --*budget) {
    uint32_t *best = &s->ops[s->loose[at].row];
    bool is_inner = *best == NO_ROW || start > l->best_starts[at] ||
                    (start == l->best_starts[at] && end <= l->best_ends[at]);
    if (!is_inner) continue;
    *best = op;
    l->best_starts[at] = start;
    l->best_ends[at] = end;
  }
}

static void look_up_lanes(void *context, size_t task, unsigned worker) {
  struct looking_up *l = context;
  struct search *s = l->s;
  uint64_t budget = l->budget;
  enum tfprof_status status = (enum tfprof_status)atomic_load(&l->failure);
  (void)worker;
  for (struct row_block block = {0}; derive_next_block(s->profile, TABLE_ops, &block, &status, NULL);) {
    int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
    uint32_t lanes[ROWS_BLOCK];
    bool is_any = false;
    block_references(&block, COLUMN_ops_thread_id, s->thread_count, lanes);
    for (uint32_t i = 0; i < block.count; i++) {
      bool is_meant = lanes[i] != NO_ROW && l->task_of_lane[lanes[i]] == task;
      if (!is_meant) lanes[i] = NO_ROW;
      is_any |= is_meant;
    }
    if (!is_any) continue;
    block_integers(&block, COLUMN_ops_start_ns, starts);
    block_integers(&block, COLUMN_ops_end_ns, ends);
    for (uint32_t i = 0; i < block.count; i++) {
      if (lanes[i] == NO_ROW || starts[i] == NO_VALUE || ends[i] < starts[i]) continue;
      look_up_op(l, (uint32_t)block.row + i, lanes[i], starts[i], ends[i], &budget);
    }
    if (!budget) {
      atomic_store(&l->takes_too_long, true);
      break;
    }
  }
  if (status) atomic_store(&l->failure, (int)status);
}

/* Gives each thread with calls to the task that has the fewest so far; the others to none. */
static void share_lanes(struct looking_up *l, uint8_t tasks) {
  size_t calls_of[PARALLEL_MAXIMUM_WORKERS] = {0}, at = 0;
  const struct search *s = l->s;
  for (uint32_t lane = 0; lane <= s->thread_count; lane++) {
    while (at < s->loose_count && s->loose[at].lane < lane) at++;
    l->first_of_lane[lane] = l->hints[lane] = at;
  }
  for (uint32_t lane = 0; lane < s->thread_count; lane++) {
    size_t calls = l->first_of_lane[lane + 1] - l->first_of_lane[lane];
    uint8_t least = 0;
    for (uint8_t i = 1; i < tasks; i++) least = calls_of[i] < calls_of[least] ? i : least;
    l->task_of_lane[lane] = calls ? least : tasks;
    calls_of[least] += calls;
  }
}

static enum tfprof_status look_up(struct search *s, bool *is_done, struct tfprof_error *error) {
  struct looking_up l = {.s = s};
  uint8_t tasks = (uint8_t)parallel_workers();
  l.budget = 4 * ((uint64_t)s->op_count + s->loose_count);
  l.first_of_lane = scratch_allocate(((size_t)s->thread_count + 1) * sizeof *l.first_of_lane);
  l.hints = scratch_allocate(((size_t)s->thread_count + 1) * sizeof *l.hints);
  l.task_of_lane = scratch_allocate((size_t)s->thread_count + 1);
  l.best_starts = scratch_allocate(s->loose_count * sizeof *l.best_starts);
  l.best_ends = scratch_allocate(s->loose_count * sizeof *l.best_ends);
  enum tfprof_status status = TFPROF_OK;
  if (l.first_of_lane && l.hints && l.task_of_lane && l.best_starts && l.best_ends) {
    share_lanes(&l, tasks);
    derive_parallel(s->op_count, tasks, look_up_lanes, &l);
    status = derive_failure(atomic_load(&l.failure), error);
  } else {
    status = error_no_memory(error);
  }
  *is_done = !atomic_load(&l.takes_too_long);
  scratch_free(l.first_of_lane);
  scratch_free(l.hints);
  scratch_free(l.task_of_lane);
  scratch_free(l.best_starts);
  scratch_free(l.best_ends);
  return status;
}

static enum tfprof_status by_time(struct search *s, struct tfprof_error *error) {
  uint32_t op_count = s->op_count, thread_count = s->thread_count;
  bool is_done = false;
  enum tfprof_status status = lane_span_sort(s->loose, s->loose_count, error);
  if (!status) status = look_up(s, &is_done, error);
  if (status || is_done) return status;
  status = load_ops(s, error);
  for (size_t i = 0; i < s->loose_count; i++) s->ops[s->loose[i].row] = NO_ROW;
  bool *is_wanted = scratch_allocate_zeroed((size_t)thread_count + 1, sizeof *is_wanted);
  s->spans = scratch_allocate(((size_t)op_count + 1) * sizeof *s->spans);
  uint32_t *stack = scratch_allocate(((size_t)op_count + 1) * sizeof *stack), depth = 0, lane = NO_ROW;
  if (!is_wanted || !s->spans || !stack) status = error_no_memory(error);
  for (size_t i = 0; i < s->loose_count && !status; i++) is_wanted[s->loose[i].lane] = true;
  for (uint32_t op = 0; op < op_count && !status; op++) {
    if (s->threads[op] == NO_ROW || !is_wanted[s->threads[op]] || s->starts[op] == NO_VALUE ||
        s->ends[op] < s->starts[op])
      continue;
    s->spans[s->span_count++] = (struct lane_span){s->starts[op], s->ends[op], s->threads[op], op};
  }
  if (!status) status = lane_span_sort(s->spans, s->span_count, error);
  size_t next = 0;
  for (size_t i = 0; i < s->loose_count && !status; i++) {
    const struct lane_span *call = &s->loose[i];
    if (call->lane != lane) {
      lane = call->lane;
      depth = 0;
      while (next < s->span_count && s->spans[next].lane < lane) next++;
    }
    for (; next < s->span_count && s->spans[next].lane == lane && s->spans[next].start <= call->start; next++) {
      while (depth && s->ends[stack[depth - 1]] <= s->spans[next].start) depth--;
      stack[depth++] = s->spans[next].row;
    }
    while (depth && s->ends[stack[depth - 1]] < call->start) depth--;
    if (depth) s->ops[call->row] = stack[depth - 1];
  }
  scratch_free(is_wanted);
  scratch_free(stack);
  return status;
}

static enum tfprof_status run_calling_ops(struct profile *profile, struct tfprof_error *error) {
  struct search s = {.profile = profile};
  uint32_t call_count;
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &s.op_count, error);
  if (!status) status = derive_row_count(profile, TABLE_threads, &s.thread_count, error);
  if (!status) status = derive_row_count(profile, TABLE_api_calls, &call_count, error);
  if (status || !call_count) return status;
  s.ops = scratch_allocate((size_t)call_count * sizeof *s.ops);
  s.loose = scratch_allocate((size_t)call_count * sizeof *s.loose);
  if (!s.ops || !s.loose) status = error_no_memory(error);
  for (uint32_t i = 0; i < call_count && !status; i++) s.ops[i] = NO_ROW;
  if (!status && s.op_count) status = by_number(&s, error);
  if (!status && s.loose_count) status = by_time(&s, error);
  if (!status) status = derive_set_references(profile, TABLE_api_calls, COLUMN_api_calls_op_id, s.ops, error);
  scratch_free(s.starts);
  scratch_free(s.ends);
  scratch_free(s.threads);
  scratch_free(s.ops);
  scratch_free(s.loose);
  scratch_free(s.spans);
  return status;
}

const struct derive_pass derive_calling_ops = {
    .name = "ops of calls",
    .summary = "The op that made a call: by the number that both carry, else the innermost around it on its thread.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_correlation},
              {TABLE_ops, COLUMN_ops_thread_id},
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_ops, COLUMN_ops_end_ns},
              {TABLE_api_calls, COLUMN_api_calls_op_correlation},
              {TABLE_api_calls, COLUMN_api_calls_thread_id},
              {TABLE_api_calls, COLUMN_api_calls_start_ns}},
    .writes = {{TABLE_api_calls, COLUMN_api_calls_op_id}},
    .run = run_calling_ops,
};
