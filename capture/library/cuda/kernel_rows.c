/* kernel_rows.c: see kernel_rows.h. */
#include "kernel_rows.h"

#include "demangle.h"
#include "launch_budget.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

enum {
  KERNEL_START,
  KERNEL_DUR,
  KERNEL_DEVICE,
  KERNEL_THREAD,
  KERNEL_CORRELATION,
  KERNEL_CONFIGURATION,
  KERNEL_QUEUED,
  KERNEL_SUBMITTED,
  KERNEL_GRAPH,
  KERNEL_GRAPH_NODE,
  KERNEL_COLUMNS
};
static const struct row_column kernel_columns[KERNEL_COLUMNS] = {
    {DUMP_kernels_start_ns, DUMP_ASCENDING, false, false},
    {DUMP_kernels_dur_ns, DUMP_UNORDERED, false, false},
    {DUMP_kernels_device_id, DUMP_UNORDERED, false, false},
    {DUMP_kernels_thread_id, DUMP_UNORDERED, false, false},
    {DUMP_kernels_correlation, DUMP_ASCENDING, false, false},
    {DUMP_kernels_configuration_id, DUMP_UNORDERED, false, false},
    {DUMP_kernels_queued_ns, DUMP_ASCENDING, false, false},
    {DUMP_kernels_submitted_ns, DUMP_ASCENDING, false, false},
    {DUMP_kernels_graph, DUMP_UNORDERED, false, false},
    {DUMP_kernels_graph_node, DUMP_UNORDERED, false, false},
};

enum {
  FORM_NAME,
  FORM_GRID,
  FORM_BLOCK = FORM_GRID + 3,
  FORM_CLUSTER = FORM_BLOCK + 3,
  FORM_REGISTERS = FORM_CLUSTER + 3,
  FORM_STATIC,
  FORM_DYNAMIC,
  FORM_EXECUTED,
  FORM_LOCAL,
  FORM_CACHE,
  FORM_PRIORITY,
  FORM_COLUMNS
};
#define FORM(column) \
  { DUMP_kernel_configurations_##column, DUMP_UNORDERED, false, false }
static const struct row_column form_columns[FORM_COLUMNS] = {
    FORM(name),
    FORM(grid_x),
    FORM(grid_y),
    FORM(grid_z),
    FORM(block_x),
    FORM(block_y),
    FORM(block_z),
    FORM(cluster_x),
    FORM(cluster_y),
    FORM(cluster_z),
    FORM(registers_per_thread),
    FORM(static_shared_bytes),
    FORM(dynamic_shared_bytes),
    FORM(executed_shared_bytes),
    FORM(local_bytes_per_thread),
    FORM(cache_config),
    FORM(priority),
};
#undef FORM

static const struct table_form kernels_form =
    DEVICE_TABLE_FORM(kernels, TABLE_ROWS, "kernels", kernel_columns, DUMP_FRAME_ROWS);
static const struct table_form configurations_form =
    DEVICE_TABLE_FORM(kernel_configurations, TABLE_DEFINITION, "configurations of kernels", form_columns, 256);

enum {
  NAMES = 1 << 14,                  /* addresses that are known at a time */
  CONFIGURATIONS_MAXIMUM = 1 << 18, /* and configurations: a program that makes ever new ones has some twice */
  CALLS = 1 << 14,
};

/* What a configuration is told by. */
struct configuration {
  uint64_t name; /* string */
  int32_t grid[3], block[3];
  uint32_t cluster[3];
  int32_t static_shared, dynamic_shared;
  uint32_t executed_shared, local;
  int32_t priority;
  uint16_t registers;
  uint8_t cache, has_priority;
  uint32_t padding;
};
_Static_assert(sizeof(struct configuration) % 8 == 0, "hashed by words");

static struct row_buffer kernels, configurations;
static struct key_map known; /* two hashes of a configuration to its row */
static struct known_name {
  const char *address;
  char *text; /* a copy: another name may come to lie there */
  uint32_t string;
} * names;
/* That began not long ago, by their numbers: calls; the first kernels of calls that have not been told yet. */
static struct beginning {
  uint64_t correlation;
  int64_t start_ns;
  int64_t end_ns; /* of a call */
} *calls, *first_kernels;
static uint32_t cache_words[4];                         /* strings */
static uint64_t early, lost;
static struct kernel_leads leads;
static uint64_t judged_last; /* a correlation: of a graph's kernels the first one tells */

bool kernel_rows_open(struct recorder *recorder) {
  static const char *const words[] = {"none", "shared", "cache", "equal"}; /* CUfunc_cache */
  memset(&known, 0, sizeof known);
  early = lost = judged_last = 0;
  memset(&leads, 0, sizeof leads);
  names = calloc(NAMES, sizeof *names);
  calls = calloc(CALLS, sizeof *calls);
  first_kernels = calloc(CALLS, sizeof *first_kernels);
  for (unsigned i = 0; i < 4; i++) cache_words[i] = dump_writer_string(recorder->writer, words[i], strlen(words[i]));
  return names && calls && first_kernels && row_tables_add(&recorder->tables, &configurations, &configurations_form) &&
         row_tables_add(&recorder->tables, &kernels, &kernels_form);
}

void kernel_rows_close(void) {
  for (unsigned i = 0; names && i < NAMES; i++) free(names[i].text);
  free(names);
  free(calls);
  free(first_kernels);
  names = NULL;
  calls = first_kernels = NULL;
  key_map_end(&known);
}

static uint32_t name_string(struct recorder *recorder, const char *address) {
  if (!address) return 0;
  struct known_name *name = &names[hash_spread((uintptr_t)address, 14)];
  if (name->address == address && name->text && !strcmp(name->text, address)) return name->string;
  char *readable = demangle(address);
  const char *shown = readable ? readable : address;
  free(name->text);
  *name = (struct known_name){address, strdup(address),
                              texts_keep(&recorder->texts, recorder->writer, shown, strlen(shown))};
  free(readable);
  return name->string;
}

static uint32_t add_configuration(const struct configuration *key) {
  uint32_t row = row_add(&configurations);
  if (row == UINT32_MAX) return 0;
  if (key->name) row_set(&configurations, row, FORM_NAME, (int64_t)key->name);
  for (unsigned i = 0; i < 3; i++) {
    row_set(&configurations, row, FORM_GRID + i, key->grid[i]);
    row_set(&configurations, row, FORM_BLOCK + i, key->block[i]);
    if (key->cluster[0]) row_set(&configurations, row, FORM_CLUSTER + i, key->cluster[i]);
  }
  row_set(&configurations, row, FORM_REGISTERS, key->registers);
  row_set(&configurations, row, FORM_STATIC, key->static_shared);
  row_set(&configurations, row, FORM_DYNAMIC, key->dynamic_shared);
  row_set(&configurations, row, FORM_EXECUTED, key->executed_shared);
  row_set(&configurations, row, FORM_LOCAL, key->local);
  if (key->cache < 4) row_set(&configurations, row, FORM_CACHE, cache_words[key->cache]);
  if (key->has_priority) row_set(&configurations, row, FORM_PRIORITY, key->priority);
  return (uint32_t)(configurations.first_row + row + 1);
}

/* Its row + 1; 0: no memory. */
static uint32_t configuration_row(const struct configuration *key) {
  uint64_t words[sizeof *key / 8];
  memcpy(words, key, sizeof words);
  uint64_t first = hash_words(words, sizeof words / 8), second = HASH_FNV1A_START;
  for (size_t i = 0; i < sizeof words / 8; i++) second = (second ^ words[i]) * HASH_FACTOR_1;
  if (known.used >= CONFIGURATIONS_MAXIMUM) key_map_end(&known);
  struct key_map_entry *entry = key_map_entry(&known, first, second);
  if (!entry) return 0;
  if (!entry->row_plus_one && (entry->row_plus_one = add_configuration(key))) key_map_added(&known);
  return entry->row_plus_one;
}

static void read_configuration(struct configuration *key, struct recorder *recorder, const struct cupti_kernel *record,
                               size_t bytes) {
  memset(key, 0, sizeof *key);
  key->name = name_string(recorder, record->name);
  memcpy(key->grid, record->grid, sizeof key->grid);
  memcpy(key->block, record->block, sizeof key->block);
  key->static_shared = record->static_shared;
  key->dynamic_shared = record->dynamic_shared;
  key->executed_shared = record->shared_executed;
  key->local = record->local_per_thread;
  key->registers = record->registers;
  key->cache = record->cache_config & 0xf;
  if (HAS_FIELD(bytes, cupti_kernel, cluster)) memcpy(key->cluster, record->cluster, sizeof key->cluster);
  if (HAS_FIELD(bytes, cupti_kernel, priority)) {
    key->has_priority = 1;
    key->priority = record->priority;
  }
}

static void judge_lead(const struct beginning *call, int64_t start) {
  leads.judged++;
  leads.exposed += start < call->end_ns + LEAD_NS;
  early += start < call->start_ns;
}

/* Which of the two records comes first is CUPTI's affair. */
void kernel_rows_note_call(uint64_t correlation, int64_t start, int64_t end) {
  if (start == DEVICE_CLOCK_UNKNOWN) return;
  struct beginning *call = &calls[correlation % CALLS];
  *call = (struct beginning){correlation, start, end > start ? end : start};
  struct beginning *kernel = &first_kernels[correlation % CALLS];
  if (kernel->correlation != correlation) return;
  judge_lead(call, kernel->start_ns);
  kernel->correlation = 0;
}

static void note_kernel(uint64_t correlation, int64_t start) {
  const struct beginning *call = &calls[correlation % CALLS];
  struct beginning *kernel = &first_kernels[correlation % CALLS];
  if (!correlation || start == DEVICE_CLOCK_UNKNOWN || correlation == judged_last) return;
  judged_last = correlation;
  if (call->correlation == correlation) judge_lead(call, start);
  else *kernel = (struct beginning){.correlation = correlation, .start_ns = start};
}

uint64_t kernel_rows_early(void) { return early; }
struct kernel_leads kernel_rows_leads(void) {
  return leads;
}

void kernel_rows_losses(struct recorder *recorder, struct activity_losses losses) {
  recorder_lost(recorder, (struct loss){losses.dropped + losses.discarded, "error",
                                        "records of the GPU were lost: there was no free buffer for them; more are "
                                        "held with --buffer-size",
                                        "kernels", &kernels});
  recorder_lost(recorder, (struct loss){lost, "error", "kernels were lost for want of memory", "kernels", &kernels});
}

void kernel_rows_add(struct activity_lanes *lanes, const struct cupti_kernel *record, size_t bytes) {
  struct configuration key;
  read_configuration(&key, lanes->recorder, record, bytes);
  uint32_t configuration = configuration_row(&key), row = row_add(&kernels);
  if (row == UINT32_MAX) {
    lost++;
    return;
  }
  activity_set_span(lanes, &kernels, row, KERNEL_START, record->start, record->end);
  activity_set_row(&kernels, row, KERNEL_DEVICE, activity_device(lanes, record->device));
  activity_set_row(&kernels, row, KERNEL_THREAD,
                   activity_stream(lanes, record->device, record->context, record->stream));
  uint64_t correlation = activity_correlation(lanes, record->correlation);
  if (correlation) row_set(&kernels, row, KERNEL_CORRELATION, (int64_t)correlation);
  if (configuration) row_set(&kernels, row, KERNEL_CONFIGURATION, configuration - 1);
  activity_set_time(lanes, &kernels, row, KERNEL_QUEUED, record->queued);
  activity_set_time(lanes, &kernels, row, KERNEL_SUBMITTED, record->submitted);
  if (record->graph) row_set(&kernels, row, KERNEL_GRAPH, record->graph);
  if (record->graph_node) row_set(&kernels, row, KERNEL_GRAPH_NODE, (int64_t)record->graph_node);
  note_kernel(correlation, device_clock_ns(&lanes->clock, record->start));
}
