/* window_plan.c: see window_plan.h. */
#include "window_plan.h"

#include "governor/sampling_levels.h"

#include <stdlib.h>
#include <string.h>

#define ACCOUNT_SHARE 0.75
#define MARKS_NS 1500.0 /* what a step takes without any window: its mark, here and on the writer thread; */
#define LEAST_SHARE 0.25 /* of what the account gets of it where that is dear */
#define SAVED_NS 10e9
#define SAVED_WINDOWS 8 /* and no more than so many windows cost */
#define SPACING_PART 128
#define ASSUMED_EXTRA 0.2 /* of a step, until windows tell */
#define PROGRAMS_PART 3   /* a first window with the programs costs so many times as much as others */
#define RETRY_NS 100e6    /* after a failure; twice as long after the next one ... */
enum { FEWEST_WINDOWS = 3, FEWEST_PLAIN = 8, MOST_RETRIES = 8, MEDIAN_EVERY = 8 };

void window_plan_begin(struct window_plan *plan) { *plan = (struct window_plan){.is_open = false}; }

static int by_size_of_value(const void *left, const void *right) {
  const double *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

static void keep_value(struct window_values *kept, double value, unsigned room) {
  kept->values[kept->count++ % room] = value;
}

static double median(const struct window_values *kept, unsigned room) {
  double values[PLAIN_STEPS];
  unsigned count = kept->count < room ? kept->count : room;
  if (!count) return 0;
  memcpy(values, kept->values, count * sizeof *values);
  qsort(values, count, sizeof *values, by_size_of_value);
  return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Sorting them at each step would take longer than all else that is done there. */
static void keep_plain(struct window_plan *plan, double value) {
  keep_value(&plan->plain, value, PLAIN_STEPS);
  if (plan->plain.count < PLAIN_STEPS || plan->plain.count % MEDIAN_EVERY == 0)
    plan->usual_plain_ns = median(&plan->plain, PLAIN_STEPS);
}

/* ---- The account. */

static void begin_account(struct window_plan *plan, const struct window_step *step, double age_ns) {
  double saved = age_ns < SAVED_NS ? age_ns : SAVED_NS;
  plan->has_begun = true;
  plan->began_ns = step->now_ns;
  plan->first_steps = step->steps;
  plan->account_ns = saved * ACCOUNT_SHARE * step->overhead;
}

/* The first steps compile: until there are some others those in windows tell. */
static bool has_plain(const struct window_plan *plan) { return plan->plain.count >= FEWEST_PLAIN; }

static double usual_step(const struct window_plan *plan) {
  if (has_plain(plan) && plan->usual_plain_ns > 0) return plan->usual_plain_ns;
  double within = median(&plan->in_window, CHOSEN_STEPS);
  return within > 0 ? within : plan->usual_plain_ns;
}

static double share_of_step(const struct window_plan *plan) {
  if (plan->extras.count < FEWEST_WINDOWS) return ASSUMED_EXTRA;
  double extra = median(&plan->extras, KEPT_WINDOWS);
  return extra < 0 ? 0 : extra > 1 ? 1 : extra;
}

/* What a step of that length brings in. */
static double income(double overhead, double took_ns) {
  double allowed = took_ns * overhead, share = allowed * ACCOUNT_SHARE, rest = allowed - MARKS_NS;
  return rest > share ? share : rest > share * LEAST_SHARE ? rest : share * LEAST_SHARE;
}

static void take_in(struct window_plan *plan, const struct window_step *step, double took_ns) {
  double usual = usual_step(plan), counted = usual > 0 && took_ns > 2 * usual ? 2 * usual : took_ns;
  double most = SAVED_NS * ACCOUNT_SHARE * step->overhead, usual_windows = SAVED_WINDOWS * plan->usual_cost_ns;
  if (plan->has_had_one && !plan->is_open && usual_windows < most) most = usual_windows;
  plan->account_ns += income(step->overhead, counted);
  if (plan->account_ns > most) plan->account_ns = most;
}

/* ---- When. */

static unsigned steps_of_window(const struct window_plan *plan, bool is_chosen) {
  double most = is_chosen ? CHOSEN_STEPS : WINDOW_STEPS, usual = usual_step(plan);
  if (usual > 0 && most * usual > LONGEST_WINDOW_NS) most = LONGEST_WINDOW_NS / usual;
  if (plan->bytes_a_step > 0 && most * plan->bytes_a_step > LARGEST_WINDOW_BYTES)
    most = LARGEST_WINDOW_BYTES / plan->bytes_a_step;
  return most < 1 ? 1 : (unsigned)most;
}

double window_plan_expected_ns(const struct window_plan *plan, bool is_chosen) {
  return steps_of_window(plan, is_chosen) * usual_step(plan);
}

/* Steps are counted anew where something else is found to end them: then none has ended since. */
static double steps_since(uint64_t then, uint64_t now) { return now > then ? (double)(now - then) : 0; }

static unsigned level_of(const struct window_plan *plan, const struct window_step *step) {
  double a_step = income(step->overhead, usual_step(plan)), cost = plan->usual_cost_ns;
  double ended = steps_since(plan->first_steps, step->steps) + 1, least = a_step / 2;
  a_step += plan->account_ns / (2 * ended);
  if (a_step < least) a_step = least; /* what is overdrawn is paid back by and by */
  unsigned level = 0;
  for (; level < LEVEL_MAXIMUM && cost > a_step; level++) cost /= 2;
  level = (level < LEAST_LEVEL ? LEAST_LEVEL : level) + step->fewer_levels;
  return level < LEVEL_MAXIMUM ? level : LEVEL_MAXIMUM;
}

static bool is_time(const struct window_plan *plan, const struct window_step *step) {
  if (step->now_ns < plan->not_before_ns || step->overhead <= 0) return false;
  if (!plan->has_had_one) return step->steps >= FIRST_AT;
  unsigned drawn = sampling_level_of(step->seed, step->steps);
  uint64_t passed = step->now_ns - plan->began_ns;
  if (drawn < LEAST_LEVEL || step->now_ns - plan->closed_ns < passed / SPACING_PART) return false; /* most steps */
  return plan->account_ns >= plan->usual_cost_ns / 2 && drawn >= level_of(plan, step);
}

enum window_act window_plan_again(struct window_plan *plan, const struct window_step *step) {
  if (plan->is_open || !step->wants_ops || step->now_ns < plan->not_before_ns) return WINDOW_NOTHING;
  return step->is_chosen || is_time(plan, step) ? WINDOW_OPEN : WINDOW_NOTHING;
}

enum window_act window_plan_step(struct window_plan *plan, const struct window_step *step, double age_ns) {
  uint64_t last_ns = plan->last_ns;
  plan->last_ns = step->now_ns;
  if (!plan->has_begun) begin_account(plan, step, age_ns);
  double took_ns = last_ns && step->now_ns > last_ns ? (double)(step->now_ns - last_ns) : 0;
  if (took_ns > 0) take_in(plan, step, took_ns);
  if (!plan->is_open) {
    if (took_ns > 0) keep_plain(plan, took_ns);
    return window_plan_again(plan, step);
  }
  if (took_ns > 0) keep_value(&plan->in_window, took_ns, CHOSEN_STEPS);
  bool is_full = step->steps < plan->opened_steps ||
                 steps_since(plan->opened_steps, step->steps) >= steps_of_window(plan, step->is_chosen);
  return is_full || !step->wants_ops ? WINDOW_CLOSE : WINDOW_NOTHING;
}

/* ---- What came of it. */

static void spend(struct window_plan *plan, double cost_ns) {
  plan->account_ns -= cost_ns;
  plan->spent_ns += cost_ns;
}

void window_plan_opened(struct window_plan *plan, uint64_t now_ns, uint64_t steps, double cost_ns) {
  plan->last_ns = now_ns;
  plan->is_open = true;
  plan->has_had_one = true;
  plan->failures = 0;
  plan->opened_steps = steps;
  plan->in_window.count = 0;
  keep_value(&plan->costs, cost_ns, KEPT_WINDOWS);
  spend(plan, cost_ns);
}

void window_plan_failed(struct window_plan *plan, uint64_t now_ns) {
  uint64_t wait_ns = (uint64_t)RETRY_NS << plan->failures;
  plan->failures += plan->failures < MOST_RETRIES;
  plan->not_before_ns = now_ns + wait_ns;
}

void window_plan_closed(struct window_plan *plan, uint64_t now_ns, uint64_t steps, double cost_ns, double bytes,
                        bool has_programs) {
  double plain = usual_step(plan), within = median(&plan->in_window, CHOSEN_STEPS);
  double ended = steps_since(plan->opened_steps, steps);
  if (plain > 0 && within > 0 && has_plain(plan)) keep_value(&plan->extras, (within - plain) / plain, KEPT_WINDOWS);
  double extra_ns = share_of_step(plan) * plain * ended;
  unsigned last = (plan->costs.count - 1) % KEPT_WINDOWS;
  if (has_programs) plan->costs.count--; /* the next ones will not cost that */
  else plan->costs.values[last] += cost_ns + extra_ns;
  spend(plan, cost_ns + extra_ns);
  plan->usual_cost_ns = plan->costs.count ? median(&plan->costs, KEPT_WINDOWS) : plan->spent_ns / PROGRAMS_PART;
  if (ended > 0 && !has_programs) plan->bytes_a_step = bytes / ended;
  plan->is_open = false;
  plan->closed_ns = now_ns;
  plan->last_ns = now_ns;
}
