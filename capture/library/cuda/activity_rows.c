/* activity_rows.c: see activity_rows.h. */
#include "activity_rows.h"

#include "call_rows.h"
#include "copy_rows.h"
#include "cuda_kinds.h"
#include "device_facts.h"
#include "function_names.h"
#include "graph_links.h"
#include "kernel_rows.h"
#include "listening_check.h"
#include "nested_calls.h"

#include <string.h>

enum { ROWS_BEFORE_WRITING = 16384 }; /* of records, between two looks at the tables */

/* Calls that are worth no row, where CUPTI could not be told to record no others, and those that launch a kernel or a
** graph: by domain less one and number. */
enum worth {
  WORTH_UNKNOWN,
  WORTH_NO_ROW,
  WORTH_NO_ROW_AND_LISTENS, /* the call of listening_check.h */
  WORTH_A_ROW,
  WORTH_A_ROW_AND_LAUNCHES,
  WORTH_A_ROW_OF_A_GRAPH
};
static uint8_t worths[2][FUNCTIONS_MAXIMUM];

bool activity_rows_open(struct recorder *recorder) {
  memset(worths, 0, sizeof worths);
  nested_calls_begin();
  graph_links_begin();
  return device_facts_open(recorder) && kernel_rows_open(recorder) && call_rows_open(recorder) &&
         copy_rows_open(recorder);
}

void activity_rows_close(void) {
  graph_links_end();
  kernel_rows_close();
  call_rows_close();
}

void activity_rows_losses(struct recorder *recorder) {
  kernel_rows_losses(recorder, activity_buffers_losses());
  call_rows_losses(recorder);
  copy_rows_losses(recorder);
}

/* One that failed is recorded whatever it is. */
static enum worth worth_of(const struct cupti_api *api, const struct cupti_call *record) {
  enum cupti_domain domain = record->kind == CUPTI_RUNTIME ? CUPTI_RUNTIME_FUNCTIONS : CUPTI_DRIVER_FUNCTIONS;
  const char *name = NULL;
  if (record->function >= FUNCTIONS_MAXIMUM || record->result) return WORTH_A_ROW;
  uint8_t *known = &worths[domain - 1][record->function];
  if (!*known) {
    bool is_named = !api->GetCallbackName((int)domain, record->function, &name) && name;
    bool listens = is_named && domain == CUPTI_DRIVER_FUNCTIONS && !strcmp(name, LISTENING_CALL);
    *known = listens                                      ? WORTH_NO_ROW_AND_LISTENS
             : is_named && !function_is_recorded(name)    ? WORTH_NO_ROW
             : is_named && function_launches_kernel(name) ? WORTH_A_ROW_AND_LAUNCHES
             : is_named && function_launches_graph(name)  ? WORTH_A_ROW_OF_A_GRAPH
                                                          : WORTH_A_ROW;
  }
  return *known;
}

static void note_unknown(struct activity_counts *counts, uint32_t kind) {
  counts->unknown++;
  for (unsigned i = 0; i < 4 && counts->unknown_kinds[i] != kind; i++)
    if (!counts->unknown_kinds[i]) counts->unknown_kinds[i] = kind;
}

struct reading {
  struct activity_lanes *lanes;
  const struct cupti_api *api;
  struct activity_counts *counts;
  struct launch_times *times; /* NULL: none are wanted */
};

/* Whether it was recorded for its time alone. */
static bool note_time(const struct reading *reading, const struct cupti_call *record, bool launches) {
  const struct device_clock *clock = &reading->lanes->clock;
  int64_t start_ns = device_clock_ns(clock, record->start), end_ns = device_clock_ns(clock, record->end);
  enum cuda_recording recording;
  if (start_ns == DEVICE_CLOCK_UNKNOWN || end_ns == DEVICE_CLOCK_UNKNOWN) return false;
  if (launches) launch_times_add(reading->times, start_ns, end_ns);
  return launch_times_at(reading->times, start_ns, end_ns, &recording) && recording != CUDA_ALL;
}

/* Whether it has a row, if it is worth one: it was not recorded for its time alone. It counts, for CUPTI took as long
** for those that have none. */
static bool count_call(const struct reading *reading, const struct cupti_call *record, bool launches) {
  if (reading->times && note_time(reading, record, launches)) return false;
  reading->counts->of_calls++;
  reading->counts->of_watched += record->thread == reading->counts->watched;
  return true;
}

static void take_call(const struct reading *reading, const struct cupti_call *record, enum worth worth) {
  if (!count_call(reading, record, worth == WORTH_A_ROW_AND_LAUNCHES) || worth < WORTH_A_ROW) return;
  reading->counts->launches += worth == WORTH_A_ROW_AND_LAUNCHES;
  if (worth == WORTH_A_ROW_OF_A_GRAPH)
    graph_links_note_launch(activity_correlation(reading->lanes, record->correlation),
                            device_clock_ns(&reading->lanes->clock, record->start));
  call_rows_add(reading->lanes, reading->api, record);
}

static void read_call(const struct reading *reading, const struct cupti_call *record) {
  cuda_calls_note(record->kind == CUPTI_RUNTIME ? CUPTI_RUNTIME_FUNCTIONS : CUPTI_DRIVER_FUNCTIONS, record->function);
  struct cupti_call due, part;
  enum worth worth = worth_of(reading->api, record);
  reading->counts->of_listening += worth == WORTH_NO_ROW_AND_LISTENS;
  if (worth < WORTH_A_ROW) {
    take_call(reading, record, worth);
    return;
  }
  enum offered_call offered = nested_calls_offer(record, &due, &part);
  if (due.kind) take_call(reading, &due, worth_of(reading->api, &due));
  if (part.kind) count_call(reading, &part, false); /* its launch is that of the call which it is a part of */
  if (offered == CALL_IS_A_PART) count_call(reading, record, false);
  if (offered == CALL_IS_READ) take_call(reading, record, worth);
}

/* The least that is read of a record without looking at its size. */
static const uint16_t least_sizes[CUPTI_KINDS] = {
    [CUPTI_MEMCPY] = offsetof(struct cupti_memcpy, runtime_correlation),
    [CUPTI_MEMCPY_PEERS] = offsetof(struct cupti_memcpy_peers, reserved),
    [CUPTI_MEMSET] = offsetof(struct cupti_memset, padding),
    [CUPTI_KERNEL] = offsetof(struct cupti_kernel, access_policy),
    [CUPTI_CONCURRENT_KERNEL] = offsetof(struct cupti_kernel, access_policy),
    [CUPTI_DRIVER] = sizeof(struct cupti_call),
    [CUPTI_RUNTIME] = sizeof(struct cupti_call),
    [CUPTI_CONTEXT] = sizeof(struct cupti_context),
    [CUPTI_OVERHEAD] = offsetof(struct cupti_overhead, correlation),
    [CUPTI_ENVIRONMENT] = sizeof(struct cupti_environment),
    [CUPTI_UNIFIED_MEMORY] = sizeof(struct cupti_unified_memory),
    [CUPTI_EVENT] = offsetof(struct cupti_event, padding),
    [CUPTI_STREAM] = sizeof(struct cupti_stream),
    [CUPTI_SYNCHRONIZATION] = offsetof(struct cupti_synchronization, event_sync),
    [CUPTI_EXTERNAL_CORRELATION] = 4,
    [CUPTI_NVLINK] = sizeof(struct cupti_nvlink),
    [CUPTI_PCIE] = sizeof(struct cupti_pcie),
    [CUPTI_MEMORY] = sizeof(struct cupti_memory),
    [CUPTI_MEMORY_POOL] = sizeof(struct cupti_memory_pool),
    [CUPTI_GRAPH_TRACE] = sizeof(struct cupti_graph_trace),
    [CUPTI_JIT] = offsetof(struct cupti_jit, process),
};

/* Where the records of work on a device have what all of them have. */
struct work_layout { uint16_t start, end, correlation, graph, node; /* node: 0: it is of a graph as a whole */ };

#define WORK_LAYOUT(type, node) \
  {offsetof(struct type, start), offsetof(struct type, end), offsetof(struct type, correlation), \
   offsetof(struct type, graph), node}
static const struct work_layout work_layouts[CUPTI_KINDS] = {
    [CUPTI_MEMCPY] = WORK_LAYOUT(cupti_memcpy, offsetof(struct cupti_memcpy, graph_node)),
    [CUPTI_MEMCPY_PEERS] = WORK_LAYOUT(cupti_memcpy_peers, offsetof(struct cupti_memcpy_peers, graph_node)),
    [CUPTI_MEMSET] = WORK_LAYOUT(cupti_memset, offsetof(struct cupti_memset, graph_node)),
    [CUPTI_KERNEL] = WORK_LAYOUT(cupti_kernel, offsetof(struct cupti_kernel, graph_node)),
    [CUPTI_CONCURRENT_KERNEL] = WORK_LAYOUT(cupti_kernel, offsetof(struct cupti_kernel, graph_node)),
    [CUPTI_GRAPH_TRACE] = WORK_LAYOUT(cupti_graph_trace, 0),
};

static uint32_t word_at(const void *record, size_t offset) {
  uint32_t value;
  memcpy(&value, (const uint8_t *)record + offset, sizeof value);
  return value;
}

static uint64_t long_word_at(const void *record, size_t offset) {
  uint64_t value;
  memcpy(&value, (const uint8_t *)record + offset, sizeof value);
  return value;
}

/* Whether it lasts over a time in which nothing was recorded (launch_times.h). */
static bool is_end_doubted(const struct reading *reading, const struct cupti_record *record) {
  const struct work_layout *layout = &work_layouts[record->kind];
  const struct device_clock *clock = &reading->lanes->clock;
  int64_t start_ns = device_clock_ns(clock, long_word_at(record, layout->start));
  int64_t end_ns = device_clock_ns(clock, long_word_at(record, layout->end));
  if (start_ns == DEVICE_CLOCK_UNKNOWN || end_ns == DEVICE_CLOCK_UNKNOWN) return false;
  return launch_times_is_over_pause(reading->times, start_ns, end_ns);
}

static void add_work(const struct reading *reading, const struct cupti_record *record, size_t bytes) {
  const void *at = record;
  struct activity_lanes *lanes = reading->lanes;
  reading->counts->of_devices++;
  lanes->is_end_doubted = reading->times && is_end_doubted(reading, record);
  switch (record->kind) {
    case CUPTI_KERNEL:
    case CUPTI_CONCURRENT_KERNEL:
      reading->counts->kernels++;
      kernel_rows_add(lanes, at, bytes);
      break;
    case CUPTI_MEMCPY: copy_rows_add_memcpy(lanes, at); break;
    case CUPTI_MEMCPY_PEERS: copy_rows_add_peers(lanes, at); break;
    case CUPTI_MEMSET: copy_rows_add_memset(lanes, at); break;
    default: call_rows_add_graph(lanes, at); break;
  }
  lanes->is_end_doubted = false;
}

static void add_held_work(const struct reading *reading, struct held_work *held, enum graph_link link) {
  if (link == LINK_IS_WRONG) {
    memset((uint8_t *)&held->as + work_layouts[held->as.record.kind].correlation, 0, sizeof(uint32_t));
    reading->lanes->of_lost_graphs++;
  }
  add_work(reading, &held->as.record, held->bytes);
}

static void add_work_of_graphs(const struct reading *reading, const struct cupti_record *record, size_t bytes) {
  const struct work_layout *layout = &work_layouts[record->kind];
  struct held_work held = {.bytes = bytes < sizeof held.as ? bytes : sizeof held.as};
  memcpy(&held.as, record, held.bytes); /* what an old CUPTI's record lacks is 0 */
  uint32_t graph = word_at(&held.as, layout->graph);
  if (!graph) return add_work(reading, record, bytes);
  reading->counts->of_graphs++;
  held.work.node = layout->node ? long_word_at(&held.as, layout->node) : ~(uint64_t)graph;
  held.work.correlation = activity_correlation(reading->lanes, word_at(&held.as, layout->correlation));
  held.work.start_ns = device_clock_ns(&reading->lanes->clock, long_word_at(&held.as, layout->start));
  bool is_repeated = graph_links_is_repeated(&held.work);
  if (reading->lanes->graph_numbers != NUMBERS_ARE_DOUBTED) return add_work(reading, record, bytes);
  enum graph_link link = is_repeated ? LINK_IS_WRONG : graph_links_judge(&held.work);
  if (link == LINK_WAITS && graph_links_hold(&held)) return;
  add_held_work(reading, &held, link == LINK_HOLDS ? LINK_HOLDS : LINK_IS_WRONG);
}

static void read_work(const struct reading *reading, const struct cupti_record *record, size_t bytes) {
  if (reading->lanes->graph_numbers == NUMBERS_ARE_RIGHT) add_work(reading, record, bytes);
  else add_work_of_graphs(reading, record, bytes);
}

/* Whose call is known by now; see graph_links_take. */
static void read_held_work(const struct reading *reading, bool is_due, bool is_all) {
  struct held_work held;
  enum graph_link link;
  for (unsigned at = 0; graph_links_take(&at, is_due, is_all, &held, &link);) add_held_work(reading, &held, link);
}

void activity_rows_write_held(struct activity_lanes *lanes, const struct cupti_api *api, struct activity_counts *counts,
                          struct launch_times *times, bool is_all) {
  const struct reading reading = {lanes, api, counts, times};
  struct cupti_call due;
  for (unsigned at = 0; nested_calls_take(&at, is_all, &due);) take_call(&reading, &due, worth_of(api, &due));
  read_held_work(&reading, true, is_all);
}

static void read_other(const struct reading *reading, const struct cupti_record *record, size_t bytes) {
  const void *at = record;
  const struct cupti_context *context = at;
  struct activity_lanes *lanes = reading->lanes;
  switch (record->kind) {
    case CUPTI_CONTEXT: activity_lanes_note_context(lanes, context->context, context->device); break;
    case CUPTI_STREAM: activity_lanes_note_stream(lanes, at); break;
    case CUPTI_EVENT: call_rows_note_event(lanes, at, bytes); break;
    case CUPTI_OVERHEAD: call_rows_add_overhead(lanes, at); break;
    case CUPTI_JIT: call_rows_add_compilation(lanes, at, bytes); break;
    case CUPTI_UNIFIED_MEMORY: copy_rows_add_migration(lanes, at); break;
    case CUPTI_MEMORY: copy_rows_add_memory(lanes, at); break;
    case CUPTI_MEMORY_POOL: copy_rows_add_pool(lanes, at); break;
    case CUPTI_PCIE: device_facts_add_pcie(lanes, at); break;
    case CUPTI_NVLINK: device_facts_add_nvlink(lanes, at, reading->api->version, bytes); break;
    case CUPTI_ENVIRONMENT: device_facts_add_environment(lanes, at); break;
    default: break; /* CUPTI_EXTERNAL_CORRELATION: of another one's */
  }
}

/* Of a record `bytes` are there at least. */
static void read_record(const struct reading *reading, const struct cupti_record *record, size_t bytes) {
  const struct cupti_layout *layout = reading->api->layout;
  uint32_t kind = record->kind;
  if (kind >= CUPTI_KINDS || !layout->sizes[kind]) {
    note_unknown(reading->counts, kind);
    return;
  }
  if (bytes > layout->sizes[kind]) bytes = layout->sizes[kind];
  if (bytes < least_sizes[kind]) {
    reading->counts->damaged++;
    return;
  }
  switch (kind) {
    case CUPTI_KERNEL:
    case CUPTI_CONCURRENT_KERNEL:
    case CUPTI_MEMCPY:
    case CUPTI_MEMCPY_PEERS:
    case CUPTI_MEMSET:
    case CUPTI_GRAPH_TRACE: read_work(reading, record, bytes); break;
    case CUPTI_DRIVER:
    case CUPTI_RUNTIME: read_call(reading, (const void *)record); break;
    case CUPTI_SYNCHRONIZATION:
      reading->counts->of_calls++;
      call_rows_add_sync(reading->lanes, (const void *)record, bytes);
      break;
    default: read_other(reading, record, bytes); break;
  }
}

/* How long a record is is said by where the next one begins. */
uint64_t activity_rows_read(struct activity_lanes *lanes, const struct cupti_api *api,
                            const struct activity_buffer *buffer, struct activity_counts *counts,
                            struct launch_times *times) {
  const struct reading reading = {lanes, api, counts, times};
  struct cupti_record *record = NULL, *next = NULL;
  uint64_t count = 0;
  int result = api->ActivityGetNextRecord(buffer->bytes, buffer->used, &next);
  while (!result && next != record) {
    record = next;
    result = api->ActivityGetNextRecord(buffer->bytes, buffer->used, &next);
    const uint8_t *end = result ? buffer->bytes + buffer->used : (const uint8_t *)next;
    size_t bytes = (size_t)(end - (const uint8_t *)record);
    read_record(&reading, record, bytes);
    if (++count % ROWS_BEFORE_WRITING == 0 && lanes->recorder->tables.has_full) recorder_write_full(lanes->recorder);
  }
  if (result && result != CUPTI_NO_MORE_RECORDS) counts->damaged++;
  if (graph_links_have_news()) read_held_work(&reading, false, false);
  counts->all += count;
  device_clock_count(&lanes->clock, count);
  if (lanes->recorder->tables.has_full) recorder_write_full(lanes->recorder);
  return count;
}
