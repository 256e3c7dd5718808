/* cuda_source.c: see cuda_source.h. */
#include "cuda_source.h"

#include "activity_rows.h"
#include "cuda_costs.h"
#include "cuda_listener.h"
#include "cuda_report.h"
#include "cupti_faults.h"
#include "governor/sampling.h"
#include "launch_calibration.h"
#include "host/process_counters.h"
#include "recorder/gate.h"
#include "recorder/settings.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  BUFFER_BYTES = 32 << 20,
  LEFT_OUT_SECONDS = 1, /* of a step to measure: what follows a program's last mark is in a step without end */
};

static struct activity_lanes lanes;
static struct activity_counts counts;
static bool is_open, is_told_over, has_calibrated, is_clock_assumed;
static double told_launch_ns, told_switch_ns;
static unsigned session; /* of CUPTI, whose records are read */
static unsigned faults;  /* of its version: enum cupti_fault_effect */

/* Kernels are recorded in the steps whose ops are; in the others calls, to measure what recording takes. */
static _Atomic bool is_armed, is_thinned, is_measuring;
static struct launch_calibration calibration;
/* When the step began whose work is left out, in ticks; 0: none is. Whoever sets it to 0 tells that it has ended. */
static _Atomic uint64_t left_out_since;
static bool was_cut; /* such a step was ended by LEFT_OUT_SECONDS */
/* When steps began that are left out, and ended: one thread at a time adds, under the governor's lock; the writer
** thread takes. There is room for all. */
static struct {
  uint64_t ticks;
  bool is_left_out;
} left_out[2 * STEPS_LEFT_OUT + 1];
static _Atomic unsigned left_out_added, left_out_taken;
static _Atomic int wanted_detail = DETAIL_ALWAYS; /* as the governor said last: enum detail */

/* ---- On the program's threads. */

static void cuda_driver_found(void) {
  const char *words = setting("TFPROF_TRACE"), *size = setting("TFPROF_BUFFER_SIZE");
  char unknown[64] = "";
  if (words && !strcmp(words, "none")) return;
  unsigned traces = words && *words ? cuda_trace_of(words, unknown, sizeof unknown) : TRACE_DEFAULT;
  if (unknown[0]) capture_say("TFPROF_TRACE: %s is nothing that can be recorded; it is left out", unknown);
  if (traces) cuda_listener_begin(traces, size && *size ? strtoull(size, NULL, 10) : BUFFER_BYTES);
}

static enum cuda_recording wish(void) {
  if (!is_armed) return CUDA_NOTHING;
  if (!is_thinned) return left_out_since ? CUDA_CALLS : CUDA_ALL;
  return wanted_detail == DETAIL_FULL ? CUDA_ALL : is_measuring ? CUDA_CALLS : CUDA_NOTHING;
}

/* Threads of the program and the writer thread may come at once: the one that comes last does what both want. */
static void follow_wish(void) {
  enum cuda_recording recording;
  do {
    recording = wish();
    uint64_t switch_ns = cuda_listener_record(recording);
    cuda_costs_record(recording == CUDA_ALL, switch_ns);
  } while (recording != wish());
}

static bool cuda_arm(const struct source_wishes *wishes) {
  (void)wishes;
  is_armed = true;
  follow_wish();
  return true;
}

static void cuda_disarm(void) {
  is_armed = false;
  follow_wish();
}

static bool cuda_set_detail(enum detail detail) {
  wanted_detail = detail;
  if (is_thinned) follow_wish();
  return true;
}

static void add_left_out(uint64_t ticks, bool is_left_out) {
  unsigned added = left_out_added;
  left_out[added].ticks = ticks;
  left_out[added].is_left_out = is_left_out;
  left_out_added = added + 1;
}

static void cuda_step_begins(bool has_ops, uint64_t ticks) {
  uint64_t since = left_out_since;
  bool is_now = launch_calibration_step(&calibration, has_ops);
  if (is_now) {
    add_left_out(ticks, true); /* before the writer thread may end it */
    left_out_since = ticks;
  } else if (since && atomic_compare_exchange_strong(&left_out_since, &since, 0)) {
    add_left_out(ticks, false);
  } else {
    return;
  }
  follow_wish();
}

static void forget_calibration(void) {
  calibration.is_left_out = calibration.had_ops = false;
  calibration.allowed = calibration.left_out = 0;
  left_out_since = 0;
  left_out_added = left_out_taken = 0;
}

static void cuda_fetch(bool is_end, const struct timespec *until) { cuda_listener_fetch(is_end, until); }

static const char *cuda_reset(bool is_whole) {
  (void)is_whole;
  cuda_listener_reset();
  cuda_costs_reset();
  is_thinned = is_measuring = false;
  forget_calibration();
  cuda_costs_record(is_armed, 0);
  return NULL;
}

void cuda_source_step_aside(bool is_aside, const char *who) {
  if (gate_is_ours()) cuda_listener_step_aside(is_aside, who);
}

/* ---- On the writer thread. */

static bool cuda_open(struct recorder *recorder) {
  memset(&counts, 0, sizeof counts);
  cuda_costs_open();
  is_told_over = false;
  told_launch_ns = told_switch_ns = 0;
  has_calibrated = was_cut = is_clock_assumed = false;
  session = 0;
  cuda_report_begin();
  is_open = activity_lanes_begin(&lanes, recorder) && activity_rows_open(recorder);
  return is_open;
}

static void cuda_close(bool in_child) {
  (void)in_child;
  activity_rows_close();
  activity_lanes_end(&lanes);
  is_open = false;
}

static void tell_part(struct recorder *recorder) {
  static const char *const reasons[] = {"capture_off", "capture_degraded", "capture_ok"};
  struct capture_part part;
  char text[PART_TEXT_MAXIMUM];
  if (!cuda_listener_take_part(&part)) return;
  part_text(&part, text, sizeof text);
  recorder_diagnose(recorder, part.state == PART_OK ? "info" : "warning", reasons[part.state], 0, NULL, "%s", text);
}

static void note_readings(bool is_needed) {
  struct device_reading reading;
  while (cuda_listener_take_reading(&reading)) device_clock_note(&lanes.clock, &reading);
  device_clock_look(&lanes.clock);
  if (lanes.clock.readings || !is_needed) return;
  is_clock_assumed = true;
  /* CUPTI told none: its clock is the system's, as it is by itself. */
  clock_read(&reading.clock);
  reading.clock.ticks = (uint64_t)reading.clock.realtime_ns;
  reading.counts_ns = true;
  device_clock_note(&lanes.clock, &reading);
}

static void note_switches(void) {
  struct record_switch change;
  while (cuda_listener_take_switch(&change)) cuda_costs_note_switch(&change);
}

/* Numbers of calls belong to a session: those of the next one are not taken for those that were read before it. */
static void note_session(const struct cupti_api *api, const struct activity_buffer *buffer) {
  if ((int)(buffer->session - session) <= 0) return; /* one that came late is read as it can be */
  activity_rows_write_held(&lanes, api, &counts, cuda_costs_times(), true);
  activity_lanes_renumber(&lanes);
  session = buffer->session;
}

static uint64_t cuda_drain(struct recorder *recorder, uint64_t limit) {
  const struct cupti_api *api = cuda_listener_api();
  struct activity_buffer *buffer;
  uint64_t count = 0, known_of_others = lanes.of_other_clocks;
  tell_part(recorder);
  note_switches();
  if (!api) return 0;
  faults = cupti_faults_of(api->version);
  lanes.graph_numbers = !(faults & FAULT_OF_GRAPHS) || !cuda_listener_records_launches() ? NUMBERS_ARE_RIGHT
                        : cuda_listener_sessions() > 1                                   ? NUMBERS_ARE_DOUBTED
                                                                                         : NUMBERS_ARE_NOTED;
  note_readings(false);
  while (count < limit && (buffer = activity_buffers_take())) {
    note_readings(true);
    note_switches(); /* before which its calls ended, and after which they began */
    note_session(api, buffer);
    count += activity_rows_read(&lanes, api, buffer, &counts, cuda_costs_times());
    activity_buffers_return(buffer);
  }
  if (counts.of_listening) cuda_listener_note_call();
  if (lanes.of_other_clocks != known_of_others) cuda_listener_note_other_clock();
  recorder->device_records += count;
  return count;
}

/* ---- What it takes. */

static bool wants_to_measure(void) { return cuda_costs_is_measuring() && !(faults & FAULT_OF_SWITCHING); }

static int64_t monotonic_of(const struct recorder *recorder, uint64_t ticks) {
  return clock_map_ns(&recorder->clock, clock_map_place(&recorder->clock, ticks));
}

/* Steps whose work is left out to measure what it takes, as derive reads them. */
static void tell_left_out(struct recorder *recorder) {
  while (left_out_taken != left_out_added) {
    unsigned taken = left_out_taken;
    process_counters_add(recorder, monotonic_of(recorder, left_out[taken].ticks), "capture_calibration", "ratio",
                         left_out[taken].is_left_out);
    left_out_taken = taken + 1;
  }
}

/* A step goes on whose work is left out, and no other one may begin: it is recorded from now on. */
static void end_left_out(struct recorder *recorder) {
  uint64_t since = left_out_since;
  int64_t now_ns = (int64_t)clock_monotonic_ns();
  if (!since || now_ns - monotonic_of(recorder, since) < LEFT_OUT_SECONDS * INT64_C(1000000000)) return;
  tell_left_out(recorder); /* its beginning; it may end of itself at this moment */
  if (!atomic_compare_exchange_strong(&left_out_since, &since, 0)) return;
  was_cut = true;
  process_counters_add(recorder, now_ns, "capture_calibration", "ratio", 0);
  follow_wish();
}

/* `why`: NULL: no longer. */
static void thin(struct recorder *recorder, const struct clock_reading *now, const char *why) {
  cuda_costs_thin(why != NULL);
  is_thinned = why != NULL;
  is_measuring = wants_to_measure();
  follow_wish();
  process_counters_add(recorder, now->monotonic_ns, "capture_kernels_recorded", "ratio", !why);
  recorder_diagnose(recorder, "info", "capture_thinned", 0, "kernels",
                    "kernels, copies and calls into CUDA are recorded in %s from here on: %s",
                    why ? "the steps whose ops are," : "every step", why ? why : "that takes less than --overhead");
}

static const char *describe_share(char *text, size_t size) {
  bool is_measured;
  double launch_ns = cuda_costs_of_launch(&is_measured);
  snprintf(text, size, "%.1f %% of the time, %.0f ns for a launch, as it was %s", cuda_costs_share() * 100, launch_ns,
           is_measured ? "measured" : "estimated");
  return text;
}

/* `times`: so many times more than what was told last, or less, is told. */
static void tell_cost(struct recorder *recorder, const struct clock_reading *now, const char *name, double ns,
                      double *told_ns, double times) {
  if (ns <= 0 || (ns < *told_ns * times && ns > *told_ns / times)) return;
  *told_ns = ns;
  process_counters_add(recorder, now->monotonic_ns, name, "ns", ns);
}

static void tell_prices(struct recorder *recorder, const struct clock_reading *now) {
  bool is_measured;
  double launch_ns = cuda_costs_of_launch(&is_measured);
  tell_cost(recorder, now, "capture_launch_cost", is_measured ? launch_ns : 0, &told_launch_ns, 1.1);
  tell_cost(recorder, now, "capture_switch_cost", cuda_costs_of_switching(), &told_switch_ns, 2);
}

static void cuda_restate(struct recorder *recorder) {
  int64_t now_ns = (int64_t)clock_monotonic_ns();
  if (told_launch_ns > 0) process_counters_add(recorder, now_ns, "capture_launch_cost", "ns", told_launch_ns);
  if (told_switch_ns > 0) process_counters_add(recorder, now_ns, "capture_switch_cost", "ns", told_switch_ns);
  if (is_thinned) process_counters_add(recorder, now_ns, "capture_kernels_recorded", "ratio", 0);
}

/* What a launch takes is measured in the first steps that may tell of too much; once in a file. */
static void calibrate(struct recorder *recorder, bool can_thin, bool is_end) {
  tell_left_out(recorder);
  end_left_out(recorder);
  bool was_wanted = calibration.allowed > 0;
  bool is_over = calibration.left_out >= STEPS_LEFT_OUT || limits_is_full() || is_thinned || is_end;
  bool is_wanted = can_thin && !has_calibrated && !is_over && cuda_listener_records_launches() &&
                   sampling_step_thread() && cuda_costs_want_calibration();
  if (is_wanted && calibration.left_out == calibration.allowed) calibration.allowed *= 2u;
  if (is_wanted == was_wanted) return;
  if (!is_wanted && left_out_since && !is_end) { /* the last one is not over */
    calibration.allowed = calibration.left_out;
    return;
  }
  if (!is_thinned) cuda_costs_calibrate(is_wanted);
  calibration.allowed = is_wanted ? calibration.left_out + FIRST_LEFT_OUT : 0;
  if (is_wanted) return;
  has_calibrated = true;
  if (!calibration.left_out) return;
  bool is_measured;
  double launch_ns = cuda_costs_of_launch(&is_measured);
  recorder_diagnose(recorder, "info", "capture_calibrated", (int64_t)calibration.left_out, "kernels",
                    "of so many of the first steps%s kernels, copies and calls into CUDA were not recorded, to see "
                    "what recording a launch takes: %.0f ns, as it was %s; these steps count as warm-up",
                    was_cut ? ", or of their first second or two," : "", launch_ns,
                    is_measured ? "measured" : "estimated");
}

static void keep_to_limits(struct recorder *recorder, const struct clock_reading *now, bool is_end) {
  bool can_thin = !(faults & FAULT_OF_SWITCHING);
  const char *why = can_thin || limits_is_full() ? limits_devices_thinned() : NULL;
  char share[96], text[192];
  cuda_costs_note(&counts, can_thin);
  counts.watched = cuda_costs_watched();
  /* Each time that kinds are switched on again kernels of graphs may lose their call: not for a measurement. */
  calibrate(recorder, can_thin && !counts.of_graphs, is_end);
  tell_prices(recorder, now);
  if (is_measuring != wants_to_measure()) {
    is_measuring = wants_to_measure();
    follow_wish();
  }
  if (!why && cuda_costs_want_thinned()) {
    snprintf(text, sizeof text, "in every step that would take more than --overhead, %s",
             describe_share(share, sizeof share));
    why = text;
  }
  if ((why != NULL) != is_thinned) thin(recorder, now, why);
  if (is_thinned || is_told_over || !cuda_costs_are_over()) return;
  is_told_over = true;
  recorder_diagnose(recorder, "warning", "capture_degraded", 0, "kernels",
                    "cuda: recording takes %s, which is more than --overhead: %s", describe_share(share, sizeof share),
                    faults & FAULT_OF_SWITCHING
                        ? "this CUPTI may hang the program where it is switched off in between"
                        : "no step can stand for others, since the program marks none");
}

static void cuda_tick(struct recorder *recorder, const struct clock_reading *now, bool is_end) {
  tell_part(recorder);
  const struct cupti_api *api = cuda_listener_api();
  if (!api) return;
  activity_rows_write_held(&lanes, api, &counts, cuda_costs_times(), is_end);
  const struct cuda_reported reported = {&lanes, &counts, api->version, is_clock_assumed};
  cuda_report_second(recorder, &reported, now);
  keep_to_limits(recorder, now, is_end);
  if (is_end) cuda_report_end(recorder, &reported);
}

static void cuda_losses(struct recorder *recorder) {
  if (cuda_listener_api()) activity_rows_losses(recorder);
}

const struct capture_source cuda_source = {
    .name = "cuda",
    .locks = cuda_listener_locks,
    .arm = cuda_arm,
    .driver_found = cuda_driver_found,
    .disarm = cuda_disarm,
    .fetch = cuda_fetch,
    .set_detail = cuda_set_detail,
    .step_begins = cuda_step_begins,
    .cost = cuda_costs_add,
    .reset = cuda_reset,
    .open = cuda_open,
    .drain = cuda_drain,
    .tick = cuda_tick,
    .restate = cuda_restate,
    .losses = cuda_losses,
    .close = cuda_close,
};
