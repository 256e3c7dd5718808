/* op_totals.c: the table op_totals, rows of ops that are alike added up.
**
** A run calls few different ops many times: what a view sums by op it sums over these rows, whose number does not grow
** with the length of the recording.  What ran on devices has a pass of its own, which asks for links that the rest does
** without; it numbers the ops once more.
*/
#include "derive/passes.h"
#include "derive/totals/groups.h"

/* What rows of a total share. */
static const uint16_t shared[] = {COLUMN_op_totals_name,      COLUMN_op_totals_op_type,
                                  COLUMN_op_totals_category,  COLUMN_op_totals_execution_mode,
                                  COLUMN_op_totals_thread_id, COLUMN_op_totals_is_measured};
static const uint16_t of_ops[] = {COLUMN_ops_name,           COLUMN_ops_op_type,   COLUMN_ops_category,
                                  COLUMN_ops_execution_mode, COLUMN_ops_thread_id, COLUMN_ops_is_measured};
enum { SHARED = sizeof shared / sizeof *shared, TEXTS = 4, THREAD = 4 };

/* numbers[i] = the total of row i of the block. */
static bool number_block(struct groups *groups, const struct row_block *block, uint32_t thread_count,
                         uint32_t *numbers) {
  string_id texts[TEXTS][ROWS_BLOCK];
  uint32_t threads[ROWS_BLOCK];
  int64_t measured[ROWS_BLOCK];
  for (unsigned k = 0; k < TEXTS; k++) block_texts(block, of_ops[k], texts[k]);
  block_references(block, COLUMN_ops_thread_id, thread_count, threads);
  block_integers(block, COLUMN_ops_is_measured, measured);
  for (uint32_t i = 0; i < block->count; i++) {
    int64_t key[SHARED];
    for (unsigned k = 0; k < TEXTS; k++) key[k] = texts[k][i] ? (int64_t)texts[k][i] : NO_VALUE;
    key[THREAD] = threads[i] == NO_ROW ? NO_VALUE : (int64_t)threads[i];
    key[THREAD + 1] = measured[i];
    numbers[i] = groups_number(groups, key);
    if (numbers[i] == NO_ROW) return false;
  }
  return true;
}

/* ---- sums ---- */

enum op_sum { SUM_CALLS, SUM_NS, SUM_SELF, SUM_OP_SELF, SUM_DEVICE_CALLS, SUM_DEVICE, SUM_DEVICE_SELF, SUMS };
struct op_total {
  double sums[SUMS]; /* NAN: of nothing that is known */
  int64_t first_start, last_end;
};

struct op_totals {
  struct profile *profile;
  struct groups groups;
  struct op_total *items;
  uint32_t capacity, thread_count;
};

static bool make_room(struct op_totals *totals, uint32_t known) {
  for (; known < totals->groups.count; known++) {
    struct op_total *items = scratch_grow(totals->items, known, &totals->capacity, 256, sizeof *items);
    if (!items) return false;
    totals->items = items;
    items[known] = (struct op_total){.first_start = NO_VALUE, .last_end = NO_VALUE};
    for (unsigned sum = 0; sum < SUMS; sum++) items[known].sums[sum] = NAN;
  }
  return true;
}

/* Calls `add` for each block, whose rows have the given numbers. */
static enum tfprof_status each_block(struct op_totals *totals,
                                     void (*add)(struct op_totals *totals, const struct row_block *block,
                                                 const uint32_t *numbers),
                                     struct tfprof_error *error) {
  enum tfprof_status status = derive_row_count(totals->profile, TABLE_threads, &totals->thread_count, error);
  for (struct row_block block = {0}; derive_next_block(totals->profile, TABLE_ops, &block, &status, error);) {
    uint32_t numbers[ROWS_BLOCK], known = totals->groups.count;
    if (!number_block(&totals->groups, &block, totals->thread_count, numbers) || !make_room(totals, known))
      return error_no_memory(error);
    add(totals, &block, numbers);
  }
  return status;
}

static void add_to(struct op_total *total, enum op_sum sum, double value) {
  if (isnan(value)) return;
  total->sums[sum] = isnan(total->sums[sum]) ? value : total->sums[sum] + value;
}

static void add_weighed(struct op_totals *totals, const struct row_block *block, const uint32_t *numbers,
                        const double *weights, unsigned column, enum op_sum sum) {
  int64_t values[ROWS_BLOCK];
  block_integers(block, column, values);
  for (uint32_t i = 0; i < block->count; i++) {
    if (values[i] != NO_VALUE) add_to(&totals->items[numbers[i]], sum, weights[i] * (double)values[i]);
  }
}

static void add_host(struct op_totals *totals, const struct row_block *block, const uint32_t *numbers) {
  double weights[ROWS_BLOCK];
  int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
  block_reals(block, COLUMN_ops_sample_weight, weights);
  add_weighed(totals, block, numbers, weights, COLUMN_ops_dur_ns, SUM_NS);
  add_weighed(totals, block, numbers, weights, COLUMN_ops_self_ns, SUM_SELF);
  add_weighed(totals, block, numbers, weights, COLUMN_ops_op_self_ns, SUM_OP_SELF);
  block_integers(block, COLUMN_ops_start_ns, starts);
  block_integers(block, COLUMN_ops_end_ns, ends);
  for (uint32_t i = 0; i < block->count; i++) {
    struct op_total *total = &totals->items[numbers[i]];
    add_to(total, SUM_CALLS, weights[i]);
    if (starts[i] != NO_VALUE && (total->first_start == NO_VALUE || starts[i] < total->first_start))
      total->first_start = starts[i];
    if (ends[i] > total->last_end) total->last_end = ends[i]; /* NO_VALUE is below all */
  }
}

static void add_device(struct op_totals *totals, const struct row_block *block, const uint32_t *numbers) {
  double weights[ROWS_BLOCK];
  int64_t selves[ROWS_BLOCK];
  block_reals(block, COLUMN_ops_sample_weight, weights);
  add_weighed(totals, block, numbers, weights, COLUMN_ops_device_ns, SUM_DEVICE);
  add_weighed(totals, block, numbers, weights, COLUMN_ops_device_self_ns, SUM_DEVICE_SELF);
  block_integers(block, COLUMN_ops_device_self_ns, selves);
  for (uint32_t i = 0; i < block->count; i++) {
    if (selves[i] > 0) add_to(&totals->items[numbers[i]], SUM_DEVICE_CALLS, weights[i]);
  }
}

/* ---- columns ---- */

static enum tfprof_status set_real(const struct op_totals *totals, enum op_sum sum, unsigned column, double *reals,
                                   struct tfprof_error *error) {
  for (uint32_t i = 0; i < totals->groups.count; i++) reals[i] = totals->items[i].sums[sum];
  return derive_set_reals(totals->profile, TABLE_op_totals, column, reals, error);
}

static enum tfprof_status set_time(const struct op_totals *totals, enum op_sum sum, unsigned column, int64_t *integers,
                                   struct tfprof_error *error) {
  for (uint32_t i = 0; i < totals->groups.count; i++) integers[i] = whole_sum(totals->items[i].sums[sum]);
  return derive_set_integers(totals->profile, TABLE_op_totals, column, integers, error);
}

static enum tfprof_status set_host(const struct op_totals *totals, double *reals, int64_t *integers,
                                   struct tfprof_error *error) {
  enum tfprof_status status = set_real(totals, SUM_CALLS, COLUMN_op_totals_count, reals, error);
  uint32_t count = totals->groups.count;
  if (!status) status = set_time(totals, SUM_NS, COLUMN_op_totals_sum_ns, integers, error);
  if (!status) status = set_time(totals, SUM_SELF, COLUMN_op_totals_self_ns, integers, error);
  if (!status) status = set_time(totals, SUM_OP_SELF, COLUMN_op_totals_op_self_ns, integers, error);
  for (unsigned k = 0; k < SHARED && !status; k++) {
    for (uint32_t i = 0; i < count; i++) integers[i] = totals->groups.keys[(size_t)i * SHARED + k];
    status = derive_set_integers(totals->profile, TABLE_op_totals, shared[k], integers, error);
  }
  for (uint32_t i = 0; i < count; i++) integers[i] = totals->items[i].first_start;
  if (!status)
    status = derive_set_integers(totals->profile, TABLE_op_totals, COLUMN_op_totals_first_start_ns, integers, error);
  for (uint32_t i = 0; i < count; i++) integers[i] = totals->items[i].last_end;
  if (!status)
    status = derive_set_integers(totals->profile, TABLE_op_totals, COLUMN_op_totals_last_end_ns, integers, error);
  return status;
}

static enum tfprof_status set_device(const struct op_totals *totals, double *reals, int64_t *integers,
                                     struct tfprof_error *error) {
  enum tfprof_status status = set_real(totals, SUM_DEVICE_CALLS, COLUMN_op_totals_device_count, reals, error);
  if (!status) status = set_time(totals, SUM_DEVICE, COLUMN_op_totals_device_ns, integers, error);
  if (!status) status = set_time(totals, SUM_DEVICE_SELF, COLUMN_op_totals_device_self_ns, integers, error);
  return status;
}

static enum tfprof_status run(struct profile *profile, bool makes_table,
                              void (*add)(struct op_totals *totals, const struct row_block *block,
                                          const uint32_t *numbers),
                              enum tfprof_status (*set)(const struct op_totals *totals, double *reals,
                                                        int64_t *integers, struct tfprof_error *error),
                              struct tfprof_error *error) {
  struct op_totals totals = {.profile = profile, .groups = {.width = SHARED}};
  enum tfprof_status status = each_block(&totals, add, error);
  double *reals = scratch_allocate(((size_t)totals.groups.count + 1) * sizeof *reals);
  int64_t *integers = scratch_allocate(((size_t)totals.groups.count + 1) * sizeof *integers);
  if (!status && (!reals || !integers)) status = error_no_memory(error);
  if (!status && makes_table) status = derive_make_table(profile, TABLE_op_totals, totals.groups.count, error);
  if (!status) status = set(&totals, reals, integers, error);
  scratch_free(reals);
  scratch_free(integers);
  scratch_free(totals.items);
  groups_free(&totals.groups);
  return status;
}

static enum tfprof_status run_op_totals(struct profile *profile, struct tfprof_error *error) {
  return run(profile, true, add_host, set_host, error);
}

static enum tfprof_status run_device_totals(struct profile *profile, struct tfprof_error *error) {
  return run(profile, false, add_device, set_device, error);
}

#define NUMBERED_BY \
  {TABLE_ops, COLUMN_ops_name}, {TABLE_ops, COLUMN_ops_op_type}, {TABLE_ops, COLUMN_ops_category}, \
      {TABLE_ops, COLUMN_ops_execution_mode}, {TABLE_ops, COLUMN_ops_thread_id}, {TABLE_ops, COLUMN_ops_is_measured}, \
  { \
    TABLE_ops, COLUMN_ops_sample_weight \
  }

const struct derive_pass derive_op_totals = {
    .name = "totals of ops",
    .summary = "Calls and times of ops of one name, type, category, mode and thread, by a hash table of these.",
    .makes_table = TABLE_op_totals,
    .reads = {NUMBERED_BY,
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_ops, COLUMN_ops_end_ns},
              {TABLE_ops, COLUMN_ops_dur_ns},
              {TABLE_ops, COLUMN_ops_self_ns},
              {TABLE_ops, COLUMN_ops_op_self_ns}},
    .run = run_op_totals,
};

const struct derive_pass derive_device_totals_of_ops = {
    .name = "device time of totals of ops",
    .summary = "Time on devices of the same, in the same way.",
    .makes_table = -1,
    .reads = {NUMBERED_BY, {TABLE_ops, COLUMN_ops_device_ns}, {TABLE_ops, COLUMN_ops_device_self_ns}},
    .writes = {{TABLE_op_totals, COLUMN_op_totals_device_count},
               {TABLE_op_totals, COLUMN_op_totals_device_ns},
               {TABLE_op_totals, COLUMN_op_totals_device_self_ns}},
    .run = run_device_totals,
};
