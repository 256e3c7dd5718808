/* copy_rows.c: see copy_rows.h. */
#include "copy_rows.h"

#include <stdio.h>
#include <string.h>

enum {
  TRANSFER_START,
  TRANSFER_DUR,
  TRANSFER_KIND,
  TRANSFER_DIRECTION,
  TRANSFER_SOURCE_MEMORY,
  TRANSFER_TARGET_MEMORY,
  TRANSFER_DEVICE,
  TRANSFER_SOURCE,
  TRANSFER_TARGET,
  TRANSFER_THREAD,
  TRANSFER_BYTES,
  TRANSFER_ASYNC,
  TRANSFER_CORRELATION,
  TRANSFER_NAME,
  TRANSFER_COLUMNS
};
static const struct row_column transfer_columns[TRANSFER_COLUMNS] = {
    {DUMP_transfers_start_ns, DUMP_ASCENDING, false, false},
    {DUMP_transfers_dur_ns, DUMP_UNORDERED, false, false},
    {DUMP_transfers_kind, DUMP_UNORDERED, false, false},
    {DUMP_transfers_direction, DUMP_UNORDERED, false, false},
    {DUMP_transfers_source_memory, DUMP_UNORDERED, false, false},
    {DUMP_transfers_target_memory, DUMP_UNORDERED, false, false},
    {DUMP_transfers_device_id, DUMP_UNORDERED, false, false},
    {DUMP_transfers_source_device_id, DUMP_UNORDERED, false, false},
    {DUMP_transfers_target_device_id, DUMP_UNORDERED, false, false},
    {DUMP_transfers_thread_id, DUMP_UNORDERED, false, false},
    {DUMP_transfers_bytes, DUMP_UNORDERED, false, false},
    {DUMP_transfers_is_async, DUMP_UNORDERED, false, false},
    {DUMP_transfers_correlation, DUMP_ASCENDING, false, false},
    {DUMP_transfers_name, DUMP_UNORDERED, false, false},
};

enum {
  MIGRATION_START,
  MIGRATION_DUR,
  MIGRATION_KIND,
  MIGRATION_ADDRESS,
  MIGRATION_BYTES,
  MIGRATION_SOURCE,
  MIGRATION_TARGET,
  MIGRATION_REASON,
  MIGRATION_COLUMNS
};
static const struct row_column migration_columns[MIGRATION_COLUMNS] = {
    {DUMP_page_migrations_start_ns, DUMP_ASCENDING, false, false},
    {DUMP_page_migrations_dur_ns, DUMP_UNORDERED, false, false},
    {DUMP_page_migrations_kind, DUMP_UNORDERED, false, false},
    {DUMP_page_migrations_address, DUMP_UNORDERED, false, false},
    {DUMP_page_migrations_bytes, DUMP_UNORDERED, false, false},
    {DUMP_page_migrations_source_device_id, DUMP_UNORDERED, false, false},
    {DUMP_page_migrations_target_device_id, DUMP_UNORDERED, false, false},
    {DUMP_page_migrations_reason, DUMP_UNORDERED, false, false},
};

enum { MEMORY_TIME, MEMORY_KIND, MEMORY_BYTES, MEMORY_DEVICE, MEMORY_ALLOCATOR, MEMORY_ADDRESS, MEMORY_COLUMNS };
static const struct row_column memory_columns[MEMORY_COLUMNS] = {
    {DUMP_memory_events_time_ns, DUMP_ASCENDING, false, false},
    {DUMP_memory_events_kind, DUMP_UNORDERED, false, false},
    {DUMP_memory_events_bytes, DUMP_UNORDERED, false, false},
    {DUMP_memory_events_device_id, DUMP_UNORDERED, false, false},
    {DUMP_memory_events_allocator, DUMP_UNORDERED, false, false},
    {DUMP_memory_events_address, DUMP_UNORDERED, false, false},
};

static const struct table_form forms[] = {
    DEVICE_TABLE_FORM(transfers, TABLE_ROWS, "copies and fills", transfer_columns, 1024),
    DEVICE_TABLE_FORM(page_migrations, TABLE_ROWS, "migrations of unified memory", migration_columns, 64),
    TABLE_FORM(memory_events, TABLE_ROWS, "segments of the driver", memory_columns, 64),
};
enum { TRANSFERS, MIGRATIONS, MEMORY, TABLES };
static struct row_buffer tables[TABLES];
static uint64_t lost[TABLES];

/* By CUPTI's numbers: CUpti_ActivityMemcpyKind, CUpti_ActivityMemoryKind. Arrays are memory of the device. */
static const struct {
  const char *shown, *direction;
  bool reads_device, writes_device;
} directions[] = {
    {NULL, NULL, false, false},     {"HtoD", "HtoD", false, true}, {"DtoH", "DtoH", true, false},
    {"HtoA", "HtoD", false, true},  {"AtoH", "DtoH", true, false}, {"AtoA", "DtoD", true, true},
    {"AtoD", "DtoD", true, true},   {"DtoA", "DtoD", true, true},  {"DtoD", "DtoD", true, true},
    {"HtoH", "HtoH", false, false}, {"PtoP", "PtoP", true, true},
};
enum { DIRECTIONS = sizeof directions / sizeof *directions };
static const struct {
  const char *word, *shown;
} memories[] = {
    {NULL, "Unknown"},  {"pageable", "Pageable"}, {"pinned", "Pinned"},        {"device", "Device"},
    {"array", "Array"}, {"managed", "Managed"},   {"device", "Device Static"}, {"managed", "Managed Static"},
};
enum { MEMORIES = sizeof memories / sizeof *memories };

static uint32_t memory_words[MEMORIES], direction_words[DIRECTIONS], copy_names[DIRECTIONS][MEMORIES][MEMORIES],
    set_names[MEMORIES]; /* strings, of names when they are met */
static uint32_t memcpy_word, memset_word;

static uint32_t constant(struct recorder *recorder, const char *text) {
  return text ? dump_writer_string(recorder->writer, text, strlen(text)) : 0;
}

bool copy_rows_open(struct recorder *recorder) {
  memset(lost, 0, sizeof lost);
  memset(copy_names, 0, sizeof copy_names);
  memset(set_names, 0, sizeof set_names);
  for (unsigned i = 0; i < MEMORIES; i++) memory_words[i] = constant(recorder, memories[i].word);
  for (unsigned i = 0; i < DIRECTIONS; i++) direction_words[i] = constant(recorder, directions[i].direction);
  memcpy_word = constant(recorder, "memcpy");
  memset_word = constant(recorder, "memset");
  bool is_open = true;
  for (unsigned i = 0; i < TABLES && is_open; i++) is_open = row_tables_add(&recorder->tables, &tables[i], &forms[i]);
  return is_open;
}

void copy_rows_losses(struct recorder *recorder) {
  for (unsigned i = 0; i < TABLES; i++)
    recorder_lost(recorder,
                  (struct loss){lost[i], "error", "rows were lost for want of memory", forms[i].name, &tables[i]});
}

static uint32_t new_row(unsigned table) {
  uint32_t row = row_add(&tables[table]);
  lost[table] += row == UINT32_MAX;
  return row;
}

/* ---- Copies and fills. */

/* As torch.profiler writes it: "Memcpy HtoD (Pageable -> Device)". */
static uint32_t name_copy(struct recorder *recorder, unsigned direction, unsigned source, unsigned target) {
  uint32_t *known = &copy_names[direction][source][target];
  char text[80];
  if (*known) return *known;
  snprintf(text, sizeof text, "Memcpy %s (%s -> %s)", directions[direction].shown ? directions[direction].shown : "?",
           memories[source].shown, memories[target].shown);
  return *known = constant(recorder, text);
}

struct copied {
  unsigned direction, source, target;
  bool is_async;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation, source_device, target_device;
};

static void add_copy(struct activity_lanes *lanes, const struct copied *copy) {
  uint32_t row = new_row(TRANSFERS);
  if (row == UINT32_MAX) return;
  struct row_buffer *rows = &tables[TRANSFERS];
  unsigned direction = copy->direction < DIRECTIONS ? copy->direction : 0;
  unsigned source = copy->source < MEMORIES ? copy->source : 0, target = copy->target < MEMORIES ? copy->target : 0;
  activity_set_span(lanes, rows, row, TRANSFER_START, copy->start, copy->end);
  row_set(rows, row, TRANSFER_KIND, memcpy_word);
  if (direction_words[direction]) row_set(rows, row, TRANSFER_DIRECTION, direction_words[direction]);
  if (memory_words[source]) row_set(rows, row, TRANSFER_SOURCE_MEMORY, memory_words[source]);
  if (memory_words[target]) row_set(rows, row, TRANSFER_TARGET_MEMORY, memory_words[target]);
  activity_set_row(rows, row, TRANSFER_DEVICE, activity_device(lanes, copy->device));
  if (directions[direction].reads_device)
    activity_set_row(rows, row, TRANSFER_SOURCE, activity_device(lanes, copy->source_device));
  if (directions[direction].writes_device)
    activity_set_row(rows, row, TRANSFER_TARGET, activity_device(lanes, copy->target_device));
  activity_set_row(rows, row, TRANSFER_THREAD, activity_stream(lanes, copy->device, copy->context, copy->stream));
  row_set(rows, row, TRANSFER_BYTES, (int64_t)copy->bytes);
  row_set(rows, row, TRANSFER_ASYNC, copy->is_async);
  uint64_t correlation = activity_correlation(lanes, copy->correlation);
  if (correlation) row_set(rows, row, TRANSFER_CORRELATION, (int64_t)correlation);
  row_set(rows, row, TRANSFER_NAME, name_copy(lanes->recorder, direction, source, target));
}

void copy_rows_add_memcpy(struct activity_lanes *lanes, const struct cupti_memcpy *record) {
  add_copy(lanes, &(struct copied){record->direction, record->source, record->target, record->flags & 1, record->bytes,
                                   record->start, record->end, record->device, record->context, record->stream,
                                   record->correlation, record->device, record->device});
}

void copy_rows_add_peers(struct activity_lanes *lanes, const struct cupti_memcpy_peers *record) {
  add_copy(lanes, &(struct copied){record->direction, record->source, record->target, record->flags & 1, record->bytes,
                                   record->start, record->end, record->device, record->context, record->stream,
                                   record->correlation, record->source_device, record->target_device});
}

void copy_rows_add_memset(struct activity_lanes *lanes, const struct cupti_memset *record) {
  uint32_t row = new_row(TRANSFERS);
  if (row == UINT32_MAX) return;
  struct row_buffer *rows = &tables[TRANSFERS];
  unsigned memory = record->memory < MEMORIES ? record->memory : 0;
  char text[48];
  snprintf(text, sizeof text, "Memset (%s)", memories[memory].shown);
  if (!set_names[memory]) set_names[memory] = constant(lanes->recorder, text);
  activity_set_span(lanes, rows, row, TRANSFER_START, record->start, record->end);
  row_set(rows, row, TRANSFER_KIND, memset_word);
  if (memory_words[memory]) row_set(rows, row, TRANSFER_TARGET_MEMORY, memory_words[memory]);
  activity_set_row(rows, row, TRANSFER_DEVICE, activity_device(lanes, record->device));
  activity_set_row(rows, row, TRANSFER_TARGET, activity_device(lanes, record->device));
  activity_set_row(rows, row, TRANSFER_THREAD, activity_stream(lanes, record->device, record->context, record->stream));
  row_set(rows, row, TRANSFER_BYTES, (int64_t)record->bytes);
  row_set(rows, row, TRANSFER_ASYNC, record->flags & 1);
  uint64_t correlation = activity_correlation(lanes, record->correlation);
  if (correlation) row_set(rows, row, TRANSFER_CORRELATION, (int64_t)correlation);
  row_set(rows, row, TRANSFER_NAME, set_names[memory]);
}

/* ---- Memory. */

/* CUpti_ActivityUnifiedMemoryCounterKind; its value is bytes of some, the flags are a cause of those that move. */
void copy_rows_add_migration(struct activity_lanes *lanes, const struct cupti_unified_memory *record) {
  enum { SAYS_BYTES = 1, MOVES = 2, FROM_DEVICE = 4, TO_DEVICE = 8, LASTS = 16, OF_SOURCE = 32 };
  static const struct {
    const char *name;
    unsigned what;
  } counters[] = {
      {NULL, 0},
      {"HtoD", SAYS_BYTES | MOVES | TO_DEVICE | LASTS},
      {"DtoH", SAYS_BYTES | MOVES | FROM_DEVICE | LASTS},
      {"CPU page fault", 0},
      {"GPU page fault", LASTS | OF_SOURCE},
      {"thrashing", SAYS_BYTES},
      {"throttling", LASTS | OF_SOURCE},
      {"remote map", SAYS_BYTES | TO_DEVICE},
      {"DtoD", SAYS_BYTES | MOVES | FROM_DEVICE | TO_DEVICE | LASTS},
  };
  static const char *const causes[] = {NULL, "user", "coherence", "prefetch", "eviction", "access counters"};
  uint32_t row = new_row(MIGRATIONS), number = record->counter;
  if (row == UINT32_MAX) return;
  struct row_buffer *rows = &tables[MIGRATIONS];
  char text[32];
  snprintf(text, sizeof text, "counter %u", number);
  bool is_known = number && number < sizeof counters / sizeof *counters;
  unsigned what = is_known ? counters[number].what : 0;
  row_set(rows, row, MIGRATION_KIND, constant(lanes->recorder, is_known ? counters[number].name : text));
  activity_set_span(lanes, rows, row, MIGRATION_START, record->start, what & LASTS ? record->end : record->start);
  row_set(rows, row, MIGRATION_ADDRESS, (int64_t)record->address);
  if (what & SAYS_BYTES) row_set(rows, row, MIGRATION_BYTES, (int64_t)record->value);
  if (what & FROM_DEVICE) activity_set_row(rows, row, MIGRATION_SOURCE, activity_device(lanes, record->source));
  if (what & TO_DEVICE) activity_set_row(rows, row, MIGRATION_TARGET, activity_device(lanes, record->target));
  if (what & OF_SOURCE) activity_set_row(rows, row, MIGRATION_TARGET, activity_device(lanes, record->source));
  if (what & MOVES && record->flags < sizeof causes / sizeof *causes && causes[record->flags])
    row_set(rows, row, MIGRATION_REASON, constant(lanes->recorder, causes[record->flags]));
}

struct segment_event {
  uint64_t time, address;
  int64_t bytes; /* negative: given back */
  uint32_t device;
  const char *allocator;
};

static void add_segment(struct activity_lanes *lanes, const struct segment_event *event) {
  uint32_t row = new_row(MEMORY);
  if (row == UINT32_MAX) return;
  struct row_buffer *rows = &tables[MEMORY];
  activity_set_time(lanes, rows, row, MEMORY_TIME, event->time);
  row_set(rows, row, MEMORY_KIND, constant(lanes->recorder, event->bytes < 0 ? "segment_release" : "segment_allocate"));
  row_set(rows, row, MEMORY_BYTES, event->bytes);
  activity_set_row(rows, row, MEMORY_DEVICE, activity_device(lanes, event->device));
  row_set(rows, row, MEMORY_ALLOCATOR, constant(lanes->recorder, event->allocator));
  row_set(rows, row, MEMORY_ADDRESS, (int64_t)event->address);
}

/* Of the host's memory that is pinned, too. */
void copy_rows_add_memory(struct activity_lanes *lanes, const struct cupti_memory *record) {
  static const char *const allocators[] = {"cuda",       "cuda",         "cuda pinned", "cuda",
                                           "cuda array", "cuda managed", "cuda static", "cuda managed static"};
  bool is_release = record->operation == 2;
  uint64_t bytes = record->bytes > INT64_MAX ? INT64_MAX : record->bytes;
  add_segment(lanes,
              &(struct segment_event){record->time, record->address, is_release ? -(int64_t)bytes : (int64_t)bytes,
                                      record->device, allocators[record->memory < 8 ? record->memory : 0]});
}

/* CUpti_ActivityMemoryPoolOperationType: made, destroyed, trimmed. */
void copy_rows_add_pool(struct activity_lanes *lanes, const struct cupti_memory_pool *record) {
  enum { CREATED = 1, DESTROYED = 2 };
  uint64_t bytes = record->bytes > INT64_MAX ? INT64_MAX : record->bytes;
  if (record->operation != CREATED && record->operation != DESTROYED) return;
  add_segment(lanes, &(struct segment_event){record->time, record->address,
                                             record->operation == DESTROYED ? -(int64_t)bytes : (int64_t)bytes,
                                             record->device, "cuda pool"});
}
