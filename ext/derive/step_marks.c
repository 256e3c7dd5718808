/* step_marks.c: steps.ops_recorded, steps.is_warmup and steps.sample_weight, for steps of any origin.
**
** ops_recorded.  A recording may leave the ops of most steps out and keep only the ranges that mark steps.  Where the
** recorder says when it recorded ops (sampling.h), the ops of a step were recorded when they were so from its start to
** its end; elsewhere when at least one op of another category than `user` began in it.  NULL in a profile without ops.
**
** sample_weight.  Within a period of one interval, each step whose ops were recorded speaks for as many steps as there
** are for each such step: the weights of the period add up to its steps (a stratified sample).  A period without a
** recorded step is added to the one before it, or to the one after.  Warm-up steps speak for themselves and count for
** no other.  0: others speak for the step; NULL: none does.
**
** is_warmup.  A recording of our own begins with the program, so its first steps allocate memory, choose algorithms
** and fill caches.  The first three are warm-up; but never more than half of all steps, nor more than half of those
** whose ops were recorded, so that a short run is not left without statistics: of 5 steps 2 are, of a single one
** none.  A trace that another profiler took is a window that its user chose after a warm-up: none of its steps is
** left out.
*/
#include "derive/passes.h"
#include "derive/sampling.h"
#include "derive/step_lookup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WARMUP_STEPS = 3, FEW = 128 };

static enum tfprof_status find_recorded(struct profile *profile, struct step_lookup *lookup, int64_t *recorded,
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
          (only == NO_ROW || recorded[only])) {
        continue; /* nothing new here, which is so most of the time */
      }
      derive_texts(segment->columns[COLUMN_ops_category], first, count, categories);
      for (uint32_t i = 0; i < count; i++) {
        if (categories[i] == user || starts[i] == NO_VALUE) continue;
        uint32_t step = step_lookup_find(lookup, starts[i]);
        if (step != NO_ROW) recorded[step] = 1;
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

static int by_start(const void *left, const void *right) {
  const struct step_start *a = left, *b = right;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->step < b->step ? -1 : a->step > b->step;
}

/* How many of the first steps in `order` are warm-up. */
static uint32_t count_warmup(const struct step_start *order, uint32_t count, const int64_t *recorded) {
  uint32_t all_recorded = 0, warmup = 0, warmup_recorded = 0;
  for (uint32_t i = 0; i < count; i++) all_recorded += recorded[i] == 1;
  while (warmup < WARMUP_STEPS && warmup < count / 2) {
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

struct period { /* of one interval */
  double steps, recorded;
  bool is_spoken_for;
};

/* The place in `periods` of what a step belongs to: 0 before the first change. */
static uint32_t period_of(const struct sampling *sampling, int64_t start) {
  return (uint32_t)(sampling_interval_at(sampling, start) + 1);
}

static enum tfprof_status find_weights(const struct sampling *sampling, const int64_t *starts, const int64_t *recorded,
                                       const int64_t *warmup, uint32_t count, double *weights,
                                       struct tfprof_error *error) {
  uint32_t period_count = sampling->interval.count + 1;
  struct period *periods = scratch_allocate_zeroed(period_count, sizeof *periods);
  if (!periods) return error_no_memory(error);
  for (uint32_t i = 1; i < period_count; i++) periods[i].is_spoken_for = sampling->interval.values[i - 1] > 0;
  for (uint32_t i = 0; i < count; i++) {
    struct period *period = &periods[period_of(sampling, starts[i])];
    period->steps += !warmup[i];
    period->recorded += !warmup[i] && recorded[i];
  }
  struct period *last = NULL; /* the last one with recorded steps */
  double before = 0;          /* steps that come before the first of those */
  for (uint32_t i = 0; i < period_count; i++) {
    struct period *period = &periods[i];
    if (!period->is_spoken_for) continue;
    if (period->recorded > 0) {
      period->steps += before;
      before = 0;
      last = period;
    } else if (last) {
      last->steps += period->steps;
    } else {
      before += period->steps;
    }
  }
  for (uint32_t i = 0; i < count; i++) {
    const struct period *period = &periods[period_of(sampling, starts[i])];
    if (!recorded[i]) weights[i] = period->is_spoken_for && !warmup[i] && last ? 0 : NAN;
    else weights[i] = warmup[i] || !period->is_spoken_for ? 1 : period->steps / period->recorded;
  }
  scratch_free(periods);
  return TFPROF_OK;
}

/* NAN becomes NULL. */
static enum tfprof_status set_weights(struct profile *profile, const double *weights, struct tfprof_error *error) {
  const struct profile_table *steps = &profile->tables[TABLE_steps];
  for (size_t s = 0; s < steps->segment_count; s++) {
    struct segment *segment = steps->segments[s];
    const double *values = weights + segment->first_row;
    uint64_t *nulls = scratch_allocate_zeroed(segment->rows / 64 + 1, sizeof *nulls);
    struct column *column = NULL;
    for (uint32_t i = 0; nulls && i < segment->rows; i++) {
      if (isnan(values[i])) nulls[i / 64] |= 1ull << i % 64;
    }
    if (nulls) column = column_from_reals(values, nulls, segment->rows);
    scratch_free(nulls);
    if (segment_set_column(segment, COLUMN_steps_sample_weight, column)) return error_no_memory(error);
  }
  return TFPROF_OK;
}

static enum tfprof_status run(struct profile *profile, struct tfprof_error *error) {
  struct step_lookup lookup;
  struct step_start *order = NULL;
  struct sampling sampling = {.recorded = {.count = 0}};
  int64_t *starts = NULL, *ends = NULL, *recorded = NULL, *warmup = NULL;
  double *weights = NULL;
  uint32_t count;
  enum tfprof_status status = derive_row_count(profile, TABLE_steps, &count, error);
  if (status || count == 0) return status;
  status = step_lookup_of_profile(&lookup, profile, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_start_ns, &starts, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_end_ns, &ends, error);
  if (!status) status = sampling_load(&sampling, profile, error);
  if (!status) {
    weights = scratch_allocate_zeroed(count, sizeof *weights);
    recorded = scratch_allocate_zeroed(count, sizeof *recorded);
    warmup = scratch_allocate_zeroed(count, sizeof *warmup);
    order = scratch_allocate(count * sizeof *order);
    if (!recorded || !warmup || !order || !weights) status = error_no_memory(error);
  }
  if (!status && sampling.recorded.count) find_covered(&sampling, starts, ends, count, recorded);
  else if (!status) status = find_recorded(profile, &lookup, recorded, error);
  if (!status) {
    for (uint32_t i = 0; i < count; i++) order[i] = (struct step_start){starts[i], i};
    qsort(order, count, sizeof *order, by_start);
    bool is_from_beginning = strcmp(profile->source->format, "tfprof") == 0;
    uint32_t left_out = is_from_beginning ? count_warmup(order, count, recorded) : 0;
    for (uint32_t i = 0; i < left_out; i++) warmup[order[i].step] = 1;
    if (profile->tables[TABLE_ops].segment_count) {
      status = derive_set_integers(profile, TABLE_steps, COLUMN_steps_ops_recorded, recorded, error);
    }
    if (!status) status = derive_set_integers(profile, TABLE_steps, COLUMN_steps_is_warmup, warmup, error);
    if (!status) status = find_weights(&sampling, starts, recorded, warmup, count, weights, error);
    if (!status) status = set_weights(profile, weights, error);
  }
  sampling_free(&sampling);
  scratch_free(order);
  scratch_free(starts);
  scratch_free(ends);
  scratch_free(weights);
  scratch_free(recorded);
  scratch_free(warmup);
  step_lookup_free(&lookup);
  return status;
}

const struct derive_pass derive_step_marks = {
    .name = "kinds of steps",
    .summary = "Which steps have their ops, for how many each speaks, and which are warm-up, the first three at most.",
    .makes_table = -1,
    .reads = {{TABLE_steps, COLUMN_steps_start_ns},
              {TABLE_steps, COLUMN_steps_end_ns},
              {TABLE_ops, COLUMN_ops_category},
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_counters, COLUMN_counters_name},
              {TABLE_counters, COLUMN_counters_time_ns},
              {TABLE_counters, COLUMN_counters_value}},
    .writes = {{TABLE_steps, COLUMN_steps_is_warmup},
               {TABLE_steps, COLUMN_steps_ops_recorded},
               {TABLE_steps, COLUMN_steps_sample_weight}},
    .run = run,
    .is_alone = true,
};
