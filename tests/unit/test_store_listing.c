/* test_store_listing.c: tables whose rows the source lists when they are first asked for. */
#include "store_test.h"

/* Has ops, and api_calls that are listed with them; transfers and threads, of which it does not know how many. */
struct listed {
  uint32_t ops, transfers;
  enum tfprof_status failure; /* of listing ops, after a segment was added and something was told */
  unsigned lists[TABLE_count];
};
enum { API_CALLS = 20, GUESSED_TRANSFERS = 9 };

static enum tfprof_status list(struct profile *profile, unsigned table, struct tfprof_error *error) {
  struct listed *source = profile->source_data;
  enum tfprof_status status = TFPROF_OK;
  source->lists[table]++;
  profile_diagnose(profile, "info", "listed", 1, -1, (int)table, "%s was listed", schema_tables[table].name);
  if (table == TABLE_ops) {
    status = add_rows(profile, TABLE_ops, 0, source->ops / 2, error);
    if (!status) status = source->failure ? error_set(error, source->failure, "as the test wants it") : TFPROF_OK;
    if (!status) status = add_rows(profile, TABLE_ops, source->ops / 2, source->ops - source->ops / 2, error);
    if (status || !profile->tables[TABLE_api_calls].is_deferred) return status;
    table = TABLE_api_calls;
  }
  if (table == TABLE_api_calls) status = add_rows(profile, TABLE_api_calls, 0, API_CALLS, error);
  if (table == TABLE_transfers && source->transfers)
    status = add_rows(profile, TABLE_transfers, 0, source->transfers, error);
  return status;
}

static enum tfprof_status load_listed(struct profile *profile, struct segment *segment, const uint16_t *columns,
                                      unsigned count, struct column **out, struct tfprof_error *error) {
  static const struct fake fake = {.kind = 0};
  (void)profile;
  for (unsigned i = 0; i < count; i++) {
    out[i] = fake_column(&fake, segment, columns[i]);
    if (!out[i]) return error_no_memory(error);
  }
  return TFPROF_OK;
}

static enum tfprof_status refresh_listed(struct profile *profile, bool *changed, struct tfprof_error *error) {
  const struct listed *source = profile->source_data;
  (void)error;
  *changed = false;
  if (profile->tables[TABLE_ops].segment_count == 0) profile_defer_table(profile, TABLE_ops, source->ops, false);
  return TFPROF_OK;
}

static enum tfprof_status verify_listed(struct profile *profile, struct tfprof_error *error) {
  return profile_load_all(profile, error);
}

static const struct profile_source listed_source = {.format = "listed",
                                                    .list = list,
                                                    .load = load_listed,
                                                    .refresh = refresh_listed,
                                                    .verify = verify_listed,
                                                    .free_segment = free_segment};

static struct profile *open_listed(struct store *store, struct listed *source) {
  struct tfprof_error error;
  struct profile *profile = NULL;
  uint32_t run;
  enum tfprof_status status = store_add_run(store, "runs/listed", NULL, &run, &error);
  if (!status) status = store_add_profile(store, run, &listed_source, source, &profile, &error);
  check(status == TFPROF_OK, "cannot open: %s", error.message);
  profile_defer_table(profile, TABLE_ops, source->ops, false);
  profile_defer_table(profile, TABLE_api_calls, API_CALLS, false);
  profile_defer_table(profile, TABLE_transfers, GUESSED_TRANSFERS, true);
  profile_defer_table(profile, TABLE_threads, 0, true);
  store_publish_run(store, run);
  return store_profile_at(store, 0);
}

static void check_rows(struct store *store, unsigned table, uint64_t rows) {
  struct snapshot *snapshot = take(store, table, NULL);
  check(snapshot->rows == rows, "%llu rows of %s, not %llu", (unsigned long long)snapshot->rows,
        schema_tables[table].name, (unsigned long long)rows);
  snapshot_release(snapshot);
}

static void test_first_use(void) {
  struct listed source = {.ops = 700};
  struct store *store = create();
  struct profile *profile = open_listed(store, &source);
  struct tfprof_error error;
  int64_t events = 0;
  check(store_estimate_rows(store, TABLE_ops) == 700, "the number of ops is not known");
  check(store_estimate_rows(store, TABLE_transfers) == GUESSED_TRANSFERS, "transfers are not estimated");
  check_rows(store, TABLE_kernels, 0);
  check(source.lists[TABLE_ops] + source.lists[TABLE_transfers] == 0, "opening or another table lists tables");
  check(profile_count_events(profile, &events, &error) == TFPROF_OK && events == 700 + API_CALLS, "%lld events",
        (long long)events);
  check(source.lists[TABLE_ops] == 0 && source.lists[TABLE_transfers] == 1, "other tables were listed");
  struct snapshot *ops = take(store, TABLE_ops, NULL);
  check(ops->rows == 700 && ops->segment_count == 2, "%llu ops", (unsigned long long)ops->rows);
  check(value_at(ops, 0, 699).integer == id_make(profile->number, 699), "an op has another id");
  require(ops, COLUMN_ops_depth);
  check_order(ops, (const uint16_t[]){COLUMN_ops_dur_ns}, 1);
  check_rows(store, TABLE_api_calls, API_CALLS);
  check(source.lists[TABLE_ops] == 1 && source.lists[TABLE_api_calls] == 0, "ops and api_calls are listed again");
  snapshot_release(ops);
  store_release(store);
}

/* What a pass reads is listed before it runs, before it is asked whether it is idle, and before it makes a table. */
static void test_passes(void) {
  for (unsigned transfers = 0; transfers < 2; transfers++) {
    struct listed source = {.ops = 700, .transfers = transfers};
    struct store *store = create();
    open_listed(store, &source);
    has_transfers = true;
    transfer_runs = 0;
    check_rows(store, TABLE_steps, 7);
    check(source.lists[TABLE_ops] == 1 && source.lists[TABLE_transfers] == 0, "steps list other tables than they need");
    check_rows(store, TABLE_transfers, transfers ? 1 : 3);
    check(transfer_runs == !transfers, "a table that the source has is made");
    store_release(store);
  }
}

static void test_failures(void) {
  struct listed source = {.ops = 700, .failure = TFPROF_CORRUPT};
  struct store *store = create();
  struct profile *profile = open_listed(store, &source);
  struct tfprof_error error;
  struct snapshot *snapshot;
  uint64_t added;
  for (unsigned i = 0; i < 3; i++) {
    check(store_snapshot(store, i == 1 ? TABLE_steps : TABLE_ops, NULL, &snapshot, &error) == TFPROF_CORRUPT &&
              strstr(error.message, "as the test wants it"),
          "a listing that fails is no error");
    check(profile->diagnostic_count == 0 && store_estimate_rows(store, TABLE_ops) == 700, "rows are left");
  }
  source.failure = TFPROF_NOT_FOUND; /* the file is gone, and comes back */
  check_rows(store, TABLE_ops, 0);
  check_rows(store, TABLE_steps, 0);
  check(profile->diagnostic_count == 1 && strstr(pool_text(store_pool(store), profile->diagnostics[0].reason), "lost"),
        "nobody is told of the file");
  source.failure = TFPROF_OK;
  check_rows(store, TABLE_ops, 0);
  struct snapshot *before = take(store, TABLE_ops, NULL);
  check(store_refresh(store, 0, &added, &error) == TFPROF_OK && added == 700, "a refresh adds %llu rows",
        (unsigned long long)added);
  check_rows(store, TABLE_ops, 700);
  check_rows(store, TABLE_api_calls, API_CALLS);
  check(before->rows == 0, "rows came into a snapshot");
  snapshot_release(before);
  store_release(store);
}

static bool is_interrupted(void *context) {
  (void)context;
  return true;
}

static void test_interrupt(void) {
  struct listed source = {.ops = 700};
  struct store *store = create();
  struct tfprof_error error;
  struct snapshot *snapshot;
  open_listed(store, &source);
  store_set_hooks(store, &(struct store_hooks){.is_interrupted = is_interrupted});
  check(store_snapshot(store, TABLE_ops, NULL, &snapshot, &error) == TFPROF_INTERRUPTED, "listing goes on");
  store_set_hooks(store, &(struct store_hooks){.is_interrupted = NULL});
  check_rows(store, TABLE_ops, 700);
  store_release(store);
}

/* Whatever was asked for before, the diagnostics are the same. */
static void test_diagnostics(void) {
  static const unsigned first[] = {TABLE_diagnostics, TABLE_transfers, TABLE_ops};
  char texts[3][400] = {"", "", ""};
  for (unsigned i = 0; i < 3; i++) {
    struct listed source = {.ops = 700};
    struct store *store = create();
    open_listed(store, &source);
    snapshot_release(take(store, first[i], NULL));
    struct snapshot *diagnostics = take(store, TABLE_diagnostics, NULL);
    require(diagnostics, COLUMN_diagnostics_message);
    for (uint64_t row = 0; row < diagnostics->rows; row++) {
      struct value value = value_at(diagnostics, COLUMN_diagnostics_message, row);
      size_t length = strlen(texts[i]);
      snprintf(texts[i] + length, sizeof texts[i] - length, "%s\n", pool_text(store_pool(store), value.text));
    }
    bool is_same = strcmp(texts[i], texts[0]) == 0 && strstr(texts[i], "ops was listed\n");
    check(is_same, "after %s there is told:\n%snot:\n%s", schema_tables[first[i]].name, texts[i], texts[0]);
    snapshot_release(diagnostics);
    store_release(store);
  }
}

/* A profile that was read apart is listed where it went over to. */
static void test_adoption(void) {
  struct listed source = {.ops = 700};
  struct store *store = create(), *apart = store_create_apart(store);
  struct tfprof_error error;
  struct profile *profile = NULL;
  uint32_t run;
  check(store_add_run(apart, "runs/a", NULL, &run, &error) == TFPROF_OK &&
            store_add_profile(apart, run, &listed_source, &source, &profile, &error) == TFPROF_OK,
        "cannot open apart");
  profile_defer_table(profile, TABLE_ops, source.ops, false);
  check(store_add_run(store, "runs/b", NULL, &run, &error) == TFPROF_OK &&
            store_adopt(store, run, apart, &error) == TFPROF_OK,
        "cannot be adopted");
  store_release(apart);
  store_publish_run(store, run);
  struct snapshot *ops = take(store, TABLE_ops, NULL);
  check(ops->rows == 700, "%llu ops of an adopted profile", (unsigned long long)ops->rows);
  require(ops, COLUMN_ops_name);
  snapshot_release(ops);
  store_release(store);
}

int main(void) {
  test_first_use();
  test_passes();
  test_failures();
  test_interrupt();
  test_diagnostics();
  test_adoption();
  check(segments_alive == 0, "%u segments left", segments_alive);
  return check_result();
}
