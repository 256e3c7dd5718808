/* limits.c: see limits.h. */
#include "limits.h"

#include "byte_budget.h"
#include "host/process_counters.h"
#include "host/process_identity.h"
#include "recorder/recorder.h"
#include "sampling.h"
#include "sampling_agreement.h"
#include "slow_steps.h"
#include "writer_costs.h"

#include <stdio.h>

static struct limits limits;

static struct byte_budget budget, device_budget;
static struct writer_costs costs;
static uint64_t began_ns, noted_ns; /* noted_ns: when the costs were; 0: not yet; */
static double noted_used_ns, noted_full_ns, noted_device_ns; /* what this thread had used then, for what is recorded in
                                                             ** detail, and of devices, */
static uint64_t noted_full_rows, noted_device_records;       /* which were so many */
static char thinned[160], devices_thinned[160];              /* why; empty: it is not */
static bool is_spoken_for, is_full;
static int64_t spoken_for_ns;

void limits_set(const struct limits *its_limits) { limits = *its_limits; }

uint64_t limits_bytes_an_hour(void) { return limits.bytes_an_hour; }

const char *limits_thinned(void) { return thinned[0] ? thinned : NULL; }

const char *limits_devices_thinned(void) { return devices_thinned[0] ? devices_thinned : NULL; }

bool limits_is_full(void) { return is_full; }

double limits_device_record_ns(void) { return costs.of_device.ns; }

double limits_overhead(void) { return limits.is_sampled ? limits.overhead : 0; }

unsigned limits_patience(void) { return byte_budget_patience(&budget); }

bool limits_spoken_for(int64_t *since_ns) {
  *since_ns = spoken_for_ns;
  return is_spoken_for;
}

/* ---- Which steps have their ops. */

static void diagnose_interval(struct recorder *recorder, const struct sampling_event *event) {
  if (!event->has_ops && event->interval <= 1) return; /* nothing is left out */
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

/* A program that ran already is recorded from here on: derive takes fewer of its steps for warm-up. */
static void diagnose_visit(struct recorder *recorder, int64_t time_ns, int64_t steps) {
  process_counters_add(recorder, time_ns, "capture_steps_before", "steps", (double)steps);
  recorder_diagnose(recorder, "info", "capture_attached", steps, NULL,
                    "recording began after so many steps of a program that ran already: of memory what was given "
                    "before is not known");
}

/* Whether it tells in which steps what can be left out is there: ops, and without any framework what devices did. Of
** frameworks whose ops come from windows of their own profilers (windows/window_source.h) these tell it. */
static bool tells_steps(const struct sampling_event *event) {
  return event->has_ops || !process_identity_has_framework();
}

/* What held before still does; a step that goes on has begun before that is known. */
static void restate(struct recorder *recorder, const struct sampling_event *event, int64_t time_ns) {
  process_counters_add(recorder, time_ns, "capture_steps_before", "steps", (double)event->step);
  if (tells_steps(event)) process_counters_add(recorder, time_ns, "capture_ops_recorded", "ratio", event->is_on);
  if (tells_steps(event) || !limits.is_sampled)
    process_counters_add(recorder, time_ns, "capture_ops_interval", "steps", event->interval);
  if (event->op_ns > 0) process_counters_add(recorder, time_ns, "capture_op_cost", "ns", event->op_ns);
}

/* When ops began and ceased to be recorded: derive reads there which steps have all of theirs. */
static void add_sampling(struct recorder *recorder) {
  struct sampling_event event;
  while (sampling_take_event(&event)) {
    int64_t time_ns = clock_map_ns(&recorder->clock, clock_map_place(&recorder->clock, event.ticks));
    if (event.is_restated) {
      restate(recorder, &event, time_ns);
      continue;
    }
    if (event.cuts_step) {
      process_counters_add(recorder, time_ns, "capture_step_cut", "steps", (double)event.step);
      continue;
    }
    if (event.begins_visit) diagnose_visit(recorder, time_ns, event.step);
    if (tells_steps(&event)) process_counters_add(recorder, time_ns, "capture_ops_recorded", "ratio", event.is_on);
    if (event.op_ns > 0) process_counters_add(recorder, time_ns, "capture_op_cost", "ns", event.op_ns);
    bool is_spoken = tells_steps(&event) || !limits.is_sampled; /* windows speak for themselves */
    if (!event.is_new || !is_spoken) continue;
    is_spoken_for = event.interval != 0;
    spoken_for_ns = time_ns;
    process_counters_add(recorder, time_ns, "capture_ops_interval", "steps", event.interval);
    diagnose_interval(recorder, &event);
  }
}

/* ---- What is kept to. */

static void thin(char *reason, const char *why) {
  if (!reason[0]) snprintf(reason, sizeof thinned, "%s", why);
}

/* What this thread takes from the program. */
static void keep_to_overhead(const struct recorder *recorder) {
  uint64_t now_ns = clock_monotonic_ns();
  double used_ns = clock_thread_ns();
  if (used_ns < noted_used_ns) noted_used_ns = 0; /* the thread has begun anew (recording_rest) */
  const struct writer_use use = {.passed_ns = noted_ns ? (double)(now_ns - noted_ns) : 0,
                                 .used_ns = used_ns - noted_used_ns,
                                 .full_ns = recorder->full_ns - noted_full_ns,
                                 .device_ns = recorder->device_ns - noted_device_ns,
                                 .records = recorder->full_rows - noted_full_rows,
                                 .device_records = recorder->device_records - noted_device_records,
                                 .idle_processors = process_counters_host()->idle};
  bool is_too_much = writer_costs_note(&costs, &use);
  sampling_note_writer(costs.always, costs.of_op.ns);
  if (is_too_much && budget.hour > 0)
    thin(thinned,
         "no processor is free for the recorder's thread, which takes more than a quarter of what --overhead allows "
         "for what it always records");
  noted_ns = now_ns;
  noted_used_ns = used_ns;
  noted_full_ns = recorder->full_ns;
  noted_device_ns = recorder->device_ns;
  noted_full_rows = recorder->full_rows;
  noted_device_records = recorder->device_records;
}

/* How fast the file grows. */
static void keep_to_rate(struct recorder *recorder, struct byte_budget *of, uint64_t bytes, char *reason,
                         const char *option) {
  unsigned levels = of->levels;
  double seconds = (double)(clock_monotonic_ns() - began_ns) * 1e-9;
  if (!byte_budget_note(of, seconds, bytes)) return;
  char why[128];
  snprintf(why, sizeof why, "the file grows faster than %s, %.1f MB an hour", option, of->hour / 1e6);
  thin(reason, why);
  if (of->levels == levels) return;
  sampling_note_rate(budget.levels > device_budget.levels ? budget.levels : device_budget.levels);
  recorder_diagnose(recorder, "info", "capture_thinned", of->levels, "ops",
                    "%s: ops are recorded in one step of %u of those that --overhead allows", why, 1u << of->levels);
}

static void keep_to_budgets(struct recorder *recorder) {
  uint64_t bytes = dump_writer_bytes_written(recorder->writer) + recorder->bytes_beside;
  uint64_t of_devices = recorder->tables.device_bytes;
  keep_to_rate(recorder, &budget, bytes - of_devices, thinned, "--max-rate");
  keep_to_rate(recorder, &device_budget, of_devices, devices_thinned, "--max-gpu-rate by what GPUs did");
}

/* The file is as large as it may be. */
static void keep_to_size(struct recorder *recorder) {
  if (sampling_note_bytes(dump_writer_bytes_written(recorder->writer) + recorder->bytes_beside)) return;
  recorder_diagnose(recorder, "warning", "capture_full", 0, "ops",
                    "the file has reached --max-size: from here on only steps, ranges, counters, and of memory what is "
                    "live, peaks and sums are recorded");
  is_full = true;
  thin(thinned, "the file has reached --max-size");
  thin(devices_thinned, "the file has reached --max-size");
}

static void diagnose_few_steps(struct recorder *recorder) { /* statistics need some with ops after the warm-up */
  uint64_t steps, recorded;
  if (!sampling_lacks_steps(&steps, &recorded)) return;
  recorder_diagnose(recorder, "warning", "capture_degraded", (int64_t)recorded, "ops",
                    "ops: degraded: of %llu steps only %llu after the warm-up were recorded with their ops",
                    (unsigned long long)steps, (unsigned long long)recorded);
}

static void diagnose_strays(struct recorder *recorder) {
  unsigned strays = sampling_agreement_strays();
  if (strays)
    recorder_diagnose(recorder, "error", "capture_stray_write", strays, NULL,
                      "the program replaced the descriptor of the table of ranks while it was written to, which this "
                      "system does not let us prevent: some bytes of it may stand in a file of the program's");
}

/* ---- The source. */

static bool governor_open(struct recorder *recorder) {
  (void)recorder;
  byte_budget_begin(&budget, limits.bytes_an_hour);
  byte_budget_begin(&device_budget, limits.is_sampled ? limits.device_bytes_an_hour : 0);
  writer_costs_begin(&costs, limits.overhead);
  began_ns = clock_monotonic_ns();
  noted_ns = noted_full_rows = noted_device_records = 0;
  noted_used_ns = noted_full_ns = noted_device_ns = 0;
  thinned[0] = devices_thinned[0] = 0;
  is_spoken_for = is_full = false;
  slow_steps_begin();
  return true;
}

static void diagnose_regular_steps(struct recorder *recorder) {
  uint64_t count = slow_steps_take_regular();
  if (count)
    recorder_diagnose(recorder, "info", "capture_not_written", (int64_t)count, "triggers",
                      "so many steps took long and are regular, as those with an evaluation or a checkpoint are: as "
                      "many steps after the last one that took as long as that was after the one before; the last "
                      "seconds are not written for them");
}

static void governor_tick(struct recorder *recorder, const struct clock_reading *now, bool is_end) {
  (void)now;
  diagnose_regular_steps(recorder);
  keep_to_overhead(recorder);
  add_sampling(recorder);
  keep_to_budgets(recorder);
  keep_to_size(recorder);
  if (is_end) diagnose_few_steps(recorder);
  if (is_end) diagnose_strays(recorder);
}

static void governor_restate(struct recorder *recorder) {
  (void)recorder;
  sampling_restate();
}

static void governor_pulse(struct recorder *recorder, const struct pulse *pulse) {
  (void)recorder;
  (void)pulse;
  slow_steps_look();
}

const struct capture_source governor_source = {
    .name = "governor",
    .locks = (const struct fork_lock[]){{.lock = &sampling_lock}, {0}},
    .open = governor_open,
    .complete = add_sampling,
    .tick = governor_tick,
    .restate = governor_restate,
    .pulse = governor_pulse,
};
