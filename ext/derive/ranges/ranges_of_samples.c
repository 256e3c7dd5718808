/* ranges_of_samples.c: python_samples.range_id, in which range a thread was when it was looked at.
**
** It is the innermost range around that moment on the thread itself: of those that have begun and not ended, the one
** that began last, also where ranges cross.  Ranges that may end on another thread are none.
**
** Ranges and looks of each thread are gone through in the order of time, with a stack of the ranges that are open.
*/
#include "derive/match.h"
#include "derive/passes.h"
#include "derive/rows.h"

struct moments {
  struct lane_span *spans; /* ranges, and looks as spans without length: their rows count from `ranges` */
  size_t count;
  uint32_t threads, ranges, samples;
};

static enum tfprof_status gather_ranges(struct moments *moments, struct profile *profile, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_ranges, &block, &status, error);) {
    int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK], wide[ROWS_BLOCK];
    uint32_t lanes[ROWS_BLOCK];
    block_integers(&block, COLUMN_ranges_start_ns, starts);
    block_integers(&block, COLUMN_ranges_end_ns, ends);
    block_integers(&block, COLUMN_ranges_is_process_wide, wide);
    block_references(&block, COLUMN_ranges_thread_id, moments->threads, lanes);
    for (uint32_t i = 0; i < block.count; i++) {
      if (lanes[i] == NO_ROW || wide[i] == 1 || starts[i] == NO_VALUE || ends[i] == NO_VALUE || ends[i] < starts[i])
        continue;
      moments->spans[moments->count++] =
          (struct lane_span){starts[i], ends[i], lanes[i], (uint32_t)block.row + i};
    }
  }
  return status;
}

static enum tfprof_status gather_samples(struct moments *moments, struct profile *profile,
                                         struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_python_samples, &block, &status, error);) {
    int64_t times[ROWS_BLOCK];
    uint32_t lanes[ROWS_BLOCK];
    block_integers(&block, COLUMN_python_samples_time_ns, times);
    block_references(&block, COLUMN_python_samples_thread_id, moments->threads, lanes);
    for (uint32_t i = 0; i < block.count; i++) {
      if (lanes[i] == NO_ROW || times[i] == NO_VALUE) continue;
      moments->spans[moments->count++] =
          (struct lane_span){times[i], times[i], lanes[i], moments->ranges + (uint32_t)block.row + i};
    }
  }
  return status;
}

/* `open` has room for all ranges. */
static void find_innermost(const struct moments *moments, uint32_t *open, uint32_t *of_samples) {
  uint32_t depth = 0;
  for (size_t i = 0; i < moments->count; i++) {
    const struct lane_span *span = &moments->spans[i];
    if (i && span->lane != span[-1].lane) depth = 0;
    while (depth && moments->spans[open[depth - 1]].end < span->start) depth--;
    if (span->row < moments->ranges) open[depth++] = (uint32_t)i;
    else if (depth) of_samples[span->row - moments->ranges] = moments->spans[open[depth - 1]].row;
  }
}

static enum tfprof_status run_ranges_of_samples(struct profile *profile, struct tfprof_error *error) {
  struct moments moments = {0};
  enum tfprof_status status = derive_row_count(profile, TABLE_ranges, &moments.ranges, error);
  if (!status) status = derive_row_count(profile, TABLE_python_samples, &moments.samples, error);
  if (!status) status = derive_row_count(profile, TABLE_threads, &moments.threads, error);
  if (status || !moments.ranges || !moments.samples || moments.samples >= NO_ROW - moments.ranges) return status;
  size_t all = (size_t)moments.ranges + moments.samples;
  moments.spans = scratch_allocate(all * sizeof *moments.spans);
  uint32_t *open = scratch_allocate((size_t)moments.ranges * sizeof *open);
  uint32_t *of_samples = scratch_allocate((size_t)moments.samples * sizeof *of_samples);
  if (!moments.spans || !open || !of_samples) status = error_no_memory(error);
  for (uint32_t i = 0; i < moments.samples && !status; i++) of_samples[i] = NO_ROW;
  if (!status) status = gather_ranges(&moments, profile, error);
  if (!status) status = gather_samples(&moments, profile, error);
  if (!status) status = lane_span_sort(moments.spans, moments.count, error);
  if (!status) {
    find_innermost(&moments, open, of_samples);
    status = derive_set_references(profile, TABLE_python_samples, COLUMN_python_samples_range_id, of_samples, error);
  }
  scratch_free(moments.spans);
  scratch_free(open);
  scratch_free(of_samples);
  return status;
}

const struct derive_pass derive_ranges_of_samples = {
    .name = "ranges of samples",
    .summary = "The innermost range of its thread around each look at Python, by one walk in the order of time.",
    .makes_table = -1,
    .reads = {{TABLE_ranges, COLUMN_ranges_thread_id},
              {TABLE_ranges, COLUMN_ranges_start_ns},
              {TABLE_ranges, COLUMN_ranges_end_ns},
              {TABLE_ranges, COLUMN_ranges_is_process_wide},
              {TABLE_python_samples, COLUMN_python_samples_thread_id},
              {TABLE_python_samples, COLUMN_python_samples_time_ns}},
    .writes = {{TABLE_python_samples, COLUMN_python_samples_range_id}},
    .run = run_ranges_of_samples,
};
