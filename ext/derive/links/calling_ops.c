/* calling_ops.c: api_calls.op_id: the innermost op that made a call.
**
** Where the call carries the op's number (CUPTI's external correlation, "External id" of libkineto, which is pushed at
** the start and popped at the end of every op), the op with that number is it - if it ran on the same thread at that
** time. That must be looked at because libkineto before 2022 wrote the call's own correlation where there was no op,
** and the two counts overlap.
**
** Calls without such an op get the innermost op by time on their thread.  They are few as a rule: they are sorted, and
** every op looks up which of them lie inside it (of several ops the one that began last is the innermost).  Where that
** takes too long - many calls, each in many ops - the ops are sorted as well and one sweep with a stack of the ops that
** have begun does it.
*/
#include "derive/match.h"
#include "derive/passes.h"

#include <stdlib.h>

struct search {
  struct profile *profile;
  int64_t *starts, *ends; /* of ops */
  uint32_t *threads;
  uint32_t *ops;          /* of calls: the result */
  struct lane_span *loose; /* calls without a known op */
  size_t loose_count;
  struct lane_span *spans; /* ops on the threads of those calls */
  size_t span_count;
};

static enum tfprof_status by_number(struct search *s, uint32_t op_count, struct tfprof_error *error) {
  struct match match;
  enum tfprof_status status = match_make(&match, s->profile, TABLE_ops, COLUMN_ops_correlation, error);
  const struct profile_table *calls = &s->profile->tables[TABLE_api_calls];
  uint32_t thread_count;
  if (!status) status = derive_row_count(s->profile, TABLE_threads, &thread_count, error);
  for (size_t i = 0; i < calls->segment_count && !status; i++) {
    const struct segment *segment = calls->segments[i];
    for (uint32_t first = 0; first < segment->rows && !status; first += ROWS_BLOCK) {
      uint32_t rows = derive_block_rows(segment, first);
      int64_t numbers[ROWS_BLOCK], times[ROWS_BLOCK];
      uint32_t threads[ROWS_BLOCK], row = (uint32_t)segment->first_row + first;
      derive_integers(segment->columns[COLUMN_api_calls_op_correlation], first, rows, numbers);
      derive_integers(segment->columns[COLUMN_api_calls_start_ns], first, rows, times);
      derive_references(segment->columns[COLUMN_api_calls_thread_id], first, rows, thread_count, threads);
      for (uint32_t k = 0; k < rows; k++) {
        uint32_t op = numbers[k] == NO_VALUE || numbers[k] == 0 ? NO_ROW : match_find(&match, numbers[k]);
        if (op < op_count && s->threads[op] == threads[k] && s->starts[op] <= times[k] && times[k] <= s->ends[op] &&
            s->starts[op] != NO_VALUE) {
          s->ops[row + k] = op;
        } else if (threads[k] != NO_ROW && times[k] != NO_VALUE) {
          s->loose[s->loose_count++] = (struct lane_span){times[k], times[k], threads[k], row + k};
        }
      }
      status = derive_poll(s->profile, error);
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

/* False: it takes too long. first_of_lane[lane] ... first_of_lane[lane + 1] are the calls of a thread, hints[lane] is
** one of them or the last of these. */
static bool by_looking_up(struct search *s, uint32_t op_count, const size_t *first_of_lane, size_t *hints) {
  uint64_t budget = 4 * ((uint64_t)op_count + s->loose_count);
  for (uint32_t op = 0; op < op_count; op++) {
    uint32_t lane = s->threads[op];
    if (lane == NO_ROW || first_of_lane[lane] == first_of_lane[lane + 1]) continue;
    int64_t start = s->starts[op], end = s->ends[op];
    if (start == NO_VALUE || end < start) continue;
    size_t last = first_of_lane[lane + 1], at = first_call(s->loose, first_of_lane[lane], last, hints[lane], start);
    for (hints[lane] = at; at < last && s->loose[at].start <= end; at++) {
      if (!budget--) return false;
      uint32_t *best = &s->ops[s->loose[at].row];
      if (*best == NO_ROW || start > s->starts[*best] || (start == s->starts[*best] && end <= s->ends[*best]))
        *best = op;
    }
  }
  return true;
}

static enum tfprof_status look_up(struct search *s, uint32_t op_count, uint32_t thread_count, bool *is_done,
                                  struct tfprof_error *error) {
  size_t *first_of_lane = scratch_allocate(((size_t)thread_count + 1) * 2 * sizeof *first_of_lane), at = 0;
  if (!first_of_lane) return error_no_memory(error);
  size_t *hints = first_of_lane + thread_count + 1;
  for (uint32_t lane = 0; lane <= thread_count; lane++) {
    while (at < s->loose_count && s->loose[at].lane < lane) at++;
    first_of_lane[lane] = hints[lane] = at;
  }
  *is_done = by_looking_up(s, op_count, first_of_lane, hints);
  scratch_free(first_of_lane);
  return TFPROF_OK;
}

static enum tfprof_status by_time(struct search *s, uint32_t op_count, struct tfprof_error *error) {
  uint32_t thread_count;
  enum tfprof_status status = derive_row_count(s->profile, TABLE_threads, &thread_count, error);
  bool is_done = false;
  if (!status) status = lane_span_sort(s->loose, s->loose_count, error);
  if (!status) status = look_up(s, op_count, thread_count, &is_done, error);
  if (status || is_done) return status;
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
  uint32_t op_count, call_count;
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &op_count, error);
  if (!status) status = derive_row_count(profile, TABLE_api_calls, &call_count, error);
  if (status || !call_count) return status;
  s.ops = scratch_allocate((size_t)call_count * sizeof *s.ops);
  s.loose = scratch_allocate((size_t)call_count * sizeof *s.loose);
  if (!s.ops || !s.loose) status = error_no_memory(error);
  for (uint32_t i = 0; i < call_count && !status; i++) s.ops[i] = NO_ROW;
  if (op_count) {
    if (!status) status = derive_all_integers(profile, TABLE_ops, COLUMN_ops_start_ns, &s.starts, error);
    if (!status) status = derive_all_integers(profile, TABLE_ops, COLUMN_ops_end_ns, &s.ends, error);
    if (!status) status = derive_all_references(profile, TABLE_ops, COLUMN_ops_thread_id, &s.threads, error);
    if (!status) status = by_number(&s, op_count, error);
    if (!status && s.loose_count) status = by_time(&s, op_count, error);
  }
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
