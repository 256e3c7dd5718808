/* test_store.c: the store with a source that makes its rows up.
**
** Every order, lookup and value is compared with what a plain array of the same rows gives.  Profiles come, grow and
** go while snapshots of them are held; derive passes are counted, fail and are interrupted; and everything is done
** once more with memory that runs out at every allocation in turn.
*/
#include "store/store.h"

#include "store_check.h"

/* ---- the source: rows are a function of profile and row number ---- */

enum { MAXIMUM_SEGMENTS = 8 };

struct fake {
  unsigned kind;       /* profiles differ */
  uint32_t rows;       /* of ops */
  uint32_t added_rows; /* by the next refresh */
  unsigned *freed;     /* counts free_profile */
  bool fails;
};

static unsigned loads, segments_alive;
static struct store *texts_of; /* whose pool the texts are in */

static string_id text_id(const char *text) {
  string_id id = 0;
  pool_intern(store_pool(texts_of), text, strlen(text), &id);
  return id;
}

/* Value of a column as stored; false: NULL. */
static bool fake_value(unsigned kind, unsigned column, uint64_t row, int64_t *value) {
  static const char *const names[] = {"mm", "add", "aten::mm", "", "z", "addmm", "a\x7f"};
  uint64_t mixed = (row + 1) * 0x9e3779b97f4a7c15u + kind * 977;
  mixed ^= mixed >> 31;
  double real;
  switch (column) {
  case COLUMN_ops_name: *value = text_id(names[mixed % 7]); return mixed % 11 != 0;
  case COLUMN_ops_category: *value = text_id("op"); return kind != 2;
  case COLUMN_ops_thread_id: *value = (int64_t)(mixed % 3); return true;
  case COLUMN_ops_parent_id: *value = (int64_t)(row + 1 + mixed % 4); return mixed % 5 != 0;
  case COLUMN_ops_start_ns: *value = 1000 * (int64_t)row + (int64_t)(mixed % 3000); return mixed % 17 != 3;
  case COLUMN_ops_dur_ns: *value = (int64_t)(mixed % 100000) << mixed % 20; return true;
  case COLUMN_ops_correlation:
    *value = mixed % 2 ? INT64_MIN + (int64_t)(mixed % 7) : INT64_MAX - (int64_t)(mixed % 9);
    return mixed % 4 != 0;
  case COLUMN_ops_sequence_number: *value = (int64_t)row * 3 - 50; return true;
  case COLUMN_ops_flops: *value = (int64_t)(mixed % 100) * 10000000; return mixed % 3 != 0;
  case COLUMN_ops_sample_weight:
    real = mixed % 13 == 0 ? 0.0 / 0.0 : mixed % 13 == 1 ? -0.0 : (double)((int64_t)(mixed % 9) - 4) / 2;
    memcpy(value, &real, sizeof real);
    return mixed % 6 != 0;
  default: return false;
  }
}

static const uint16_t fake_columns[] = {COLUMN_ops_name,         COLUMN_ops_category,        COLUMN_ops_thread_id,
                                        COLUMN_ops_parent_id,    COLUMN_ops_start_ns,        COLUMN_ops_dur_ns,
                                        COLUMN_ops_correlation,  COLUMN_ops_sequence_number, COLUMN_ops_flops,
                                        COLUMN_ops_sample_weight};
enum { FAKE_COLUMNS = sizeof fake_columns / sizeof *fake_columns };

static struct column *fake_column(const struct fake *fake, const struct segment *segment, unsigned column) {
  int64_t *values = calloc(segment->rows, sizeof *values);
  double *reals = calloc(segment->rows, sizeof *reals);
  uint64_t *nulls = calloc((segment->rows + 63) / 64, sizeof *nulls);
  struct column *result = NULL;
  if (values && reals && nulls) {
    for (uint32_t row = 0; row < segment->rows; row++) {
      bool is_known = fake_value(fake->kind, column, segment->first_row + row, &values[row]);
      memcpy(&reals[row], &values[row], sizeof *reals);
      if (!is_known) nulls[row >> 6] |= (uint64_t)1 << (row & 63);
    }
    bool is_real = column == COLUMN_ops_sample_weight;
    result =
        is_real ? column_from_reals(reals, nulls, segment->rows) : column_from_integers(values, nulls, segment->rows);
  }
  free(values);
  free(reals);
  free(nulls);
  return result;
}

static enum tfprof_status load(struct profile *profile, struct segment *segment, const uint16_t *columns,
                               unsigned count, struct column **out, struct tfprof_error *error) {
  const struct fake *fake = profile->source_data;
  loads++;
  if (fake->fails) return error_set(error, TFPROF_IO, "the disk is gone");
  for (unsigned i = 0; i < count; i++) {
    check(column_set_has(&segment->is_raw, columns[i]), "a column is loaded that is not raw");
    if (segment->table != TABLE_ops) continue; /* NULL: absent */
    if (columns[i] == COLUMN_ops_category) {
      segment_diagnose(segment, columns[i], "warning", "made_up", 2, -1, "made up for ops.category");
    }
    out[i] = fake_column(fake, segment, columns[i]);
    if (!out[i]) return error_no_memory(error);
  }
  return TFPROF_OK;
}

static enum tfprof_status add_rows(struct profile *profile, unsigned table, uint64_t first, uint32_t rows,
                                   struct tfprof_error *error) {
  struct column_set raw = {{0, 0}};
  for (unsigned i = 0; i < FAKE_COLUMNS && table == TABLE_ops; i++) column_set_add(&raw, fake_columns[i]);
  void *data = malloc(1);
  if (!data) return error_no_memory(error);
  segments_alive++;
  return profile_add_segment(profile, table, first, rows, &raw, data, NULL, error);
}

static enum tfprof_status refresh(struct profile *profile, bool *changed, struct tfprof_error *error) {
  struct fake *fake = profile->source_data;
  uint64_t rows = profile->tables[TABLE_ops].rows;
  if (fake->fails) return error_set(error, TFPROF_CORRUPT, "the file was cut");
  *changed = fake->rows + fake->added_rows > rows;
  if (!*changed) return TFPROF_OK;
  enum tfprof_status status = add_rows(profile, TABLE_ops, rows, fake->rows + fake->added_rows - (uint32_t)rows, error);
  return status;
}

static enum tfprof_status verify(struct profile *profile, struct tfprof_error *error) {
  profile_diagnose(profile, "info", "verified", 1, 77, TABLE_kernels, "profile %u was verified", profile->number);
  return profile_load_all(profile, error);
}

static void free_segment(void *data) {
  free(data);
  segments_alive--;
}

static void free_profile(struct profile *profile) {
  struct fake *fake = profile->source_data;
  ++*fake->freed;
  free(fake);
}

static const struct profile_source fake_source = {.format = "fake",
                                                  .load = load,
                                                  .refresh = refresh,
                                                  .verify = verify,
                                                  .free_segment = free_segment,
                                                  .free_profile = free_profile};

/* ---- passes ---- */

static unsigned depth_runs, step_runs, count_runs, kernel_runs;
static enum tfprof_status depth_result;

static enum tfprof_status run_depth(struct profile *profile, struct tfprof_error *error) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  depth_runs++;
  for (size_t i = 0; i < ops->segment_count; i++) {
    struct segment *segment = ops->segments[i];
    check(segment->columns[COLUMN_ops_parent_id] && segment->columns[COLUMN_ops_name], "a pass misses what it reads");
    if (i == 1 && depth_result) return error_set(error, depth_result, "as the test wants it");
    int64_t *values = calloc(segment->rows, sizeof *values);
    if (!values) return error_no_memory(error);
    for (uint32_t row = 0; row < segment->rows; row++) values[row] = (int64_t)(ops->rows * 1000 + row);
    enum tfprof_status status =
        segment_set_column(segment, COLUMN_ops_depth, column_from_integers(values, NULL, segment->rows));
    free(values);
    if (!status)
      status = segment_set_column(segment, COLUMN_ops_thread_id, column_absent(segment->rows)); /* raw: ignored */
    if (status) return status;
  }
  return TFPROF_OK;
}

/* Makes a step for every hundred ops. */
static enum tfprof_status run_steps(struct profile *profile, struct tfprof_error *error) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  struct segment *segment;
  step_runs++;
  uint32_t rows = (uint32_t)(ops->rows / 100);
  enum tfprof_status status = profile_add_segment(profile, TABLE_steps, 0, rows, NULL, NULL, &segment, error);
  if (status || !segment) return status;
  if (depth_result == TFPROF_INTERRUPTED) return error_set(error, depth_result, "interrupted");
  return segment_set_column(segment, COLUMN_steps_number, column_constant(rows, 5));
}

/* Reads what the others make. */
static enum tfprof_status run_count(struct profile *profile, struct tfprof_error *error) {
  (void)error;
  const struct profile_table *steps = &profile->tables[TABLE_steps], *ops = &profile->tables[TABLE_ops];
  count_runs++;
  for (size_t i = 0; i < steps->segment_count; i++) {
    check(steps->segments[i]->columns[COLUMN_steps_number] != NULL, "a made table's column is missing");
  }
  for (size_t i = 0; i < ops->segment_count; i++) {
    const struct segment *segment = ops->segments[i];
    check(segment->columns[COLUMN_ops_depth] != NULL, "a derived column is missing");
  }
  return TFPROF_OK; /* sets nothing: step_id is absent */
}

static enum tfprof_status run_kernels(struct profile *profile, struct tfprof_error *error) {
  kernel_runs++;
  return profile_add_segment(profile, TABLE_threads, 0, 1, NULL, NULL, NULL, error);
}

static const struct derive_pass depth_pass = {
    .name = "depth",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_parent_id}, {TABLE_ops, COLUMN_ops_name}},
    .writes = {{TABLE_ops, COLUMN_ops_depth}, {TABLE_ops, COLUMN_ops_thread_id}},
    .run = run_depth};
static const struct derive_pass steps_pass = {.name = "steps",
                                              .makes_table = TABLE_steps,
                                              .reads = {{TABLE_ops, COLUMN_ops_depth}},
                                              .writes = {{TABLE_steps, COLUMN_steps_number}},
                                              .run = run_steps};
static const struct derive_pass count_pass = {
    .name = "count",
    .makes_table = -1,
    .reads = {{TABLE_steps, COLUMN_steps_number}, {TABLE_ops, COLUMN_ops_depth}},
    .writes = {{TABLE_ops, COLUMN_ops_step_id}},
    .run = run_count};
/* threads has rows of its own in kind 3: adding more is refused. */
static const struct derive_pass wrong_pass = {
    .name = "wrong", .makes_table = TABLE_threads, .writes = {{TABLE_ops, COLUMN_ops_module}}, .run = run_kernels};
static const struct derive_pass cycle_pass = {.name = "cycle",
                                              .makes_table = -1,
                                              .reads = {{TABLE_ops, COLUMN_ops_error}},
                                              .writes = {{TABLE_ops, COLUMN_ops_error}},
                                              .run = run_count};
static const struct derive_pass *const passes[] = {&count_pass, &steps_pass, &depth_pass, &wrong_pass, &cycle_pass};

/* ---- opening ---- */

static enum tfprof_status open_run(struct store *store, const char *path, unsigned profile_count, uint32_t rows,
                                   unsigned *freed, uint32_t *run, struct tfprof_error *error) {
  enum tfprof_status status = store_add_run(store, path, NULL, run, error);
  if (status) return status;
  for (unsigned kind = 0; kind < profile_count && !status; kind++) {
    char name[64];
    struct profile *profile;
    struct fake *fake = calloc(1, sizeof *fake);
    if (!fake) {
      status = error_no_memory(error);
      break;
    }
    *fake = (struct fake){.kind = kind, .rows = rows + kind * 10, .freed = freed};
    status = store_add_profile(store, *run, &fake_source, fake, &profile, error);
    if (status) break;
    snprintf(name, sizeof name, "%s/host-rank%u.tfprof", path, kind);
    status = pool_intern(store_pool(store), name, strlen(name), &profile->path);
    profile->rank = kind;
    profile->clock_offset_ns = kind == 1 ? -1234567 : (int64_t)kind * 1000000000;
    if (kind != 4) profile->clock_domain = profile->path;
    if (!status) status = add_rows(profile, TABLE_ops, 0, rows / 3, error);
    if (!status) status = add_rows(profile, TABLE_ops, rows / 3, rows / 3, error);
    /* kind 2 has a gap */
    uint32_t gap = kind == 2 ? 100 : 0, done = rows / 3 * 2 + gap;
    if (!status) status = add_rows(profile, TABLE_ops, done, rows + kind * 10 - done, error);
    if (!status && kind == 3) status = add_rows(profile, TABLE_threads, 0, 2, error);
  }
  if (status) store_cancel_run(store, *run);
  else store_publish_run(store, *run);
  return status;
}

static struct store *create(void) {
  struct store *store = store_create(passes, sizeof passes / sizeof *passes);
  texts_of = store;
  return store;
}

static struct column_set set_of(unsigned column) {
  struct column_set set = {{0, 0}};
  column_set_add(&set, column);
  return set;
}

static struct snapshot *take(struct store *store, unsigned table, const char *selection) {
  struct tfprof_error error;
  struct snapshot *snapshot = NULL;
  enum tfprof_status status = store_snapshot(store, table, selection, &snapshot, &error);
  check(status == TFPROF_OK, "no snapshot: %s", error.message);
  return snapshot;
}

static void require(struct snapshot *snapshot, unsigned column) {
  struct tfprof_error error;
  struct column_set set = set_of(column);
  check(snapshot_require(snapshot, &set, &error) == TFPROF_OK, "column %u is not to be had: %s", column, error.message);
}

static struct value value_at(const struct snapshot *snapshot, unsigned column, uint64_t position) {
  size_t hint = 0;
  uint32_t row;
  const struct segment *segment = snapshot_segment(snapshot, position, &hint, &row);
  return segment_value(segment, column, row);
}

/* ---- orders and lookups against plain sorting ---- */

static int compare_values(const struct store *store, struct value a, struct value b) {
  struct pool *pool = store_pool((struct store *)(uintptr_t)store);
  if (a.kind == VALUE_NULL || b.kind == VALUE_NULL) return (a.kind != VALUE_NULL) - (b.kind != VALUE_NULL);
  if (a.kind == VALUE_TEXT) {
    return strcmp(pool_text(pool, a.text), pool_text(pool, b.text)); /* the texts have no NUL */
  }
  if (a.kind == VALUE_REAL) return (a.real > b.real) - (a.real < b.real);
  return (a.integer > b.integer) - (a.integer < b.integer);
}

static const struct snapshot *sorted_snapshot;
static const uint16_t *sorted_columns;
static unsigned sorted_count;

static int compare_positions(const void *left, const void *right) {
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  for (unsigned i = 0; i < sorted_count; i++) {
    int order = compare_values(sorted_snapshot->store, value_at(sorted_snapshot, sorted_columns[i], a),
                               value_at(sorted_snapshot, sorted_columns[i], b));
    if (order) return order;
  }
  return (a > b) - (a < b);
}

static void check_order(struct snapshot *snapshot, const uint16_t *columns, unsigned count) {
  struct tfprof_error error;
  const uint32_t *positions = NULL, *again = NULL;
  enum tfprof_status status = snapshot_order(snapshot, columns, count, &positions, &error);
  if (!check(status == TFPROF_OK, "no order: %s", error.message)) return;
  uint32_t *expected = malloc((snapshot->rows + 1) * sizeof *expected);
  for (uint32_t i = 0; i < snapshot->rows; i++) expected[i] = i;
  sorted_snapshot = snapshot;
  sorted_columns = columns;
  sorted_count = count;
  qsort(expected, snapshot->rows, sizeof *expected, compare_positions);
  for (uint64_t i = 0; i < snapshot->rows; i++) {
    if (!check(positions[i] == expected[i], "order of %u (%u columns) differs at %llu", columns[0], count,
               (unsigned long long)i))
      break;
  }
  free(expected);
  snapshot_order(snapshot, columns, count, &again, &error);
  check(again == positions, "an order is made twice");
}

/* Looks up the value of every row, and some that no row has. */
static void check_equal(struct snapshot *snapshot, unsigned column) {
  struct tfprof_error error;
  const uint32_t *positions;
  uint64_t count;
  require(snapshot, column);
  for (uint64_t i = 0; i < snapshot->rows; i += 1 + i / 40) {
    struct value value = value_at(snapshot, column, i);
    uint64_t expected = 0;
    for (uint64_t k = 0; k < snapshot->rows; k++) {
      expected += compare_values(snapshot->store, value, value_at(snapshot, column, k)) == 0;
    }
    enum tfprof_status status = snapshot_equal(snapshot, column, value, &positions, &count, &error);
    check(status == TFPROF_OK && count == expected, "column %u, row %llu: %llu rows are equal, not %llu", column,
          (unsigned long long)i, (unsigned long long)expected, (unsigned long long)count);
    for (uint64_t k = 0; k < count && k < expected; k++) {
      check(compare_values(snapshot->store, value, value_at(snapshot, column, positions[k])) == 0,
            "a row is not equal");
      check(k == 0 || positions[k - 1] < positions[k], "equal rows are not in order");
    }
    if (value.kind != VALUE_INTEGER) continue;
    struct value real = {.kind = VALUE_REAL, .real = (double)value.integer};
    uint64_t real_count;
    snapshot_equal(snapshot, column, real, &positions, &real_count, &error);
    if (value.integer > -(1ll << 52) && value.integer < 1ll << 52) {
      check(real_count == count, "column %u: the same number as a real finds others", column);
    }
  }
  static const int64_t numbers[] = {INT64_MIN, INT64_MAX, -1, 0, 12345678901, (int64_t)1 << 36 | 5, (int64_t)9 << 36};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct value value = {.kind = VALUE_INTEGER, .integer = numbers[i]};
    uint64_t expected = 0;
    for (uint64_t k = 0; k < snapshot->rows; k++) {
      struct value other = value_at(snapshot, column, k);
      expected += (other.kind == VALUE_INTEGER && other.integer == numbers[i]) ||
                  (other.kind == VALUE_REAL && other.real == (double)numbers[i]);
    }
    snapshot_equal(snapshot, column, value, &positions, &count, &error);
    check(count == expected, "column %u: %lld is found %llu times, not %llu", column, (long long)numbers[i],
          (unsigned long long)count, (unsigned long long)expected);
  }
  const struct value odd[] = {{.kind = VALUE_REAL, .real = 0.25},
                              {.kind = VALUE_REAL, .real = 1e300},
                              {.kind = VALUE_REAL, .real = 0.0 / 0.0},
                              {.kind = VALUE_TEXT, .text = 1000000}};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    snapshot_equal(snapshot, column, odd[i], &positions, &count, &error);
    check(count == 0, "column %u: something is equal to nothing", column);
  }
}

static void check_range(struct snapshot *snapshot, unsigned column, int64_t minimum, int64_t maximum) {
  struct tfprof_error error;
  const uint32_t *positions;
  uint64_t count, expected = 0;
  for (uint64_t i = 0; i < snapshot->rows; i++) {
    struct value value = value_at(snapshot, column, i);
    if (value.kind == VALUE_INTEGER) expected += value.integer >= minimum && value.integer <= maximum;
    if (value.kind == VALUE_REAL) expected += value.real >= (double)minimum && value.real <= (double)maximum;
  }
  enum tfprof_status status = snapshot_range(snapshot, column, minimum, maximum, &positions, &count, &error);
  check(status == TFPROF_OK && count == expected, "column %u: %llu rows in %lld ... %lld, not %llu", column,
        (unsigned long long)count, (long long)minimum, (long long)maximum, (unsigned long long)expected);
}

static void test_orders(void) {
  struct store *store = create();
  struct tfprof_error error;
  unsigned freed = 0;
  uint32_t run;
  open_run(store, "runs/a", 3, 700, &freed, &run, &error);
  struct snapshot *ops = take(store, TABLE_ops, NULL);
  check(ops->rows == 700 + 710 + 720 - 100, "%llu rows", (unsigned long long)ops->rows);
  for (unsigned i = 0; i < FAKE_COLUMNS; i++) {
    uint16_t column = fake_columns[i];
    require(ops, column);
    check_order(ops, &column, 1);
    check_equal(ops, column);
    check_range(ops, column, INT64_MIN, INT64_MAX);
    check_range(ops, column, -3, 2);
    check_range(ops, column, 100000, 1000300000);
    check_range(ops, column, 5, 4);
    uint64_t distinct = snapshot_estimate_distinct(ops, column);
    check(distinct > 0 && distinct <= ops->rows, "%llu distinct", (unsigned long long)distinct);
  }
  for (uint16_t column = 0; column < 2; column++) {
    check_order(ops, &column, 1);
    check_equal(ops, column);
    check_range(ops, column, 1, 2);
  }
  static const uint16_t several[][4] = {
      {COLUMN_ops_name, COLUMN_ops_thread_id},
      {COLUMN_ops_thread_id, COLUMN_ops_correlation},
      {COLUMN_ops_name, COLUMN_ops_sample_weight, COLUMN_ops_id},
      {COLUMN_ops_thread_id, COLUMN_ops_profile_id, COLUMN_ops_flops, COLUMN_ops_dur_ns},
      {COLUMN_ops_flops, COLUMN_ops_start_ns, COLUMN_ops_profile_id},
      {COLUMN_ops_id, COLUMN_ops_name},
      {COLUMN_ops_category, COLUMN_ops_correlation, COLUMN_ops_sample_weight},
  };
  static const unsigned counts[] = {2, 2, 3, 4, 3, 2, 3};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) check_order(ops, several[i], counts[i]);
  const uint32_t *positions;
  check(snapshot_order(ops, several[0], 5, &positions, &error) == TFPROF_USAGE, "five columns");
  uint16_t none[1] = {200};
  check(snapshot_order(ops, none, 1, &positions, &error) == TFPROF_USAGE, "column 200");
  for (uint64_t i = 0; i < ops->rows; i++) {
    int64_t id = value_at(ops, 0, i).integer;
    check(snapshot_find_id(ops, id) == (int64_t)i, "id %lld is not found", (long long)id);
  }
  static const int64_t no_ids[] = {
      0, -1, INT64_MIN, INT64_MAX, ((int64_t)1 << 36) + 700, ((int64_t)4 << 36), ((int64_t)3 << 36) + 480};
  for (size_t i = 0; i < sizeof no_ids / sizeof *no_ids; i++)
    check(snapshot_find_id(ops, no_ids[i]) == -1, "id %lld", (long long)no_ids[i]);
  check(store_bytes(store) > 10000, "no bytes");
  snapshot_release(ops);
  struct snapshot *kernels = take(store, TABLE_kernels, NULL); /* no rows at all */
  uint16_t column = COLUMN_kernels_name;
  check(kernels->rows == 0 && snapshot_order(kernels, &column, 1, &positions, &error) == TFPROF_OK, "an empty order");
  check_equal(kernels, COLUMN_kernels_op_id);
  snapshot_release(kernels);
  store_release(store);
  check(freed == 3 && segments_alive == 0, "%u profiles freed, %u segments left", freed, segments_alive);
}

/* ---- passes ---- */

static bool interrupt_now;
static bool is_interrupted(void *context) {
  (void)context;
  return interrupt_now;
}

static void test_passes(void) {
  struct store *store = create();
  struct tfprof_error error;
  struct column_set set;
  unsigned freed = 0;
  uint32_t run;
  struct store_hooks hooks = {.is_interrupted = is_interrupted};
  store_set_hooks(store, &hooks);
  open_run(store, "runs/a", 4, 700, &freed, &run, &error);
  depth_runs = step_runs = count_runs = kernel_runs = loads = 0;

  struct snapshot *ops = take(store, TABLE_ops, "1"), *again = take(store, TABLE_ops, "1");
  check(ops == again, "the same rows make two snapshots");
  snapshot_release(again);
  check(loads == 0, "something is loaded though nobody asked");
  set = set_of(COLUMN_ops_name);
  check(snapshot_require_segment(ops, 1, &set, &error) == TFPROF_OK && loads == 1, "one segment takes %u loads", loads);
  check(!ops->segments[0]->columns[COLUMN_ops_name] && ops->segments[1]->columns[COLUMN_ops_name], "the wrong segment");

  /* A failing pass fails the query, leaves nothing half made, and runs again. */
  depth_result = TFPROF_INTERRUPTED;
  set = set_of(COLUMN_ops_step_id);
  check(snapshot_require(ops, &set, &error) == TFPROF_INTERRUPTED, "a failing pass does not fail");
  depth_result = TFPROF_OK;
  interrupt_now = true;
  check(snapshot_require(ops, &set, &error) == TFPROF_INTERRUPTED, "an interrupt is not heard");
  interrupt_now = false;
  check(snapshot_require(ops, &set, &error) == TFPROF_OK, "it fails for ever: %s", error.message);
  check(depth_runs == 2 && step_runs == 1 && count_runs == 1, "passes ran %u, %u, %u times", depth_runs, step_runs,
        count_runs);
  check(ops->segments[0]->columns[COLUMN_ops_step_id]->form == COLUMN_ABSENT,
        "a column that no pass set is not absent");
  require(ops, COLUMN_ops_depth);
  require(ops, COLUMN_ops_thread_id);
  check(value_at(ops, COLUMN_ops_depth, 1).integer == 700001, "a derived value is wrong");
  check(value_at(ops, COLUMN_ops_thread_id, 5).kind == VALUE_INTEGER, "a pass wrote over a raw column");
  require(ops, COLUMN_ops_error == 0 ? 0 : COLUMN_ops_hlo_module);
  check(value_at(ops, COLUMN_ops_hlo_module, 1).kind == VALUE_NULL, "a column that nobody has is not NULL");
  check(depth_runs == 2, "a pass runs again");
  set = set_of(COLUMN_ops_error);
  check(snapshot_require(ops, &set, &error) == TFPROF_USAGE && strstr(error.message, "cycle"), "a cycle is not seen");

  struct snapshot *steps = take(store, TABLE_steps, "1");
  check(steps->rows == 7 && step_runs == 1, "%llu steps", (unsigned long long)steps->rows);
  require(steps, COLUMN_steps_number);
  check(value_at(steps, COLUMN_steps_number, 6).integer == 5, "a made value is wrong");
  require(steps, COLUMN_steps_name);
  check(store_estimate_rows(store, TABLE_steps) >= 7, "no steps are expected");
  snapshot_release(steps);
  snapshot_release(ops);
  steps = take(store, TABLE_steps, NULL);
  check(steps->rows == 7 + 7 + 7 + 7 && step_runs == 4, "%llu steps in all", (unsigned long long)steps->rows);
  snapshot_release(steps);

  /* A made table whose maker fails is made again later. */
  struct snapshot *threads;
  check(store_snapshot(store, TABLE_threads, "4", &threads, &error) == TFPROF_OK && threads->rows == 2, "raw threads");
  snapshot_release(threads);
  set = set_of(COLUMN_ops_module);
  ops = take(store, TABLE_ops, "4");
  check(snapshot_require(ops, &set, &error) == TFPROF_USAGE, "a pass may add rows to a table that the source has");
  snapshot_release(ops);
  threads = take(store, TABLE_threads, "1");
  check(threads->rows == 1, "made threads");
  snapshot_release(threads);
  store_release(store);
  check(freed == 4 && segments_alive == 0, "%u profiles freed, %u segments left", freed, segments_alive);
}

static void test_made_again(void) {
  struct store *store = create();
  struct tfprof_error error;
  struct snapshot *steps;
  unsigned freed = 0;
  uint32_t run;
  open_run(store, "runs/a", 1, 700, &freed, &run, &error);
  /* The steps pass fails after it has added its segment. */
  struct snapshot *ops = take(store, TABLE_ops, NULL);
  require(ops, COLUMN_ops_depth);
  depth_result = TFPROF_INTERRUPTED;
  check(store_snapshot(store, TABLE_steps, NULL, &steps, &error) == TFPROF_INTERRUPTED,
        "a failing maker does not fail");
  depth_result = TFPROF_OK;
  steps = take(store, TABLE_steps, NULL);
  check(steps->rows == 7, "%llu steps after a failure", (unsigned long long)steps->rows);
  snapshot_release(steps);
  snapshot_release(ops);
  store_release(store);
}

static long interrupt_after;
static bool is_interrupted_later(void *context) {
  (void)context;
  return interrupt_after >= 0 && interrupt_after-- == 0;
}

/* Wherever the user stops an order, it says so, and the next one is right. */
static void test_interrupts(void) {
  static const uint16_t columns[] = {COLUMN_ops_thread_id, COLUMN_ops_start_ns, COLUMN_ops_correlation};
  struct store *store = create();
  struct store_hooks hooks = {.is_interrupted = is_interrupted_later};
  struct tfprof_error error;
  unsigned freed = 0;
  uint32_t run;
  long stops = 0;
  interrupt_after = -1;
  store_set_hooks(store, &hooks);
  open_run(store, "runs/a", 2, 70000, &freed, &run, &error);
  for (enum tfprof_status status = TFPROF_INTERRUPTED; status; stops++) {
    struct snapshot *ops = NULL;
    const uint32_t *positions;
    uint64_t count;
    interrupt_after = stops;
    status = store_snapshot(store, TABLE_ops, NULL, &ops, &error);
    if (!status) status = snapshot_order(ops, columns, 3, &positions, &error);
    struct value value = {.kind = VALUE_INTEGER, .integer = 12345};
    for (unsigned i = 0; i < 12 && !status; i++) {
      status = snapshot_equal(ops, COLUMN_ops_dur_ns, value, &positions, &count, &error);
    }
    check(!status || status == TFPROF_INTERRUPTED, "stop %ld: status %d", stops, status);
    snapshot_release(ops);
    if (stops > 2000) break;
  }
  interrupt_after = -1;
  check(stops > 20 && stops < 2000, "%ld places to stop", stops);
  struct snapshot *ops = take(store, TABLE_ops, NULL);
  for (unsigned i = 0; i < 3; i++) require(ops, columns[i]);
  check_order(ops, columns, 3);
  check_order(ops, columns + 1, 1);
  snapshot_release(ops);
  store_release(store);
}

/* ---- versions ---- */

static void grow(struct store *store, uint32_t rows) {
  for (size_t i = 0; i < store_profile_count(store); i++) {
    struct fake *fake = store_profile_at(store, i)->source_data;
    fake->added_rows += rows;
  }
}

static void test_refresh(void) {
  struct store *store = create();
  struct tfprof_error error;
  unsigned freed = 0;
  uint32_t run;
  uint64_t added, generation;
  open_run(store, "runs/a", 2, 300, &freed, &run, &error);
  struct snapshot *before = take(store, TABLE_ops, NULL), *steps = take(store, TABLE_steps, NULL);
  require(before, COLUMN_ops_name);
  struct column *shared = before->segments[0]->columns[COLUMN_ops_name];
  generation = store_generation(store);
  check(store_refresh(store, 0, &added, &error) == TFPROF_OK && added == 0, "a refresh finds what is not there");
  check(store_generation(store) == generation && take(store, TABLE_ops, NULL) == before,
        "nothing changed, but the snapshot did");
  snapshot_release(before);

  grow(store, 100);
  depth_runs = step_runs = 0;
  check(store_refresh(store, 0, &added, &error) == TFPROF_OK && added == 200, "a refresh adds %llu rows",
        (unsigned long long)added);
  check(store_generation(store) > generation, "the generation does not rise");
  struct snapshot *after = take(store, TABLE_ops, NULL);
  check(after->rows == before->rows + 200, "%llu rows after the refresh", (unsigned long long)after->rows);
  check(after->segments[0]->columns[COLUMN_ops_name] == shared, "a loaded column is not shared");
  /* The old snapshot goes on with what it had, also for what it asks only now. */
  require(before, COLUMN_ops_step_id);
  require(before, COLUMN_ops_depth);
  check(value_at(before, COLUMN_ops_depth, 0).integer == 300000, "the old rows are derived from the new");
  require(after, COLUMN_ops_depth);
  check(value_at(after, COLUMN_ops_depth, 0).integer == 400000, "the new rows are derived from the old");
  require(before, COLUMN_ops_flops);
  check_order(before, (const uint16_t[]){COLUMN_ops_name}, 1);
  check(steps->rows == 6, "the old steps changed");
  struct snapshot *new_steps = take(store, TABLE_steps, NULL);
  check(new_steps->rows == 8, "%llu new steps", (unsigned long long)new_steps->rows);
  for (uint64_t i = 0; i < 50; i++) {
    int64_t id = value_at(before, 0, i * 12).integer, position = snapshot_find_id(after, id);
    check(position >= 0 && value_at(after, COLUMN_ops_depth, (uint64_t)position).kind == VALUE_INTEGER,
          "an id is lost");
  }
  snapshot_release(new_steps);
  snapshot_release(after);

  /* One of two fails, then both. */
  struct fake *fake = store_profile_at(store, 0)->source_data;
  fake->fails = true;
  grow(store, 50);
  check(store_refresh(store, 0, &added, &error) == TFPROF_OK && added == 50, "one failing profile fails all");
  fake = store_profile_at(store, 1)->source_data;
  fake->fails = true;
  check(store_refresh(store, 0, &added, &error) == TFPROF_OK && added == 0, "a file that is gone fails the refresh");
  struct snapshot *told = take(store, TABLE_diagnostics, "2");
  uint64_t told_rows = told->rows;
  check(store_profile_at(store, 1)->diagnostic_count > 0, "nobody is told of the file");
  snapshot_release(told);
  check(store_refresh(store, 0, &added, &error) == TFPROF_OK, "a second refresh");
  told = take(store, TABLE_diagnostics, "2");
  check(told->rows == told_rows, "%llu diagnostics after the second refresh, %llu after the first",
        (unsigned long long)told->rows, (unsigned long long)told_rows);
  snapshot_release(told);
  fake->fails = false;
  ((struct fake *)store_profile_at(store, 0)->source_data)->fails = false;
  check(store_refresh(store, 0, &added, &error) == TFPROF_OK && added == 50, "a profile does not recover");
  for (size_t i = 0; i < store_profile_at(store, 1)->diagnostic_count; i++) {
    const struct diagnostic *diagnostic = &store_profile_at(store, 1)->diagnostics[i];
    check(!strstr(pool_text(store_pool(store), diagnostic->message), "cut"), "a file that is there again is told lost");
  }

  /* Closing while in use. */
  struct snapshot *last = take(store, TABLE_ops, NULL);
  check(store_close_run(store, run, &error) == TFPROF_OK, "closing fails");
  check(store_close_run(store, run, &error) == TFPROF_NOT_FOUND, "closing twice");
  check(store_profile_count(store) == 0 && store_run_count(store) == 0 && !store_profile_by_number(store, 1),
        "still there");
  check(freed == 0, "a profile in use was freed");
  require(last, COLUMN_ops_dur_ns);
  require(last, COLUMN_ops_step_id);
  check_order(last, (const uint16_t[]){COLUMN_ops_dur_ns}, 1);
  struct snapshot *nothing = take(store, TABLE_ops, NULL);
  check(nothing->rows == 0, "rows after closing");
  snapshot_release(nothing);
  snapshot_release(last);
  snapshot_release(before);
  check(freed == 0, "a profile in use was freed");
  /* The store goes while a snapshot of it is held. */
  store_release(store);
  require(steps, COLUMN_steps_number);
  check(value_at(steps, COLUMN_steps_number, 5).integer == 5, "a snapshot does not outlive its store");
  snapshot_release(steps);
  check(freed == 2 && segments_alive == 0, "%u profiles freed, %u segments left", freed, segments_alive);
}

static void test_unsettled(void) {
  struct store *store = create();
  struct tfprof_error error;
  unsigned freed = 0;
  uint32_t run;
  uint64_t added;
  open_run(store, "runs/a", 1, 300, &freed, &run, &error);
  struct snapshot *ops = take(store, TABLE_ops, NULL);
  require(ops, COLUMN_ops_category);
  require(ops, COLUMN_ops_name);
  struct profile *profile = store_profile_at(store, 0);
  check(profile->diagnostic_count == 3, "%zu diagnostics", profile->diagnostic_count);
  for (size_t i = 0; i < 3; i++)
    column_set_add(&profile->tables[TABLE_ops].segments[i]->is_unsettled, COLUMN_ops_category);
  grow(store, 10);
  store_refresh(store, 0, &added, &error);
  profile = store_profile_at(store, 0);
  struct segment *segment = profile->tables[TABLE_ops].segments[0];
  check(!segment->columns[COLUMN_ops_category] && segment->columns[COLUMN_ops_name], "the wrong column is shared");
  check(profile->diagnostic_count == 0, "what will be told again is kept: %zu", profile->diagnostic_count);
  snapshot_release(ops);
  ops = take(store, TABLE_ops, NULL);
  require(ops, COLUMN_ops_category);
  check(profile->diagnostic_count == 4, "%zu diagnostics after the refresh", profile->diagnostic_count);
  snapshot_release(ops);
  store_release(store);
}

/* ---- selection and the store's own tables ---- */

static void check_selection(struct store *store, const char *selection, uint64_t profiles) {
  struct snapshot *nothing = NULL;
  struct tfprof_error error;
  if (profiles == 0 && selection) { /* would look like an answer */
    enum tfprof_status status = store_snapshot(store, TABLE_profiles, selection, &nothing, &error);
    check(status == TFPROF_USAGE && !nothing && strstr(error.message, "open"), "'%s': status %d", selection, status);
    return;
  }
  struct snapshot *snapshot = take(store, TABLE_profiles, selection);
  check(snapshot->rows == profiles, "'%s' selects %llu profiles, not %llu", selection ? selection : "(all)",
        (unsigned long long)snapshot->rows, (unsigned long long)profiles);
  snapshot_release(snapshot);
}

static const char *text_at(struct snapshot *snapshot, unsigned column, uint64_t position) {
  require(snapshot, column);
  struct value value = value_at(snapshot, column, position);
  const char *text = value.kind == VALUE_TEXT ? pool_text(store_pool(snapshot->store), value.text) : NULL;
  return text ? text : "(null)";
}

static int64_t number_at(struct snapshot *snapshot, unsigned column, uint64_t position) {
  require(snapshot, column);
  struct value value = value_at(snapshot, column, position);
  return value.kind == VALUE_INTEGER ? value.integer : -42;
}

static void test_catalogue(void) {
  struct store *store = create();
  struct tfprof_error error;
  unsigned freed = 0;
  uint32_t first, second;
  check_selection(store, NULL, 0);
  open_run(store, "runs/a", 3, 300, &freed, &first, &error);
  open_run(store, "runs/b/", 2, 300, &freed, &second, &error);
  check(first == 1 && second == 2 && store_run_count(store) == 2 && store_profile_count(store) == 5, "numbers");
  static const struct {
    const char *selection;
    uint64_t profiles;
  } selections[] = {
      {NULL, 5},
      {"", 5},
      {"1", 1},
      {"5", 1},
      {"6", 0},
      {"0", 0},
      {"4294967297", 0},
      {"99999999999999999999999", 0},
      {"runs/a", 3},
      {"runs/b", 2},
      {"runs/b/", 2},
      {"./runs/b", 2},
      {"runs//./a", 3},
      {"runs/c/../b", 2},
      {"../a", 0},
      {"b", 2},
      {"host-rank2", 1},
      {"host-rank0", 2},
      {"host-rank0.tfprof", 2},
      {"host", 0},
      {"*", 5},
      {"*rank1*", 2},
      {"runs/?", 3},
      {"*rank[01]*", 4},
      {"*rank[^0]*", 3},
      {"*rank[!", 0},
      {"[", 0},
      {"*a/host-rank2.tfprof", 1},
      {"runs/a/host-rank0.tfprof", 1},
      {"runs", 0},
      {"*************************x", 0},
  };
  for (size_t i = 0; i < sizeof selections / sizeof *selections; i++) {
    check_selection(store, selections[i].selection, selections[i].profiles);
  }

  struct snapshot *runs = take(store, TABLE_runs, NULL);
  check(runs->rows == 2 && value_at(runs, 0, 1).integer == 2 && value_at(runs, 1, 1).kind == VALUE_NULL, "ids of runs");
  check(!strcmp(text_at(runs, COLUMN_runs_path, 0), "runs/a"), "path of a run");
  check(!strcmp(text_at(runs, COLUMN_runs_format, 1), "fake"), "format of a run");
  check(number_at(runs, COLUMN_runs_profile_count, 0) == 3, "profiles of a run");
  check(!strcmp(text_at(runs, COLUMN_runs_command, 0), "(null)"), "command of a run");
  int64_t start = number_at(runs, COLUMN_runs_start_ns, 0), end = number_at(runs, COLUMN_runs_end_ns, 0);
  check(end - start == number_at(runs, COLUMN_runs_dur_ns, 0) && end > start, "span of a run");
  check(snapshot_find_id(runs, 2) == 1 && snapshot_find_id(runs, 3) == -1, "a run is not found by its id");
  snapshot_release(runs);
  runs = take(store, TABLE_runs, "*rank2*");
  check(runs->rows == 1, "runs are not selected by their profiles");
  snapshot_release(runs);

  struct snapshot *profiles = take(store, TABLE_profiles, NULL);
  check(value_at(profiles, 0, 3).integer == 4 && value_at(profiles, 1, 3).integer == 4, "ids of profiles");
  check(number_at(profiles, COLUMN_profiles_run_id, 3) == 2, "run of a profile");
  check(!strcmp(text_at(profiles, COLUMN_profiles_path, 4), "runs/b//host-rank1.tfprof"), "path of a profile");
  check(number_at(profiles, COLUMN_profiles_rank, 2) == 2 && number_at(profiles, COLUMN_profiles_pid, 2) == -42,
        "rank and pid");
  check(number_at(profiles, COLUMN_profiles_event_count, 1) == 310, "events");
  check(number_at(profiles, COLUMN_profiles_clock_offset_ns, 1) == -1234567, "clock");
  check(snapshot_find_id(profiles, 5) == 4, "a profile is not found by its id");
  /* The span is that of the times as ops show them. */
  struct snapshot *ops = take(store, TABLE_ops, "2");
  require(ops, COLUMN_ops_start_ns);
  int64_t least = INT64_MAX;
  for (uint64_t i = 0; i < ops->rows; i++) {
    struct value value = value_at(ops, COLUMN_ops_start_ns, i);
    if (value.kind == VALUE_INTEGER && value.integer < least) least = value.integer;
  }
  check(number_at(profiles, COLUMN_profiles_start_ns, 1) == least, "start of a profile");
  snapshot_release(ops);

  int64_t known = number_at(profiles, COLUMN_profiles_diagnostic_count, 0);
  struct snapshot *diagnostics = take(store, TABLE_diagnostics, "1");
  check(known == 0 && diagnostics->rows == 2, "%llu diagnostics", (unsigned long long)diagnostics->rows);
  check(!strcmp(text_at(diagnostics, COLUMN_diagnostics_reason, 0), "verified"), "reason");
  check(!strcmp(text_at(diagnostics, COLUMN_diagnostics_table_name, 0), "kernels"), "table");
  check(number_at(diagnostics, COLUMN_diagnostics_offset, 0) == 77, "offset");
  check(!strcmp(text_at(diagnostics, COLUMN_diagnostics_file, 0), "runs/a/host-rank0.tfprof"), "file");
  check(number_at(diagnostics, COLUMN_diagnostics_count, 1) == 6, "equal diagnostics are not added up");
  check(!strcmp(text_at(diagnostics, COLUMN_diagnostics_message, 1), "made up for ops.category"), "message");
  check(value_at(diagnostics, 0, 0).integer == id_make(1, DIAGNOSTIC_FIRST_ROW), "id of a diagnostic");
  check(snapshot_find_id(diagnostics, id_make(1, DIAGNOSTIC_FIRST_ROW + 1)) == 1, "a diagnostic is not found");
  struct snapshot *again = take(store, TABLE_diagnostics, "1");
  check(again == diagnostics, "diagnostics are made again");
  snapshot_release(again);
  snapshot_release(profiles);
  profiles = take(store, TABLE_profiles, NULL);
  check(number_at(profiles, COLUMN_profiles_diagnostic_count, 0) == 2, "count of diagnostics");
  profile_diagnose(store_profile_at(store, 0), "error", "late", 1, -1, -1, "%s", "late");
  again = take(store, TABLE_diagnostics, "1");
  check(again->rows == 3 && diagnostics->rows == 2, "a late diagnostic is not shown");
  snapshot_release(again);
  snapshot_release(diagnostics);
  snapshot_release(profiles);

  static const uint16_t order[] = {COLUMN_profiles_profile_id, COLUMN_profiles_path};
  profiles = take(store, TABLE_profiles, NULL);
  require(profiles, COLUMN_profiles_path);
  check_order(profiles, order, 2);
  check_order(profiles, order + 1, 1);
  check_equal(profiles, COLUMN_profiles_run_id);
  check_equal(profiles, 1);
  snapshot_release(profiles);

  /* Numbers are not used again. */
  uint32_t third;
  store_close_run(store, first, &error);
  open_run(store, "runs/c", 1, 30, &freed, &third, &error);
  check(third == 3 && store_profile_at(store, 2)->number == 6, "numbers are used again");
  check(store_profile_by_number(store, 6) == store_profile_at(store, 2) && !store_profile_by_number(store, 2),
        "by number");
  uint32_t cancelled;
  struct profile *profile;
  struct fake *fake = calloc(1, sizeof *fake);
  *fake = (struct fake){.freed = &freed};
  store_add_run(store, "x", NULL, &cancelled, &error);
  check(store_add_profile(store, 99, &fake_source, fake, &profile, &error) == TFPROF_USAGE, "no run takes a profile");
  fake = calloc(1, sizeof *fake);
  *fake = (struct fake){.freed = &freed};
  unsigned freed_before = freed;
  store_add_profile(store, cancelled, &fake_source, fake, &profile, &error);
  check(profile_add_segment(profile, TABLE_ops, (uint64_t)1 << 36, 1, NULL, NULL, NULL, &error) == TFPROF_LIMIT,
        "too many rows");
  check(add_rows(profile, TABLE_ops, 5, 5, &error) == TFPROF_OK, "rows");
  check(add_rows(profile, TABLE_ops, 9, 5, &error) == TFPROF_USAGE, "rows overlap");
  check(store_profile_count(store) == 3, "an unpublished profile is seen");
  store_cancel_run(store, cancelled);
  check(freed == freed_before + 1, "a cancelled profile is not freed");
  store_release(store);
  check(segments_alive == 0, "%u segments left", segments_alive);
}

/* Many selections must not pile up. */
static void test_cache(void) {
  struct store *store = create();
  struct tfprof_error error;
  unsigned freed = 0;
  uint32_t run;
  open_run(store, "runs/a", 2, 300, &freed, &run, &error);
  struct snapshot *held[200];
  for (unsigned i = 0; i < 200; i++) {
    char selection[32];
    snprintf(selection, sizeof selection, "*[r%u]*", i);
    held[i] = take(store, TABLE_ops, selection);
    if (i % 2) {
      snapshot_release(held[i]);
      held[i] = NULL;
    }
  }
  for (unsigned i = 0; i < 200; i++) snapshot_release(held[i]);
  store_release(store);
  check(freed == 2, "%u freed", freed);
}

/* ---- memory that runs out ---- */

static enum tfprof_status try_everything(struct store *store, unsigned *freed, struct tfprof_error *error) {
  struct snapshot *snapshot = NULL, *runs = NULL;
  uint32_t run;
  uint64_t added, count;
  const uint32_t *positions;
  static const uint16_t columns[] = {COLUMN_ops_name, COLUMN_ops_correlation};
  struct column_set set = set_of(COLUMN_ops_step_id);
  enum tfprof_status status = open_run(store, "runs/a", 2, 300, freed, &run, error);
  if (!status) status = store_snapshot(store, TABLE_ops, NULL, &snapshot, error);
  if (!status) status = snapshot_require(snapshot, &set, error);
  if (!status) status = snapshot_order(snapshot, columns, 2, &positions, error);
  if (!status)
    status = snapshot_equal(snapshot, COLUMN_ops_parent_id,
                            (struct value){.kind = VALUE_INTEGER, .integer = id_make(1, 5)}, &positions, &count, error);
  if (!status) status = snapshot_range(snapshot, COLUMN_ops_sample_weight, 0, 1, &positions, &count, error);
  if (!status) grow(store, 50);
  if (!status) status = store_refresh(store, 0, &added, error);
  if (!status) check(added == 100, "%llu rows added", (unsigned long long)added);
  snapshot_release(snapshot);
  snapshot = NULL;
  if (!status) status = store_snapshot(store, TABLE_diagnostics, NULL, &snapshot, error);
  set = set_of(COLUMN_diagnostics_message);
  if (!status) status = snapshot_require(snapshot, &set, error);
  if (!status) status = store_snapshot(store, TABLE_runs, NULL, &runs, error);
  set = set_of(COLUMN_runs_end_ns);
  column_set_add(&set, COLUMN_runs_format);
  if (!status) status = snapshot_require(runs, &set, error);
  snapshot_release(snapshot);
  snapshot_release(runs);
  return status;
}

static void test_no_memory(void) {
  bool is_done = !can_fail_allocations;
  long allowed = 0;
  for (; !is_done && allowed < 5000; allowed++) {
    unsigned freed = 0;
    struct tfprof_error error = {0};
    fail_allocation_after(allowed);
    struct store *store = create();
    enum tfprof_status status = store ? try_everything(store, &freed, &error) : TFPROF_NO_MEMORY;
    fail_allocation_after(-1);
    is_done = status == TFPROF_OK && store_profile_count(store) == 2;
    check(status == TFPROF_OK || status == TFPROF_NO_MEMORY, "allocation %ld: status %d (%s)", allowed, status,
          error.message);
    if (!store) continue;
    /* Everything is usable afterwards. */
    if (store_profile_count(store) == 2) {
      struct snapshot *ops = take(store, TABLE_ops, NULL);
      require(ops, COLUMN_ops_step_id);
      require(ops, COLUMN_ops_depth);
      check(value_at(ops, COLUMN_ops_depth, 7).kind == VALUE_INTEGER, "allocation %ld: depth", allowed);
      check_order(ops, (const uint16_t[]){COLUMN_ops_id}, 1);
      snapshot_release(ops);
    } else {
      status = try_everything(store, &freed, &error);
      check(status == TFPROF_OK, "allocation %ld: not usable: %s", allowed, error.message);
    }
    /* A diagnostic that found no memory is no failure: run on until nothing at all failed. */
    is_done = is_done && allowed > 100 && store_profile_at(store, 0)->diagnostics_lost == 0;
    store_release(store);
    check(segments_alive == 0, "allocation %ld: %u segments left", allowed, segments_alive);
    segments_alive = 0;
  }
  check(is_done, "memory never suffices");
}

int main(void) {
  test_orders();
  test_passes();
  test_made_again();
  test_interrupts();
  test_refresh();
  test_unsettled();
  test_catalogue();
  test_cache();
  test_no_memory();
  return check_result();
}
