/* test_store.c: orders, lookups and derive passes of the store.
**
** Every order, lookup and value is compared with what a plain array of the same rows gives; derive passes are counted,
** fail and are interrupted.
*/
#include "store_test.h"

static void test_orders(void) {
  struct store *store = create();
  struct tfprof_error error;
  unsigned freed = 0;
  uint32_t run;
  open_run(store, "runs/a", 3, 700, &freed, &run, &error);
  struct snapshot *ops = take(store, TABLE_ops, NULL);
  check(ops->rows == 700 + 710 + 720, "%llu rows", (unsigned long long)ops->rows);
  for (unsigned i = 0; i < FAKE_COLUMNS; i++) {
    uint16_t column = fake_columns[i];
    require(ops, column);
    check_order(ops, &column, 1);
    check_equal(ops, column);
    check_range(ops, column, INT64_MIN, INT64_MAX);
    check_range(ops, column, -3, 2);
    check_range(ops, column, 100000, 1000300000);
    check_range(ops, column, 5, 4);
  }
  for (uint16_t column = 0; column < 2; column++) {
    check_order(ops, &column, 1);
    check_equal(ops, column);
    check_range(ops, column, 1, 2);
  }
  static const uint16_t several[][ORDER_MAXIMUM_COLUMNS] = {
      {COLUMN_ops_name, COLUMN_ops_thread_id},
      {COLUMN_ops_thread_id, COLUMN_ops_correlation},
      {COLUMN_ops_name, COLUMN_ops_sample_weight, COLUMN_ops_id},
      {COLUMN_ops_thread_id, COLUMN_ops_profile_id, COLUMN_ops_flops, COLUMN_ops_dur_ns},
      {COLUMN_ops_flops, COLUMN_ops_start_ns, COLUMN_ops_profile_id},
      {COLUMN_ops_id, COLUMN_ops_name},
      {COLUMN_ops_category, COLUMN_ops_correlation, COLUMN_ops_sample_weight},
      {COLUMN_ops_category, COLUMN_ops_thread_id, COLUMN_ops_name, COLUMN_ops_sample_weight, COLUMN_ops_flops,
       COLUMN_ops_dur_ns},
  };
  static const unsigned counts[] = {2, 2, 3, 4, 3, 2, 3, 6};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) check_order(ops, several[i], counts[i]);
  const uint32_t *positions;
  check(snapshot_order(ops, several[0], ORDER_MAXIMUM_COLUMNS + 1, &positions, &error) == TFPROF_USAGE,
        "too many columns");
  uint16_t none[1] = {200};
  check(snapshot_order(ops, none, 1, &positions, &error) == TFPROF_USAGE, "column 200");
  for (uint64_t i = 0; i < ops->rows; i++) {
    int64_t id = value_at(ops, 0, i).integer;
    check(snapshot_find_id(ops, id) == (int64_t)i, "id %lld is not found", (long long)id);
  }
  static const int64_t no_ids[] = {
      0, -1, INT64_MIN, INT64_MAX, ((int64_t)1 << 36) + 700, ((int64_t)4 << 36), ((int64_t)3 << 36) + 720};
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

static void test_passes(unsigned others) {
  struct store *store = create_after(others);
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

/* What shows in memory already to make no rows reads nothing and is not called. */
static void test_idle_pass(void) {
  for (unsigned made = 0; made < 2; made++) {
    struct store *store = create();
    struct tfprof_error error;
    unsigned freed = 0;
    uint32_t run;
    has_transfers = made;
    open_run(store, "runs/a", 1, 700, &freed, &run, &error);
    loads = transfer_runs = 0;
    struct snapshot *transfers = take(store, TABLE_transfers, NULL);
    require(transfers, COLUMN_transfers_bytes);
    check(transfers->rows == 3 * made && transfer_runs == made, "%llu rows made in %u runs",
          (unsigned long long)transfers->rows, transfer_runs);
    check((loads > 0) == made, "an idle pass is the reason of %u loads", loads);
    snapshot_release(transfers);
    store_release(store);
  }
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

int main(void) {
  test_orders();
  test_passes(0);
  test_passes(62); /* on both sides of the end of a word */
  enum { MOST_OTHERS = DERIVE_MAXIMUM_PASSES - sizeof passes / sizeof *passes };
  test_passes(MOST_OTHERS);
  check(!create_after(MOST_OTHERS + 1), "a store takes more passes than it can tell apart");
  test_idle_pass();
  test_made_again();
  test_interrupts();
  return check_result();
}
