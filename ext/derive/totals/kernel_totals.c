/* kernel_totals.c: the table kernel_totals, rows of kernels that are alike added up.
**
** As op_totals: what views sum by kernel, configuration and op they sum over these rows.  Kernels that statistics leave
** out are apart, and where kernels were recorded only in some steps those of each step, so that a view can weigh them
** and state an error.  How well they fill
** their device, and how long after their launch they began, has a pass of its own, which asks for more; it numbers the
** kernels once more.
*/
#include "derive/passes.h"
#include "derive/totals/grouping.h"


enum kernel_key {
  KEY_GROUP,
  KEY_KIND,
  KEY_OP_NAME,
  KEY_OP_TYPE,
  KEY_DEVICE,
  KEY_MEASURED,
  KEY_SAMPLED_STEP,
  KEY_OPS_RECORDED,
  KEY_TENSOR_CORE,
  KEY_ELIGIBLE,
  KEY_SAMPLE_WEIGHT,
  KEY_OCCUPANCY,
  KEYS
};
enum { WHOLE_KEYS = KEY_SAMPLE_WEIGHT }; /* those that are no reals */
static const uint16_t key_columns[KEYS] = {
    [KEY_GROUP] = COLUMN_kernel_totals_launch_group,
    [KEY_KIND] = COLUMN_kernel_totals_kind,
    [KEY_OP_NAME] = COLUMN_kernel_totals_op_name,
    [KEY_OP_TYPE] = COLUMN_kernel_totals_op_type,
    [KEY_DEVICE] = COLUMN_kernel_totals_device_id,
    [KEY_MEASURED] = COLUMN_kernel_totals_is_measured,
    [KEY_SAMPLED_STEP] = COLUMN_kernel_totals_sampled_step_id,
    [KEY_OPS_RECORDED] = COLUMN_kernel_totals_ops_recorded,
    [KEY_TENSOR_CORE] = COLUMN_kernel_totals_uses_tensor_core,
    [KEY_ELIGIBLE] = COLUMN_kernel_totals_tensor_core_eligible,
    [KEY_SAMPLE_WEIGHT] = COLUMN_kernel_totals_sample_weight,
    [KEY_OCCUPANCY] = COLUMN_kernel_totals_theoretical_occupancy_ratio,
};

struct kernel_total {
  uint32_t first, name, last_op;
  int64_t count, least, most, first_start, last_end;
  double sum, self, flops, bytes; /* NAN: of nothing that is known */
};

/* NAN: of nothing that is known. */
struct launch_total {
  int64_t delayed, with_op, with_call;
  double delay, blocks, blocks_known, occupancy, occupancy_known;
};

struct kernel_totals {
  struct profile *profile;
  uint32_t device_count, step_count, op_count;
  int64_t *ops_recorded; /* by step */
};

/* ---- keys ---- */

struct key_block {
  int64_t groups[ROWS_BLOCK], tensor_core[ROWS_BLOCK], eligible[ROWS_BLOCK], measured[ROWS_BLOCK];
  string_id kinds[ROWS_BLOCK], op_names[ROWS_BLOCK], op_types[ROWS_BLOCK];
  uint32_t devices[ROWS_BLOCK], steps[ROWS_BLOCK], sampled_steps[ROWS_BLOCK];
  double weights[ROWS_BLOCK], occupancies[ROWS_BLOCK];
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
  block_integers(block, COLUMN_kernels_is_measured, keys->measured);
  block_references(block, COLUMN_kernels_sampled_step_id, totals->step_count, keys->sampled_steps);
  block_reals(block, COLUMN_kernels_sample_weight, keys->weights);
  block_reals(block, COLUMN_kernels_theoretical_occupancy_ratio, keys->occupancies);
}

static void make_key(const struct kernel_totals *totals, const struct key_block *keys, uint32_t i, int64_t *key) {
  uint32_t step = keys->steps[i];
  key[KEY_GROUP] = keys->groups[i];
  key[KEY_KIND] = keys->kinds[i] ? (int64_t)keys->kinds[i] : NO_VALUE;
  key[KEY_OP_NAME] = keys->op_names[i] ? (int64_t)keys->op_names[i] : NO_VALUE;
  key[KEY_OP_TYPE] = keys->op_types[i] ? (int64_t)keys->op_types[i] : NO_VALUE;
  key[KEY_DEVICE] = keys->devices[i] == NO_ROW ? NO_VALUE : (int64_t)keys->devices[i];
  key[KEY_MEASURED] = keys->measured[i];
  key[KEY_SAMPLED_STEP] = keys->sampled_steps[i] == NO_ROW ? NO_VALUE : (int64_t)keys->sampled_steps[i];
  key[KEY_OPS_RECORDED] = step == NO_ROW ? NO_VALUE : totals->ops_recorded[step];
  key[KEY_TENSOR_CORE] = keys->tensor_core[i];
  key[KEY_ELIGIBLE] = keys->eligible[i];
  key[KEY_SAMPLE_WEIGHT] = key_of_real(keys->weights[i]);
  key[KEY_OCCUPANCY] = key_of_real(keys->occupancies[i]);
}

/* ---- sums ---- */

static void add_known(double *sum, int64_t value) {
  if (value != NO_VALUE) *sum = isnan(*sum) ? (double)value : *sum + (double)value;
}

/* numbers[i] = the total of row i of the block; a new one begins as `first`, of kernel_total with its row and name. */
static bool number_kernels(const struct grouping *grouping, struct grouped *to, const struct row_block *block,
                           const void *first, const string_id *names, uint32_t *numbers) {
  struct key_block *keys = scratch_allocate(sizeof *keys);
  bool ok = keys;
  if (ok) read_keys(grouping->context, block, keys);
  for (uint32_t i = 0; i < block->count && ok; i++) {
    int64_t key[KEYS];
    make_key(grouping->context, keys, i, key);
    uint32_t known = to->groups.count;
    numbers[i] = grouping_number(grouping, to, key, first);
    ok = numbers[i] != NO_ROW;
    if (!ok || !names || numbers[i] != known) continue;
    struct kernel_total *total = (struct kernel_total *)to->items + known;
    total->first = (uint32_t)block->row + i;
    total->name = names[i];
  }
  scratch_free(keys);
  return ok;
}

static bool add_kernels(const struct grouping *grouping, struct grouped *to, const struct row_block *block) {
  static const struct kernel_total none = {.last_op = NO_ROW, .least = INT64_MAX, .most = NO_VALUE,
                                           .first_start = INT64_MAX, .last_end = NO_VALUE, .sum = (double)NAN,
                                           .self = (double)NAN, .flops = (double)NAN, .bytes = (double)NAN};
  const struct kernel_totals *totals = grouping->context;
  int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK], durations[ROWS_BLOCK], flops[ROWS_BLOCK], bytes[ROWS_BLOCK],
      selves[ROWS_BLOCK];
  string_id names[ROWS_BLOCK];
  uint32_t ops[ROWS_BLOCK], numbers[ROWS_BLOCK];
  block_texts(block, COLUMN_kernels_name, names);
  if (!number_kernels(grouping, to, block, &none, names, numbers)) return false;
  block_references(block, COLUMN_kernels_op_id, totals->op_count, ops);
  block_integers(block, COLUMN_kernels_start_ns, starts);
  block_integers(block, COLUMN_kernels_end_ns, ends);
  block_integers(block, COLUMN_kernels_dur_ns, durations);
  block_integers(block, COLUMN_kernels_self_ns, selves);
  block_integers(block, COLUMN_kernels_flops, flops);
  block_integers(block, COLUMN_kernels_bytes_accessed, bytes);
  for (uint32_t i = 0; i < block->count; i++) {
    struct kernel_total *total = (struct kernel_total *)to->items + numbers[i];
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
  return true;
}

static void join_real(double *sum, double later) {
  if (!isnan(later)) *sum = isnan(*sum) ? later : *sum + later;
}

static void join_kernels(const struct grouping *grouping, void *item, const void *later) {
  (void)grouping;
  struct kernel_total *total = item;
  const struct kernel_total *more = later;
  total->count += more->count;
  if (more->last_op != NO_ROW && (total->last_op == NO_ROW || more->last_op > total->last_op))
    total->last_op = more->last_op;
  join_real(&total->sum, more->sum);
  join_real(&total->self, more->self);
  join_real(&total->flops, more->flops);
  join_real(&total->bytes, more->bytes);
  if (more->least < total->least) total->least = more->least;
  if (more->most > total->most) total->most = more->most;
  if (more->first_start < total->first_start) total->first_start = more->first_start;
  if (more->last_end > total->last_end) total->last_end = more->last_end;
}

static bool add_launches(const struct grouping *grouping, struct grouped *to, const struct row_block *block) {
  static const struct launch_total none = {0, 0, 0, (double)NAN, (double)NAN, (double)NAN, (double)NAN, (double)NAN};
  int64_t durations[ROWS_BLOCK], delays[ROWS_BLOCK], ops[ROWS_BLOCK], calls[ROWS_BLOCK];
  double blocks[ROWS_BLOCK], occupancies[ROWS_BLOCK];
  uint32_t numbers[ROWS_BLOCK];
  if (!number_kernels(grouping, to, block, &none, NULL, numbers)) return false;
  block_integers(block, COLUMN_kernels_dur_ns, durations);
  block_integers(block, COLUMN_kernels_launch_delay_ns, delays);
  block_integers(block, COLUMN_kernels_op_id, ops);
  block_integers(block, COLUMN_kernels_api_call_id, calls);
  block_reals(block, COLUMN_kernels_blocks_per_multiprocessor, blocks);
  block_reals(block, COLUMN_kernels_occupancy_ratio, occupancies);
  for (uint32_t i = 0; i < block->count; i++) {
    struct launch_total *total = (struct launch_total *)to->items + numbers[i];
    total->delayed += delays[i] != NO_VALUE;
    total->with_op += ops[i] != NO_VALUE;
    total->with_call += calls[i] != NO_VALUE;
    add_known(&total->delay, delays[i]);
    if (durations[i] == NO_VALUE) continue;
    double duration = (double)durations[i];
    join_real(&total->blocks, blocks[i] * duration); /* NAN changes nothing */
    join_real(&total->occupancy, occupancies[i] * duration);
    if (!isnan(blocks[i])) add_known(&total->blocks_known, durations[i]);
    if (!isnan(occupancies[i])) add_known(&total->occupancy_known, durations[i]);
  }
  return true;
}

static void join_launches(const struct grouping *grouping, void *item, const void *later) {
  (void)grouping;
  struct launch_total *total = item;
  const struct launch_total *more = later;
  total->delayed += more->delayed;
  total->with_op += more->with_op;
  total->with_call += more->with_call;
  join_real(&total->delay, more->delay);
  join_real(&total->blocks, more->blocks);
  join_real(&total->blocks_known, more->blocks_known);
  join_real(&total->occupancy, more->occupancy);
  join_real(&total->occupancy_known, more->occupancy_known);
}

static enum tfprof_status load_steps(struct kernel_totals *totals, struct tfprof_error *error) {
  const struct profile *profile = totals->profile;
  enum tfprof_status status = derive_row_count(profile, TABLE_devices, &totals->device_count, error);
  if (!status) status = derive_row_count(profile, TABLE_steps, &totals->step_count, error);
  if (!status) status = derive_row_count(profile, TABLE_ops, &totals->op_count, error);
  if (status) return status;
  return derive_all_integers(profile, TABLE_steps, COLUMN_steps_ops_recorded, &totals->ops_recorded, error);
}

/* ---- columns ---- */

static enum tfprof_status set_columns(const struct kernel_totals *totals, const struct grouped *grouped,
                                      struct tfprof_error *error) {
  uint32_t count = grouped->groups.count;
  const struct kernel_total *items = grouped->items;
  int64_t *integers = scratch_allocate(((size_t)count + 1) * sizeof *integers);
  double *reals = scratch_allocate(((size_t)count + 1) * sizeof *reals);
  enum tfprof_status status = integers && reals ? TFPROF_OK : error_no_memory(error);
#define SET_INTEGERS(column, expression) \
  SET_TOTALS(integers, totals->profile, TABLE_kernel_totals, column, expression)
#define SET_REALS(column, expression) SET_TOTALS(reals, totals->profile, TABLE_kernel_totals, column, expression)
  for (unsigned k = 0; k < KEYS; k++) {
    const int64_t *keys = grouped->groups.keys + k;
    if (k < WHOLE_KEYS) SET_INTEGERS(key_columns[k], keys[(size_t)i * KEYS]);
    else SET_REALS(key_columns[k], real_of_key(keys[(size_t)i * KEYS]));
  }
  SET_INTEGERS(COLUMN_kernel_totals_kernel_id, items[i].first);
  SET_INTEGERS(COLUMN_kernel_totals_name, items[i].name ? (int64_t)items[i].name : NO_VALUE);
  SET_INTEGERS(COLUMN_kernel_totals_last_op_id,
               items[i].last_op == NO_ROW ? NO_VALUE : (int64_t)items[i].last_op);
  SET_INTEGERS(COLUMN_kernel_totals_count, items[i].count);
  SET_INTEGERS(COLUMN_kernel_totals_min_ns, items[i].least == INT64_MAX ? NO_VALUE : items[i].least);
  SET_INTEGERS(COLUMN_kernel_totals_max_ns, items[i].most);
  SET_INTEGERS(COLUMN_kernel_totals_first_start_ns,
               items[i].first_start == INT64_MAX ? NO_VALUE : items[i].first_start);
  SET_INTEGERS(COLUMN_kernel_totals_last_end_ns, items[i].last_end);
  SET_INTEGERS(COLUMN_kernel_totals_sum_ns, whole_sum(items[i].sum));
  SET_INTEGERS(COLUMN_kernel_totals_self_ns, whole_sum(items[i].self));
  SET_REALS(COLUMN_kernel_totals_flops, items[i].flops);
  SET_REALS(COLUMN_kernel_totals_bytes_accessed, items[i].bytes);
  scratch_free(integers);
  scratch_free(reals);
  return status;
}

static enum tfprof_status set_launches(const struct kernel_totals *totals, const struct grouped *grouped,
                                       struct tfprof_error *error) {
  uint32_t count = grouped->groups.count;
  const struct launch_total *items = grouped->items;
  int64_t *integers = scratch_allocate(((size_t)count + 1) * sizeof *integers);
  double *reals = scratch_allocate(((size_t)count + 1) * sizeof *reals);
  enum tfprof_status status = integers && reals ? TFPROF_OK : error_no_memory(error);
  SET_INTEGERS(COLUMN_kernel_totals_delayed_count, items[i].delayed);
  SET_INTEGERS(COLUMN_kernel_totals_op_count, items[i].with_op);
  SET_INTEGERS(COLUMN_kernel_totals_call_count, items[i].with_call);
  SET_INTEGERS(COLUMN_kernel_totals_launch_delay_ns, whole_sum(items[i].delay));
  SET_REALS(COLUMN_kernel_totals_blocks_per_multiprocessor, items[i].blocks / items[i].blocks_known); /* NAN: NULL */
  SET_INTEGERS(COLUMN_kernel_totals_blocks_known_ns, whole_sum(items[i].blocks_known));
  SET_REALS(COLUMN_kernel_totals_occupancy_ratio, items[i].occupancy / items[i].occupancy_known);
  SET_INTEGERS(COLUMN_kernel_totals_occupancy_known_ns, whole_sum(items[i].occupancy_known));
#undef SET_INTEGERS
#undef SET_REALS
  scratch_free(integers);
  scratch_free(reals);
  return status;
}

static enum tfprof_status total_kernels(struct kernel_totals *totals, bool of_launches, struct grouped *grouped,
                                 struct tfprof_error *error) {
  const struct grouping grouping = {.profile = totals->profile,
                                    .table = TABLE_kernels,
                                    .width = KEYS,
                                    .item_size = of_launches ? sizeof(struct launch_total)
                                                             : sizeof(struct kernel_total),
                                    .context = totals,
                                    .add = of_launches ? add_launches : add_kernels,
                                    .join = of_launches ? join_launches : join_kernels};
  enum tfprof_status status = load_steps(totals, error);
  if (!status) status = grouping_run(&grouping, grouped, error);
  scratch_free(totals->ops_recorded);
  return status;
}

static enum tfprof_status run_kernel_totals(struct profile *profile, struct tfprof_error *error) {
  struct kernel_totals totals = {.profile = profile};
  struct grouped grouped = {.items = NULL};
  enum tfprof_status status = total_kernels(&totals, false, &grouped, error);
  if (!status) status = derive_make_table(profile, TABLE_kernel_totals, grouped.groups.count, error);
  if (!status && grouped.groups.count) status = set_columns(&totals, &grouped, error);
  grouped_free(&grouped);
  return status;
}

static enum tfprof_status run_launch_totals(struct profile *profile, struct tfprof_error *error) {
  struct kernel_totals totals = {.profile = profile};
  struct grouped grouped = {.items = NULL};
  enum tfprof_status status = total_kernels(&totals, true, &grouped, error);
  if (!status && grouped.groups.count) status = set_launches(&totals, &grouped, error);
  grouped_free(&grouped);
  return status;
}

#define NUMBERED_BY \
  {TABLE_kernels, COLUMN_kernels_launch_group}, {TABLE_kernels, COLUMN_kernels_kind}, \
      {TABLE_kernels, COLUMN_kernels_op_name}, {TABLE_kernels, COLUMN_kernels_op_type}, \
      {TABLE_kernels, COLUMN_kernels_device_id}, {TABLE_kernels, COLUMN_kernels_step_id}, \
      {TABLE_kernels, COLUMN_kernels_uses_tensor_core}, {TABLE_kernels, COLUMN_kernels_tensor_core_eligible}, \
      {TABLE_kernels, COLUMN_kernels_theoretical_occupancy_ratio}, {TABLE_kernels, COLUMN_kernels_dur_ns}, \
      {TABLE_kernels, COLUMN_kernels_is_measured}, {TABLE_kernels, COLUMN_kernels_sample_weight}, \
      {TABLE_kernels, COLUMN_kernels_sampled_step_id}, {TABLE_steps, COLUMN_steps_ops_recorded}

const struct derive_pass derive_kernel_totals = {
    .name = "totals of kernels",
    .summary = "Launches and times of kernels of one configuration, op and device, by a hash table of these.",
    .makes_table = TABLE_kernel_totals,
    .reads = {NUMBERED_BY,
              {TABLE_kernels, COLUMN_kernels_name},
              {TABLE_kernels, COLUMN_kernels_op_id},
              {TABLE_kernels, COLUMN_kernels_start_ns},
              {TABLE_kernels, COLUMN_kernels_end_ns},
              {TABLE_kernels, COLUMN_kernels_self_ns},
              {TABLE_kernels, COLUMN_kernels_flops},
              {TABLE_kernels, COLUMN_kernels_bytes_accessed}},
    .run = run_kernel_totals,
};

const struct derive_pass derive_launch_totals = {
    .name = "launches of totals of kernels",
    .summary = "How well the same fill their device and how long they waited to begin, in the same way.",
    .makes_table = -1,
    .reads = {NUMBERED_BY,
              {TABLE_kernels, COLUMN_kernels_launch_delay_ns},
              {TABLE_kernels, COLUMN_kernels_op_id},
              {TABLE_kernels, COLUMN_kernels_api_call_id},
              {TABLE_kernels, COLUMN_kernels_blocks_per_multiprocessor},
              {TABLE_kernels, COLUMN_kernels_occupancy_ratio}},
    .writes = {{TABLE_kernel_totals, COLUMN_kernel_totals_delayed_count},
               {TABLE_kernel_totals, COLUMN_kernel_totals_op_count},
               {TABLE_kernel_totals, COLUMN_kernel_totals_call_count},
               {TABLE_kernel_totals, COLUMN_kernel_totals_launch_delay_ns},
               {TABLE_kernel_totals, COLUMN_kernel_totals_blocks_per_multiprocessor},
               {TABLE_kernel_totals, COLUMN_kernel_totals_blocks_known_ns},
               {TABLE_kernel_totals, COLUMN_kernel_totals_occupancy_ratio},
               {TABLE_kernel_totals, COLUMN_kernel_totals_occupancy_known_ns}},
    .run = run_launch_totals,
};
