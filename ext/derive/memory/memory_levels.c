/* memory_levels.c: memory_events.category, category_bytes and all_bytes: how much is in use after each event, by what
** it is for.
**
** The changes of each memory - a device and an allocator - are added up in the order of time, those of one time in the
** order of the source.  What was in use before the first of them that tells a total counts as unknown; where none
** does, that is what was released of it without being allocated before: the least that there can have been.
*/
#include "derive/groups.h"
#include "derive/match.h"
#include "derive/passes.h"

struct memory {
  int64_t first, before;   /* when the first change that tells a total came, INT64_MAX; what was in use before it */
  int64_t unknown, lowest; /* the sum of changes of category unknown so far, and the lowest that it was */
  int64_t all;
  bool is_known; /* a change has told its bytes */
};

struct level {
  int64_t bytes;
  bool is_known;
};

struct levels {
  struct profile *profile;
  uint32_t rows, device_count, allocation_count;
  string_id allocate, release, recategorize, unknown;
  string_id *regions;        /* of allocations */
  string_id *categories;     /* by row: 0 is no change */
  int64_t *bytes;            /* by row: of the change, then of its category */
  int64_t *all;              /* by row */
  struct lane_span *changes; /* lane: memory */
  size_t change_count;
  struct groups memories, categories_of; /* device and allocator; memory and category */
  struct memory *of_memory;
  struct level *of_category;
  uint32_t memory_room, category_room;
};

static int64_t saturated_sum(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum) && sum != NO_VALUE) return sum;
  return a < 0 ? -INT64_MAX : INT64_MAX;
}

/* NULL: no memory. */
static struct memory *memory_of(struct levels *l, uint32_t device, string_id allocator, uint32_t *number) {
  const int64_t key[] = {device, allocator};
  uint32_t known = l->memories.count;
  *number = groups_number(&l->memories, key);
  if (*number == NO_ROW) return NULL;
  if (*number == known) {
    struct memory *grown = scratch_grow(l->of_memory, known, &l->memory_room, 16, sizeof *grown);
    if (!grown) return NULL;
    l->of_memory = grown;
    grown[known] = (struct memory){.first = INT64_MAX};
  }
  return &l->of_memory[*number];
}

static struct level *level_of(struct levels *l, uint32_t memory, string_id category) {
  const int64_t key[] = {memory, category};
  uint32_t known = l->categories_of.count, number = groups_number(&l->categories_of, key);
  if (number == NO_ROW) return NULL;
  if (number == known) {
    struct level *grown = scratch_grow(l->of_category, known, &l->category_room, 64, sizeof *grown);
    if (!grown) return NULL;
    l->of_category = grown;
    grown[known] = (struct level){0, false};
  }
  return &l->of_category[number];
}

static enum tfprof_status read_changes(struct levels *l, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(l->profile, TABLE_memory_events, &block, &status, error);) {
    int64_t times[ROWS_BLOCK], in_use[ROWS_BLOCK];
    uint32_t devices[ROWS_BLOCK], allocations[ROWS_BLOCK];
    string_id kinds[ROWS_BLOCK], allocators[ROWS_BLOCK], regions[ROWS_BLOCK];
    int64_t *bytes = l->bytes + block.row;
    block_integers(&block, COLUMN_memory_events_time_ns, times);
    block_integers(&block, COLUMN_memory_events_bytes, bytes);
    block_integers(&block, COLUMN_memory_events_in_use_bytes, in_use);
    block_references(&block, COLUMN_memory_events_device_id, l->device_count, devices);
    block_references(&block, COLUMN_memory_events_allocation_id, l->allocation_count, allocations);
    block_texts(&block, COLUMN_memory_events_kind, kinds);
    block_texts(&block, COLUMN_memory_events_allocator, allocators);
    block_texts(&block, COLUMN_memory_events_region, regions);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t row = (uint32_t)block.row + i, number;
      bool is_change = kinds[i] == l->allocate || kinds[i] == l->release || kinds[i] == l->recategorize;
      l->categories[row] = 0;
      l->all[row] = NO_VALUE;
      if (!is_change || times[i] == NO_VALUE) {
        bytes[i] = NO_VALUE;
        continue;
      }
      struct memory *memory = memory_of(l, devices[i], allocators[i], &number);
      if (!memory) return error_no_memory(error);
      if (in_use[i] != NO_VALUE && times[i] < memory->first) {
        memory->first = times[i];
        memory->before = bytes[i] == NO_VALUE ? 0 : saturated_sum(in_use[i], -bytes[i]);
      }
      string_id region = regions[i];
      if (!region && allocations[i] != NO_ROW) region = l->regions[allocations[i]];
      l->categories[row] = region ? region : l->unknown;
      l->changes[l->change_count++] = (struct lane_span){times[i], times[i], number, row};
    }
  }
  return status;
}

/* What was in use before, of memories of which no change tells a total: no sum is ever below nothing. */
static void find_what_was_before(struct levels *l) {
  for (size_t i = 0; i < l->change_count; i++) {
    struct memory *memory = &l->of_memory[l->changes[i].lane];
    uint32_t row = l->changes[i].row;
    if (memory->first != INT64_MAX || l->categories[row] != l->unknown || l->bytes[row] == NO_VALUE) continue;
    memory->unknown = saturated_sum(memory->unknown, l->bytes[row]);
    if (memory->unknown >= memory->lowest) continue;
    memory->lowest = memory->unknown;
    memory->before = -memory->lowest;
  }
}

static enum tfprof_status add_up_changes(struct levels *l, struct tfprof_error *error) {
  enum tfprof_status status = lane_span_sort(l->changes, l->change_count, error);
  if (!status) find_what_was_before(l);
  for (size_t i = 0; i < l->change_count && !status; i++) {
    uint32_t row = l->changes[i].row, number = l->changes[i].lane;
    struct memory *memory = &l->of_memory[number];
    struct level *level = level_of(l, number, l->categories[row]);
    if (!level) return error_no_memory(error);
    int64_t change = l->bytes[row], before = l->categories[row] == l->unknown ? memory->before : 0;
    if (change != NO_VALUE) {
      memory->all = saturated_sum(memory->all, change);
      level->bytes = saturated_sum(level->bytes, change);
      memory->is_known = level->is_known = true;
    }
    l->bytes[row] = level->is_known ? saturated_sum(level->bytes, before) : NO_VALUE;
    l->all[row] = memory->is_known ? saturated_sum(memory->all, memory->before) : NO_VALUE;
    if (i % ROWS_BLOCK == 0) status = derive_poll(l->profile, error);
  }
  return status;
}

static enum tfprof_status read_regions(struct levels *l, struct tfprof_error *error) {
  enum tfprof_status status = derive_row_count(l->profile, TABLE_allocations, &l->allocation_count, error);
  if (status) return status;
  l->regions = scratch_allocate(((size_t)l->allocation_count + 1) * sizeof *l->regions);
  if (!l->regions) return error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(l->profile, TABLE_allocations, &block, &status, error);)
    block_texts(&block, COLUMN_allocations_region, l->regions + block.row);
  return status;
}

static enum tfprof_status run_memory_levels(struct profile *profile, struct tfprof_error *error) {
  struct levels l = {.profile = profile,
                     .allocate = derive_known_text(profile, "allocate"),
                     .release = derive_known_text(profile, "release"),
                     .recategorize = derive_known_text(profile, "recategorize"),
                     .unknown = derive_known_text(profile, "unknown"),
                     .memories = {.width = 2},
                     .categories_of = {.width = 2}};
  enum tfprof_status status = derive_row_count(profile, TABLE_memory_events, &l.rows, error);
  if (!status) status = derive_row_count(profile, TABLE_devices, &l.device_count, error);
  if (status || !l.rows) return status;
  l.categories = scratch_allocate((size_t)l.rows * sizeof *l.categories);
  l.bytes = scratch_allocate((size_t)l.rows * sizeof *l.bytes);
  l.all = scratch_allocate((size_t)l.rows * sizeof *l.all);
  l.changes = scratch_allocate((size_t)l.rows * sizeof *l.changes);
  if (!l.categories || !l.bytes || !l.all || !l.changes) status = error_no_memory(error);
  if (!status) status = read_regions(&l, error);
  if (!status) status = read_changes(&l, error);
  if (!status) status = add_up_changes(&l, error);
#define SET(kind, column, values) \
  if (!status) \
    status = derive_set_##kind(profile, TABLE_memory_events, COLUMN_memory_events_##column, values, error)
  SET(texts, category, l.categories);
  SET(integers, category_bytes, l.bytes);
  SET(integers, all_bytes, l.all);
#undef SET
  scratch_free(l.regions);
  scratch_free(l.categories);
  scratch_free(l.bytes);
  scratch_free(l.all);
  scratch_free(l.changes);
  scratch_free(l.of_memory);
  scratch_free(l.of_category);
  groups_free(&l.memories);
  groups_free(&l.categories_of);
  return status;
}

static bool has_no_events(const struct profile *profile) {
  return profile->tables[TABLE_memory_events].segment_count == 0;
}

static const char *const unknown[] = {"unknown", NULL};

const struct derive_pass derive_memory_levels = {
    .name = "memory levels",
    .summary = "How much is in use after each memory event, by what it is for, added up in the order of time.",
    .makes_table = -1,
    .is_idle = has_no_events,
    .reads = {{TABLE_memory_events, COLUMN_memory_events_time_ns},
              {TABLE_memory_events, COLUMN_memory_events_kind},
              {TABLE_memory_events, COLUMN_memory_events_bytes},
              {TABLE_memory_events, COLUMN_memory_events_in_use_bytes},
              {TABLE_memory_events, COLUMN_memory_events_device_id},
              {TABLE_memory_events, COLUMN_memory_events_allocator},
              {TABLE_memory_events, COLUMN_memory_events_region},
              {TABLE_memory_events, COLUMN_memory_events_allocation_id},
              {TABLE_allocations, COLUMN_allocations_region}},
    .writes = {{TABLE_memory_events, COLUMN_memory_events_category},
               {TABLE_memory_events, COLUMN_memory_events_category_bytes},
               {TABLE_memory_events, COLUMN_memory_events_all_bytes}},
    .run = run_memory_levels,
    .texts = unknown,
};
