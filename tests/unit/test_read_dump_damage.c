/* test_read_dump_damage.c: impossible values, odd spans, damaged bytes: what is wrong is NULL and told.  Saved copies
** of such files are equal, wrong paths are told, and memory may run out at any moment.
**
** The later tests use the files that the earlier ones made.
*/
#include "read_dump_test.h"

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
  /* The ends are stored, so that without durations there are no starts either, which are told first. */
  check(diagnostics->rows == 2 && number_at(diagnostics, COLUMN_diagnostics_offset, 1) == (int64_t)offset,
        "the place of the damage");
  check(number_at(diagnostics, COLUMN_diagnostics_count, 1) == FRAME, "the extent of the damage");
  check(!strcmp(text_at(diagnostics, COLUMN_diagnostics_table_name, 1), "ops"), "the table of the damage");
  check(strstr(text_at(diagnostics, COLUMN_diagnostics_message, 1), "ops.dur_ns is NULL where it cannot be read: ") !=
            NULL,
        "message: %s", text_at(diagnostics, COLUMN_diagnostics_message, 1));
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

/* ---- rows that were lost ---- */

/* Three frames of ops, with so many rows lost between them. */
static void write_gaps(const char *path, uint32_t lost) {
  struct tfprof_error error;
  struct dump_writer *writer = begin(path, "monotonic");
  dump_writer_clock(writer, &(struct dump_clock){10, 1000000010, 0, 5}, &error);
  write_threads(writer);
  for (uint32_t part = 0; part < 3; part++) {
    if (part) dump_writer_skip(writer, schema_tables[TABLE_ops].dump_id, lost, &error);
    write_model(writer, part * (FRAME + lost), FRAME);
  }
  end(writer);
}

/* Which row has a number of that file, or NO_VALUE: it was lost. */
static int64_t row_of_number(int64_t number, uint32_t lost) {
  int64_t part = number / (FRAME + lost), place = number % (FRAME + lost);
  return place < FRAME ? part * FRAME + place : NO_VALUE;
}

/* Rows are numbered as they come, references follow, and what is lost is told and costs nothing. */
static void test_gaps(void) {
  static const uint32_t gaps[] = {1, FRAME / 2, 5 * FRAME, 1u << 30};
  for (unsigned kind = 0; kind < sizeof gaps / sizeof *gaps; kind++) {
    uint32_t lost = gaps[kind];
    int64_t dangling = 0;
    write_gaps(in_directory(0, "gaps.tfprof"), lost);
    struct store *store = open_store(in_directory(0, "gaps.tfprof"), NULL);
    struct snapshot *ops = take(store, TABLE_ops);
    check(ops->rows == 3 * FRAME && diagnosed(store, "lost_rows") == 2 * (int64_t)lost, "%u rows lost", lost);
    for (uint32_t row = 0; row < 3 * FRAME; row++) {
      struct model model = model_of(row / FRAME * (FRAME + lost) + row % FRAME);
      int64_t parent = model.parent == NO_VALUE ? NO_VALUE : row_of_number(model.parent, lost);
      dangling += model.parent != NO_VALUE && parent == NO_VALUE;
      check(value_at(ops, 0, row).integer == id_make(1, row), "the id of row %u", row);
      check(number_at(ops, COLUMN_ops_parent_id, row) == reference(store, parent), "the parent of row %u", row);
      check(number_at(ops, COLUMN_ops_dur_ns, row) == model.dur, "the duration of row %u", row);
    }
    check(snapshot_find_id(ops, id_make(1, 3 * FRAME)) == -1, "a row that is not there");
    check(diagnosed(store, "dangling_reference") == (dangling ? dangling : -1), "what refers to lost rows");
    snapshot_release(ops);
    check(store_bytes(store) < 4 << 20, "%llu bytes", (unsigned long long)store_bytes(store));
    store_release(store);
  }
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
  check(saved_runs_write(empty, saved, &error) == TFPROF_USAGE, "nothing is saved");
  store_release(empty);
  static const char *const sources[] = {"model.tfprof", "spans.tfprof", "refused.tfprof"};
  for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
    struct store *store = open_store(in_directory(0, sources[i]), NULL);
    unlink(saved);
    check(saved_runs_write(store, saved, &error) == TFPROF_OK, "%s cannot be saved: %s", sources[i], error.message);
    check(saved_runs_write(store, saved, &error) == TFPROF_USAGE && strstr(error.message, "not overwritten"),
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

  write_gaps(in_directory(0, "gap.tfprof"), FRAME / 2);
  uint32_t run;
  struct store *store = open_store(in_directory(0, "gap.tfprof"), NULL);
  check(read_open(store, in_directory(1, "spans.tfprof"), &run, &error) == TFPROF_OK && run == 2, "a second run");
  const char *several = in_directory(2, "several");
  check(saved_runs_write(store, several, &error) == TFPROF_OK, "two profiles cannot be saved: %s", error.message);
  check(saved_runs_write(store, several, &error) == TFPROF_USAGE, "a directory is written over");
  check(access(in_directory(3, "several/gap.tfprof/gap.tfprof"), R_OK) == 0 &&
            access(in_directory(4, "several/spans.tfprof/spans.tfprof"), R_OK) == 0,
        "names");
  struct store *again = open_store(several, &run);
  check(store_profile_count(again) == 2 && store_run_count(again) == 2, "%zu profiles", store_profile_count(again));
  compare_stores(store, again, false);
  store_release(again);
  const char *nowhere = in_directory(5, "no/such/place.tfprof");
  check(saved_runs_write(store, nowhere, &error) == TFPROF_IO, "saved nowhere");
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

  /* A directory of ranks: by number, with two that cannot be opened and one that is something else. */
  mkdir(in_directory(0, "ranks"), 0777);
  for (unsigned rank = 0; rank < 12; rank++) {
    char name[64];
    snprintf(name, sizeof name, "ranks/rank%u.tfprof", rank);
    struct dump_writer *writer = begin(in_directory(1, name), "realtime");
    write_model(writer, 0, 7);
    end(writer);
  }
  write_file(in_directory(1, "ranks/rank5.tfprof"), "\x89TFPROF\nbroken", 14);
  write_file(in_directory(1, "ranks/rank7.tfprof"), "", 0);
  write_file(in_directory(1, "ranks/notes.txt"), "notes", 5);
  store = open_store(path_buffer[0], &run);
  check(store_profile_count(store) == 10, "%zu profiles", store_profile_count(store));
  struct snapshot *profiles = take(store, TABLE_profiles);
  check(strstr(text_at(profiles, COLUMN_profiles_path, 1), "rank1.tfprof") &&
            strstr(text_at(profiles, COLUMN_profiles_path, 9), "rank11.tfprof"),
        "order of ranks");
  snapshot_release(profiles);
  check(diagnosed(store, "unopened_file") == 2, "the broken one or the empty one is not told");
  check(read_open(store, in_directory(1, "ranks/rank1*"), &run, &error) == TFPROF_OK && run == 1, "a glob");
  check(store_profile_count(store) == 10, "%zu profiles after the glob", store_profile_count(store));
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
    if (!status) status = saved_runs_write(store, saved, &error);
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

int main(void) {
  make_test_directory();
  write_model_file(in_directory(0, "model.tfprof"));
  test_refused();
  test_odd_spans();
  test_damage();
  test_saving();
  test_gaps();
  test_paths();
  test_no_memory();
  return check_result();
}
