/* launch_groups.c: kernels.launch_group: which launches of a kernel are alike.
**
** Launches that share the kernel's name, the grid, the block, registers and shared memory share a number, counted from
** 0 in the order in which they first appear. What is not known is a value like any other.
*/
#include <string.h>

#include "derive/passes.h"
#include "derive/rows.h"

enum { SIZES = 9 };

static const uint16_t sizes_of_launch[SIZES] = {COLUMN_kernels_grid_x,
                                                COLUMN_kernels_grid_y,
                                                COLUMN_kernels_grid_z,
                                                COLUMN_kernels_block_x,
                                                COLUMN_kernels_block_y,
                                                COLUMN_kernels_block_z,
                                                COLUMN_kernels_registers_per_thread,
                                                COLUMN_kernels_static_shared_bytes,
                                                COLUMN_kernels_dynamic_shared_bytes};

struct configuration {
  int64_t sizes[SIZES];
  string_id name;
};

struct configurations {
  struct configuration *items;
  uint32_t count, capacity;
  uint32_t *slots; /* 1 + an index; 0: free */
  uint32_t mask;
};

static uint64_t hash_of_configuration(const struct configuration *configuration) {
  uint64_t hash = configuration->name;
  for (unsigned i = 0; i < SIZES; i++) {
    hash = (hash ^ (uint64_t)configuration->sizes[i]) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 31;
  }
  return hash;
}

static bool is_same_configuration(const struct configuration *a, const struct configuration *b) {
  return a->name == b->name && !memcmp(a->sizes, b->sizes, sizeof a->sizes);
}

static uint32_t *slot_of_configuration(const struct configurations *all, const struct configuration *wanted) {
  for (uint64_t at = hash_of_configuration(wanted);; at++) {
    uint32_t *slot = &all->slots[at & all->mask];
    if (!*slot || is_same_configuration(&all->items[*slot - 1], wanted)) return slot;
  }
}

static bool grow_configurations(struct configurations *all) {
  uint32_t mask = all->slots ? all->mask * 2 + 1 : 1023;
  scratch_free(all->slots);
  all->slots = scratch_allocate_zeroed((size_t)mask + 1, sizeof *all->slots);
  all->mask = mask;
  for (uint32_t i = 0; all->slots && i < all->count; i++) *slot_of_configuration(all, &all->items[i]) = i + 1;
  return all->slots;
}

/* The number of a configuration, a new one if need be; NO_ROW: no memory. */
static uint32_t number_configuration(struct configurations *all, const struct configuration *wanted) {
  if ((all->count + 1) * UINT64_C(2) > all->mask && !grow_configurations(all)) return NO_ROW;
  uint32_t *slot = slot_of_configuration(all, wanted);
  if (*slot) return *slot - 1;
  struct configuration *items = scratch_grow(all->items, all->count, &all->capacity, 256, sizeof *items);
  if (!items) return NO_ROW;
  all->items = items;
  items[all->count] = *wanted;
  *slot = ++all->count;
  return all->count - 1;
}

static enum tfprof_status number_segment(struct configurations *all, const struct segment *segment, int64_t *numbers,
                                         struct tfprof_error *error) {
  for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
    uint32_t rows = derive_block_rows(segment, first);
    int64_t values[SIZES][ROWS_BLOCK];
    string_id names[ROWS_BLOCK];
    enum tfprof_status status = derive_poll(segment->profile, error);
    if (status) return status;
    for (unsigned i = 0; i < SIZES; i++) derive_integers(segment->columns[sizes_of_launch[i]], first, rows, values[i]);
    derive_texts(segment->columns[COLUMN_kernels_name], first, rows, names);
    for (uint32_t row = 0; row < rows; row++) {
      struct configuration configuration = {.name = names[row]};
      for (unsigned i = 0; i < SIZES; i++) configuration.sizes[i] = values[i][row];
      uint32_t number = number_configuration(all, &configuration);
      if (number == NO_ROW) return error_no_memory(error);
      numbers[segment->first_row + first + row] = number;
    }
  }
  return TFPROF_OK;
}

static enum tfprof_status run_launch_groups(struct profile *profile, struct tfprof_error *error) {
  const struct profile_table *kernels = &profile->tables[TABLE_kernels];
  struct configurations all = {0};
  uint32_t rows;
  enum tfprof_status status = derive_row_count(profile, TABLE_kernels, &rows, error);
  if (status || !rows) return status;
  int64_t *numbers = scratch_allocate((size_t)rows * sizeof *numbers);
  if (!numbers) return error_no_memory(error);
  for (size_t s = 0; s < kernels->segment_count && !status; s++)
    status = number_segment(&all, kernels->segments[s], numbers, error);
  if (!status) status = derive_set_integers(profile, TABLE_kernels, COLUMN_kernels_launch_group, numbers, error);
  scratch_free(numbers);
  scratch_free(all.items);
  scratch_free(all.slots);
  return status;
}

const struct derive_pass derive_launch_groups = {
    .name = "launch groups",
    .summary =
        "Launches of one kernel with the same grid, block, registers and shared memory, by a hash table of these.",
    .makes_table = -1,
    .reads = {{TABLE_kernels, COLUMN_kernels_name},
              {TABLE_kernels, COLUMN_kernels_grid_x},
              {TABLE_kernels, COLUMN_kernels_grid_y},
              {TABLE_kernels, COLUMN_kernels_grid_z},
              {TABLE_kernels, COLUMN_kernels_block_x},
              {TABLE_kernels, COLUMN_kernels_block_y},
              {TABLE_kernels, COLUMN_kernels_block_z},
              {TABLE_kernels, COLUMN_kernels_registers_per_thread},
              {TABLE_kernels, COLUMN_kernels_static_shared_bytes},
              {TABLE_kernels, COLUMN_kernels_dynamic_shared_bytes}},
    .writes = {{TABLE_kernels, COLUMN_kernels_launch_group}},
    .run = run_launch_groups,
};
