/* sampling_plan.c: see sampling_plan.h. */
#include "sampling_plan.h"

#include "step_marks.h"

#include <stdlib.h>
#include <string.h>

#define SHARE 0.4
#define LEAST_SHARE 0.25
/* That there is a callback for ranges makes PyTorch take longer for each op of a backward pass: measured 36
** microseconds in a step of 3,300 ops, one part in so many of what recording those takes. The marks of a step come on
** top. */
#define RANGES_PART 40
#define MARKS_NS 4000

void sampling_plan_begin(struct sampling_plan *plan, const struct sampling_options *options, double op_ns,
                         double memory_ns, uint64_t seed) {
  *plan = (struct sampling_plan){.options = *options, .op_ns = op_ns, .memory_ns = memory_ns, .size_factor = 1};
  plan->interval = 1;
  plan->must_review = true;
  plan->random = seed;
}

/* ---- What steps cost. */

static int by_value(const void *left, const void *right) {
  const double *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

static void keep(struct kept_values *kept, double value) { kept->values[kept->count++ % KEPT_STEPS] = value; }

static double quantile_of(const double *given, unsigned count, double share) {
  double values[KEPT_STEPS];
  if (!count) return 0;
  memcpy(values, given, count * sizeof *values);
  qsort(values, count, sizeof *values, by_value);
  return values[(unsigned)((count - 1) * share)];
}

static double quantile(const struct kept_values *kept, double share) {
  return quantile_of(kept->values, kept->count < KEPT_STEPS ? kept->count : KEPT_STEPS, share);
}

/* The time of a step with ops, compared with those before it. */
static void keep_difference(struct sampling_plan *plan, double thread_ns) {
  unsigned count = plan->neighbour_count < NEIGHBOURS ? plan->neighbour_count : NEIGHBOURS;
  if (count < FEWEST_NEIGHBOURS) return;
  keep(&plan->differences, thread_ns - quantile_of(plan->neighbours, count, 0.5));
}

void sampling_plan_add(struct sampling_plan *plan, uint64_t number, const struct step_seen *seen) {
  if (number < WARMUP_STEPS) return;
  if (seen->has_all_ops) {
    plan->recorded++;
    keep(&plan->wall_with, (double)seen->wall_ns);
    keep(&plan->ops, (double)seen->ops);
    keep(&plan->thread_ops, (double)seen->thread_ops);
    if (seen->thread_ns >= 0) keep_difference(plan, (double)seen->thread_ns);
    /* While every step has its ops nothing tells what one without takes now: the job may be another one since. */
    if (++plan->recorded_in_a_row == KEPT_STEPS)
      plan->wall_without.count = plan->differences.count = plan->neighbour_count = 0;
  } else if (seen->has_no_ops) {
    plan->recorded_in_a_row = 0;
    keep(&plan->wall_without, (double)seen->wall_ns);
    if (seen->thread_ns >= 0) plan->neighbours[plan->neighbour_count++ % NEIGHBOURS] = (double)seen->thread_ns;
  }
  keep(&plan->memory, (double)seen->memory_events);
}

static bool has_times(const struct sampling_plan *plan) { return plan->wall_without.count >= FEWEST_WITHOUT_OPS; }
static bool has_differences(const struct sampling_plan *plan) { return plan->differences.count >= FEWEST_DIFFERENCES; }

static void measure(struct sampling_plan *plan) {
  double ops = quantile(&plan->ops, 0.5), own = quantile(&plan->thread_ops, 0.5);
  double modelled = ops * plan->op_ns, cost = modelled;
  if (has_differences(plan) && own * 2 >= ops && ops > 0) {
    cost = quantile(&plan->differences, 0.5) * ops / own;
    if (cost < modelled / 2) cost = modelled / 2;
    if (cost > modelled * 2) cost = modelled * 2;
  }
  plan->cost_ns = cost;
  if (has_times(plan)) {
    plan->step_ns = quantile(&plan->wall_without, 0.25);
  } else {
    double with_ops = quantile(&plan->wall_with, 0.25);
    plan->step_ns = with_ops > 2 * cost ? with_ops - cost : with_ops / 2;
  }
  plan->always_ns = MARKS_NS + modelled / RANGES_PART + quantile(&plan->memory, 0.5) * plan->memory_ns;
}

/* ---- K. */

void sampling_plan_note_bytes(struct sampling_plan *plan, uint64_t bytes) {
  uint64_t limit = plan->options.max_bytes;
  if (!limit || bytes < limit / 2) return;
  unsigned factor = bytes >= limit - limit / 10 ? 8 : bytes >= limit - limit / 4 ? 4 : 2;
  if (factor != plan->size_factor) {
    plan->size_factor = factor;
    plan->must_review = true;
  }
  if (bytes >= limit) plan->is_full = true;
}

void sampling_plan_forget(struct sampling_plan *plan) {
  plan->interval = 1;
  plan->must_review = true;
}

static double wanted_interval(const struct sampling_plan *plan) {
  if (plan->options.mode == OPS_ALL) return 1;
  double allowed = plan->options.overhead * plan->step_ns, rest = (allowed - plan->always_ns) * SHARE;
  if (rest < allowed * LEAST_SHARE) rest = allowed * LEAST_SHARE;
  return rest > 0 ? plan->cost_ns / rest : INTERVAL_MAXIMUM;
}

void sampling_plan_review(struct sampling_plan *plan, uint64_t steps) {
  bool knows_more = (!plan->is_timed && has_times(plan)) || (!plan->is_measured && has_differences(plan));
  if (!plan->must_review && !knows_more && steps - plan->reviewed < REVIEW_STEPS) return;
  plan->is_timed = has_times(plan);
  plan->is_measured = has_differences(plan);
  plan->must_review = false;
  plan->reviewed = steps;
  measure(plan);
  double wanted = wanted_interval(plan) * plan->size_factor;
  if (wanted > INTERVAL_MAXIMUM) wanted = INTERVAL_MAXIMUM;
  uint32_t interval = wanted > 1 ? (uint32_t)(wanted + 0.999) : 1;
  double change = (double)interval / plan->interval;
  if (plan->interval > 1 && change > 0.75 && change < 1.25) return;
  plan->interval = interval;
}

bool sampling_plan_wants_ops(struct sampling_plan *plan, uint64_t step, uint32_t *interval) {
  const struct sampling_options *options = &plan->options;
  *interval = 0;
  if (options->mode == OPS_NONE) return false;
  if (options->last_step >= 0) {
    bool is_inside = (int64_t)step >= options->first_step && (int64_t)step <= options->last_step && !plan->is_full;
    *interval = is_inside;
    return is_inside;
  }
  if (plan->is_full) return false; /* those of before do not speak for what is to come */
  *interval = plan->interval;
  if (plan->interval <= 1) return true;
  if (step >= plan->block_end || plan->interval != plan->drawn_interval) {
    plan->random = plan->random * 6364136223846793005u + 1442695040888963407u;
    plan->block_end = step + plan->interval;
    plan->next_step = step + (plan->random >> 33) % plan->interval;
    plan->drawn_interval = plan->interval;
  }
  return step == plan->next_step;
}
