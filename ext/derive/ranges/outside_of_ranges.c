/* outside_of_ranges.c: ranges.outside_ns, what of a range passes in no op, where a source marks ranges among its ops.
**
** The ranges there are the ops of categories `user` and `input`, in the order of ops (ranges.c).  Each row that is no
** op (a range itself, a module, a Python frame) gives its self time to the innermost range around it, unless an op lies
** between the two: what Python does within an op is time of the op.  So the time of nested ranges is told once.  What
** the threads of a pool computed for steps meanwhile (pool_time.h) is no time outside of ops: it is taken off a row's
** self time as the times of its children are.
*/
#include "derive/links/ancestors.h"
#include "derive/passes.h"
#include "derive/time/pool_time.h"

static bool is_mark(string_id category, const string_id *marks) {
  return category && (category == marks[0] || category == marks[1]);
}

/* The range of each row: its own number, that of the nearest one around it, or `none` of an op and what lies in it. */
static enum tfprof_status find_ranges(struct profile *profile, uint32_t *ranges, uint32_t rows, uint32_t none,
                                      struct tfprof_error *error) {
  const string_id marks[] = {derive_known_text(profile, "user"), derive_known_text(profile, "input")};
  const string_id frames[] = {derive_known_text(profile, "python"), derive_known_text(profile, "module")};
  uint32_t *parents = NULL, number = 0;
  enum tfprof_status status = derive_all_op_parents(profile, &parents, error);
  for (struct row_block block = {0}; !status && derive_next_block(profile, TABLE_ops, &block, &status, error);) {
    string_id categories[ROWS_BLOCK];
    block_texts(&block, COLUMN_ops_category, categories);
    for (uint32_t i = 0; i < block.count; i++) {
      bool is_frame = is_mark(categories[i], frames);
      ranges[block.row + i] = is_frame ? NO_ROW : is_mark(categories[i], marks) && number < none ? number++ : none;
    }
  }
  if (!status) derive_inherit(parents, ranges, rows);
  scratch_free(parents);
  return status;
}

/* By row: how much of its self time a pool computed; NULL where there is no pool. */
static enum tfprof_status find_pooled(struct profile *profile, uint32_t rows, int64_t **pooled,
                                      struct tfprof_error *error) {
  struct pool_time pool;
  uint32_t *parents = NULL;
  enum tfprof_status status = pool_time_load(&pool, profile, error);
  if (!status && pool.count) status = derive_all_op_parents(profile, &parents, error);
  if (!status && pool.count) *pooled = scratch_allocate_zeroed((size_t)rows + 1, sizeof **pooled);
  if (!status && pool.count && !*pooled) status = error_no_memory(error);
  for (struct row_block block = {0}; *pooled && derive_next_block(profile, TABLE_ops, &block, &status, error);) {
    int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
    block_integers(&block, COLUMN_ops_start_ns, starts);
    block_integers(&block, COLUMN_ops_end_ns, ends);
    for (uint32_t i = 0; i < block.count; i++) {
      if (starts[i] == NO_VALUE || ends[i] == NO_VALUE) continue;
      uint32_t parent = parents[block.row + i];
      int64_t time = pool_time_between(&pool, starts[i], ends[i]);
      (*pooled)[block.row + i] = derive_sum((*pooled)[block.row + i], time);
      if (parent < rows) (*pooled)[parent] = derive_difference((*pooled)[parent], time);
    }
  }
  scratch_free(parents);
  pool_time_free(&pool);
  return status;
}

static enum tfprof_status add_self_times(struct profile *profile, const uint32_t *ranges, uint32_t none,
                                         const int64_t *pooled, int64_t *sums, struct tfprof_error *error) {
  const string_id marks[] = {derive_known_text(profile, "user"), derive_known_text(profile, "input")};
  enum tfprof_status status = TFPROF_OK;
  uint32_t number = 0;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_ops, &block, &status, error);) {
    int64_t selves[ROWS_BLOCK];
    string_id categories[ROWS_BLOCK];
    block_integers(&block, COLUMN_ops_self_ns, selves);
    block_texts(&block, COLUMN_ops_category, categories);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t range = ranges[block.row + i];
      bool is_range = is_mark(categories[i], marks) && number < none;
      if (is_range) range = number++;
      if (range >= none) continue;
      if (selves[i] == NO_VALUE && is_range) sums[range] = NO_VALUE; /* it nests with nothing */
      if (selves[i] == NO_VALUE || sums[range] == NO_VALUE) continue;
      int64_t in_pool = pooled && pooled[block.row + i] > 0 ? pooled[block.row + i] : 0;
      if (selves[i] > in_pool) sums[range] += selves[i] - in_pool;
    }
  }
  return status;
}

static enum tfprof_status run_outside_of_ranges(struct profile *profile, struct tfprof_error *error) {
  uint32_t range_count, rows;
  enum tfprof_status status = derive_row_count(profile, TABLE_ranges, &range_count, error);
  if (status || !range_count || !profile->tables[TABLE_ranges].is_made) return status;
  status = derive_row_count(profile, TABLE_ops, &rows, error);
  uint32_t *ranges = scratch_allocate(((size_t)rows + 1) * sizeof *ranges);
  int64_t *sums = scratch_allocate_zeroed(range_count, sizeof *sums), *pooled = NULL;
  if (!status && (!ranges || !sums)) status = error_no_memory(error);
  if (!status) status = find_ranges(profile, ranges, rows, range_count, error);
  if (!status) status = find_pooled(profile, rows, &pooled, error);
  if (!status) status = add_self_times(profile, ranges, range_count, pooled, sums, error);
  if (!status) status = derive_set_integers(profile, TABLE_ranges, COLUMN_ranges_outside_ns, sums, error);
  scratch_free(ranges);
  scratch_free(pooled);
  scratch_free(sums);
  return status;
}

const struct derive_pass derive_outside_of_ranges = {
    .name = "outside of ranges",
    .summary = "The time of each range in which no op ran, by one pass over the parents of ops.",
    .makes_table = -1,
    .reads = {POOL_TIME_READ, {TABLE_ops, COLUMN_ops_parent_id}, {TABLE_ops, COLUMN_ops_self_ns}},
    .writes = {{TABLE_ranges, COLUMN_ranges_outside_ns}},
    .run = run_outside_of_ranges,
};
