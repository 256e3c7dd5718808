/* test_derive_links.c: forward ops, code traces, ranges and input events, and joins by numbers that are all alike. */
#include "cases.h"
#include "derive_test.h"

/* ---- forward ops and code traces ---- */

static void test_forward(unsigned cases) {
  for (unsigned number = 0; number < cases && check_failures < 20; number++) {
    struct script script;
    script_begin(&script, 3);
    uint32_t count = below(80);
    for (uint32_t i = 0; i < count; i++) {
      int64_t start = below(60);
      uint32_t row = script_row(&script, "op", "x", below(3), start, start + 1 + below(5));
      if (below(3)) script.columns[COLUMN_ops_sequence_number][row] = (int64_t)below(8) - 1;
      if (below(3) == 0) script.columns[COLUMN_ops_forward_thread][row] = below(5);
    }
    script_end(&script, &window);
    int64_t *got = derived(&script.opened, TABLE_ops, COLUMN_ops_forward_op_id, NULL);
    const int64_t *sequences = script.columns[COLUMN_ops_sequence_number];
    const int64_t *forwards = script.columns[COLUMN_ops_forward_thread];
    const int64_t *starts = script.columns[COLUMN_ops_start_ns], *threads = script.columns[COLUMN_ops_thread_id];
    for (uint32_t i = 0; i < count; i++) {
      int64_t best = NO_VALUE;
      for (uint32_t k = 0; k < count && forwards[i] > 0 && sequences[i] >= 0; k++) {
        if (forwards[k] > 0 || sequences[k] != sequences[i] || threads[k] + 1 != forwards[i]) continue;
        if (starts[k] < starts[i] && (best == NO_VALUE || starts[k] >= starts[best])) best = k;
      }
      check(got[i] == best, "forward %u, row %u: %lld instead of %lld", number, i, (long long)got[i], (long long)best);
    }
    free(got);
    end(&script.opened);
  }
}

static void test_code_traces(void) {
  struct script script;
  script_begin(&script, 2);
  int64_t *recorded = script.columns[COLUMN_ops_recorded_code_trace];
  int64_t *sequences = script.columns[COLUMN_ops_sequence_number];
  int64_t *forwards = script.columns[COLUMN_ops_forward_thread];
  uint32_t inner = script_row(&script, "op", "aten::addmm", 0, 12, 18); /* 0 */
  sequences[inner] = 5;
  uint32_t outer = script_row(&script, "op", "aten::linear", 0, 10, 20); /* 1 */
  recorded[outer] = 7;
  uint32_t leaf = script_row(&script, "op", "aten::mm", 1, 32, 33);
  uint32_t backward = script_row(&script, "autograd", "AddmmBackward0", 1, 31, 34);
  uint32_t later = script_row(&script, "op", "aten::add", 1, 35, 36);
  uint32_t task = script_row(&script, "op", "autograd::engine::evaluate_function: AddmmBackward0", 1, 30, 40);
  sequences[backward] = sequences[task] = 5;
  forwards[backward] = forwards[task] = 1;
  /* In the calling thread the line of backward() was recorded, and stays. */
  uint32_t here = script_row(&script, "autograd", "AddmmBackward0", 0, 51, 52);
  uint32_t here_task = script_row(&script, "op", "autograd::engine::evaluate_function: AddmmBackward0", 0, 50, 53);
  recorded[here_task] = 9;
  sequences[here] = 5;
  forwards[here] = 1;
  /* A task without numbers of its own takes what the op inside has. */
  uint32_t second = script_row(&script, "autograd", "AddmmBackward0", 1, 61, 64);
  uint32_t bare_task = script_row(&script, "op", "autograd::engine::evaluate_function: AddmmBackward0", 1, 60, 70);
  sequences[second] = 5;
  forwards[second] = 1;
  uint32_t alone = script_row(&script, "op", "aten::copy_", 1, 80, 90);
  /* An op with a trace of its own inside a range of the user. */
  uint32_t inside = script_row(&script, "op", "aten::relu", 0, 102, 105);
  uint32_t range = script_row(&script, "user", "block", 0, 100, 110);
  recorded[inside] = 11;
  recorded[range] = 10;
  /* The gradient of the gradient: its forward op is the backward op on thread 1. */
  sequences[leaf] = 3;
  uint32_t twice = script_row(&script, "autograd", "MmBackward0", 1, 120, 130);
  sequences[twice] = 3;
  forwards[twice] = 2;
  script_end(&script, &from_start);
  int64_t *traces = derived(&script.opened, TABLE_ops, COLUMN_ops_code_trace_id, NULL);
  const struct {
    uint32_t row;
    int64_t trace;
  } expected[] = {{inner, 7},     {outer, 7},  {leaf, 7},      {backward, 7},     {later, 7},
                  {task, 7},      {here, 9},   {here_task, 9}, {second, 7},       {bare_task, 7},
                  {inside, 11},   {range, 10}, {twice, 7},     {alone, NO_VALUE}};
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    check(traces[expected[i].row] == expected[i].trace, "code trace of row %u: %lld instead of %lld", expected[i].row,
          (long long)traces[expected[i].row], (long long)expected[i].trace);
  }
  free(traces);
  int64_t *forward = derived(&script.opened, TABLE_ops, COLUMN_ops_forward_op_id, NULL);
  check(forward[backward] == inner && forward[task] == inner && forward[twice] == leaf && forward[leaf] == NO_VALUE,
        "forward ops");
  free(forward);
  end(&script.opened);
}

/* ---- ranges and input events ---- */

static void test_made_tables(void) {
  struct script script;
  uint32_t rows;
  script_begin(&script, 1);
  script_row(&script, "op", "aten::mm", 0, 14, 15);
  script_row(&script, "user", "inner", 0, 13, 16);                                                         /* range 0 */
  script_row(&script, "op", "aten::linear", 0, 12, 17);
  script_row(&script, "user", "outer", 0, 10, 20);                                                         /* range 1 */
  script_row(&script, "op", "aten::stack", 0, 31, 33);
  script_row(&script, "input", "enumerate(DataPipe)#Mapper", 0, 30, 35);                                   /* range 2 */
  script_row(&script, "input", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 28, 40);  /* range 3 */
  script_row(&script, "op", "aten::add", 0, 50, 60);
  script_row(&script, "user", "gloo:all_reduce", 0, 55, 70);                                               /* range 4 */
  script_row(&script, "op", "aten::mul", 0, 62, 64);
  script_row(&script, "user", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 0, 80, 85); /* range 5 */
  script_end(&script, &from_start);
  int64_t *parents = derived(&script.opened, TABLE_ranges, COLUMN_ranges_parent_id, &rows);
  int64_t *depths = derived(&script.opened, TABLE_ranges, COLUMN_ranges_depth, NULL);
  int64_t *wide = derived(&script.opened, TABLE_ranges, COLUMN_ranges_is_process_wide, NULL);
  int64_t *names = derived(&script.opened, TABLE_ranges, COLUMN_ranges_name, NULL);
  int64_t *domains = derived(&script.opened, TABLE_ranges, COLUMN_ranges_domain, NULL);
  int64_t *starts = derived(&script.opened, TABLE_ranges, COLUMN_ranges_start_ns, NULL);
  check(rows == 6, "%u ranges instead of 6", rows);
  check(parents[0] == 1 && parents[1] == NO_VALUE && parents[2] == 3 && parents[4] == NO_VALUE, "parents of ranges");
  check(depths[0] == 1 && depths[1] == 0 && depths[2] == 1 && depths[4] == NO_VALUE, "depths of ranges");
  check(wide[0] == 0 && wide[4] == 1 && wide[5] == 0, "process-wide ranges");
  check(strcmp(text_of(&script.opened, names[4]), "gloo:all_reduce") == 0 && starts[4] == 55, "columns of ranges");
  check(strcmp(text_of(&script.opened, domains[0]), "torch") == 0, "domain of ranges");
  int64_t *selves = derived(&script.opened, TABLE_ops, COLUMN_ops_self_ns, NULL);
  int64_t *op_parents = derived(&script.opened, TABLE_ops, COLUMN_ops_parent_id, NULL);
  check(selves[8] == NO_VALUE && op_parents[9] == NO_VALUE, "an asynchronous range swallowed an op");
  free(parents), free(depths), free(wide), free(names), free(domains), free(starts), free(selves), free(op_parents);

  int64_t *stages = derived(&script.opened, TABLE_input_events, COLUMN_input_events_stage, &rows);
  int64_t *pipelines = derived(&script.opened, TABLE_input_events, COLUMN_input_events_pipeline, NULL);
  int64_t *times = derived(&script.opened, TABLE_input_events, COLUMN_input_events_self_ns, NULL);
  parents = derived(&script.opened, TABLE_input_events, COLUMN_input_events_parent_id, NULL);
  check(rows == 3, "%u input events instead of 3", rows);
  check(strcmp(text_of(&script.opened, stages[0]), "preprocess") == 0 &&
            strcmp(text_of(&script.opened, stages[1]), "read_on_demand") == 0 &&
            strcmp(text_of(&script.opened, stages[2]), "read_in_advance") == 0,
        "stages of input events");
  check(strcmp(text_of(&script.opened, pipelines[0]), "Mapper") == 0 &&
            strcmp(text_of(&script.opened, pipelines[1]), "_SingleProcessDataLoaderIter") == 0,
        "pipelines of input events");
  check(times[0] == 5 && times[1] == 7 && times[2] == 5 && parents[0] == 1 && parents[1] == NO_VALUE,
        "self times of input events");
  free(stages), free(pipelines), free(times), free(parents);

  int64_t *types = derived(&script.opened, TABLE_ops, COLUMN_ops_op_type, NULL);
  check(types[0] == script.columns[COLUMN_ops_name][0], "op_type is not the name");
  free(types);
  struct column_set weights = {{0, 0}};
  column_set_add(&weights, COLUMN_ops_sample_weight);
  struct tfprof_error error;
  check(!profile_require(script.opened.profile, TABLE_ops, &weights, &error), "sample_weight: %s", error.message);
  const struct segment *segment = script.opened.profile->tables[TABLE_ops].segments[0];
  check(column_real(segment->columns[COLUMN_ops_sample_weight], 0) == 1.0, "sample_weight is not 1");
  end(&script.opened);
}

/* A million ops, calls, kernels and waits that all carry one number: every pass that joins by it must stay linear (were
** one not, this would take hours), and each finds the first of those it looks for. Sanitizers have a fifth of them: the
** build without them shows that it is linear. */
static void test_duplicates(void) {
  enum { MANY = WATCHES_MEMORY || WATCHES_THREADS ? 200000 : 1000000 };
  struct opened opened;
  begin(&opened);
  int64_t host = text(&opened, "host"), stream = text(&opened, "stream"), launch = text(&opened, "cudaGraphLaunch");
  int64_t *kinds = column(&opened, TABLE_threads, COLUMN_threads_kind, 2);
  int64_t *streams = column(&opened, TABLE_threads, COLUMN_threads_stream, 2);
  kinds[0] = host;
  kinds[1] = stream;
  streams[1] = 7;
  static const struct {
    uint16_t table, start, end, thread, correlation, op_correlation;
  } tables[] = {{TABLE_ops, COLUMN_ops_start_ns, COLUMN_ops_end_ns, COLUMN_ops_thread_id, COLUMN_ops_correlation, 0},
                {TABLE_api_calls, COLUMN_api_calls_start_ns, COLUMN_api_calls_end_ns, COLUMN_api_calls_thread_id,
                 COLUMN_api_calls_correlation, COLUMN_api_calls_op_correlation},
                {TABLE_kernels, COLUMN_kernels_start_ns, COLUMN_kernels_end_ns, COLUMN_kernels_thread_id,
                 COLUMN_kernels_correlation, COLUMN_kernels_op_correlation},
                {TABLE_syncs, COLUMN_syncs_start_ns, COLUMN_syncs_end_ns, COLUMN_syncs_thread_id,
                 COLUMN_syncs_correlation, COLUMN_syncs_op_correlation}};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    int64_t *starts = column(&opened, tables[i].table, tables[i].start, MANY);
    int64_t *ends = column(&opened, tables[i].table, tables[i].end, MANY);
    int64_t *threads = column(&opened, tables[i].table, tables[i].thread, MANY);
    int64_t *correlations = column(&opened, tables[i].table, tables[i].correlation, MANY);
    int64_t *op_correlations = i ? column(&opened, tables[i].table, tables[i].op_correlation, MANY) : NULL;
    for (uint32_t row = 0; row < MANY; row++) {
      starts[row] = (int64_t)row * 10 + (int64_t)i;
      ends[row] = starts[row] + 3;
      threads[row] = i > 1;
      correlations[row] = INT64_C(1) << 40;
      if (op_correlations) op_correlations[row] = INT64_C(1) << 40;
    }
  }
  int64_t *names = column(&opened, TABLE_api_calls, COLUMN_api_calls_name, MANY);
  int64_t *sync_kinds = column(&opened, TABLE_syncs, COLUMN_syncs_kind, MANY);
  for (uint32_t row = 0; row < MANY; row++) {
    names[row] = launch;
    sync_kinds[row] = stream;
  }
  publish(&opened, &from_start, 0);
  int64_t *calls = derived(&opened, TABLE_kernels, COLUMN_kernels_api_call_id, NULL);
  int64_t *launches = derived(&opened, TABLE_kernels, COLUMN_kernels_graph_launch_id, NULL);
  int64_t *waits = derived(&opened, TABLE_syncs, COLUMN_syncs_waits_on_kernel_id, NULL);
  uint32_t rows;
  int64_t *activities = derived(&opened, TABLE_device_activities, COLUMN_device_activities_launch_ns, &rows);
  check(rows == 2 * MANY, "%u device activities", rows);
  for (uint32_t row = 0; row < MANY; row += 99999) {
    check(calls[row] == 0 && launches[row] == 0, "kernel %u: call %lld", row, (long long)calls[row]);
    /* All waits begin with call 0, before which nothing was launched. */
    check(waits[row] == NO_VALUE, "wait %u waits for %lld", row, (long long)waits[row]);
    check(activities[row] == 1, "activity %u: launched at %lld", row, (long long)activities[row]);
  }
  free(calls);
  free(launches);
  free(waits);
  free(activities);
  end(&opened);
}

/* Kernels find the first call with their number, however these lie: dense, spread, in heaps, far apart, several
** alike. */
static void test_numbers(unsigned cases) {
  enum { CALLS = 200, KERNELS = 200 };
  for (unsigned number = 0; number < cases && check_failures < 20; number++) {
    struct opened opened;
    begin(&opened);
    int64_t *calls = column(&opened, TABLE_api_calls, COLUMN_api_calls_correlation, CALLS);
    int64_t *kernels = column(&opened, TABLE_kernels, COLUMN_kernels_correlation, KERNELS);
    unsigned kind = number % 5;
    for (uint32_t i = 0; i < CALLS; i++) {
      int64_t value = i + 1;
      if (kind == 1) value = (int64_t)(i / 2 * 5000 + below(3)) - 300000;
      if (kind == 2) value = below(2) ? 7 : (int64_t)i << 33;
      if (kind == 3) value = below(10) ? (int64_t)below(100) : INT64_MAX - below(3);
      if (kind == 4) value = (int64_t)i << 40 | (below(2) ? 5 : 6);
      calls[i] = below(20) ? value : below(2) ? 0 : NO_VALUE;
    }
    for (uint32_t i = 0; i < KERNELS; i++) {
      int64_t value = calls[below(CALLS)];
      if (value != NO_VALUE && kind == 4 && below(2)) value += INT64_C(1) << 33; /* the same low bits */
      kernels[i] = value == NO_VALUE || below(10) ? value : value - (int64_t)below(9000);
    }
    publish(&opened, &from_start, below(2) ? 30 : 0);
    int64_t *got = derived(&opened, TABLE_kernels, COLUMN_kernels_api_call_id, NULL);
    for (uint32_t i = 0; i < KERNELS; i++) {
      int64_t expected = NO_VALUE;
      for (uint32_t k = 0; k < CALLS && expected == NO_VALUE; k++) {
        if (kernels[i] != NO_VALUE && kernels[i] != 0 && calls[k] == kernels[i]) expected = k;
      }
      check(got[i] == expected, "numbers %u, kernel %u: call %lld instead of %lld", number, i, (long long)got[i],
            (long long)expected);
    }
    free(got);
    end(&opened);
  }
}

int main(void) {
  test_numbers(500 / RANDOM_SHARE);
  test_forward(2000 / RANDOM_SHARE);
  test_code_traces();
  test_made_tables();
  test_duplicates();
  return check_result();
}
