/* call_rows.c: see call_rows.h. */
#include "call_rows.h"

#include "base/hash.h"
#include "function_names.h"
#include "kernel_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_START, CALL_DUR, CALL_NAME, CALL_DOMAIN, CALL_THREAD, CALL_CORRELATION, CALL_RESULT, CALL_COLUMNS };
static const struct row_column call_columns[CALL_COLUMNS] = {
    {DUMP_api_calls_start_ns, DUMP_ASCENDING, false, false},
    {DUMP_api_calls_dur_ns, DUMP_UNORDERED, false, false},
    {DUMP_api_calls_name, DUMP_UNORDERED, false, false},
    {DUMP_api_calls_domain, DUMP_UNORDERED, false, false},
    {DUMP_api_calls_thread_id, DUMP_UNORDERED, false, false},
    {DUMP_api_calls_correlation, DUMP_ASCENDING, false, false},
    {DUMP_api_calls_result, DUMP_UNORDERED, false, false},
};

enum {
  SYNC_START,
  SYNC_DUR,
  SYNC_KIND,
  SYNC_DEVICE,
  SYNC_THREAD,
  SYNC_EVENT,
  SYNC_CORRELATION,
  SYNC_STREAM,
  SYNC_WAIT_CORRELATION,
  SYNC_COLUMNS
};
static const struct row_column sync_columns[SYNC_COLUMNS] = {
    {DUMP_syncs_start_ns, DUMP_ASCENDING, false, false},
    {DUMP_syncs_dur_ns, DUMP_UNORDERED, false, false},
    {DUMP_syncs_kind, DUMP_UNORDERED, false, false},
    {DUMP_syncs_device_id, DUMP_UNORDERED, false, false},
    {DUMP_syncs_thread_id, DUMP_UNORDERED, false, false},
    {DUMP_syncs_event, DUMP_UNORDERED, false, false},
    {DUMP_syncs_correlation, DUMP_ASCENDING, false, false},
    {DUMP_syncs_wait_stream, DUMP_UNORDERED, false, false},
    {DUMP_syncs_wait_correlation, DUMP_ASCENDING, false, false},
};

enum { GRAPH_START, GRAPH_DUR, GRAPH_GRAPH, GRAPH_DEVICE, GRAPH_THREAD, GRAPH_CORRELATION, GRAPH_COLUMNS };
static const struct row_column graph_columns[GRAPH_COLUMNS] = {
    {DUMP_graph_launches_start_ns, DUMP_ASCENDING, false, false},
    {DUMP_graph_launches_dur_ns, DUMP_UNORDERED, false, false},
    {DUMP_graph_launches_graph, DUMP_UNORDERED, false, false},
    {DUMP_graph_launches_device_id, DUMP_UNORDERED, false, false},
    {DUMP_graph_launches_thread_id, DUMP_UNORDERED, false, false},
    {DUMP_graph_launches_correlation, DUMP_ASCENDING, false, false},
};

enum { OVERHEAD_START, OVERHEAD_DUR, OVERHEAD_KIND, OVERHEAD_THREAD, OVERHEAD_COLUMNS };
static const struct row_column overhead_columns[OVERHEAD_COLUMNS] = {
    {DUMP_overheads_start_ns, DUMP_ASCENDING, false, false},
    {DUMP_overheads_dur_ns, DUMP_UNORDERED, false, false},
    {DUMP_overheads_kind, DUMP_UNORDERED, false, false},
    {DUMP_overheads_thread_id, DUMP_UNORDERED, false, false},
};

enum {
  COMPILATION_START,
  COMPILATION_DUR,
  COMPILATION_NAME,
  COMPILATION_KIND,
  COMPILATION_THREAD,
  COMPILATION_COLUMNS
};
static const struct row_column compilation_columns[COMPILATION_COLUMNS] = {
    {DUMP_compilations_start_ns, DUMP_ASCENDING, false, false},
    {DUMP_compilations_dur_ns, DUMP_UNORDERED, false, false},
    {DUMP_compilations_name, DUMP_UNORDERED, false, false},
    {DUMP_compilations_kind, DUMP_UNORDERED, false, false},
    {DUMP_compilations_thread_id, DUMP_UNORDERED, false, false},
};

static const struct table_form forms[] = {
    DEVICE_TABLE_FORM(api_calls, TABLE_ROWS, "calls into CUDA", call_columns, DUMP_FRAME_ROWS),
    DEVICE_TABLE_FORM(syncs, TABLE_ROWS, "waits for devices", sync_columns, 1024),
    DEVICE_TABLE_FORM(graph_launches, TABLE_ROWS, "launches of graphs", graph_columns, 64),
    DEVICE_TABLE_FORM(overheads, TABLE_ROWS, "overheads", overhead_columns, 64),
    DEVICE_TABLE_FORM(compilations, TABLE_ROWS, "compilations", compilation_columns, 64),
};
enum { CALLS, SYNCS, GRAPHS, OVERHEADS, COMPILATIONS, TABLES };
static struct row_buffer tables[TABLES];

enum { EVENTS = 1 << 12 };
static struct recorded_event {
  uint64_t sync;
  uint64_t correlation;
  uint32_t context, event, stream;
} * events;                                           /* recordings that were met last, by the event's number */
static uint32_t function_names[2][FUNCTIONS_MAXIMUM]; /* strings, by domain less one and number */
static uint32_t domains[2], sync_kinds[5], jit;
static uint64_t lost;

static uint32_t constant(struct recorder *recorder, const char *text) {
  return dump_writer_string(recorder->writer, text, strlen(text));
}

bool call_rows_open(struct recorder *recorder) {
  static const char *const kinds[] = {NULL, "event", "stream_wait", "stream", "context"};
  lost = 0;
  memset(function_names, 0, sizeof function_names);
  domains[CUPTI_DRIVER_FUNCTIONS - 1] = constant(recorder, "driver");
  domains[CUPTI_RUNTIME_FUNCTIONS - 1] = constant(recorder, "runtime");
  for (unsigned i = 1; i < 5; i++) sync_kinds[i] = constant(recorder, kinds[i]);
  jit = constant(recorder, "jit");
  events = calloc(EVENTS, sizeof *events);
  bool is_open = events != NULL;
  for (unsigned i = 0; i < TABLES && is_open; i++) is_open = row_tables_add(&recorder->tables, &tables[i], &forms[i]);
  return is_open;
}

void call_rows_close(void) {
  free(events);
  events = NULL;
}

void call_rows_losses(struct recorder *recorder) {
  recorder_lost(recorder, (struct loss){lost, "error", "calls into CUDA were lost for want of memory", "api_calls",
                                        &tables[CALLS]});
}

static uint32_t new_row(unsigned table) {
  uint32_t row = row_add(&tables[table]);
  lost += row == UINT32_MAX;
  return row;
}

/* A number that CUPTI has no name for keeps it as its name. */
static uint32_t name_function(struct activity_lanes *lanes, const struct cupti_api *api, enum cupti_domain domain,
                              uint32_t number) {
  const char *name = NULL;
  char text[32];
  size_t length;
  if (!api->GetCallbackName((int)domain, number, &name) && name) {
    length = function_name_length(name, domain);
  } else {
    length = (size_t)snprintf(text, sizeof text, "function %u", number);
    name = text;
  }
  return texts_keep(&lanes->recorder->texts, lanes->recorder->writer, name, length);
}

void call_rows_add(struct activity_lanes *lanes, const struct cupti_api *api, const struct cupti_call *record) {
  enum cupti_domain domain = record->kind == CUPTI_RUNTIME ? CUPTI_RUNTIME_FUNCTIONS : CUPTI_DRIVER_FUNCTIONS;
  uint32_t row = new_row(CALLS), number = record->function;
  if (row == UINT32_MAX) return;
  struct row_buffer *rows = &tables[CALLS];
  uint32_t *known = number < FUNCTIONS_MAXIMUM ? &function_names[domain - 1][number] : NULL;
  uint32_t name = known && *known ? *known : name_function(lanes, api, domain, number);
  if (known) *known = name;
  if (name) row_set(rows, row, CALL_NAME, name);
  row_set(rows, row, CALL_DOMAIN, domains[domain - 1]);
  activity_set_row(rows, row, CALL_THREAD, activity_thread(lanes, record->thread));
  activity_set_span(lanes, rows, row, CALL_START, record->start, record->end);
  uint64_t correlation = activity_correlation(lanes, record->correlation);
  if (correlation) {
    row_set(rows, row, CALL_CORRELATION, (int64_t)correlation);
    kernel_rows_note_call(correlation, device_clock_ns(&lanes->clock, record->start),
                          device_clock_ns(&lanes->clock, record->end));
  }
  row_set(rows, row, CALL_RESULT, record->result);
}

/* No map: one place for all events of a hash, the last of which is known. */
static struct recorded_event *event_place(uint32_t context, uint32_t event, uint64_t sync) {
  uint64_t hash = ((uint64_t)context << 32 | event) * HASH_FACTOR_1 + sync * HASH_FACTOR_2;
  return &events[hash >> 52];
}

/* CUPTI 12.8 tells which recording a wait is for; before it was the last one of that event. */
void call_rows_note_event(struct activity_lanes *lanes, const struct cupti_event *record, size_t bytes) {
  uint64_t sync = HAS_FIELD(bytes, cupti_event, event_sync) ? record->event_sync : 0;
  *event_place(record->context, record->event, sync) = (struct recorded_event){
      sync, activity_correlation(lanes, record->correlation), record->context, record->event, record->stream};
}

void call_rows_add_sync(struct activity_lanes *lanes, const struct cupti_synchronization *record, size_t bytes) {
  uint32_t row = new_row(SYNCS);
  if (row == UINT32_MAX) return;
  struct row_buffer *rows = &tables[SYNCS];
  bool has_stream = record->stream != UINT32_MAX, has_event = record->event != UINT32_MAX && record->type <= 2;
  int64_t device = activity_device_of_context(lanes, record->context);
  if (record->type && record->type < 5) row_set(rows, row, SYNC_KIND, sync_kinds[record->type]);
  activity_set_span(lanes, rows, row, SYNC_START, record->start, record->end);
  activity_set_row(rows, row, SYNC_DEVICE, device);
  struct key_map_entry *known = key_map_entry(&lanes->contexts, 0, record->context);
  uint32_t number = known && known->row_plus_one ? known->row_plus_one - 1 : UINT32_MAX;
  if (has_stream && number != UINT32_MAX)
    activity_set_row(rows, row, SYNC_THREAD, activity_stream(lanes, number, record->context, record->stream));
  uint64_t correlation = activity_correlation(lanes, record->correlation);
  if (correlation) row_set(rows, row, SYNC_CORRELATION, (int64_t)correlation);
  if (!has_event) return;
  row_set(rows, row, SYNC_EVENT, record->event);
  uint64_t sync = HAS_FIELD(bytes, cupti_synchronization, event_sync) ? record->event_sync : 0;
  const struct recorded_event *event = event_place(record->context, record->event, sync);
  if (event->event != record->event || event->context != record->context || event->sync != sync || !event->correlation)
    return;
  row_set(rows, row, SYNC_STREAM, event->stream);
  row_set(rows, row, SYNC_WAIT_CORRELATION, (int64_t)event->correlation);
}

void call_rows_add_graph(struct activity_lanes *lanes, const struct cupti_graph_trace *record) {
  uint32_t row = new_row(GRAPHS);
  if (row == UINT32_MAX) return;
  struct row_buffer *rows = &tables[GRAPHS];
  activity_set_span(lanes, rows, row, GRAPH_START, record->start, record->end);
  row_set(rows, row, GRAPH_GRAPH, record->graph);
  activity_set_row(rows, row, GRAPH_DEVICE, activity_device(lanes, record->device));
  activity_set_row(rows, row, GRAPH_THREAD, activity_stream(lanes, record->device, record->context, record->stream));
  uint64_t correlation = activity_correlation(lanes, record->correlation);
  if (correlation) row_set(rows, row, GRAPH_CORRELATION, (int64_t)correlation);
}

/* CUpti_ActivityOverheadKind: 1, and multiples of 65536. */
void call_rows_add_overhead(struct activity_lanes *lanes, const struct cupti_overhead *record) {
  static const char *const kinds[] = {NULL,
                                      "buffer flush",
                                      "instrumentation",
                                      "resource",
                                      "module loading",
                                      "lazy function loading",
                                      "command buffer full",
                                      "activity buffer request",
                                      "unified memory activity"};
  enum { OF_THREAD = 2 }; /* CUpti_ActivityObjectKind */
  uint32_t row = new_row(OVERHEADS), number = record->overhead >> 16;
  char text[32];
  if (row == UINT32_MAX) return;
  snprintf(text, sizeof text, "kind %u", record->overhead);
  const char *kind = record->overhead == 1                                              ? "driver compiler"
                     : number && number < sizeof kinds / sizeof *kinds && kinds[number] ? kinds[number]
                                                                                        : text;
  activity_set_span(lanes, &tables[OVERHEADS], row, OVERHEAD_START, record->start, record->end);
  row_set(&tables[OVERHEADS], row, OVERHEAD_KIND, constant(lanes->recorder, kind));
  if (record->object == OF_THREAD)
    activity_set_row(&tables[OVERHEADS], row, OVERHEAD_THREAD, activity_thread(lanes, record->object_id[1]));
}

void call_rows_add_compilation(struct activity_lanes *lanes, const struct cupti_jit *record, size_t bytes) {
  static const char *const entries[] = {"code", "PTX to machine code", "NVVM to PTX"};
  static const char *const operations[] = {"", "loaded from the cache: ", "stored in the cache: ", "compiled: "};
  uint32_t row = new_row(COMPILATIONS);
  char text[64];
  if (row == UINT32_MAX) return;
  snprintf(text, sizeof text, "%s%s", operations[record->operation < 4 ? record->operation : 0],
           entries[record->entry < 3 ? record->entry : 0]);
  activity_set_span(lanes, &tables[COMPILATIONS], row, COMPILATION_START, record->start, record->end);
  row_set(&tables[COMPILATIONS], row, COMPILATION_NAME, constant(lanes->recorder, text));
  row_set(&tables[COMPILATIONS], row, COMPILATION_KIND, jit);
  if (HAS_FIELD(bytes, cupti_jit, thread))
    activity_set_row(&tables[COMPILATIONS], row, COMPILATION_THREAD, activity_thread(lanes, record->thread));
}
