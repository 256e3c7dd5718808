/* pool_time.c: see pool_time.h.  Ops are joined as they are sorted, so that what asks looks a moment up. */
#include "derive/time/pool_time.h"

#include "derive/rows.h"

#include <string.h>

static enum tfprof_status collect(struct pool_time *pool, const struct profile *profile, const uint32_t *step_threads,
                                  uint32_t step_count, struct tfprof_error *error) {
  string_id op = derive_known_text(profile, "op"), pytorch = derive_known_text(profile, "pytorch");
  enum tfprof_status status = TFPROF_OK;
  uint32_t capacity = 0;
  for (struct row_block at = {0}; derive_next_block(profile, TABLE_ops, &at, &status, error);) {
    uint32_t threads[ROWS_BLOCK], steps[ROWS_BLOCK];
    int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
    string_id categories[ROWS_BLOCK], frameworks[ROWS_BLOCK];
    block_references(&at, COLUMN_ops_thread_id, NO_ROW, threads);
    block_references(&at, COLUMN_ops_step_id, step_count, steps);
    block_integers(&at, COLUMN_ops_start_ns, starts);
    block_integers(&at, COLUMN_ops_end_ns, ends);
    block_texts(&at, COLUMN_ops_category, categories);
    block_texts(&at, COLUMN_ops_framework, frameworks);
    for (uint32_t i = 0; i < at.count && !status; i++) {
      if (!op || categories[i] != op || frameworks[i] == pytorch) continue;
      if (steps[i] == NO_ROW || step_threads[steps[i]] == threads[i]) continue;
      if (starts[i] == NO_VALUE || ends[i] == NO_VALUE || ends[i] <= starts[i]) continue;
      struct lane_span *grown = scratch_grow(pool->spans, pool->count, &capacity, 4096, sizeof *grown);
      if (!grown) return error_no_memory(error);
      pool->spans = grown;
      pool->spans[pool->count++] = (struct lane_span){starts[i], ends[i], 0, 0};
    }
  }
  return status;
}

static enum tfprof_status join_spans(struct pool_time *pool, struct tfprof_error *error) {
  enum tfprof_status status = lane_span_sort(pool->spans, pool->count, error);
  uint32_t kept = 0;
  if (status) return status;
  for (uint32_t i = 0; i < pool->count; i++) {
    struct lane_span *last = kept ? &pool->spans[kept - 1] : NULL;
    if (last && pool->spans[i].start <= last->end) {
      if (pool->spans[i].end > last->end) last->end = pool->spans[i].end;
    } else {
      pool->spans[kept++] = pool->spans[i];
    }
  }
  pool->count = kept;
  pool->before = scratch_allocate(((size_t)kept + 1) * sizeof *pool->before);
  if (!pool->before) return error_no_memory(error);
  pool->before[0] = 0;
  for (uint32_t i = 0; i < kept; i++)
    pool->before[i + 1] = derive_sum(pool->before[i], derive_difference(pool->spans[i].end, pool->spans[i].start));
  return TFPROF_OK;
}

/* Whether ops are there that a framework other than PyTorch ran for steps. Not of traced session runs: most of what
** passes in one beside its ops is what tracing takes. */
static bool has_pool(const struct profile *profile) {
  return strcmp(profile_origin(profile), "xplane") == 0 || profile_raw_rows(profile, TABLE_profiler_windows);
}

enum tfprof_status pool_time_load(struct pool_time *pool, const struct profile *profile, struct tfprof_error *error) {
  uint32_t *threads = NULL, step_count;
  *pool = (struct pool_time){.count = 0};
  if (!has_pool(profile)) return TFPROF_OK;
  enum tfprof_status status = derive_row_count(profile, TABLE_steps, &step_count, error);
  if (!status) status = derive_all_references(profile, TABLE_steps, COLUMN_steps_thread_id, &threads, error);
  if (!status) status = collect(pool, profile, threads, step_count, error);
  if (!status && pool->count) status = join_spans(pool, error);
  scratch_free(threads);
  return status;
}

void pool_time_free(struct pool_time *pool) {
  scratch_free(pool->spans);
  scratch_free(pool->before);
}

uint32_t pool_time_first(const struct pool_time *pool, int64_t time) {
  uint32_t first = 0, end = pool->count;
  while (first < end) {
    uint32_t middle = first + (end - first) / 2;
    if (pool->spans[middle].end > time) end = middle;
    else first = middle + 1;
  }
  return first;
}

/* From the beginning to `time`. */
static int64_t time_until(const struct pool_time *pool, int64_t time) {
  uint32_t at = pool_time_first(pool, time);
  int64_t sum = pool->before[at];
  if (at == pool->count || time <= pool->spans[at].start) return sum;
  return derive_sum(sum, derive_difference(time, pool->spans[at].start));
}

int64_t pool_time_between(const struct pool_time *pool, int64_t start, int64_t end) {
  return pool->count && end > start ? derive_difference(time_until(pool, end), time_until(pool, start)) : 0;
}
