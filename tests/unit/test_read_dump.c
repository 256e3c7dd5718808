/* test_read_dump.c: dumps opened, read, grown, damaged and saved again show the rows that were written.
**
** Works in a directory of its own below $TMPDIR.
*/
#include "dump/reader.h"
#include "dump/writer.h"
#include "read/dump_save.h"
#include "read/read.h"

#include "store_check.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[256];
static char path_buffer[8][512];

static const char *in_directory(unsigned slot, const char *name) {
  snprintf(path_buffer[slot], sizeof path_buffer[slot], "%s/%s", directory, name);
  return path_buffer[slot];
}

/* ---- writing ---- */

static struct dump_writer *begin(const char *path, const char *clock_domain) {
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

static int64_t text(struct dump_writer *writer, const char *bytes) {
  return dump_writer_string(writer, bytes, strlen(bytes));
}

struct written_column {
  unsigned column;
  const int64_t *values;
  const uint64_t *nulls;
  const double *reals; /* instead of values */
};

static void write_rows(struct dump_writer *writer, unsigned table, uint32_t rows, const struct written_column *columns,
                       unsigned count) {
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

static void end(struct dump_writer *writer) {
  struct tfprof_error error;
  check(dump_writer_close(writer, &error) == TFPROF_OK, "cannot close: %s", error.message);
}

/* ---- files ---- */

static uint8_t *read_file(const char *path, size_t *size) {
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

static void write_file(const char *path, const void *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  if (!file) return;
  fwrite(bytes, 1, size, file);
  fclose(file);
}

/* ---- reading ---- */

static struct store *open_store(const char *path, uint32_t *run) {
  struct tfprof_error error;
  uint32_t number;
  struct store *store = store_create(NULL, 0);
  enum tfprof_status status = read_open(store, path, run ? run : &number, &error);
  check(status == TFPROF_OK, "%s cannot be opened: %s", path, error.message);
  return store;
}

static struct snapshot *take(struct store *store, unsigned table) {
  struct tfprof_error error;
  struct snapshot *snapshot = NULL;
  enum tfprof_status status = store_snapshot(store, table, NULL, &snapshot, &error);
  check(status == TFPROF_OK, "no snapshot: %s", error.message);
  return snapshot;
}

static struct value value_at(struct snapshot *snapshot, unsigned column, uint64_t position) {
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

static const char *text_at(struct snapshot *snapshot, unsigned column, uint64_t position) {
  struct value value = value_at(snapshot, column, position);
  return value.kind == VALUE_TEXT ? pool_text(store_pool(snapshot->store), value.text) : "(null)";
}

enum { NO_VALUE = -424242 }; /* stands for NULL */

static int64_t number_at(struct snapshot *snapshot, unsigned column, uint64_t position) {
  struct value value = value_at(snapshot, column, position);
  return value.kind == VALUE_INTEGER ? value.integer : NO_VALUE;
}

static bool is_same(struct snapshot *a, struct value left, struct snapshot *b, struct value right) {
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
static int64_t diagnosed(struct store *store, const char *reason) {
  struct snapshot *diagnostics = take(store, TABLE_diagnostics);
  int64_t count = -1;
  for (uint64_t i = 0; i < diagnostics->rows; i++) {
    if (strcmp(text_at(diagnostics, COLUMN_diagnostics_reason, i), reason) != 0) continue;
    count = (count < 0 ? 0 : count) + number_at(diagnostics, COLUMN_diagnostics_count, i);
  }
  snapshot_release(diagnostics);
  return count;
}

static void print_diagnostics(struct store *store) {
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

static struct model model_of(uint32_t row) {
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

static void write_model(struct dump_writer *writer, uint32_t first, uint32_t rows) {
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

static void write_threads(struct dump_writer *writer) {
  const int64_t kinds[3] = {text(writer, "host"), text(writer, "host"), text(writer, "stream")};
  write_rows(writer, TABLE_threads, 3, (struct written_column[]){{COLUMN_threads_kind, kinds, NULL, NULL}}, 1);
}

static int64_t reference(struct store *store, int64_t row) {
  return row == NO_VALUE ? NO_VALUE : id_make(store_profile_at(store, 0)->number, (uint64_t)row);
}

static void check_model(struct store *store, uint32_t first, uint32_t rows, int64_t offset) {
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

static void write_model_file(const char *path) {
  struct tfprof_error error;
  struct dump_writer *writer = begin(path, "monotonic");
  struct dump_clock clocks[2] = {{5000, 1700000000000005000, 0, 40}, {900000, 1700000000000900700, 0, 90}};
  dump_writer_clock(writer, &clocks[0], &error);
  write_threads(writer);
  for (uint32_t i = 0; i < FRAMES; i++) write_model(writer, i * FRAME, FRAME);
  dump_writer_clock(writer, &clocks[1], &error);
  end(writer);
}

static void test_model(void) {
  const char *path = in_directory(0, "model.tfprof");
  write_model_file(path);
  for (int threads = 1; threads <= 5; threads += 4) {
    char setting[16];
    snprintf(setting, sizeof setting, "%d", threads);
    setenv("TFPROF_THREADS", setting, 1);
    struct store *store = open_store(path, NULL);
    check_model(store, 0, FRAME * FRAMES, 1700000000000000000);
    struct profile *profile = store_profile_at(store, 0);
    check(profile->tables[TABLE_ops].segment_count == 3, "%zu segments", profile->tables[TABLE_ops].segment_count);
    struct snapshot *profiles = take(store, TABLE_profiles);
    check(!strcmp(text_at(profiles, COLUMN_profiles_format, 0), "tfprof"), "format");
    check(!strcmp(text_at(profiles, COLUMN_profiles_path, 0), path), "path");
    check(!strcmp(text_at(profiles, COLUMN_profiles_host, 0), "node7"), "host");
    check(!strcmp(text_at(profiles, COLUMN_profiles_job, 0), "worker"), "job");
    check(!strcmp(text_at(profiles, COLUMN_profiles_command, 0), "python \"train\".py"), "command");
    check(!strcmp(text_at(profiles, COLUMN_profiles_framework_version, 0), "(null)"), "framework version");
    check(!strcmp(text_at(profiles, COLUMN_profiles_attributes, 0),
                  "{\"recorder\":\"test \\\"1\\\"\",\"boot_id\":\"01020300000000000000000000000000\","
                  "\"created_ns\":1700000000000000000}"),
          "attributes: %s", text_at(profiles, COLUMN_profiles_attributes, 0));
    check(number_at(profiles, COLUMN_profiles_rank, 0) == 3 && number_at(profiles, COLUMN_profiles_world_size, 0) == 8,
          "rank");
    check(number_at(profiles, COLUMN_profiles_pid, 0) == 4242 &&
              number_at(profiles, COLUMN_profiles_parent_pid, 0) == 17,
          "pid");
    check(number_at(profiles, COLUMN_profiles_complete, 0) == 1, "complete");
    check(number_at(profiles, COLUMN_profiles_clock_offset_ns, 0) == 1700000000000000000, "clock offset");
    check(number_at(profiles, COLUMN_profiles_clock_error_ns, 0) == 790, "clock error");
    check(number_at(profiles, COLUMN_profiles_event_count, 0) == FRAME * FRAMES, "events");
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (uint32_t i = 0; i < FRAME * FRAMES; i++) {
      struct model model = model_of(i);
      if (model.start < least) least = model.start;
      if (model.end > most) most = model.end;
    }
    check(number_at(profiles, COLUMN_profiles_start_ns, 0) == least + 1700000000000000000, "start");
    check(number_at(profiles, COLUMN_profiles_end_ns, 0) == most + 1700000000000000000, "end");
    check(number_at(profiles, COLUMN_profiles_dur_ns, 0) == most - least, "duration");
    snapshot_release(profiles);
    struct snapshot *diagnostics = take(store, TABLE_diagnostics);
    if (!check(diagnostics->rows == 0, "%llu diagnostics", (unsigned long long)diagnostics->rows))
      print_diagnostics(store);
    snapshot_release(diagnostics);
    store_release(store);
  }
  unsetenv("TFPROF_THREADS");
}

/* Columns one at a time and in odd groups: what is made on the way must fit. */
static void test_groups(void) {
  const char *path = in_directory(0, "model.tfprof");
  static const uint16_t spans[] = {COLUMN_ops_start_ns, COLUMN_ops_end_ns, COLUMN_ops_dur_ns};
  for (unsigned mask = 1; mask < 8; mask++) {
    struct tfprof_error error;
    struct store *store = open_store(path, NULL);
    struct snapshot *ops = take(store, TABLE_ops);
    struct column_set set = {{0, 0}};
    for (unsigned i = 0; i < 3; i++) {
      if (mask >> i & 1) column_set_add(&set, spans[i]);
    }
    check(snapshot_require_segment(ops, 1, &set, &error) == TFPROF_OK, "cannot require");
    for (unsigned i = 0; i < 3; i++) {
      if (mask >> i & 1) check(ops->segments[1]->columns[spans[i]] != NULL, "mask %u: column %u is missing", mask, i);
      check(ops->segments[0]->columns[spans[i]] == NULL, "another segment is loaded");
    }
    if (mask & 2) check(ops->segments[1]->columns[COLUMN_ops_end_ns]->form == COLUMN_SUM, "the end is not a sum");
    snapshot_release(ops);
    check_model(store, 0, FRAME * FRAMES, 1700000000000000000);
    store_release(store);
  }
}

/* ---- growing ---- */

static void refresh(struct store *store, uint64_t expected) {
  struct tfprof_error error;
  uint64_t added;
  enum tfprof_status status = read_refresh(store, &added, &error);
  check(status == TFPROF_OK && added == expected, "a refresh adds %llu rows, not %llu: %s", (unsigned long long)added,
        (unsigned long long)expected, status ? error.message : "");
}

static void test_growing(void) {
  const char *path = in_directory(0, "growing.tfprof");
  struct dump_writer *writer = begin(path, "realtime");
  write_model(writer, 0, FRAME);
  struct store *store = open_store(path, NULL);
  /* The threads that ops refer to are not there yet. */
  struct snapshot *ops = take(store, TABLE_ops);
  check(number_at(ops, COLUMN_ops_thread_id, 4) == NO_VALUE, "a dangling reference is shown");
  check(!strcmp(text_at(ops, COLUMN_ops_name, 4), model_of(4).name ? model_of(4).name : "(null)"), "name");
  check(diagnosed(store, "dangling_reference") >= FRAME, "dangling references are not told");
  struct snapshot *profiles = take(store, TABLE_profiles);
  check(number_at(profiles, COLUMN_profiles_complete, 0) == 0, "an open file is complete");
  snapshot_release(profiles);
  refresh(store, 0);
  write_threads(writer);
  refresh(store, 3);
  check(diagnosed(store, "dangling_reference") == -1, "references dangle that no longer do");
  check_model(store, 0, FRAME, 0);
  check(ops->rows == FRAME && number_at(ops, COLUMN_ops_thread_id, 4) == NO_VALUE, "the old version has changed");
  for (uint32_t i = 1; i < 100; i++) {
    write_model(writer, i * FRAME, FRAME);
    refresh(store, FRAME);
    if (i % 20 == 1) check_model(store, 0, (i + 1) * FRAME, 0);
  }
  check_model(store, 0, 100 * FRAME, 0);
  size_t segments = store_profile_at(store, 0)->tables[TABLE_ops].segment_count;
  check(segments == 2, "a hundred refreshes make %zu segments", segments);
  check_model(store, 0, 100 * FRAME, 0);
  check(number_at(ops, COLUMN_ops_dur_ns, 9) == model_of(9).dur, "the oldest version cannot load");
  snapshot_release(ops);
  end(writer);
  refresh(store, 0);
  profiles = take(store, TABLE_profiles);
  check(number_at(profiles, COLUMN_profiles_complete, 0) == 1, "a closed file is not complete");
  snapshot_release(profiles);

  /* Replaced under our hands. */
  struct snapshot *held = take(store, TABLE_ops);
  uint64_t rows = held->rows;
  struct store *unread = open_store(path, NULL);
  write_model_file(in_directory(1, "other.tfprof"));
  rename(path_buffer[1], path);
  check(number_at(held, COLUMN_ops_dur_ns, 3) == model_of(3).dur, "what was loaded is gone");
  struct snapshot *late = take(unread, TABLE_ops);
  check(number_at(late, COLUMN_ops_dur_ns, 3) == NO_VALUE, "a replaced file is read on");
  check(diagnosed(unread, "replaced_file") == 1, "a replaced file is not told");
  check(diagnosed(unread, "replaced_file") == 1, "a replaced file is told again and again");
  snapshot_release(late);
  store_release(unread);
  refresh(store, FRAME * FRAMES + 3);
  check(store_profile_count(store) == 1 && store_profile_at(store, 0)->number == 2, "the new file has the old number");
  check_model(store, 0, FRAME * FRAMES, 1700000000000000000);
  check(held->rows == rows && number_at(held, COLUMN_ops_dur_ns, 3) == model_of(3).dur, "a held version has changed");
  snapshot_release(held);
  store_release(store);
}

/* ---- files that go and come ---- */

static void copy_file(const char *from, const char *to) {
  size_t size;
  uint8_t *bytes = read_file(from, &size);
  write_file(to, bytes, size);
  free(bytes);
}

static const char *name_of(unsigned row) { return model_of(row).name ? model_of(row).name : "(null)"; }

static void test_lost(void) {
  mkdir(in_directory(0, "lost"), 0777);
  for (unsigned i = 0; i < 2; i++) {
    struct dump_writer *writer = begin(in_directory(1 + i, i ? "lost/b.tfprof" : "lost/a.tfprof"), "realtime");
    write_threads(writer);
    write_model(writer, 0, FRAME);
    end(writer);
  }
  const char *first = path_buffer[1];
  copy_file(first, in_directory(3, "kept"));
  for (unsigned way = 0; way < 3; way++) { /* removed, cut to nothing, cut in the middle */
    struct store *store = open_store(path_buffer[0], NULL);
    struct snapshot *ops = take(store, TABLE_ops);
    check(store_profile_count(store) == 2 && ops->rows == 2 * FRAME, "two files");
    number_at(ops, COLUMN_ops_dur_ns, 0);
    struct stat info;
    stat(first, &info);
    if (way == 0) unlink(first);
    else if (truncate(first, way == 1 ? 0 : info.st_size / 3)) abort();
    check(number_at(ops, COLUMN_ops_dur_ns, 5) == model_of(5).dur, "way %u: what was loaded is gone", way);
    check(!strcmp(text_at(ops, COLUMN_ops_name, FRAME + 5), name_of(5)), "way %u: the other file is gone", way);
    if (way < 2) check(!strcmp(text_at(ops, COLUMN_ops_name, 5), "(null)"), "way %u: read from nowhere", way);
    const char *reason = way == 0 ? "lost_file" : "unreadable_file";
    check(diagnosed(store, reason) == 1, "way %u: not told", way);
    refresh(store, 0);
    check(diagnosed(store, reason) == 1, "way %u: told %lld times", way, (long long)diagnosed(store, reason));
    check(way == 0 || diagnosed(store, "cut_file") > 0, "way %u: the cut is not told", way);
    struct snapshot *profiles = take(store, TABLE_profiles), *runs = take(store, TABLE_runs);
    check(number_at(profiles, COLUMN_profiles_start_ns, 1) != NO_VALUE && profiles->rows == 2, "profiles");
    number_at(profiles, COLUMN_profiles_start_ns, 0);
    number_at(runs, COLUMN_runs_end_ns, 0);
    snapshot_release(profiles);
    snapshot_release(runs);
    copy_file(path_buffer[3], first);
    refresh(store, 0);
    struct snapshot *again = take(store, TABLE_ops);
    for (unsigned row = 0; row < FRAME; row++) {
      check(!strcmp(text_at(again, COLUMN_ops_name, row), name_of(row)), "way %u: row %u", way, row);
      check(number_at(again, COLUMN_ops_dur_ns, row) == model_of(row).dur, "way %u: row %u", way, row);
    }
    check(diagnosed(store, reason) == -1 && diagnosed(store, "cut_file") == -1, "way %u: still told", way);
    snapshot_release(again);
    snapshot_release(ops);
    store_release(store);
  }
}

static uint32_t open_again(struct store *store, const char *path) {
  struct tfprof_error error;
  uint32_t run = 0;
  enum tfprof_status status = read_open(store, path, &run, &error);
  check(!status, "%s: %s", path, error.message);
  return run;
}

/* However a file is called, it is opened once. */
static void test_opening_twice(void) {
  struct tfprof_error error;
  char spelled[600];
  mkdir(in_directory(0, "twice"), 0777);
  for (unsigned i = 0; i < 3; i++) {
    char name[64];
    snprintf(name, sizeof name, "twice/rank%u.tfprof", i);
    struct dump_writer *writer = begin(in_directory(1 + i, name), "realtime");
    write_model(writer, 0, 7);
    end(writer);
  }
  check(symlink(path_buffer[0], in_directory(4, "link")) == 0, "symlink");
  check(link(path_buffer[1], in_directory(5, "hard.tfprof")) == 0, "link");
  check(symlink("rank0.tfprof", in_directory(6, "twice/latest.tfprof")) == 0, "symlink");
  struct store *store = open_store(path_buffer[1], NULL);
  check(open_again(store, path_buffer[5]) == 1 && open_again(store, path_buffer[6]) == 1, "a file by another name");
  check(open_again(store, path_buffer[2]) == 2 && store_profile_count(store) == 2, "another file");
  /* Its directory takes the runs of single files over. */
  check(open_again(store, path_buffer[0]) == 1 && store_profile_count(store) == 3 && store_run_count(store) == 1,
        "the directory: %zu profiles in %zu runs", store_profile_count(store), store_run_count(store));
  check(!strcmp(store_run_path(store, 1), path_buffer[0]), "the run is called %s", store_run_path(store, 1));
  for (unsigned i = 0; i < 7; i++) check(open_again(store, path_buffer[i]) == 1, "%s is opened again", path_buffer[i]);
  snprintf(spelled, sizeof spelled, "%s/../%s//./", path_buffer[0], strrchr(path_buffer[0], '/') + 1);
  check(open_again(store, spelled) == 1, "%s is opened again", spelled);
  snprintf(spelled, sizeof spelled, "%s/*.tfprof", path_buffer[0]);
  check(open_again(store, spelled) == 1, "%s is opened again", spelled);
  check(store_profile_count(store) == 3, "%zu profiles", store_profile_count(store));
  /* A process that begins later. */
  struct dump_writer *writer = begin(in_directory(7, "twice/rank3.tfprof"), "realtime");
  write_model(writer, 0, 7);
  end(writer);
  check(open_again(store, path_buffer[7]) == 1 && store_profile_count(store) == 4, "a new file of an open directory");
  writer = begin(in_directory(7, "twice/rank4.tfprof"), "realtime");
  write_model(writer, 0, 7);
  end(writer);
  refresh(store, 7);
  check(store_profile_count(store) == 5 && store_profile_at(store, 4)->run_number == 1, "a refresh finds a new file");
  /* A number of an inode may come back with another file. */
  check(store_close_run(store, 1, &error) == TFPROF_OK && open_again(store, path_buffer[0]) > 2, "a run after closing");
  store_release(store);
}

/* ---- values that cannot be ---- */

static void test_refused(void) {
  const char *path = in_directory(0, "refused.tfprof");
  struct dump_writer *writer = begin(path, "realtime");
  int64_t name = text(writer, "name");
  const int64_t names[] = {name, 0, -1, name + 1000, name, INT64_MAX};
  const int64_t threads[] = {0, 2, 3, -1, 1, INT64_MIN};
  const int64_t starts[] = {0, 100, 200, INT64_MAX, 400, INT64_MIN};
  const int64_t durations[] = {10, -5, INT64_MAX, 1, 0, 3};
  const int64_t flags[] = {0, 1, 2, -1, 1, INT64_MAX};
  const int64_t anything[] = {0, 1, INT64_MIN, INT64_MAX, -1, 5};
  const double reals[] = {0.5, 1, 2, 3, 4, 5};
  const uint64_t nulls[] = {32};
  write_threads(writer);
  write_rows(writer, TABLE_steps, 6,
             (struct written_column[]){{COLUMN_steps_name, names, NULL, NULL},
                                       {COLUMN_steps_thread_id, threads, NULL, NULL},
                                       {COLUMN_steps_start_ns, starts, NULL, NULL},
                                       {COLUMN_steps_dur_ns, durations, NULL, NULL},
                                       {COLUMN_steps_is_warmup, flags, nulls, NULL},
                                       {COLUMN_steps_number, anything, NULL, NULL}},
             6);
  /* Wrong types: reals where integers should be, and the other way round. */
  write_rows(writer, TABLE_counters, 6,
             (struct written_column[]){{COLUMN_counters_value, anything, NULL, NULL},
                                       {COLUMN_counters_name, NULL, NULL, reals},
                                       {COLUMN_counters_time_ns, NULL, NULL, reals}},
             3);
  /* A trace may only have an earlier one for its parent. */
  const int64_t parents[] = {0, 0, 1, 3, 5, 2};
  write_rows(writer, TABLE_code_traces, 6,
             (struct written_column[]){{COLUMN_code_traces_parent_id, parents, NULL, NULL}}, 1);
  /* No such rows are in the file at all. */
  const int64_t zero[] = {0, 0, 0, 0, 0, 0};
  write_rows(writer, TABLE_node_types, 6, (struct written_column[]){{COLUMN_node_types_node_id, zero, NULL, NULL}}, 1);
  end(writer);

  struct store *store = open_store(path, NULL);
  struct snapshot *steps = take(store, TABLE_steps);
  static const struct {
    unsigned column;
    int64_t expected[6];
  } cases[] = {
      {COLUMN_steps_thread_id, {1, 1, 0, 0, 1, 0}}, {COLUMN_steps_start_ns, {1, 1, 1, 0, 1, 0}},
      {COLUMN_steps_dur_ns, {1, 0, 0, 1, 1, 1}},    {COLUMN_steps_end_ns, {1, 0, 0, 0, 1, 0}},
      {COLUMN_steps_is_warmup, {1, 1, 0, 0, 1, 0}}, {COLUMN_steps_number, {1, 1, 1, 1, 1, 1}},
      {COLUMN_steps_name, {1, 0, 0, 0, 1, 0}},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    for (uint64_t row = 0; row < 6; row++) {
      bool is_known = value_at(steps, cases[c].column, row).kind != VALUE_NULL;
      check(is_known == cases[c].expected[row], "steps.%s of row %llu",
            schema_tables[TABLE_steps].columns[cases[c].column].name, (unsigned long long)row);
    }
  }
  check(number_at(steps, COLUMN_steps_number, 2) == INT64_MIN, "a number is changed");
  snapshot_release(steps);
  struct snapshot *traces = take(store, TABLE_code_traces);
  static const int64_t trace_parents[6] = {NO_VALUE, 0, 1, NO_VALUE, NO_VALUE, 2};
  for (uint64_t row = 0; row < 6; row++) {
    check(number_at(traces, COLUMN_code_traces_parent_id, row) == reference(store, trace_parents[row]),
          "parent of trace %llu", (unsigned long long)row);
  }
  snapshot_release(traces);
  struct snapshot *counters = take(store, TABLE_counters);
  check(value_at(counters, COLUMN_counters_value, 5).kind == VALUE_REAL &&
            value_at(counters, COLUMN_counters_value, 5).real == 5,
        "integers as reals");
  check(value_at(counters, COLUMN_counters_time_ns, 5).kind == VALUE_NULL, "reals as times");
  check(value_at(counters, COLUMN_counters_name, 0).kind == VALUE_NULL, "reals as texts");
  snapshot_release(counters);
  struct snapshot *types = take(store, TABLE_node_types);
  check(value_at(types, COLUMN_node_types_node_id, 0).kind == VALUE_NULL, "a reference to a table without rows");
  snapshot_release(types);
  check(diagnosed(store, "dangling_reference") == 3 + 3 + 6, "%lld dangling references",
        (long long)diagnosed(store, "dangling_reference"));
  check(diagnosed(store, "damaged_column") == 12, "%lld rows of the wrong type",
        (long long)diagnosed(store, "damaged_column"));
  check(diagnosed(store, "impossible_value") == 2 + 2 + 2, "%lld impossible values",
        (long long)diagnosed(store, "impossible_value"));
  check(diagnosed(store, "lost_text") == 3, "%lld lost texts", (long long)diagnosed(store, "lost_text"));
  if (check_failures) print_diagnostics(store);
  store_release(store);
}

/* Segments whose frames have start, end and duration in all ways. */
static void test_odd_spans(void) {
  const char *path = in_directory(0, "spans.tfprof");
  struct dump_writer *writer = begin(path, NULL);
  const int64_t starts[] = {100, 200, 300, 400}, ends[] = {150, 260, 299, 480}, durations[] = {50, 60, 70, 80};
  const uint64_t some[] = {2};
  struct written_column start = {COLUMN_ranges_start_ns, starts, NULL, NULL},
                        end_column = {COLUMN_ranges_end_ns, ends, NULL, NULL};
  struct written_column dur = {COLUMN_ranges_dur_ns, durations, NULL, NULL},
                        dur_nulls = {COLUMN_ranges_dur_ns, durations, some, NULL};
  write_rows(writer, TABLE_ranges, 4, (struct written_column[]){start, end_column}, 2); /* row 2 is negative */
  write_rows(writer, TABLE_ranges, 4, (struct written_column[]){start, dur_nulls}, 2);
  write_rows(writer, TABLE_ranges, 4, (struct written_column[]){end_column, dur_nulls}, 2); /* an end alone */
  write_rows(writer, TABLE_ranges, 4, (struct written_column[]){end_column, dur}, 2);
  write_rows(writer, TABLE_ranges, 4, (struct written_column[]){start}, 1);
  write_rows(writer, TABLE_ranges, 4, (struct written_column[]){end_column}, 1);
  write_rows(writer, TABLE_ranges, 4, (struct written_column[]){dur}, 1);
  const struct written_column color = {COLUMN_ranges_color, starts, NULL, NULL};
  write_rows(writer, TABLE_ranges, 4, (struct written_column[]){color}, 1);
  /* Even ones in another table: only start, or start and duration. */
  write_rows(writer, TABLE_overheads, 4, (struct written_column[]){{COLUMN_overheads_start_ns, starts, NULL, NULL}}, 1);
  write_rows(writer, TABLE_overheads, 4,
             (struct written_column[]){{COLUMN_overheads_start_ns, starts, NULL, NULL},
                                       {COLUMN_overheads_dur_ns, durations, some, NULL}},
             2);
  write_rows(writer, TABLE_overheads, 4, (struct written_column[]){{COLUMN_overheads_dur_ns, durations, some, NULL}},
             1);
  end(writer);
  static const int64_t N = NO_VALUE;
  const int64_t expected[32][3] = {
      {100, 150, 50}, {200, 260, 60}, {300, N, N},    {400, 480, 80}, /* start and end */
      {100, 150, 50}, {200, N, N},    {300, 370, 70}, {400, 480, 80}, /* start and duration */
      {100, 150, 50}, {N, 260, N},    {229, 299, 70}, {400, 480, 80}, /* end and duration, one missing */
      {100, 150, 50}, {200, 260, 60}, {229, 299, 70}, {400, 480, 80}, /* end and duration */
      {100, N, N},    {200, N, N},    {300, N, N},    {400, N, N},    /* start */
      {N, 150, N},    {N, 260, N},    {N, 299, N},    {N, 480, N},    /* end */
      {N, N, 50},     {N, N, 60},     {N, N, 70},     {N, N, 80},     /* duration */
      {N, N, N},      {N, N, N},      {N, N, N},      {N, N, N},
  };
  const int64_t even[12][3] = {{100, N, N},    {200, N, N},    {300, N, N}, {400, N, N}, {100, 150, 50}, {200, N, N},
                               {300, 370, 70}, {400, 480, 80}, {N, N, 50},  {N, N, N},   {N, N, 70},     {N, N, 80}};
  for (unsigned first = 0; first < 3; first++) { /* whichever is asked for first */
    struct store *store = open_store(path, NULL);
    struct snapshot *ranges = take(store, TABLE_ranges), *overheads = take(store, TABLE_overheads);
    for (unsigned k = 0; k < 3; k++) {
      unsigned part = (first + k) % 3;
      for (uint64_t row = 0; row < 32; row++) {
        int64_t value = number_at(ranges, COLUMN_ranges_start_ns + part, row);
        check(value == expected[row][part], "ranges: part %u of row %llu is %lld, not %lld", part,
              (unsigned long long)row, (long long)value, (long long)expected[row][part]);
      }
      for (uint64_t row = 0; row < 12; row++) {
        int64_t value = number_at(overheads, COLUMN_overheads_start_ns + part, row);
        check(value == even[row][part], "overheads: part %u of row %llu is %lld", part, (unsigned long long)row,
              (long long)value);
      }
    }
    snapshot_release(overheads);
    snapshot_release(ranges);
    check(diagnosed(store, "impossible_value") == 1, "%lld impossible values",
          (long long)diagnosed(store, "impossible_value"));
    store_release(store);
  }
}

/* ---- damage ---- */

/* Reads all there is; nothing may fail. Returns the number of values that are not NULL. */
static uint64_t read_everything(struct store *store) {
  uint64_t known = 0;
  struct tfprof_error error;
  for (unsigned table = 0; table < TABLE_count; table++) {
    struct snapshot *snapshot = take(store, table);
    struct column_set all = {{0, 0}};
    for (unsigned column = 0; column < schema_tables[table].column_count; column++) column_set_add(&all, column);
    enum tfprof_status status = snapshot_require(snapshot, &all, &error);
    check(status == TFPROF_OK, "table %s is not to be had: %s", schema_tables[table].name, error.message);
    for (size_t i = 0; i < snapshot->segment_count && !status; i++) {
      for (uint32_t row = 0; row < snapshot->segments[i]->rows; row++) {
        for (unsigned column = 2; column < schema_tables[table].column_count; column++) {
          known += segment_value(snapshot->segments[i], column, row).kind != VALUE_NULL;
        }
      }
    }
    snapshot_release(snapshot);
  }
  return known;
}

static void test_damage(void) {
  const char *good = in_directory(0, "small.tfprof"), *bad = in_directory(1, "bad.tfprof");
  struct dump_writer *writer = begin(good, "realtime");
  struct tfprof_error error;
  struct dump_file *file;
  write_threads(writer);
  for (uint32_t i = 0; i < 3; i++) write_model(writer, i * FRAME, FRAME);
  end(writer);
  size_t size;
  uint8_t *bytes = read_file(good, &size);
  /* One block: only this column of this frame is lost, and the place is told. */
  if (!check(dump_file_open(good, &file, &error) == TFPROF_OK, "%s", error.message)) return;
  check(file->frame_count == 4, "%zu frames", file->frame_count);
  const struct dump_block *block =
      dump_frame_block(&file->frames[2], schema_tables[TABLE_ops].columns[COLUMN_ops_dur_ns].dump_id);
  uint64_t offset = block->offset;
  dump_file_close(file);
  bytes[offset + 3] ^= 0x10;
  write_file(bad, bytes, size);
  bytes[offset + 3] ^= 0x10;
  struct store *store = open_store(bad, NULL);
  struct snapshot *ops = take(store, TABLE_ops);
  for (uint32_t row = 0; row < 3 * FRAME; row++) {
    bool is_lost = row / FRAME == 1;
    int64_t dur = is_lost ? NO_VALUE : model_of(row).dur, end_ns = is_lost ? NO_VALUE : model_of(row).end;
    check(number_at(ops, COLUMN_ops_dur_ns, row) == dur, "duration of row %u", row);
    check(number_at(ops, COLUMN_ops_end_ns, row) == end_ns, "end of row %u", row);
    check(number_at(ops, COLUMN_ops_thread_id, row) == reference(store, model_of(row).thread), "thread of row %u", row);
  }
  snapshot_release(ops);
  struct snapshot *diagnostics = take(store, TABLE_diagnostics);
  /* The ends are stored, so that without durations there are no starts either. */
  check(diagnostics->rows == 2 && number_at(diagnostics, COLUMN_diagnostics_offset, 0) == (int64_t)offset,
        "the place of the damage");
  check(number_at(diagnostics, COLUMN_diagnostics_count, 0) == FRAME, "the extent of the damage");
  check(!strcmp(text_at(diagnostics, COLUMN_diagnostics_table_name, 0), "ops"), "the table of the damage");
  check(strstr(text_at(diagnostics, COLUMN_diagnostics_message, 0), "ops.dur_ns is NULL where it cannot be read: ") != NULL,
        "message: %s", text_at(diagnostics, COLUMN_diagnostics_message, 0));
  snapshot_release(diagnostics);
  store_release(store);

  /* Every byte changed, and every length: what is shown is never more than there was. */
  store = open_store(good, NULL);
  uint64_t whole = read_everything(store);
  store_release(store);
  for (size_t at = 0; at < size; at += 1 + at / 60) {
    bytes[at] ^= (uint8_t)(1 + check_random(255));
    write_file(bad, bytes, size);
    bytes[at] = 0;
    uint32_t run;
    store = store_create(NULL, 0);
    if (read_open(store, bad, &run, &error) == TFPROF_OK) {
      uint64_t known = read_everything(store);
      check(known <= whole + 200, "byte %zu: %llu values, %llu before", at, (unsigned long long)known,
            (unsigned long long)whole);
    }
    store_release(store);
    free(bytes);
    bytes = read_file(good, &size);
    write_file(bad, bytes, at);
    store = store_create(NULL, 0);
    if (read_open(store, bad, &run, &error) == TFPROF_OK) read_everything(store);
    else check(error.message[0] && error.file[0], "length %zu: no message", at);
    store_release(store);
  }
  free(bytes);
}

/* ---- saving ---- */

static void compare_stores(struct store *left, struct store *right, bool with_profiles) {
  for (unsigned table = 0; table < TABLE_count; table++) {
    const struct table_spec *spec = &schema_tables[table];
    if (table == TABLE_runs || table == TABLE_diagnostics || (table == TABLE_profiles && !with_profiles)) continue;
    struct snapshot *a = take(left, table), *b = take(right, table);
    check(a->rows == b->rows, "%s: %llu and %llu rows", spec->name, (unsigned long long)a->rows,
          (unsigned long long)b->rows);
    for (uint64_t row = 0; row < a->rows && row < b->rows; row++) {
      for (unsigned column = 0; column < spec->column_count; column++) {
        bool is_of_file = table == TABLE_profiles &&
                          (column == COLUMN_profiles_path || column == COLUMN_profiles_file_bytes ||
                           column == COLUMN_profiles_attributes || column == COLUMN_profiles_clock_error_ns ||
                           column == COLUMN_profiles_diagnostic_count);
        if (is_of_file) continue;
        bool is_good = is_same(a, value_at(a, column, row), b, value_at(b, column, row));
        if (!check(is_good, "%s.%s of row %llu differs", spec->name, spec->columns[column].name,
                   (unsigned long long)row))
          return;
      }
    }
    snapshot_release(a);
    snapshot_release(b);
  }
}

static void test_saving(void) {
  struct tfprof_error error;
  struct store *empty = store_create(NULL, 0);
  const char *saved = in_directory(2, "saved.tfprof");
  check(dump_save(empty, saved, &error) == TFPROF_USAGE, "nothing is saved");
  store_release(empty);
  static const char *const sources[] = {"model.tfprof", "spans.tfprof", "refused.tfprof"};
  for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
    struct store *store = open_store(in_directory(0, sources[i]), NULL);
    unlink(saved);
    check(dump_save(store, saved, &error) == TFPROF_OK, "%s cannot be saved: %s", sources[i], error.message);
    check(dump_save(store, saved, &error) == TFPROF_USAGE && strstr(error.message, "not overwritten"),
          "a file is overwritten: %s", error.message);
    struct store *again = open_store(saved, NULL);
    compare_stores(store, again, true);
    /* Diagnostics are rows of the file now, and no new ones come. */
    struct snapshot *a = take(store, TABLE_diagnostics), *b = take(again, TABLE_diagnostics);
    check(a->rows == b->rows, "%s: %llu and %llu diagnostics", sources[i], (unsigned long long)a->rows,
          (unsigned long long)b->rows);
    for (uint64_t row = 0; row < a->rows && row < b->rows; row++) {
      for (unsigned column = 2; column < schema_tables[TABLE_diagnostics].column_count; column++) {
        check(is_same(a, value_at(a, column, row), b, value_at(b, column, row)), "diagnostic %llu differs",
              (unsigned long long)row);
      }
    }
    check(b->rows == 0 || value_at(b, 0, 0).integer == id_make(1, 0), "ids of saved diagnostics");
    snapshot_release(a);
    snapshot_release(b);
    store_release(again);
    store_release(store);
  }

  /* A gap stays one. */
  const char *gap = in_directory(0, "gap.tfprof");
  struct dump_writer *writer = begin(gap, "monotonic");
  dump_writer_clock(writer, &(struct dump_clock){10, 1000000010, 0, 5}, &error);
  write_threads(writer);
  write_model(writer, 0, FRAME);
  dump_writer_skip(writer, schema_tables[TABLE_ops].dump_id, 3 * FRAME, &error);
  write_model(writer, 4 * FRAME, FRAME);
  end(writer);
  uint32_t run;
  struct store *store = open_store(gap, NULL);
  check(read_open(store, in_directory(1, "spans.tfprof"), &run, &error) == TFPROF_OK && run == 2, "a second run");
  struct snapshot *ops = take(store, TABLE_ops);
  check(value_at(ops, 0, FRAME).integer == id_make(1, 4 * FRAME), "row numbers after a gap");
  check(snapshot_find_id(ops, id_make(1, 2 * FRAME)) == -1 &&
            snapshot_find_id(ops, id_make(1, 4 * FRAME + 1)) == FRAME + 1,
        "ids");
  snapshot_release(ops);
  check(diagnosed(store, "lost_rows") == 3 * FRAME, "the gap is not told");
  const char *several = in_directory(2, "several");
  check(dump_save(store, several, &error) == TFPROF_OK, "two profiles cannot be saved: %s", error.message);
  check(dump_save(store, several, &error) == TFPROF_USAGE, "a directory is written over");
  check(access(in_directory(3, "several/gap-1.tfprof"), R_OK) == 0 &&
            access(in_directory(4, "several/spans-2.tfprof"), R_OK) == 0,
        "names");
  struct store *again = open_store(several, &run);
  check(store_profile_count(again) == 2 && store_run_count(again) == 1, "%zu profiles", store_profile_count(again));
  compare_stores(store, again, false);
  store_release(again);
  const char *nowhere = in_directory(5, "no/such/place.tfprof");
  check(dump_save(store, nowhere, &error) == TFPROF_IO, "saved nowhere");
  store_release(store);
}

/* ---- paths ---- */

static void check_refused(const char *path, enum tfprof_status expected, const char *part) {
  struct tfprof_error error;
  char whole[2200];
  uint32_t run;
  struct store *store = store_create(NULL, 0);
  memset(&error, 0, sizeof error);
  enum tfprof_status status = read_open(store, path, &run, &error);
  error_text(&error, whole, sizeof whole);
  check(status == expected && error.status == status && strstr(whole, part), "%s: status %d, %s", path, status, whole);
  check(store_profile_count(store) == 0 && store_run_count(store) == 0, "%s: something is open", path);
  store_release(store);
}

static void test_paths(void) {
  static const struct {
    const char *name, *bytes;
    size_t length;
    const char *part;
  } files[] = {
      {"empty", "", 0, "empty"},
      {"elf",
       "\x7f"
       "ELF\2\1\1",
       7, "ELF"},
      {"sqlite", "SQLite format 3\0more", 20, "SQLite database"},
      {"json", " {\"hello\": 1}", 13, "JSON that begins with '{\"hello\": 1}'"},
      {"text", "hello\nworld", 11, "text that begins with 'hello'"},
      {"bytes", "\x01\x02\x03\xff", 4, "bytes 01 02 03 ff"},
      {"zeros", "\0\0\0\0\0\0\0\0\0", 9, "zeros"},
      {"zstd", "\x28\xb5\x2f\xfd\x01", 5, "zstd"},
      {"gzip", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05\x00\x00\x00",
       25, "(within gzip) text"},
      {"not_gzip", "\x1f\x8b\x08\xff\xff", 5, "gzip"},
      {"magic", "\x89TFPROF\n", 8, "ends within its header"},
      {"utf8",
       "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3"
       "\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4",
       52, "..."},
  };
  mkdir(in_directory(0, "kinds"), 0777);
  check_refused(path_buffer[0], TFPROF_NOT_FOUND, "the directory is empty");
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char name[64];
    snprintf(name, sizeof name, "kinds/%s", files[i].name);
    write_file(in_directory(0, name), files[i].bytes, files[i].length);
    bool is_dump = strcmp(files[i].name, "magic") == 0;
    check_refused(path_buffer[0], is_dump ? TFPROF_CORRUPT : TFPROF_WRONG_KIND, files[i].part);
  }
  unlink(in_directory(0, "kinds/magic"));
  mkdir(in_directory(0, "kinds/within"), 0777);
  check_refused(in_directory(0, "kinds"), TFPROF_NOT_FOUND, "it has bytes, elf, empty, gzip");
  check_refused(in_directory(0, "kinds"), TFPROF_NOT_FOUND, "within/");
  check_refused("", TFPROF_USAGE, "empty");
  check_refused(in_directory(0, "kinds/no/such"), TFPROF_NOT_FOUND, "/kinds exists");
  check_refused("no-such-thing", TFPROF_NOT_FOUND, "no such file or directory");
  check_refused(in_directory(0, "kinds/json/more"), TFPROF_NOT_FOUND, "kinds/json is a file");
  check_refused(in_directory(0, "kinds/x*y"), TFPROF_NOT_FOUND, "nothing matches");
  check_refused(in_directory(0, "kinds/e*"), TFPROF_NOT_FOUND, "no profile");
  check_refused("/dev/null", TFPROF_WRONG_KIND, "not a regular file");
  mkfifo(in_directory(0, "pipe"), 0666);
  check_refused(path_buffer[0], TFPROF_WRONG_KIND, "not a regular file");

  /* A later version. */
  size_t size;
  uint8_t *bytes = read_file(in_directory(0, "small.tfprof"), &size);
  bytes[12] |= 0x40; /* a required feature */
  write_file(in_directory(1, "later.tfprof"), bytes, size);
  free(bytes);
  struct tfprof_error error;
  uint32_t run;
  struct store *store = store_create(NULL, 0);
  enum tfprof_status status = read_open(store, path_buffer[1], &run, &error);
  check(status == TFPROF_VERSION || status == TFPROF_CORRUPT, "a later version is opened: %d", status);
  store_release(store);

  /* A directory of ranks: by number, with one that cannot be opened and one that is something else. */
  mkdir(in_directory(0, "ranks"), 0777);
  for (unsigned rank = 0; rank < 12; rank++) {
    char name[64];
    snprintf(name, sizeof name, "ranks/rank%u.tfprof", rank);
    struct dump_writer *writer = begin(in_directory(1, name), "realtime");
    write_model(writer, 0, 7);
    end(writer);
  }
  write_file(in_directory(1, "ranks/rank5.tfprof"), "\x89TFPROF\nbroken", 14);
  write_file(in_directory(1, "ranks/notes.txt"), "notes", 5);
  store = open_store(path_buffer[0], &run);
  check(store_profile_count(store) == 11, "%zu profiles", store_profile_count(store));
  struct snapshot *profiles = take(store, TABLE_profiles);
  check(strstr(text_at(profiles, COLUMN_profiles_path, 1), "rank1.tfprof") &&
            strstr(text_at(profiles, COLUMN_profiles_path, 10), "rank11.tfprof"),
        "order of ranks");
  snapshot_release(profiles);
  check(diagnosed(store, "unopened_file") == 1, "the broken one is not told");
  check(read_open(store, in_directory(1, "ranks/rank1*"), &run, &error) == TFPROF_OK && run == 1, "a glob");
  check(store_profile_count(store) == 11, "%zu profiles after the glob", store_profile_count(store));
  check(store_close_run(store, 1, &error) == TFPROF_OK && store_profile_count(store) == 0, "closing the directory");
  check(read_open(store, path_buffer[1], &run, &error) == TFPROF_OK && store_profile_count(store) == 3,
        "the glob alone");
  store_release(store);
}

/* ---- memory that runs out ---- */

static void test_no_memory(void) {
  const char *path = in_directory(0, "small.tfprof"), *saved = in_directory(2, "short.tfprof");
  bool is_done = !can_fail_allocations;
  setenv("TFPROF_THREADS", "1", 1);
  for (long allowed = 0; !is_done && allowed < 20000; allowed += 1 + allowed / 300) {
    struct tfprof_error error = {0};
    uint32_t run;
    unlink(saved);
    fail_allocation_after(allowed);
    struct store *store = store_create(NULL, 0);
    enum tfprof_status status = store ? read_open(store, path, &run, &error) : TFPROF_NO_MEMORY;
    bool is_open = !status;
    if (!status) status = dump_save(store, saved, &error);
    fail_allocation_after(-1);
    is_done = status == TFPROF_OK;
    /* The system's own functions may say it in their way. */
    bool is_expected = !status || status == TFPROF_NO_MEMORY || status == TFPROF_LIMIT || status == TFPROF_IO;
    check(is_expected, "allocation %ld: status %d: %s", allowed, status, error.message);
    check(!status || access(saved, F_OK) != 0, "allocation %ld: half a file is left", allowed);
    if (is_open) {
      check_model(store, 0, 3 * FRAME, 0);
      check(diagnosed(store, "damaged_column") == -1, "allocation %ld: taken for damage", allowed);
    }
    store_release(store);
  }
  unsetenv("TFPROF_THREADS");
  check(is_done, "memory never suffices");
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk) {
  (void)info;
  (void)kind;
  (void)walk;
  return remove(path);
}

int main(void) {
  const char *temporary = getenv("TMPDIR");
  snprintf(directory, sizeof directory, "%s/test_read_dump.XXXXXX", temporary ? temporary : "/tmp");
  if (!mkdtemp(directory)) {
    perror(directory);
    return 1;
  }
  test_model();
  test_groups();
  test_growing();
  test_lost();
  test_opening_twice();
  test_refused();
  test_odd_spans();
  test_damage();
  test_saving();
  test_paths();
  test_no_memory();
  nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  return check_result();
}
