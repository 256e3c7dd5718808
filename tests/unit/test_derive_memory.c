/* test_derive_memory.c: segments of a device's memory and what of them is free, against an allocator of the test's that
** counts bytes one by one.
*/
#include "derive_test.h"

#include <math.h>

enum { DEVICES = 2, MEMORY = 512, EVENTS = 400, SEGMENT_SIZES = 4, PIECE_SIZES = 24, BASE = 4096 };

struct device {
  uint8_t segment[MEMORY], taken[MEMORY]; /* by byte: number of the segment; whether a piece lies there */
  uint8_t begins[MEMORY];                 /* a segment */
  uint32_t open[MEMORY], pieces[MEMORY];  /* by first byte: bytes */
  int64_t in_use, reserved;
};

struct told {
  int64_t largest, free;
}; /* by event; largest -1: none is due */

static int64_t *times, *kinds, *bytes, *addresses, *in_use, *reserved, *devices;
static uint32_t count;
static struct told told[EVENTS];

static uint32_t add_event(struct opened *opened, const char *kind, uint32_t device, uint32_t at, int64_t size) {
  times[count] = count ? times[count - 1] + 2000000 : 1;
  kinds[count] = text(opened, kind);
  bytes[count] = size;
  addresses[count] = BASE + at;
  devices[count] = device;
  told[count] = (struct told){-1, 0};
  return count++;
}

static void add_state(uint32_t event, const struct device *device) {
  in_use[event] = device->in_use;
  reserved[event] = device->reserved;
  told[event] = (struct told){0, device->reserved - device->in_use};
  for (uint32_t at = 0, run = 0; at < MEMORY; at++) {
    if (device->begins[at]) run = 0;
    run = device->segment[at] && !device->taken[at] ? run + 1 : 0;
    if (run > told[event].largest) told[event].largest = run;
  }
}

/* A segment is taken, of another one (`is_foreign`) no piece is dealt out; segments may touch. */
static void take_segment(struct opened *opened, struct device *device, uint32_t number, bool is_foreign) {
  uint32_t size = 32 * (1 + below(SEGMENT_SIZES)), at = 32 * below(MEMORY / 32);
  for (uint32_t i = at; i < at + size; i++)
    if (i >= MEMORY || device->segment[i] || device->taken[i]) return;
  add_event(opened, "segment_allocate", number, at, size);
  memset(is_foreign ? device->taken + at : device->segment + at, 1, size);
  if (is_foreign) return;
  device->begins[at] = 1;
  device->open[at] = size;
  device->reserved += size;
  uint32_t piece = 1 + below(PIECE_SIZES); /* an allocator takes segments for a piece that it has no room for */
  memset(device->taken + at, 1, piece);
  device->pieces[at] = piece;
  device->in_use += piece;
  add_state(add_event(opened, "allocate", number, at, piece), device);
}

static void take_piece(struct opened *opened, struct device *device, uint32_t number) {
  uint32_t size = 1 + below(PIECE_SIZES), at = below(MEMORY);
  for (uint32_t i = at; i < at + size; i++)
    if (i >= MEMORY || !device->segment[i] || device->taken[i] || (i > at && device->begins[i])) return;
  memset(device->taken + at, 1, size);
  device->pieces[at] = size;
  device->in_use += size;
  add_state(add_event(opened, "allocate", number, at, size), device);
}

static void give_piece(struct opened *opened, struct device *device, uint32_t number) {
  uint32_t at = below(MEMORY), size;
  while (at < MEMORY && !device->pieces[at]) at++;
  if (at == MEMORY) return;
  size = device->pieces[at];
  memset(device->taken + at, 0, size);
  device->pieces[at] = 0;
  device->in_use -= size;
  add_state(add_event(opened, "release", number, at, -(int64_t)size), device);
}

static void give_segment(struct opened *opened, struct device *device, uint32_t number) {
  for (uint32_t at = 0; at < MEMORY; at++) {
    uint32_t size = device->open[at];
    bool is_empty = size && !memchr(device->taken + at, 1, size);
    if (!is_empty) continue;
    add_event(opened, "segment_release", number, at, -(int64_t)size);
    memset(device->segment + at, 0, size);
    device->begins[at] = 0;
    device->open[at] = 0;
    device->reserved -= size;
    return;
  }
}

static void begin_events(struct opened *opened) {
  begin(opened);
  column(opened, TABLE_devices, COLUMN_devices_ordinal, DEVICES);
  times = column(opened, TABLE_memory_events, COLUMN_memory_events_time_ns, EVENTS);
  kinds = column(opened, TABLE_memory_events, COLUMN_memory_events_kind, EVENTS);
  bytes = column(opened, TABLE_memory_events, COLUMN_memory_events_bytes, EVENTS);
  addresses = column(opened, TABLE_memory_events, COLUMN_memory_events_address, EVENTS);
  in_use = column(opened, TABLE_memory_events, COLUMN_memory_events_in_use_bytes, EVENTS);
  reserved = column(opened, TABLE_memory_events, COLUMN_memory_events_reserved_bytes, EVENTS);
  devices = column(opened, TABLE_memory_events, COLUMN_memory_events_device_id, EVENTS);
  count = 0;
}

static void check_free(struct opened *opened, const char *what) {
  opened->content.rows[TABLE_memory_events] = count;
  publish(opened, &from_start, 50);
  int64_t *largest = derived(opened, TABLE_memory_events, COLUMN_memory_events_largest_free_bytes, NULL);
  const struct profile_table *table = &opened->profile->tables[TABLE_memory_events];
  for (size_t s = 0; s < table->segment_count; s++) {
    const struct segment *segment = table->segments[s];
    for (uint32_t i = 0; i < segment->rows; i++) {
      double ratio;
      uint32_t row = (uint32_t)segment->first_row + i;
      derive_reals(segment->columns[COLUMN_memory_events_fragmentation_ratio], i, 1, &ratio);
      int64_t due = told[row].largest < 0 ? NO_VALUE : told[row].largest;
      check(largest[row] == due, "%s: event %u: the largest is %lld instead of %lld", what, row,
            (long long)largest[row], (long long)due);
      double wanted = due == NO_VALUE || !told[row].free ? NAN : 1 - (double)due / (double)told[row].free;
      check(isnan(wanted) ? isnan(ratio) : ratio == wanted, "%s: event %u: %g instead of %g", what, row, ratio, wanted);
    }
  }
  free(largest);
}

static void test_random(void) {
  for (int round = 0; round < 40; round++) {
    struct device its[DEVICES] = {0};
    struct opened opened;
    uint32_t made = 0, given_back = 0;
    begin_events(&opened);
    while (count + 2 < EVENTS) {
      uint32_t number = below(DEVICES), what = below(16);
      if (what < 2) take_segment(&opened, &its[number], number, what == 1 && below(4) == 0);
      else if (what < 9) take_piece(&opened, &its[number], number);
      else if (what < 15) give_piece(&opened, &its[number], number);
      else give_segment(&opened, &its[number], number);
    }
    for (uint32_t i = 0; i < count; i++) {
      made += kinds[i] == text(&opened, "segment_allocate");
      given_back += kinds[i] == text(&opened, "segment_release");
    }
    check_free(&opened, "random");
    uint32_t rows, closed = 0;
    int64_t *released = derived(&opened, TABLE_memory_segments, COLUMN_memory_segments_released_ns, &rows);
    for (uint32_t i = 0; i < rows; i++) closed += released[i] != NO_VALUE;
    check(rows == made && closed == given_back, "%u segments, %u of them given back, instead of %u and %u", rows,
          closed, made, given_back);
    free(released);
    end(&opened);
  }
}

/* Where pieces have no rows, what is free is not known, and is again when they are gone. */
static void test_left_out(void) {
  struct opened opened;
  struct device its = {0};
  begin_events(&opened);
  add_event(&opened, "segment_allocate", 0, 0, 100);
  memset(its.segment, 1, 100);
  its.reserved = 100;
  its.in_use = 10;
  memset(its.taken, 1, 10);
  add_state(add_event(&opened, "allocate", 0, 0, 10), &its);
  its.in_use = 30; /* with 20 that nobody saw */
  add_state(add_event(&opened, "allocate", 0, 50, 5), &its);
  told[count - 1] = (struct told){-1, 0};
  its.in_use = 25;
  add_state(add_event(&opened, "release", 0, 50, -5), &its);
  told[count - 1] = (struct told){-1, 0};
  its.in_use = 10;
  add_state(add_event(&opened, "out_of_memory", 0, 0, 1000), &its);
  check_free(&opened, "left out");
  end(&opened);
}

/* A segment whose time is a little after that of the piece in it; one that is much later is none of it. */
static void test_late(void) {
  for (int64_t late = 100; late <= 100000000; late *= 1000) {
    struct opened opened;
    struct device its = {.reserved = 100, .in_use = 10};
    begin_events(&opened);
    memset(its.segment, 1, 100);
    memset(its.taken, 1, 10);
    add_state(add_event(&opened, "allocate", 0, 0, 10), &its);
    times[add_event(&opened, "segment_allocate", 0, 0, 100)] = times[0] + late;
    if (late > 1000000) told[0].largest = -1;
    check_free(&opened, "late");
    end(&opened);
  }
}

/* Numbers of a damaged file: addresses that overflow, sizes that are none, releases of what was never given. */
static void test_damaged(void) {
  struct opened opened;
  begin_events(&opened);
  add_event(&opened, "segment_allocate", 0, 0, INT64_MAX);
  addresses[add_event(&opened, "segment_allocate", 0, 0, 64)] = -8;
  add_event(&opened, "segment_allocate", 0, 16, -5);
  add_event(&opened, "segment_release", 0, 300, -50);
  add_event(&opened, "segment_release", 0, 300, INT64_MIN + 1);
  add_event(&opened, "segment_allocate", 0, 32, 64);
  add_event(&opened, "segment_allocate", 0, 48, 64);
  add_event(&opened, "segment_allocate", 0, 32, 32);
  for (uint32_t at = 0; at < 128; at += 4)
    add_event(&opened, at % 3 ? "allocate" : "release", 0, at, at % 3 ? 24 : -24);
  check_free(&opened, "damaged");
  end(&opened);
}

int main(void) {
  test_random();
  test_left_out();
  test_late();
  test_damaged();
  return check_result();
}
