/* test_read_dump.c: dumps opened, read, grown, gone and come back show the rows that were written. */
#include "read_dump_test.h"

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

/* CLOCK_REALTIME was set while it was recorded: times stay as far apart as they were, on the clock that the recording
** began with, and how far others may be off is told.
*/
static void test_set_clock(void) {
  enum { ROWS = 3 };
  static const int64_t hour = 3600000000000, began = 1700000000000000000;
  static const int64_t set[] = {0, 3600000000000, 0, -3600000000000, 5}, times[ROWS] = {1000, 2000, 3000};
  struct dump_writer *writer = begin(in_directory(1, "set.tfprof"), "monotonic");
  const struct written_column columns[] = {{COLUMN_counters_time_ns, times, NULL, NULL}};
  for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
    int64_t now = 500 + 1000 * (int64_t)i;
    dump_writer_clock(writer, &(struct dump_clock){now, began + now + set[i], 0, 40}, NULL);
  }
  write_rows(writer, TABLE_counters, ROWS, columns, 1);
  end(writer);
  struct store *store = open_store(in_directory(1, "set.tfprof"), NULL);
  struct snapshot *profiles = take(store, TABLE_profiles), *counters = take(store, TABLE_counters);
  check(number_at(profiles, COLUMN_profiles_clock_offset_ns, 0) == began, "clock offset");
  check(number_at(profiles, COLUMN_profiles_clock_error_ns, 0) == hour + 40, "clock error");
  for (uint32_t row = 0; row < ROWS; row++)
    check(number_at(counters, COLUMN_counters_time_ns, row) == began + times[row], "row %u is moved", row);
  snapshot_release(profiles);
  snapshot_release(counters);
  store_release(store);
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

/* Texts with bytes that are not UTF-8 among others: each stays at its place. */
static void test_not_utf8(void) {
  const char *path = in_directory(0, "not_utf8.tfprof");
  struct dump_writer *writer = begin(path, "realtime");
  static const char *const names[] = {"first", "bad \xff\xc3", "\xc3\xa9", "\xed\xa0\x80", "last"};
  int64_t ids[5];
  for (unsigned i = 0; i < 5; i++) ids[i] = text(writer, names[i]);
  write_rows(writer, TABLE_threads, 5, (struct written_column[]){{COLUMN_threads_name, ids, NULL, NULL}}, 1);
  end(writer);
  struct store *store = open_store(path, NULL);
  struct snapshot *threads = take(store, TABLE_threads);
  static const char *const expected[] = {"first", "bad \xef\xbf\xbd\xef\xbf\xbd", "\xc3\xa9",
                                         "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", "last"};
  for (unsigned i = 0; i < 5; i++) {
    check(strcmp(text_at(threads, COLUMN_threads_name, i), expected[i]) == 0, "name %u is %s", i,
          text_at(threads, COLUMN_threads_name, i));
  }
  check(diagnosed(store, "not_utf8") == 2, "%lld texts are not UTF-8", (long long)diagnosed(store, "not_utf8"));
  snapshot_release(threads);
  store_release(store);
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

int main(void) {
  make_test_directory();
  test_model();
  test_set_clock();
  test_groups();
  test_not_utf8();
  test_growing();
  test_lost();
  test_opening_twice();
  return check_result();
}
