/* step_weights.c: see step_weights.h.
**
** From the moment on when the recorder says that it records one step in K, each K steps are a block, and of each block
** one step is recorded, at a place that was drawn (capture/library/governor/sampling_levels.h): it speaks for all of
** them.  Where more were recorded, as in a window of the program's own profiler, they share the block.  A block without
** any, as the last one may be that was not finished, is added to the one before it, or to the one after.  Warm-up steps
** speak for themselves and count for no other.
**
** Durations.  How long a step took is known of all of them, and longer steps mostly do more.  So where the recorded
** steps, as they were drawn, took more or less time in all than those that they speak for, the weights are calibrated
** (the generalised regression estimator): a weight w becomes w * (1 + lambda * (d - mean of d)), with lambda such that
** the recorded steps speak for all the time.  Their number is spoken for as before, so what is the same in every step
** stays exact.  A step counts as no longer than the longest recorded one: how what is longer goes on is not known
** (_sampled_steps).  Of a recorded step d is without what recording its ops took (steps.recording_ns); as that is an
** estimate, which may be off by COST_ERROR, weights stay as they are where durations vary or miss by less than it would
** leave in doubt.
*/
#include "derive/steps/step_weights.h"

#include <math.h>

#define COST_ERROR 0.25 /* as in sql/views/helpers/_sampled_steps.sql */
#define MOST_COST 0.5   /* of the time without it: beyond that the cost is not to be believed */
#define LEAST_PART 0.1  /* of its weight that a step keeps */
enum { FEWEST_DRAWN = 3, FEWEST_RECORDED = 5 };

struct block {
  double steps, recorded;
};

struct blocks {
  struct block *items;
  uint32_t *of; /* by step; NO_ROW: it is spoken for by none */
  uint32_t count;
};

/* How many steps of the block that is going on when the last part of a recording begins (sampling_kept_from) ended
** before the first that is there: blocks begin at multiples of K. */
static double used_before(const struct sampling *sampling, int64_t period, double size) {
  const struct sampling_changes *before = &sampling->before;
  if (period != 0 || size <= 1 || !before->count || before->times[0] != sampling->interval.times[0]) return 0;
  return fmod(before->values[0] + 1, size);
}

static enum tfprof_status cut_blocks(struct blocks *blocks, const struct step_facts *steps,
                                     const struct sampling *sampling, struct tfprof_error *error) {
  int64_t period = INT64_MIN; /* of one K, as sampling_interval_at numbers them */
  double size = 0, used = 0;
  bool is_open = false; /* the block has a step */
  blocks->items = scratch_allocate_zeroed((size_t)steps->count + 1, sizeof *blocks->items);
  blocks->of = scratch_allocate((steps->count + (size_t)1) * sizeof *blocks->of);
  if (!blocks->items || !blocks->of) return error_no_memory(error);
  for (uint32_t i = 0; i < steps->count; i++) {
    uint32_t step = steps->order[i];
    int64_t its_period = sampling_interval_at(sampling, steps->starts[step]);
    bool is_new = its_period != period || used >= size;
    if (is_new) {
      size = its_period < 0 ? 0 : sampling->interval.values[its_period];
      used = its_period == period ? 0 : used_before(sampling, its_period, size);
      period = its_period;
      is_open = false;
    }
    used++;
    blocks->of[step] = NO_ROW;
    if (size <= 0 || steps->warmup[step]) continue;
    if (!is_open) blocks->count++;
    is_open = true;
    struct block *block = &blocks->items[blocks->count - 1];
    blocks->of[step] = blocks->count - 1;
    block->steps++;
    block->recorded += steps->recorded[step] == 1;
  }
  return TFPROF_OK;
}

/* Whether any step speaks for others. */
static bool share_blocks(struct blocks *blocks) {
  struct block *last = NULL; /* with recorded steps */
  double before = 0;         /* steps that come before the first of those */
  for (uint32_t i = 0; i < blocks->count; i++) {
    struct block *block = &blocks->items[i];
    if (block->recorded > 0) {
      block->steps += before;
      before = 0;
      last = block;
    } else if (last) {
      last->steps += block->steps;
    } else {
      before += block->steps;
    }
  }
  return last != NULL;
}

/* ---- Durations. */

struct calibration {
  uint32_t recorded, drawn; /* steps that speak for any; for more than themselves */
  double weight, mean, squares, costs, longest;
  double time, variance; /* of all steps that are spoken for; of the estimate of it */
};

static double duration_of(const struct step_facts *steps, uint32_t i) {
  double cost = steps->recorded[i] == 1 && steps->costs[i] != NO_VALUE ? (double)steps->costs[i] : 0;
  return (double)steps->ends[i] - (double)steps->starts[i] - cost;
}

static bool is_spoken_for(const struct step_facts *steps, const double *weights, uint32_t i) {
  return !isnan(weights[i]) && !steps->warmup[i] && steps->starts[i] != NO_VALUE && steps->ends[i] != NO_VALUE;
}

static void measure_calibration(struct calibration *found, const struct step_facts *steps, const double *weights) {
  double drawn_weight = 0;
  for (uint32_t i = 0; i < steps->count; i++) {
    if (!is_spoken_for(steps, weights, i) || weights[i] <= 0) continue;
    double duration = duration_of(steps, i);
    found->recorded++;
    found->drawn += weights[i] > 1;
    if (found->recorded == 1 || duration > found->longest) found->longest = duration;
    found->weight += weights[i];
    found->mean += weights[i] * duration;
    found->costs += weights[i] * (double)(steps->costs[i] == NO_VALUE ? 0 : steps->costs[i]);
    drawn_weight += weights[i] * (weights[i] - 1);
  }
  if (found->weight > 0) found->mean /= found->weight;
  for (uint32_t i = 0; i < steps->count; i++) {
    if (!is_spoken_for(steps, weights, i)) continue;
    double duration = duration_of(steps, i), away = duration - found->mean;
    found->time += duration < found->longest ? duration : found->longest;
    if (weights[i] > 0) found->squares += weights[i] * away * away;
  }
  if (found->recorded > 1)
    found->variance = found->squares / found->weight * found->recorded / (found->recorded - 1) * drawn_weight;
}

static void calibrate(const struct step_facts *steps, const struct sampling *sampling, double *weights) {
  struct calibration found = {.recorded = 0};
  if (!sampling->cost.count) return;
  measure_calibration(&found, steps, weights);
  double missing = found.time - found.weight * found.mean, doubt = COST_ERROR * found.costs;
  if (found.costs > MOST_COST * found.weight * found.mean) return;
  bool is_worth_it = fabs(missing) > 2 * doubt || sqrt(found.variance) > 2 * doubt;
  if (found.drawn < FEWEST_DRAWN || found.recorded < FEWEST_RECORDED || !(found.squares > 0) || !is_worth_it) return;
  double lambda = missing / found.squares, least = 1;
  for (int pass = 0; pass < 2 && least >= LEAST_PART; pass++) {
    for (uint32_t i = 0; i < steps->count; i++) {
      if (!is_spoken_for(steps, weights, i) || weights[i] <= 0) continue;
      double part = 1 + lambda * (duration_of(steps, i) - found.mean);
      if (pass) weights[i] *= part;
      else if (part < least) least = part;
    }
  }
}

enum tfprof_status step_weights_find(const struct step_facts *steps, const struct sampling *sampling, double *weights,
                                     struct tfprof_error *error) {
  struct blocks blocks = {.count = 0};
  enum tfprof_status status = cut_blocks(&blocks, steps, sampling, error);
  bool is_any = !status && share_blocks(&blocks);
  for (uint32_t i = 0; i < steps->count && !status; i++) {
    const struct block *block = blocks.of[i] == NO_ROW ? NULL : &blocks.items[blocks.of[i]];
    if (!steps->recorded[i]) weights[i] = block && is_any ? 0 : NAN;
    else weights[i] = block ? block->steps / block->recorded : 1;
  }
  if (!status) calibrate(steps, sampling, weights);
  scratch_free(blocks.items);
  scratch_free(blocks.of);
  return status;
}
