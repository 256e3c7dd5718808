/* launch_groups.c: kernels.launch_group: which launches of a kernel are alike.
**
** Launches that share the kernel's name, the grid, the block, registers and shared memory share a number, counted from
** 0 in the order in which they first appear. What is not known is a value like any other.
*/
#include "derive/passes.h"
#include "derive/totals/groups.h"

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

static enum tfprof_status number_segment(struct groups *all, const struct segment *segment, int64_t *numbers,
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
      int64_t configuration[SIZES + 1];
      for (unsigned i = 0; i < SIZES; i++) configuration[i] = values[i][row];
      configuration[SIZES] = names[row];
      uint32_t number = groups_number(all, configuration);
      if (number == NO_ROW) return error_no_memory(error);
      numbers[segment->first_row + first + row] = number;
    }
  }
  return TFPROF_OK;
}

static enum tfprof_status run_launch_groups(struct profile *profile, struct tfprof_error *error) {
  const struct profile_table *kernels = &profile->tables[TABLE_kernels];
  struct groups all = {.width = SIZES + 1};
  uint32_t rows;
  enum tfprof_status status = derive_row_count(profile, TABLE_kernels, &rows, error);
  if (status || !rows) return status;
  int64_t *numbers = scratch_allocate((size_t)rows * sizeof *numbers);
  if (!numbers) return error_no_memory(error);
  for (size_t s = 0; s < kernels->segment_count && !status; s++)
    status = number_segment(&all, kernels->segments[s], numbers, error);
  if (!status) status = derive_set_integers(profile, TABLE_kernels, COLUMN_kernels_launch_group, numbers, error);
  scratch_free(numbers);
  groups_free(&all);
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
