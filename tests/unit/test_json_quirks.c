/* test_json_quirks.c: what real traces have that readers trip over, one small file each (tests/fixtures/kineto). */
#include "unit/json_test.h"

static void test_times(void) {
  struct opened o = open_fixture("times.json");
  ROWS(ops, 7);
  INTEGER(ops, start_ns, 0, 1712345678505582988);
  INTEGER(ops, dur_ns, 0, 1);
  INTEGER(ops, end_ns, 0, 1712345678505582989);
  INTEGER(ops, start_ns, 1, 1712345678505583000);
  INTEGER(ops, start_ns, 2, 1712345678505584001);
  INTEGER(ops, dur_ns, 2, 2000);
  INTEGER(ops, start_ns, 3, 1712345678505585000);
  INTEGER(ops, dur_ns, 3, 2500);
  INTEGER(ops, start_ns, 4, 1712345678505586500);
  INTEGER(ops, dur_ns, 4, 1000000);
  INTEGER(ops, start_ns, 5, 1712345678505587250);
  IS_NULL(ops, dur_ns, 6);
  IS_NULL(ops, end_ns, 6);
  TEXT(ops, attributes, 6, "{\"dur\":-0.25}");
  CHECK(diagnosed(&o, "negative_duration") == 1);
  CHECK(diagnosed(&o, "time_out_of_range") == 2);
  CHECK(diagnosed(&o, "no_time") == 1);
  close_opened(&o);
}

static void test_base_time(void) {
  struct opened o = open_fixture("base_time.json");
  INTEGER(ops, start_ns, 0, 1711964646000000000 + 4458676388068751);
  struct profile *profile = store_profile_at(o.store, 0);
  CHECK(profile->rank == 3 && profile->world_size == 8 && profile->pid == 7 && profile->complete);
  CHECK(strcmp(pool_text(store_pool(o.store), profile->host), "node1") == 0);
  CHECK(strcmp(profile->source->format, "kineto") == 0);
  CHECK(diagnosed(&o, "profiler_message") == 1);
  const char *attributes = pool_text(store_pool(o.store), profile->attributes);
  CHECK(attributes && strstr(attributes, "\"username\":\"ada\"") && strstr(attributes, "\"backend\":\"nccl\""));
  close_opened(&o);
}

static void test_old_format(void) {
  struct opened o = open_fixture("old_2021.json");
  ROWS(ops, 2);
  TEXT(ops, category, 0, "user");
  TEXT(ops, category, 1, "op");
  TEXT(ops, input_shapes, 1, "[[],[64,3]]");
  TEXT(ops, input_types, 1, "[\"GenericList\",\"Int\"]");
  TEXT(ops, attributes, 1, "{\"Device\":25738,\"Trace name\":\"PyTorch Profiler\",\"Trace iteration\":0}");
  ROW(ops, recorded_code_trace, 1, 2);
  ROWS(code_traces, 3);
  INTEGER(code_traces, depth, 2, 3);
  ROW(code_traces, parent_id, 2, 1);
  TEXT(code_frames, function, 0, "<module>");
  TEXT(code_frames, file, 2, "torch/profiler.py");
  INTEGER(code_frames, line, 2, 611);
  ROWS(kernels, 1);
  REAL(kernels, warps_per_multiprocessor, 0, __builtin_inf());
  REAL(kernels, blocks_per_multiprocessor, 0, 0.05);
  REAL(kernels, occupancy_ratio, 0, 0.25);
  INTEGER(kernels, op_correlation, 0, 2);
  INTEGER(kernels, grid_x, 0, 4);
  IS_NULL(kernels, attributes, 0);
  INTEGER(api_calls, op_correlation, 0, 2);
  TEXT(api_calls, attributes, 0, "{\"cbid\":211,\"external ts\":1623142623460111}");
  /* Thread numbers as texts and as integers are one thread; "stream 7" is a stream of the device. */
  ROWS(threads, 2);
  INTEGER(threads, tid, 0, 25738);
  TEXT(threads, name, 0, "thread 25738 (python)");
  INTEGER(threads, stream, 1, 7);
  TEXT(threads, kind, 1, "stream");
  TEXT(threads, name, 1, "stream 7");
  ROWS(memory_events, 2);
  ROW(memory_events, device_id, 0, 1);
  ROW(memory_events, device_id, 1, 0);
  TEXT(memory_events, kind, 1, "release");
  TEXT(devices, model, 1, "Tesla V100-DGXS-32GB");
  TEXT(devices, compute_capability, 1, "7.0");
  CHECK(diagnosed(&o, "flow_events") == 1);
  close_opened(&o);
}

static void test_accelerators(void) {
  struct opened o = open_fixture("accelerators.json");
  ROWS(kernels, 3);
  TEXT(kernels, attributes, 0, "{\"kind\":\"Dispatch Kernel\"}");
  ROW(kernels, thread_id, 0, 0);
  INTEGER(threads, stream, 0, 0);
  TEXT(transfers, direction, 0, "HtoD");
  IS_NULL(transfers, source_memory, 0);
  TEXT(transfers, target_memory, 0, "device");
  IS_NULL(transfers, bytes, 0);
  TEXT(api_calls, attributes, 0,
       "{\"stream\":\"0x0\",\"cid\":47,\"src\":\"0x55674ecd8840\",\"dst\":\"0x7fda0e811600\",\"size\":\"2560\","
       "\"kind\":\"1\"}");
  TEXT(kernels, attributes, 1, "{\"cmd_name\":\"fc\",\"mem size\":\"9216 bytes\"}");
  TEXT(api_calls, domain, 1, "runtime");
  TEXT(transfers, direction, 1, "PtoP");
  REAL(transfers, bytes_per_second, 1, 2.048e9);
  TEXT(transfers, kind, 2, "memset");
  ROWS(syncs, 3);
  TEXT(syncs, kind, 0, "stream");
  IS_NULL(syncs, attributes, 0);
  TEXT(syncs, kind, 1, "context");
  IS_NULL(syncs, thread_id, 1);
  TEXT(syncs, kind, 2, "stream_wait");
  INTEGER(syncs, event, 2, 5);
  INTEGER(syncs, wait_stream, 2, 7);
  INTEGER(syncs, wait_correlation, 2, 129);
  TEXT(api_calls, domain, 2, "driver");
  INTEGER(kernels, graph, 2, 4);
  INTEGER(kernels, graph_node, 2, 17179869187);
  INTEGER(kernels, priority, 2, -1);
  REAL(kernels, warps_per_multiprocessor, 2, __builtin_inf());
  TEXT(kernels, attributes, 2, "{\"occupancy\":{\"limitingFactors\":\"BLOCKS\"}}");
  TEXT(overheads, kind, 0, "Lazy Function Loading");
  ROWS(ranges, 1);
  INTEGER(ranges, dur_ns, 0, 2002);
  close_opened(&o);
}

static void test_collectives(void) {
  struct opened o = open_fixture("collectives.json");
  ROWS(collectives, 2);
  TEXT(collectives, name, 0, "allreduce");
  ROW(collectives, op_id, 0, 0);
  ROW(collectives, kernel_id, 0, 0);
  INTEGER(collectives, bytes, 0, 2048);
  INTEGER(collectives, sequence_number, 0, 4);
  INTEGER(collectives, group_size, 0, 16);
  /* The list at the event is cut with dots; the whole one stands in distributedInfo. */
  TEXT(collectives, group_ranks, 0, "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]");
  TEXT(collectives, group_ranks, 1, "[0,8]");
  IS_NULL(collectives, kernel_id, 1);
  INTEGER(collectives, bytes, 1, 80);
  close_opened(&o);
}

static void test_memory(void) {
  struct opened o = open_fixture("memory.json");
  ROWS(memory_events, 3);
  ROWS(instants, 1);
  INTEGER(memory_events, address, 0, 139926520725504);
  INTEGER(memory_events, in_use_bytes, 0, 1024);
  INTEGER(memory_events, reserved_bytes, 0, 2097152);
  INTEGER(memory_events, bytes, 1, -1024);
  TEXT(memory_events, kind, 1, "release");
  TEXT(memory_events, attributes, 1, "{\"finished\":false}");
  TEXT(memory_events, kind, 2, "out_of_memory");
  IS_NULL(memory_events, address, 2);
  close_opened(&o);
}

static void test_python(void) {
  struct opened o = open_fixture("python.json");
  ROWS(ops, 9);
  TEXT(ops, category, 0, "python");
  TEXT(ops, category, 2, "module");
  TEXT(ops, category, 6, "user");
  TEXT(ops, category, 7, "input");
  TEXT(ops, category, 8, "autograd");
  INTEGER(ops, sequence_number, 8, 9);
  INTEGER(ops, forward_thread, 8, 1);
  /* Stacks from ids: forward lies in Linear_0, that in the module of train.py. */
  uint64_t trace = id_row(CELL(&o, ops, recorded_code_trace, 3).integer);
  INTEGER(code_traces, depth, trace, 4);
  ROW(code_traces, parent_id, trace, id_row(CELL(&o, ops, recorded_code_trace, 0).integer));
  trace = id_row(CELL(&o, ops, recorded_code_trace, 1).integer);
  INTEGER(code_traces, depth, trace, 1);
  TEXT(ops, attributes, 1, "{\"Python id\":1,\"Python parent id\":null,\"Ev Idx\":0}");
  CHECK(!is_null(CELL(&o, ops, recorded_code_trace, 4)) && !is_null(CELL(&o, ops, recorded_code_trace, 5)));
  /* What is marked by the program is a range too. */
  ROWS(ranges, 2);
  TEXT(ranges, name, 0, "ProfilerStep#12");
  TEXT(ranges, name, 1, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
  close_opened(&o);
}

static void test_chrome(void) {
  struct opened o = open_fixture("chrome.json");
  struct profile *profile = store_profile_at(o.store, 0);
  CHECK(strcmp(profile->source->format, "chrome") == 0 && profile->complete);
  ROWS(ranges, 5);
  TEXT(ranges, name, 0, "plain");
  TEXT(ranges, attributes, 0, "{\"url\":\"a\\\"b\\\\c\\u00e9\\ud83d\\ude00\"}");
  TEXT(ranges, name, 1, "inner");
  INTEGER(ranges, dur_ns, 1, 3000);
  TEXT(ranges, name, 2, "outer");
  INTEGER(ranges, dur_ns, 2, 10000);
  TEXT(ranges, attributes, 2, "{\"depth\":1,\"result\":\"done\",\"bytes\":[1,2]}");
  IS_NULL(ranges, attributes, 1);
  TEXT(ranges, name, 3, "never ended");
  IS_NULL(ranges, dur_ns, 3);
  IS_NULL(ranges, end_ns, 3);
  TEXT(ranges, name, 4, "request");
  INTEGER(ranges, is_process_wide, 4, 1);
  INTEGER(ranges, dur_ns, 4, 15000);
  ROWS(instants, 1);
  ROWS(counters, 3);
  TEXT(counters, name, 0, "memory.heap");
  REAL(counters, value, 0, 1.5);
  TEXT(counters, name, 1, "memory.stack");
  TEXT(counters, name, 2, "queue");
  CHECK(diagnosed(&o, "counter_not_a_number") == 1);
  CHECK(diagnosed(&o, "unmatched_begin") == 1 && diagnosed(&o, "unmatched_end") == 1);
  CHECK(diagnosed(&o, "unknown_phase") == 1 && diagnosed(&o, "flow_events") == 1);
  TEXT(threads, name, CELL(&o, ranges, thread_id, 1).integer & 0xfffff, "worker");
  TEXT(threads, name, CELL(&o, ranges, thread_id, 0).integer & 0xfffff, "main thread");
  TEXT(threads, attributes, CELL(&o, ranges, thread_id, 1).integer & 0xfffff,
       "{\"sort_index\":7,\"process_name\":\"a \\\"server\\\"\",\"process_labels\":\"first, second\","
       "\"process_sort_index\":-5}");
  IS_NULL(threads, attributes, CELL(&o, ranges, thread_id, 0).integer & 0xfffff);
  CHECK(diagnosed(&o, "unused_metadata") == 3);
  close_opened(&o);
}

static void test_tensorflow(void) {
  struct opened o = open_fixture("tensorflow.json");
  struct profile *profile = store_profile_at(o.store, 0);
  CHECK(strcmp(profile->source->format, "chrome") == 0);
  CHECK(strcmp(pool_text(store_pool(o.store), profile->framework), "tensorflow") == 0);
  TEXT(ops, name, 0, "dense/MatMul");
  TEXT(ops, op_type, 0, "MatMul");
  TEXT(ops, attributes, 0, "{\"input0\":\"x\"}");
  TEXT(ops, op_type, 1, "dense/Relu");
  TEXT(devices, name, 1, "/job:localhost/replica:0/task:0/device:GPU:0");
  TEXT(devices, kind, 1, "gpu");
  ROW(threads, device_id, 0, 1);
  TEXT(devices, name, 2, "/job:localhost/replica:0/task:0/device:cpu:0");
  ROWS(counters, 1);
  close_opened(&o);
}

static void test_odd_texts(void) {
  struct opened o = open_fixture("odd_texts.json");
  TEXT(ops, name, 0, "last of two");
  INTEGER(ops, correlation, 0, 2);
  TEXT(ops, attributes, 0, "{\"Extra\":1,\"Extra\":2}");
  TEXT(kernels, name, 0, "void f<\"quoted\">(int)");
  CHECK(diagnosed(&o, "unescaped_quote") >= 1);
  struct value name = CELL(&o, ops, name, 1);
  CHECK(name.kind == VALUE_TEXT && pool_length(store_pool(o.store), name.text) == 20 &&
        pool_has_nul(store_pool(o.store), name.text));
  IS_NULL(ops, correlation, 1);
  INTEGER(ops, sequence_number, 1, -1);
  TEXT(ops, input_shapes, 1, "[[1,2],[]]");
  TEXT(ops, attributes, 1,
       "{\"External id\":18446744073709551615,\"Odd\":\"NaN\",\"Text\":\"a\\u0009b\",\"Big\":10159970886766084423}");
  TEXT(ops, attributes, 2, "{\"Value\":\"N/A\"}");
  TEXT(ops, attributes, 3, "{\"List\":[{\"a\":1},{\"b\":2},{\"c\":\"}, {\"}]}");
  CHECK(diagnosed(&o, "not_an_event") == 1);
  CHECK(diagnosed(&o, "malformed_json") >= 1 || diagnosed(&o, "unescaped_quote") >= 2);
  uint64_t last = row_count(&o, TABLE_ops) - 1;
  TEXT(ops, name, last, "after it");
  INTEGER(ops, correlation, last, 4611686018427387905);
  CHECK(store_profile_at(o.store, 0)->complete);
  close_opened(&o);
}

/* What torch.profiler writes of names and of add_metadata() that hold quotes: such a text costs itself at most. */
static void test_quotes(void) {
  static const char text[] =
      "{\n  \"schemaVersion\": 1,\n  \"my key\": \"val /\"q/\"\",\n  \"other\": \"a\" b\",\n  \"ke\"y\": \"lost\",\n"
      "  \"baseTimeNanoseconds\": 1000000000000,\n  \"traceEvents\": [\n"
      "  {\n \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 1, \"tid\": 1, \"ts\": 1, \"dur\": 1\n  },\n"
      "  {\n \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"{\"ph\":\"X\"},{\"ph\":\"X\"}\", \"pid\": 1, "
      "\"tid\": 1, \"ts\": 3, \"dur\": 1\n  },\n"
      "  {\n \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"], \"traceEvents\": [\", \"pid\": 1, \"tid\": 1, "
      "\"ts\": 5, \"dur\": 1, \"args\": {\"External id\": 5, \"Ev Idx\": 5}\n  },\n"
      "  {\n \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"b\", \"pid\": 1, \"tid\": 1, \"ts\": 7, "
      "\"dur\": 1, \"args\": {\"Ev Idx\": 7}\n  }\n"
      "  ],\n  \"traceName\": \"/tmp/a.json\"\n}";
  CHECK(json_reader.probe(temporary(text, sizeof text - 1), (const uint8_t *)text, 100).format == &read_format_json);
  for (size_t chunk = 0; chunk < 300; chunk += 100) {
    struct opened o = open_bytes(text, sizeof text - 1, chunk);
    CHECK(!o.status && store_profile_at(o.store, 0)->complete);
    ROWS(ops, 3);
    TEXT(ops, name, 0, "a");
    INTEGER(ops, start_ns, 0, 1000000001000);
    TEXT(ops, name, 1, "], \"traceEvents\": [");
    TEXT(ops, name, 2, "b");
    const char *attributes = pool_text(store_pool(o.store), store_profile_at(o.store, 0)->attributes);
    CHECK(attributes && strcmp(attributes,
                               "{\"my key\":\"val /\\\"q/\\\"\",\"other\":\"a\\\" b\","
                               "\"traceName\":\"/tmp/a.json\",\"worker\":\"trace\"}") == 0);
    TEXT(ops, attributes, 1, "{\"Ev Idx\":5}");
    TEXT(ops, attributes, 2, "{\"Ev Idx\":7}");
    CHECK(diagnosed(&o, "unescaped_quote") == 4 && diagnosed(&o, "malformed_json") == 2);
    close_opened(&o);
  }
}

/* Attributes are JSON whatever stands in the file; what is null is as if it were not there. */
static void test_odd_values(void) {
  struct opened o = open_text(
      "[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 1, \"tid\": 1, \"ts\": 1, \"dur\": null, "
      "\"args\": {\"x\": [NaN, -Infinity, 1e-5, -2.5E+3, true, N/A, {\"y\": \"a\tb\\\"c\"}], \"z\": inf}},\n"
      "{\"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"CopyDeviceToHost\", \"pid\": 0, \"tid\": 7, \"ts\": 2, "
      "\"dur\": 1, \"args\": {\"device\": 0, \"stream\": 7}},\n"
      "{\"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"copy\", \"pid\": 0, \"tid\": 7, \"ts\": 4, \"dur\": 1, "
      "\"args\": {\"device\": 0, \"stream\": 7, \"kind\": \"HostToDevice\"}}]");
  INTEGER(ops, dur_ns, 0, 0);
  TEXT(ops, attributes, 0,
       "{\"x\":[\"NaN\",\"-Infinity\",1e-5,-2.5E+3,true,\"N/A\",{\"y\":\"a\\u0009b\\\"c\"}],\"z\":\"inf\"}");
  TEXT(transfers, direction, 0, "DtoH");
  TEXT(transfers, direction, 1, "HtoD");
  IS_NULL(transfers, attributes, 1);
  close_opened(&o);
}

/* An event whose args are no object must not change how those of the events after it are read. */
static void test_odd_args(void) {
  static const char *const odd[] = {"0", "null", "[]", "\"none\"", "[{\"External id\": 5}]", "{}"};
  for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
    char text[1024];
    snprintf(text, sizeof text,
             "{\"traceEvents\": [\n"
             "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 1, \"tid\": 1, \"ts\": 1, \"dur\": 1, "
             "\"args\": %s},\n"
             "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"b\", \"pid\": 1, \"tid\": 1, \"ts\": 3, \"dur\": 1, "
             "\"args\": {\"External id\": 7, \"Sequence number\": 9}},\n"
             "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"c\", \"pid\": 1, \"tid\": 1, \"ts\": 5, \"dur\": 1, "
             "\"args\": {\"External id\": 8, \"Sequence number\": 10}}\n]}",
             odd[i]);
    struct opened o = open_text(text);
    ROWS(ops, 3);
    INTEGER(ops, correlation, 1, 7);
    INTEGER(ops, sequence_number, 2, 10);
    close_opened(&o);
  }
}

/* Asynchronous ranges belong together by id, category and name, and the id may be of one process or scope; moments that
** are no instants keep their letter. */
static void test_phases(void) {
  struct opened o = open_text(
      "[{\"ph\": \"b\", \"cat\": \"net\", \"name\": \"read\", \"id\": 1, \"pid\": 1, \"tid\": 1, \"ts\": 10},\n"
      "{\"ph\": \"b\", \"cat\": \"net\", \"name\": \"parse\", \"id\": 1, \"pid\": 1, \"tid\": 1, \"ts\": 12},\n"
      "{\"ph\": \"e\", \"cat\": \"net\", \"name\": \"read\", \"id\": 1, \"pid\": 1, \"tid\": 2, \"ts\": 15},\n"
      "{\"ph\": \"e\", \"cat\": \"net\", \"name\": \"parse\", \"id\": 1, \"pid\": 1, \"tid\": 2, \"ts\": 19},\n"
      "{\"ph\": \"b\", \"cat\": \"net\", \"name\": \"send\", \"id2\": {\"local\": \"0x1\"}, \"pid\": 1, \"ts\": 20},\n"
      "{\"ph\": \"b\", \"cat\": \"net\", \"name\": \"send\", \"id2\": {\"local\": \"0x1\"}, \"pid\": 2, \"ts\": 21},\n"
      "{\"ph\": \"e\", \"cat\": \"net\", \"name\": \"send\", \"id2\": {\"local\": \"0x1\"}, \"pid\": 1, \"ts\": 30},\n"
      "{\"ph\": \"S\", \"name\": \"old\", \"id\": 7, \"scope\": \"a\", \"pid\": 1, \"tid\": 1, \"ts\": 40},\n"
      "{\"ph\": \"p\", \"name\": \"old\", \"id\": 7, \"scope\": \"a\", \"pid\": 1, \"tid\": 1, \"ts\": 41, "
      "\"args\": {\"step\": 1}},\n"
      "{\"ph\": \"F\", \"name\": \"old\", \"id\": 7, \"scope\": \"b\", \"pid\": 1, \"tid\": 1, \"ts\": 44},\n"
      "{\"ph\": \"F\", \"name\": \"old\", \"id\": 7, \"scope\": \"a\", \"pid\": 1, \"tid\": 1, \"ts\": 45},\n"
      "{\"ph\": \"N\", \"name\": \"tensor\", \"id\": \"0x5\", \"pid\": 1, \"tid\": 1, \"ts\": 50},\n"
      "{\"ph\": \"O\", \"name\": \"tensor\", \"id\": \"0x5\", \"pid\": 1, \"tid\": 1, \"ts\": 51, "
      "\"args\": {\"snapshot\": {\"bytes\": 8}}},\n"
      "{\"ph\": \"D\", \"name\": \"tensor\", \"id\": \"0x5\", \"pid\": 1, \"tid\": 1, \"ts\": 52},\n"
      "{\"ph\": \"s\", \"name\": \"arrow\", \"id\": 1, \"pid\": 1, \"tid\": 1, \"ts\": 53}]");
  static const struct {
    const char *name;
    int64_t start, dur;
  } ranges[] = {{"read", 10000, 5000}, {"parse", 12000, 7000}, {"send", 20000, 10000}, {"old", 40000, 5000}};
  ROWS(ranges, 5);
  unsigned found = 0;
  for (uint64_t i = 0; i < 5; i++) {
    for (size_t k = 0; k < sizeof ranges / sizeof ranges[0]; k++) {
      struct value start = CELL(&o, ranges, start_ns, i);
      if (start.integer != ranges[k].start) continue;
      TEXT(ranges, name, i, ranges[k].name);
      INTEGER(ranges, dur_ns, i, ranges[k].dur);
      found++;
    }
  }
  CHECK(found == 4);
  ROWS(instants, 4);
  TEXT(instants, attributes, 0, "{\"ph\":\"p\",\"id\":7,\"scope\":\"a\",\"step\":1}");
  TEXT(instants, attributes, 1, "{\"ph\":\"N\",\"id\":\"0x5\"}");
  TEXT(instants, attributes, 2, "{\"ph\":\"O\",\"id\":\"0x5\",\"snapshot\":{\"bytes\":8}}");
  TEXT(instants, attributes, 3, "{\"ph\":\"D\",\"id\":\"0x5\"}");
  CHECK(diagnosed(&o, "unknown_phase") == 0 && diagnosed(&o, "unmatched_begin") == 1 &&
        diagnosed(&o, "unmatched_end") == 1);
  CHECK(strstr(diagnosis(&o, "flow_events"), "link") == NULL);
  close_opened(&o);
  o = open_fixture("old_2021.json");
  CHECK(strstr(diagnosis(&o, "flow_events"), "link the same rows") != NULL);
  close_opened(&o);
}

/* Counters whose series have the same name are told apart, also those of one name by their ids. */
static void test_counters(void) {
  char text[4096], name[301];
  memset(name, 'n', 300);
  name[300] = '\0';
  snprintf(text, sizeof text,
           "[{\"ph\": \"C\", \"name\": \"reads\", \"pid\": 1, \"ts\": 1, \"args\": {\"x\": 1}},\n"
           "{\"ph\": \"C\", \"name\": \"writes\", \"pid\": 1, \"ts\": 2, \"args\": {\"x\": 2, \"value\": 3}},\n"
           "{\"ph\": \"C\", \"name\": \"heap\", \"id\": \"0x1\", \"pid\": 1, \"ts\": 3, \"args\": {\"heap\": 4}},\n"
           "{\"ph\": \"C\", \"name\": \"heap\", \"id\": 2, \"pid\": 1, \"ts\": 4, \"args\": {\"a\\u00e9\": 5}},\n"
           "{\"ph\": \"C\", \"name\": \"both\", \"pid\": 1, \"ts\": 5, \"args\": {\"value\": 6, \"both\": 7}},\n"
           "{\"ph\": \"C\", \"name\": \"%s\", \"pid\": 1, \"ts\": 6, \"args\": {\"x\": 8}},\n"
           "{\"ph\": \"C\", \"name\": \"none\", \"pid\": 1, \"ts\": 7, \"args\": {}}]",
           name);
  struct opened o = open_text(text);
  static const char *const names[] = {"reads.x", "writes.x", "writes", "heap[0x1]", "heap[2].a\xc3\xa9",
                                      "both",    "both.both", "x"};
  ROWS(counters, 8);
  for (uint64_t i = 0; i < 8; i++) {
    TEXT(counters, name, i, names[i]);
    REAL(counters, value, i, (double)i + 1);
  }
  CHECK(diagnosed(&o, "counter_not_a_number") == 1);
  close_opened(&o);
}

/* What an event does not have is not taken from the event before it, whose text may be gone. */
static void test_without_names(void) {
  struct opened o = open_text(
      "[{\"ph\": \"C\", \"name\": \"heap\", \"pid\": 1, \"ts\": 1, \"args\": {\"heap\": 1}},\n"
      "{\"ph\": \"C\", \"pid\": 1, \"ts\": 2, \"args\": {\"heap\": 2}},\n"
      "{\"ph\": \"X\", \"cat\": \"cuda_sync\", \"name\": \"Event Sync\", \"pid\": 0, \"tid\": 7, \"ts\": 3, \"dur\": "
      "1},\n"
      "{\"ph\": \"X\", \"cat\": \"cuda_sync\", \"pid\": 0, \"tid\": 7, \"ts\": 4, \"dur\": 1, "
      "\"args\": {\"cuda_sync_kind\": \"Event Sync\"}},\n"
      "{\"ph\": \"X\", \"cat\": \"kernel\", \"pid\": 0, \"tid\": 7, \"ts\": 5, \"dur\": 1}]");
  ROWS(counters, 2);
  TEXT(counters, name, 0, "heap");
  TEXT(counters, name, 1, "heap");
  ROWS(syncs, 2);
  TEXT(syncs, kind, 1, "event");
  IS_NULL(syncs, attributes, 1);
  ROWS(kernels, 1);
  IS_NULL(kernels, name, 0);
  IS_NULL(kernels, correlation, 0);
  close_opened(&o);
}

/* What Triton and NCCL tell beyond the columns stays with the row, numbers beyond 63 bits and texts where numbers were
** expected too. */
static void test_arguments_of_others(void) {
  struct opened o = open_text(
      "[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"triton_poi_fused_add_0\", \"pid\": 9, \"tid\": 9, \"ts\": 1, "
      "\"dur\": 9, "
      "\"args\": {\"External id\": 3, \"kernel_backend\": \"triton\", \"kernel_hash\": \"cqaokwf2\", "
      "\"kernel_file\": \"/tmp/a.py\", \"grid\": \"grid(100,)\", \"stream\": \"0\"}},\n"
      "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllGather\", \"pid\": 0, \"tid\": 7, \"ts\": 3, "
      "\"dur\": 2, \"args\": {\"device\": 0, \"stream\": \"7\", \"correlation\": 5, \"Collective name\": "
      "\"all_gather\", "
      "\"In msg nelems\": 4, \"Out msg nelems\": 8, \"Group size\": 2, \"dtype\": \"Half\", \"Process Group Name\": "
      "\"tp\", "
      "\"Seq\": 11, \"Comms Id\": 10159970886766084423}}]");
  TEXT(ops, attributes, 0,
       "{\"kernel_backend\":\"triton\",\"kernel_hash\":\"cqaokwf2\",\"kernel_file\":\"/tmp/"
       "a.py\",\"grid\":\"grid(100,)\","
       "\"stream\":\"0\"}");
  ROWS(kernels, 1);
  INTEGER(threads, stream, CELL(&o, kernels, thread_id, 0).integer & 0xfffff, 7);
  ROWS(collectives, 1);
  TEXT(collectives, process_group, 0, "tp");
  INTEGER(collectives, sequence_number, 0, 11);
  INTEGER(collectives, bytes, 0, 16);
  struct value rest = CELL(&o, kernels, attributes, 0);
  const char *text = rest.kind == VALUE_TEXT ? pool_text(store_pool(o.store), rest.text) : "";
  CHECK(strstr(text, "\"Comms Id\":10159970886766084423") != NULL);
  close_opened(&o);
}

int main(void) {
  test_arguments_of_others();
  test_quotes();
  test_odd_values();
  test_phases();
  test_counters();
  test_without_names();
  test_times();
  test_base_time();
  test_old_format();
  test_accelerators();
  test_collectives();
  test_memory();
  test_python();
  test_chrome();
  test_tensorflow();
  test_odd_texts();
  test_odd_args();
  return json_test_result();
}
