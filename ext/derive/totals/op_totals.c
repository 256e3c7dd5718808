/* op_totals.c: the table op_totals, rows of ops that are alike added up.
**
** A run calls few different ops many times: what a view sums by op it sums over these rows, whose number does not grow
** with the length of the recording.  What ran on devices has a pass of its own, which asks for links that the rest does
** without; it numbers the ops once more.
*/
#include "derive/passes.h"
#include "derive/totals/grouping.h"

/* What rows of a total share. */
static const uint16_t shared[] = {COLUMN_op_totals_name,      COLUMN_op_totals_op_type,
                                  COLUMN_op_totals_category,  COLUMN_op_totals_framework,
                                  COLUMN_op_totals_execution_mode,
                                  COLUMN_op_totals_thread_id, COLUMN_op_totals_is_measured};
static const uint16_t of_ops[] = {COLUMN_ops_name,      COLUMN_ops_op_type,        COLUMN_ops_category,
                                  COLUMN_ops_framework, COLUMN_ops_execution_mode, COLUMN_ops_thread_id,
                                  COLUMN_ops_is_measured};
enum { SHARED = sizeof shared / sizeof *shared, TEXTS = 5, THREAD = 5 };

/* ---- sums ---- */

enum op_sum {
  SUM_CALLS, SUM_NS, SUM_SELF, SUM_OP_SELF,
  SUM_DEVICE_CALLS, SUM_DEVICE, SUM_DEVICE_SELF, SUM_TENSOR_CORE,
  SUM_IN_STEPS, SUM_WITH_STACK, SUM_WITH_SHAPES, SUM_SELF_WITH_FLOPS,
  SUM_ALLOCATIONS, SUM_ALLOCATED, SUM_ALLOCATED_SELF, SUM_RELEASED,
  SUMS
};
struct op_total {
  double sums[SUMS]; /* NAN: of nothing that is known */
  int64_t least, most; /* net times */
  int64_t first_start, last_end;
};

struct op_totals {
  uint32_t thread_count;
  /* Adds the rows of a block, which have these numbers, to their items. */
  void (*add)(struct op_total *items, const struct row_block *block, const uint32_t *numbers);
};

/* numbers[i] = the total of row i of the block. */
static bool number_block(const struct grouping *grouping, struct grouped *to, const struct row_block *block,
                         uint32_t *numbers) {
  const struct op_totals *totals = grouping->context;
  string_id texts[TEXTS][ROWS_BLOCK];
  uint32_t threads[ROWS_BLOCK];
  int64_t measured[ROWS_BLOCK];
  struct op_total none = {.least = NO_VALUE, .most = NO_VALUE, .first_start = NO_VALUE, .last_end = NO_VALUE};
  for (unsigned sum = 0; sum < SUMS; sum++) none.sums[sum] = NAN;
  for (unsigned k = 0; k < TEXTS; k++) block_texts(block, of_ops[k], texts[k]);
  block_references(block, COLUMN_ops_thread_id, totals->thread_count, threads);
  block_integers(block, COLUMN_ops_is_measured, measured);
  for (uint32_t i = 0; i < block->count; i++) {
    int64_t key[SHARED];
    for (unsigned k = 0; k < TEXTS; k++) key[k] = texts[k][i] ? (int64_t)texts[k][i] : NO_VALUE;
    key[THREAD] = threads[i] == NO_ROW ? NO_VALUE : (int64_t)threads[i];
    key[THREAD + 1] = measured[i];
    numbers[i] = grouping_number(grouping, to, key, &none);
    if (numbers[i] == NO_ROW) return false;
  }
  return true;
}

static bool add_alike_ops(const struct grouping *grouping, struct grouped *to, const struct row_block *block) {
  const struct op_totals *totals = grouping->context;
  uint32_t numbers[ROWS_BLOCK];
  if (!number_block(grouping, to, block, numbers)) return false;
  totals->add(to->items, block, numbers);
  return true;
}

static void add_to(struct op_total *total, enum op_sum sum, double value) {
  if (isnan(value)) return;
  total->sums[sum] = isnan(total->sums[sum]) ? value : total->sums[sum] + value;
}

/* The lesser of two of which either may be unknown; the greater is told by NO_VALUE's being below all. */
static void take_lesser(int64_t *least, int64_t value) {
  if (value != NO_VALUE && (*least == NO_VALUE || value < *least)) *least = value;
}

static void add_weighed(struct op_total *items, const struct row_block *block, const uint32_t *numbers,
                        const double *weights, unsigned column, enum op_sum sum) {
  int64_t values[ROWS_BLOCK];
  block_integers(block, column, values);
  for (uint32_t i = 0; i < block->count; i++) {
    if (values[i] != NO_VALUE) add_to(&items[numbers[i]], sum, weights[i] * (double)values[i]);
  }
}

static void add_host(struct op_total *items, const struct row_block *block, const uint32_t *numbers) {
  double weights[ROWS_BLOCK];
  int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK], durations[ROWS_BLOCK];
  block_reals(block, COLUMN_ops_sample_weight, weights);
  add_weighed(items, block, numbers, weights, COLUMN_ops_net_ns, SUM_NS);
  add_weighed(items, block, numbers, weights, COLUMN_ops_self_ns, SUM_SELF);
  add_weighed(items, block, numbers, weights, COLUMN_ops_op_self_ns, SUM_OP_SELF);
  block_integers(block, COLUMN_ops_start_ns, starts);
  block_integers(block, COLUMN_ops_end_ns, ends);
  block_integers(block, COLUMN_ops_net_ns, durations);
  for (uint32_t i = 0; i < block->count; i++) {
    struct op_total *total = &items[numbers[i]];
    add_to(total, SUM_CALLS, weights[i]);
    take_lesser(&total->least, durations[i]);
    if (durations[i] > total->most) total->most = durations[i];
    take_lesser(&total->first_start, starts[i]);
    if (ends[i] > total->last_end) total->last_end = ends[i];
  }
}

static void add_device(struct op_total *items, const struct row_block *block, const uint32_t *numbers) {
  double weights[ROWS_BLOCK];
  int64_t selves[ROWS_BLOCK];
  block_reals(block, COLUMN_ops_sample_weight, weights);
  add_weighed(items, block, numbers, weights, COLUMN_ops_device_ns, SUM_DEVICE);
  add_weighed(items, block, numbers, weights, COLUMN_ops_device_self_ns, SUM_DEVICE_SELF);
  add_weighed(items, block, numbers, weights, COLUMN_ops_tensor_core_ns, SUM_TENSOR_CORE);
  block_integers(block, COLUMN_ops_device_self_ns, selves);
  for (uint32_t i = 0; i < block->count; i++) {
    if (selves[i] > 0) add_to(&items[numbers[i]], SUM_DEVICE_CALLS, weights[i]);
  }
}

/* What is known of the rows. */
static void add_known_columns(struct op_total *items, const struct row_block *block, const uint32_t *numbers) {
  double weights[ROWS_BLOCK];
  int64_t steps[ROWS_BLOCK], traces[ROWS_BLOCK], flops[ROWS_BLOCK], selves[ROWS_BLOCK];
  string_id shapes[ROWS_BLOCK];
  block_reals(block, COLUMN_ops_sample_weight, weights);
  block_integers(block, COLUMN_ops_step_id, steps);
  block_integers(block, COLUMN_ops_code_trace_id, traces);
  block_integers(block, COLUMN_ops_flops, flops);
  block_integers(block, COLUMN_ops_self_ns, selves);
  block_texts(block, COLUMN_ops_input_shapes, shapes);
  for (uint32_t i = 0; i < block->count; i++) {
    struct op_total *total = &items[numbers[i]];
    if (steps[i] != NO_VALUE) add_to(total, SUM_IN_STEPS, weights[i]);
    if (traces[i] != NO_VALUE) add_to(total, SUM_WITH_STACK, weights[i]);
    if (shapes[i]) add_to(total, SUM_WITH_SHAPES, weights[i]);
    if (flops[i] != NO_VALUE && selves[i] != NO_VALUE)
      add_to(total, SUM_SELF_WITH_FLOPS, weights[i] * (double)selves[i]);
  }
}

static void add_memory(struct op_total *items, const struct row_block *block, const uint32_t *numbers) {
  double weights[ROWS_BLOCK];
  block_reals(block, COLUMN_ops_sample_weight, weights);
  add_weighed(items, block, numbers, weights, COLUMN_ops_allocation_count, SUM_ALLOCATIONS);
  add_weighed(items, block, numbers, weights, COLUMN_ops_allocated_bytes, SUM_ALLOCATED);
  add_weighed(items, block, numbers, weights, COLUMN_ops_allocated_self_bytes, SUM_ALLOCATED_SELF);
  add_weighed(items, block, numbers, weights, COLUMN_ops_released_bytes, SUM_RELEASED);
}

static void join_ops(const struct grouping *grouping, void *item, const void *later) {
  (void)grouping;
  struct op_total *total = item;
  const struct op_total *more = later;
  for (unsigned sum = 0; sum < SUMS; sum++) add_to(total, sum, more->sums[sum]);
  take_lesser(&total->least, more->least);
  if (more->most > total->most) total->most = more->most;
  take_lesser(&total->first_start, more->first_start);
  if (more->last_end > total->last_end) total->last_end = more->last_end;
}

/* ---- columns ---- */

struct op_columns {
  struct profile *profile;
  uint32_t count;
  const struct op_total *items;
  const int64_t *keys;
  double *reals;     /* room for one column */
  int64_t *integers; /* the same */
};

static enum tfprof_status set_real(const struct op_columns *columns, enum op_sum sum, unsigned column,
                                   struct tfprof_error *error) {
  for (uint32_t i = 0; i < columns->count; i++) columns->reals[i] = columns->items[i].sums[sum];
  return derive_set_reals(columns->profile, TABLE_op_totals, column, columns->reals, error);
}

static enum tfprof_status set_time(const struct op_columns *columns, enum op_sum sum, unsigned column,
                                   struct tfprof_error *error) {
  for (uint32_t i = 0; i < columns->count; i++) columns->integers[i] = whole_sum(columns->items[i].sums[sum]);
  return derive_set_integers(columns->profile, TABLE_op_totals, column, columns->integers, error);
}

static enum tfprof_status set_host(const struct op_columns *columns, struct tfprof_error *error) {
  enum tfprof_status status = set_real(columns, SUM_CALLS, COLUMN_op_totals_count, error);
  uint32_t count = columns->count;
  int64_t *integers = columns->integers;
  if (!status) status = set_time(columns, SUM_NS, COLUMN_op_totals_sum_ns, error);
  if (!status) status = set_time(columns, SUM_SELF, COLUMN_op_totals_self_ns, error);
  if (!status) status = set_time(columns, SUM_OP_SELF, COLUMN_op_totals_op_self_ns, error);
#define SET(column, expression) SET_TOTALS(integers, columns->profile, TABLE_op_totals, column, expression)
  for (unsigned k = 0; k < SHARED; k++) SET(shared[k], columns->keys[(size_t)i * SHARED + k]);
  SET(COLUMN_op_totals_min_ns, columns->items[i].least);
  SET(COLUMN_op_totals_max_ns, columns->items[i].most);
  SET(COLUMN_op_totals_first_start_ns, columns->items[i].first_start);
  SET(COLUMN_op_totals_last_end_ns, columns->items[i].last_end);
#undef SET
  return status;
}

static enum tfprof_status set_device(const struct op_columns *columns, struct tfprof_error *error) {
  enum tfprof_status status = set_real(columns, SUM_DEVICE_CALLS, COLUMN_op_totals_device_count, error);
  if (!status) status = set_time(columns, SUM_DEVICE, COLUMN_op_totals_device_ns, error);
  if (!status) status = set_time(columns, SUM_DEVICE_SELF, COLUMN_op_totals_device_self_ns, error);
  if (!status) status = set_time(columns, SUM_TENSOR_CORE, COLUMN_op_totals_tensor_core_ns, error);
  return status;
}

static enum tfprof_status set_known(const struct op_columns *columns, struct tfprof_error *error) {
  enum tfprof_status status = set_real(columns, SUM_IN_STEPS, COLUMN_op_totals_in_step_count, error);
  if (!status) status = set_real(columns, SUM_WITH_STACK, COLUMN_op_totals_stack_count, error);
  if (!status) status = set_real(columns, SUM_WITH_SHAPES, COLUMN_op_totals_shapes_count, error);
  if (!status) status = set_time(columns, SUM_SELF_WITH_FLOPS, COLUMN_op_totals_flops_self_ns, error);
  return status;
}

static enum tfprof_status set_memory(const struct op_columns *columns, struct tfprof_error *error) {
  enum tfprof_status status = set_real(columns, SUM_ALLOCATIONS, COLUMN_op_totals_allocation_count, error);
  if (!status) status = set_real(columns, SUM_ALLOCATED, COLUMN_op_totals_allocated_bytes, error);
  if (!status) status = set_real(columns, SUM_ALLOCATED_SELF, COLUMN_op_totals_allocated_self_bytes, error);
  if (!status) status = set_real(columns, SUM_RELEASED, COLUMN_op_totals_released_bytes, error);
  return status;
}

static enum tfprof_status run(struct profile *profile, bool makes_table, struct op_totals totals,
                              enum tfprof_status (*set)(const struct op_columns *columns, struct tfprof_error *error),
                              struct tfprof_error *error) {
  const struct grouping grouping = {.profile = profile,
                                    .table = TABLE_ops,
                                    .width = SHARED,
                                    .item_size = sizeof(struct op_total),
                                    .context = &totals,
                                    .add = add_alike_ops,
                                    .join = join_ops};
  struct grouped grouped = {.items = NULL};
  enum tfprof_status status = derive_row_count(profile, TABLE_threads, &totals.thread_count, error);
  if (!status) status = grouping_run(&grouping, &grouped, error);
  uint32_t count = grouped.groups.count;
  struct op_columns columns = {.profile = profile, .count = count, .items = grouped.items, .keys = grouped.groups.keys};
  columns.reals = scratch_allocate(((size_t)count + 1) * sizeof *columns.reals);
  columns.integers = scratch_allocate(((size_t)count + 1) * sizeof *columns.integers);
  if (!status && (!columns.reals || !columns.integers)) status = error_no_memory(error);
  if (!status && makes_table) status = derive_make_table(profile, TABLE_op_totals, count, error);
  if (!status) status = set(&columns, error);
  scratch_free(columns.reals);
  scratch_free(columns.integers);
  grouped_free(&grouped);
  return status;
}

static enum tfprof_status run_op_totals(struct profile *profile, struct tfprof_error *error) {
  return run(profile, true, (struct op_totals){.add = add_host}, set_host, error);
}

static enum tfprof_status run_device_totals(struct profile *profile, struct tfprof_error *error) {
  return run(profile, false, (struct op_totals){.add = add_device}, set_device, error);
}

static enum tfprof_status run_known_of_totals(struct profile *profile, struct tfprof_error *error) {
  return run(profile, false, (struct op_totals){.add = add_known_columns}, set_known, error);
}

static enum tfprof_status run_memory_of_totals(struct profile *profile, struct tfprof_error *error) {
  return run(profile, false, (struct op_totals){.add = add_memory}, set_memory, error);
}

#define NUMBERED_BY \
  {TABLE_ops, COLUMN_ops_name}, {TABLE_ops, COLUMN_ops_op_type}, {TABLE_ops, COLUMN_ops_category}, \
      {TABLE_ops, COLUMN_ops_framework}, \
      {TABLE_ops, COLUMN_ops_execution_mode}, {TABLE_ops, COLUMN_ops_thread_id}, {TABLE_ops, COLUMN_ops_is_measured}, \
  { \
    TABLE_ops, COLUMN_ops_sample_weight \
  }

const struct derive_pass derive_op_totals = {
    .name = "totals of ops",
    .summary = "Calls and times of ops of one name, type, category, framework, mode and thread, by a hash table"
               " of these.",
    .makes_table = TABLE_op_totals,
    .reads = {NUMBERED_BY,
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_ops, COLUMN_ops_end_ns},
              {TABLE_ops, COLUMN_ops_net_ns},
              {TABLE_ops, COLUMN_ops_self_ns},
              {TABLE_ops, COLUMN_ops_op_self_ns}},
    .run = run_op_totals,
};

const struct derive_pass derive_device_totals_of_ops = {
    .name = "device time of totals of ops",
    .summary = "Time on devices of the same, in the same way.",
    .makes_table = -1,
    .reads = {NUMBERED_BY, {TABLE_ops, COLUMN_ops_device_ns}, {TABLE_ops, COLUMN_ops_device_self_ns},
              {TABLE_ops, COLUMN_ops_tensor_core_ns}},
    .writes = {{TABLE_op_totals, COLUMN_op_totals_device_count},
               {TABLE_op_totals, COLUMN_op_totals_device_ns},
               {TABLE_op_totals, COLUMN_op_totals_device_self_ns},
               {TABLE_op_totals, COLUMN_op_totals_tensor_core_ns}},
    .run = run_device_totals,
};

const struct derive_pass derive_known_of_totals = {
    .name = "what is known of totals of ops",
    .summary = "How many of the same have a step, a stack, shapes and operations, in the same way.",
    .makes_table = -1,
    .reads = {NUMBERED_BY,
              {TABLE_ops, COLUMN_ops_step_id},
              {TABLE_ops, COLUMN_ops_code_trace_id},
              {TABLE_ops, COLUMN_ops_input_shapes},
              {TABLE_ops, COLUMN_ops_flops},
              {TABLE_ops, COLUMN_ops_self_ns}},
    .writes = {{TABLE_op_totals, COLUMN_op_totals_in_step_count},
               {TABLE_op_totals, COLUMN_op_totals_stack_count},
               {TABLE_op_totals, COLUMN_op_totals_shapes_count},
               {TABLE_op_totals, COLUMN_op_totals_flops_self_ns}},
    .run = run_known_of_totals,
};

const struct derive_pass derive_memory_of_totals = {
    .name = "memory of totals of ops",
    .summary = "What was allocated and released in the same, in the same way.",
    .makes_table = -1,
    .reads = {NUMBERED_BY,
              {TABLE_ops, COLUMN_ops_allocation_count},
              {TABLE_ops, COLUMN_ops_allocated_bytes},
              {TABLE_ops, COLUMN_ops_allocated_self_bytes},
              {TABLE_ops, COLUMN_ops_released_bytes}},
    .writes = {{TABLE_op_totals, COLUMN_op_totals_allocation_count},
               {TABLE_op_totals, COLUMN_op_totals_allocated_bytes},
               {TABLE_op_totals, COLUMN_op_totals_allocated_self_bytes},
               {TABLE_op_totals, COLUMN_op_totals_released_bytes}},
    .run = run_memory_of_totals,
};
