/* test_store_versions.c: profiles come, grow and go while snapshots of them are held.
**
** Everything is done once more with memory that runs out at every allocation in turn.
*/
#include "store_test.h"

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
  check(known == 2 && diagnostics->rows == 2, "%llu diagnostics", (unsigned long long)diagnostics->rows);
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
  check(add_rows(profile, TABLE_ops, 0, 5, &error) == TFPROF_OK, "rows");
  check(add_rows(profile, TABLE_ops, 4, 5, &error) == TFPROF_USAGE, "rows overlap");
  check(add_rows(profile, TABLE_ops, 6, 5, &error) == TFPROF_USAGE, "rows leave a gap");
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
  test_refresh();
  test_unsettled();
  test_catalogue();
  test_cache();
  test_no_memory();
  return check_result();
}
