/* device_links.c: from work on a device to the call that launched it, and through it to the op and the step.
**
** Call and work carry the same correlation.  Of a call that launched a graph there are many kernels (1:N); work without
** a call (launched before the recording began) keeps the op that its own op_correlation names.  What the source writes
** as op of a kernel is otherwise not asked: it is that of the call.  Work of a device that tells its steps itself is of
** the step that it begins in.
**
** NPUs: the connections by which collectives are linked repeat, so that what begins a millisecond and more before a
** call was not launched by it; work without a call is of the step of the host that it begins in.
*/
#include "derive/links/device_spans.h"
#include "derive/passes.h"

#include <stdatomic.h>

struct link_columns {
  uint16_t table, correlation, op_correlation, start, device; /* read */
  uint16_t call, op, step;                            /* written */
  int delay;                                          /* written, -1: no such column */
};
#define TABLE(table, delay_column) \
  {TABLE_##table, COLUMN_##table##_correlation, COLUMN_##table##_op_correlation, COLUMN_##table##_start_ns, \
   COLUMN_##table##_device_id, \
   COLUMN_##table##_api_call_id, COLUMN_##table##_op_id, COLUMN_##table##_step_id, delay_column}
static const struct link_columns tables[] = {TABLE(kernels, COLUMN_kernels_launch_delay_ns), TABLE(transfers, -1),
                                             TABLE(syncs, -1)};
#undef TABLE
enum { TABLES = sizeof tables / sizeof *tables, MILLISECOND = 1000000 };

/* What calls and ops have, by row. */
struct launchers {
  struct match calls, ops;
  bool has_ops; /* that of ops is made: few profiles have work without a call */
  uint32_t *call_ops, *call_steps, *op_steps;
  int64_t *call_ends;
  struct device_spans steps; /* that devices tell */
  /* Of profiles with NPUs, else NULL. */
  int64_t *call_starts, *step_starts, *step_ends;
  uint32_t *ordered_steps, step_count; /* by start */
};

struct links {
  struct profile *profile;
  const struct link_columns *columns;
  const struct launchers *from;
  uint32_t *calls, *ops, *steps; /* by row */
  int64_t *delays;
  atomic_bool wants_ops; /* a row without a call names an op */
  atomic_bool is_interrupted;
};

static enum tfprof_status set_all(struct profile *profile, const struct link_columns *c, const struct links *l,
                                  struct tfprof_error *error) {
  enum tfprof_status status = derive_set_references(profile, c->table, c->call, l->calls, error);
  if (!status) status = derive_set_references(profile, c->table, c->op, l->ops, error);
  if (!status) status = derive_set_references(profile, c->table, c->step, l->steps, error);
  if (!status && c->delay >= 0) status = derive_set_integers(profile, c->table, (unsigned)c->delay, l->delays, error);
  return status;
}

/* NO_ROW: none holds it. */
static uint32_t step_at(const struct launchers *from, int64_t time) {
  uint32_t low = 0, high = from->step_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (from->step_starts[from->ordered_steps[middle]] <= time) low = middle + 1;
    else high = middle;
  }
  uint32_t step = low ? from->ordered_steps[low - 1] : NO_ROW;
  return step != NO_ROW && from->step_ends[step] != NO_VALUE && time < from->step_ends[step] ? step : NO_ROW;
}

static void link_block(struct links *l, const struct row_block *block) {
  const struct link_columns *c = l->columns;
  const struct launchers *from = l->from;
  int64_t numbers[ROWS_BLOCK], op_numbers[ROWS_BLOCK], starts[ROWS_BLOCK];
  uint32_t devices[ROWS_BLOCK];
  block_integers(block, c->correlation, numbers);
  block_integers(block, c->op_correlation, op_numbers);
  block_integers(block, c->start, starts);
  if (from->steps.count) block_references(block, c->device, NO_ROW, devices);
  for (uint32_t i = 0; i < block->count; i++) {
    uint64_t row = block->row + i;
    uint32_t call = numbers[i] == NO_VALUE || numbers[i] == 0 ? NO_ROW : match_find(&from->calls, numbers[i]);
    l->calls[row] = l->ops[row] = l->steps[row] = NO_ROW;
    l->delays[row] = NO_VALUE;
    if (call != NO_ROW && from->call_starts && starts[i] != NO_VALUE && from->call_starts[call] != NO_VALUE &&
        starts[i] < from->call_starts[call] - MILLISECOND) {
      call = NO_ROW;
    }
    if (call != NO_ROW) {
      l->calls[row] = call;
      l->ops[row] = from->call_ops[call];
      l->steps[row] = from->call_steps[call];
      /* Work that began before its call returned did not wait. Times are below 2^62 in every source, but nobody has
      ** checked these sums. */
      int64_t call_end = from->call_ends[call];
      bool is_known = starts[i] != NO_VALUE && call_end != NO_VALUE;
      if (is_known && starts[i] <= call_end) l->delays[row] = 0;
      else if (is_known && __builtin_sub_overflow(starts[i], call_end, &l->delays[row])) l->delays[row] = NO_VALUE;
    } else if (op_numbers[i] != NO_VALUE && op_numbers[i] != 0 && op_numbers[i] != numbers[i]) {
      uint32_t op = from->has_ops ? match_find(&from->ops, op_numbers[i]) : NO_ROW;
      if (!from->has_ops) atomic_store(&l->wants_ops, true);
      l->ops[row] = op;
      if (op != NO_ROW) l->steps[row] = from->op_steps[op];
    } else if (from->steps.count && devices[i] != NO_ROW && starts[i] != NO_VALUE) {
      l->steps[row] = device_spans_find(&from->steps, devices[i], starts[i]);
    } else if (from->ordered_steps && starts[i] != NO_VALUE) {
      l->steps[row] = step_at(from, starts[i]);
    }
  }
}

static void link_segment(void *context, size_t at, unsigned worker) {
  struct links *l = context;
  struct segment *segment = l->profile->tables[l->columns->table].segments[at];
  (void)worker;
  for (uint32_t first = 0; first < segment->rows && !atomic_load(&l->is_interrupted); first += ROWS_BLOCK) {
    const struct row_block block = {.segment = segment,
                                    .first = first,
                                    .count = derive_block_rows(segment, first),
                                    .row = segment->first_row + first};
    link_block(l, &block);
    if (store_interrupted(l->profile->store)) atomic_store(&l->is_interrupted, true);
  }
}

static enum tfprof_status find_ops_by_number(struct profile *profile, struct launchers *from,
                                             struct tfprof_error *error) {
  enum tfprof_status status = match_make(&from->ops, profile, TABLE_ops, COLUMN_ops_correlation, error);
  if (!status) status = derive_all_references(profile, TABLE_ops, COLUMN_ops_step_id, &from->op_steps, error);
  from->has_ops = !status;
  return status;
}

static enum tfprof_status link_rows(struct profile *profile, const struct link_columns *c, struct launchers *from,
                                    struct tfprof_error *error) {
  const struct profile_table *content = &profile->tables[c->table];
  uint32_t rows;
  enum tfprof_status status = derive_row_count(profile, c->table, &rows, error);
  if (status || !rows) return status;
  struct links l = {.profile = profile, .columns = c, .from = from};
  l.calls = scratch_allocate((size_t)rows * sizeof *l.calls);
  l.ops = scratch_allocate((size_t)rows * sizeof *l.ops);
  l.steps = scratch_allocate((size_t)rows * sizeof *l.steps);
  l.delays = scratch_allocate((size_t)rows * sizeof *l.delays);
  if (!l.calls || !l.ops || !l.steps || !l.delays) status = error_no_memory(error);
  if (!status) derive_parallel(rows, content->segment_count, link_segment, &l);
  if (!status && atomic_load(&l.wants_ops) && !atomic_load(&l.is_interrupted)) { /* few profiles have such rows */
    status = find_ops_by_number(profile, from, error);
    if (!status) derive_parallel(rows, content->segment_count, link_segment, &l);
  }
  if (!status && atomic_load(&l.is_interrupted)) status = derive_failure(TFPROF_INTERRUPTED, error);
  if (!status) status = set_all(profile, c, &l, error);
  scratch_free(l.calls);
  scratch_free(l.ops);
  scratch_free(l.steps);
  scratch_free(l.delays);
  return status;
}

static enum tfprof_status read_for_npus(struct profile *profile, struct launchers *from, struct tfprof_error *error) {
  string_id npu = derive_known_text(profile, "npu");
  bool has_npus = false;
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; npu && derive_next_block(profile, TABLE_devices, &block, &status, error);) {
    string_id kinds[ROWS_BLOCK];
    block_texts(&block, COLUMN_devices_kind, kinds);
    for (uint32_t i = 0; i < block.count; i++) has_npus |= kinds[i] == npu;
  }
  if (status || !has_npus) return status;
  status = derive_all_integers(profile, TABLE_api_calls, COLUMN_api_calls_start_ns, &from->call_starts, error);
  if (!status) status = derive_row_count(profile, TABLE_steps, &from->step_count, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_start_ns, &from->step_starts, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_end_ns, &from->step_ends, error);
  struct lane_span *moments = scratch_allocate((size_t)from->step_count * sizeof *moments);
  from->ordered_steps = scratch_allocate((size_t)from->step_count * sizeof *from->ordered_steps);
  if (!status && (!moments || !from->ordered_steps)) status = error_no_memory(error);
  size_t count = 0;
  for (uint32_t i = 0; i < from->step_count && !status; i++) {
    int64_t start = from->step_starts[i];
    if (start != NO_VALUE) moments[count++] = (struct lane_span){start, start, 0, i};
  }
  if (!status) status = lane_span_sort(moments, count, error);
  for (size_t i = 0; i < count && !status; i++) from->ordered_steps[i] = moments[i].row;
  from->step_count = (uint32_t)count;
  scratch_free(moments);
  return status;
}

static enum tfprof_status run_device_links(struct profile *profile, struct tfprof_error *error) {
  struct launchers from = {.has_ops = false};
  enum tfprof_status status = TFPROF_OK;
  bool has_rows = false;
  for (unsigned i = 0; i < TABLES; i++) has_rows |= profile->tables[tables[i].table].rows > 0;
  if (!has_rows) return status;
  status = match_make(&from.calls, profile, TABLE_api_calls, COLUMN_api_calls_correlation, error);
  if (!status) status = derive_all_references(profile, TABLE_api_calls, COLUMN_api_calls_op_id, &from.call_ops, error);
  if (!status)
    status = derive_all_references(profile, TABLE_api_calls, COLUMN_api_calls_step_id, &from.call_steps, error);
  if (!status) status = derive_all_integers(profile, TABLE_api_calls, COLUMN_api_calls_end_ns, &from.call_ends, error);
  if (!status) status = device_spans_of_steps(profile, &from.steps, error);
  if (!status) status = read_for_npus(profile, &from, error);
  for (unsigned i = 0; i < TABLES && !status; i++) status = link_rows(profile, &tables[i], &from, error);
  match_free(&from.calls);
  match_free(&from.ops);
  scratch_free(from.call_ops);
  scratch_free(from.call_steps);
  scratch_free(from.call_ends);
  scratch_free(from.call_starts);
  scratch_free(from.step_starts);
  scratch_free(from.step_ends);
  scratch_free(from.ordered_steps);
  scratch_free(from.op_steps);
  device_spans_free(&from.steps);
  return status;
}

#define READS(table) \
  {TABLE_##table, COLUMN_##table##_correlation}, {TABLE_##table, COLUMN_##table##_op_correlation}, \
      {TABLE_##table, COLUMN_##table##_start_ns}, {TABLE_##table, COLUMN_##table##_device_id}
#define WRITES(table) \
  {TABLE_##table, COLUMN_##table##_api_call_id}, {TABLE_##table, COLUMN_##table##_op_id}, \
      {TABLE_##table, COLUMN_##table##_step_id}

const struct derive_pass derive_device_links = {
    .name = "links of devices",
    .summary = "The launching call of kernels, transfers and waits by correlation, and its op and step.",
    .makes_table = -1,
    .reads = {{TABLE_api_calls, COLUMN_api_calls_correlation},
              {TABLE_api_calls, COLUMN_api_calls_op_id},
              {TABLE_api_calls, COLUMN_api_calls_step_id},
              {TABLE_api_calls, COLUMN_api_calls_start_ns},
              {TABLE_api_calls, COLUMN_api_calls_end_ns},
              {TABLE_devices, COLUMN_devices_kind},
              {TABLE_ops, COLUMN_ops_correlation},
              {TABLE_ops, COLUMN_ops_step_id},
              {TABLE_ops, COLUMN_ops_name},
              {TABLE_ops, COLUMN_ops_marked_step},
              {TABLE_ops, COLUMN_ops_thread_id},
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_ops, COLUMN_ops_end_ns},
              {TABLE_threads, COLUMN_threads_device_id},
              {TABLE_steps, COLUMN_steps_origin},
              {TABLE_steps, COLUMN_steps_number},
              {TABLE_steps, COLUMN_steps_start_ns},
              {TABLE_steps, COLUMN_steps_end_ns},
              READS(kernels),
              READS(transfers),
              READS(syncs)},
    .writes = {WRITES(kernels),
               WRITES(transfers),
               WRITES(syncs),
               {TABLE_kernels, COLUMN_kernels_launch_delay_ns}},
    .run = run_device_links,
};
