/* ranges.c: the table ranges from ops of categories `user` and `input`, for sources that mark ranges among their ops.
**
** Each such op is a range: record_function blocks, optimizer steps, data loaders, profiler steps, and what was marked
** by NVTX, which says more of it.  parent_id and depth count ranges only, whatever ops lie between them.  A range that
** nests with nothing (nesting.c) is process-wide.
*/
#include "derive/passes.h"
#include "derive/ranges/user_rows.h"

#include <string.h>

/* PyTorch's own ranges are of the domain torch; of other frameworks nothing is known. */
static enum tfprof_status find_domain(struct profile *profile, string_id *domain, struct tfprof_error *error) {
  const char *framework = pool_text(store_pool(profile->store), profile->framework);
  *domain = 0;
  if (framework && strcmp(framework, "pytorch") != 0) return TFPROF_OK;
  return derive_text(profile, "torch", domain, error);
}

/* A text of each range: of those that NVTX marked its own, of all others this one. */
static enum tfprof_status set_range_texts(struct profile *profile, const struct user_rows *rows, const int64_t *kinds,
                                          unsigned op_column, string_id others, unsigned column,
                                          struct tfprof_error *error) {
  int64_t *values = NULL;
  uint32_t *texts = scratch_allocate(rows->count * sizeof *texts);
  if (!texts) return error_no_memory(error);
  enum tfprof_status status = user_rows_values(rows, profile, op_column, &values, error);
  for (uint32_t i = 0; i < rows->count && !status; i++)
    texts[i] = kinds[i] == NO_VALUE ? others : values[i] == NO_VALUE ? 0 : (string_id)values[i];
  if (!status) status = derive_set_texts(profile, TABLE_ranges, column, texts, error);
  scratch_free(values);
  scratch_free(texts);
  return status;
}

static enum tfprof_status set_origins(struct profile *profile, const struct user_rows *rows,
                                      struct tfprof_error *error) {
  string_id domain, category;
  int64_t *kinds = NULL;
  enum tfprof_status status = find_domain(profile, &domain, error);
  if (!status) status = derive_text(profile, "user", &category, error);
  if (!status) status = user_rows_values(rows, profile, COLUMN_ops_range_kind, &kinds, error);
  if (!status)
    status = set_range_texts(profile, rows, kinds, COLUMN_ops_range_domain, domain, COLUMN_ranges_domain, error);
  if (!status)
    status = set_range_texts(profile, rows, kinds, COLUMN_ops_range_category, category, COLUMN_ranges_category, error);
  scratch_free(kinds);
  return status;
}

/* What was started on one thread and may have ended on another ran on none of them: the first is named all the same. */
static enum tfprof_status set_threads(struct profile *profile, const struct user_rows *rows,
                                      struct tfprof_error *error) {
  int64_t *threads = NULL, *starters = NULL;
  enum tfprof_status status = user_rows_values(rows, profile, COLUMN_ops_thread_id, &threads, error);
  if (!status) status = user_rows_values(rows, profile, COLUMN_ops_range_thread, &starters, error);
  for (uint32_t i = 0; i < rows->count && !status; i++)
    if (threads[i] == NO_VALUE) threads[i] = starters[i];
  if (!status) status = derive_set_integers(profile, TABLE_ranges, COLUMN_ranges_thread_id, threads, error);
  scratch_free(threads);
  scratch_free(starters);
  return status;
}

static enum tfprof_status set_nesting(struct profile *profile, const struct user_rows *rows,
                                      struct tfprof_error *error) {
  int64_t *ends = NULL;
  enum tfprof_status status = user_rows_values(rows, profile, COLUMN_ops_end_ns, &ends, error);
  if (status) return status;
  for (uint32_t i = 0; i < rows->count; i++) ends[i] = ends[i] != NO_VALUE && rows->depths[i] == NO_VALUE;
  status = derive_set_integers(profile, TABLE_ranges, COLUMN_ranges_is_process_wide, ends, error);
  scratch_free(ends);
  if (!status) {
    status = derive_set_references(profile, TABLE_ranges, COLUMN_ranges_parent_id, rows->parents, error);
  }
  if (!status) status = derive_set_integers(profile, TABLE_ranges, COLUMN_ranges_depth, rows->depths, error);
  return status;
}

static enum tfprof_status run_ranges(struct profile *profile, struct tfprof_error *error) {
  static const struct user_column copied[] = {
      {COLUMN_ops_name, COLUMN_ranges_name},          {COLUMN_ops_start_ns, COLUMN_ranges_start_ns},
      {COLUMN_ops_end_ns, COLUMN_ranges_end_ns},      {COLUMN_ops_dur_ns, COLUMN_ranges_dur_ns},
      {COLUMN_ops_step_id, COLUMN_ranges_step_id},    {COLUMN_ops_range_color, COLUMN_ranges_color},
      {COLUMN_ops_range_payload, COLUMN_ranges_payload}};
  struct user_rows rows;
  if (!profile->tables[TABLE_ranges].is_made) return TFPROF_OK;
  enum tfprof_status status =
      user_rows_make_table(&rows, profile, TABLE_ranges, NULL, copied, sizeof copied / sizeof copied[0], error);
  if (!status && rows.count) {
    status = set_origins(profile, &rows, error);
    if (!status) status = set_threads(profile, &rows, error);
    if (!status) status = set_nesting(profile, &rows, error);
  }
  user_rows_free(&rows);
  return status;
}

const struct derive_pass derive_ranges = {
    .name = "ranges",
    .summary = "One range for each op of category user or input, nested as the ops are.",
    .makes_table = TABLE_ranges,
    .is_idle = user_rows_is_idle,
    .reads = {USER_ROWS_READ,
              {TABLE_ops, COLUMN_ops_range_kind},
              {TABLE_ops, COLUMN_ops_range_domain},
              {TABLE_ops, COLUMN_ops_range_category},
              {TABLE_ops, COLUMN_ops_range_color},
              {TABLE_ops, COLUMN_ops_range_payload},
              {TABLE_ops, COLUMN_ops_range_thread}},
    .writes = {{TABLE_ranges, COLUMN_ranges_name},
               {TABLE_ranges, COLUMN_ranges_domain},
               {TABLE_ranges, COLUMN_ranges_category},
               {TABLE_ranges, COLUMN_ranges_color},
               {TABLE_ranges, COLUMN_ranges_payload},
               {TABLE_ranges, COLUMN_ranges_thread_id},
               {TABLE_ranges, COLUMN_ranges_start_ns},
               {TABLE_ranges, COLUMN_ranges_end_ns},
               {TABLE_ranges, COLUMN_ranges_dur_ns},
               {TABLE_ranges, COLUMN_ranges_parent_id},
               {TABLE_ranges, COLUMN_ranges_depth},
               {TABLE_ranges, COLUMN_ranges_step_id},
               {TABLE_ranges, COLUMN_ranges_is_process_wide}},
    .run = run_ranges,
    .is_alone = true,
};
