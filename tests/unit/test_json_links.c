/* test_json_links.c: the links that derive makes between the rows of a trace. */
#include "derive/derive.h"
#include "unit/json_test.h"

static struct opened open_derived(const char *name) {
  char path[1024];
  struct opened o = {.store = store_create(derive_passes, derive_pass_count)};
  uint32_t run;
  snprintf(path, sizeof path, "%s/tests/fixtures/kineto/%s", TFPROF_SOURCE_DIRECTORY, name);
  if (store_add_run(o.store, path, NULL, &run, &o.error) || json_open(o.store, run, path, &o.error)) {
    fprintf(stderr, "%s\n", o.error.message);
    exit(1);
  }
  store_publish_run(o.store, run);
  return o;
}

static void test_calls(void) {
  struct opened o = open_derived("links.json");
  /* By number; the op of that number is on another thread or over: by time; none. */
  ROW(api_calls, op_id, 0, 2);
  ROW(api_calls, op_id, 1, 1);
  IS_NULL(api_calls, op_id, 2);
  ROW(api_calls, op_id, 3, 0);
  close_opened(&o);
}

static void test_kernels(void) {
  struct opened o = open_derived("links.json");
  ROW(kernels, api_call_id, 0, 0);
  ROW(kernels, op_id, 0, 2);
  INTEGER(kernels, launch_delay_ns, 0, 15000);
  ROW(kernels, op_id, 1, 1);
  INTEGER(kernels, launch_delay_ns, 1, 0); /* it began before the call returned */
  /* Without a call: the op that it names itself, but not where that is only its own correlation. */
  IS_NULL(kernels, api_call_id, 4);
  ROW(kernels, op_id, 4, 1);
  IS_NULL(kernels, launch_delay_ns, 4);
  IS_NULL(kernels, op_id, 5);
  ROWS(steps, 1);
  ROW(kernels, step_id, 0, 0);
  ROW(transfers, api_call_id, 0, 5);
  ROW(transfers, step_id, 0, 0);
  ROW(transfers, op_id, 0, 0);
  ROW(syncs, api_call_id, 0, 6);
  ROW(syncs, op_id, 0, 0);
  close_opened(&o);
}

static void test_graphs(void) {
  struct opened o = open_derived("links.json");
  ROWS(graph_launches, 2);
  INTEGER(graph_launches, graph, 0, 5);
  INTEGER(graph_launches, kernel_count, 0, 2);
  INTEGER(graph_launches, start_ns, 0, 220000);
  INTEGER(graph_launches, end_ns, 0, 235000);
  INTEGER(graph_launches, dur_ns, 0, 15000);
  INTEGER(graph_launches, correlation, 0, 300);
  ROW(graph_launches, api_call_id, 0, 3);
  INTEGER(threads, stream, CELL(&o, graph_launches, thread_id, 0).integer & 0xfffff, 7);
  ROW(kernels, graph_launch_id, 2, 0);
  ROW(kernels, graph_launch_id, 3, 0);
  IS_NULL(kernels, graph_launch_id, 0);
  IS_NULL(graph_launches, kernel_count, 1);
  INTEGER(graph_launches, start_ns, 1, 240000);
  IS_NULL(graph_launches, device_id, 1);
  close_opened(&o);
}

static void test_allocations(void) {
  struct opened o = open_derived("links.json");
  ROWS(allocations, 4);
  /* In the order of time: released before the recording knew it, opened and closed, open, on another device. */
  IS_NULL(allocations, allocated_ns, 0);
  INTEGER(allocations, released_ns, 0, 15000);
  INTEGER(allocations, bytes, 0, 64);
  ROW(allocations, release_op_id, 0, 1);
  INTEGER(allocations, allocated_ns, 1, 25000);
  INTEGER(allocations, released_ns, 1, 85000);
  ROW(allocations, op_id, 1, 2);
  ROW(allocations, release_op_id, 1, 1);
  ROW(allocations, step_id, 1, 0);
  IS_NULL(allocations, released_ns, 2);
  INTEGER(allocations, bytes, 2, 256);
  ROW(allocations, op_id, 2, 0);
  ROW(allocations, device_id, 3, 0);
  ROW(memory_events, allocation_id, 0, 1);
  ROW(memory_events, allocation_id, 1, 1);
  ROW(memory_events, allocation_id, 2, 0);
  close_opened(&o);
}

/* Rows of ranges: those of the file come in its order. */
static void test_waits_and_ranges(void) {
  struct opened o = open_derived("waits.json");
  ROW(syncs, waits_on_kernel_id, 0, 1); /* of the stream, launched before the wait */
  ROW(syncs, waits_on_kernel_id, 1, 1); /* the event was recorded after kernels a and b */
  ROW(syncs, waits_on_kernel_id, 2, 2); /* of all streams the one that ends last, but not d, which came later */
  IS_NULL(syncs, waits_on_kernel_id, 3); /* an event of which nobody knows where it was recorded */
  ROWS(ranges, 6);
  IS_NULL(ranges, parent_id, 0);
  INTEGER(ranges, depth, 0, 0);
  ROW(ranges, parent_id, 1, 0);
  ROW(ranges, parent_id, 2, 1);
  INTEGER(ranges, depth, 2, 2);
  ROW(ranges, step_id, 2, 0);
  IS_NULL(ranges, parent_id, 3); /* a stream is a lane of its own */
  IS_NULL(ranges, step_id, 3);
  ROW(ranges, parent_id, 4, 3);
  IS_NULL(ranges, parent_id, 5); /* it ends after the one in which it begins */
  close_opened(&o);
}

/* The number of the thread that built the graph is not told: it is that of the thread which has all the forward ops. */
static void test_forward_threads(void) {
  struct opened o = open_derived("waits.json");
  for (uint64_t row = 0; row < row_count(&o, TABLE_ops); row++) {
    struct value name = CELL(&o, ops, name, row);
    const char *text = pool_text(store_pool(o.store), name.text);
    if (strcmp(text, "MmBackward0") == 0)
      TEXT(ops, name, id_row(CELL(&o, ops, forward_op_id, row).integer), "aten::mm");
    if (strcmp(text, "MmBackward0") == 0)
      INTEGER(ops, correlation, id_row(CELL(&o, ops, forward_op_id, row).integer), 21);
    if (strcmp(text, "AddBackward0") == 0)
      INTEGER(ops, correlation, id_row(CELL(&o, ops, forward_op_id, row).integer), 22);
  }
  close_opened(&o);
}

int main(void) {
  test_waits_and_ranges();
  test_forward_threads();
  test_calls();
  test_kernels();
  test_graphs();
  test_allocations();
  return json_test_result();
}
