/* memory_rows.c: see memory_rows.h. */
#include "memory_rows.h"

#include "recorder/dump_ids.h"

#include <stdio.h>
#include <stdlib.h>
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

enum {
  TOTAL_START,
  TOTAL_END,
  TOTAL_DEVICE,
  TOTAL_ALLOCATOR,
  TOTAL_COUNT,
  TOTAL_BYTES,
  TOTAL_WEIGHT,
  TOTAL_TRACE,
  TOTAL_COLUMNS
};
static const struct row_column total_columns[TOTAL_COLUMNS] = {
    {DUMP_memory_totals_start_ns, DUMP_ASCENDING, false, true},
    {DUMP_memory_totals_end_ns, DUMP_ASCENDING, false, true},
    {DUMP_memory_totals_device_id, DUMP_UNORDERED, false, true},
    {DUMP_memory_totals_allocator, DUMP_UNORDERED, false, false},
    {DUMP_memory_totals_allocation_count, DUMP_UNORDERED, false, true},
    {DUMP_memory_totals_allocated_bytes, DUMP_UNORDERED, false, true},
    {DUMP_memory_totals_sample_weight, DUMP_UNORDERED, true, false},
    {DUMP_memory_totals_code_trace_id, DUMP_UNORDERED, false, false},
};

/* Peaks that are higher by one part in so many than the last one have their pieces written at the next second. */
enum { PEAK_SHARE = 64, TOTALS_SECONDS = 10 };

bool memory_rows_begin(struct memory_rows *rows, struct dump_writer *writer, const struct clock_map *clock) {
  memset(rows, 0, sizeof *rows);
  rows->writer = writer;
  rows->clock = clock;
  rows->allocate = string_of(writer, "allocate");
  rows->release = string_of(writer, "release");
  rows->out_of_memory = string_of(writer, "out_of_memory");
  struct live_memory *live = &rows->pools[POOL_CPU].live;
  memory_take_over(live);
  for (size_t i = 0; live->pieces && i <= live->mask; i++) live->pieces[i].left_out = 0; /* the parent's numbers */
  return row_buffer_begin(&rows->events, DUMP_TABLE_memory_events, event_columns, EVENT_COLUMNS, DUMP_FRAME_ROWS) &&
         row_buffer_begin(&rows->totals, DUMP_TABLE_memory_totals, total_columns, TOTAL_COLUMNS, 64) &&
         row_buffer_begin(&rows->devices, DUMP_TABLE_devices, device_columns, DEVICE_COLUMNS, 64);
}

void memory_rows_end(struct memory_rows *rows) {
  row_buffer_end(&rows->events);
  row_buffer_end(&rows->totals);
  row_buffer_end(&rows->devices);
  for (unsigned i = 0; i < POOL_MAXIMUM; i++) live_memory_end(&rows->pools[i].live);
  left_out_end(&rows->left_out);
  row_map_end(&rows->total_map);
  free(rows->sums);
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

static int64_t add_device(struct memory_rows *rows, struct torch_device device) {
  struct dump_writer *writer = rows->writer;
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
static int64_t device_row(struct memory_rows *rows, unsigned number) {
  struct dump_writer *writer = rows->writer;
  if (rows->pools[number].device) return rows->pools[number].device - 1;
  const struct memory_pool *pool = memory_pool_of_number(number);
  if (!pool) return -1;
  int64_t device = 0;
  for (unsigned other = 0; other < POOL_MAXIMUM && !device; other++) {
    const struct memory_pool *of_other = rows->pools[other].device ? memory_pool_of_number(other) : NULL;
    if (of_other && of_other->device.type == pool->device.type && of_other->device.index == pool->device.index)
      device = rows->pools[other].device;
  }
  if (!device) device = add_device(rows, pool->device);
  rows->pools[number].device = device;
  if (number == POOL_CPU) rows->pools[number].peak = rows->pools[number].live.peak;
  if (pool->device.type == DEVICE_TYPE_CPU)
    rows->pools[number].allocator = string_of(writer, number == POOL_CPU ? "DefaultCPUAllocator" : "MapAllocator");
  return device - 1;
}

/* ---- Events. */

static unsigned pool_of(const struct memory_event *event) {
  return event->item.head.scope & ~(unsigned)MEMORY_WITHOUT_OPS;
}

static bool add_event(struct memory_rows *rows, const struct memory_event *event) {
  const struct memory_item *item = &event->item;
  unsigned number = pool_of(event);
  bool is_failure = item->head.kind == ITEM_OUT_OF_MEMORY;
  struct row_buffer *events = &rows->events;
  uint32_t row = row_add(events);
  if (row == UINT32_MAX) return false;
  row_put(events, row, EVENT_TIME, clock_map_ns(rows->clock, item->ticks) + event->later_ns);
  row_put(events, row, EVENT_KIND, is_failure ? rows->out_of_memory : item->bytes < 0 ? rows->release : rows->allocate);
  row_put(events, row, EVENT_BYTES, item->bytes);
  row_put(events, row, EVENT_DEVICE, device_row(rows, number));
  row_put(events, row, EVENT_THREAD, event->thread);
  if (item->in_use != MEMORY_UNKNOWN) {
    row_set(events, row, EVENT_IN_USE, (int64_t)item->in_use);
    row_set(events, row, EVENT_PEAK, (int64_t)event->peak);
  }
  if (item->reserved != MEMORY_UNKNOWN) row_set(events, row, EVENT_RESERVED, (int64_t)item->reserved);
  if (rows->pools[number].allocator) row_set(events, row, EVENT_ALLOCATOR, rows->pools[number].allocator);
  if (!is_failure) row_set(events, row, EVENT_ADDRESS, (int64_t)item->address);
  if (event->trace) row_set(events, row, EVENT_TRACE, (int64_t)event->trace - 1);
  return true;
}

/* ---- Sums. */

static struct memory_total *find_sum(struct memory_rows *rows, uint32_t trace, unsigned pool) {
  struct row_map_entry *entry = row_map_entry(&rows->total_map, trace, pool + 1);
  if (!entry) return NULL;
  if (entry->row_plus_one) return &rows->sums[entry->row_plus_one - 1];
  if (rows->sum_count == rows->sum_capacity) {
    uint32_t capacity = rows->sum_capacity ? rows->sum_capacity * 2 : 64;
    struct memory_total *sums = realloc(rows->sums, capacity * sizeof *sums);
    if (!sums) return NULL;
    rows->sums = sums;
    rows->sum_capacity = capacity;
  }
  rows->sums[rows->sum_count] = (struct memory_total){.trace = trace, .pool = pool};
  entry->row_plus_one = ++rows->sum_count;
  row_map_added(&rows->total_map);
  return &rows->sums[rows->sum_count - 1];
}

/* Nothing rests on the piece: it is counted. */
static void drop(struct memory_rows *rows, uint32_t number) {
  struct left_out_piece *piece = left_out_piece(&rows->left_out, number);
  struct memory_total *sum = find_sum(rows, (uint32_t)piece->given.trace, pool_of(&piece->given));
  if (sum) {
    if (!sum->count) sum->since_ns = clock_map_ns(rows->clock, piece->given.item.ticks);
    sum->count++;
    sum->bytes += (uint64_t)piece->given.item.bytes;
    rows->summed++;
  } else {
    rows->no_room++;
  }
  left_out_remove(&rows->left_out, number);
}

static void write_sums(struct memory_rows *rows, int64_t now_ns, bool with_lines) {
  for (uint32_t i = 0; i < rows->sum_count; i++) {
    struct memory_total *sum = &rows->sums[i];
    if (!sum->count || (sum->trace && !with_lines)) continue;
    uint32_t row = row_add(&rows->totals);
    if (row == UINT32_MAX) return; /* they go on growing */
    row_put(&rows->totals, row, TOTAL_START, sum->since_ns);
    row_put(&rows->totals, row, TOTAL_END, now_ns > sum->since_ns ? now_ns : sum->since_ns);
    row_put(&rows->totals, row, TOTAL_DEVICE, device_row(rows, sum->pool));
    if (rows->pools[sum->pool].allocator)
      row_set(&rows->totals, row, TOTAL_ALLOCATOR, rows->pools[sum->pool].allocator);
    row_put(&rows->totals, row, TOTAL_COUNT, (int64_t)sum->count);
    row_put(&rows->totals, row, TOTAL_BYTES, (int64_t)sum->bytes);
    row_set_real(&rows->totals, row, TOTAL_WEIGHT, rows->is_spoken_for ? 0 : 1);
    if (sum->trace) row_set(&rows->totals, row, TOTAL_TRACE, (int64_t)sum->trace - 1);
    sum->count = sum->bytes = 0;
    sum->since_ns = now_ns;
  }
}

/* ---- Pieces without rows. */

/* The piece gets its rows: what it was given with, and its end where it has come. */
static void give_rows(struct memory_rows *rows, uint32_t number) {
  struct left_out_piece *piece = left_out_piece(&rows->left_out, number);
  struct memory_pool_rows *pool = &rows->pools[pool_of(&piece->given)];
  rows->no_room += !add_event(rows, &piece->given);
  if (piece->state == PIECE_TAKEN) {
    rows->no_room += !add_event(rows, &piece->taken);
  } else if (pool == &rows->pools[POOL_CPU]) {
    struct live_piece *live = live_memory_find(&pool->live, piece->given.item.address);
    if (live) live->left_out = 0;
  } else {
    uint32_t left_out;
    live_memory_take(&pool->live, piece->given.item.address, &left_out);
  }
  left_out_remove(&rows->left_out, number);
  if (rows->events.rows >= DUMP_FRAME_ROWS && rows->full) rows->full(NULL);
}

/* Those given until `order` and, in nanoseconds, `until_ns`, of one pool or of all (-1). */
static void give_live(struct memory_rows *rows, int of_pool, uint64_t order, int64_t until_ns) {
  for (uint32_t number = 1; number <= rows->left_out.count; number++) {
    const struct left_out_piece *piece = left_out_piece(&rows->left_out, number);
    if (piece->state != PIECE_LIVE || piece->order > order) continue;
    if (of_pool >= 0 && pool_of(&piece->given) != (unsigned)of_pool) continue;
    if (until_ns != INT64_MAX && clock_map_ns(rows->clock, piece->given.item.ticks) > until_ns) continue;
    give_rows(rows, number);
  }
}

void memory_rows_settle(struct memory_rows *rows) {
  give_live(rows, -1, UINT64_MAX, INT64_MAX);
  rows->has_left_out = false;
}

static void drop_taken(struct memory_rows *rows, struct memory_pool_rows *pool) {
  while (pool->first_taken) {
    uint32_t number = pool->first_taken;
    pool->first_taken = left_out_piece(&rows->left_out, number)->next;
    drop(rows, number);
  }
}

/* More is in use than ever before. */
static void open_peak(struct memory_rows *rows, struct memory_pool_rows *pool, bool is_left_out) {
  drop_taken(rows, pool);
  pool->is_peak_open = is_left_out; /* else all that is live has its rows */
  pool->peak_order = rows->left_out.order;
  if (!is_left_out) pool->peak_given = pool->peak;
}

static void give_peak(struct memory_rows *rows, unsigned number) {
  struct memory_pool_rows *pool = &rows->pools[number];
  while (pool->first_taken) {
    uint32_t taken = pool->first_taken;
    pool->first_taken = left_out_piece(&rows->left_out, taken)->next;
    give_rows(rows, taken);
  }
  give_live(rows, (int)number, pool->peak_order, INT64_MAX);
  pool->is_peak_open = false;
  pool->peak_given = pool->peak;
}

static void take_left_out(struct memory_rows *rows, uint32_t number, const struct memory_event *event) {
  struct left_out_piece *piece = left_out_piece(&rows->left_out, number);
  struct memory_pool_rows *pool = &rows->pools[pool_of(event)];
  if (!pool->is_peak_open || piece->order > pool->peak_order) {
    drop(rows, number);
    return;
  }
  piece->taken = *event;
  piece->state = PIECE_TAKEN;
  piece->next = pool->first_taken;
  pool->first_taken = number;
}

/* ---- From outside. */

static bool add_release(struct memory_rows *rows, struct memory_event *event) {
  unsigned number = pool_of(event);
  struct memory_pool_rows *pool = &rows->pools[number];
  struct memory_item *item = &event->item;
  uint32_t left_out = 0;
  if (number == POOL_CPU) {
    int64_t bytes = live_memory_take(&pool->live, item->address, &left_out);
    if (item->bytes == MEMORY_SIZE_UNKNOWN && !bytes) {
      rows->unknown++;
      return true;
    }
    if (item->bytes == MEMORY_SIZE_UNKNOWN) item->bytes = -bytes;
    item->in_use = pool->live.in_use;
  } else if (pool->live.count) {
    live_memory_take(&pool->live, item->address, &left_out);
  }
  event->peak = pool->peak;
  if (device_row(rows, number) < 0 || event->thread < 0) return false;
  if (!left_out) return add_event(rows, event);
  take_left_out(rows, left_out, event);
  return true;
}

static bool add_allocation(struct memory_rows *rows, struct memory_event *event, bool is_left_out) {
  unsigned number = pool_of(event);
  struct memory_pool_rows *pool = &rows->pools[number];
  struct memory_item *item = &event->item;
  bool is_failure = item->head.kind == ITEM_OUT_OF_MEMORY;
  bool has_room = device_row(rows, number) >= 0 && event->thread >= 0;
  uint32_t left_out = is_left_out && has_room ? left_out_add(&rows->left_out, event) : 0, displaced = 0;
  if (!is_failure && (number == POOL_CPU || left_out))
    displaced = live_memory_put(&pool->live, item->address, item->bytes, left_out);
  if (number == POOL_CPU) item->in_use = pool->live.in_use;
  if (left_out && displaced == left_out) { /* no memory to know where it is: it gets its row now */
    left_out_remove(&rows->left_out, left_out);
    left_out = displaced = 0;
  }
  if (displaced) drop(rows, displaced);
  if (!has_room) return false;
  bool is_highest = item->in_use != MEMORY_UNKNOWN && item->in_use > pool->peak;
  if (is_highest) pool->peak = item->in_use;
  event->peak = pool->peak;
  if (is_highest) open_peak(rows, pool, left_out != 0);
  if (!left_out) return add_event(rows, event);
  left_out_piece(&rows->left_out, left_out)->given = *event;
  rows->has_left_out = true;
  if (item->reserved != MEMORY_UNKNOWN && item->reserved > pool->reserved_peak) {
    pool->reserved_peak = item->reserved;
    give_rows(rows, left_out);
  }
  return true;
}

bool memory_rows_add(struct memory_rows *rows, const struct memory_item *item, uint32_t later_ns, int64_t thread,
                     uint64_t trace) {
  struct memory_event event = {.item = *item, .later_ns = later_ns, .thread = thread, .trace = trace};
  if (pool_of(&event) >= POOL_MAXIMUM) return false;
  bool is_left_out =
      rows->is_thinned && item->head.kind == ITEM_MEMORY && (item->head.scope & MEMORY_WITHOUT_OPS) != 0;
  if (rows->has_left_out && !is_left_out) memory_rows_settle(rows);
  return item->bytes < 0 ? add_release(rows, &event) : add_allocation(rows, &event, is_left_out);
}

void memory_rows_thin(struct memory_rows *rows) { rows->is_thinned = true; }

void memory_rows_speak(struct memory_rows *rows, bool is_spoken_for, int64_t now_ns) {
  if (is_spoken_for == rows->is_spoken_for) return;
  write_sums(rows, now_ns, true);
  rows->is_spoken_for = is_spoken_for;
}

void memory_rows_tick(struct memory_rows *rows, int64_t now_ns, unsigned patience, bool is_end) {
  if (!rows->is_thinned) return;
  for (unsigned i = 0; i < POOL_MAXIMUM; i++) {
    const struct memory_pool_rows *pool = &rows->pools[i];
    if (pool->is_peak_open && (is_end || pool->peak > pool->peak_given + pool->peak_given / PEAK_SHARE))
      give_peak(rows, i);
  }
  give_live(rows, -1, UINT64_MAX, is_end ? INT64_MAX : now_ns - (int64_t)patience * 1000000000);
  write_sums(rows, now_ns, is_end || ++rows->seconds % TOTALS_SECONDS == 0);
}
