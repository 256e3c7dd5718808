/* read_dump_test.h: what the tests of reading dumps share: dumps written row by row, stores that read them, checks.
**
** Works in a directory of its own below $TMPDIR.  Each test program includes this once; everything is static.
*/
#ifndef TFPROF_READ_DUMP_TEST_H
#define TFPROF_READ_DUMP_TEST_H

#include "dump/reader.h"
#include "dump/writer.h"
#include "read/dump/saved_runs.h"
#include "read/read.h"
#include "store/snapshot.h"

#include "store_check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"

static char path_buffer[8][512];

static inline const char *in_directory(unsigned slot, const char *name) {
  snprintf(path_buffer[slot], sizeof path_buffer[slot], "%s/%s", test_directory, name);
  return path_buffer[slot];
}

/* ---- writing ---- */

static inline struct dump_writer *begin(const char *path, const char *clock_domain) {
  static uint64_t files; /* each begins at a moment of its own */
  struct tfprof_error error;
  struct dump_writer *writer = NULL;
  struct dump_profile profile = {.host = "node7",
                                 .job = "worker",
                                 .command = "python \"train\".py",
                                 .framework = "pytorch",
                                 .recorder = "test \"1\"",
                                 .clock_domain = clock_domain,
                                 .pid = 4242,
                                 .parent_pid = 17,
                                 .rank = 3,
                                 .world_size = 8,
                                 .boot_id = {1, 2, 3},
                                 .created_realtime_ns = 1700000000000000000 + (int64_t)files++};
  check(dump_writer_create(path, true, &profile, &writer, &error) == TFPROF_OK, "cannot create: %s", error.message);
  return writer;
}

static inline int64_t text(struct dump_writer *writer, const char *bytes) {
  return dump_writer_string(writer, bytes, strlen(bytes));
}

struct written_column {
  unsigned column;
  const int64_t *values;
  const uint64_t *nulls;
  const double *reals; /* instead of values */
};

static inline void write_rows(struct dump_writer *writer, unsigned table, uint32_t rows,
                              const struct written_column *columns, unsigned count) {
  struct tfprof_error error;
  struct dump_column_data data[SCHEMA_MAXIMUM_COLUMNS];
  for (unsigned i = 0; i < count; i++) {
    data[i] = (struct dump_column_data){.dump_id = schema_tables[table].columns[columns[i].column].dump_id,
                                        .is_real = columns[i].reals != NULL,
                                        .integers = columns[i].values,
                                        .reals = columns[i].reals,
                                        .nulls = columns[i].nulls};
  }
  enum tfprof_status status = dump_writer_rows(writer, schema_tables[table].dump_id, rows, data, count, &error);
  check(status == TFPROF_OK, "cannot write: %s", error.message);
}

static inline void end(struct dump_writer *writer) {
  struct tfprof_error error;
  check(dump_writer_close(writer, &error) == TFPROF_OK, "cannot close: %s", error.message);
}

/* ---- files ---- */

static inline uint8_t *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  struct stat info;
  uint8_t *bytes = NULL;
  *size = 0;
  if (file && fstat(fileno(file), &info) == 0 && (bytes = malloc((size_t)info.st_size + 1))) {
    *size = fread(bytes, 1, (size_t)info.st_size, file);
  }
  if (file) fclose(file);
  return bytes;
}

static inline void write_file(const char *path, const void *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  if (!file) return;
  fwrite(bytes, 1, size, file);
  fclose(file);
}

/* ---- reading ---- */

static inline struct store *open_store(const char *path, uint32_t *run) {
  struct tfprof_error error;
  uint32_t number;
  struct store *store = store_create(NULL, 0);
  enum tfprof_status status = read_open(store, path, run ? run : &number, &error);
  check(status == TFPROF_OK, "%s cannot be opened: %s", path, error.message);
  return store;
}

static inline struct snapshot *take(struct store *store, unsigned table) {
  struct tfprof_error error;
  struct snapshot *snapshot = NULL;
  enum tfprof_status status = store_snapshot(store, table, NULL, &snapshot, &error);
  check(status == TFPROF_OK, "no snapshot: %s", error.message);
  return snapshot;
}

static inline struct value value_at(struct snapshot *snapshot, unsigned column, uint64_t position) {
  struct tfprof_error error;
  struct column_set set = {{0, 0}};
  size_t hint = 0;
  uint32_t row;
  column_set_add(&set, column);
  if (snapshot_require(snapshot, &set, &error)) {
    check(false, "column %u is not to be had: %s", column, error.message);
    return (struct value){.kind = VALUE_NULL};
  }
  const struct segment *segment = snapshot_segment(snapshot, position, &hint, &row);
  return segment_value(segment, column, row);
}

static inline const char *text_at(struct snapshot *snapshot, unsigned column, uint64_t position) {
  struct value value = value_at(snapshot, column, position);
  return value.kind == VALUE_TEXT ? pool_text(store_pool(snapshot->store), value.text) : "(null)";
}

enum { NO_VALUE = -424242 }; /* stands for NULL */

static inline int64_t number_at(struct snapshot *snapshot, unsigned column, uint64_t position) {
  struct value value = value_at(snapshot, column, position);
  return value.kind == VALUE_INTEGER ? value.integer : NO_VALUE;
}

static inline bool is_same(struct snapshot *a, struct value left, struct snapshot *b, struct value right) {
  if (left.kind != right.kind) return false;
  switch (left.kind) {
    case VALUE_NULL: return true;
    case VALUE_INTEGER: return left.integer == right.integer;
    case VALUE_REAL: return left.real == right.real;
    case VALUE_TEXT: break;
  }
  struct pool *left_pool = store_pool(a->store), *right_pool = store_pool(b->store);
  uint32_t length = pool_length(left_pool, left.text);
  return length == pool_length(right_pool, right.text) &&
         memcmp(pool_text(left_pool, left.text), pool_text(right_pool, right.text), length) == 0;
}

/* How often a reason is among the diagnostics, by their counts; -1: it is not there. */
static inline int64_t diagnosed(struct store *store, const char *reason) {
  struct snapshot *diagnostics = take(store, TABLE_diagnostics);
  int64_t count = -1;
  for (uint64_t i = 0; i < diagnostics->rows; i++) {
    if (strcmp(text_at(diagnostics, COLUMN_diagnostics_reason, i), reason) != 0) continue;
    count = (count < 0 ? 0 : count) + number_at(diagnostics, COLUMN_diagnostics_count, i);
  }
  snapshot_release(diagnostics);
  return count;
}

static inline void print_diagnostics(struct store *store) {
  struct snapshot *diagnostics = take(store, TABLE_diagnostics);
  for (uint64_t i = 0; i < diagnostics->rows; i++) {
    printf("  %s %s %lld %s\n", text_at(diagnostics, COLUMN_diagnostics_severity, i),
           text_at(diagnostics, COLUMN_diagnostics_reason, i),
           (long long)number_at(diagnostics, COLUMN_diagnostics_count, i),
           text_at(diagnostics, COLUMN_diagnostics_message, i));
  }
  snapshot_release(diagnostics);
}

/* ---- a wide table, many frames ---- */

enum { FRAME = 200, FRAMES = 150 };

struct model { /* what ops should show, by row */
  int64_t start, end, dur, thread, parent, flops, offloaded;
  double weight;
  const char *name;
};

static inline struct model model_of(uint32_t row) {
  static const char *const names[] = {"aten::mm", "aten::add", "", "aten::empty", "x"};
  uint64_t mixed = (row + 1) * 0x9e3779b97f4a7c15u;
  mixed ^= mixed >> 29;
  struct model model = {.dur = (int64_t)(mixed % 5000),
                        .end = 100000 + 70 * (int64_t)row + (int64_t)(mixed >> 20) % 50};
  model.start = model.end - model.dur;
  model.thread = (int64_t)(mixed % 3);
  model.parent = row % 7 == 0 ? NO_VALUE : (int64_t)row / 2;
  model.flops = row / FRAME % 3 == 1 ? NO_VALUE : (int64_t)(mixed >> 11); /* whole frames without */
  model.weight = mixed % 4 == 0 ? 0.5 : 1;
  model.name = mixed % 9 == 0 ? NULL : names[mixed % 5];
  return model;
}

static inline void write_model(struct dump_writer *writer, uint32_t first, uint32_t rows) {
  static int64_t values[8][FRAME];
  static double weights[FRAME];
  static uint64_t nulls[8][(FRAME + 63) / 64];
  memset(nulls, 0, sizeof nulls);
  bool by_end = first / FRAME % 4 != 0;
  for (uint32_t i = 0; i < rows; i++) {
    struct model model = model_of(first + i);
    const int64_t row[] = {model.name ? text(writer, model.name) : 0,
                           by_end ? model.end : model.start,
                           model.dur,
                           model.thread,
                           model.parent,
                           model.flops};
    for (unsigned c = 0; c < sizeof row / sizeof *row; c++) {
      values[c][i] = row[c];
      if (row[c] == NO_VALUE) nulls[c][i >> 6] |= (uint64_t)1 << (i & 63);
    }
    weights[i] = model.weight;
  }
  const struct written_column columns[] = {
      {COLUMN_ops_name, values[0], NULL, NULL},
      {by_end ? COLUMN_ops_end_ns : COLUMN_ops_start_ns, values[1], NULL, NULL},
      {COLUMN_ops_dur_ns, values[2], NULL, NULL},
      {COLUMN_ops_thread_id, values[3], NULL, NULL},
      {COLUMN_ops_parent_id, values[4], nulls[4], NULL},
      {COLUMN_ops_flops, values[5], nulls[5], NULL},
      {COLUMN_ops_sample_weight, NULL, NULL, weights},
  };
  write_rows(writer, TABLE_ops, rows, columns, 7);
}

static inline void write_threads(struct dump_writer *writer) {
  const int64_t kinds[3] = {text(writer, "host"), text(writer, "host"), text(writer, "stream")};
  write_rows(writer, TABLE_threads, 3, (struct written_column[]){{COLUMN_threads_kind, kinds, NULL, NULL}}, 1);
}

static inline int64_t reference(struct store *store, int64_t row) {
  return row == NO_VALUE ? NO_VALUE : id_make(store_profile_at(store, 0)->number, (uint64_t)row);
}

static inline void check_model(struct store *store, uint32_t first, uint32_t rows, int64_t offset) {
  struct snapshot *ops = take(store, TABLE_ops);
  if (!check(ops->rows == rows, "%llu ops, not %u", (unsigned long long)ops->rows, rows)) {
    snapshot_release(ops);
    return;
  }
  for (uint32_t i = 0; i < rows; i++) {
    struct model model = model_of(first + i);
    struct value weight = value_at(ops, COLUMN_ops_sample_weight, i);
    bool is_good = strcmp(text_at(ops, COLUMN_ops_name, i), model.name ? model.name : "(null)") == 0;
    is_good &= number_at(ops, COLUMN_ops_end_ns, i) == model.end + offset;
    is_good &= number_at(ops, COLUMN_ops_start_ns, i) == model.start + offset;
    is_good &= number_at(ops, COLUMN_ops_dur_ns, i) == model.dur;
    is_good &= number_at(ops, COLUMN_ops_thread_id, i) == reference(store, model.thread);
    is_good &= number_at(ops, COLUMN_ops_parent_id, i) == reference(store, model.parent);
    is_good &= number_at(ops, COLUMN_ops_flops, i) == model.flops;
    is_good &= weight.kind == VALUE_REAL && weight.real == model.weight;
    is_good &= value_at(ops, COLUMN_ops_module, i).kind == VALUE_NULL;
    if (!check(is_good, "op %u is not what was written", first + i)) break;
  }
  snapshot_release(ops);
}

static inline void write_model_file(const char *path) {
  struct tfprof_error error;
  struct dump_writer *writer = begin(path, "monotonic");
  struct dump_clock clocks[2] = {{5000, 1700000000000005000, 0, 40}, {900000, 1700000000000900700, 0, 90}};
  dump_writer_clock(writer, &clocks[0], &error);
  write_threads(writer);
  for (uint32_t i = 0; i < FRAMES; i++) write_model(writer, i * FRAME, FRAME);
  dump_writer_clock(writer, &clocks[1], &error);
  end(writer);
}

#endif
