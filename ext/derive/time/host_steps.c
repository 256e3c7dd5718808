/* host_steps.c: the table host_steps: what the time of each step went to on its own thread, and what it called.
**
** One row for each step whose ops were recorded.  Its time on the host is told in four parts that add up to its
** duration without what recording took (steps.recording_ns).  Ops give what their net times are shorter by, and the
** rest is taken off where the outermost ops were called.  Where several go on at once the first in this list counts:
**
**   op_ns        an op ran on the step's own thread, or on one that runs the backward pass for it (threads with ops of
**                category autograd, or that answer a forward op); ranges, modules and Python frames are none; and,
**                though that comes last, in which the threads of a pool computed for steps (pool_time.h)
**   input_ns     its thread was in the input pipeline (input_events)
**   wait_ns      the process took part in a collective that hosts carry out, or the thread waited in a call for a
**                device (api_calls called ...Synchronize): what could be done meanwhile would save nothing
**   outside_ns   the rest: Python, locks, files
**
** What it called are counts: of ops, of those called by the program itself, of those that are small, and of those that
** convert tensors.
**
** Of ops the outermost ones of each step are looked at, which cover those inside.  Every interval is cut to the step
** that it began in; they are sorted by step and start and swept once.  A step of which the thread or the times are not
** known has no parts.
*/
#include "derive/match.h"
#include "derive/passes.h"
#include "derive/steps/recording_cost.h"
#include "derive/time/pool_time.h"

#include <string.h>

/* Below that, calling an op of PyTorch takes most of its time. */
enum { SMALL_NS = 20000 };

enum part { IN_OP, IN_INPUT, IN_WAIT, IN_POOL, PARTS, OUTSIDE = PARTS };

/* So many steps may overlap at a moment; a pool's time is told to no more, which bounds the work. */
enum { STEPS_AT_ONCE = 16 };

struct host_step {
  int64_t start, end;     /* NO_VALUE: the parts cannot be told */
  uint32_t thread;        /* NO_ROW: not known */
  uint32_t row;           /* of host_steps; NO_ROW: has none */
  int64_t covered[PARTS]; /* by this part and those before it together */
  int64_t begun[PARTS + 1]; /* outermost ops, by the part in which they were called */
  int64_t cost, in_ops;     /* of recording all; NO_VALUE: not known; what ops are longer by than net */
  int64_t times[PARTS + 1], taken[PARTS + 1];
  int64_t op_count, call_count, small_call_count, small_call_ns, conversion_count, conversion_ns;
};

struct host_work {
  struct profile *profile;
  struct host_step *steps; /* by row of steps */
  uint32_t step_count, made;
  bool *runs_backward; /* by row of threads */
  uint32_t thread_count;
  struct lane_span *spans; /* lane: step, row: enum part */
  uint32_t span_count, span_capacity;
};

static enum tfprof_status find_steps(struct host_work *w, struct tfprof_error *error) {
  int64_t *starts = NULL, *ends = NULL, *recorded = NULL, *costs = NULL;
  uint32_t *threads = NULL;
  struct profile *profile = w->profile;
  enum tfprof_status status = derive_row_count(profile, TABLE_steps, &w->step_count, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_start_ns, &starts, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_end_ns, &ends, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_ops_recorded, &recorded, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_recording_ns, &costs, error);
  if (!status) status = derive_all_references(profile, TABLE_steps, COLUMN_steps_thread_id, &threads, error);
  w->steps = scratch_allocate(((size_t)w->step_count + 1) * sizeof *w->steps);
  if (!status && !w->steps) status = error_no_memory(error);
  for (uint32_t row = 0; row < w->step_count && !status; row++) {
    bool is_known = threads[row] != NO_ROW && starts[row] != NO_VALUE && ends[row] != NO_VALUE &&
                    ends[row] >= starts[row];
    w->steps[row] = (struct host_step){.start = is_known ? starts[row] : NO_VALUE,
                                       .end = is_known ? ends[row] : NO_VALUE,
                                       .thread = threads[row],
                                       .cost = costs[row],
                                       .row = recorded[row] == 1 ? w->made++ : NO_ROW};
  }
  scratch_free(starts);
  scratch_free(ends);
  scratch_free(recorded);
  scratch_free(costs);
  scratch_free(threads);
  return status;
}

static enum tfprof_status add_span(struct host_work *w, uint32_t step, enum part part, int64_t start, int64_t end,
                                   struct tfprof_error *error) {
  const struct host_step *of = &w->steps[step];
  if (of->start == NO_VALUE || start == NO_VALUE || end == NO_VALUE) return TFPROF_OK;
  if (start < of->start) start = of->start;
  if (end > of->end) end = of->end;
  if (end <= start) return TFPROF_OK;
  struct lane_span *grown = scratch_grow(w->spans, w->span_count, &w->span_capacity, 4096, sizeof *w->spans);
  if (!grown) return error_no_memory(error);
  w->spans = grown;
  w->spans[w->span_count++] = (struct lane_span){start, end, step, part};
  return TFPROF_OK;
}

/* ---- ops ---- */

struct op_block {
  uint32_t threads[ROWS_BLOCK], steps[ROWS_BLOCK], outermost[ROWS_BLOCK];
  int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK], durations[ROWS_BLOCK]; /* these without what recording took */
  string_id categories[ROWS_BLOCK];
};

static enum tfprof_status find_backward_threads(struct host_work *w, struct tfprof_error *error) {
  const struct profile_table *ops = &w->profile->tables[TABLE_ops];
  string_id autograd = derive_known_text(w->profile, "autograd");
  enum tfprof_status status = derive_row_count(w->profile, TABLE_threads, &w->thread_count, error);
  if (status) return status;
  w->runs_backward = scratch_allocate_zeroed((size_t)w->thread_count + 1, sizeof *w->runs_backward);
  if (!w->runs_backward) return error_no_memory(error);
  for (size_t s = 0; s < ops->segment_count && !status; s++) {
    const struct segment *segment = ops->segments[s];
    for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
      uint32_t count = derive_block_rows(segment, first), threads[ROWS_BLOCK], forward[ROWS_BLOCK];
      string_id categories[ROWS_BLOCK];
      derive_references(segment->columns[COLUMN_ops_thread_id], first, count, w->thread_count, threads);
      derive_references(segment->columns[COLUMN_ops_forward_op_id], first, count, NO_ROW, forward);
      derive_texts(segment->columns[COLUMN_ops_category], first, count, categories);
      for (uint32_t i = 0; i < count; i++) {
        if (threads[i] != NO_ROW && (forward[i] != NO_ROW || categories[i] == autograd))
          w->runs_backward[threads[i]] = true;
      }
    }
    status = derive_poll(w->profile, error);
  }
  return status;
}

/* What an op is longer by than its net time: what recording took within it. */
static void add_cost_in_op(struct host_step *step, int64_t duration, int64_t net) {
  int64_t cost = derive_difference(duration, net);
  if (cost > 0 && __builtin_add_overflow(step->in_ops, cost, &step->in_ops)) step->in_ops = INT64_MAX;
}

/* is_call: no op around it; is_covered: by an op of the same step. */
static enum tfprof_status add_op(struct host_work *w, const struct op_block *block, uint32_t i, bool is_call,
                                 bool is_covered, struct tfprof_error *error) {
  struct host_step *step = &w->steps[block->steps[i]];
  uint32_t thread = block->threads[i];
  step->op_count++;
  if (is_covered || thread == NO_ROW) return TFPROF_OK;
  if (is_call && thread == step->thread) {
    step->call_count++;
    if (block->durations[i] != NO_VALUE && block->durations[i] < SMALL_NS) {
      step->small_call_count++;
      if (block->durations[i] > 0) step->small_call_ns += block->durations[i];
    }
  }
  bool counts = thread == step->thread || w->runs_backward[thread];
  if (!counts) return TFPROF_OK;
  if (step->cost > 0 && block->starts[i] != NO_VALUE && block->durations[i] != NO_VALUE)
    add_cost_in_op(step, derive_difference(block->ends[i], block->starts[i]), block->durations[i]);
  return add_span(w, block->steps[i], IN_OP, block->starts[i], block->ends[i], error);
}

static enum tfprof_status add_ops(struct host_work *w, struct tfprof_error *error) {
  string_id op = derive_known_text(w->profile, "op"), autograd = derive_known_text(w->profile, "autograd");
  string_id marks[OP_MARKS];
  struct op_block *block = scratch_allocate(sizeof *block);
  uint32_t rows, *step_of = NULL;
  enum tfprof_status status = block ? find_backward_threads(w, error) : error_no_memory(error);
  if (!status) status = derive_row_count(w->profile, TABLE_ops, &rows, error);
  if (!status) status = derive_all_references(w->profile, TABLE_ops, COLUMN_ops_step_id, &step_of, error);
  derive_op_marks(w->profile, marks);
  for (struct row_block at = {0}; derive_next_block(w->profile, TABLE_ops, &at, &status, error);) {
    block_references(&at, COLUMN_ops_thread_id, w->thread_count, block->threads);
    block_references(&at, COLUMN_ops_step_id, w->step_count, block->steps);
    block_references(&at, COLUMN_ops_outermost_id, rows, block->outermost);
    block_integers(&at, COLUMN_ops_start_ns, block->starts);
    block_integers(&at, COLUMN_ops_end_ns, block->ends);
    block_integers(&at, COLUMN_ops_net_ns, block->durations);
    block_texts(&at, COLUMN_ops_category, block->categories);
    for (uint32_t i = 0; i < at.count && !status; i++) {
      string_id category = block->categories[i];
      bool is_op = category && !derive_is_op_mark(marks, category);
      if (!is_op || block->steps[i] == NO_ROW || w->steps[block->steps[i]].row == NO_ROW) continue;
      uint32_t outermost = block->outermost[i];
      bool is_call = outermost == at.row + i;
      bool is_covered = !is_call && outermost != NO_ROW && step_of[outermost] == block->steps[i];
      status = add_op(w, block, i, is_call && (category == op || category == autograd), is_covered, error);
    }
  }
  scratch_free(block);
  scratch_free(step_of);
  return status;
}

/* ---- conversions ---- */

enum { CONVERSIONS = 4 };

struct conversion {
  uint32_t step, parent;
  int64_t duration;
};

struct conversions {
  uint32_t row_count, count, capacity;
  uint64_t *bits; /* by row of ops: it converts */
  struct conversion *list;
  string_id names[CONVERSIONS];
};

static enum tfprof_status find_conversions(const struct host_work *w, struct conversions *found,
                                           const struct segment *segment, uint32_t first, struct tfprof_error *error) {
  uint32_t count = derive_block_rows(segment, first);
  string_id names[ROWS_BLOCK];
  derive_texts(segment->columns[COLUMN_ops_name], first, count, names);
  for (uint32_t i = 0; i < count; i++) {
    bool converts = false;
    for (unsigned k = 0; k < CONVERSIONS; k++) converts |= names[i] == found->names[k];
    if (!names[i] || !converts) continue;
    uint64_t row = segment->first_row + first + i;
    found->bits[row / 64] |= (uint64_t)1 << row % 64;
    struct conversion op;
    derive_references(segment->columns[COLUMN_ops_step_id], first + i, 1, w->step_count, &op.step);
    if (op.step == NO_ROW || w->steps[op.step].row == NO_ROW) continue;
    derive_references(segment->columns[COLUMN_ops_parent_id], first + i, 1, found->row_count, &op.parent);
    derive_integers(segment->columns[COLUMN_ops_net_ns], first + i, 1, &op.duration);
    struct conversion *grown = scratch_grow(found->list, found->count, &found->capacity, 1024, sizeof *grown);
    if (!grown) return error_no_memory(error);
    found->list = grown;
    found->list[found->count++] = op;
  }
  return derive_poll(w->profile, error);
}

/* Those called by another one are part of it. */
static enum tfprof_status add_conversions(struct host_work *w, struct tfprof_error *error) {
  static const char *const names[CONVERSIONS] = {"aten::to", "aten::_to_copy", "aten::contiguous", "aten::clone"};
  const struct profile_table *ops = &w->profile->tables[TABLE_ops];
  struct conversions found = {.count = 0};
  enum tfprof_status status = derive_row_count(w->profile, TABLE_ops, &found.row_count, error);
  if (status) return status;
  for (unsigned i = 0; i < CONVERSIONS; i++) found.names[i] = derive_known_text(w->profile, names[i]);
  found.bits = scratch_allocate_zeroed((size_t)found.row_count / 64 + 1, sizeof *found.bits);
  if (!found.bits) return error_no_memory(error);
  for (size_t s = 0; s < ops->segment_count && !status; s++) {
    for (uint32_t first = 0; first < ops->segments[s]->rows && !status; first += ROWS_BLOCK)
      status = find_conversions(w, &found, ops->segments[s], first, error);
  }
  for (uint32_t i = 0; i < found.count && !status; i++) {
    const struct conversion *op = &found.list[i];
    if (op->parent != NO_ROW && found.bits[op->parent / 64] >> op->parent % 64 & 1) continue;
    w->steps[op->step].conversion_count++;
    if (op->duration != NO_VALUE) w->steps[op->step].conversion_ns += op->duration;
  }
  scratch_free(found.bits);
  scratch_free(found.list);
  return status;
}

/* ---- what else goes on ---- */

/* Where the time of a part comes from: a table with steps, threads (or a column that must be NULL) and times. */
struct part_source {
  uint16_t table, step, start, end;
  enum part part;
};

static enum tfprof_status add_part(struct host_work *w, const struct part_source *source,
                                   bool (*counts)(const void *context, uint32_t row), const void *context,
                                   uint32_t *threads, struct tfprof_error *error) {
  uint32_t rows, *steps = NULL;
  int64_t *starts = NULL, *ends = NULL;
  enum tfprof_status status = derive_row_count(w->profile, source->table, &rows, error);
  if (!status) status = derive_all_references(w->profile, source->table, source->step, &steps, error);
  if (!status) status = derive_all_integers(w->profile, source->table, source->start, &starts, error);
  if (!status) status = derive_all_integers(w->profile, source->table, source->end, &ends, error);
  for (uint32_t row = 0; row < rows && !status; row++) {
    if (steps[row] == NO_ROW || w->steps[steps[row]].row == NO_ROW) continue;
    if (threads && threads[row] != w->steps[steps[row]].thread) continue;
    if (counts(context, row)) status = add_span(w, steps[row], source->part, starts[row], ends[row], error);
  }
  scratch_free(steps);
  scratch_free(starts);
  scratch_free(ends);
  return status;
}

static bool is_any(const void *context, uint32_t row) {
  (void)context;
  (void)row;
  return true;
}

/* What carries collectives out, by row. */
struct carriers {
  int64_t *carried_by;
  string_id host;
};

static bool is_of_host(const void *context, uint32_t row) {
  const struct carriers *c = context;
  return c->carried_by[row] == c->host;
}

static enum tfprof_status add_collectives(struct host_work *w, struct tfprof_error *error) {
  static const struct part_source collectives = {TABLE_collectives, COLUMN_collectives_step_id,
                                                 COLUMN_collectives_start_ns, COLUMN_collectives_end_ns, IN_WAIT};
  struct carriers c = {.host = derive_known_text(w->profile, "host")};
  enum tfprof_status status =
      derive_all_integers(w->profile, TABLE_collectives, COLUMN_collectives_carried_by, &c.carried_by, error);
  if (!status) status = add_part(w, &collectives, is_of_host, &c, NULL, error);
  scratch_free(c.carried_by);
  return status;
}

struct call_names {
  const struct pool *pool;
  const int64_t *names;
};

static bool waits_for_device(const void *context, uint32_t row) {
  const struct call_names *calls = context;
  if (calls->names[row] == NO_VALUE) return false;
  return strstr(pool_text(calls->pool, (string_id)calls->names[row]), "Synchronize") != NULL;
}

static enum tfprof_status add_other_parts(struct host_work *w, struct tfprof_error *error) {
  static const struct part_source input = {TABLE_input_events, COLUMN_input_events_step_id,
                                           COLUMN_input_events_start_ns, COLUMN_input_events_end_ns, IN_INPUT};
  static const struct part_source calls = {TABLE_api_calls, COLUMN_api_calls_step_id, COLUMN_api_calls_start_ns,
                                           COLUMN_api_calls_end_ns, IN_WAIT};
  struct profile *profile = w->profile;
  uint32_t *input_threads = NULL, *call_threads = NULL;
  int64_t *names = NULL;
  enum tfprof_status status =
      derive_all_references(profile, TABLE_input_events, COLUMN_input_events_thread_id, &input_threads, error);
  if (!status) status = add_part(w, &input, is_any, NULL, input_threads, error);
  if (!status) status = add_collectives(w, error);
  if (!status)
    status = derive_all_references(profile, TABLE_api_calls, COLUMN_api_calls_thread_id, &call_threads, error);
  if (!status) status = derive_all_integers(profile, TABLE_api_calls, COLUMN_api_calls_name, &names, error);
  struct call_names waiting = {store_pool(profile->store), names};
  if (!status) status = add_part(w, &calls, waits_for_device, &waiting, call_threads, error);
  scratch_free(input_threads);
  scratch_free(call_threads);
  scratch_free(names);
  return status;
}

/* What threads of a pool computed in a step, for whichever it was: what one step dispatches may run in the next. */
static enum tfprof_status add_pool(struct host_work *w, struct tfprof_error *error) {
  struct pool_time pool;
  enum tfprof_status status = pool_time_load(&pool, w->profile, error);
  uint64_t left = STEPS_AT_ONCE * ((uint64_t)pool.count + w->step_count);
  for (uint32_t row = 0; row < w->step_count && pool.count && !status; row++) {
    const struct host_step *step = &w->steps[row];
    if (step->row == NO_ROW || step->start == NO_VALUE) continue;
    for (uint32_t at = pool_time_first(&pool, step->start);
         at < pool.count && pool.spans[at].start < step->end && left && !status; at++, left--)
      status = add_span(w, row, IN_POOL, pool.spans[at].start, pool.spans[at].end, error);
    if (!status && row % 1024 == 0) status = derive_poll(w->profile, error);
  }
  pool_time_free(&pool);
  return status;
}

/* ---- together ---- */

/* In which part an op was called: what went on just before it began. */
static unsigned part_before(const int64_t *ends, int64_t time) {
  unsigned part = IN_OP;
  while (part < PARTS && ends[part] <= time) part++;
  return part;
}

/* What comes later in the list of parts counts only where none before it does. */
static void sweep(struct host_work *w) {
  int64_t ends[PARTS] = {0};
  for (uint32_t i = 0; i < w->span_count; i++) {
    const struct lane_span *span = &w->spans[i];
    if (i == 0 || span->lane != w->spans[i - 1].lane) {
      for (unsigned part = 0; part < PARTS; part++) ends[part] = span->start;
    }
    if (span->row == IN_OP) w->steps[span->lane].begun[part_before(ends, span->start)]++;
    for (unsigned part = span->row; part < PARTS; part++) {
      if (ends[part] < span->start) ends[part] = span->start;
      if (span->end <= ends[part]) continue;
      int64_t *covered = &w->steps[span->lane].covered[part];
      *covered = derive_sum(*covered, derive_difference(span->end, ends[part]));
      ends[part] = span->end;
    }
  }
}

static void take_recording_off(struct host_step *step) {
  const int64_t *covered = step->covered;
  step->times[IN_OP] = covered[IN_OP];
  step->times[IN_INPUT] = covered[IN_INPUT] - covered[IN_OP];
  step->times[IN_WAIT] = covered[IN_WAIT] - covered[IN_INPUT];
  step->times[IN_POOL] = covered[IN_POOL] - covered[IN_WAIT];
  step->times[OUTSIDE] = derive_difference(step->end, step->start) - covered[IN_POOL];
  int64_t left = step->cost == NO_VALUE || step->cost < 0 ? 0 : step->cost;
  int64_t in_ops = step->in_ops < left ? step->in_ops : left;
  if (in_ops > step->times[IN_OP]) in_ops = step->times[IN_OP];
  step->times[IN_OP] -= in_ops;
  recording_share(left - in_ops, step->begun, step->times, PARTS + 1, step->taken);
  step->times[IN_OP] += in_ops;
  step->taken[IN_OP] += in_ops;
}

static enum tfprof_status set_host_step_columns(struct host_work *w, struct tfprof_error *error) {
  uint32_t *steps = scratch_allocate(((size_t)w->made + 1) * sizeof *steps);
  int64_t *integers = scratch_allocate(((size_t)w->made + 1) * sizeof *integers);
  struct profile *profile = w->profile;
  enum tfprof_status status = steps && integers ? TFPROF_OK : error_no_memory(error);
  if (!status) status = derive_make_table(profile, TABLE_host_steps, w->made, error);
  for (uint32_t row = 0; row < w->step_count && !status; row++)
    if (w->steps[row].row != NO_ROW) steps[w->steps[row].row] = row;
  if (!status) status = derive_set_references(profile, TABLE_host_steps, COLUMN_host_steps_step_id, steps, error);
#define SET(column, expression) \
  for (uint32_t i = 0; i < w->made && !status; i++) { \
    const struct host_step *step = &w->steps[steps[i]]; \
    integers[i] = (expression); \
  } \
  if (!status) status = derive_set_integers(profile, TABLE_host_steps, COLUMN_host_steps_##column, integers, error)
#define SET_PART(column, expression) SET(column, step->start == NO_VALUE ? NO_VALUE : (expression))
  SET_PART(op_ns, step->times[IN_OP] - step->taken[IN_OP] + step->times[IN_POOL] - step->taken[IN_POOL]);
  SET_PART(input_ns, step->times[IN_INPUT] - step->taken[IN_INPUT]);
  SET_PART(wait_ns, step->times[IN_WAIT] - step->taken[IN_WAIT]);
  SET_PART(outside_ns, step->times[OUTSIDE] - step->taken[OUTSIDE]);
  SET_PART(op_recording_ns, step->cost == NO_VALUE ? NO_VALUE : step->taken[IN_OP]);
  SET(op_count, step->op_count);
  SET(call_count, step->call_count);
  SET(small_call_count, step->small_call_count);
  SET(small_call_ns, step->small_call_ns);
  SET(conversion_count, step->conversion_count);
  SET(conversion_ns, step->conversion_ns);
#undef SET_PART
#undef SET
  scratch_free(steps);
  scratch_free(integers);
  return status;
}

static enum tfprof_status run_host_steps(struct profile *profile, struct tfprof_error *error) {
  struct host_work w = {.profile = profile};
  enum tfprof_status status = find_steps(&w, error);
  if (!status && w.made) status = add_ops(&w, error);
  if (!status && w.made) status = add_conversions(&w, error);
  if (!status && w.made) status = add_other_parts(&w, error);
  if (!status && w.made) status = add_pool(&w, error);
  if (!status && w.span_count) status = lane_span_sort(w.spans, w.span_count, error);
  if (!status) sweep(&w);
  for (uint32_t i = 0; i < w.step_count && !status; i++) take_recording_off(&w.steps[i]);
  if (!status && w.made) status = set_host_step_columns(&w, error);
  scratch_free(w.steps);
  scratch_free(w.runs_backward);
  scratch_free(w.spans);
  return status;
}

const struct derive_pass derive_host_steps = {
    .name = "host steps",
    .summary = "The time of each step on its thread in four parts, by a sweep over ops, input, collectives, waits and "
               "pools.",
    .makes_table = TABLE_host_steps,
    .reads = {{TABLE_steps, COLUMN_steps_start_ns},
              {TABLE_steps, COLUMN_steps_end_ns},
              {TABLE_steps, COLUMN_steps_thread_id},
              {TABLE_steps, COLUMN_steps_ops_recorded},
              {TABLE_steps, COLUMN_steps_recording_ns},
              {TABLE_threads, COLUMN_threads_kind},
              {TABLE_ops, COLUMN_ops_thread_id},
              {TABLE_ops, COLUMN_ops_step_id},
              {TABLE_ops, COLUMN_ops_outermost_id},
              {TABLE_ops, COLUMN_ops_forward_op_id},
              {TABLE_ops, COLUMN_ops_category},
              {TABLE_ops, COLUMN_ops_framework},
              {TABLE_ops, COLUMN_ops_name},
              {TABLE_ops, COLUMN_ops_parent_id},
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_ops, COLUMN_ops_end_ns},
              {TABLE_ops, COLUMN_ops_net_ns},
              {TABLE_input_events, COLUMN_input_events_thread_id},
              {TABLE_input_events, COLUMN_input_events_step_id},
              {TABLE_input_events, COLUMN_input_events_start_ns},
              {TABLE_input_events, COLUMN_input_events_end_ns},
              {TABLE_collectives, COLUMN_collectives_carried_by},
              {TABLE_collectives, COLUMN_collectives_step_id},
              {TABLE_collectives, COLUMN_collectives_start_ns},
              {TABLE_collectives, COLUMN_collectives_end_ns},
              {TABLE_api_calls, COLUMN_api_calls_name},
              {TABLE_api_calls, COLUMN_api_calls_thread_id},
              {TABLE_api_calls, COLUMN_api_calls_step_id},
              {TABLE_api_calls, COLUMN_api_calls_start_ns},
              {TABLE_api_calls, COLUMN_api_calls_end_ns}},
    .run = run_host_steps,
};
