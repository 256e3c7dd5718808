/* step_marks.c: steps.ops_recorded, steps.is_warmup, steps.sample_weight, steps.recording_ns and steps.net_ns, for
** steps of any origin.
**
** ops_recorded.  A recording may leave the ops of most steps out and keep only the ranges that mark steps.  Where the
** recorder says when it recorded ops (sampling.h), the ops of a step were recorded when they were so from its start to
** its end; elsewhere when at least one op of another category than `user` began in it.  Where ops come from windows of
** the framework's own profiler, one of these must hold the step (window_steps.h); and where they come from runs of
** sessions, each run that began in the step must have been traced (session_records.left_out).  No step of a recording
** has them where these steps are of a framework whose ops are not recorded, whatever PyTorch runs beside it, such as a
** DataLoader.  NULL in a profile without ops.
**
** sample_weight.  For how many steps one speaks: step_weights.h.  0: others speak for the step; NULL: none does.
** Of the warm-up 0 marks the steps without work of devices (sql/views/helpers/_calibration_steps.sql).
**
** recording_ns.  The ops that began in the step, on its own thread and on those that run its backward pass, times what
** recording one takes where the recorder tells it (recording_cost.h); but no more than half of what the step took,
** which it never is.  Where it opened or closed a window of the framework's own profiler in the middle of a step, what
** that took counts as well (window_stops.h).  net_ns is the rest.
**
** is_warmup.  A recording of our own begins with the program, so its first steps allocate memory, choose algorithms and
** fill caches.  The first three are warm-up; but never more than half of all steps, nor more than half of those whose
** ops were recorded, so that a short run is not left without statistics: of 5 steps 2 are, of a single one none.  Steps
** that had ended before it began count for as many, where the program ran already.  So are steps in which the recorder
** left out the work of devices, to see what recording it takes (capture/library/cuda/launch_calibration.h).  A trace
** that another profiler took is a window that its user chose, mostly after a warm-up: of its steps the first ones are
** left out that mostly compile (compiling_steps.h), three and half of all at most.
*/
#include "derive/passes.h"
#include "derive/steps/compiling_steps.h"
#include "derive/steps/recording_cost.h"
#include "derive/steps/sampling.h"
#include "derive/steps/step_lookup.h"
#include "derive/steps/step_weights.h"
#include "derive/steps/window_steps.h"
#include "derive/steps/window_stops.h"
#include "schema/framework_list.h"

#include <stdlib.h>
#include <string.h>

enum { WARMUP_STEPS = 3, FEW = 128 };

/* Whether any op began in each step. */
static enum tfprof_status find_ops(struct profile *profile, struct step_lookup *lookup, int64_t *found,
                                   struct tfprof_error *error) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  string_id user = derive_known_text(profile, "user");
  for (size_t s = 0; s < ops->segment_count; s++) {
    const struct segment *segment = ops->segments[s];
    for (uint32_t first = 0; first < segment->rows; first += FEW) {
      uint32_t count = segment->rows - first < FEW ? segment->rows - first : FEW;
      string_id categories[FEW];
      int64_t starts[FEW], earliest, latest;
      uint32_t only;
      derive_integers(segment->columns[COLUMN_ops_start_ns], first, count, starts);
      if (derive_range(starts, count, &earliest, &latest) && step_lookup_is_one(lookup, earliest, latest, &only) &&
          (only == NO_ROW || found[only])) {
        continue; /* nothing new here, which is so most of the time */
      }
      derive_texts(segment->columns[COLUMN_ops_category], first, count, categories);
      for (uint32_t i = 0; i < count; i++) {
        if (categories[i] == user || starts[i] == NO_VALUE) continue;
        uint32_t step = step_lookup_find(lookup, starts[i]);
        if (step != NO_ROW) found[step] = 1;
      }
    }
    enum tfprof_status status = derive_poll(profile, error);
    if (status) return status;
  }
  return TFPROF_OK;
}

struct step_start {
  int64_t start;
  uint32_t step;
};

static int marks_by_start(const void *left, const void *right) {
  const struct step_start *a = left, *b = right;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->step < b->step ? -1 : a->step > b->step;
}

/* How many of the first steps in `order` are warm-up in a recording of our own. */
static uint32_t count_warmup(const struct step_start *order, uint32_t count, const int64_t *recorded,
                             double steps_before) {
  uint32_t most = steps_before >= WARMUP_STEPS ? 0 : WARMUP_STEPS - (uint32_t)steps_before;
  uint32_t all_recorded = 0, warmup = 0, warmup_recorded = 0;
  for (uint32_t i = 0; i < count; i++) all_recorded += recorded[i] == 1;
  while (warmup < most && warmup < count / 2) {
    warmup_recorded += recorded[order[warmup].step] == 1;
    if (warmup_recorded > all_recorded / 2) break;
    warmup++;
  }
  return warmup;
}

static void find_covered(const struct sampling *sampling, const int64_t *starts, const int64_t *ends, uint32_t count,
                         int64_t *recorded) {
  for (uint32_t i = 0; i < count; i++) {
    recorded[i] = starts[i] != NO_VALUE && ends[i] != NO_VALUE && sampling_covers(sampling, starts[i], ends[i]);
  }
}

/* From how many ops the steps have; NO_VALUE where nothing tells what one takes. */
static void find_costs(double of_op, const int64_t *starts, const int64_t *ends, uint32_t count, int64_t *costs) {
  for (uint32_t i = 0; i < count; i++) {
    double cost = (double)costs[i] * of_op, most = ((double)ends[i] - (double)starts[i]) / 2;
    if (of_op == 0 || !(cost >= 0) || starts[i] == NO_VALUE || !(most >= 0)) costs[i] = NO_VALUE;
    else costs[i] = (int64_t)(cost > most ? most : cost);
  }
}

/* Adds what the recorder took in the middle of steps to open and close windows. *is_told becomes true where it did. */
static enum tfprof_status add_stops(struct profile *profile, const struct step_facts *steps, const uint32_t *threads,
                                    int64_t *costs, bool *is_told, struct tfprof_error *error) {
  struct window_stops stops;
  enum tfprof_status status = window_stops_load(&stops, profile, error);
  int64_t *within = status ? NULL : scratch_allocate(((size_t)steps->count + 1) * sizeof *within);
  if (!status && !within) status = error_no_memory(error);
  if (!status) window_stops_within(&stops, steps->order, steps->starts, steps->ends, threads, steps->count, within);
  for (uint32_t i = 0; i < steps->count && !status; i++) {
    if (!within[i]) continue;
    costs[i] = derive_sum(costs[i] == NO_VALUE ? 0 : costs[i], within[i]);
    *is_told = true;
  }
  scratch_free(within);
  window_stops_free(&stops);
  return status;
}

/* Of the profile's durations themselves, where nothing is to be taken off. */
static enum tfprof_status set_net_times(struct profile *profile, const int64_t *costs, bool is_told,
                                        struct tfprof_error *error) {
  struct profile_table *steps = &profile->tables[TABLE_steps];
  if (!is_told) {
    for (size_t s = 0; s < steps->segment_count; s++) {
      struct segment *segment = steps->segments[s];
      struct column *durations = column_retain(segment->columns[COLUMN_steps_dur_ns]);
      if (segment_set_column(segment, COLUMN_steps_net_ns, durations)) return error_no_memory(error);
    }
    return TFPROF_OK;
  }
  int64_t *nets = NULL;
  uint32_t count;
  enum tfprof_status status = derive_row_count(profile, TABLE_steps, &count, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_dur_ns, &nets, error);
  for (uint32_t i = 0; i < count && !status; i++) {
    if (nets[i] != NO_VALUE && costs[i] != NO_VALUE) nets[i] = derive_difference(nets[i], costs[i]);
  }
  if (!status) status = derive_set_integers(profile, TABLE_steps, COLUMN_steps_net_ns, nets, error);
  scratch_free(nets);
  return status;
}

static enum tfprof_status leave_out_runs(const struct profile *profile, struct step_lookup *lookup, int64_t *recorded,
                                         struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_session_records, &block, &status, error);) {
    int64_t starts[ROWS_BLOCK];
    string_id left_out[ROWS_BLOCK];
    block_integers(&block, COLUMN_session_records_start_ns, starts);
    block_texts(&block, COLUMN_session_records_left_out, left_out);
    for (uint32_t i = 0; i < block.count; i++) {
      if (!left_out[i] || starts[i] == NO_VALUE) continue;
      uint32_t step = step_lookup_find(lookup, starts[i]);
      if (step != NO_ROW) recorded[step] = 0;
    }
  }
  return status;
}

/* Steps that TensorFlow or JAX runs beside PyTorch, whose ops alone are recorded, have theirs in windows only. */
static bool lacks_ops_of_steps(const struct profile *profile) {
  const char *frameworks = pool_text(store_pool(profile->store), profile->framework);
  bool is_recording = strcmp(profile_origin(profile), "tfprof") == 0;
  return is_recording && framework_is_listed(frameworks, "pytorch") && strncmp(frameworks, "pytorch", 7) != 0;
}

static enum tfprof_status run_step_marks(struct profile *profile, struct tfprof_error *error) {
  struct step_lookup lookup;
  struct step_start *order = NULL;
  struct sampling sampling = {.recorded = {.count = 0}};
  struct recording_cost cost = {.of_op = 0};
  int64_t *starts = NULL, *ends = NULL, *recorded = NULL, *warmup = NULL, *costs = NULL;
  double *weights = NULL;
  bool *is_calibration = NULL;
  uint32_t count, *rows = NULL, *threads = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_steps, &count, error);
  if (status || count == 0) return status;
  status = step_lookup_of_profile(&lookup, profile, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_start_ns, &starts, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_end_ns, &ends, error);
  if (!status) status = derive_all_references(profile, TABLE_steps, COLUMN_steps_thread_id, &threads, error);
  if (!status) status = sampling_load(&sampling, profile, error);
  if (!status) status = recording_cost_load(&cost, profile, error);
  if (!status) {
    weights = scratch_allocate_zeroed(count, sizeof *weights);
    recorded = scratch_allocate_zeroed(count, sizeof *recorded);
    is_calibration = scratch_allocate_zeroed(count, sizeof *is_calibration);
    warmup = scratch_allocate_zeroed(count, sizeof *warmup);
    costs = scratch_allocate_zeroed(count, sizeof *costs);
    order = scratch_allocate(count * sizeof *order);
    rows = scratch_allocate(count * sizeof *rows);
    if (!recorded || !warmup || !costs || !order || !rows || !weights || !is_calibration)
      status = error_no_memory(error);
  }
  if (!status && sampling.recorded.count) find_covered(&sampling, starts, ends, count, recorded);
  else if (!status) status = find_ops(profile, &lookup, recorded, error);
  if (!status && cost.of_op > 0) status = recording_count_ops(&cost, profile, &lookup, threads, costs, error);
  if (!status) {
    for (uint32_t i = 0; i < count; i++) order[i] = (struct step_start){starts[i], i};
    qsort(order, count, sizeof *order, marks_by_start);
    for (uint32_t i = 0; i < count; i++) rows[i] = order[i].step;
    if (window_steps_are_told(profile)) {
      for (uint32_t i = 0; i < count && !sampling.recorded.count; i++) recorded[i] = 1;
      status = window_steps_find(profile, rows, starts, ends, count, recorded, &sampling, error);
    }
    if (!status) status = leave_out_runs(profile, &lookup, recorded, error);
    bool is_from_beginning = strcmp(profile_origin(profile), "tfprof") == 0;
    uint32_t left_out = 0, most = count / 2 < WARMUP_STEPS ? count / 2 : WARMUP_STEPS;
    if (is_from_beginning) left_out = count_warmup(order, count, recorded, sampling_steps_before(&sampling));
    else if (!status) status = compiling_steps_count(profile, rows, starts, ends, count, most, &left_out, error);
    for (uint32_t i = 0; i < left_out; i++) warmup[rows[i]] = 1;
    for (uint32_t i = 0; i < count && sampling.calibration.count; i++) {
      if (starts[i] == NO_VALUE || ends[i] == NO_VALUE) continue;
      is_calibration[i] = sampling_is_calibration(&sampling, starts[i], ends[i]);
      if (is_calibration[i]) warmup[i] = 1;
    }
    if (!status) status = derive_set_integers(profile, TABLE_steps, COLUMN_steps_is_warmup, warmup, error);
    find_costs(cost.of_op, starts, ends, count, costs);
    const struct step_facts facts = {count, rows, starts, ends, recorded, warmup, costs};
    bool has_costs = cost.of_op > 0;
    if (!status && window_steps_are_told(profile))
      status = add_stops(profile, &facts, threads, costs, &has_costs, error);
    if (!status) status = step_weights_find(&facts, &sampling, weights, error);
    for (uint32_t i = 0; i < count && !status; i++)
      if (is_calibration[i]) weights[i] = 0;
    if (!status) status = derive_set_reals(profile, TABLE_steps, COLUMN_steps_sample_weight, weights, error);
    if (!status) status = derive_set_integers(profile, TABLE_steps, COLUMN_steps_recording_ns, costs, error);
    if (lacks_ops_of_steps(profile) && !window_steps_are_told(profile)) memset(recorded, 0, count * sizeof *recorded);
    if (!status && profile->tables[TABLE_ops].segment_count) {
      status = derive_set_integers(profile, TABLE_steps, COLUMN_steps_ops_recorded, recorded, error);
    }
    if (!status) status = set_net_times(profile, costs, has_costs, error);
  }
  sampling_free(&sampling);
  recording_cost_free(&cost);
  scratch_free(threads);
  scratch_free(order);
  scratch_free(rows);
  scratch_free(starts);
  scratch_free(ends);
  scratch_free(weights);
  scratch_free(recorded);
  scratch_free(warmup);
  scratch_free(is_calibration);
  scratch_free(costs);
  step_lookup_free(&lookup);
  return status;
}

const struct derive_pass derive_step_marks = {
    .name = "kinds of steps",
    .summary = "Which steps have their ops, for how many each speaks, and which are warm-up.",
    .makes_table = -1,
    .reads = {{TABLE_steps, COLUMN_steps_start_ns},
              {TABLE_steps, COLUMN_steps_dur_ns},
              {TABLE_steps, COLUMN_steps_end_ns},
              {TABLE_steps, COLUMN_steps_thread_id},
              {TABLE_ops, COLUMN_ops_start_ns},
              WINDOW_STEPS_READ,
              WINDOW_STOPS_READ,
              {TABLE_compilations, COLUMN_compilations_start_ns},
              {TABLE_compilations, COLUMN_compilations_end_ns},
              {TABLE_session_records, COLUMN_session_records_start_ns},
              {TABLE_session_records, COLUMN_session_records_left_out},
              RECORDING_COST_READ},
    .writes = {{TABLE_steps, COLUMN_steps_is_warmup},
               {TABLE_steps, COLUMN_steps_ops_recorded},
               {TABLE_steps, COLUMN_steps_sample_weight},
               {TABLE_steps, COLUMN_steps_recording_ns},
               {TABLE_steps, COLUMN_steps_net_ns}},
    .run = run_step_marks,
    .is_alone = true,
};
