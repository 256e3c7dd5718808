/* kernel_totals.c: the table kernel_totals, rows of kernels that are alike added up.
**
** As op_totals: what views sum by kernel, configuration and op they sum over these rows.  Kernels of warm-up steps, and
** of steps that stand for several, are apart, so that a view can leave them out or weigh them.
*/
#include "derive/passes.h"
#include "derive/totals/groups.h"

#include <string.h>

enum kernel_key {
  KEY_GROUP,
  KEY_KIND,
  KEY_OP_NAME,
  KEY_OP_TYPE,
  KEY_DEVICE,
  KEY_WARMUP,
  KEY_TENSOR_CORE,
  KEY_ELIGIBLE,
  KEY_STEP_WEIGHT,
  KEY_OCCUPANCY,
  KEYS
};
enum { WHOLE_KEYS = KEY_STEP_WEIGHT }; /* those that are no reals */
static const uint16_t key_columns[KEYS] = {
    [KEY_GROUP] = COLUMN_kernel_totals_launch_group,
    [KEY_KIND] = COLUMN_kernel_totals_kind,
    [KEY_OP_NAME] = COLUMN_kernel_totals_op_name,
    [KEY_OP_TYPE] = COLUMN_kernel_totals_op_type,
    [KEY_DEVICE] = COLUMN_kernel_totals_device_id,
    [KEY_WARMUP] = COLUMN_kernel_totals_is_warmup,
    [KEY_TENSOR_CORE] = COLUMN_kernel_totals_uses_tensor_core,
    [KEY_ELIGIBLE] = COLUMN_kernel_totals_tensor_core_eligible,
    [KEY_STEP_WEIGHT] = COLUMN_kernel_totals_step_weight,
    [KEY_OCCUPANCY] = COLUMN_kernel_totals_theoretical_occupancy_ratio,
};

struct kernel_total {
  uint32_t first, name, last_op;
  int64_t count, least, most, first_start, last_end;
  double sum, self, flops, bytes; /* NAN: of nothing that is known */
};

struct kernel_totals {
  struct profile *profile;
  struct groups groups;
  struct kernel_total *items;
  uint32_t capacity, device_count, step_count, op_count;
  int64_t *warmups;     /* by step */
  double *step_weights; /* by step */
};

static int64_t bits_of(double real) {
  int64_t bits;
  if (isnan(real)) return NO_VALUE;
  memcpy(&bits, &real, sizeof bits);
  return bits;
}

static double real_of(int64_t bits) {
  double real;
  if (bits == NO_VALUE) return (double)NAN;
  memcpy(&real, &bits, sizeof real);
  return real;
}

/* ---- keys ---- */

struct key_block {
  int64_t groups[ROWS_BLOCK], tensor_core[ROWS_BLOCK], eligible[ROWS_BLOCK];
  string_id kinds[ROWS_BLOCK], op_names[ROWS_BLOCK], op_types[ROWS_BLOCK];
  uint32_t devices[ROWS_BLOCK], steps[ROWS_BLOCK];
  double occupancies[ROWS_BLOCK];
};

static void read_keys(const struct kernel_totals *totals, const struct row_block *block, struct key_block *keys) {
  block_integers(block, COLUMN_kernels_launch_group, keys->groups);
  block_integers(block, COLUMN_kernels_uses_tensor_core, keys->tensor_core);
  block_integers(block, COLUMN_kernels_tensor_core_eligible, keys->eligible);
  block_texts(block, COLUMN_kernels_kind, keys->kinds);
  block_texts(block, COLUMN_kernels_op_name, keys->op_names);
  block_texts(block, COLUMN_kernels_op_type, keys->op_types);
  block_references(block, COLUMN_kernels_device_id, totals->device_count, keys->devices);
  block_references(block, COLUMN_kernels_step_id, totals->step_count, keys->steps);
  block_reals(block, COLUMN_kernels_theoretical_occupancy_ratio, keys->occupancies);
}

static uint32_t number_row(struct kernel_totals *totals, const struct key_block *keys, uint32_t i) {
  uint32_t step = keys->steps[i];
  int64_t key[KEYS] = {
      [KEY_GROUP] = keys->groups[i],
      [KEY_KIND] = keys->kinds[i] ? (int64_t)keys->kinds[i] : NO_VALUE,
      [KEY_OP_NAME] = keys->op_names[i] ? (int64_t)keys->op_names[i] : NO_VALUE,
      [KEY_OP_TYPE] = keys->op_types[i] ? (int64_t)keys->op_types[i] : NO_VALUE,
      [KEY_DEVICE] = keys->devices[i] == NO_ROW ? NO_VALUE : (int64_t)keys->devices[i],
      [KEY_WARMUP] = step == NO_ROW ? NO_VALUE : totals->warmups[step],
      [KEY_TENSOR_CORE] = keys->tensor_core[i],
      [KEY_ELIGIBLE] = keys->eligible[i],
      [KEY_STEP_WEIGHT] = step == NO_ROW ? NO_VALUE : bits_of(totals->step_weights[step]),
      [KEY_OCCUPANCY] = bits_of(keys->occupancies[i]),
  };
  return groups_number(&totals->groups, key);
}

/* ---- sums ---- */

static void add_known(double *sum, int64_t value) {
  if (value != NO_VALUE) *sum = isnan(*sum) ? (double)value : *sum + (double)value;
}

static enum tfprof_status add_block(struct kernel_totals *totals, const struct row_block *block, struct key_block *keys,
                                    struct tfprof_error *error) {
  int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK], durations[ROWS_BLOCK], flops[ROWS_BLOCK], bytes[ROWS_BLOCK],
      selves[ROWS_BLOCK];
  string_id names[ROWS_BLOCK];
  uint32_t ops[ROWS_BLOCK];
  read_keys(totals, block, keys);
  block_texts(block, COLUMN_kernels_name, names);
  block_references(block, COLUMN_kernels_op_id, totals->op_count, ops);
  block_integers(block, COLUMN_kernels_start_ns, starts);
  block_integers(block, COLUMN_kernels_end_ns, ends);
  block_integers(block, COLUMN_kernels_dur_ns, durations);
  block_integers(block, COLUMN_kernels_self_ns, selves);
  block_integers(block, COLUMN_kernels_flops, flops);
  block_integers(block, COLUMN_kernels_bytes_accessed, bytes);
  for (uint32_t i = 0; i < block->count; i++) {
    uint32_t known = totals->groups.count, number = number_row(totals, keys, i);
    if (number == NO_ROW) return error_no_memory(error);
    if (number == known) {
      struct kernel_total *items = scratch_grow(totals->items, known, &totals->capacity, 256, sizeof *items);
      if (!items) return error_no_memory(error);
      totals->items = items;
      items[known] = (struct kernel_total){(uint32_t)block->row + i,
                                           names[i],
                                           NO_ROW,
                                           0,
                                           INT64_MAX,
                                           NO_VALUE,
                                           INT64_MAX,
                                           NO_VALUE,
                                           (double)NAN,
                                           (double)NAN,
                                           (double)NAN,
                                           (double)NAN};
    }
    struct kernel_total *total = &totals->items[number];
    total->count++;
    if (ops[i] != NO_ROW && (total->last_op == NO_ROW || ops[i] > total->last_op)) total->last_op = ops[i];
    add_known(&total->sum, durations[i]);
    add_known(&total->self, selves[i] == NO_VALUE ? durations[i] : selves[i]);
    add_known(&total->flops, flops[i]);
    add_known(&total->bytes, bytes[i]);
    if (durations[i] != NO_VALUE && durations[i] < total->least) total->least = durations[i];
    if (durations[i] > total->most) total->most = durations[i]; /* NO_VALUE is below all */
    if (starts[i] != NO_VALUE && starts[i] < total->first_start) total->first_start = starts[i];
    if (ends[i] > total->last_end) total->last_end = ends[i];
  }
  return TFPROF_OK;
}

static enum tfprof_status load_steps(struct kernel_totals *totals, struct tfprof_error *error) {
  const struct profile *profile = totals->profile;
  enum tfprof_status status = derive_row_count(profile, TABLE_devices, &totals->device_count, error);
  if (!status) status = derive_row_count(profile, TABLE_steps, &totals->step_count, error);
  if (!status) status = derive_row_count(profile, TABLE_ops, &totals->op_count, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_is_warmup, &totals->warmups, error);
  if (status) return status;
  totals->step_weights = scratch_allocate(((size_t)totals->step_count + 1) * sizeof *totals->step_weights);
  if (!totals->step_weights) return error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_steps, &block, &status, error);)
    block_reals(&block, COLUMN_steps_sample_weight, totals->step_weights + block.row);
  return status;
}

/* ---- columns ---- */

static enum tfprof_status set_columns(const struct kernel_totals *totals, struct tfprof_error *error) {
  uint32_t count = totals->groups.count;
  int64_t *integers = scratch_allocate(((size_t)count + 1) * sizeof *integers);
  double *reals = scratch_allocate(((size_t)count + 1) * sizeof *reals);
  enum tfprof_status status = integers && reals ? TFPROF_OK : error_no_memory(error);
#define SET_INTEGERS(column, expression) \
  do { \
    for (uint32_t i = 0; i < count && !status; i++) integers[i] = (expression); \
    if (!status) status = derive_set_integers(totals->profile, TABLE_kernel_totals, column, integers, error); \
  } while (0)
#define SET_REALS(column, expression) \
  do { \
    for (uint32_t i = 0; i < count && !status; i++) reals[i] = (expression); \
    if (!status) status = derive_set_reals(totals->profile, TABLE_kernel_totals, column, reals, error); \
  } while (0)
  for (unsigned k = 0; k < KEYS; k++) {
    const int64_t *keys = totals->groups.keys + k;
    if (k < WHOLE_KEYS) SET_INTEGERS(key_columns[k], keys[(size_t)i * KEYS]);
    else SET_REALS(key_columns[k], real_of(keys[(size_t)i * KEYS]));
  }
  SET_INTEGERS(COLUMN_kernel_totals_kernel_id, totals->items[i].first);
  SET_INTEGERS(COLUMN_kernel_totals_name, totals->items[i].name ? (int64_t)totals->items[i].name : NO_VALUE);
  SET_INTEGERS(COLUMN_kernel_totals_last_op_id,
               totals->items[i].last_op == NO_ROW ? NO_VALUE : (int64_t)totals->items[i].last_op);
  SET_INTEGERS(COLUMN_kernel_totals_count, totals->items[i].count);
  SET_INTEGERS(COLUMN_kernel_totals_min_ns, totals->items[i].least == INT64_MAX ? NO_VALUE : totals->items[i].least);
  SET_INTEGERS(COLUMN_kernel_totals_max_ns, totals->items[i].most);
  SET_INTEGERS(COLUMN_kernel_totals_first_start_ns,
               totals->items[i].first_start == INT64_MAX ? NO_VALUE : totals->items[i].first_start);
  SET_INTEGERS(COLUMN_kernel_totals_last_end_ns, totals->items[i].last_end);
  SET_INTEGERS(COLUMN_kernel_totals_sum_ns, whole_sum(totals->items[i].sum));
  SET_INTEGERS(COLUMN_kernel_totals_self_ns, whole_sum(totals->items[i].self));
  SET_REALS(COLUMN_kernel_totals_flops, totals->items[i].flops);
  SET_REALS(COLUMN_kernel_totals_bytes_accessed, totals->items[i].bytes);
#undef SET_INTEGERS
#undef SET_REALS
  scratch_free(integers);
  scratch_free(reals);
  return status;
}

static enum tfprof_status run_kernel_totals(struct profile *profile, struct tfprof_error *error) {
  struct kernel_totals totals = {.profile = profile, .groups = {.width = KEYS}};
  struct key_block *keys = scratch_allocate(sizeof *keys);
  enum tfprof_status status = keys ? load_steps(&totals, error) : error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_kernels, &block, &status, error);) {
    status = add_block(&totals, &block, keys, error);
    if (status) break;
  }
  if (!status) status = derive_make_table(profile, TABLE_kernel_totals, totals.groups.count, error);
  if (!status && totals.groups.count) status = set_columns(&totals, error);
  scratch_free(keys);
  scratch_free(totals.warmups);
  scratch_free(totals.step_weights);
  scratch_free(totals.items);
  groups_free(&totals.groups);
  return status;
}

const struct derive_pass derive_kernel_totals = {
    .name = "totals of kernels",
    .summary = "Launches and times of kernels of one configuration, op and device, by a hash table of these.",
    .makes_table = TABLE_kernel_totals,
    .reads = {{TABLE_kernels, COLUMN_kernels_name},
              {TABLE_kernels, COLUMN_kernels_launch_group},
              {TABLE_kernels, COLUMN_kernels_kind},
              {TABLE_kernels, COLUMN_kernels_op_id},
              {TABLE_kernels, COLUMN_kernels_op_name},
              {TABLE_kernels, COLUMN_kernels_op_type},
              {TABLE_kernels, COLUMN_kernels_device_id},
              {TABLE_kernels, COLUMN_kernels_step_id},
              {TABLE_kernels, COLUMN_kernels_uses_tensor_core},
              {TABLE_kernels, COLUMN_kernels_tensor_core_eligible},
              {TABLE_kernels, COLUMN_kernels_theoretical_occupancy_ratio},
              {TABLE_kernels, COLUMN_kernels_start_ns},
              {TABLE_kernels, COLUMN_kernels_end_ns},
              {TABLE_kernels, COLUMN_kernels_dur_ns},
              {TABLE_kernels, COLUMN_kernels_self_ns},
              {TABLE_kernels, COLUMN_kernels_flops},
              {TABLE_kernels, COLUMN_kernels_bytes_accessed},
              {TABLE_steps, COLUMN_steps_is_warmup},
              {TABLE_steps, COLUMN_steps_sample_weight}},
    .run = run_kernel_totals,
};
