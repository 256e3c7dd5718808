/* memory_peaks.c: the table memory_peaks, the memory events of each device and allocator taken together. */
#include "derive/passes.h"
#include "derive/totals/grouping.h"

enum { KEY_DEVICE, KEY_ALLOCATOR, KEYS };

struct memory_peak {
  int64_t allocations, releases, peak, lifetime, reserved; /* the last three: NO_VALUE where none is known */
  uint32_t row;                                            /* with the peak */
};

struct memory_kinds {
  string_id allocate, release;
  uint32_t device_count;
};

static bool add_events(const struct grouping *grouping, struct grouped *to, const struct row_block *block) {
  static const struct memory_peak none = {0, 0, NO_VALUE, NO_VALUE, NO_VALUE, NO_ROW};
  const struct memory_kinds *kinds = grouping->context;
  int64_t in_use[ROWS_BLOCK], stack[ROWS_BLOCK], lifetime[ROWS_BLOCK], reserved[ROWS_BLOCK];
  string_id kind[ROWS_BLOCK], allocators[ROWS_BLOCK];
  uint32_t devices[ROWS_BLOCK];
  block_integers(block, COLUMN_memory_events_in_use_bytes, in_use);
  block_integers(block, COLUMN_memory_events_stack_bytes, stack);
  block_integers(block, COLUMN_memory_events_peak_bytes, lifetime);
  block_integers(block, COLUMN_memory_events_reserved_bytes, reserved);
  block_texts(block, COLUMN_memory_events_kind, kind);
  block_texts(block, COLUMN_memory_events_allocator, allocators);
  block_references(block, COLUMN_memory_events_device_id, kinds->device_count, devices);
  for (uint32_t i = 0; i < block->count; i++) {
    const int64_t key[KEYS] = {[KEY_DEVICE] = devices[i] == NO_ROW ? NO_VALUE : (int64_t)devices[i],
                               [KEY_ALLOCATOR] = allocators[i] ? (int64_t)allocators[i] : NO_VALUE};
    uint32_t number = grouping_number(grouping, to, key, &none);
    if (number == NO_ROW) return false;
    struct memory_peak *peak = (struct memory_peak *)to->items + number;
    int64_t bytes = in_use[i];
    peak->allocations += kind[i] == kinds->allocate;
    peak->releases += kind[i] == kinds->release;
    if (lifetime[i] > peak->lifetime) peak->lifetime = lifetime[i]; /* NO_VALUE is below all */
    if (reserved[i] > peak->reserved) peak->reserved = reserved[i];
    if (bytes == NO_VALUE || (stack[i] != NO_VALUE && __builtin_add_overflow(bytes, stack[i], &bytes))) continue;
    if (peak->row != NO_ROW && bytes <= peak->peak) continue;
    peak->peak = bytes;
    peak->row = (uint32_t)block->row + i;
  }
  return true;
}

static void join_peaks(const struct grouping *grouping, void *item, const void *later) {
  (void)grouping;
  struct memory_peak *peak = item;
  const struct memory_peak *more = later;
  peak->allocations += more->allocations;
  peak->releases += more->releases;
  if (more->lifetime > peak->lifetime) peak->lifetime = more->lifetime;
  if (more->reserved > peak->reserved) peak->reserved = more->reserved;
  if (more->row == NO_ROW || (peak->row != NO_ROW && more->peak <= peak->peak)) return;
  peak->peak = more->peak;
  peak->row = more->row;
}

static enum tfprof_status set_peaks(struct profile *profile, const struct grouped *grouped,
                                    struct tfprof_error *error) {
  const struct memory_peak *items = grouped->items;
  const int64_t *keys = grouped->groups.keys;
  uint32_t count = grouped->groups.count;
  int64_t *integers = scratch_allocate(((size_t)count + 1) * sizeof *integers);
  enum tfprof_status status = integers ? TFPROF_OK : error_no_memory(error);
#define SET(column, expression) \
  SET_TOTALS(integers, profile, TABLE_memory_peaks, COLUMN_memory_peaks_##column, expression)
  SET(device_id, keys[(size_t)i * KEYS + KEY_DEVICE]);
  SET(allocator, keys[(size_t)i * KEYS + KEY_ALLOCATOR]);
  SET(allocation_count, items[i].allocations);
  SET(release_count, items[i].releases);
  SET(peak_bytes, items[i].peak);
  SET(memory_event_id, items[i].row == NO_ROW ? NO_VALUE : (int64_t)items[i].row);
  SET(lifetime_peak_bytes, items[i].lifetime);
  SET(reserved_peak_bytes, items[i].reserved);
#undef SET
  scratch_free(integers);
  return status;
}

static enum tfprof_status run_memory_peaks(struct profile *profile, struct tfprof_error *error) {
  struct memory_kinds kinds = {derive_known_text(profile, "allocate"), derive_known_text(profile, "release"), 0};
  const struct grouping grouping = {.profile = profile,
                                    .table = TABLE_memory_events,
                                    .width = KEYS,
                                    .item_size = sizeof(struct memory_peak),
                                    .context = &kinds,
                                    .add = add_events,
                                    .join = join_peaks};
  struct grouped grouped = {.items = NULL};
  enum tfprof_status status = derive_row_count(profile, TABLE_devices, &kinds.device_count, error);
  if (!status) status = grouping_run(&grouping, &grouped, error);
  if (!status) status = derive_make_table(profile, TABLE_memory_peaks, grouped.groups.count, error);
  if (!status && grouped.groups.count) status = set_peaks(profile, &grouped, error);
  grouped_free(&grouped);
  return status;
}

const struct derive_pass derive_memory_peaks = {
    .name = "memory peaks",
    .summary = "Allocations, releases and the most in use by device and allocator, in one pass over memory events.",
    .makes_table = TABLE_memory_peaks,
    .reads = {{TABLE_memory_events, COLUMN_memory_events_kind},
              {TABLE_memory_events, COLUMN_memory_events_allocator},
              {TABLE_memory_events, COLUMN_memory_events_device_id},
              {TABLE_memory_events, COLUMN_memory_events_in_use_bytes},
              {TABLE_memory_events, COLUMN_memory_events_stack_bytes},
              {TABLE_memory_events, COLUMN_memory_events_peak_bytes},
              {TABLE_memory_events, COLUMN_memory_events_reserved_bytes}},
    .run = run_memory_peaks,
};
