/* test_capture_windows.c: when windows of the framework's profiler are opened, and their files. */
#include "stopping_check.h"
#include "scratch.h"
#include "windows/window_files.h"
#include "windows/window_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define check_that(holds) check(holds, "%s", #holds)

/* A program whose steps take so long, and in a window so much longer; to open and close one costs what it says. */
struct program {
  double step_ns, extra, cost_ns, programs_ns, overhead;
  uint64_t steps;
  bool is_chosen;
  uint64_t first, last; /* steps that want ops */
  double age_ns; /* of the process at its first step */
};

struct outcome {
  uint64_t windows, in_windows, first_step, most_steps, longest_gap;
  double plain_ns, spent_ns;
  bool held[4096]; /* the first steps */
};

static struct outcome run_program(const struct program *program) {
  struct outcome result = {.first_step = UINT64_MAX};
  struct window_plan plan;
  uint64_t opened = 0, closed = 0;
  bool is_open = false;
  double now = 1e9;
  window_plan_begin(&plan);
  for (uint64_t steps = 1; steps <= program->steps; steps++) {
    double took = program->step_ns * (is_open ? 1 + program->extra : 1);
    now += took;
    result.plain_ns += program->step_ns;
    result.spent_ns += took - program->step_ns;
    result.in_windows += is_open;
    if (steps <= 4096) result.held[steps - 1] = is_open;
    struct window_step step = {.now_ns = (uint64_t)now,
                               .steps = steps,
                               .overhead = program->overhead,
                               .seed = 7,
                               .wants_ops = steps >= program->first && steps <= program->last,
                               .is_chosen = program->is_chosen};
    enum window_act act = window_plan_step(&plan, &step, program->age_ns);
    if (act == WINDOW_CLOSE) {
      check_that(is_open);
      double cost = result.windows == 1 ? program->programs_ns : program->cost_ns;
      now += cost;
      result.spent_ns += cost;
      window_plan_closed(&plan, (uint64_t)now, steps, cost, 10e3, result.windows == 1);
      if (steps - opened > result.most_steps) result.most_steps = steps - opened;
      is_open = false;
      closed = steps;
      step.now_ns = (uint64_t)now;
      act = program->is_chosen ? window_plan_again(&plan, &step) : WINDOW_NOTHING;
    }
    if (act != WINDOW_OPEN) continue;
    check_that(!is_open);
    is_open = true;
    opened = steps;
    if (closed && steps - closed > result.longest_gap) result.longest_gap = steps - closed;
    if (!result.windows++) result.first_step = steps;
    window_plan_opened(&plan, (uint64_t)now, steps, 0);
  }
  return result;
}

static void test_budget(void) {
  static const double steps_ns[] = {60e3, 600e3, 10e6, 500e6};
  for (unsigned i = 0; i < sizeof steps_ns / sizeof *steps_ns; i++) {
    const struct program program = {.step_ns = steps_ns[i], .extra = 0.15, .cost_ns = 5e5, .programs_ns = 3e6,
                                    .overhead = 0.02, .steps = (uint64_t)(60e9 / steps_ns[i]) + 40, .last = UINT64_MAX};
    struct outcome seen = run_program(&program);
    check_that(seen.spent_ns <= 0.02 * seen.plain_ns);
    check_that(seen.spent_ns >= 0.001 * seen.plain_ns || seen.windows > 100);
    check(seen.windows >= 2 && seen.windows < 1500, "%lu windows of steps of %g ns", seen.windows, program.step_ns);
    check_that(seen.first_step == FIRST_AT && seen.most_steps <= WINDOW_STEPS);
  }
}

/* A long start is no reason to spend more on short steps, but for some windows soon; nor is there more than their marks
** leave of what is allowed. */
static void test_short_steps(void) {
  struct program program = {.step_ns = 150e3, .extra = 0.15, .cost_ns = 2.5e5, .programs_ns = 2.5e5, .overhead = 0.02,
                            .steps = 2000, .last = UINT64_MAX, .age_ns = 10e9};
  struct outcome seen = run_program(&program);
  check(seen.windows >= 5 && seen.spent_ns < 0.012 * seen.plain_ns + 10 * program.cost_ns,
        "%lu windows, %g of the time", seen.windows, seen.spent_ns / seen.plain_ns);
  program.steps = 100000;
  seen = run_program(&program);
  check(seen.spent_ns < 0.01 * seen.plain_ns, "%g of the time", seen.spent_ns / seen.plain_ns);
}

static void test_short_run(void) { /* one window, whatever it costs */
  const struct program program = {.step_ns = 1e5, .cost_ns = 5e6, .programs_ns = 5e6, .overhead = 0.02, .steps = 50,
                                  .last = UINT64_MAX};
  struct outcome seen = run_program(&program);
  check_that(seen.windows == 1 && seen.in_windows == WINDOW_STEPS);
  struct program none = program;
  none.overhead = 0;
  check_that(run_program(&none).windows == 0);
}

static void test_chosen(void) { /* one follows the other, from the first of the steps to the last */
  const struct program program = {.step_ns = 1e6, .cost_ns = 5e5, .programs_ns = 3e6, .overhead = 0.02, .steps = 200,
                                  .is_chosen = true, .first = 20, .last = 59};
  struct outcome seen = run_program(&program);
  check_that(seen.in_windows == 40 && seen.most_steps == CHOSEN_STEPS);
  for (unsigned i = 0; i < 200; i++) check_that(seen.held[i] == (i >= 20 && i < 60));
  struct program slow = program;
  slow.step_ns = 5e9;
  check_that(run_program(&slow).most_steps == 1);
}

static void test_counted_anew(void) { /* something else ends the steps: the window of the former ones costs no more */
  struct window_plan plan;
  struct window_step step = {.now_ns = 1000000000u, .steps = 5, .overhead = 0.5, .seed = 7, .wants_ops = true};
  unsigned windows = 0;
  window_plan_begin(&plan);
  check_that(window_plan_step(&plan, &step, 0) == WINDOW_OPEN);
  window_plan_opened(&plan, step.now_ns, step.steps, 1e4);
  step.steps = 1;
  check_that(window_plan_step(&plan, &step, 0) == WINDOW_CLOSE);
  window_plan_closed(&plan, step.now_ns, step.steps, 1e5, 10e3, true);
  check_that(plan.spent_ns > 1e5 && plan.spent_ns < 1e6);
  for (; step.steps < 2000; step.steps++, step.now_ns += 1000000)
    windows += window_plan_step(&plan, &step, 0) == WINDOW_OPEN;
  check_that(windows > 0);
}

static void test_failures(void) { /* tried again ever more rarely */
  struct window_plan plan;
  struct window_step step = {.steps = 5, .overhead = 0.02, .wants_ops = true, .is_chosen = true};
  unsigned tries = 0;
  window_plan_begin(&plan);
  for (step.now_ns = 1; step.now_ns < 60000000000u; step.now_ns += 10000000) {
    if (window_plan_again(&plan, &step) != WINDOW_OPEN) continue;
    tries++;
    window_plan_failed(&plan, step.now_ns);
  }
  check_that(tries >= 6 && tries <= 11);
}

static void test_files(void) {
  char dump[512], directory[512], path[700];
  make_test_directory();
  snprintf(dump, sizeof dump, "%s/host-1.tfprof", test_directory);
  struct window_file file = {.dump = dump, .number = 3, .bytes = "\x0a\x00", .size = 2};
  struct stat facts;
  window_file_write(&file);
  check_that(strcmp(file.name, "host-1.3.xplane.pb") == 0 && !file.error[0] && file.written == 2);
  snprintf(path, sizeof path, "%.*s%s", (int)(strrchr(dump, '/') + 1 - dump), dump, file.name);
  check_that(stat(path, &facts) == 0 && (facts.st_mode & 0777) == 0600 && facts.st_size == 2);
  unlink(path);
  /* What TensorFlow has written: it is taken, and the directory goes. */
  snprintf(directory, sizeof directory, "%s/private", test_directory);
  static const char *const below[] = {"", "/plugins", "/plugins/profile", "/plugins/profile/2026"};
  for (unsigned i = 0; i < 4; i++) {
    snprintf(path, sizeof path, "%s%s", directory, below[i]);
    check_that(mkdir(path, 0700) == 0);
  }
  snprintf(path, sizeof path, "%s/plugins/profile/2026/vm.xplane.pb", directory);
  FILE *out = fopen(path, "w");
  check_that(out && fputs("whole", out) >= 0 && fclose(out) == 0);
  file = (struct window_file){.dump = dump, .number = 4, .directory = directory};
  window_file_write(&file);
  check_that(strcmp(file.name, "host-1.4.xplane.pb") == 0 && file.written == 5);
  check_that(stat(directory, &facts) != 0);
  snprintf(path, sizeof path, "%.*s%s", (int)(strrchr(dump, '/') + 1 - dump), dump, file.name);
  check_that(unlink(path) == 0);
  window_file_write(&file); /* there is nothing any more */
  check_that(!file.name[0] && strstr(file.error, "cannot be read"));
  file = (struct window_file){.dump = "/nowhere/at/all.tfprof", .bytes = "x", .size = 1};
  window_file_write(&file);
  check_that(!file.name[0] && strstr(file.error, "No such file"));
}

int main(void) {
  test_budget();
  test_short_steps();
  test_short_run();
  test_chosen();
  test_counted_anew();
  test_failures();
  test_files();
  return 0;
}
