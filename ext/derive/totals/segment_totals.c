/* segment_totals.c: the table step_segment_totals, the pieces of step_segments added up by step and category. */
#include "derive/passes.h"
#include "derive/totals/groups.h"

struct segment_total {
  int64_t step, category, count, first_start, last_end;
  double sum;
};

static enum tfprof_status set_segment_columns(struct profile *profile, const struct segment_total *totals,
                                              uint32_t count, struct tfprof_error *error) {
  int64_t *values = scratch_allocate(((size_t)count + 1) * sizeof *values);
  enum tfprof_status status = values ? TFPROF_OK : error_no_memory(error);
#define SET(column, expression) \
  do { \
    for (uint32_t i = 0; i < count && !status; i++) values[i] = (expression); \
    if (!status) \
      status = derive_set_integers(profile, TABLE_step_segment_totals, COLUMN_step_segment_totals_##column, values, \
                                   error); \
  } while (0)
  SET(step_id, totals[i].step);
  SET(category, totals[i].category);
  SET(count, totals[i].count);
  SET(sum_ns, whole_sum(totals[i].sum));
  SET(first_start_ns, totals[i].first_start);
  SET(last_end_ns, totals[i].last_end);
#undef SET
  scratch_free(values);
  return status;
}

static enum tfprof_status run_segment_totals(struct profile *profile, struct tfprof_error *error) {
  enum { WIDTH = 2 };
  struct groups groups = {.width = WIDTH};
  struct segment_total *totals = NULL;
  uint32_t capacity = 0, steps;
  enum tfprof_status status = derive_row_count(profile, TABLE_steps, &steps, error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_step_segments, &block, &status, error);) {
    uint32_t of_step[ROWS_BLOCK];
    string_id categories[ROWS_BLOCK];
    int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK], durations[ROWS_BLOCK];
    block_references(&block, COLUMN_step_segments_step_id, steps, of_step);
    block_texts(&block, COLUMN_step_segments_category, categories);
    block_integers(&block, COLUMN_step_segments_start_ns, starts);
    block_integers(&block, COLUMN_step_segments_end_ns, ends);
    block_integers(&block, COLUMN_step_segments_dur_ns, durations);
    for (uint32_t i = 0; i < block.count && !status; i++) {
      int64_t key[WIDTH] = {of_step[i], categories[i]};
      uint32_t known = groups.count, number = groups_number(&groups, key);
      struct segment_total *grown = totals;
      if (number == known) grown = scratch_grow(totals, known, &capacity, 256, sizeof *totals);
      if (number == NO_ROW || !grown) {
        status = error_no_memory(error);
        break;
      }
      totals = grown;
      if (number == known) totals[known] = (struct segment_total){of_step[i], categories[i], 0, starts[i], ends[i], 0};
      struct segment_total *total = &totals[number];
      total->count++;
      total->sum += (double)durations[i];
      if (starts[i] < total->first_start) total->first_start = starts[i];
      if (ends[i] > total->last_end) total->last_end = ends[i];
    }
  }
  if (!status) status = derive_make_table(profile, TABLE_step_segment_totals, groups.count, error);
  if (!status && groups.count) status = set_segment_columns(profile, totals, groups.count, error);
  scratch_free(totals);
  groups_free(&groups);
  return status;
}

const struct derive_pass derive_segment_totals = {
    .name = "totals of step segments",
    .summary = "Pieces and time of each category in a step, by a hash table of these.",
    .makes_table = TABLE_step_segment_totals,
    .reads = {{TABLE_step_segments, COLUMN_step_segments_step_id},
              {TABLE_step_segments, COLUMN_step_segments_category},
              {TABLE_step_segments, COLUMN_step_segments_start_ns},
              {TABLE_step_segments, COLUMN_step_segments_end_ns},
              {TABLE_step_segments, COLUMN_step_segments_dur_ns}},
    .run = run_segment_totals,
};
