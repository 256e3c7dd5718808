/* occupancy.c: how well the launch of a kernel can fill a device, where the source does not say.
**
** A multiprocessor holds as many blocks of a kernel at once as fit by four of its limits: warps, blocks, registers and
** shared memory (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"). Registers are given to
** a warp in units of 256 and come from the part of the multiprocessor that runs the warp, so that each part is filled
** by itself; shared memory is given to a block in units, and from 8.0 on the system takes 1 kB of each block's.
**
**   theoretical_occupancy_ratio   warps of the blocks that fit, of all that it has room for
**   occupancy_ratio               the same where the grid has fewer blocks than fit on all multiprocessors together
**   wave_count                    blocks of the grid over those that fit on all multiprocessors together
**   blocks_per_multiprocessor, warps_per_multiprocessor   of the grid
**
** Nothing of it is known of devices of other vendors and of capabilities that are not in the table.  Launches that are
** alike are worked out once in a segment.
*/
#include <stdatomic.h>
#include <string.h>

#include "derive/passes.h"
#include "derive/totals/groups.h"

struct limits {
  const char *capability;
  uint16_t warps, blocks, shared_kilobytes, parts, shared_unit, reserved_bytes;
};

enum { REGISTERS = 65536, REGISTER_UNIT = 256, WARP = 32, MOST_THREADS = 1024 };
enum { LAUNCH_KEY = 5 }; /* a launch and its device */

static const struct limits known_limits[] = {
    {"5.0", 64, 32, 64, 4, 256, 0},      {"5.2", 64, 32, 96, 4, 256, 0},      {"6.0", 64, 32, 64, 2, 256, 0},
    {"6.1", 64, 32, 96, 4, 256, 0},      {"7.0", 64, 32, 96, 4, 256, 0},      {"7.2", 64, 32, 96, 4, 256, 0},
    {"7.5", 32, 16, 64, 4, 256, 0},      {"8.0", 64, 32, 164, 4, 128, 1024},  {"8.6", 48, 16, 100, 4, 128, 1024},
    {"8.7", 48, 16, 164, 4, 128, 1024},  {"8.9", 48, 24, 100, 4, 128, 1024},  {"9.0", 64, 32, 228, 4, 128, 1024},
    {"10.0", 64, 32, 228, 4, 128, 1024}, {"10.3", 64, 32, 228, 4, 128, 1024}, {"12.0", 48, 24, 100, 4, 128, 1024}};

struct device {
  const struct limits *limits; /* NULL: not known */
  int64_t multiprocessors;     /* NO_VALUE: not known */
};

/* What a launch asked for; NO_VALUE: not known. */
struct launch {
  int64_t blocks, threads, registers, shared_bytes;
};

static const uint16_t written[] = {COLUMN_kernels_theoretical_occupancy_ratio, COLUMN_kernels_occupancy_ratio,
                                   COLUMN_kernels_wave_count, COLUMN_kernels_blocks_per_multiprocessor,
                                   COLUMN_kernels_warps_per_multiprocessor};

static int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

static int64_t warps_of(int64_t threads) { return (threads + WARP - 1) / WARP; }

/* Blocks that one multiprocessor holds at once; 0: not one, -1: not known. */
static int64_t blocks_that_fit(const struct limits *limits, const struct launch *launch) {
  bool is_sane = launch->threads >= 1 && launch->threads <= MOST_THREADS && launch->registers >= 1 &&
                 launch->registers <= 255 && launch->shared_bytes >= 0 && launch->shared_bytes < INT64_C(1) << 32;
  if (!limits || !is_sane) return -1;
  int64_t warps = warps_of(launch->threads);
  int64_t fit = limits->warps / warps, registers = round_up(launch->registers * WARP, REGISTER_UNIT);
  if (fit > limits->blocks) fit = limits->blocks;
  int64_t by_registers = REGISTERS / limits->parts / registers * limits->parts / warps;
  if (by_registers < fit) fit = by_registers;
  int64_t shared = round_up(launch->shared_bytes + limits->reserved_bytes, limits->shared_unit);
  if (shared && limits->shared_kilobytes * INT64_C(1024) / shared < fit)
    fit = limits->shared_kilobytes * INT64_C(1024) / shared;
  return fit;
}

static double value_of_launch(const struct device *device, const struct launch *launch, unsigned column) {
  int64_t fit = blocks_that_fit(device->limits, launch);
  double on_each = launch->blocks == NO_VALUE || device->multiprocessors < 1
                       ? (double)NAN
                       : (double)launch->blocks / (double)device->multiprocessors;
  int64_t warps_of_block = launch->threads == NO_VALUE ? NO_VALUE : warps_of(launch->threads);
  double warps = warps_of_block == NO_VALUE ? (double)NAN : (double)warps_of_block;
  switch (column) {
    case COLUMN_kernels_blocks_per_multiprocessor: return on_each;
    case COLUMN_kernels_warps_per_multiprocessor: return on_each * warps;
    default: break;
  }
  if (fit < 1) return (double)NAN;
  double occupancy = (double)fit * warps / device->limits->warps;
  if (column == COLUMN_kernels_theoretical_occupancy_ratio) return occupancy;
  double waves = on_each / (double)fit;
  if (column == COLUMN_kernels_wave_count) return waves;
  return waves < 1 ? waves * occupancy : isnan(waves) ? waves : occupancy;
}

static bool contains(const struct pool *pool, string_id id, const char *part) {
  return id && strstr(pool_text(pool, id), part);
}

static enum tfprof_status read_devices(const struct profile *profile, struct device **devices, uint32_t *count,
                                       struct tfprof_error *error) {
  const struct profile_table *table = &profile->tables[TABLE_devices];
  const struct pool *pool = store_pool(profile->store);
  enum tfprof_status status = derive_row_count(profile, TABLE_devices, count, error);
  if (status) return status;
  *devices = scratch_allocate_zeroed((size_t)*count + 1, sizeof **devices);
  if (!*devices) return error_no_memory(error);
  for (size_t s = 0; s < table->segment_count; s++) {
    const struct segment *segment = table->segments[s];
    for (uint32_t row = 0; row < segment->rows; row++) {
      struct device *device = &(*devices)[segment->first_row + row];
      string_id capability, model;
      derive_texts(segment->columns[COLUMN_devices_compute_capability], row, 1, &capability);
      derive_texts(segment->columns[COLUMN_devices_model], row, 1, &model);
      derive_integers(segment->columns[COLUMN_devices_multiprocessor_count], row, 1, &device->multiprocessors);
      /* HIP numbers AMD's devices by CUDA's scheme, too */
      if (contains(pool, model, "AMD") || contains(pool, model, "Radeon") || contains(pool, model, "Instinct"))
        continue;
      for (size_t i = 0; i < sizeof known_limits / sizeof *known_limits && capability; i++)
        if (!strcmp(pool_text(pool, capability), known_limits[i].capability)) device->limits = &known_limits[i];
    }
  }
  return TFPROF_OK;
}

static int64_t product_of_sizes(const int64_t *sizes) {
  int64_t product = 1;
  for (unsigned i = 0; i < 3; i++) {
    if (sizes[i] < 1 || sizes[i] > INT32_MAX || __builtin_mul_overflow(product, sizes[i], &product)) return NO_VALUE;
  }
  return product;
}

/* The launches of the rows of a block. */
static void read_launches(const struct segment *segment, uint32_t first, uint32_t rows, struct launch *launches) {
  static const uint16_t sizes[] = {COLUMN_kernels_grid_x,  COLUMN_kernels_grid_y,  COLUMN_kernels_grid_z,
                                   COLUMN_kernels_block_x, COLUMN_kernels_block_y, COLUMN_kernels_block_z};
  int64_t values[6][ROWS_BLOCK], registers[ROWS_BLOCK], fixed[ROWS_BLOCK], asked[ROWS_BLOCK];
  for (unsigned i = 0; i < 6; i++) derive_integers(segment->columns[sizes[i]], first, rows, values[i]);
  derive_integers(segment->columns[COLUMN_kernels_registers_per_thread], first, rows, registers);
  derive_integers(segment->columns[COLUMN_kernels_static_shared_bytes], first, rows, fixed);
  derive_integers(segment->columns[COLUMN_kernels_dynamic_shared_bytes], first, rows, asked);
  for (uint32_t i = 0; i < rows; i++) {
    const int64_t grid[] = {values[0][i], values[1][i], values[2][i]};
    const int64_t block[] = {values[3][i], values[4][i], values[5][i]};
    launches[i] = (struct launch){product_of_sizes(grid), product_of_sizes(block), registers[i], NO_VALUE};
    if (fixed[i] == NO_VALUE && asked[i] == NO_VALUE) continue;
    int64_t known = fixed[i] == NO_VALUE ? 0 : fixed[i], more = asked[i] == NO_VALUE ? 0 : asked[i];
    if (__builtin_add_overflow(known, more, &launches[i].shared_bytes)) launches[i].shared_bytes = NO_VALUE;
  }
}

struct occupancy {
  struct profile *profile;
  struct device *devices;
  uint32_t device_count;
  atomic_int failure; /* an enum tfprof_status */
};

/* What launches of a segment are alike: numbers[row] counts from 0. */
static int number_launches(const struct occupancy *o, const struct segment *segment, struct groups *alike,
                           uint32_t *numbers) {
  for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
    uint32_t rows = derive_block_rows(segment, first), on[ROWS_BLOCK];
    struct launch launches[ROWS_BLOCK];
    if (store_interrupted(o->profile->store)) return TFPROF_INTERRUPTED;
    read_launches(segment, first, rows, launches);
    derive_references(segment->columns[COLUMN_kernels_device_id], first, rows, o->device_count, on);
    for (uint32_t i = 0; i < rows; i++) {
      const struct launch *launch = &launches[i];
      const int64_t key[LAUNCH_KEY] = {launch->blocks, launch->threads, launch->registers, launch->shared_bytes, on[i]};
      if ((numbers[first + i] = groups_number(alike, key)) == NO_ROW) return TFPROF_NO_MEMORY;
    }
  }
  return TFPROF_OK;
}

/* A column of a segment: `of_group` has room for each kind of launch, `values` for each row. */
static int set_column(const struct occupancy *o, struct segment *segment, unsigned column, const struct groups *alike,
                      const uint32_t *numbers, double *of_group, double *values) {
  static const struct device unknown = {NULL, NO_VALUE};
  for (uint32_t i = 0; i < alike->count; i++) {
    const int64_t *key = alike->keys + (size_t)i * LAUNCH_KEY;
    const struct launch launch = {key[0], key[1], key[2], key[3]};
    of_group[i] = value_of_launch(key[4] == NO_ROW ? &unknown : &o->devices[key[4]], &launch, column);
  }
  for (uint32_t i = 0; i < segment->rows; i++) values[i] = of_group[numbers[i]];
  return derive_set_segment_reals(segment, column, values) ? TFPROF_NO_MEMORY : TFPROF_OK;
}

static void find_in_segment(void *context, size_t at, unsigned worker) {
  struct occupancy *o = context;
  struct segment *segment = o->profile->tables[TABLE_kernels].segments[at];
  struct groups alike = {.width = LAUNCH_KEY};
  uint32_t *numbers = scratch_allocate((size_t)segment->rows * sizeof *numbers);
  double *values = scratch_allocate((size_t)segment->rows * sizeof *values), *of_group = NULL;
  int failure = numbers && values ? atomic_load(&o->failure) : TFPROF_NO_MEMORY;
  (void)worker;
  if (!failure) failure = number_launches(o, segment, &alike, numbers);
  if (!failure && !(of_group = scratch_allocate(((size_t)alike.count + 1) * sizeof *of_group)))
    failure = TFPROF_NO_MEMORY;
  for (size_t i = 0; i < sizeof written / sizeof *written && !failure; i++) {
    if (column_set_has(&segment->is_raw, written[i])) continue;
    failure = set_column(o, segment, written[i], &alike, numbers, of_group, values);
  }
  groups_free(&alike);
  scratch_free(numbers);
  scratch_free(values);
  scratch_free(of_group);
  if (failure) atomic_store(&o->failure, failure);
}

static enum tfprof_status run_occupancy(struct profile *profile, struct tfprof_error *error) {
  const struct profile_table *kernels = &profile->tables[TABLE_kernels];
  struct occupancy o = {.profile = profile};
  enum tfprof_status status = read_devices(profile, &o.devices, &o.device_count, error);
  if (!status) {
    derive_parallel(kernels->rows, kernels->segment_count, find_in_segment, &o);
    status = derive_failure(atomic_load(&o.failure), error);
  }
  scratch_free(o.devices);
  return status;
}

const struct derive_pass derive_occupancy = {
    .name = "occupancy",
    .summary =
        "Blocks that fit on a multiprocessor by warps, blocks, registers and shared memory, and what the grid fills.",
    .makes_table = -1,
    .reads = {{TABLE_kernels, COLUMN_kernels_device_id},
              {TABLE_kernels, COLUMN_kernels_grid_x},
              {TABLE_kernels, COLUMN_kernels_grid_y},
              {TABLE_kernels, COLUMN_kernels_grid_z},
              {TABLE_kernels, COLUMN_kernels_block_x},
              {TABLE_kernels, COLUMN_kernels_block_y},
              {TABLE_kernels, COLUMN_kernels_block_z},
              {TABLE_kernels, COLUMN_kernels_registers_per_thread},
              {TABLE_kernels, COLUMN_kernels_static_shared_bytes},
              {TABLE_kernels, COLUMN_kernels_dynamic_shared_bytes},
              {TABLE_devices, COLUMN_devices_model},
              {TABLE_devices, COLUMN_devices_compute_capability},
              {TABLE_devices, COLUMN_devices_multiprocessor_count}},
    .writes = {{TABLE_kernels, COLUMN_kernels_theoretical_occupancy_ratio},
               {TABLE_kernels, COLUMN_kernels_occupancy_ratio},
               {TABLE_kernels, COLUMN_kernels_wave_count},
               {TABLE_kernels, COLUMN_kernels_blocks_per_multiprocessor},
               {TABLE_kernels, COLUMN_kernels_warps_per_multiprocessor}},
    .run = run_occupancy,
};
