/* make_sampled_capture_dumps: writes dumps of made-up programs, once with the ops of every step and many times with
** those of the steps that the recorder would have chosen, for tests of what is said of all steps (_sampled_steps).
**
**   make_sampled_capture_dumps DIRECTORY PROGRAM FIRST COUNT
**
** writes DIRECTORY/full.tfprof, DIRECTORY/unrecorded.tfprof, the same as if recording took no time, and
** DIRECTORY/NUMBER.tfprof for COUNT jobs from number FIRST on.  A job does what the
** program does, but for chance: its steps are drawn by another seed, and recorded as sampling_plan.h decides it by what
** they cost.  PROGRAM is 0 to PROGRAMS - 1: steps that grow, alternate, come in bursts, and mixtures of these; the same
** number is the same program each time.  Without arguments the names of the programs are printed.
**
** In each step some ops come always, others as much as it has to do, others only in a few steps or by chance.  There
** are few, so that thousands of steps are soon read; each costs the recorder as much as a hundred real ones, and that
** is paid just before it begins.  The first kind is the forward pass, and each of its ops calls another one; the second
** runs within backward(), the third within the optimizer.
*/
#include "governor/sampling_plan.h"
#include "governor/step_marks.h"

#include "dump/writer.h"
#include "schema/schema.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAXIMUM_STEPS = 2000, MAXIMUM_OPS = 400, FORWARD = 0, BACKWARD = 1, OPTIMIZER = 2, KINDS = 4 };
enum { OP_NS = 40000, START_NS = 1000000000, PROCESS_NS = 2000000000 };

struct step {
  int64_t outside_ns; /* that it takes besides its ops */
  unsigned counts[KINDS];
  int64_t durations[MAXIMUM_OPS];
};

/* ---- Programs. */

static uint64_t random_state;

static double random_share(void) { /* 0 to 1 */
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (double)(random_state >> 33) / (double)(1u << 31);
}

static double normal(void) { /* nearly */
  double sum = -6;
  for (int i = 0; i < 12; i++) sum += random_share();
  return sum;
}

static bool is_in_cluster; /* of clusters, kept from step to step */

static double burst(double share, double size) { return random_share() < share ? size : 1; }

static double cluster(double begins, double ends, double size) {
  if (random_share() < (is_in_cluster ? ends : begins)) is_in_cluster = !is_in_cluster;
  return is_in_cluster ? size : 1;
}

static double linear(double x, unsigned n) { (void)n; return 1 + 3 * x; }
static double squared(double x, unsigned n) { (void)n; return 1 + 5 * x * x; }
static double shrinking(double x, unsigned n) { (void)n; return 4 - 3 * sqrt(x); }
static double stages(double x, unsigned n) { (void)n; return 1 + floor(4 * x); }
static double every_second(double x, unsigned n) { (void)x; return n % 2 ? 3 : 1; }
static double every_third(double x, unsigned n) { (void)x; return 1 + n % 3; }
static double every_eighth(double x, unsigned n) { (void)x; return n % 8 == 7 ? 5 : 1; }
static double coin(double x, unsigned n) { (void)x; (void)n; return burst(0.5, 3); }
static double every_tenth(double x, unsigned n) { (void)x; return n % 10 == 3 ? 6 : 1; }
static double often(double x, unsigned n) { (void)x; (void)n; return burst(0.1, 4); }
static double seldom(double x, unsigned n) { (void)x; (void)n; return burst(0.03, 8); }
static double clustered(double x, unsigned n) { (void)x; (void)n; return cluster(0.03, 0.2, 4); }
static double many_clusters(double x, unsigned n) { (void)x; (void)n; return cluster(0.1, 0.25, 4); }
static double evaluation(double x, unsigned n) { (void)x; return n % 50 == 49 ? 10 : 1; }
static double same(double x, unsigned n) { (void)x; (void)n; return 1; }
static double any_length(double x, unsigned n) { (void)x; (void)n; return exp(0.5 * normal()); }
static double growing_bursts(double x, unsigned n) { (void)n; return (1 + 2 * x) * burst(0.08, 4); }
static double growing_by_turns(double x, unsigned n) { return n % 2 ? 1 + 4 * x : 1; }
static double noisy_waves(double x, unsigned n) { (void)n; return (1.5 + sin(20 * x)) * exp(0.2 * normal()); }

struct program {
  const char *name;
  double (*work)(double, unsigned); /* of step n, which is so far on its way: about 1 */
  unsigned steps;
  double step_ms;
};
static const struct program programs[] = {
    {"growing", linear, 400, 12},          {"growing faster", squared, 300, 12},
    {"shrinking", shrinking, 300, 10},     {"in stages", stages, 500, 10},
    {"every second", every_second, 300, 8}, {"every third", every_third, 500, 10},
    {"every eighth", every_eighth, 500, 10}, {"by chance", coin, 300, 8},
    {"every tenth", every_tenth, 500, 10}, {"bursts", often, 400, 10},
    {"rare bursts", seldom, 600, 10},      {"clusters", clustered, 500, 8},
    {"evaluation", evaluation, 500, 10},   {"the same", same, 200, 10},
    {"any length", any_length, 300, 10},   {"growing bursts", growing_bursts, 400, 8},
    {"growing by turns", growing_by_turns, 300, 8}, {"noisy waves", noisy_waves, 600, 10},
    {"dense", many_clusters, 200, 60},     {"short clusters", many_clusters, 40, 6},
    {"mostly recording", same, 200, 3},
};
enum { PROGRAMS = sizeof programs / sizeof programs[0] };

static void make_step(const struct program *program, unsigned number, struct step *step) {
  double work = program->work((double)number / program->steps, number);
  step->counts[0] = 8;
  step->counts[1] = (unsigned)(12 * work + random_share());
  step->counts[2] = work > 2.5 ? 5 : 0;
  step->counts[3] = random_share() < 0.3 ? 1 + (unsigned)(4 * random_share()) : 0;
  unsigned all = 0;
  for (unsigned kind = 0; kind < KINDS; kind++) {
    if (step->counts[kind] > MAXIMUM_OPS / KINDS) step->counts[kind] = MAXIMUM_OPS / KINDS;
    for (unsigned i = 0; i < step->counts[kind]; i++)
      step->durations[all++] = (int64_t)(program->step_ms * 1e4 * (kind + 1) * exp(0.3 * normal()));
  }
  step->outside_ns = (int64_t)(program->step_ms * 1e6 * (0.3 + 0.3 * work) * exp(0.05 * normal()));
}

/* ---- Dumps. */

static struct tfprof_error error;

static void stop(void) {
  char text[2200];
  error_text(&error, text, sizeof text);
  fprintf(stderr, "make_sampled_capture_dumps: %s\n", text);
  exit(1);
}

static struct {
  struct dump_writer *writer;
  int64_t names[KINDS], inner, op, user;
  int64_t name[DUMP_FRAME_ROWS], category[DUMP_FRAME_ROWS], thread[DUMP_FRAME_ROWS], end[DUMP_FRAME_ROWS],
      duration[DUMP_FRAME_ROWS];
  uint32_t rows;
} dump;

static int64_t text(const char *given) { return dump_writer_string(dump.writer, given, strlen(given)); }

static void write_ops(void) {
  const struct column_spec *columns = schema_tables[TABLE_ops].columns;
  const struct dump_column_data data[] = {
      {.dump_id = columns[COLUMN_ops_name].dump_id, .integers = dump.name},
      {.dump_id = columns[COLUMN_ops_category].dump_id, .integers = dump.category},
      {.dump_id = columns[COLUMN_ops_thread_id].dump_id, .integers = dump.thread},
      {.dump_id = columns[COLUMN_ops_end_ns].dump_id, .order = DUMP_ASCENDING, .integers = dump.end},
      {.dump_id = columns[COLUMN_ops_dur_ns].dump_id, .integers = dump.duration},
  };
  if (dump.rows && dump_writer_rows(dump.writer, schema_tables[TABLE_ops].dump_id, dump.rows, data, 5, &error)) stop();
  dump.rows = 0;
}

static void add_op(int64_t name, int64_t category, int64_t end, int64_t duration) {
  if (dump.rows == DUMP_FRAME_ROWS) write_ops();
  dump.name[dump.rows] = name;
  dump.category[dump.rows] = category;
  dump.end[dump.rows] = end;
  dump.duration[dump.rows++] = duration;
}

static void add_counter(const char *name, int64_t time_ns, double value) {
  const struct column_spec *columns = schema_tables[TABLE_counters].columns;
  int64_t names[] = {text(name)}, times[] = {time_ns};
  double values[] = {value};
  const struct dump_column_data data[] = {
      {.dump_id = columns[COLUMN_counters_name].dump_id, .integers = names},
      {.dump_id = columns[COLUMN_counters_time_ns].dump_id, .integers = times},
      {.dump_id = columns[COLUMN_counters_value].dump_id, .is_real = true, .reals = values},
  };
  if (dump_writer_rows(dump.writer, schema_tables[TABLE_counters].dump_id, 1, data, 3, &error)) stop();
}

static void open_dump(const char *directory, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.tfprof", directory, name);
  const struct dump_profile profile = {.host = "host", .clock_domain = "realtime", .rank = -1,
                                       .created_realtime_ns = 1};
  if (dump_writer_create(path, true, &profile, &dump.writer, &error)) stop();
  int64_t kind[] = {text("host")};
  const struct dump_column_data thread = {
      .dump_id = schema_tables[TABLE_threads].columns[COLUMN_threads_kind].dump_id, .integers = kind};
  if (dump_writer_rows(dump.writer, schema_tables[TABLE_threads].dump_id, 1, &thread, 1, &error)) stop();
  static const char *const names[] = {"aten::linear", "aten::work", "aten::burst", "aten::chance"};
  for (unsigned i = 0; i < KINDS; i++) dump.names[i] = text(names[i]);
  dump.inner = text("aten::inner");
  dump.op = text("op");
  dump.user = text("user");
}

/* The ops of one kind from `now` on; when they have ended. `cost_ns`: what recording one takes; negative: none is
** recorded. */
static int64_t run_ops(unsigned kind, const int64_t *durations, unsigned count, double cost_ns, int64_t now) {
  static const char *const ranges[KINDS] = {[BACKWARD] = "torch.autograd.backward",
                                            [OPTIMIZER] = "Optimizer.step#SGD.step"};
  int64_t began = now;
  for (unsigned i = 0; i < count; i++) {
    if (cost_ns < 0) {
      now += durations[i];
      continue;
    }
    now += (int64_t)(cost_ns * (0.8 + 0.3 * random_share())); /* it is not known better than so */
    int64_t start = now;
    if (kind == FORWARD) {
      now += (int64_t)(cost_ns * (0.8 + 0.3 * random_share())) + durations[i] / 2;
      add_op(dump.inner, dump.op, now, durations[i] / 2);
    }
    now += kind == FORWARD ? durations[i] - durations[i] / 2 : durations[i];
    add_op(dump.names[kind], dump.op, now, now - start);
  }
  if (ranges[kind] && count) add_op(text(ranges[kind]), dump.user, now, now - began);
  return now;
}

/* A job that runs the program, with its ops recorded as the plan decides. */
static void write_job(const char *directory, const char *name, const struct program *program,
                      const struct step *steps, const struct sampling_options *options, double cost_ns) {
  struct sampling_plan plan;
  int64_t now = START_NS;
  int is_on = -1;
  uint32_t told = UINT32_MAX;
  open_dump(directory, name);
  if (cost_ns > 0) add_counter("capture_op_cost", now, cost_ns);
  sampling_plan_begin(&plan, options);
  sampling_plan_start(&plan, PROCESS_NS, 0);
  for (unsigned number = 0; number < program->steps; number++) {
    const struct step *step = &steps[number];
    uint32_t interval;
    bool is_wanted = sampling_plan_wants_ops(&plan, number, plan.wanted, &interval);
    if (is_wanted != is_on) add_counter("capture_ops_recorded", now, is_on = is_wanted);
    if (interval != told) add_counter("capture_ops_interval", now, told = interval);
    int64_t began = now;
    unsigned ops = step->counts[FORWARD]; /* the inner ones */
    for (unsigned kind = 0, first = 0; kind < KINDS; first += step->counts[kind++]) {
      now = run_ops(kind, &step->durations[first], step->counts[kind], is_wanted ? cost_ns : -1, now);
      ops += step->counts[kind];
    }
    now += step->outside_ns;
    char mark[32];
    snprintf(mark, sizeof mark, "tfprof.step#%u", number);
    add_op(text(mark), dump.user, now, now - began);
    const struct step_seen seen = {.wall_ns = now - began,
                                   .thread_ns = now - began,
                                   .full_ns = is_wanted ? ops * cost_ns : 0,
                                   .records_ns = is_wanted ? ops * cost_ns : 0,
                                   .thread_full_ns = is_wanted ? ops * cost_ns : 0,
                                   .records = is_wanted ? ops : 0,
                                   .has_all_ops = is_wanted,
                                   .has_no_ops = !is_wanted};
    sampling_plan_add(&plan, number, &seen);
    if (number + 2 >= WARMUP_STEPS + FIRST_STEPS) sampling_plan_review(&plan, number + 1);
  }
  write_ops();
  if (dump_writer_close(dump.writer, &error)) stop();
}

int main(int argument_count, char **arguments) {
  if (argument_count == 1)
    for (unsigned i = 0; i < PROGRAMS; i++) puts(programs[i].name);
  if (argument_count == 1) return 0;
  unsigned number = argument_count == 5 ? (unsigned)strtoul(arguments[2], NULL, 10) : PROGRAMS;
  if (number >= PROGRAMS) {
    fprintf(stderr, "usage: make_sampled_capture_dumps DIRECTORY PROGRAM FIRST COUNT\n");
    return 2;
  }
  static struct step steps[MAXIMUM_STEPS];
  const struct program *program = &programs[number];
  random_state = number + 1;
  for (unsigned i = 0; i < program->steps; i++) make_step(program, i, &steps[i]);
  struct sampling_options options = {.mode = OPS_ALL, .overhead = 0.02, .last_step = -1};
  write_job(arguments[1], "unrecorded", program, steps, &options, 0);
  write_job(arguments[1], "full", program, steps, &options, OP_NS);
  options.mode = OPS_SAMPLED;
  unsigned long first = strtoul(arguments[3], NULL, 10), count = strtoul(arguments[4], NULL, 10);
  for (unsigned long i = first; i < first + count; i++) {
    char name[32];
    snprintf(name, sizeof name, "%lu", i);
    options.seed = sampling_seed_of(name);
    random_state = options.seed;
    write_job(arguments[1], name, program, steps, &options, OP_NS);
  }
  return 0;
}
