/* test_capture_sampling.c: in which steps ops are recorded (sampling_plan.h, sampling_levels.h), and which marks end
** steps (step_marks.h).
**
** Nothing of the two reads a clock, so a job is simulated: its steps take so long, recording their ops so much more,
** and both vary by numbers that are always the same.  What is looked at is what counts: by how much the job as a whole
** slows.
*/
#include "governor/sampling_plan.h"
#include "governor/step_marks.h"
#include "stopping_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double random_share(uint64_t *state) { /* 0 to 1 */
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 33) / (double)(1u << 31);
}

/* ---- A job. */

struct job {
  double step_ns, spread;     /* a step takes step_ns, up or down by as much as this share */
  double ops, op_ns;          /* and more where its ops are recorded */
  double memory, memory_ns;   /* allocations and releases, always, */
  double marks_ns;            /* and the marks of the steps */
  double own_ops;             /* share of the ops that the thread runs which ends the steps */
  double others;              /* the time that passes is up to so much longer than that of the thread */
  double writer_share, writer_record_ns; /* what the writer thread takes from the program, of its time and for an op */
};
static const struct job launch_bound = {.step_ns = 10e6, .spread = 0.05, .ops = 3300, .op_ns = 400, .memory = 1650,
                                        .memory_ns = 25, .marks_ns = 36e3, .own_ops = 1};

struct run {
  struct sampling_plan plan;
  uint64_t steps, random;
  double plain_ns, ops_cost_ns, always_cost_ns; /* since the last reset */
  uint64_t recorded;
  uint32_t changes, interval;
  unsigned others; /* the level that other ranks want */
  double told_op_ns; /* what the source says that an op takes */
};

static void begin(struct run *run, const struct sampling_options *options, double op_ns) {
  memset(run, 0, sizeof *run);
  run->random = 1;
  run->told_op_ns = op_ns;
  sampling_plan_begin(&run->plan, options);
}

static void reset(struct run *run) {
  run->plain_ns = run->ops_cost_ns = run->always_cost_ns = 0;
  run->recorded = run->changes = 0;
}

static void go_on(struct run *run, const struct job *job, uint64_t count) {
  for (uint64_t end = run->steps + count; run->steps < end; run->steps++) {
    uint32_t interval;
    unsigned level = run->plan.wanted > run->others ? run->plan.wanted : run->others;
    sampling_plan_note_writer(&run->plan, job->writer_share, job->writer_record_ns);
    bool is_recorded = sampling_plan_wants_ops(&run->plan, run->steps, level, &interval);
    if (interval != run->interval) run->changes++;
    run->interval = interval;
    double varies = 1 + job->spread * (2 * random_share(&run->random) - 1), plain = job->step_ns * varies;
    double ops = is_recorded ? job->ops * job->op_ns * job->own_ops : 0;
    double always = job->memory * job->memory_ns + job->marks_ns;
    double thread = plain + ops + always;
    const struct step_seen seen = {.wall_ns = (int64_t)(thread * (1 + job->others * random_share(&run->random))),
                                   .thread_ns = (int64_t)thread,
                                   .full_ns = is_recorded ? job->ops * run->told_op_ns : 0,
                                   .records_ns = is_recorded ? job->ops * run->told_op_ns : 0,
                                   .thread_full_ns = is_recorded ? job->ops * job->own_ops * run->told_op_ns : 0,
                                   .always_ns = job->memory * job->memory_ns,
                                   .records = is_recorded ? (uint64_t)job->ops : 0,
                                   .has_all_ops = is_recorded,
                                   .has_no_ops = !is_recorded};
    run->plain_ns += plain;
    run->ops_cost_ns += is_recorded ? job->ops * (job->op_ns + job->writer_record_ns) : 0;
    run->always_cost_ns += always + plain * job->writer_share;
    run->recorded += is_recorded;
    sampling_plan_add(&run->plan, run->steps, &seen);
    if (run->steps + 2 >= WARMUP_STEPS + FIRST_STEPS) sampling_plan_review(&run->plan, run->steps + 1);
  }
}

static double slower(const struct run *run) { return (run->ops_cost_ns + run->always_cost_ns) / run->plain_ns; }

static const struct sampling_options sampled = {.mode = OPS_SAMPLED, .overhead = 0.02, .last_step = -1, .seed = 1};

/* ---- Tests. */

/* The level that the steps pay for is found when what was measured at the beginning is right; until then as much is
** recorded as the time since the beginning pays for. */
static void test_first_choice(void) {
  struct run run;
  begin(&run, &sampled, 400);
  go_on(&run, &launch_bound, 8);
  check(run.recorded == 8 && run.plan.recorded == 5,
        "of the first eight steps %llu were recorded, %llu after the warm-up", (unsigned long long)run.recorded,
        (unsigned long long)run.plan.recorded);
  go_on(&run, &launch_bound, 2000);
  reset(&run);
  uint32_t first = run.interval;
  go_on(&run, &launch_bound, 1 << 15);
  check(first == 16 || first == 32, "the first K is %u", first);
  check(run.interval >= first / 2 && run.interval <= first * 2, "K goes from %u to %u", first, run.interval);
  check(slower(&run) < 0.02 && slower(&run) > 0.011, "the job slows by %.2f %%", 100 * slower(&run));
  check(run.changes <= 12, "K changes %u times in a job that does not", run.changes);
}

/* When it is not, what is measured later puts it right; beyond twice it is not believed. */
static void test_wrong_calibration(void) {
  static const double told[] = {220, 400, 780};
  for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
    struct run run;
    begin(&run, &sampled, told[i]);
    go_on(&run, &launch_bound, 1000);
    reset(&run);
    go_on(&run, &launch_bound, 20000);
    check(slower(&run) < 0.02 && slower(&run) > 0.011, "told %.0f ns an op: the job slows by %.2f %%", told[i],
          100 * slower(&run));
  }
  struct run run;
  begin(&run, &sampled, 4000);
  go_on(&run, &launch_bound, 20000);
  check(fabs(run.plan.cost_ns - 3300 * 2000) < 1, "ten times too much is taken for %.0f ns", run.plan.cost_ns);
}

/* A job of some dozen steps is put right, too: the first steps with ops are compared with those after them. */
static void test_short_jobs(void) {
  static const struct job short_job = {.step_ns = 44e6, .spread = 0.04, .ops = 18700, .op_ns = 330, .own_ops = 1};
  double sum = 0, most = 0;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    struct run run;
    begin(&run, &sampled, 465);
    run.random = seed;
    go_on(&run, &short_job, 60);
    double wrong = fabs(run.plan.record_ns / short_job.op_ns - 1);
    sum += wrong;
    if (wrong > most) most = wrong;
  }
  check(sum / 20 < 0.15 && most < 0.4, "after 60 steps a record is told wrong by %.0f %%, at most %.0f %%",
        100 * sum / 20, 100 * most);
}

/* Other shapes of jobs: each stays within what is allowed, and uses it. */
static void test_jobs(void) {
  struct job tiny = launch_bound, wild = launch_bound, busy = launch_bound, threads = launch_bound;
  struct job large = launch_bound, full = launch_bound;
  tiny.step_ns = 3e6;
  wild.spread = 0.5;
  busy.others = 2;
  threads.own_ops = 0.6;
  large.step_ns = 1e9;
  full.writer_share = 0.006;
  full.writer_record_ns = 300;
  const struct {
    const char *name;
    struct job job;
    double least, most;
  } cases[] = {
      {"3 ms, where what is always recorded takes 2.5 %: a quarter of 2 is left for ops", tiny, 0.027, 0.032},
      {"steps that vary by half", wild, 0.01, 0.02},
      {"a machine where the same takes one to three times as long", busy, 0.01, 0.024},
      {"ops on other threads", threads, 0.01, 0.02},
      {"steps of a second", large, 0.001, 0.002},
      {"no processor is free for the writer thread", full, 0.012, 0.02},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct run run;
    begin(&run, &sampled, 400);
    go_on(&run, &cases[i].job, 1000);
    reset(&run);
    go_on(&run, &cases[i].job, 30000);
    check(slower(&run) >= cases[i].least && slower(&run) <= cases[i].most, "%s: the job slows by %.2f %%, K %u",
          cases[i].name, 100 * slower(&run), run.interval);
  }
}

/* The job changes; K follows within a hundred steps. Where steps vary by more than recording one costs, K is 2 or,
** where that seems to cost up to twice as much, 4. */
static void test_change(void) {
  struct job slow = launch_bound;
  slow.step_ns = 100e6;
  struct run run;
  begin(&run, &sampled, 400);
  go_on(&run, &slow, 500);
  check(run.interval <= 4, "steps of 100 ms: K is %u", run.interval);
  go_on(&run, &launch_bound, 150);
  uint32_t after = run.interval;
  reset(&run);
  go_on(&run, &launch_bound, 5000);
  check(after >= 6 && slower(&run) < 0.02, "steps of 10 ms: K is %u, then the job slows by %.2f %%", after,
        100 * slower(&run));
  go_on(&run, &slow, 150);
  check(run.interval <= 4, "steps of 100 ms again: K is %u", run.interval);
}

/* Other programs fill the processors for a while: the writer thread counts, and then no more. */
static void test_writer(void) {
  struct job full = launch_bound;
  full.writer_share = 0.004;
  full.writer_record_ns = 400;
  struct run run;
  begin(&run, &sampled, 400);
  go_on(&run, &launch_bound, 5000);
  uint32_t before = run.interval;
  go_on(&run, &full, 5000);
  uint32_t meanwhile = run.interval;
  go_on(&run, &launch_bound, 5000);
  check(meanwhile >= 2 * before && run.interval == before, "K is %u, %u where no processor is free, then %u", before,
        meanwhile, run.interval);
}

/* So it does from any length of steps, whichever step the change comes at: where every step has its ops recorded, what
** is known of steps without them is of the time before and must not be believed for ever. */
static void test_change_from_anything(void) {
  for (unsigned tenths = 5; tenths <= 40; tenths++) {
    for (unsigned more = 0; more < 50; more += 7) {
      struct job slow = launch_bound;
      slow.step_ns = tenths * 10e6;
      struct run run;
      begin(&run, &sampled, 400);
      go_on(&run, &slow, 500 + more);
      go_on(&run, &launch_bound, 200);
      reset(&run);
      go_on(&run, &launch_bound, 5000);
      check(slower(&run) < 0.02, "from %.0f ms after %u steps: K is %u, the job slows by %.2f %%", slow.step_ns / 1e6,
            500 + more, run.interval, 100 * slower(&run));
    }
  }
}

/* One step of each block is recorded at a level, each place of it as often as the others; what is recorded at a level
** is at all levels below it; and other jobs record other steps. */
static void test_levels(void) {
  enum { STEPS = 1 << 16 };
  for (unsigned level = 1; level <= LEVEL_MAXIMUM; level++) {
    uint32_t counts[1 << LEVEL_MAXIMUM] = {0}, common = 0, size = 1u << level;
    for (uint64_t first = 0; first < STEPS; first += size) {
      uint32_t recorded = 0;
      for (uint32_t place = 0; place < size; place++) {
        if (sampling_level_of(7, first + place) < level) continue;
        recorded++;
        counts[place]++;
        common += sampling_level_of(8, first + place) >= level;
      }
      check(recorded == 1, "%u steps of a block of %u are recorded", recorded, size);
    }
    double expected = STEPS / (double)size / size, chi = 0;
    for (uint32_t place = 0; place < size; place++) chi += pow(counts[place] - expected, 2) / expected;
    check(expected < 4 || chi < size - 1 + 5 * sqrt(2.0 * size), "level %u: the places are not equally likely (%.0f)",
          level, chi);
    double by_chance = STEPS / (double)size / size;
    check(common < by_chance + 5 * sqrt(by_chance) + 2, "level %u: two jobs share %u steps", level, common);
  }
  check(sampling_seed_of("a:1") != sampling_seed_of("a:2") && sampling_seed_of("") != sampling_seed_of("a"), "seeds");
  for (uint64_t step = 0; step < STEPS; step += 8) {
    unsigned level = sampling_block_level(step);
    check(level == LEVEL_MAXIMUM || (step >> level & 1), "step %llu begins a block of level %u",
          (unsigned long long)step, level);
    check(step % (1u << level) == 0, "step %llu does not", (unsigned long long)step);
  }
}

/* Whatever the job does and other ranks want, K changes only where a block begins, and each block has one recorded
** step: what it speaks for is exact. */
static void test_blocks(void) {
  for (unsigned trial = 0; trial < 300; trial++) {
    struct sampling_options options = sampled;
    options.seed = trial;
    struct job job = launch_bound;
    struct run run;
    begin(&run, &options, 400);
    uint64_t random = trial, block_begin = 0, recorded_in_block = 0;
    uint32_t before = 1;
    for (unsigned i = 0; i < 3000; i++) {
      if (i % 200 == 8) {
        job.step_ns = 1e6 * pow(100, random_share(&random));
        run.others = (unsigned)(random_share(&random) * 8) % 6;
      }
      uint64_t step = run.steps, recorded = run.recorded;
      go_on(&run, &job, 1);
      if (step == block_begin + before || run.interval != before) {
        check(step == block_begin + before, "K goes from %u to %u at step %llu, in a block from %llu on", before,
              run.interval, (unsigned long long)step, (unsigned long long)block_begin);
        check(step % run.interval == 0, "a block of %u begins at %llu", run.interval, (unsigned long long)step);
        check(recorded_in_block == 1 || step == 0, "a block of %u has %llu recorded steps", before,
              (unsigned long long)recorded_in_block);
        block_begin = step;
        before = run.interval;
        recorded_in_block = 0;
      }
      recorded_in_block += run.recorded - recorded;
    }
  }
}

/* A run of any length is slowed by no more than what the time since its beginning allows, but for the first eight
** steps, and is recorded as far as that goes. */
static void test_short_runs(void) {
  struct job job = launch_bound;
  for (double step_ns = 5e6; step_ns < 100e6; step_ns *= 2) {
    job.step_ns = step_ns;
    struct run run;
    begin(&run, &sampled, 400);
    sampling_plan_start(&run.plan, 3e9, 0);
    go_on(&run, &job, 8);
    uint64_t first = run.recorded;
    for (unsigned steps = 12; steps <= 400; steps++) {
      go_on(&run, &job, steps - run.steps);
      double allowed = 0.02 * (3e9 + run.plain_ns) + 8 * job.ops * job.op_ns;
      check(run.ops_cost_ns + run.always_cost_ns < allowed, "%.0f ms: %u steps cost %.1f ms, %.1f are allowed",
            step_ns / 1e6, steps, (run.ops_cost_ns + run.always_cost_ns) / 1e6, allowed / 1e6);
      if (steps == 40)
        check(run.recorded - first >= (step_ns > 15e6 ? 12 : 7), "%.0f ms: %llu of 40 steps are recorded",
              step_ns / 1e6, (unsigned long long)run.recorded);
    }
  }
}

static void test_modes(void) {
  struct sampling_options options = sampled;
  struct run run;
  options.mode = OPS_ALL;
  begin(&run, &options, 400);
  go_on(&run, &launch_bound, 500);
  check(run.recorded == 500 && run.interval == 1, "--ops=all records %llu of 500", (unsigned long long)run.recorded);
  options.mode = OPS_NONE;
  begin(&run, &options, 400);
  go_on(&run, &launch_bound, 500);
  check(run.recorded == 0 && run.interval == 0, "--ops=none records %llu", (unsigned long long)run.recorded);
  options.mode = OPS_SAMPLED;
  options.first_step = 10;
  options.last_step = 20;
  begin(&run, &options, 400);
  go_on(&run, &launch_bound, 10);
  check(run.recorded == 0, "steps before the first one are recorded");
  go_on(&run, &launch_bound, 100);
  check(run.recorded == 11, "--steps=10-20 records %llu steps", (unsigned long long)run.recorded);
  options.last_step = -1;
  options.overhead = 0;
  begin(&run, &options, 400);
  go_on(&run, &launch_bound, 10000);
  check(run.interval == 1u << LEVEL_MAXIMUM && run.recorded >= 5 + 3, "--overhead=0: K is %u", run.interval);
  options.overhead = 10;
  begin(&run, &options, 400);
  go_on(&run, &launch_bound, 500);
  check(run.recorded == 500, "--overhead=1000: %llu of 500 are recorded", (unsigned long long)run.recorded);
}

/* As the file grows towards its limit K does; at the limit no op is recorded. */
static void test_size(void) {
  struct sampling_options options = sampled;
  options.max_bytes = 1000000;
  struct run run;
  begin(&run, &options, 400);
  go_on(&run, &launch_bound, 1000);
  uint32_t before = run.interval, last = before;
  static const struct {
    uint64_t bytes;
    uint32_t factor;
  } sizes[] = {{499999, 1}, {500000, 2}, {750000, 4}, {900000, 8}, {999999, 8}};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    sampling_plan_note_bytes(&run.plan, sizes[i].bytes);
    go_on(&run, &launch_bound, 1024); /* a block of the level begins */
    check(run.interval >= before * sizes[i].factor / 2 && run.interval <= before * sizes[i].factor * 2 &&
              run.interval >= last,
          "at %llu bytes K is %u, before it was %u", (unsigned long long)sizes[i].bytes, run.interval, before);
    last = run.interval;
  }
  check(!run.plan.is_full, "it is full too early");
  sampling_plan_note_bytes(&run.plan, 1000000);
  reset(&run);
  go_on(&run, &launch_bound, 3000);
  check(run.plan.is_full && run.recorded == 0, "full, and %llu steps are recorded", (unsigned long long)run.recorded);
  options.mode = OPS_ALL;
  begin(&run, &options, 400);
  sampling_plan_note_bytes(&run.plan, 600000);
  go_on(&run, &launch_bound, 100);
  check(run.interval == 2 && run.recorded >= 40, "--ops=all and a file half full: K is %u", run.interval);
}

/* ---- Marks. */

static unsigned step_at(struct step_marks *marks, enum step_mark kind, uint32_t name, uint64_t start, uint64_t end) {
  return step_marks_add(marks, kind, 1, name, start, end);
}

/* Batches of Keras that run in one call are as many steps. */
static void test_steps_of_calls(void) {
  struct step_marks marks;
  step_marks_begin(&marks);
  static const char *const names[] = {"keras.step#0-4", "keras.step#5", "keras.step#6-9", "StepTraceAnnotation#7"};
  for (uint64_t i = 0; i < sizeof names / sizeof *names; i++) {
    enum step_mark kind = step_mark_kind(names[i]);
    step_at(&marks, kind, step_mark_name(kind, names[i]), 10 * i, 10 * i + 5);
  }
  check(marks.steps == 3 && step_marks_all(&marks) == 10, "three calls of 10 steps: %llu of %llu",
        (unsigned long long)marks.steps, (unsigned long long)step_marks_all(&marks));
}

/* One optimizer; marks of the program's own take its place. */
static void test_marks(void) {
  struct step_marks marks;
  step_marks_begin(&marks);
  uint64_t now = 0;
  for (uint64_t i = 1; i <= 20; i++, now += 100) {
    unsigned what = step_at(&marks, MARK_OPTIMIZER, 7, now, now + 10);
    check(what & STEP_HAS_ENDED && marks.steps == i, "optimizer step %llu: %llu steps", (unsigned long long)i,
          (unsigned long long)marks.steps);
    check(marks.is_learnt == (i >= WARMUP_STEPS + FIRST_STEPS), "known after %llu steps", (unsigned long long)i);
    check(!(what & STEPS_ARE_LEARNT) == (i != WARMUP_STEPS + FIRST_STEPS), "learnt at %llu", (unsigned long long)i);
  }
  unsigned what = step_at(&marks, MARK_USER, 8, now, now + 5);
  check(what == (STEPS_ARE_FORGOTTEN | STEP_HAS_ENDED) && marks.steps == 21 && !marks.is_learnt,
        "tfprof.step: %u, %llu steps", what, (unsigned long long)marks.steps);
  check(!(step_at(&marks, MARK_OPTIMIZER, 7, now, now + 10) & STEP_HAS_ENDED), "the optimizer still ends steps");
}

/* Optimizers, by letters, as in test_rule of test_derive_steps.c: which events end steps once steps are known. */
static void test_rounds(void) {
  static const struct {
    const char *round;
    const char *ends; /* 1: the event of the round ends a step */
    unsigned steps;   /* of 40 rounds */
  } cases[] = {
      {".ab", "001", 40},       {".abcdefghijkl", "0000000000001", 40}, {"aaaab", "11110", 160},
      {".a.b", "1010", 80},     {"!a!b", "0001", 40},                    {"ab^", "010", 40},
      {"a^a^^a^", "1010110", 160}, {"a^b^", "0010", 40},                  {".aab.c", "011000", 80},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct step_marks marks;
    step_marks_begin(&marks);
    for (unsigned round = 0; round < 40; round++) {
      for (size_t k = 0; cases[i].round[k]; k++) {
        char event = cases[i].round[k];
        enum step_mark kind = event == '^' ? MARK_SCALER : event == '.' || event == '!' ? MARK_BATCH : MARK_OPTIMIZER;
        uint64_t time = 100 * round + k;
        unsigned what = step_marks_add(&marks, kind, event == '!' ? 3 : 1 + round % 2 * (event == 'a'), (uint32_t)event,
                                       time, time);
        if (round < 20) continue;
        check((what & STEP_HAS_ENDED) == (cases[i].ends[k] == '1'), "%s: event %zu of round %u: %u", cases[i].round, k,
              round, what);
      }
    }
    uint64_t least = cases[i].steps - 3; /* the first round may have been counted in another way */
    check(marks.is_learnt && marks.steps >= least && marks.steps <= least + 6, "%s: %llu steps", cases[i].round,
          (unsigned long long)marks.steps);
  }
}

/* The program goes over to another optimizer: it ends the steps. */
static void test_another_optimizer(void) {
  struct step_marks marks;
  step_marks_begin(&marks);
  uint64_t now = 0;
  for (int i = 0; i < 20; i++, now += 100) step_at(&marks, MARK_OPTIMIZER, 7, now, now + 10);
  for (int i = 0; i < 260; i++, now += 100) step_at(&marks, MARK_OPTIMIZER, 8, now, now + 10);
  check(marks.is_learnt && marks.leader->name == 8 && marks.steps == 280, "%llu steps",
        (unsigned long long)marks.steps);
}

/* Steps are counted from a moment on, by what is found to end them later: of two functions called in turn the one whose
** first call, which compiles, took longer leads at first. */
static void test_counted(void) {
  struct step_marks marks;
  step_marks_begin(&marks);
  uint64_t now = 5000, counted = 0;
  step_at(&marks, MARK_CALL, 1, 0, 3000);
  step_at(&marks, MARK_CALL, 2, 3000, 4000);
  step_at(&marks, MARK_CALL, 2, 4000, 4500);
  check(marks.leader->name == 1 && marks.steps == 1, "the one that compiled leads");
  step_marks_count_from(&marks, COUNT_OF_VISIT);
  check(!step_marks_counted(&marks, COUNT_OF_VISIT), "nothing has ended since");
  for (uint64_t i = 1; i <= 12; i++, now += 1000) {
    step_at(&marks, MARK_CALL, 1, now, now + 10);
    step_at(&marks, MARK_CALL, 2, now + 10, now + 600);
    counted = step_marks_counted(&marks, COUNT_OF_VISIT);
    check(counted == i, "%llu of %llu steps are counted", (unsigned long long)counted, (unsigned long long)i);
  }
  check(marks.leader->name == 2, "the one in which the time passes leads");
  step_at(&marks, MARK_OPTIMIZER, 7, now, now + 10); /* better than calls, of which no step is one any more */
  counted = step_marks_counted(&marks, COUNT_OF_VISIT);
  check(counted == 1, "%llu steps of the optimizer", (unsigned long long)counted);
  for (int i = 0; i < 20; i++, now += 100) step_at(&marks, MARK_OPTIMIZER, 7, now, now + 10);
  step_marks_count_from(&marks, COUNT_OF_VISIT);
  for (int i = 0; i < 3; i++, now += 100) step_at(&marks, MARK_OPTIMIZER, 7, now, now + 10);
  for (int i = 0; i < 200; i++, now += 100) step_at(&marks, MARK_OPTIMIZER, 8, now, now + 10);
  counted = step_marks_counted(&marks, COUNT_OF_VISIT);
  check(marks.leader->name == 8 && counted == 203, "%llu steps of one optimizer and the next",
        (unsigned long long)counted);
}

/* Where there is nothing better, what NVTX marks ends steps: of several names what covers most time. An optimizer takes
** its place, and is not gone because of many marks of NVTX. */
static void test_nvtx(void) {
  struct step_marks marks;
  step_marks_begin(&marks);
  uint64_t now = 0;
  unsigned what = 0;
  for (int i = 0; i < 20; i++, now += 100) {
    step_at(&marks, MARK_NVTX, 2, now, now + 10);
    what = step_at(&marks, MARK_NVTX, 1, now + 10, now + 90);
  }
  check(marks.is_learnt && marks.leader->name == 1 && marks.steps == 20 && what & STEP_HAS_ENDED, "%llu steps of NVTX",
        (unsigned long long)marks.steps);
  what = step_at(&marks, MARK_OPTIMIZER, 7, now, now + 10);
  check(what == (STEPS_ARE_FORGOTTEN | STEP_HAS_ENDED) && marks.leader->kind == MARK_OPTIMIZER, "the optimizer: %u",
        what);
  for (int i = 0; i < 20; i++, now += 100) step_at(&marks, MARK_OPTIMIZER, 7, now, now + 10);
  for (int i = 0; i < 2000; i++) {
    what = step_at(&marks, MARK_NVTX, 100 + i % 20, now, now + 1000);
    check(!what, "a mark of NVTX: %u", what);
  }
  what = step_at(&marks, MARK_OPTIMIZER, 7, now, now + 10);
  check(what == STEP_HAS_ENDED && marks.steps == 20 + 1 + 20 + 1, "after them: %u, %llu steps", what,
        (unsigned long long)marks.steps);
}

/* Names alone. */
static void test_kinds(void) {
  check(step_mark_kind("Optimizer.step#SGD.step") == MARK_OPTIMIZER, "the optimizer's");
  check(step_mark_kind("ProfilerStep#3") == MARK_PROFILER, "the profiler's");
  check(step_mark_kind("tfprof.step#3") == MARK_USER, "the program's");
  check(step_mark_kind("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__") == MARK_BATCH &&
            step_mark_kind("torch.amp.GradScaler.update") == MARK_SCALER,
        "those of loaders and scalers");
  check(step_mark_kind("Optimizer.zero_grad#SGD") == MARK_NONE && step_mark_kind("") == MARK_NONE, "others");
}

int main(void) {
  test_first_choice();
  test_wrong_calibration();
  test_short_jobs();
  test_jobs();
  test_change();
  test_writer();
  test_change_from_anything();
  test_levels();
  test_blocks();
  test_short_runs();
  test_modes();
  test_size();
  test_steps_of_calls();
  test_marks();
  test_rounds();
  test_another_optimizer();
  test_counted();
  test_nvtx();
  test_kinds();
  return 0;
}
