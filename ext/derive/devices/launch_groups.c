/* launch_groups.c: kernels.launch_group: which launches of a kernel are alike.
**
** Launches that share the kernel's name, the grid, the block, registers and shared memory share a number, counted from
** 0 in the order in which they first appear. What is not known is a value like any other.
*/
#include "derive/passes.h"
#include "derive/totals/grouping.h"

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

static bool number_launches(const struct grouping *grouping, struct grouped *to, const struct row_block *block) {
  int64_t values[SIZES][ROWS_BLOCK];
  string_id names[ROWS_BLOCK];
  for (unsigned i = 0; i < SIZES; i++) block_integers(block, sizes_of_launch[i], values[i]);
  block_texts(block, COLUMN_kernels_name, names);
  for (uint32_t row = 0; row < block->count; row++) {
    int64_t configuration[SIZES + 1];
    for (unsigned i = 0; i < SIZES; i++) configuration[i] = values[i][row];
    configuration[SIZES] = names[row];
    uint32_t number = grouping_number(grouping, to, configuration, NULL);
    if (number == NO_ROW) return false;
    grouping->numbers[block->row + row] = number;
  }
  return true;
}

static enum tfprof_status run_launch_groups(struct profile *profile, struct tfprof_error *error) {
  struct grouping grouping = {.profile = profile, .table = TABLE_kernels, .width = SIZES + 1, .add = number_launches};
  struct grouped all = {.items = NULL};
  uint32_t rows;
  enum tfprof_status status = derive_row_count(profile, TABLE_kernels, &rows, error);
  if (status || !rows) return status;
  grouping.numbers = scratch_allocate((size_t)rows * sizeof *grouping.numbers);
  if (!grouping.numbers) return error_no_memory(error);
  status = grouping_run(&grouping, &all, error);
  if (!status)
    status = derive_set_references(profile, TABLE_kernels, COLUMN_kernels_launch_group, grouping.numbers, error);
  scratch_free(grouping.numbers);
  grouped_free(&all);
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
