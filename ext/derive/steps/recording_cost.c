/* recording_cost.c: see recording_cost.h. */
#include "derive/steps/recording_cost.h"

#include "derive/steps/sampling.h"

static enum tfprof_status find_backward_threads(struct recording_cost *cost, const struct profile *profile,
                                                struct tfprof_error *error) {
  enum tfprof_status status = derive_row_count(profile, TABLE_threads, &cost->thread_count, error);
  if (status) return status;
  cost->runs_backward = scratch_allocate_zeroed((size_t)cost->thread_count + 1, sizeof *cost->runs_backward);
  if (!cost->runs_backward) return error_no_memory(error);
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  for (size_t s = 0; s < ops->segment_count && !status; s++) {
    const struct segment *segment = ops->segments[s];
    const struct column *categories = segment->columns[COLUMN_ops_category];
    uint32_t row = derive_find_text(categories, 0, cost->autograd);
    for (; row < segment->rows; row = derive_find_text(categories, row + 1, cost->autograd)) {
      uint32_t thread;
      derive_references(segment->columns[COLUMN_ops_thread_id], row, 1, cost->thread_count, &thread);
      if (thread != NO_ROW) cost->runs_backward[thread] = true;
    }
    status = derive_poll(profile, error);
  }
  return status;
}

enum tfprof_status recording_cost_load(struct recording_cost *cost, const struct profile *profile,
                                       struct tfprof_error *error) {
  struct sampling sampling;
  *cost = (struct recording_cost){.op = derive_known_text(profile, "op"),
                                  .autograd = derive_known_text(profile, "autograd")};
  enum tfprof_status status = sampling_load(&sampling, profile, error);
  double of_op = sampling_op_cost(&sampling);
  sampling_free(&sampling);
  if (status || !(of_op > 0 && of_op < 1e9)) return status;
  cost->of_op = of_op;
  return find_backward_threads(cost, profile, error);
}

void recording_cost_free(struct recording_cost *cost) {
  scratch_free(cost->runs_backward);
  cost->runs_backward = NULL;
}

enum tfprof_status recording_count_ops(const struct recording_cost *cost, const struct profile *profile,
                                       struct step_lookup *lookup, const uint32_t *step_threads, int64_t *counts,
                                       struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_ops, &block, &status, error);) {
    string_id categories[ROWS_BLOCK];
    uint32_t threads[ROWS_BLOCK];
    int64_t starts[ROWS_BLOCK];
    block_texts(&block, COLUMN_ops_category, categories);
    block_references(&block, COLUMN_ops_thread_id, cost->thread_count, threads);
    block_integers(&block, COLUMN_ops_start_ns, starts);
    for (uint32_t i = 0; i < block.count; i++) {
      if (starts[i] == NO_VALUE || !recording_is_op(cost, categories[i])) continue;
      uint32_t step = step_lookup_find(lookup, starts[i]);
      if (step != NO_ROW && recording_is_paid(cost, threads[i], step_threads[step])) counts[step]++;
    }
  }
  return status;
}

void recording_share(int64_t total, const int64_t *counts, const int64_t *times, unsigned parts, int64_t *taken) {
  double all = 0;
  int64_t left = total > 0 ? total : 0;
  for (unsigned i = 0; i < parts; i++) all += (double)counts[i];
  for (unsigned i = 0; i < parts; i++) {
    double wanted = all > 0 ? (double)total * ((double)counts[i] / all) : 0;
    int64_t most = times[i] < left ? times[i] : left;
    taken[i] = most <= 0 ? 0 : wanted < (double)most ? (int64_t)wanted : most;
    left -= taken[i];
  }
  for (unsigned i = parts; i-- > 0 && left > 0;) { /* rounding, and what others had not */
    int64_t more = times[i] - taken[i] < left ? times[i] - taken[i] : left;
    if (more <= 0) continue;
    taken[i] += more;
    left -= more;
  }
}
