/* test_capture_launches.c: what recording a kernel takes is found from how long launches are with it and without
** (launch_times.h), whatever disturbs them, and whether every step can have its kernels from that (launch_budget.h):
** programs are simulated. */
#include "cuda/launch_budget.h"
#include "cuda/launch_calibration.h"
#include "cuda/launch_times.h"
#include "stopping_check.h"

#include <math.h>
#include <stdlib.h>

/* ---- What a launch takes. */

static uint64_t state = 88172645463325252u;
static double chance(void) { /* 0 to 1 */
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (double)(state >> 11) / (double)(1ull << 53);
}

struct launching {
  double base_ns, other_ns; /* of one half of the launches, and of the other */
  double cost_ns;           /* more when its kernel is recorded */
  double disturbed;         /* share of launches that take much longer */
};

static struct launch_times times;
static int64_t now_ns;

static void launch_for(const struct launching *program, enum cuda_recording recording, int launches) {
  launch_times_switch(&times, &(struct record_switch){now_ns, now_ns + 2000, recording});
  /* One that began before the switch was done is of neither. */
  launch_times_add(&times, now_ns + 1000, now_ns + 900000);
  now_ns += 3000;
  for (int i = 0; i < launches; i++) {
    double dur_ns = (i % 2 ? program->other_ns : program->base_ns) * (0.9 + 0.2 * chance());
    if (recording == CUDA_ALL) dur_ns += program->cost_ns;
    if (chance() < program->disturbed) dur_ns += 5000 + 80000 * chance();
    launch_times_add(&times, now_ns, now_ns + (int64_t)dur_ns);
    now_ns += (int64_t)dur_ns + 1000;
  }
}

/* What is found in a round. */
static double found(const struct launching *program) {
  launch_times_begin(&times);
  launch_times_measure(&times, true);
  now_ns = 1000000;
  for (int step = 0; step < 1000; step++) {
    launch_for(program, step % 8 ? CUDA_CALLS : CUDA_ALL, 101);
    launch_for(program, CUDA_NOTHING, 1);
    if (launch_times_learn(&times)) return times.kernel_ns;
  }
  check(0, "nothing is found in a thousand steps");
  return 0;
}

static void test_times(void) {
  static const struct launching even = {4000, 4000, 700, 0}, mixed = {2200, 6000, 700, 0},
                                disturbed = {4000, 4000, 700, 0.03}, free_of_charge = {4000, 4000, 0, 0},
                                less = {4000, 4000, -500, 0}, dear = {4000, 4000, 60000, 0};
  check(fabs(found(&even) - 700) < 50, "%.0f ns of 700", times.kernel_ns);
  check(fabs(found(&mixed) - 700) < 150, "%.0f ns of 700, where calls differ", times.kernel_ns);
  check(fabs(found(&disturbed) - 700) < 100, "%.0f ns of 700, of launches that are disturbed", times.kernel_ns);
  check(found(&free_of_charge) < 100, "%.0f ns of none", times.kernel_ns);
  check(found(&less) == LEAST_KERNEL_NS, "%.0f ns of less than none", times.kernel_ns);
  check(found(&dear) == MOST_KERNEL_NS, "%.0f ns of more than there can be", times.kernel_ns);

  /* Nothing counts that is not asked for, nor what was switched too long ago to be known. */
  launch_times_begin(&times);
  for (int step = 0; step < 100; step++) launch_for(&even, step % 2 ? CUDA_CALLS : CUDA_ALL, 101);
  check(!times.with.count && !times.without.count && !launch_times_learn(&times), "it is measured unasked");
  enum cuda_recording recording;
  check(launch_times_at(&times, 500000, 600000, &recording) && recording == CUDA_ALL, "at the beginning");
  for (int step = 0; step < LAUNCH_SWITCHES; step++) launch_for(&even, step % 2 ? CUDA_NOTHING : CUDA_CALLS, 1);
  check(!launch_times_at(&times, 500000, 600000, &recording), "what is not kept any more is known");
  check(launch_times_at(&times, now_ns - 500, now_ns, &recording) && recording == CUDA_NOTHING, "the last one");
}

static void test_pauses(void) {
  static const struct record_switch changes[] = {
      {1000, 1100, CUDA_CALLS}, {2000, 2100, CUDA_ALL}, {3000, 3100, CUDA_NOTHING}, {4000, 4100, CUDA_ALL}};
  static const struct {
    int64_t start_ns, end_ns;
    bool is_over;
  } works[] = {{900, 1900, false},  {900, 2050, true},   {1500, 2050, false}, {900, 2500, true},  {2200, 2800, false},
               {2200, 3500, false}, {2900, 4000, true}, {500, 3500, true},    {3500, 4100, false}, {100, 200, false}};
  launch_times_begin(&times);
  check(!launch_times_is_over_pause(&times, 900, 2050), "nothing was switched");
  for (int i = 0; i < 4; i++) launch_times_switch(&times, &changes[i]);
  for (size_t i = 0; i < sizeof works / sizeof *works; i++)
    check(launch_times_is_over_pause(&times, works[i].start_ns, works[i].end_ns) == works[i].is_over, "work %zu", i);
}

/* ---- What is kept to. */

struct job {
  double launches; /* a second */
  double exposed;  /* share of them that the device waits for */
  double recorded; /* share of the time, while it is thinned */
  double work_ns;  /* that recording a kernel takes */
};

static void go_on(struct launch_budget *budget, const struct job *job, unsigned seconds, bool may_thin) {
  const struct launch_prices prices = {job->work_ns, 200, 0};
  double launches = 0;
  for (unsigned i = 0; i < seconds; i++) {
    double on = budget->is_thinned ? job->recorded : 1;
    /* Records come half a second late. */
    double now = job->launches * on, come = (launches + now) / 2;
    launches = now;
    const struct launch_use use = {.on_ns = on * 1e9,
                                   .works = (uint64_t)come,
                                   .calls = (uint64_t)come,
                                   .judged = (uint64_t)come,
                                   .exposed = (uint64_t)(come * job->exposed)};
    launch_budget_note(budget, &use, &prices, may_thin);
  }
}

static void test_budget(void) {
  static const struct job bound = {60000, 1, 1. / 16, 400}, cheap = {40000, 1, 1. / 16, 20},
                          queued = {200000, 0.001, 1. / 16, 400}, seldom = {20000, 1, 1. / 16, 400},
                          idle = {0, 0, 1. / 16, 400};
  struct launch_budget budget;
  launch_budget_begin(&budget, 0.02);
  go_on(&budget, &seldom, 100, true);
  check(!budget.is_thinned && fabs(budget.share - 0.012) < 1e-3, "1.2 %% are too much: %.4f", budget.share);
  go_on(&budget, &queued, 100, true);
  check(!budget.is_thinned && budget.share < 0.001, "launches count that nobody waits for: %.4f", budget.share);
  go_on(&budget, &idle, 100, true);
  check(!budget.is_thinned && budget.share < 1e-6, "no launches take %.4f", budget.share);
  go_on(&budget, &bound, 3, true);
  check(!budget.is_thinned, "three seconds are enough to be thinned");
  go_on(&budget, &bound, 100, false);
  check(!budget.is_thinned && launch_budget_is_over(&budget), "thinned where no step stands for others");
  go_on(&budget, &bound, 100, true);
  check(budget.is_thinned && fabs(budget.share - 0.036) < 2e-3, "3.6 %% are allowed: %.4f", budget.share);
  /* Its launches are found to be cheap. */
  go_on(&budget, &cheap, 5, true);
  check(budget.is_thinned, "back after five seconds");
  go_on(&budget, &cheap, 25, true);
  check(!budget.is_thinned, "cheap launches stay thinned: %.4f", budget.share);
  /* Each time it takes longer. */
  unsigned changes = 0;
  for (int i = 0; i < 100; i++) {
    bool before = budget.is_thinned;
    go_on(&budget, i % 2 ? &queued : &bound, 60, true);
    changes += before != budget.is_thinned;
  }
  check(changes < 10 && budget.is_thinned, "it changes %u times", changes);

  launch_budget_begin(&budget, 0);
  go_on(&budget, &bound, 100, true);
  check(!budget.is_thinned, "thinned though nothing is to be");
}

/* ---- What is measured before anything is thinned. */

/* A job is recorded from its beginning: what a launch takes is measured where it could be too much, and then it is
** thinned where it is. */
static unsigned left_out; /* steps */
static bool is_thinned_in_a_minute(double launches, double exposed, double cost_ns) {
  const double assumed_ns = 400;
  const unsigned launches_of_step = 100;
  struct launch_calibration calibration = {.is_left_out = false};
  struct launch_budget budget;
  struct launching program = {4000, 4000, cost_ns, 0.01};
  launch_budget_begin(&budget, 0.02);
  launch_times_begin(&times);
  now_ns = 1000000;
  for (int second = 0; second < 60 && !budget.is_thinned; second++) {
    /* Of a first second half has come. */
    const struct job job = {2 * launches, exposed, 1, times.rounds ? times.kernel_ns : assumed_ns};
    bool is_wanted = !times.rounds && launch_budget_may_be_over(&budget);
    if (is_wanted && !times.is_measuring) launch_times_measure(&times, true);
    if (!is_wanted) calibration.allowed = 0;
    else if (calibration.left_out == calibration.allowed) calibration.allowed += calibration.allowed + FIRST_LEFT_OUT;
    for (int step = 0; times.is_measuring && step < launches / launches_of_step; step++)
      launch_for(&program, launch_calibration_step(&calibration, true) ? CUDA_CALLS : CUDA_ALL, launches_of_step);
    if (launch_times_learn(&times)) launch_times_measure(&times, false);
    go_on(&budget, &job, 1, true);
  }
  left_out = calibration.left_out;
  return budget.is_thinned;
}

static void test_calibration(void) {
  bool is_thinned = is_thinned_in_a_minute(24000, 1, 300);
  check(!is_thinned && left_out && left_out < 30, "300 ns, %u left out", left_out);
  for (double cost_ns = 1000; cost_ns <= 4000; cost_ns += 500) {
    is_thinned = is_thinned_in_a_minute(24000, 1, cost_ns);
    check(is_thinned && left_out && left_out < 30, "%.0f ns, %u left out", cost_ns, left_out);
  }
  check(!is_thinned_in_a_minute(200000, 0, 1500) && !left_out, "measured where the device has work");
  check(!is_thinned_in_a_minute(2000, 1, 1500) && !left_out, "measured where launches are few");

  /* Steps that stand for others have their work, and not every step is left out. */
  struct launch_calibration calibration = {.allowed = 2 * STEPS_LEFT_OUT};
  unsigned drawn = 0;
  for (unsigned step = 0; step < 64; step++) {
    bool has_ops = step % 8 == 5, is_left_out = launch_calibration_step(&calibration, has_ops);
    drawn += has_ops && is_left_out;
  }
  bool is_half = calibration.left_out > 16 && calibration.left_out <= 32;
  check(!drawn && is_half, "%u of 64, %u with ops", calibration.left_out, drawn);
  for (unsigned step = 0; step < 1000; step++) launch_calibration_step(&calibration, false);
  check(calibration.left_out == STEPS_LEFT_OUT, "%u are left out", calibration.left_out);
}

int main(void) {
  test_times();
  test_pauses();
  test_budget();
  test_calibration();
  return 0;
}
