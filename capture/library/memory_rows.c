/* memory_rows.c: see memory_rows.h. */
#include "memory_rows.h"

#include "dump_ids.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
  EVENT_TIME,
  EVENT_KIND,
  EVENT_BYTES,
  EVENT_IN_USE,
  EVENT_RESERVED,
  EVENT_PEAK,
  EVENT_DEVICE,
  EVENT_ALLOCATOR,
  EVENT_ADDRESS,
  EVENT_THREAD,
  EVENT_TRACE,
  EVENT_COLUMNS
};
static const struct row_column event_columns[EVENT_COLUMNS] = {
    {DUMP_memory_events_time_ns, DUMP_ASCENDING, false, true},
    {DUMP_memory_events_kind, DUMP_UNORDERED, false, true},
    {DUMP_memory_events_bytes, DUMP_UNORDERED, false, true},
    {DUMP_memory_events_in_use_bytes, DUMP_ASCENDING, false, false},
    {DUMP_memory_events_reserved_bytes, DUMP_ASCENDING, false, false},
    {DUMP_memory_events_peak_bytes, DUMP_ASCENDING, false, false},
    {DUMP_memory_events_device_id, DUMP_UNORDERED, false, true},
    {DUMP_memory_events_allocator, DUMP_UNORDERED, false, false},
    {DUMP_memory_events_address, DUMP_UNORDERED, false, false},
    {DUMP_memory_events_thread, DUMP_UNORDERED, false, true},
    {DUMP_memory_events_recorded_code_trace, DUMP_UNORDERED, false, false},
};

/* Growth by this share of the peak and this many bytes is written without delay. */
enum { GROWTH_SHARE = 16, GROWTH_BYTES = 64 << 20 };

enum { DEVICE_NAME, DEVICE_KIND, DEVICE_ORDINAL, DEVICE_CORES, DEVICE_MEMORY, DEVICE_COLUMNS };
static const struct row_column device_columns[DEVICE_COLUMNS] = {
    {DUMP_devices_name, DUMP_UNORDERED, false, false},
    {DUMP_devices_kind, DUMP_UNORDERED, false, false},
    {DUMP_devices_ordinal, DUMP_UNORDERED, false, false},
    {DUMP_devices_multiprocessor_count, DUMP_UNORDERED, false, false},
    {DUMP_devices_memory_bytes, DUMP_UNORDERED, false, false},
};

/* c10/core/DeviceType.h: by its number the name that PyTorch shows, and our kind. */
static const struct {
  const char *name, *kind;
} device_types[] = {
    [0] = {"cpu", "cpu"},   [1] = {"cuda", "gpu"}, [6] = {"cuda", "gpu"}, [9] = {"xla", "tpu"},
    [12] = {"xpu", "gpu"},  [13] = {"mps", "gpu"}, [17] = {"mtia", NULL}, [20] = {"privateuseone", NULL},
};

static uint32_t string_of(struct dump_writer *writer, const char *text) {
  return dump_writer_string(writer, text, strlen(text));
}

bool memory_rows_begin(struct memory_rows *rows, struct dump_writer *writer) {
  memset(rows, 0, sizeof *rows);
  rows->allocate = string_of(writer, "allocate");
  rows->release = string_of(writer, "release");
  rows->out_of_memory = string_of(writer, "out_of_memory");
  memory_take_over(&rows->live);
  return row_buffer_begin(&rows->events, DUMP_TABLE_memory_events, event_columns, EVENT_COLUMNS, DUMP_FRAME_ROWS) &&
         row_buffer_begin(&rows->devices, DUMP_TABLE_devices, device_columns, DEVICE_COLUMNS, 64);
}

void memory_rows_end(struct memory_rows *rows) {
  row_buffer_end(&rows->events);
  row_buffer_end(&rows->devices);
  live_memory_end(&rows->live);
}

bool memory_rows_have_grown(const struct memory_rows *rows) {
  for (unsigned i = 0; i < POOL_MAXIMUM; i++) {
    uint64_t written = rows->pools[i].peak_written;
    if (rows->pools[i].peak > written + written / GROWTH_SHARE + GROWTH_BYTES) return true;
  }
  return false;
}

void memory_rows_written(struct memory_rows *rows) {
  for (unsigned i = 0; i < POOL_MAXIMUM; i++) rows->pools[i].peak_written = rows->pools[i].peak;
}

/* Of the processors that are threads of one core the first counts. 0: the system does not tell. */
static int64_t count_cores(void) {
  static int64_t cores = -1; /* asked once, for all processes that are forked; the writer thread is one */
  if (cores >= 0) return cores;
  cores = 0;
  long processors = sysconf(_SC_NPROCESSORS_CONF);
  for (long number = 0; number < processors; number++) {
    char path[80];
    long first = -1;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/topology/thread_siblings_list", number);
    FILE *file = fopen(path, "re");
    if (!file) continue; /* not in use */
    cores += fscanf(file, "%ld", &first) == 1 && first == number;
    fclose(file);
  }
  return cores;
}

static int64_t add_device(struct memory_rows *rows, struct dump_writer *writer, struct torch_device device) {
  uint32_t row = row_add(&rows->devices);
  if (row == UINT32_MAX) return 0;
  size_t type = (size_t)(uint8_t)device.type, known = sizeof device_types / sizeof device_types[0];
  const char *type_name = type < known ? device_types[type].name : NULL;
  const char *kind = type < known ? device_types[type].kind : NULL;
  char name[48];
  if (!type_name)
    snprintf(name, sizeof name, "device type %zu:%d", type, device.index);
  else if (device.type == DEVICE_TYPE_CPU)
    snprintf(name, sizeof name, "%s", type_name);
  else
    snprintf(name, sizeof name, "%s:%d", type_name, device.index);
  row_set(&rows->devices, row, DEVICE_NAME, string_of(writer, name));
  if (kind) row_set(&rows->devices, row, DEVICE_KIND, string_of(writer, kind));
  row_set(&rows->devices, row, DEVICE_ORDINAL, device.index < 0 ? 0 : device.index);
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (device.type == DEVICE_TYPE_CPU && pages > 0 && page > 0)
    row_set(&rows->devices, row, DEVICE_MEMORY, (int64_t)pages * page);
  if (device.type == DEVICE_TYPE_CPU && count_cores() > 0)
    row_set(&rows->devices, row, DEVICE_CORES, count_cores());
  return (int64_t)(rows->devices.first_row + row) + 1;
}

/* The row of the pool's device. Pools of one device share it. */
static int64_t device_row(struct memory_rows *rows, struct dump_writer *writer, unsigned number) {
  if (rows->pools[number].device) return rows->pools[number].device - 1;
  const struct memory_pool *pool = memory_pool_of_number(number);
  if (!pool) return -1;
  int64_t device = 0;
  for (unsigned other = 0; other < POOL_MAXIMUM && !device; other++) {
    const struct memory_pool *of_other = rows->pools[other].device ? memory_pool_of_number(other) : NULL;
    if (of_other && of_other->device.type == pool->device.type && of_other->device.index == pool->device.index)
      device = rows->pools[other].device;
  }
  if (!device) device = add_device(rows, writer, pool->device);
  rows->pools[number].device = device;
  if (number == POOL_CPU) rows->pools[number].peak = rows->live.peak;
  if (pool->device.type == DEVICE_TYPE_CPU)
    rows->pools[number].allocator = string_of(writer, number == POOL_CPU ? "DefaultCPUAllocator" : "MapAllocator");
  return device - 1;
}

bool memory_rows_add(struct memory_rows *rows, struct dump_writer *writer, const struct clock_map *clock,
                     const struct memory_item *item, int64_t thread, uint64_t trace) {
  unsigned number = item->head.scope;
  bool is_failure = item->head.kind == ITEM_OUT_OF_MEMORY;
  int64_t bytes = item->bytes;
  uint64_t in_use = item->in_use;
  if (number == POOL_CPU) {
    if (!is_failure && bytes >= 0) live_memory_put(&rows->live, item->address, bytes);
    if (bytes == MEMORY_SIZE_UNKNOWN && !(bytes = -live_memory_take(&rows->live, item->address))) {
      rows->unknown++;
      return true;
    }
    in_use = rows->live.in_use;
  }
  int64_t device = number < POOL_MAXIMUM ? device_row(rows, writer, number) : -1;
  struct row_buffer *events = &rows->events;
  uint32_t row = device < 0 || thread < 0 ? UINT32_MAX : row_add(events);
  if (row == UINT32_MAX) return false;
  row_put(events, row, EVENT_TIME, clock_map_ns(clock, item->ticks));
  row_put(events, row, EVENT_KIND, is_failure ? rows->out_of_memory : bytes < 0 ? rows->release : rows->allocate);
  row_put(events, row, EVENT_BYTES, bytes);
  row_put(events, row, EVENT_DEVICE, device);
  row_put(events, row, EVENT_THREAD, thread);
  if (in_use != MEMORY_UNKNOWN) {
    uint64_t *peak = &rows->pools[number].peak;
    if (in_use > *peak) *peak = in_use;
    row_set(events, row, EVENT_IN_USE, (int64_t)in_use);
    row_set(events, row, EVENT_PEAK, (int64_t)*peak);
  }
  if (item->reserved != MEMORY_UNKNOWN) row_set(events, row, EVENT_RESERVED, (int64_t)item->reserved);
  if (rows->pools[number].allocator) row_set(events, row, EVENT_ALLOCATOR, rows->pools[number].allocator);
  if (!is_failure) row_set(events, row, EVENT_ADDRESS, (int64_t)item->address);
  if (trace) row_set(events, row, EVENT_TRACE, (int64_t)trace - 1);
  return true;
}
