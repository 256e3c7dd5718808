/* module_call_times.c: module_calls.net_ns, how long a call took without what recording the ops in it took.
**
** That was paid just before each op begins (recording_cost.h): a call that is told from its first op to its last does
** not have what the first one cost.  A source that does not tell what recording takes has the durations themselves.
*/
#include "derive/match.h"
#include "derive/passes.h"
#include "derive/steps/recording_cost.h"

static enum tfprof_status share_durations(struct profile *profile, struct tfprof_error *error) {
  const struct profile_table *calls = &profile->tables[TABLE_module_calls];
  for (size_t s = 0; s < calls->segment_count; s++) {
    struct segment *segment = calls->segments[s];
    struct column *durations = column_retain(segment->columns[COLUMN_module_calls_dur_ns]);
    if (segment_set_column(segment, COLUMN_module_calls_net_ns, durations)) return error_no_memory(error);
  }
  return TFPROF_OK;
}

/* When the records of ops began, by thread and time. Free *spans with scratch_free, also after a failure. */
static enum tfprof_status find_starts(const struct recording_cost *cost, const struct profile *profile,
                                      struct lane_span **spans, size_t *count, struct tfprof_error *error) {
  uint32_t rows;
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &rows, error);
  *count = 0;
  *spans = status ? NULL : scratch_allocate(((size_t)rows + 1) * sizeof **spans);
  if (!status && !*spans) status = error_no_memory(error);
  for (struct row_block block = {0}; !status && derive_next_block(profile, TABLE_ops, &block, &status, error);) {
    string_id categories[ROWS_BLOCK];
    uint32_t threads[ROWS_BLOCK];
    int64_t starts[ROWS_BLOCK];
    block_texts(&block, COLUMN_ops_category, categories);
    block_references(&block, COLUMN_ops_thread_id, cost->thread_count, threads);
    block_integers(&block, COLUMN_ops_start_ns, starts);
    for (uint32_t i = 0; i < block.count; i++) {
      if (starts[i] == NO_VALUE || threads[i] == NO_ROW || !recording_is_op(cost, categories[i])) continue;
      (*spans)[(*count)++] = (struct lane_span){starts[i], starts[i], threads[i], (uint32_t)block.row + i};
    }
  }
  return status ? status : lane_span_sort(*spans, *count, error);
}

/* How many of the spans come before the time of the thread, or at it. */
static size_t count_until(const struct lane_span *spans, size_t count, uint32_t thread, int64_t time) {
  size_t first = 0;
  while (count > 0) {
    size_t half = count / 2;
    const struct lane_span *middle = &spans[first + half];
    bool is_before = middle->lane != thread ? middle->lane < thread : middle->start <= time;
    if (is_before) first += half + 1;
    count = is_before ? count - half - 1 : half;
  }
  return first;
}

static enum tfprof_status take_costs_off(const struct recording_cost *cost, struct profile *profile,
                                         struct tfprof_error *error) {
  struct lane_span *spans = NULL;
  size_t count;
  uint32_t calls, *threads = NULL;
  int64_t *starts = NULL, *nets = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_module_calls, &calls, error);
  if (!status) status = find_starts(cost, profile, &spans, &count, error);
  if (!status)
    status = derive_all_references(profile, TABLE_module_calls, COLUMN_module_calls_thread_id, &threads, error);
  if (!status) status = derive_all_integers(profile, TABLE_module_calls, COLUMN_module_calls_start_ns, &starts, error);
  if (!status) status = derive_all_integers(profile, TABLE_module_calls, COLUMN_module_calls_dur_ns, &nets, error);
  for (uint32_t i = 0; i < calls && !status; i++) {
    int64_t end;
    if (threads[i] == NO_ROW || starts[i] == NO_VALUE || nets[i] == NO_VALUE || nets[i] <= 0) continue;
    if (__builtin_add_overflow(starts[i], nets[i] - 1, &end)) continue;
    size_t begun = count_until(spans, count, threads[i], end) - count_until(spans, count, threads[i], starts[i]);
    double taken = (double)begun * cost->of_op;
    nets[i] = taken < (double)nets[i] ? nets[i] - (int64_t)taken : 0;
  }
  if (!status) status = derive_set_integers(profile, TABLE_module_calls, COLUMN_module_calls_net_ns, nets, error);
  scratch_free(spans);
  scratch_free(threads);
  scratch_free(starts);
  scratch_free(nets);
  return status;
}

static enum tfprof_status run_module_call_times(struct profile *profile, struct tfprof_error *error) {
  struct recording_cost cost;
  enum tfprof_status status = recording_cost_load(&cost, profile, error);
  if (!status) status = cost.of_op > 0 ? take_costs_off(&cost, profile, error) : share_durations(profile, error);
  recording_cost_free(&cost);
  return status;
}

const struct derive_pass derive_module_call_times = {
    .name = "net times of module calls",
    .summary = "Durations of calls of modules without what recording the ops in them took.",
    .makes_table = -1,
    .reads = {{TABLE_module_calls, COLUMN_module_calls_thread_id},
              {TABLE_module_calls, COLUMN_module_calls_start_ns},
              {TABLE_module_calls, COLUMN_module_calls_dur_ns},
              {TABLE_ops, COLUMN_ops_start_ns},
              RECORDING_COST_READ},
    .writes = {{TABLE_module_calls, COLUMN_module_calls_net_ns}},
    .run = run_module_call_times,
};
