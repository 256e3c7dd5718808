/* store_test.h: what the tests of the store share: a source that makes its rows up, passes that count their runs, and
** plain sorting to compare with.
**
** Each test program includes this once; everything is static.
*/
#ifndef TFPROF_STORE_TEST_H
#define TFPROF_STORE_TEST_H

#include "store/snapshot.h"
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

static inline string_id text_id(const char *text) {
  string_id id = 0;
  pool_intern(store_pool(texts_of), text, strlen(text), &id);
  return id;
}

/* Value of a column as stored; false: NULL. */
static inline bool fake_value(unsigned kind, unsigned column, uint64_t row, int64_t *value) {
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

static inline struct column *fake_column(const struct fake *fake, const struct segment *segment, unsigned column) {
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

static inline enum tfprof_status load(struct profile *profile, struct segment *segment, const uint16_t *columns,
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

static inline enum tfprof_status add_rows(struct profile *profile, unsigned table, uint64_t first, uint32_t rows,
                                   struct tfprof_error *error) {
  struct column_set raw = {{0, 0}};
  for (unsigned i = 0; i < FAKE_COLUMNS && table == TABLE_ops; i++) column_set_add(&raw, fake_columns[i]);
  void *data = malloc(1);
  if (!data) return error_no_memory(error);
  segments_alive++;
  return profile_add_segment(profile, table, first, rows, &raw, data, NULL, error);
}

static inline enum tfprof_status refresh(struct profile *profile, bool *changed, struct tfprof_error *error) {
  struct fake *fake = profile->source_data;
  uint64_t rows = profile->tables[TABLE_ops].rows;
  if (fake->fails) return error_set(error, TFPROF_CORRUPT, "the file was cut");
  *changed = fake->rows + fake->added_rows > rows;
  if (!*changed) return TFPROF_OK;
  enum tfprof_status status = add_rows(profile, TABLE_ops, rows, fake->rows + fake->added_rows - (uint32_t)rows, error);
  return status;
}

static inline enum tfprof_status verify(struct profile *profile, struct tfprof_error *error) {
  profile_diagnose(profile, "info", "verified", 1, 77, TABLE_kernels, "profile %u was verified", profile->number);
  return profile_load_all(profile, error);
}

static inline void free_segment(void *data) {
  free(data);
  segments_alive--;
}

static inline void free_profile(struct profile *profile) {
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

static inline enum tfprof_status run_depth(struct profile *profile, struct tfprof_error *error) {
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
static inline enum tfprof_status run_steps(struct profile *profile, struct tfprof_error *error) {
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
static inline enum tfprof_status run_count(struct profile *profile, struct tfprof_error *error) {
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

static inline enum tfprof_status run_kernels(struct profile *profile, struct tfprof_error *error) {
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
/* Makes transfers of ops, but where its source is known to have none. */
static bool has_transfers;
static unsigned transfer_runs;
static inline bool is_without_transfers(const struct profile *profile) {
  (void)profile;
  return !has_transfers;
}
static inline enum tfprof_status run_transfers(struct profile *profile, struct tfprof_error *error) {
  transfer_runs++;
  return profile_add_segment(profile, TABLE_transfers, 0, 3, NULL, NULL, NULL, error);
}
static const struct derive_pass transfers_pass = {.name = "transfers",
                                                  .makes_table = TABLE_transfers,
                                                  .is_idle = is_without_transfers,
                                                  .reads = {{TABLE_ops, COLUMN_ops_flops}},
                                                  .writes = {{TABLE_transfers, COLUMN_transfers_bytes}},
                                                  .run = run_transfers};
static const struct derive_pass *const passes[] = {&count_pass, &steps_pass, &depth_pass,
                                                   &wrong_pass, &cycle_pass, &transfers_pass};

/* ---- opening ---- */

static inline enum tfprof_status open_run(struct store *store, const char *path, unsigned profile_count, uint32_t rows,
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
    uint32_t done = rows / 3 * 2;
    if (!status) status = add_rows(profile, TABLE_ops, done, rows + kind * 10 - done, error);
    if (!status && kind == 3) status = add_rows(profile, TABLE_threads, 0, 2, error);
  }
  if (status) store_cancel_run(store, *run);
  else store_publish_run(store, *run);
  return status;
}

/* With `others` passes that nobody needs before those of the test. */
static inline struct store *create_after(unsigned others) {
  static const struct derive_pass other = {.name = "other", .makes_table = -1, .run = run_count};
  static const struct derive_pass *all[DERIVE_MAXIMUM_PASSES + 1]; /* the store keeps it */
  enum { OWN = sizeof passes / sizeof *passes };
  for (unsigned i = 0; i < others; i++) all[i] = &other;
  memcpy(all + others, passes, sizeof passes);
  struct store *store = store_create(all, others + OWN);
  texts_of = store;
  return store;
}

static inline struct store *create(void) { return create_after(0); }

static inline struct column_set set_of(unsigned column) {
  struct column_set set = {{0, 0}};
  column_set_add(&set, column);
  return set;
}

static inline struct snapshot *take(struct store *store, unsigned table, const char *selection) {
  struct tfprof_error error;
  struct snapshot *snapshot = NULL;
  enum tfprof_status status = store_snapshot(store, table, selection, &snapshot, &error);
  check(status == TFPROF_OK, "no snapshot: %s", error.message);
  return snapshot;
}

static inline void require(struct snapshot *snapshot, unsigned column) {
  struct tfprof_error error;
  struct column_set set = set_of(column);
  check(snapshot_require(snapshot, &set, &error) == TFPROF_OK, "column %u is not to be had: %s", column, error.message);
}

static inline struct value value_at(const struct snapshot *snapshot, unsigned column, uint64_t position) {
  size_t hint = 0;
  uint32_t row;
  const struct segment *segment = snapshot_segment(snapshot, position, &hint, &row);
  return segment_value(segment, column, row);
}

/* ---- orders and lookups against plain sorting ---- */

static inline int compare_values(const struct store *store, struct value a, struct value b) {
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

static inline int compare_positions(const void *left, const void *right) {
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  for (unsigned i = 0; i < sorted_count; i++) {
    int order = compare_values(sorted_snapshot->store, value_at(sorted_snapshot, sorted_columns[i], a),
                               value_at(sorted_snapshot, sorted_columns[i], b));
    if (order) return order;
  }
  return (a > b) - (a < b);
}

static inline void check_order(struct snapshot *snapshot, const uint16_t *columns, unsigned count) {
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
static inline void check_equal(struct snapshot *snapshot, unsigned column) {
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

static inline void check_range(struct snapshot *snapshot, unsigned column, int64_t minimum, int64_t maximum) {
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

#endif
