/* innermost_ops.c: see innermost_ops.h. */
#include "derive/links/innermost_ops.h"

#include <stdatomic.h>
#include <string.h>

#include "store/parallel.h"

struct search {
  struct profile *profile;
  const struct lane_span *moments;
  size_t count;
  uint32_t *ops; /* by moment: the result */
  uint32_t thread_count;
  size_t *first_of_lane; /* by thread: its first moment, and that of the next */
  size_t *hints;         /* by thread: the first moment that the last op was looked up for */
  uint8_t *task_of_lane;
  int64_t *best_starts, *best_ends; /* by moment: of the op that was found */
  uint64_t budget;                  /* of one task */
  atomic_int failure;               /* an enum tfprof_status */
  atomic_bool takes_too_long;
};

/* The first of the moments `low` ... `high` - 1 that is not before `time`. Ops come in nearly the order of time, so it
** is mostly close to the one found before, `hint`. */
static size_t first_moment(const struct lane_span *moments, size_t low, size_t high, size_t hint, int64_t time) {
  enum { CLOSE = 8 };
  for (unsigned i = 0; i < CLOSE; i++) {
    if (hint > low && moments[hint - 1].start >= time) {
      high = --hint;
    } else if (hint < high && moments[hint].start < time) {
      low = ++hint;
    } else {
      return hint;
    }
  }
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (moments[middle].start < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The moments in an op. */
static void look_up_op(struct search *s, uint32_t op, uint32_t lane, int64_t start, int64_t end, uint64_t *budget) {
  size_t last = s->first_of_lane[lane + 1];
  size_t at = first_moment(s->moments, s->first_of_lane[lane], last, s->hints[lane], start);
  for (s->hints[lane] = at; at < last && s->moments[at].start <= end && *budget; at++, --*budget) {
    bool is_inner = s->ops[at] == NO_ROW || start > s->best_starts[at] ||
                    (start == s->best_starts[at] && end <= s->best_ends[at]);
    if (!is_inner) continue;
    s->ops[at] = op;
    s->best_starts[at] = start;
    s->best_ends[at] = end;
  }
}

static void look_up_lanes(void *context, size_t task, unsigned worker) {
  struct search *s = context;
  uint64_t budget = s->budget;
  enum tfprof_status status = (enum tfprof_status)atomic_load(&s->failure);
  (void)worker;
  for (struct row_block block = {0}; derive_next_block(s->profile, TABLE_ops, &block, &status, NULL);) {
    int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
    uint32_t lanes[ROWS_BLOCK];
    bool is_any = false;
    block_references(&block, COLUMN_ops_thread_id, s->thread_count, lanes);
    for (uint32_t i = 0; i < block.count; i++) {
      bool is_meant = lanes[i] != NO_ROW && s->task_of_lane[lanes[i]] == task;
      if (!is_meant) lanes[i] = NO_ROW;
      is_any |= is_meant;
    }
    if (!is_any) continue;
    block_integers(&block, COLUMN_ops_start_ns, starts);
    block_integers(&block, COLUMN_ops_end_ns, ends);
    for (uint32_t i = 0; i < block.count; i++) {
      if (lanes[i] == NO_ROW || starts[i] == NO_VALUE || ends[i] < starts[i]) continue;
      look_up_op(s, (uint32_t)block.row + i, lanes[i], starts[i], ends[i], &budget);
    }
    if (!budget) {
      atomic_store(&s->takes_too_long, true);
      break;
    }
  }
  if (status) atomic_store(&s->failure, (int)status);
}

/* Gives each thread with moments to the task that has the fewest so far; the others to none. */
static void share_lanes(struct search *s, uint8_t tasks) {
  size_t moments_of[PARALLEL_MAXIMUM_WORKERS] = {0}, at = 0;
  for (uint32_t lane = 0; lane <= s->thread_count; lane++) {
    while (at < s->count && s->moments[at].lane < lane) at++;
    s->first_of_lane[lane] = s->hints[lane] = at;
  }
  for (uint32_t lane = 0; lane < s->thread_count; lane++) {
    size_t moments = s->first_of_lane[lane + 1] - s->first_of_lane[lane];
    uint8_t least = 0;
    for (uint8_t i = 1; i < tasks; i++) least = moments_of[i] < moments_of[least] ? i : least;
    s->task_of_lane[lane] = moments ? least : tasks;
    moments_of[least] += moments;
  }
}

static enum tfprof_status look_up(struct search *s, uint32_t op_count, struct tfprof_error *error) {
  uint8_t tasks = (uint8_t)parallel_workers();
  s->budget = 4 * ((uint64_t)op_count + s->count);
  s->first_of_lane = scratch_allocate(((size_t)s->thread_count + 1) * sizeof *s->first_of_lane);
  s->hints = scratch_allocate(((size_t)s->thread_count + 1) * sizeof *s->hints);
  s->task_of_lane = scratch_allocate((size_t)s->thread_count + 1);
  s->best_starts = scratch_allocate(s->count * sizeof *s->best_starts);
  s->best_ends = scratch_allocate(s->count * sizeof *s->best_ends);
  enum tfprof_status status = TFPROF_OK;
  if (s->first_of_lane && s->hints && s->task_of_lane && s->best_starts && s->best_ends) {
    share_lanes(s, tasks);
    derive_parallel(op_count, tasks, look_up_lanes, s);
    status = derive_failure(atomic_load(&s->failure), error);
  } else {
    status = error_no_memory(error);
  }
  scratch_free(s->first_of_lane);
  scratch_free(s->hints);
  scratch_free(s->task_of_lane);
  scratch_free(s->best_starts);
  scratch_free(s->best_ends);
  return status;
}

/* ---- where that takes too long ---- */

/* Ops on threads that have moments, as lane_span_sort() wants them. */
static enum tfprof_status list_spans(struct search *s, struct lane_span *spans, size_t *span_count,
                                     struct tfprof_error *error) {
  bool *is_wanted = scratch_allocate_zeroed((size_t)s->thread_count + 1, sizeof *is_wanted);
  enum tfprof_status status = is_wanted ? TFPROF_OK : error_no_memory(error);
  for (size_t i = 0; i < s->count && !status; i++) is_wanted[s->moments[i].lane] = true;
  for (struct row_block block = {0}; derive_next_block(s->profile, TABLE_ops, &block, &status, error);) {
    int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
    uint32_t lanes[ROWS_BLOCK];
    block_integers(&block, COLUMN_ops_start_ns, starts);
    block_integers(&block, COLUMN_ops_end_ns, ends);
    block_references(&block, COLUMN_ops_thread_id, s->thread_count, lanes);
    for (uint32_t i = 0; i < block.count; i++) {
      if (lanes[i] == NO_ROW || !is_wanted[lanes[i]] || starts[i] == NO_VALUE || ends[i] < starts[i]) continue;
      spans[(*span_count)++] = (struct lane_span){starts[i], ends[i], lanes[i], (uint32_t)block.row + i};
    }
  }
  scratch_free(is_wanted);
  return status;
}

static enum tfprof_status sweep_moments(struct search *s, uint32_t op_count, struct tfprof_error *error) {
  struct lane_span *spans = scratch_allocate(((size_t)op_count + 1) * sizeof *spans);
  size_t *stack = scratch_allocate(((size_t)op_count + 1) * sizeof *stack), depth = 0, next = 0, span_count = 0;
  uint32_t lane = NO_ROW;
  enum tfprof_status status = spans && stack ? list_spans(s, spans, &span_count, error) : error_no_memory(error);
  if (!status) status = lane_span_sort(spans, span_count, error);
  for (size_t i = 0; i < s->count && !status; i++) {
    const struct lane_span *moment = &s->moments[i];
    if (moment->lane != lane) {
      lane = moment->lane;
      depth = 0;
      while (next < span_count && spans[next].lane < lane) next++;
    }
    for (; next < span_count && spans[next].lane == lane && spans[next].start <= moment->start; next++) {
      while (depth && spans[stack[depth - 1]].end <= spans[next].start) depth--;
      stack[depth++] = next;
    }
    while (depth && spans[stack[depth - 1]].end < moment->start) depth--;
    s->ops[i] = depth ? spans[stack[depth - 1]].row : NO_ROW;
  }
  scratch_free(spans);
  scratch_free(stack);
  return status;
}

enum tfprof_status innermost_ops_find(struct profile *profile, const struct lane_span *moments, size_t count,
                                      uint32_t *ops, struct tfprof_error *error) {
  struct search s = {.profile = profile, .moments = moments, .count = count, .ops = ops};
  uint32_t op_count;
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &op_count, error);
  if (!status) status = derive_row_count(profile, TABLE_threads, &s.thread_count, error);
  if (status || !count) return status;
  memset(ops, 0xff, count * sizeof *ops); /* NO_ROW */
  status = op_count ? look_up(&s, op_count, error) : TFPROF_OK;
  if (status || !atomic_load(&s.takes_too_long)) return status;
  return sweep_moments(&s, op_count, error);
}
