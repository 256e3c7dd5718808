/* memory_segments.c: the table memory_segments, and of memory_events largest_free_bytes and fragmentation_ratio, from
** the addresses of what the driver gave and of the pieces that an allocator dealt out of it.
**
** An event segment_allocate opens a row, the segment_release of the same address on the same device closes it; as in
** allocations, an address that is given again while it stands closes the older one, and a release alone is a segment
** from before the recording.  A segment that pieces lie in is the allocator's, any other the program's or a library's
** own.
**
** What an allocator could hand out are its segments without the pieces that are live.  Its free memory is known where
** the sums agree with what the allocator itself tells with the event, in use and reserved: not where rows of pieces
** were left out (--max-rate), nor where pieces lie in memory that was had in other ways (expandable segments).  The
** driver's events have times of another clock; they count as having come before an event that needs them when they
** come up to a millisecond after it.
*/
#include "derive/memory/free_space.h"
#include "derive/passes.h"
#include "derive/rows.h"

#include <math.h>
#include <stdlib.h>

enum { LATE_NS = 1000000, EVENTS_UNTIL_POLL = 1 << 14 };

struct event {
  int64_t time, bytes, in_use, reserved; /* bytes: as such, of a release, too */
  uint64_t address;
  uint32_t row, device;
  uint32_t segment; /* that it opens, closes, or lies in; NO_ROW: none */
  string_id allocator;
  enum { SEGMENT_ALLOCATE, ALLOCATE, RELEASE, FAILURE, SEGMENT_RELEASE } kind; /* the order at one time */
};

struct segment_row {
  uint32_t opened, closed; /* index of event; NO_ROW: none */
  bool has_pieces;
  string_id allocator;
};

struct work {
  struct event *events; /* by device and time */
  uint32_t count;
  struct segment_row *made;
  uint32_t made_count;
  int64_t *largest; /* by row of memory_events */
  double *ratios;
};

static int compare_events(const void *a, const void *b) {
  const struct event *x = a, *y = b;
  if (x->device != y->device) return x->device < y->device ? -1 : 1;
  if (x->time != y->time) return x->time < y->time ? -1 : 1;
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  return x->row < y->row ? -1 : x->row > y->row;
}

static int compare_addresses(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static uint64_t end_of(const struct event *event) { return event->address + (uint64_t)event->bytes; }
static bool is_of_segment(const struct event *event) {
  return event->kind == SEGMENT_ALLOCATE || event->kind == SEGMENT_RELEASE;
}

/* ---- what happened ---- */

struct kinds { string_id of[SEGMENT_RELEASE + 1]; };

static unsigned kind_of(const struct kinds *kinds, string_id text) {
  unsigned kind = 0;
  while (kind <= SEGMENT_RELEASE && kinds->of[kind] != text) kind++;
  return kind;
}

/* Which devices have segments at all. */
static enum tfprof_status find_devices(struct profile *profile, const struct kinds *kinds, uint8_t *has_segments,
                                       uint32_t devices, uint32_t *found, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_memory_events, &block, &status, error);) {
    uint32_t device[ROWS_BLOCK];
    string_id texts[ROWS_BLOCK];
    block_texts(&block, COLUMN_memory_events_kind, texts);
    block_references(&block, COLUMN_memory_events_device_id, devices, device);
    for (uint32_t i = 0; i < block.count; i++) {
      if (texts[i] != kinds->of[SEGMENT_ALLOCATE] && texts[i] != kinds->of[SEGMENT_RELEASE]) continue;
      if (device[i] == NO_ROW) continue;
      has_segments[device[i]] = 1;
      ++*found;
    }
  }
  return status;
}

static enum tfprof_status collect_events(struct profile *profile, const struct kinds *kinds,
                                         const uint8_t *has_segments, uint32_t devices, struct work *w,
                                         struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  bool is_sorted = true;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_memory_events, &block, &status, error);) {
    int64_t times[ROWS_BLOCK], bytes[ROWS_BLOCK], addresses[ROWS_BLOCK], in_use[ROWS_BLOCK], reserved[ROWS_BLOCK];
    uint32_t device[ROWS_BLOCK];
    string_id texts[ROWS_BLOCK], allocators[ROWS_BLOCK];
    block_integers(&block, COLUMN_memory_events_time_ns, times);
    block_integers(&block, COLUMN_memory_events_bytes, bytes);
    block_integers(&block, COLUMN_memory_events_address, addresses);
    block_integers(&block, COLUMN_memory_events_in_use_bytes, in_use);
    block_integers(&block, COLUMN_memory_events_reserved_bytes, reserved);
    block_references(&block, COLUMN_memory_events_device_id, devices, device);
    block_texts(&block, COLUMN_memory_events_kind, texts);
    block_texts(&block, COLUMN_memory_events_allocator, allocators);
    for (uint32_t i = 0; i < block.count; i++) {
      unsigned kind = kind_of(kinds, texts[i]);
      if (kind > SEGMENT_RELEASE || device[i] == NO_ROW || !has_segments[device[i]] || times[i] == NO_VALUE) continue;
      bool is_failure = kind == FAILURE, is_release = kind == RELEASE || kind == SEGMENT_RELEASE;
      struct event event = {.time = times[i],
                            .bytes = is_failure || bytes[i] == NO_VALUE ? 0 : is_release ? -bytes[i] : bytes[i],
                            .in_use = in_use[i],
                            .reserved = reserved[i],
                            .address = is_failure || addresses[i] == NO_VALUE ? 0 : (uint64_t)addresses[i],
                            .row = (uint32_t)block.row + i,
                            .device = device[i],
                            .segment = NO_ROW,
                            .allocator = allocators[i],
                            .kind = kind};
      bool is_in_memory = event.address && event.bytes > 0 && end_of(&event) > event.address;
      if (!is_failure && !is_in_memory) continue;
      if (w->count && compare_events(&w->events[w->count - 1], &event) > 0) is_sorted = false;
      w->events[w->count++] = event;
    }
  }
  if (!status && !is_sorted) qsort(w->events, w->count, sizeof *w->events, compare_events);
  return status;
}

/* ---- segments ---- */

/* The addresses at which events of one kind or another begin and end, ascending, each once; NULL: no memory. */
static uint64_t *bounds_of(const struct event *events, uint32_t count, bool (*is_taken)(const struct event *),
                           uint32_t *bound_count) {
  uint64_t *bounds = scratch_allocate(((size_t)count * 2 + 1) * sizeof *bounds);
  uint32_t made = 0, kept = 0;
  for (uint32_t i = 0; bounds && i < count; i++) {
    if (!is_taken(&events[i])) continue;
    bounds[made++] = events[i].address;
    bounds[made++] = end_of(&events[i]);
  }
  if (bounds) qsort(bounds, made, sizeof *bounds, compare_addresses);
  for (uint32_t i = 0; i < made; i++)
    if (!kept || bounds[kept - 1] != bounds[i]) bounds[kept++] = bounds[i];
  *bound_count = kept;
  return bounds;
}

static uint32_t bound_below(const uint64_t *bounds, uint32_t count, uint64_t address) { /* the last one not above it */
  uint32_t low = 0, high = count;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (bounds[middle] <= address) low = middle; else high = middle;
  }
  return low;
}

/* Segments of one device, and in which of them each piece lies: the last that was given with its address. A tree of
** maxima over the stretches between bounds, in which later segments have larger numbers. */
static enum tfprof_status find_segments(struct work *w, uint32_t first, uint32_t end, struct tfprof_error *error) {
  struct event *events = w->events + first;
  uint32_t count = end - first, bound_count, leaves = 1, late = 0;
  uint64_t *bounds = bounds_of(events, count, is_of_segment, &bound_count);
  while (leaves < bound_count) leaves *= 2;
  uint32_t *open = scratch_allocate_zeroed((size_t)bound_count + 1, sizeof *open); /* by bound: segment + 1 */
  uint32_t *tree = scratch_allocate_zeroed((size_t)leaves * 2, sizeof *tree);      /* segment + 1 */
  enum tfprof_status status = bounds && open && tree ? TFPROF_OK : error_no_memory(error);
  for (uint32_t i = 0; i < count && !status; i++) {
    struct event *event = &events[i];
    if (!is_of_segment(event)) continue;
    uint32_t bound = bound_below(bounds, bound_count, event->address);
    bool is_release = event->kind == SEGMENT_RELEASE;
    if (is_release && open[bound]) {
      event->segment = open[bound] - 1;
      w->made[event->segment].closed = first + i;
      open[bound] = 0;
      continue;
    }
    event->segment = w->made_count;
    w->made[w->made_count++] = (struct segment_row){.opened = is_release ? NO_ROW : first + i,
                                                    .closed = is_release ? first + i : NO_ROW,
                                                    .allocator = event->allocator};
    open[bound] = is_release ? 0 : w->made_count;
  }
  for (uint32_t i = 0; i < count && !status; i++) {
    if (events[i].kind != ALLOCATE) continue;
    for (; late < count && (late < i || events[late].time - events[i].time <= LATE_NS); late++) {
      const struct event *segment = &events[late];
      if (segment->kind != SEGMENT_ALLOCATE) continue;
      uint32_t left = bound_below(bounds, bound_count, segment->address) + leaves;
      uint32_t right = bound_below(bounds, bound_count, end_of(segment)) + leaves;
      for (; left < right; left /= 2, right /= 2) {
        if (left & 1) tree[left++] = segment->segment + 1;
        if (right & 1) tree[--right] = segment->segment + 1;
      }
    }
    uint32_t found = 0;
    if (events[i].address < bounds[0]) continue;
    for (uint32_t at = bound_below(bounds, bound_count, events[i].address) + leaves; at; at /= 2)
      if (tree[at] > found) found = tree[at];
    if (!found || end_of(&events[i]) > end_of(&w->events[w->made[found - 1].opened])) continue;
    events[i].segment = found - 1;
    if (!w->made[found - 1].has_pieces) w->made[found - 1].allocator = events[i].allocator;
    w->made[found - 1].has_pieces = true;
  }
  scratch_free(bounds);
  scratch_free(open);
  scratch_free(tree);
  return status;
}

/* ---- what is free ---- */

struct replay {
  struct free_space space;
  uint32_t *pieces, *segments; /* live, by the bound that they begin at: the bound of the end, 0: none */
  uint64_t in_use, reserved; /* modulo 2^64: bytes of one address that many segments claim pass any total */
};

static bool has_place(const struct event *event) { return event->kind != FAILURE; }

static uint64_t bytes_between(const struct free_space *space, uint32_t from, uint32_t to) {
  return space->bounds[to] - space->bounds[from];
}

static void take_back_segment(struct replay *r, uint32_t from) {
  if (!r->segments[from]) return;
  r->reserved -= bytes_between(&r->space, from, r->segments[from]);
  free_space_cut(&r->space, from, false);
  free_space_set(&r->space, from, r->segments[from], false);
  r->segments[from] = 0;
}

static void take_back_piece(struct replay *r, uint32_t from) {
  if (!r->pieces[from]) return;
  r->in_use -= bytes_between(&r->space, from, r->pieces[from]);
  free_space_set(&r->space, from, r->pieces[from], true);
  r->pieces[from] = 0;
}

static void replay_segment(struct replay *r, const struct event *event) {
  uint32_t from = free_space_bound(&r->space, event->address);
  take_back_segment(r, from);
  if (event->kind == SEGMENT_RELEASE) return;
  r->segments[from] = free_space_bound(&r->space, end_of(event));
  r->reserved += (uint64_t)event->bytes;
  free_space_cut(&r->space, from, true);
  free_space_set(&r->space, from, r->segments[from], true);
}

static void replay_piece(struct replay *r, const struct event *event) {
  if (event->kind == FAILURE) return;
  uint32_t from = free_space_bound(&r->space, event->address);
  take_back_piece(r, from);
  if (event->kind == RELEASE || event->segment == NO_ROW) return;
  r->pieces[from] = free_space_bound(&r->space, end_of(event));
  r->in_use += (uint64_t)event->bytes;
  free_space_set(&r->space, from, r->pieces[from], false);
}

static enum tfprof_status replay_device(struct profile *profile, struct work *w, uint32_t first, uint32_t end,
                                        struct tfprof_error *error) {
  const struct event *events = w->events + first;
  uint32_t count = end - first, bound_count, next = 0;
  struct replay r = {0};
  uint64_t *bounds = bounds_of(events, count, has_place, &bound_count);
  r.pieces = scratch_allocate_zeroed((size_t)bound_count + 1, sizeof *r.pieces);
  r.segments = scratch_allocate_zeroed((size_t)bound_count + 1, sizeof *r.segments);
  bool has_memory = bounds && r.pieces && r.segments && free_space_begin(&r.space, bounds, bound_count);
  enum tfprof_status status = has_memory ? TFPROF_OK : error_no_memory(error);
  for (uint32_t i = 0; i < count && !status; i++) {
    const struct event *event = &events[i];
    if (i % EVENTS_UNTIL_POLL == 0) status = derive_poll(profile, error);
    if (is_of_segment(event)) continue;
    for (; next < count; next++) {
      bool is_needed = event->reserved != NO_VALUE && r.reserved != (uint64_t)event->reserved;
      if (next > i && (!is_needed || events[next].time - event->time > LATE_NS)) break;
      if (is_of_segment(&events[next]) && w->made[events[next].segment].has_pieces) replay_segment(&r, &events[next]);
    }
    replay_piece(&r, event);
    if (event->in_use < 0 || event->reserved < event->in_use) continue; /* not told, or nonsense */
    if (r.in_use != (uint64_t)event->in_use || r.reserved != (uint64_t)event->reserved) continue;
    uint64_t largest = free_space_largest(&r.space), all = r.reserved - r.in_use;
    if (largest > all) continue;
    w->largest[event->row] = (int64_t)largest;
    if (all) w->ratios[event->row] = 1 - (double)largest / (double)all;
  }
  if (has_memory) free_space_end(&r.space);
  scratch_free(r.pieces);
  scratch_free(r.segments);
  scratch_free(bounds);
  return status;
}

/* ---- the table and the columns ---- */

static enum tfprof_status set_segment_columns(struct profile *profile, const struct work *w,
                                              struct tfprof_error *error) {
  int64_t *integers = scratch_allocate(((size_t)w->made_count + 1) * sizeof *integers);
  uint32_t *ids = scratch_allocate(((size_t)w->made_count + 1) * sizeof *ids); /* references or texts */
  enum tfprof_status status = integers && ids ? TFPROF_OK : error_no_memory(error);
#define EACH(kind, array, column, expression) \
  for (uint32_t i = 0; i < w->made_count && !status; i++) { \
    const struct segment_row *made = &w->made[i]; \
    const struct event *opened = made->opened == NO_ROW ? NULL : &w->events[made->opened]; \
    const struct event *closed = made->closed == NO_ROW ? NULL : &w->events[made->closed]; \
    const struct event *any = opened ? opened : closed; \
    (void)closed, (void)any; \
    array[i] = (expression); \
  } \
  if (!status) status = derive_set_##kind(profile, TABLE_memory_segments, COLUMN_memory_segments_##column, array, error)
  EACH(integers, integers, address, (int64_t)any->address);
  EACH(integers, integers, bytes, any->bytes);
  EACH(integers, integers, allocated_ns, opened ? opened->time : NO_VALUE);
  EACH(integers, integers, released_ns, closed ? closed->time : NO_VALUE);
  EACH(references, ids, device_id, any->device);
  EACH(texts, ids, allocator, made->allocator ? made->allocator : profile->framework);
#undef EACH
  scratch_free(integers);
  scratch_free(ids);
  return status;
}

static enum tfprof_status make_segments(struct profile *profile, struct work *w, uint32_t rows,
                                        struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  w->made = scratch_allocate(((size_t)w->count + 1) * sizeof *w->made);
  w->largest = scratch_allocate((size_t)rows * sizeof *w->largest);
  w->ratios = scratch_allocate((size_t)rows * sizeof *w->ratios);
  if (!w->made || !w->largest || !w->ratios) return error_no_memory(error);
  for (uint32_t row = 0; row < rows; row++) {
    w->largest[row] = NO_VALUE;
    w->ratios[row] = NAN;
  }
  for (uint32_t first = 0, end; first < w->count && !status; first = end) {
    for (end = first + 1; end < w->count && w->events[end].device == w->events[first].device;) end++;
    status = find_segments(w, first, end, error);
    if (!status) status = replay_device(profile, w, first, end, error);
  }
  if (!status) status = derive_make_table(profile, TABLE_memory_segments, w->made_count, error);
  if (!status) status = set_segment_columns(profile, w, error);
  if (!status)
    status = derive_set_integers(profile, TABLE_memory_events, COLUMN_memory_events_largest_free_bytes, w->largest,
                                 error);
  if (!status)
    status = derive_set_reals(profile, TABLE_memory_events, COLUMN_memory_events_fragmentation_ratio, w->ratios, error);
  return status;
}

static enum tfprof_status run_memory_segments(struct profile *profile, struct tfprof_error *error) {
  struct work w = {0};
  struct kinds kinds = {{[SEGMENT_ALLOCATE] = derive_known_text(profile, "segment_allocate"),
                         [ALLOCATE] = derive_known_text(profile, "allocate"),
                         [RELEASE] = derive_known_text(profile, "release"),
                         [FAILURE] = derive_known_text(profile, "out_of_memory"),
                         [SEGMENT_RELEASE] = derive_known_text(profile, "segment_release")}};
  uint32_t rows, devices, found = 0;
  enum tfprof_status status = derive_row_count(profile, TABLE_memory_events, &rows, error);
  if (!status) status = derive_row_count(profile, TABLE_devices, &devices, error);
  /* Where the source knows its segments it has pieces as they were asked for, not as they were dealt out. */
  if (status || !rows || !devices || !profile->tables[TABLE_memory_segments].is_made) return status;
  uint8_t *has_segments = scratch_allocate_zeroed(devices, 1);
  if (!has_segments) return error_no_memory(error);
  status = find_devices(profile, &kinds, has_segments, devices, &found, error);
  if (!status && found) {
    w.events = scratch_allocate((size_t)rows * sizeof *w.events);
    status = w.events ? collect_events(profile, &kinds, has_segments, devices, &w, error) : error_no_memory(error);
    if (!status) status = make_segments(profile, &w, rows, error);
  }
  scratch_free(has_segments);
  scratch_free(w.events);
  scratch_free(w.made);
  scratch_free(w.largest);
  scratch_free(w.ratios);
  return status;
}

static bool has_no_events(const struct profile *profile) {
  return profile->tables[TABLE_memory_events].segment_count == 0;
}

const struct derive_pass derive_memory_segments = {
    .name = "memory segments",
    .summary = "Segments paired by their addresses, and what of them is free once the live pieces are taken out.",
    .makes_table = TABLE_memory_segments,
    .is_idle = has_no_events,
    .reads = {{TABLE_memory_events, COLUMN_memory_events_time_ns},
              {TABLE_memory_events, COLUMN_memory_events_kind},
              {TABLE_memory_events, COLUMN_memory_events_bytes},
              {TABLE_memory_events, COLUMN_memory_events_address},
              {TABLE_memory_events, COLUMN_memory_events_in_use_bytes},
              {TABLE_memory_events, COLUMN_memory_events_reserved_bytes},
              {TABLE_memory_events, COLUMN_memory_events_device_id},
              {TABLE_memory_events, COLUMN_memory_events_allocator}},
    .writes = {{TABLE_memory_events, COLUMN_memory_events_largest_free_bytes},
               {TABLE_memory_events, COLUMN_memory_events_fragmentation_ratio}},
    .run = run_memory_segments,
};
