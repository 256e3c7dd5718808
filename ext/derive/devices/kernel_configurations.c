/* kernel_configurations.c: what kernels were launched as, where the source has that in kernel_configurations: a capture
** writes each kernel with each geometry once, and of the kernels the number of that row.
*/
#include "derive/passes.h"
#include "derive/rows.h"

#include <stdatomic.h>

/* Columns of the same name. */
#define EACH_COLUMN(DO) \
  DO(name) \
  DO(grid_x) \
  DO(grid_y) \
  DO(grid_z) \
  DO(block_x) \
  DO(block_y) \
  DO(block_z) \
  DO(cluster_x) \
  DO(cluster_y) \
  DO(cluster_z) \
  DO(registers_per_thread) \
  DO(static_shared_bytes) \
  DO(dynamic_shared_bytes) \
  DO(local_bytes_per_thread) \
  DO(cache_config) \
  DO(priority)
static const struct {
  uint16_t from, to;
} copied[] = {
#define PAIR(column) {COLUMN_kernel_configurations_##column, COLUMN_kernels_##column},
    EACH_COLUMN(PAIR)
#undef PAIR
};
enum { COPIED = sizeof copied / sizeof *copied };

struct spreading {
  struct profile *profile;
  int64_t *values[COPIED]; /* by row of kernel_configurations */
  uint32_t rows;
  atomic_int failure; /* an enum tfprof_status */
};

/* Of all kernels of a segment the value of one column at a time. */
static int spread_column(struct spreading *s, struct segment *segment, unsigned number, const uint32_t *rows,
                         int64_t *values) {
  for (uint32_t i = 0; i < segment->rows; i++) values[i] = rows[i] == NO_ROW ? NO_VALUE : s->values[number][rows[i]];
  if (store_interrupted(s->profile->store)) return TFPROF_INTERRUPTED;
  return derive_set_segment_integers(segment, copied[number].to, values) ? TFPROF_NO_MEMORY : TFPROF_OK;
}

static void spread_over_segment(void *context, size_t at, unsigned worker) {
  struct spreading *s = context;
  struct segment *segment = s->profile->tables[TABLE_kernels].segments[at];
  (void)worker;
  uint32_t *rows = scratch_allocate((size_t)segment->rows * sizeof *rows);
  int64_t *values = scratch_allocate((size_t)segment->rows * sizeof *values);
  int failure = rows && values ? atomic_load(&s->failure) : TFPROF_NO_MEMORY;
  for (uint32_t first = 0; first < segment->rows && !failure; first += ROWS_BLOCK)
    derive_references(segment->columns[COLUMN_kernels_configuration_id], first, derive_block_rows(segment, first),
                      s->rows, rows + first);
  for (unsigned i = 0; i < COPIED && !failure; i++) failure = spread_column(s, segment, i, rows, values);
  scratch_free(rows);
  scratch_free(values);
  if (failure) atomic_store(&s->failure, failure);
}

static enum tfprof_status run_kernel_configurations(struct profile *profile, struct tfprof_error *error) {
  struct spreading s = {.profile = profile};
  const struct profile_table *kernels = &profile->tables[TABLE_kernels];
  enum tfprof_status status = derive_row_count(profile, TABLE_kernel_configurations, &s.rows, error);
  for (unsigned i = 0; i < COPIED && !status; i++)
    status = derive_all_integers(profile, TABLE_kernel_configurations, copied[i].from, &s.values[i], error);
  if (!status) {
    derive_parallel(kernels->rows * COPIED, kernels->segment_count, spread_over_segment, &s);
    status = derive_failure(atomic_load(&s.failure), error);
  }
  for (unsigned i = 0; i < COPIED; i++) scratch_free(s.values[i]);
  return status;
}

/* Other sources have no such rows. */
static bool has_no_configurations(const struct profile *profile) {
  return !profile->tables[TABLE_kernel_configurations].rows;
}

const struct derive_pass derive_kernel_configurations = {
    .name = "kernel configurations",
    .summary = "Name, geometry and resources of kernels, from the row of what each was launched as.",
    .makes_table = -1,
#define READ(column) {TABLE_kernel_configurations, COLUMN_kernel_configurations_##column},
    .reads = {{TABLE_kernels, COLUMN_kernels_configuration_id}, EACH_COLUMN(READ)},
#undef READ
#define WRITE(column) {TABLE_kernels, COLUMN_kernels_##column},
    .writes = {EACH_COLUMN(WRITE)},
#undef WRITE
    .run = run_kernel_configurations,
    .is_idle = has_no_configurations,
};
