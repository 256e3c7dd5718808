/* sampling_plan.c: see sampling_plan.h. */
#include "sampling_plan.h"

#include "step_marks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define USED_SHARE 0.6
#define LEAST_SHARE 0.25
#define SAVED_NS 10e9
/* What the marks of a step take. */
#define MARKS_NS 4000
/* The error of what the sources tell, as a share of it; and of the median of differences at least. */
#define TOLD_ERROR 0.3
#define LEAST_ERROR 0.03
/* A level is kept until it spends so much more than comes in, or one lower spent so much less. */
#define OVERSPENT 1.07
#define UNDERSPENT 0.84

void sampling_plan_begin(struct sampling_plan *plan, const struct sampling_options *options) {
  *plan = (struct sampling_plan){.options = *options, .scale = 1};
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
  unsigned place = (unsigned)((count - 1) * share), next = place + 1 < count ? place + 1 : place;
  return values[place] + ((count - 1) * share - place) * (values[next] - values[place]);
}

static double quantile(const struct kept_values *kept, double share) {
  return quantile_of(kept->values, kept->count < KEPT_STEPS ? kept->count : KEPT_STEPS, share);
}

static double usual_neighbour(const struct sampling_plan *plan) {
  return quantile_of(plan->neighbours, plan->neighbour_count < NEIGHBOURS ? plan->neighbour_count : NEIGHBOURS, 0.5);
}

/* The time of a step with ops, compared with those before it; the first ones wait for those after them. */
static void keep_difference(struct sampling_plan *plan, double thread_ns) {
  if (plan->neighbour_count >= FEWEST_NEIGHBOURS) keep(&plan->differences, thread_ns - usual_neighbour(plan));
  else if (!plan->differences.count) plan->early[plan->early_count++ % NEIGHBOURS] = thread_ns;
}

static void keep_neighbour(struct sampling_plan *plan, double thread_ns) {
  plan->neighbours[plan->neighbour_count++ % NEIGHBOURS] = thread_ns;
  if (plan->neighbour_count != FEWEST_NEIGHBOURS) return;
  unsigned count = plan->early_count < NEIGHBOURS ? plan->early_count : NEIGHBOURS;
  for (unsigned i = 0; i < count; i++) keep(&plan->differences, plan->early[i] - usual_neighbour(plan));
  plan->early_count = 0;
}

/* The median of the differences; *variance: the square of how far off it may be. */
static double usual_difference(const struct sampling_plan *plan, double *variance) {
  struct kept_values apart = {.count = 0};
  unsigned count = plan->differences.count < KEPT_STEPS ? plan->differences.count : KEPT_STEPS;
  double usual = quantile(&plan->differences, 0.5);
  for (unsigned i = 0; i < count; i++) keep(&apart, fabs(plan->differences.values[i] - usual));
  /* For values that lie as chance has it: the standard deviation is 1.48 times the median of how far they lie from
  ** theirs, and the error of a median 1.25 times that by the root of their number. */
  double deviation = 1.25 * 1.48 * quantile(&apart, 0.5);
  *variance = deviation * deviation / count;
  return usual;
}

/* What the thread's own records cost, of which the sources tell so much. */
static double weighed_cost(const struct sampling_plan *plan, double told) {
  double variance, measured = usual_difference(plan, &variance), least = LEAST_ERROR * told;
  if (variance < least * least) variance = least * least;
  double of_told = 1 / (TOLD_ERROR * TOLD_ERROR * told * told), of_measured = 1 / variance;
  double cost = (told * of_told + measured * of_measured) / (of_told + of_measured);
  return cost < told / 2 ? told / 2 : cost > told * 2 ? told * 2 : cost;
}

/* What is left for ops of a step of that length. */
static double income(const struct sampling_plan *plan, double wall_ns, double always_ns) {
  double allowed = plan->options.overhead * wall_ns, rest = allowed - always_ns;
  return rest < allowed * LEAST_SHARE ? allowed * LEAST_SHARE : rest;
}

void sampling_plan_start(struct sampling_plan *plan, double process_ns, double full_ns) {
  plan->account_ns += income(plan, process_ns < SAVED_NS ? process_ns : SAVED_NS, 0) - full_ns / USED_SHARE;
}

void sampling_plan_note_writer(struct sampling_plan *plan, double share, double record_ns) {
  plan->writer_share = share;
  plan->writer_record_ns = record_ns;
}

/* What is recorded in any step of that length, of which the sources tell so much. */
static double always(const struct sampling_plan *plan, double told_ns, double wall_ns) {
  return MARKS_NS + told_ns + wall_ns * plan->writer_share;
}

/* Ops that somebody else asked for are not paid for. */
static void book(struct sampling_plan *plan, const struct step_seen *seen) {
  double wall = (double)seen->wall_ns, usual = 2 * plan->step_ns;
  if (usual > 0 && wall > usual) wall = usual;
  double always_ns = always(plan, seen->always_ns, wall);
  if (plan->always_ns > always_ns) always_ns = plan->always_ns;
  plan->account_ns += income(plan, wall, always_ns);
  if (plan->account_ns > plan->options.overhead * SAVED_NS) plan->account_ns = plan->options.overhead * SAVED_NS;
  double full_ns = seen->full_ns * plan->scale + (double)seen->records * plan->writer_record_ns;
  if (plan->is_wanted) plan->account_ns -= full_ns / USED_SHARE;
}

void sampling_plan_add(struct sampling_plan *plan, uint64_t number, const struct step_seen *seen) {
  book(plan, seen);
  if (number < WARMUP_STEPS) return;
  if (seen->has_all_ops) {
    plan->recorded++;
    keep(&plan->wall_with, (double)seen->wall_ns);
    keep(&plan->full, seen->full_ns);
    keep(&plan->thread_full, seen->thread_full_ns);
    keep(&plan->records, (double)seen->records);
    keep(&plan->records_ns, seen->records_ns);
    if (seen->thread_ns >= 0) keep_difference(plan, (double)seen->thread_ns);
    /* While every step has its ops nothing tells what one without takes now: the job may be another one since. */
    if (++plan->recorded_in_a_row == KEPT_STEPS)
      plan->wall_without.count = plan->differences.count = plan->neighbour_count = plan->early_count = 0;
  } else if (seen->has_no_ops) {
    plan->recorded_in_a_row = 0;
    keep(&plan->wall_without, (double)seen->wall_ns);
    if (seen->thread_ns >= 0) keep_neighbour(plan, (double)seen->thread_ns);
  }
  keep(&plan->always, seen->always_ns);
}

static bool has_times(const struct sampling_plan *plan) { return plan->wall_without.count >= FEWEST_WITHOUT_OPS; }
static bool has_differences(const struct sampling_plan *plan) { return plan->differences.count >= FEWEST_DIFFERENCES; }

static void measure(struct sampling_plan *plan) {
  double told = quantile(&plan->full, 0.5), own = quantile(&plan->thread_full, 0.5), cost = told;
  double records = quantile(&plan->records, 0.5);
  if (has_differences(plan) && own * 2 >= told && told > 0) cost = weighed_cost(plan, own) * (told / own);
  plan->scale = told > 0 ? cost / told : 1;
  plan->record_ns = records > 0 ? quantile(&plan->records_ns, 0.5) * plan->scale / records : 0;
  cost += records * plan->writer_record_ns;
  plan->cost_ns = cost;
  if (has_times(plan)) {
    plan->step_ns = quantile(&plan->wall_without, 0.25);
  } else {
    double with_ops = quantile(&plan->wall_with, 0.25);
    plan->step_ns = with_ops > 2 * cost ? with_ops - cost : with_ops / 2;
  }
  plan->always_ns = always(plan, quantile(&plan->always, 0.5), plan->step_ns) + told * plan->options.off_share;
}

/* ---- The level. */

void sampling_plan_note_bytes(struct sampling_plan *plan, uint64_t bytes) {
  uint64_t limit = plan->options.max_bytes;
  if (!limit || bytes < limit / 2) return;
  unsigned levels = bytes >= limit - limit / 10 ? 3 : bytes >= limit - limit / 4 ? 2 : 1;
  if (levels != plan->size_levels) {
    plan->size_levels = levels;
    plan->must_review = true;
  }
  if (bytes >= limit) plan->is_full = true;
}

void sampling_plan_note_rate(struct sampling_plan *plan, unsigned levels) {
  if (levels == plan->rate_levels) return;
  plan->rate_levels = levels;
  plan->must_review = true;
}

void sampling_plan_wait(struct sampling_plan *plan) {
  plan->affordable = plan->wanted = 0;
  plan->must_review = plan->is_learning = true;
}

void sampling_plan_forget(struct sampling_plan *plan) {
  sampling_plan_wait(plan);
  plan->block_end = plan->block_begin; /* that block ends here */
}

/* The level that the steps pay for. */
static unsigned affordable_level(const struct sampling_plan *plan, uint64_t steps) {
  if (plan->options.mode == OPS_ALL) return 0;
  double comes_in = income(plan, plan->step_ns, plan->always_ns), costs = plan->cost_ns / USED_SHARE;
  double a_step = comes_in + plan->account_ns / (2.0 * (double)(steps ? steps : 1));
  if (a_step < comes_in / 2) a_step = comes_in / 2; /* what is overdrawn is paid back by and by */
  unsigned level = 0;
  for (; level < LEVEL_MAXIMUM && costs > a_step; level++) {
    if (level == plan->affordable && costs <= a_step * OVERSPENT) break;
    costs /= 2;
  }
  return level + 1 == plan->affordable && costs > a_step * UNDERSPENT ? plan->affordable : level;
}

static bool is_time_to_review(uint64_t next) {
  uint64_t every = 8;
  while (every < REVIEW_STEPS && every * 8 < next) every *= 2;
  return next % every == 0;
}

bool sampling_plan_review(struct sampling_plan *plan, uint64_t steps) {
  if (!plan->must_review && !is_time_to_review(steps + 1)) return false;
  plan->must_review = plan->is_learning = false;
  measure(plan);
  plan->affordable = affordable_level(plan, steps);
  plan->wanted = plan->affordable + plan->size_levels + plan->rate_levels;
  return true;
}

static void begin_block(struct sampling_plan *plan, uint64_t step, unsigned level) {
  unsigned highest = sampling_block_level(step);
  plan->level = level < highest ? level : highest;
  plan->block_begin = step;
  plan->block_end = step + (1u << plan->level);
}

bool sampling_plan_begins_block(const struct sampling_plan *plan, uint64_t step) {
  const struct sampling_options *options = &plan->options;
  if (options->mode == OPS_NONE || options->last_step >= 0 || plan->is_full) return false;
  return step >= plan->block_end || step < plan->block_begin;
}

bool sampling_plan_wants_ops(struct sampling_plan *plan, uint64_t step, unsigned level, uint32_t *interval) {
  const struct sampling_options *options = &plan->options;
  *interval = 0;
  plan->is_wanted = false;
  if (options->mode == OPS_NONE) return false;
  if (options->last_step >= 0) {
    bool is_inside = (int64_t)step >= options->first_step && (int64_t)step <= options->last_step && !plan->is_full;
    *interval = is_inside;
    return plan->is_wanted = is_inside;
  }
  if (plan->is_full) return false; /* those of before do not speak for what is to come */
  if (sampling_plan_begins_block(plan, step)) begin_block(plan, step, level);
  *interval = 1u << plan->level;
  return plan->is_wanted = sampling_level_of(options->seed, step) >= plan->level;
}
