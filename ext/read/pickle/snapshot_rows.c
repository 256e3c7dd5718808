/* snapshot_rows.c: see snapshot_rows.h and, for what the numbers mean, memory_snapshot.h.
**
** Each device is gone through twice: its trace forwards, pairing allocations with releases by their address, then
** backwards from the state that the segments describe, which gives the memory in use after each event.
*/
#include "read/pickle/snapshot_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_OF_ITEM = 8 /* of the file: events, blocks and frames take several times as many */ };

/* ---- what the allocator did ---- */

enum action { ALLOCATE, RELEASE, SEGMENT_ALLOCATE, SEGMENT_RELEASE, OUT_OF_MEMORY, LET_GO, SNAPSHOT, MARK, OTHER };

static const struct {
  const char *name, *kind;
} actions[] = {
    [ALLOCATE] = {"alloc", "allocate"},
    [RELEASE] = {"free_completed", "release"},
    [SEGMENT_ALLOCATE] = {"segment_alloc", "segment_allocate"},
    [SEGMENT_RELEASE] = {"segment_free", "segment_release"},
    [OUT_OF_MEMORY] = {"oom", "out_of_memory"},
    [LET_GO] = {"free_requested", NULL},
    [SNAPSHOT] = {"snapshot", NULL},
    [MARK] = {"user_defined", NULL},
};

static enum action action_of(const struct pickle_value *entry) {
  const struct pickle_value *name = pickle_find(entry, "action");
  unsigned action = 0;
  /* Expandable segments grow and shrink by pages. */
  if (pickle_is_text(name, "segment_map")) return SEGMENT_ALLOCATE;
  if (pickle_is_text(name, "segment_unmap")) return SEGMENT_RELEASE;
  while (action < OTHER && !pickle_is_text(name, actions[action].name)) action++;
  return action;
}

/* Microseconds since 1970. */
static int64_t time_of(const struct pickle_value *entry) {
  int64_t microseconds = pickle_find_integer(entry, "time_us", ROW_NULL);
  return microseconds > 0 && microseconds < INT64_MAX / 2000 ? microseconds * 1000 : ROW_NULL;
}

static enum tfprof_status open_allocation(struct snapshot_rows *rows, struct snapshot_event *event) {
  uint32_t *number = pickle_rows_number(&rows->live, event->device, event->address, 0);
  struct snapshot_allocation *made = list_add(&rows->allocations);
  if (!number || !made) return TFPROF_NO_MEMORY;
  *made = (struct snapshot_allocation){event->address, event->bytes, event->bytes, event->device,
                                       event->time,    ROW_NULL,     event->trace};
  event->allocation = (int64_t)rows->allocations.count - 1;
  *number = (uint32_t)rows->allocations.count;
  return TFPROF_OK;
}

static enum tfprof_status close_allocation(struct snapshot_rows *rows, struct snapshot_event *event) {
  uint32_t *number = pickle_rows_number(&rows->live, event->device, event->address, 0);
  struct snapshot_allocation *closed;
  if (!number) return TFPROF_NO_MEMORY;
  closed = *number ? &rows->allocations.items[*number - 1] : NULL;
  if (closed && closed->released_ns == ROW_NULL) {
    closed->released_ns = event->time;
    event->allocation = (int64_t)*number - 1;
    return TFPROF_OK;
  }
  /* From before the trace. */
  closed = list_add(&rows->allocations);
  if (!closed) return TFPROF_NO_MEMORY;
  *closed = (struct snapshot_allocation){event->address, event->bytes, event->bytes, event->device,
                                         ROW_NULL,       event->time,  ROW_NULL};
  event->allocation = (int64_t)rows->allocations.count - 1;
  *number = (uint32_t)rows->allocations.count;
  return TFPROF_OK;
}

/* Which segments the trace saw come and go. Those that are left at the end come from the list of segments. */
static enum tfprof_status note_segment(struct snapshot_rows *rows, const struct snapshot_event *event, bool is_release,
                                       struct row_map *open) {
  uint32_t *number = pickle_rows_number(open, event->device, event->address, 0);
  struct snapshot_segment *segment;
  if (!number) return TFPROF_NO_MEMORY;
  if (is_release && *number && rows->segments.items[*number - 1].released_ns == ROW_NULL) {
    rows->segments.items[*number - 1].released_ns = event->time;
    return TFPROF_OK;
  }
  segment = list_add(&rows->segments);
  if (!segment) return TFPROF_NO_MEMORY;
  *segment = (struct snapshot_segment){.address = event->address,
                                       .bytes = is_release ? -event->bytes : event->bytes,
                                       .device = event->device,
                                       .allocated_ns = is_release ? ROW_NULL : event->time,
                                       .released_ns = is_release ? event->time : ROW_NULL};
  *number = (uint32_t)rows->segments.count;
  return TFPROF_OK;
}

/* Before PyTorch 2.1, and in what torch.cuda._memory_viz makes of a profile, entries have no times: without any, their
** places tell what came first and what is held still. */
static void find_whether_timed(struct snapshot_rows *rows, const struct pickle_container *traces) {
  rows->has_no_times = true;
  for (uint64_t i = 0; traces && i < traces->count && rows->has_no_times; i++) {
    const struct pickle_value *trace = &traces->items[i];
    if (trace->kind != PICKLE_LIST || !trace->container->count) continue;
    rows->has_no_times = time_of(&trace->container->items[0]) == ROW_NULL;
  }
}

/* ---- marks ---- */

static enum tfprof_status take_mark(struct snapshot_rows *rows, const char *name, size_t length, int64_t device,
                                    int64_t time, bool is_end) {
  string_id id;
  enum tfprof_status status = pickle_rows_bytes(&rows->pickle, name, length, &id);
  if (status || rows->pickle.is_too_much) return status;
  uint32_t *number = pickle_rows_number(&rows->open_marks, device, id, 0);
  if (!number) return TFPROF_NO_MEMORY;
  if (time != ROW_NULL && time < rows->first_ns) rows->first_ns = time;
  if (time != ROW_NULL && time > rows->last_ns) rows->last_ns = time;
  if (is_end && *number) {
    rows->marks.items[*number - 1].end_ns = time;
    *number = 0;
    return TFPROF_OK;
  }
  struct snapshot_mark *made = list_add(&rows->marks);
  if (!made) return TFPROF_NO_MEMORY;
  *made = (struct snapshot_mark){id, is_end ? ROW_NULL : time, is_end ? time : ROW_NULL};
  if (!is_end) *number = (uint32_t)rows->marks.count;
  return TFPROF_OK;
}

/* "START: gloo:broadcast" to "END: gloo:broadcast"; any other text marks a moment. */
static enum tfprof_status take_user_mark(struct snapshot_rows *rows, const struct pickle_value *entry, int64_t device,
                                         int64_t time) {
  static const char start[] = "START: ", end[] = "END: ";
  const struct pickle_value *text = pickle_find(entry, "user_metadata");
  if (!text || text->kind != PICKLE_TEXT) return TFPROF_OK;
  size_t head = 0;
  bool is_end = text->length >= sizeof end - 1 && memcmp(text->text, end, sizeof end - 1) == 0;
  bool is_start = text->length >= sizeof start - 1 && memcmp(text->text, start, sizeof start - 1) == 0;
  if (is_end || is_start) head = is_end ? sizeof end - 1 : sizeof start - 1;
  enum tfprof_status status = take_mark(rows, text->text + head, text->length - head, device, time, is_end);
  if (status || is_end || is_start) return status;
  return take_mark(rows, text->text, text->length, device, time, true);
}

/* {"stage": "START", "name": "ProfilerStep#1", "device": 1, "time_us": ...} */
static enum tfprof_status take_annotation(struct snapshot_rows *rows, const struct pickle_value *entry) {
  const struct pickle_value *name = pickle_find(entry, "name"), *stage = pickle_find(entry, "stage");
  if (!name || name->kind != PICKLE_TEXT) return TFPROF_OK;
  int64_t device = pickle_find_integer(entry, "device", 0);
  int64_t time = time_of(entry);
  if (rows->has_no_times && time != ROW_NULL) { /* it lies on another clock than the places of all else */
    rows->unplaced_marks++;
    time = ROW_NULL;
  }
  return take_mark(rows, name->text, name->length, device, time, pickle_is_text(stage, "END"));
}

/* `place`: in its device's trace. */
static enum tfprof_status take_entry(struct snapshot_rows *rows, const struct pickle_value *entry, int64_t device,
                                     uint64_t place, struct row_map *open_segments) {
  struct snapshot_event event = {.time = rows->has_no_times ? (int64_t)place : time_of(entry),
                                 .bytes = pickle_find_integer(entry, "size", ROW_NULL),
                                 .address = pickle_find_integer(entry, "addr", ROW_NULL),
                                 .device = device,
                                 .allocation = ROW_NULL,
                                 .in_use = ROW_NULL,
                                 .reserved = ROW_NULL,
                                 .free_bytes = pickle_find_integer(entry, "device_free", ROW_NULL)};
  enum action action = action_of(entry);
  enum tfprof_status status = TFPROF_OK;
  if (action == LET_GO) rows->free_requested_count++;
  if (action == OTHER) rows->unknown_actions++;
  if (action == MARK) return take_user_mark(rows, entry, device, event.time);
  if (action >= LET_GO) return TFPROF_OK;
  if (event.bytes < 0 || event.bytes > INT64_MAX / 4 || (event.address == ROW_NULL && action != OUT_OF_MEMORY)) {
    rows->odd_count++;
    return TFPROF_OK;
  }
  if (action == OUT_OF_MEMORY && event.free_bytes == ROW_NULL) { /* where the address stands otherwise */
    event.free_bytes = event.address;
    event.address = ROW_NULL;
  }
  status = pickle_rows_stack(&rows->pickle, entry, &event.trace);
  if (!status) status = pool_intern(rows->pickle.pool, actions[action].kind, strlen(actions[action].kind), &event.kind);
  if (!status) status = pickle_rows_text(&rows->pickle, pickle_find(entry, "category"), &event.region);
  if (!status && action == ALLOCATE) status = open_allocation(rows, &event);
  if (!status && action == RELEASE) status = close_allocation(rows, &event);
  if (action == RELEASE || action == SEGMENT_RELEASE) event.bytes = -event.bytes;
  if (!status && (action == SEGMENT_ALLOCATE || action == SEGMENT_RELEASE))
    status = note_segment(rows, &event, action == SEGMENT_RELEASE, open_segments);
  struct snapshot_event *made = status ? NULL : list_add(&rows->events);
  if (!made) return status ? status : TFPROF_NO_MEMORY;
  *made = event;
  if (event.time != ROW_NULL && event.time < rows->first_ns) rows->first_ns = event.time;
  if (event.time != ROW_NULL && event.time > rows->last_ns) rows->last_ns = event.time;
  return TFPROF_OK;
}

/* ---- what there is at the end ---- */

struct device_state {
  int64_t in_use, reserved;
};

static int64_t add(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static enum tfprof_status take_block(struct snapshot_rows *rows, const struct pickle_value *block, int64_t device,
                                     int64_t *address, struct device_state *state) {
  int64_t bytes = pickle_find_integer(block, "size", ROW_NULL), trace;
  int64_t start = pickle_find_integer(block, "address", *address);
  int64_t requested = pickle_find_integer(block, "requested_size", ROW_NULL);
  const struct pickle_value *status_text = pickle_find(block, "state"), *history = pickle_find(block, "history");
  const struct pickle_value *framed = pickle_find_list(block, "frames") ? block : NULL;
  if (block->kind != PICKLE_DICT || bytes < 0 || bytes > INT64_MAX / 4) {
    rows->odd_count++;
    return TFPROF_OK;
  }
  /* Before PyTorch 2.1 blocks had no address of their own, and what was asked for stood in their history. */
  if (start != ROW_NULL) *address = add(start, bytes);
  if (history && history->kind == PICKLE_LIST && history->container->count) {
    const struct pickle_value *last = &history->container->items[0];
    if (requested == ROW_NULL) requested = pickle_find_integer(last, "real_size", ROW_NULL);
    if (!framed) framed = last;
  }
  if (requested < 0 || requested > bytes) requested = bytes;
  if (pickle_is_text(status_text, "inactive") || start == ROW_NULL) return TFPROF_OK;
  state->in_use = add(state->in_use, requested);
  uint32_t *number = pickle_rows_number(&rows->live, device, start, 0);
  enum tfprof_status status = pickle_rows_stack(&rows->pickle, framed, &trace);
  if (!number || status) return status ? status : TFPROF_NO_MEMORY;
  struct snapshot_allocation *known = *number ? &rows->allocations.items[*number - 1] : NULL;
  if (known && known->released_ns == ROW_NULL) { /* the trace saw it */
    known->bytes = bytes;
    if (known->trace == ROW_NULL) known->trace = trace;
    return TFPROF_OK;
  }
  struct snapshot_allocation *made = list_add(&rows->allocations);
  if (!made) return TFPROF_NO_MEMORY;
  *made = (struct snapshot_allocation){start, bytes, requested, device, ROW_NULL, ROW_NULL, trace};
  *number = (uint32_t)rows->allocations.count;
  return TFPROF_OK;
}

/* "large", "small", and which pool where it is not the default one. */
static enum tfprof_status allocator_name(struct snapshot_rows *rows, const struct pickle_value *segment,
                                         string_id *id) {
  char name[96];
  const struct pickle_value *type = pickle_find(segment, "segment_type");
  const struct pickle_container *pool = pickle_find_list(segment, "segment_pool_id");
  int length = type && type->kind == PICKLE_TEXT ? (int)(type->length < 32 ? type->length : 32) : 0;
  size_t written = (size_t)snprintf(name, sizeof name, "%.*s", length, length ? type->text : "");
  if (pool && pool->count == 2 && pool->items[0].kind == PICKLE_INTEGER && pool->items[1].kind == PICKLE_INTEGER &&
      (pool->items[0].integer || pool->items[1].integer)) {
    written += (size_t)snprintf(name + written, sizeof name - written, "%spool %lld.%lld", written ? " " : "",
                                (long long)pool->items[0].integer, (long long)pool->items[1].integer);
  }
  return pickle_rows_bytes(&rows->pickle, name, written, id);
}

static enum tfprof_status take_segment(struct snapshot_rows *rows, const struct pickle_value *segment,
                                       const struct row_map *open, struct device_state *states) {
  int64_t device = pickle_find_integer(segment, "device", 0);
  struct snapshot_segment found = {.address = pickle_find_integer(segment, "address", ROW_NULL),
                                   .bytes = pickle_find_integer(segment, "total_size", ROW_NULL),
                                   .device = device,
                                   .allocated_ns = ROW_NULL,
                                   .released_ns = ROW_NULL};
  if (segment->kind != PICKLE_DICT || device < 0 || device >= rows->device_count || found.address == ROW_NULL ||
      found.bytes < 0 || found.bytes > INT64_MAX / 4) {
    rows->odd_count++;
    return TFPROF_OK;
  }
  enum tfprof_status status = allocator_name(rows, segment, &found.allocator);
  uint32_t place = row_map_find(open, (struct row_key){{(uint64_t)device, (uint64_t)found.address, 0}});
  uint32_t number = place == ROW_MAP_NONE ? 0 : open->values[place];
  struct snapshot_segment *known = number ? &rows->segments.items[number - 1] : NULL;
  if (known && known->released_ns != ROW_NULL) known = NULL;
  if (known) found.allocated_ns = known->allocated_ns;
  if (!known && !(known = list_add(&rows->segments))) return TFPROF_NO_MEMORY;
  *known = found;
  states[device].reserved = add(states[device].reserved, found.bytes);
  const struct pickle_container *blocks = pickle_find_list(segment, "blocks");
  int64_t address = found.address;
  PICKLE_ROWS_EACH(&rows->pickle, blocks, i, status,
                   take_block(rows, &blocks->items[i], device, &address, &states[device]))
  return status;
}

/* From the end backwards: the state after each event. */
static void count_back(struct snapshot_rows *rows, size_t first, struct device_state state) {
  for (size_t i = rows->events.count; i-- > first;) {
    struct snapshot_event *event = &rows->events.items[i];
    bool is_segment = event->allocation == ROW_NULL && event->address != ROW_NULL;
    event->in_use = state.in_use;
    event->reserved = state.reserved;
    if (event->allocation != ROW_NULL) state.in_use = add(state.in_use, -event->bytes);
    if (is_segment) state.reserved = add(state.reserved, -event->bytes);
  }
}

/* Where there is no trace, as torch.cuda.memory._record_memory_history() was not called, one event for each device with
** segments tells what is held. */
static enum tfprof_status add_held(struct snapshot_rows *rows, const struct device_state *states) {
  string_id kind;
  enum tfprof_status status = pool_intern(rows->pickle.pool, "snapshot", strlen("snapshot"), &kind);
  for (int64_t device = 0; device < rows->device_count && !status; device++) {
    if (!states[device].reserved && !states[device].in_use) continue;
    struct snapshot_event *made = list_add(&rows->events);
    if (!made) return TFPROF_NO_MEMORY;
    *made = (struct snapshot_event){.time = 0, .bytes = 0, .address = ROW_NULL, .device = device,
                                    .allocation = ROW_NULL, .in_use = states[device].in_use,
                                    .reserved = states[device].reserved, .free_bytes = ROW_NULL, .trace = ROW_NULL,
                                    .kind = kind};
    rows->held = add(rows->held, states[device].in_use);
    rows->reserved = add(rows->reserved, states[device].reserved);
    rows->first_ns = rows->last_ns = 0;
    rows->has_no_history = true;
  }
  return status;
}

enum tfprof_status snapshot_collect(struct snapshot_rows *rows, struct store *store, const struct pickle_value *root,
                                    uint64_t file_bytes, struct tfprof_error *error) {
  const struct pickle_container *segments = pickle_find_list(root, "segments");
  const struct pickle_container *traces = pickle_find_list(root, "device_traces");
  struct row_map open_segments = {0};
  enum tfprof_status status = TFPROF_OK;
  if (root->kind == PICKLE_LIST) segments = root->container; /* before PyTorch 2.1: the segments alone */
  *rows = (struct snapshot_rows){.pickle = pickle_rows_begin(store, file_bytes, BYTES_OF_ITEM),
                                 .first_ns = INT64_MAX,
                                 .last_ns = INT64_MIN};
  rows->device_count = traces ? (int64_t)(traces->count < 4096 ? traces->count : 4096) : 0;
  for (uint64_t i = 0; segments && i < segments->count; i++) {
    int64_t device = pickle_find_integer(&segments->items[i], "device", 0);
    if (device >= rows->device_count && device < 4096) rows->device_count = device + 1;
  }
  find_whether_timed(rows, traces);
  struct device_state *states = calloc((size_t)rows->device_count + 1, sizeof *states);
  size_t *first_events = calloc((size_t)rows->device_count + 1, sizeof *first_events);
  if (!states || !first_events) status = TFPROF_NO_MEMORY;
  for (int64_t device = 0; device < rows->device_count && !status; device++) {
    const struct pickle_value *trace = traces && (uint64_t)device < traces->count ? &traces->items[device] : NULL;
    const struct pickle_container *entries = trace && trace->kind == PICKLE_LIST ? trace->container : NULL;
    first_events[device] = rows->events.count;
    PICKLE_ROWS_EACH(&rows->pickle, entries, i, status, take_entry(rows, &entries->items[i], device, i, &open_segments))
    first_events[device + 1] = rows->events.count;
  }
  PICKLE_ROWS_EACH(&rows->pickle, segments, i, status, take_segment(rows, &segments->items[i], &open_segments, states))
  size_t all = rows->events.count;
  /* Without segments nothing is known of the end. */
  for (int64_t device = segments ? rows->device_count : 0; device-- > 0 && !status;) {
    rows->events.count = first_events[device + 1];
    count_back(rows, first_events[device], states[device]);
  }
  rows->events.count = all;
  const struct pickle_container *annotations = pickle_find_list(root, "external_annotations");
  PICKLE_ROWS_EACH(&rows->pickle, annotations, i, status, take_annotation(rows, &annotations->items[i]))
  if (!status && !all) status = add_held(rows, states);
  row_map_free(&open_segments);
  free(states);
  free(first_events);
  return pickle_rows_failed(status, "the snapshot", error);
}

void snapshot_rows_free(struct snapshot_rows *rows) {
  list_free(&rows->allocations);
  list_free(&rows->events);
  list_free(&rows->segments);
  list_free(&rows->marks);
  row_map_free(&rows->open_marks);
  pickle_rows_free(&rows->pickle);
  row_map_free(&rows->live);
}

/* ---- the tables ---- */

/* Marks are ops of one thread, of which ranges and steps are made as of those of any trace. */
static enum tfprof_status publish_marks(const struct snapshot_rows *rows, struct profile *profile,
                                        struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  struct eager_rows made;
  string_id host = 0, user = 0, name = 0;
  if (!rows->marks.count) return status;
  status = pool_intern(rows->pickle.pool, "host", strlen("host"), &host);
  if (!status) status = pool_intern(rows->pickle.pool, "user", strlen("user"), &user);
  if (!status) status = pool_intern(rows->pickle.pool, "marks", strlen("marks"), &name);
  if (status) return error_no_memory(error);
  eager_rows_begin(&made, profile, TABLE_threads, 1, &status, error);
  eager_rows_set_constant(&made, COLUMN_threads_kind, host);
  eager_rows_set_constant(&made, COLUMN_threads_name, name);
  eager_rows_end(&made);
  eager_rows_begin(&made, profile, TABLE_ops, rows->marks.count, &status, error);
  eager_rows_set_members(&made, COLUMN_ops_name, rows->marks, name);
  eager_rows_set_members(&made, COLUMN_ops_op_type, rows->marks, name);
  eager_rows_set_members(&made, COLUMN_ops_start_ns, rows->marks, start_ns);
  eager_rows_set_members(&made, COLUMN_ops_end_ns, rows->marks, end_ns);
  for (uint32_t i = 0; i < made.count; i++) {
    const struct snapshot_mark *mark = &rows->marks.items[i];
    bool is_known = mark->start_ns != ROW_NULL && mark->end_ns != ROW_NULL && mark->end_ns >= mark->start_ns;
    made.values[i] = is_known ? mark->end_ns - mark->start_ns : ROW_NULL;
  }
  eager_rows_set(&made, COLUMN_ops_dur_ns);
  eager_rows_set_constant(&made, COLUMN_ops_category, user);
  eager_rows_set_constant(&made, COLUMN_ops_thread_id, 0);
  eager_rows_set_constant(&made, COLUMN_ops_occurrence_count, 1);
  eager_rows_end(&made);
  return status;
}

enum tfprof_status snapshot_publish(const struct snapshot_rows *rows, struct profile *profile,
                                    struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  struct eager_rows made;
  string_id text = 0;

  eager_rows_begin(&made, profile, TABLE_devices, (uint64_t)rows->device_count, &status, error);
  for (uint32_t device = 0; device < made.count && !status; device++) {
    char name[32];
    snprintf(name, sizeof name, "cuda:%u", device);
    status = pool_intern(rows->pickle.pool, name, strlen(name), &text);
    made.values[device] = text;
  }
  eager_rows_set(&made, COLUMN_devices_name);
  for (uint32_t device = 0; device < made.count; device++) made.values[device] = device;
  eager_rows_set(&made, COLUMN_devices_ordinal);
  if (!status) status = pool_intern(rows->pickle.pool, "gpu", 3, &text);
  eager_rows_set_constant(&made, COLUMN_devices_kind, text);
  eager_rows_end(&made);

  if (!status) status = publish_marks(rows, profile, error);
  pickle_rows_publish(&rows->pickle, profile, &status, error);

  eager_rows_begin(&made, profile, TABLE_memory_segments, rows->segments.count, &status, error);
  eager_rows_set_members(&made, COLUMN_memory_segments_address, rows->segments, address);
  eager_rows_set_members(&made, COLUMN_memory_segments_bytes, rows->segments, bytes);
  eager_rows_set_members(&made, COLUMN_memory_segments_allocator, rows->segments, allocator);
  eager_rows_set_members(&made, COLUMN_memory_segments_device_id, rows->segments, device);
  eager_rows_set_members(&made, COLUMN_memory_segments_allocated_ns, rows->segments, allocated_ns);
  eager_rows_set_members(&made, COLUMN_memory_segments_released_ns, rows->segments, released_ns);
  eager_rows_end(&made);

  eager_rows_begin(&made, profile, TABLE_allocations, rows->allocations.count, &status, error);
  eager_rows_set_members(&made, COLUMN_allocations_address, rows->allocations, address);
  eager_rows_set_members(&made, COLUMN_allocations_bytes, rows->allocations, bytes);
  eager_rows_set_members(&made, COLUMN_allocations_requested_bytes, rows->allocations, requested);
  eager_rows_set_members(&made, COLUMN_allocations_device_id, rows->allocations, device);
  eager_rows_set_members(&made, COLUMN_allocations_allocated_ns, rows->allocations, allocated_ns);
  eager_rows_set_members(&made, COLUMN_allocations_released_ns, rows->allocations, released_ns);
  eager_rows_set_members(&made, COLUMN_allocations_code_trace_id, rows->allocations, trace);
  eager_rows_end(&made);

  eager_rows_begin(&made, profile, TABLE_memory_events, rows->events.count, &status, error);
  eager_rows_set_members(&made, COLUMN_memory_events_allocation_id, rows->events, allocation);
  eager_rows_set_members(&made, COLUMN_memory_events_time_ns, rows->events, time);
  eager_rows_set_members(&made, COLUMN_memory_events_kind, rows->events, kind);
  eager_rows_set_members(&made, COLUMN_memory_events_bytes, rows->events, bytes);
  eager_rows_set_members(&made, COLUMN_memory_events_in_use_bytes, rows->events, in_use);
  eager_rows_set_members(&made, COLUMN_memory_events_reserved_bytes, rows->events, reserved);
  eager_rows_set_members(&made, COLUMN_memory_events_free_bytes, rows->events, free_bytes);
  eager_rows_set_members(&made, COLUMN_memory_events_device_id, rows->events, device);
  eager_rows_set_members(&made, COLUMN_memory_events_address, rows->events, address);
  eager_rows_set_members(&made, COLUMN_memory_events_region, rows->events, region);
  eager_rows_set_members(&made, COLUMN_memory_events_recorded_code_trace, rows->events, trace);
  eager_rows_end(&made);
  return status;
}
