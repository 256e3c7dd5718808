/* limits.c: see limits.h. */
#include "limits.h"

#include "byte_budget.h"
#include "host/process_counters.h"
#include "recorder/recorder.h"
#include "sampling.h"
#include "writer_costs.h"

#include <stdio.h>

static uint64_t bytes_an_hour;
static double overhead;

static struct byte_budget budget;
static struct writer_costs costs;
static uint64_t began_ns, noted_ns; /* noted_ns: when the costs were; 0: not yet; */
static double noted_used_ns, noted_full_ns; /* what this thread had used then, and for what is recorded in detail, */
static uint64_t noted_full_rows;    /* which were so many */
static char thinned[160];           /* why; empty: it is not */
static bool is_spoken_for;
static int64_t spoken_for_ns;

void limits_set(uint64_t its_bytes_an_hour, double its_overhead) {
  bytes_an_hour = its_bytes_an_hour;
  overhead = its_overhead;
}

const char *limits_thinned(void) { return thinned[0] ? thinned : NULL; }

double limits_overhead(void) { return bytes_an_hour ? overhead : 0; }

unsigned limits_patience(void) { return byte_budget_patience(&budget); }

bool limits_spoken_for(int64_t *since_ns) {
  *since_ns = spoken_for_ns;
  return is_spoken_for;
}

/* ---- Which steps have their ops. */

static void diagnose_interval(struct recorder *recorder, const struct sampling_event *event) {
  if (event->interval > 1)
    recorder_diagnose(recorder, "info", "capture_interval", event->interval, "ops",
                      "from step %lld on ops are recorded in one step of %u (level %d%s): a step takes %.2f ms, "
                      "%.3f ms of it for what is always recorded, and %.2f ms more with ops",
                      (long long)event->step, event->interval, __builtin_ctz(event->interval),
                      event->is_others ? ", as another rank needs" : "", event->step_ns * 1e-6,
                      event->always_ns * 1e-6, event->cost_ns * 1e-6);
  else
    recorder_diagnose(recorder, "info", "capture_interval", event->interval, "ops", "from step %lld on %s",
                      (long long)event->step,
                      event->interval ? "the ops of every step are recorded" : "ops are not recorded");
}

/* When ops began and ceased to be recorded: derive reads there which steps have all of theirs. */
static void add_sampling(struct recorder *recorder) {
  struct sampling_event event;
  while (sampling_take_event(&event)) {
    int64_t time_ns = clock_map_ns(&recorder->clock, event.ticks);
    process_counters_add(recorder, time_ns, "capture_ops_recorded", "ratio", event.is_on);
    if (event.op_ns > 0) process_counters_add(recorder, time_ns, "capture_op_cost", "ns", event.op_ns);
    if (!event.is_new) continue;
    is_spoken_for = event.interval != 0;
    spoken_for_ns = time_ns;
    process_counters_add(recorder, time_ns, "capture_ops_interval", "steps", event.interval);
    diagnose_interval(recorder, &event);
  }
}

/* ---- What is kept to. */

static void thin(const char *why) {
  if (!thinned[0]) snprintf(thinned, sizeof thinned, "%s", why);
}

/* What this thread takes from the program. */
static void keep_to_overhead(const struct recorder *recorder) {
  uint64_t now_ns = clock_monotonic_ns();
  double used_ns = clock_thread_ns();
  const struct writer_use use = {.passed_ns = noted_ns ? (double)(now_ns - noted_ns) : 0,
                                 .used_ns = used_ns - noted_used_ns,
                                 .full_ns = recorder->full_ns - noted_full_ns,
                                 .records = recorder->full_rows - noted_full_rows,
                                 .idle_processors = process_counters_host()->idle};
  bool is_too_much = writer_costs_note(&costs, &use);
  sampling_note_writer(costs.always, costs.record_ns);
  if (is_too_much && budget.hour > 0)
    thin("no processor is free for the recorder's thread, which takes more than a quarter of what --overhead allows "
         "for what it always records");
  noted_ns = now_ns;
  noted_used_ns = used_ns;
  noted_full_ns = recorder->full_ns;
  noted_full_rows = recorder->full_rows;
}

/* How fast the file grows. */
static void keep_to_budget(struct recorder *recorder) {
  unsigned levels = budget.levels;
  double seconds = (double)(clock_monotonic_ns() - began_ns) * 1e-9;
  if (!byte_budget_note(&budget, seconds, dump_writer_bytes_written(recorder->writer))) return;
  char why[96];
  snprintf(why, sizeof why, "the file grows faster than --max-rate, %.1f MB an hour", budget.hour / 1e6);
  thin(why);
  if (budget.levels == levels) return;
  sampling_note_rate(budget.levels);
  recorder_diagnose(recorder, "info", "capture_thinned", budget.levels, "ops",
                    "%s: ops are recorded in one step of %u of those that --overhead allows", why, 1u << budget.levels);
}

/* The file is as large as it may be. */
static void keep_to_size(struct recorder *recorder) {
  if (sampling_note_bytes(dump_writer_bytes_written(recorder->writer))) return;
  recorder_diagnose(recorder, "warning", "capture_full", 0, "ops",
                    "the file has reached --max-size: from here on only steps, ranges, counters, and of memory what is "
                    "live, peaks and sums are recorded");
  thin("the file has reached --max-size");
}

static void diagnose_few_steps(struct recorder *recorder) { /* statistics need some with ops after the warm-up */
  uint64_t steps, recorded;
  if (!sampling_lacks_steps(&steps, &recorded)) return;
  recorder_diagnose(recorder, "warning", "capture_degraded", (int64_t)recorded, "ops",
                    "ops: degraded: of %llu steps only %llu after the warm-up were recorded with their ops",
                    (unsigned long long)steps, (unsigned long long)recorded);
}

/* ---- The source. */

static bool governor_open(struct recorder *recorder) {
  (void)recorder;
  byte_budget_begin(&budget, bytes_an_hour);
  writer_costs_begin(&costs, overhead);
  began_ns = clock_monotonic_ns();
  noted_ns = noted_full_rows = 0;
  noted_used_ns = noted_full_ns = 0;
  thinned[0] = 0;
  is_spoken_for = false;
  return true;
}

static void governor_tick(struct recorder *recorder, const struct clock_reading *now, bool is_end) {
  (void)now;
  keep_to_overhead(recorder);
  add_sampling(recorder);
  keep_to_budget(recorder);
  keep_to_size(recorder);
  if (is_end) diagnose_few_steps(recorder);
}

const struct capture_source governor_source = {
    .name = "governor",
    .locks = (const struct fork_lock[]){{.lock = &sampling_lock}, {0}},
    .open = governor_open,
    .complete = add_sampling,
    .tick = governor_tick,
};
