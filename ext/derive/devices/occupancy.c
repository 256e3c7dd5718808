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
** alike (launch_groups.c) are worked out once in a segment.
*/
#include <stdatomic.h>
#include <string.h>

#include "derive/groups.h"
#include "derive/passes.h"

struct limits {
  const char *capability;
  uint16_t warps, blocks, shared_kilobytes, parts, shared_unit, reserved_bytes;
};

enum { REGISTERS = 65536, REGISTER_UNIT = 256, WARP = 32, MOST_THREADS = 1024 };
enum { LAUNCH_KEY = 2 }; /* a launch group and the device */

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

static struct launch read_launch(const struct segment *segment, uint32_t row) {
  static const uint16_t sizes[] = {COLUMN_kernels_grid_x,  COLUMN_kernels_grid_y,  COLUMN_kernels_grid_z,
                                   COLUMN_kernels_block_x, COLUMN_kernels_block_y, COLUMN_kernels_block_z};
  struct launch launch = {.shared_bytes = NO_VALUE};
  int64_t values[6], fixed, asked;
  for (unsigned i = 0; i < 6; i++) derive_integers(segment->columns[sizes[i]], row, 1, &values[i]);
  derive_integers(segment->columns[COLUMN_kernels_registers_per_thread], row, 1, &launch.registers);
  derive_integers(segment->columns[COLUMN_kernels_static_shared_bytes], row, 1, &fixed);
  derive_integers(segment->columns[COLUMN_kernels_dynamic_shared_bytes], row, 1, &asked);
  launch.blocks = product_of_sizes(values);
  launch.threads = product_of_sizes(values + 3);
  if (fixed == NO_VALUE && asked == NO_VALUE) return launch;
  int64_t known = fixed == NO_VALUE ? 0 : fixed, more = asked == NO_VALUE ? 0 : asked;
  if (__builtin_add_overflow(known, more, &launch.shared_bytes)) launch.shared_bytes = NO_VALUE;
  return launch;
}

struct occupancy {
  struct profile *profile;
  struct device *devices;
  uint32_t device_count;
  atomic_int failure; /* an enum tfprof_status */
};

/* What launches of a segment are alike: each of them, and by row which it is. */
struct alike {
  struct groups groups;
  struct launch *launches;
  const struct device **devices;
  uint32_t launch_room, device_room, *numbers;
};

static bool add_launch(const struct occupancy *o, const struct segment *segment, uint32_t row, uint32_t device,
                       struct alike *alike) {
  static const struct device unknown = {NULL, NO_VALUE};
  uint32_t count = alike->groups.count - 1;
  struct launch *launches = scratch_grow(alike->launches, count, &alike->launch_room, 64, sizeof *launches);
  if (launches) alike->launches = launches;
  const struct device **devices = scratch_grow(alike->devices, count, &alike->device_room, 64, sizeof *devices);
  if (devices) alike->devices = devices;
  if (!launches || !devices) return false;
  launches[count] = read_launch(segment, row);
  devices[count] = device == NO_ROW ? &unknown : &o->devices[device];
  return true;
}

static int find_alike(const struct occupancy *o, const struct segment *segment, struct alike *alike) {
  for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
    uint32_t rows = derive_block_rows(segment, first), on[ROWS_BLOCK];
    int64_t groups[ROWS_BLOCK];
    if (store_interrupted(o->profile->store)) return TFPROF_INTERRUPTED;
    derive_integers(segment->columns[COLUMN_kernels_launch_group], first, rows, groups);
    derive_references(segment->columns[COLUMN_kernels_device_id], first, rows, o->device_count, on);
    for (uint32_t i = 0; i < rows; i++) {
      const int64_t group = groups[i] == NO_VALUE ? -1 - (int64_t)(first + i) : groups[i]; /* not known: by itself */
      const int64_t key[LAUNCH_KEY] = {group, on[i]};
      uint32_t known = alike->groups.count, number = groups_number(&alike->groups, key);
      if (number == NO_ROW) return TFPROF_NO_MEMORY;
      if (number == known && !add_launch(o, segment, first + i, on[i], alike)) return TFPROF_NO_MEMORY;
      alike->numbers[first + i] = number;
    }
  }
  return TFPROF_OK;
}

/* A column of a segment: `of_group` has room for each kind of launch, `values` for each row. */
static int set_column(struct segment *segment, unsigned column, const struct alike *alike, double *of_group,
                      double *values) {
  for (uint32_t i = 0; i < alike->groups.count; i++)
    of_group[i] = value_of_launch(alike->devices[i], &alike->launches[i], column);
  for (uint32_t i = 0; i < segment->rows; i++) values[i] = of_group[alike->numbers[i]];
  return derive_set_segment_reals(segment, column, values) ? TFPROF_NO_MEMORY : TFPROF_OK;
}

static void find_in_segment(void *context, size_t at, unsigned worker) {
  struct occupancy *o = context;
  struct segment *segment = o->profile->tables[TABLE_kernels].segments[at];
  struct alike alike = {.groups = {.width = LAUNCH_KEY},
                        .numbers = scratch_allocate((size_t)segment->rows * sizeof *alike.numbers)};
  double *values = scratch_allocate((size_t)segment->rows * sizeof *values), *of_group = NULL;
  int failure = alike.numbers && values ? atomic_load(&o->failure) : TFPROF_NO_MEMORY;
  (void)worker;
  if (!failure) failure = find_alike(o, segment, &alike);
  if (!failure && !(of_group = scratch_allocate(((size_t)alike.groups.count + 1) * sizeof *of_group)))
    failure = TFPROF_NO_MEMORY;
  for (size_t i = 0; i < sizeof written / sizeof *written && !failure; i++) {
    if (column_set_has(&segment->is_raw, written[i])) continue;
    failure = set_column(segment, written[i], &alike, of_group, values);
  }
  groups_free(&alike.groups);
  scratch_free(alike.launches);
  scratch_free(alike.devices);
  scratch_free(alike.numbers);
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
              {TABLE_kernels, COLUMN_kernels_launch_group},
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
