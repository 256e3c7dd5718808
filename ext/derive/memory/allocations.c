/* allocations.c: the table allocations, memory_events.allocation_id and op_id, from allocations and releases as they
** happened.
**
** Events are gone through in the order of time, those of one time in the order of the source.  An allocation stands
** under its device (of a source without devices its allocator) and address until a release of the same address closes
** it; an address that is given out again while it still stands closes the older one as well, whose release was not
** recorded.  A release without an allocation is an
** allocation from before the recording: its allocated_ns is NULL.  Events without an address (libkineto before 2022)
** cannot be paired: each allocation stays open, releases pair with nothing.  Where the event itself tells what the
** memory is for instead, it is a change of a sum and no allocation.
**
** The op is the innermost on the event's thread at that time.
*/
#include "base/hash.h"
#include "derive/links/innermost_ops.h"
#include "derive/passes.h"

#include <string.h>

struct event {
  int64_t time, bytes, requested, address;
  uint32_t row, device, thread, op;
  string_id allocator;
  enum { ALLOCATE, RELEASE, OTHER } kind;
};

struct allocation { uint32_t opened, closed; }; /* index of event; NO_ROW: none */

struct work {
  struct event *events; /* by time */
  uint32_t count;
  struct allocation *made;
  uint32_t made_count;
  uint32_t *of_event, *ops; /* allocation and op by row of memory_events */
};

/* By time, those of one time in the order of the source. Most sources have them thread by thread in that order, of
** which little is left to do. */
static enum tfprof_status sort_events(struct work *w, struct tfprof_error *error) {
  struct lane_span *moments = scratch_allocate((size_t)w->count * sizeof *moments);
  struct event *sorted = scratch_allocate((size_t)w->count * sizeof *sorted);
  enum tfprof_status status = moments && sorted ? TFPROF_OK : error_no_memory(error);
  for (uint32_t i = 0; i < w->count && !status; i++)
    moments[i] = (struct lane_span){w->events[i].time, w->events[i].time, 0, i};
  if (!status) status = lane_span_sort(moments, w->count, error);
  for (uint32_t i = 0; i < w->count && !status; i++) sorted[i] = w->events[moments[i].row];
  scratch_free(moments);
  if (status) {
    scratch_free(sorted);
    return status;
  }
  scratch_free(w->events);
  w->events = sorted;
  return TFPROF_OK;
}

static enum tfprof_status collect_allocations(struct profile *profile, struct work *w, uint32_t rows,
                                              struct tfprof_error *error) {
  const struct profile_table *content = &profile->tables[TABLE_memory_events];
  string_id allocate = derive_known_text(profile, "allocate"), release = derive_known_text(profile, "release");
  uint32_t devices, threads;
  enum tfprof_status status = derive_row_count(profile, TABLE_devices, &devices, error);
  if (!status) status = derive_row_count(profile, TABLE_threads, &threads, error);
  bool is_sorted = true;
  w->events = scratch_allocate((size_t)rows * sizeof *w->events);
  if (!status && !w->events) status = error_no_memory(error);
  for (size_t s = 0; s < content->segment_count && !status; s++) {
    const struct segment *segment = content->segments[s];
    for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
      uint32_t count = derive_block_rows(segment, first);
      int64_t times[ROWS_BLOCK], bytes[ROWS_BLOCK], addresses[ROWS_BLOCK], requested[ROWS_BLOCK];
      uint32_t device[ROWS_BLOCK], thread[ROWS_BLOCK];
      string_id kinds[ROWS_BLOCK], allocators[ROWS_BLOCK], regions[ROWS_BLOCK];
      derive_integers(segment->columns[COLUMN_memory_events_time_ns], first, count, times);
      derive_integers(segment->columns[COLUMN_memory_events_bytes], first, count, bytes);
      derive_integers(segment->columns[COLUMN_memory_events_address], first, count, addresses);
      derive_integers(segment->columns[COLUMN_memory_events_requested_bytes], first, count, requested);
      derive_references(segment->columns[COLUMN_memory_events_device_id], first, count, devices, device);
      derive_references(segment->columns[COLUMN_memory_events_thread], first, count, threads, thread);
      derive_texts(segment->columns[COLUMN_memory_events_kind], first, count, kinds);
      derive_texts(segment->columns[COLUMN_memory_events_allocator], first, count, allocators);
      derive_texts(segment->columns[COLUMN_memory_events_region], first, count, regions);
      for (uint32_t i = 0; i < count; i++) {
        bool is_sum = regions[i] && addresses[i] == NO_VALUE;
        if (times[i] == NO_VALUE || bytes[i] == NO_VALUE) continue;
        struct event event = {.time = times[i],
                              .bytes = bytes[i],
                              .requested = requested[i],
                              .address = addresses[i],
                              .row = (uint32_t)segment->first_row + first + i,
                              .device = device[i],
                              .thread = thread[i],
                              .op = NO_ROW,
                              .allocator = allocators[i],
                              .kind = is_sum                 ? OTHER
                                      : kinds[i] == allocate ? ALLOCATE
                                      : kinds[i] == release  ? RELEASE
                                                             : OTHER};
        if (w->count && times[i] < w->events[w->count - 1].time) is_sorted = false;
        w->events[w->count++] = event;
      }
    }
  }
  return !status && !is_sorted ? sort_events(w, error) : status;
}

static enum tfprof_status find_ops(struct profile *profile, struct work *w, struct tfprof_error *error) {
  struct lane_span *moments = scratch_allocate((size_t)w->count * sizeof *moments);
  uint32_t *ops = scratch_allocate((size_t)w->count * sizeof *ops);
  enum tfprof_status status = moments && ops ? TFPROF_OK : error_no_memory(error);
  size_t count = 0;
  for (uint32_t i = 0; i < w->count && !status; i++) {
    const struct event *event = &w->events[i];
    if (event->thread != NO_ROW) moments[count++] = (struct lane_span){event->time, event->time, event->thread, i};
  }
  if (!status) status = lane_span_sort(moments, count, error);
  if (!status) status = innermost_ops_find(profile, moments, count, ops, error);
  for (size_t i = 0; i < count && !status; i++) {
    struct event *event = &w->events[moments[i].row];
    event->op = w->ops[event->row] = ops[i];
  }
  scratch_free(moments);
  scratch_free(ops);
  return status;
}

/* Each event is looked up, so the address lies in the place (base/hash_index.h has numbers of items). */
struct slot {
  int64_t address;
  uint64_t memory;
  uint32_t allocation; /* + 1; 0: free. Closed ones stay, marked by NO_ROW */
};

static uint64_t memory_of(const struct event *event) {
  return event->device != NO_ROW ? event->device : UINT64_C(1) << 32 | event->allocator;
}

static enum tfprof_status pair(struct work *w, struct tfprof_error *error) {
  uint64_t mask = 15;
  while (mask < (uint64_t)w->count * 2) mask = mask * 2 + 1;
  struct slot *slots = scratch_allocate_zeroed((size_t)mask + 1, sizeof *slots);
  w->made = scratch_allocate((size_t)w->count * sizeof *w->made);
  if (!slots || !w->made) {
    scratch_free(slots);
    return error_no_memory(error);
  }
  for (uint32_t i = 0; i < w->count; i++) {
    const struct event *event = &w->events[i];
    struct slot *slot = NULL;
    uint64_t memory = memory_of(event);
    bool is_release = event->kind == RELEASE;
    if (event->kind == OTHER) continue;
    if (event->address != NO_VALUE) {
      uint64_t hash = ((uint64_t)event->address ^ memory) * HASH_FACTOR_1,
               at = (hash ^ hash >> 29) & mask;
      while (slots[at].allocation && (slots[at].address != event->address || slots[at].memory != memory))
        at = (at + 1) & mask;
      slot = &slots[at];
    }
    uint32_t open = slot && slot->allocation && slot->allocation != NO_ROW ? slot->allocation - 1 : NO_ROW;
    if (is_release && open != NO_ROW) {
      w->made[open].closed = i;
      w->of_event[event->row] = open;
      slot->allocation = NO_ROW;
      continue;
    }
    if (is_release && !slot) continue;
    w->made[w->made_count] = is_release ? (struct allocation){NO_ROW, i} : (struct allocation){i, NO_ROW};
    w->of_event[event->row] = w->made_count++;
    if (slot) *slot = (struct slot){event->address, memory, is_release ? NO_ROW : w->made_count};
  }
  scratch_free(slots);
  return TFPROF_OK;
}

static enum tfprof_status set_allocation_columns(struct profile *profile, const struct work *w,
                                                 struct tfprof_error *error) {
  uint32_t *references = scratch_allocate(((size_t)w->made_count + 1) * sizeof *references);
  string_id *texts = scratch_allocate(((size_t)w->made_count + 1) * sizeof *texts);
  int64_t *integers = scratch_allocate(((size_t)w->made_count + 1) * sizeof *integers);
  enum tfprof_status status = references && texts && integers ? TFPROF_OK : error_no_memory(error);
#define EACH(kind, array, column, expression) \
  for (uint32_t i = 0; i < w->made_count && !status; i++) { \
    const struct event *opened = w->made[i].opened == NO_ROW ? NULL : &w->events[w->made[i].opened]; \
    const struct event *closed = w->made[i].closed == NO_ROW ? NULL : &w->events[w->made[i].closed]; \
    const struct event *any = opened ? opened : closed; \
    (void)closed, (void)any; \
    array[i] = (expression); \
  } \
  if (!status) status = derive_set_##kind(profile, TABLE_allocations, COLUMN_allocations_##column, array, error)
  EACH(integers, integers, address, any->address);
  EACH(integers, integers, bytes, opened ? opened->bytes : (int64_t)(0 - (uint64_t)closed->bytes));
  EACH(integers, integers, requested_bytes, opened ? opened->requested : NO_VALUE);
  EACH(integers, integers, allocated_ns, opened ? opened->time : NO_VALUE);
  EACH(integers, integers, released_ns, closed ? closed->time : NO_VALUE);
  EACH(references, references, device_id, any->device);
  EACH(references, references, thread_id, opened ? opened->thread : NO_ROW);
  EACH(references, references, op_id, opened ? opened->op : NO_ROW);
  EACH(references, references, release_op_id, closed ? closed->op : NO_ROW);
  EACH(texts, texts, allocator, any->allocator);
#undef EACH
  scratch_free(texts);
  scratch_free(references);
  scratch_free(integers);
  return status;
}

static enum tfprof_status run_allocations(struct profile *profile, struct tfprof_error *error) {
  struct work w = {0};
  uint32_t rows;
  enum tfprof_status status = derive_row_count(profile, TABLE_memory_events, &rows, error);
  if (status || !rows) return status;
  w.of_event = scratch_allocate((size_t)rows * 2 * sizeof *w.of_event);
  if (!w.of_event) return error_no_memory(error);
  w.ops = w.of_event + rows;
  memset(w.of_event, 0xff, (size_t)rows * 2 * sizeof *w.of_event); /* NO_ROW */
  status = collect_allocations(profile, &w, rows, error);
  if (!status && w.count) {
    bool makes_allocations = profile->tables[TABLE_allocations].is_made; /* or the source knows them */
    status = find_ops(profile, &w, error);
    if (!status && makes_allocations) status = pair(&w, error);
    if (!status && makes_allocations) status = derive_make_table(profile, TABLE_allocations, w.made_count, error);
    if (!status && w.made_count) status = set_allocation_columns(profile, &w, error);
    if (!status) {
      status =
          derive_set_references(profile, TABLE_memory_events, COLUMN_memory_events_allocation_id, w.of_event, error);
    }
    if (!status)
      status = derive_set_references(profile, TABLE_memory_events, COLUMN_memory_events_op_id, w.ops, error);
  }
  scratch_free(w.events);
  scratch_free(w.made);
  scratch_free(w.of_event);
  return status;
}

static bool is_idle(const struct profile *profile) {
  return profile->tables[TABLE_memory_events].segment_count == 0;
}

const struct derive_pass derive_allocations = {
    .name = "allocations",
    .summary = "Allocations and releases of one address paired in the order of time, with the ops that did them.",
    .makes_table = TABLE_allocations,
    .is_idle = is_idle,
    .reads = {{TABLE_memory_events, COLUMN_memory_events_time_ns},
              {TABLE_memory_events, COLUMN_memory_events_kind},
              {TABLE_memory_events, COLUMN_memory_events_bytes},
              {TABLE_memory_events, COLUMN_memory_events_address},
              {TABLE_memory_events, COLUMN_memory_events_requested_bytes},
              {TABLE_memory_events, COLUMN_memory_events_device_id},
              {TABLE_memory_events, COLUMN_memory_events_thread},
              {TABLE_memory_events, COLUMN_memory_events_allocator},
              {TABLE_memory_events, COLUMN_memory_events_region},
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_ops, COLUMN_ops_end_ns},
              {TABLE_ops, COLUMN_ops_thread_id}},
    .writes = {{TABLE_memory_events, COLUMN_memory_events_allocation_id},
               {TABLE_memory_events, COLUMN_memory_events_op_id}},
    .run = run_allocations,
    .is_alone = true,
};
