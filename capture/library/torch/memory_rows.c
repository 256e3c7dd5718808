/* memory_rows.c: see memory_rows.h. */
#include "memory_rows.h"

#include "base/list.h"
#include "channel/thread_rows.h"
#include "device_names.h"
#include "governor/limits.h"
#include "left_out_memory.h"
#include "memory_pools.h"
#include "op_rows.h"
#include "python/stack_nodes.h"
#include "recorder/triggers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
  EVENT_OP_NAME,
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
    {DUMP_memory_events_op_name, DUMP_UNORDERED, false, false},
};

/* Growth by this share of the peak and this many bytes is written without delay. */
enum { GROWTH_SHARE = 16, GROWTH_BYTES = 64 << 20 };

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

static const struct table_form events_form =
    TABLE_FORM(memory_events, TABLE_ROWS, "allocations and releases", event_columns, DUMP_FRAME_ROWS);
static const struct table_form totals_form =
    TABLE_FORM(memory_totals, TABLE_ROWS, "sums of allocations", total_columns, 64);

/* Peaks that are higher by one part in so many than the last one have their pieces written at the next second. */
enum { PEAK_SHARE = 64, TOTALS_SECONDS = 10 };

struct memory_pool_rows {
  int64_t device;     /* row in devices + 1; 0: none yet */
  uint32_t allocator; /* string */
  uint64_t peak, peak_written, reserved_peak;
  struct live_memory live; /* of POOL_CPU all pieces, of others those that have no row */
  /* The pieces without rows that were live when most was in use: those given until then, and not taken by then. */
  bool is_peak_open;         /* they may still get their rows */
  uint64_t peak_order;       /* the last one given */
  uint64_t peak_given;       /* the peak whose pieces have their rows */
  uint32_t first_taken;      /* of those that were taken since, by next */
};

struct memory_total { /* since the last row: pieces that were given and taken back without rows */
  uint32_t trace;     /* row in code_traces + 1; 0: none */
  uint32_t pool;
  uint64_t count, bytes;
  int64_t since_ns;
};

static struct {
  struct row_buffer events, totals;
  struct memory_pool_rows pools[POOL_MAXIMUM];
  bool is_thinned;
  bool has_taken_over; /* with the first that is recorded */
  bool has_left_out;  /* since all that is live has rows */
  bool is_spoken_for; /* steps with ops stand for those without */
  struct left_out_memory left_out;
  struct key_map total_map; /* trace and pool to place in `sums` + 1 */
  struct memory_total *sums;
  uint32_t sum_count, sum_capacity;
  uint64_t seconds;
  uint64_t summed;     /* pieces that are in memory_totals */
  uint64_t unknown;    /* releases of pieces that are not known: no row */
  uint64_t no_room;    /* events for which there was no room, */
  uint64_t unresolved; /* or which are of no thread or device */
  uint32_t allocate, release, out_of_memory; /* strings */
} rows;

static uint32_t string_of(struct recorder *recorder, const char *text) {
  return dump_writer_string(recorder->writer, text, strlen(text));
}

/* What was given before anything of it was recorded. */
static void take_over(void) {
  struct live_memory *live = &rows.pools[POOL_CPU].live;
  memory_take_over(live);
  struct live_piece *pieces = live->pieces.entries;
  for (size_t i = 0; pieces && i <= live->pieces.mask; i++) pieces[i].left_out = 0; /* the parent's numbers */
  rows.has_taken_over = true;
}

bool memory_rows_open(struct recorder *recorder) {
  memset(&rows, 0, sizeof rows);
  rows.allocate = string_of(recorder, "allocate");
  rows.release = string_of(recorder, "release");
  rows.out_of_memory = string_of(recorder, "out_of_memory");
  return row_tables_add(&recorder->tables, &rows.events, &events_form) &&
         row_tables_add(&recorder->tables, &rows.totals, &totals_form);
}

void memory_rows_close(struct live_memory *live) {
  if (!rows.has_taken_over) take_over();
  if (live) {
    *live = rows.pools[POOL_CPU].live;
    rows.pools[POOL_CPU].live = (struct live_memory){0};
  }
  for (unsigned i = 0; i < POOL_MAXIMUM; i++) live_memory_end(&rows.pools[i].live);
  left_out_end(&rows.left_out);
  key_map_end(&rows.total_map);
  free(rows.sums);
}

/* The row of the pool's device. Pools of one device share it. */
static int64_t pool_row(struct recorder *recorder, unsigned number) {
  struct memory_pool_rows *its = &rows.pools[number];
  if (its->device) return its->device - 1;
  const struct memory_pool *pool = memory_pool_of_number(number);
  int64_t device = pool ? device_row_torch(&recorder->devices, pool->device) : -1;
  if (device < 0) return -1;
  its->device = device + 1;
  if (number == POOL_CPU) its->peak = its->live.peak;
  if (pool->device.type == DEVICE_TYPE_CPU)
    its->allocator = string_of(recorder, number == POOL_CPU ? "DefaultCPUAllocator" : "MapAllocator");
  return device;
}

/* ---- Events. */

static unsigned pool_of(const struct memory_event *event) {
  return event->item.head.scope & ~(unsigned)MEMORY_WITHOUT_OPS;
}

/* What is kept is written then (recorder/triggers.h). */
static void trigger_of_failure(const struct memory_item *item) {
  struct kept_trigger facts = {.kind = NULL};
  snprintf(facts.message, sizeof facts.message, "an allocation of %lld bytes failed", (long long)item->bytes);
  trigger_note(TRIGGER_OUT_OF_MEMORY, &facts, 0);
}

static bool add_event(struct recorder *recorder, const struct memory_event *event) {
  const struct memory_item *item = &event->item;
  unsigned number = pool_of(event);
  bool is_failure = item->head.kind == ITEM_OUT_OF_MEMORY;
  if (is_failure) trigger_of_failure(item);
  struct row_buffer *events = &rows.events;
  uint32_t row = row_add(events);
  if (row == UINT32_MAX) return false;
  row_put(events, row, EVENT_TIME, clock_map_ns(&recorder->clock, item->ticks) + event->later_ns);
  row_put(events, row, EVENT_KIND, is_failure ? rows.out_of_memory : item->bytes < 0 ? rows.release : rows.allocate);
  row_put(events, row, EVENT_BYTES, item->bytes);
  row_put(events, row, EVENT_DEVICE, pool_row(recorder, number));
  row_put(events, row, EVENT_THREAD, event->thread);
  if (item->in_use != MEMORY_UNKNOWN) {
    row_set(events, row, EVENT_IN_USE, (int64_t)item->in_use);
    row_set(events, row, EVENT_PEAK, (int64_t)event->peak);
  }
  if (item->reserved != MEMORY_UNKNOWN) row_set(events, row, EVENT_RESERVED, (int64_t)item->reserved);
  if (rows.pools[number].allocator) row_set(events, row, EVENT_ALLOCATOR, rows.pools[number].allocator);
  if (!is_failure) row_set(events, row, EVENT_ADDRESS, (int64_t)item->address);
  if (event->op_name) row_set(events, row, EVENT_OP_NAME, event->op_name);
  if (event->trace) row_set(events, row, EVENT_TRACE, (int64_t)event->trace - 1);
  return true;
}

/* ---- Sums. */

static struct memory_total *find_sum(uint32_t trace, unsigned pool) {
  struct key_map_entry *entry = key_map_entry(&rows.total_map, trace, pool + 1);
  if (!entry) return NULL;
  if (entry->row_plus_one) return &rows.sums[entry->row_plus_one - 1];
  if (!array_room(rows.sums, rows.sum_count, rows.sum_capacity)) return NULL;
  rows.sums[rows.sum_count] = (struct memory_total){.trace = trace, .pool = pool};
  entry->row_plus_one = ++rows.sum_count;
  key_map_added(&rows.total_map);
  return &rows.sums[rows.sum_count - 1];
}

/* Nothing rests on the piece: it is counted. */
static void drop(struct recorder *recorder, uint32_t number) {
  struct left_out_piece *piece = left_out_piece(&rows.left_out, number);
  struct memory_total *sum = find_sum((uint32_t)piece->given.trace, pool_of(&piece->given));
  if (sum) {
    if (!sum->count) sum->since_ns = clock_map_ns(&recorder->clock, piece->given.item.ticks);
    sum->count++;
    sum->bytes += (uint64_t)piece->given.item.bytes;
    rows.summed++;
  } else {
    rows.no_room++;
  }
  left_out_remove(&rows.left_out, number);
}

static void write_sums(struct recorder *recorder, int64_t now_ns, bool with_lines) {
  for (uint32_t i = 0; i < rows.sum_count; i++) {
    struct memory_total *sum = &rows.sums[i];
    if (!sum->count || (sum->trace && !with_lines)) continue;
    uint32_t row = row_add(&rows.totals);
    if (row == UINT32_MAX) return; /* they go on growing */
    row_put(&rows.totals, row, TOTAL_START, sum->since_ns);
    row_put(&rows.totals, row, TOTAL_END, now_ns > sum->since_ns ? now_ns : sum->since_ns);
    row_put(&rows.totals, row, TOTAL_DEVICE, pool_row(recorder, sum->pool));
    if (rows.pools[sum->pool].allocator)
      row_set(&rows.totals, row, TOTAL_ALLOCATOR, rows.pools[sum->pool].allocator);
    row_put(&rows.totals, row, TOTAL_COUNT, (int64_t)sum->count);
    row_put(&rows.totals, row, TOTAL_BYTES, (int64_t)sum->bytes);
    row_set_real(&rows.totals, row, TOTAL_WEIGHT, rows.is_spoken_for ? 0 : 1);
    if (sum->trace) row_set(&rows.totals, row, TOTAL_TRACE, (int64_t)sum->trace - 1);
    sum->count = sum->bytes = 0;
    sum->since_ns = now_ns;
  }
}

/* ---- Pieces without rows. */

/* The piece gets its rows: what it was given with, and its end where it has come. */
static void give_rows(struct recorder *recorder, uint32_t number) {
  struct left_out_piece *piece = left_out_piece(&rows.left_out, number);
  struct memory_pool_rows *pool = &rows.pools[pool_of(&piece->given)];
  rows.no_room += !add_event(recorder, &piece->given);
  if (piece->state == PIECE_TAKEN) {
    rows.no_room += !add_event(recorder, &piece->taken);
  } else if (pool == &rows.pools[POOL_CPU]) {
    struct live_piece *live = live_memory_find(&pool->live, piece->given.item.address);
    if (live) live->left_out = 0;
  } else {
    uint32_t left_out;
    live_memory_take(&pool->live, piece->given.item.address, &left_out);
  }
  left_out_remove(&rows.left_out, number);
  if (recorder->tables.has_full) recorder_write_full(recorder);
}

/* Those given until `order` and, in nanoseconds, `until_ns`, of one pool or of all (-1). */
static void give_live(struct recorder *recorder, int of_pool, uint64_t order, int64_t until_ns) {
  for (uint32_t number = 1; number <= rows.left_out.count; number++) {
    const struct left_out_piece *piece = left_out_piece(&rows.left_out, number);
    if (piece->state != PIECE_LIVE || piece->order > order) continue;
    if (of_pool >= 0 && pool_of(&piece->given) != (unsigned)of_pool) continue;
    if (until_ns != INT64_MAX && clock_map_ns(&recorder->clock, piece->given.item.ticks) > until_ns) continue;
    give_rows(recorder, number);
  }
}

static void give_all_live(struct recorder *recorder) {
  give_live(recorder, -1, UINT64_MAX, INT64_MAX);
  rows.has_left_out = false;
}

static void drop_taken(struct recorder *recorder, struct memory_pool_rows *pool) {
  while (pool->first_taken) {
    uint32_t number = pool->first_taken;
    pool->first_taken = left_out_piece(&rows.left_out, number)->next;
    drop(recorder, number);
  }
}

/* More is in use than ever before. */
static void open_peak(struct recorder *recorder, struct memory_pool_rows *pool, bool is_left_out) {
  drop_taken(recorder, pool);
  pool->is_peak_open = is_left_out; /* else all that is live has its rows */
  pool->peak_order = rows.left_out.order;
  if (!is_left_out) pool->peak_given = pool->peak;
}

static void give_peak(struct recorder *recorder, unsigned number) {
  struct memory_pool_rows *pool = &rows.pools[number];
  while (pool->first_taken) {
    uint32_t taken = pool->first_taken;
    pool->first_taken = left_out_piece(&rows.left_out, taken)->next;
    give_rows(recorder, taken);
  }
  give_live(recorder, (int)number, pool->peak_order, INT64_MAX);
  pool->is_peak_open = false;
  pool->peak_given = pool->peak;
}

static void take_left_out(struct recorder *recorder, uint32_t number, const struct memory_event *event) {
  struct left_out_piece *piece = left_out_piece(&rows.left_out, number);
  struct memory_pool_rows *pool = &rows.pools[pool_of(event)];
  if (!pool->is_peak_open || piece->order > pool->peak_order) {
    drop(recorder, number);
    return;
  }
  piece->taken = *event;
  piece->state = PIECE_TAKEN;
  piece->next = pool->first_taken;
  pool->first_taken = number;
}

/* ---- From outside. */

static bool add_release(struct recorder *recorder, struct memory_event *event) {
  unsigned number = pool_of(event);
  struct memory_pool_rows *pool = &rows.pools[number];
  struct memory_item *item = &event->item;
  uint32_t left_out = 0;
  if (number == POOL_CPU) {
    int64_t bytes = live_memory_take(&pool->live, item->address, &left_out);
    if (item->bytes == MEMORY_SIZE_UNKNOWN && !bytes) {
      rows.unknown++;
      return true;
    }
    if (item->bytes == MEMORY_SIZE_UNKNOWN) item->bytes = -bytes;
    item->in_use = pool->live.in_use;
  } else if (pool->live.pieces.count) {
    live_memory_take(&pool->live, item->address, &left_out);
  }
  event->peak = pool->peak;
  if (pool_row(recorder, number) < 0 || event->thread < 0) return false;
  if (!left_out) return add_event(recorder, event);
  take_left_out(recorder, left_out, event);
  return true;
}

static bool add_allocation(struct recorder *recorder, struct memory_event *event, bool is_left_out) {
  unsigned number = pool_of(event);
  struct memory_pool_rows *pool = &rows.pools[number];
  struct memory_item *item = &event->item;
  bool is_failure = item->head.kind == ITEM_OUT_OF_MEMORY;
  bool has_room = pool_row(recorder, number) >= 0 && event->thread >= 0;
  uint32_t left_out = is_left_out && has_room ? left_out_add(&rows.left_out, event) : 0, displaced = 0;
  if (!is_failure && (number == POOL_CPU || left_out))
    displaced = live_memory_put(&pool->live, item->address, item->bytes, left_out);
  if (number == POOL_CPU) item->in_use = pool->live.in_use;
  if (left_out && displaced == left_out) { /* no memory to know where it is: it gets its row now */
    left_out_remove(&rows.left_out, left_out);
    left_out = displaced = 0;
  }
  if (displaced) drop(recorder, displaced);
  if (!has_room) return false;
  bool is_highest = item->in_use != MEMORY_UNKNOWN && item->in_use > pool->peak;
  if (is_highest) pool->peak = item->in_use;
  event->peak = pool->peak;
  if (is_highest) open_peak(recorder, pool, left_out != 0);
  if (!left_out) return add_event(recorder, event);
  left_out_piece(&rows.left_out, left_out)->given = *event;
  rows.has_left_out = true;
  if (item->reserved != MEMORY_UNKNOWN && item->reserved > pool->reserved_peak) {
    pool->reserved_peak = item->reserved;
    give_rows(recorder, left_out);
  }
  return true;
}

static void add_change(struct recorder *recorder, const struct memory_item *item, uint32_t later_ns,
                       const struct capture_thread *thread) {
  struct memory_event event = {.item = *item,
                               .later_ns = later_ns,
                               .thread = thread_row(recorder, thread),
                               .trace = stack_node(thread, item->head.id).trace_plus_one};
  if (item->head.kind == ITEM_OUT_OF_MEMORY) event.op_name = op_rows_name(thread, (uint32_t)item->address);
  bool is_left_out =
      rows.is_thinned && item->head.kind == ITEM_MEMORY && (item->head.scope & MEMORY_WITHOUT_OPS) != 0;
  if (rows.has_left_out && !is_left_out) give_all_live(recorder);
  bool is_added = pool_of(&event) < POOL_MAXIMUM && (item->bytes < 0 ? add_release(recorder, &event)
                                                                     : add_allocation(recorder, &event, is_left_out));
  rows.unresolved += !is_added;
}

void memory_rows_item(struct recorder *recorder, const struct channel_item *item) {
  const struct memory_brief *brief = (const struct memory_brief *)item->item;
  if (__builtin_expect(!rows.has_taken_over, 0)) take_over();
  if (item->item->kind != ITEM_MEMORY_BRIEF) {
    add_change(recorder, (const struct memory_item *)item->item, item->later_ns, item->thread);
    return;
  }
  const struct memory_item whole = {{ITEM_MEMORY, POOL_CPU | MEMORY_WITHOUT_OPS, 0, 0},
                                    brief->head.id ? (int64_t)brief->head.id : MEMORY_SIZE_UNKNOWN,
                                    item->ticks,
                                    brief->address,
                                    MEMORY_UNKNOWN,
                                    MEMORY_UNKNOWN};
  add_change(recorder, &whole, item->later_ns, item->thread);
}

/* Whether the peak of a pool is much higher than when that was last asked with this answer. */
static bool has_grown(void) {
  bool is_higher = false;
  for (unsigned i = 0; i < POOL_MAXIMUM; i++) {
    uint64_t written = rows.pools[i].peak_written;
    is_higher |= rows.pools[i].peak > written + written / GROWTH_SHARE + GROWTH_BYTES;
  }
  for (unsigned i = 0; is_higher && i < POOL_MAXIMUM; i++) rows.pools[i].peak_written = rows.pools[i].peak;
  return is_higher;
}

static void follow_governor(struct recorder *recorder) {
  const char *why = limits_thinned();
  if (why && !rows.is_thinned) {
    rows.is_thinned = true;
    recorder_diagnose(recorder, "info", "capture_thinned", 0, "memory_events",
                      "%s: from here on allocations and releases have rows where ops are recorded, where memory is "
                      "held for longer, and where most is in use; the others are summed up in memory_totals",
                      why);
  }
  int64_t since_ns;
  bool is_spoken_for = limits_spoken_for(&since_ns);
  if (is_spoken_for == rows.is_spoken_for) return;
  write_sums(recorder, since_ns, true);
  rows.is_spoken_for = is_spoken_for;
}

uint64_t memory_rows_drain(struct recorder *recorder, uint64_t limit) {
  (void)limit;
  follow_governor(recorder);
  if (has_grown()) {
    give_all_live(recorder);
    recorder->is_urgent = true;
  }
  return 0;
}

void memory_rows_tick(struct recorder *recorder, const struct clock_reading *now, bool is_end) {
  follow_governor(recorder);
  if (!rows.is_thinned) return;
  for (unsigned i = 0; i < POOL_MAXIMUM; i++) {
    const struct memory_pool_rows *pool = &rows.pools[i];
    if (pool->is_peak_open && (is_end || pool->peak > pool->peak_given + pool->peak_given / PEAK_SHARE))
      give_peak(recorder, i);
  }
  int64_t patience_ns = (int64_t)limits_patience() * 1000000000;
  give_live(recorder, -1, UINT64_MAX, is_end ? INT64_MAX : now->monotonic_ns - patience_ns);
  write_sums(recorder, now->monotonic_ns, is_end || ++rows.seconds % TOTALS_SECONDS == 0);
}

void memory_rows_losses(struct recorder *recorder) {
  uint64_t no_room = rows.no_room + rows.unresolved;
  for (unsigned number = 1; number <= thread_count(); number++) {
    struct capture_thread *thread = thread_of_number(number);
    if (thread) no_room += atomic_load_explicit(&thread->lost_memory, memory_order_relaxed);
  }
  const struct loss losses[] = {
      {no_room, "warning", "allocations and releases were lost because the writer thread could not keep up",
       "memory_events", &rows.events},
      {threads_refused(REFUSED_MEMORY), "warning",
       "allocations and releases were lost because their threads were left out", "memory_events", &rows.events},
      {rows.summed, "info", "pieces of memory have no row of their own: they are summed up in memory_totals",
       "allocations", NULL},
      {rows.unknown, "info", "releases have no row: what they release was not seen to be allocated", "memory_events",
       NULL},
  };
  for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) recorder_lost(recorder, losses[i]);
}
