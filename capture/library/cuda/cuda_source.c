/* cuda_source.c: see cuda_source.h. */
#include "cuda_source.h"

#include "activity_rows.h"
#include "cuda_listener.h"
#include "governor/limits.h"
#include "host/process_counters.h"
#include "kernel_rows.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  BUFFER_BYTES = 32 << 20,
  /* What CUPTI takes of a launching thread for a record, ns: what it takes is not told apart from the launch itself, so
  ** that this is an estimate, on the large side. */
  DEVICE_RECORD_NS = 400,
  CALL_RECORD_NS = 200,
  PATIENCE = 5, /* seconds that it may take too much */
};

static struct activity_lanes lanes;
static struct activity_counts counts;
static bool is_open, follows_steps;
static unsigned patience;
static uint64_t ticked_work, ticked_calls, ticked_ns;

/* For the governor: nanoseconds taken until a moment, and a share of the time since. */
static _Atomic double taken_ns, taken_share;
static _Atomic uint64_t taken_at_ns;
static _Atomic bool is_thinned;

/* ---- On the program's threads. */

static void cuda_driver_found(void) {
  const char *words = getenv("TFPROF_TRACE"), *size = getenv("TFPROF_BUFFER_SIZE");
  char unknown[64] = "";
  if (words && !strcmp(words, "none")) return;
  unsigned traces = words && *words ? cuda_trace_of(words, unknown, sizeof unknown) : TRACE_DEFAULT;
  if (unknown[0]) capture_say("TFPROF_TRACE: %s is nothing that can be recorded; it is left out", unknown);
  if (traces) cuda_listener_begin(traces, size && *size ? strtoull(size, NULL, 10) : BUFFER_BYTES);
}

static bool cuda_arm(const struct source_wishes *wishes) {
  (void)wishes;
  cuda_listener_record(!is_thinned || gate_wants_full());
  return true;
}

static void cuda_disarm(void) { cuda_listener_record(false); }

static bool cuda_set_detail(enum detail detail) {
  if (is_thinned) cuda_listener_record(detail == DETAIL_FULL);
  return true;
}

static void cuda_cost(uint32_t thread, struct source_cost *cost) {
  (void)thread;
  uint64_t since_ns = clock_monotonic_ns() - taken_at_ns;
  cost->always_ns += taken_ns + taken_share * (double)since_ns;
}

static void cuda_settle(bool is_end, const struct timespec *until) { cuda_listener_fetch(is_end, until); }

static const char *cuda_reset(bool is_whole) {
  (void)is_whole;
  cuda_listener_reset();
  is_thinned = false;
  taken_ns = taken_share = 0;
  return NULL;
}

void cuda_source_step_aside(bool is_aside) { cuda_listener_step_aside(is_aside); }

/* ---- On the writer thread. */

static bool cuda_open(struct recorder *recorder) {
  memset(&counts, 0, sizeof counts);
  follows_steps = false;
  patience = 0;
  ticked_work = ticked_calls = 0;
  ticked_ns = clock_monotonic_ns();
  taken_at_ns = ticked_ns;
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
  struct clock_reading reading;
  while (cuda_listener_take_reading(&reading)) device_clock_note(&lanes.clock, &reading);
  if (lanes.clock.has_begun || !is_needed) return;
  /* CUPTI told none: its clock is the system's, as it is by itself. */
  clock_read(&reading);
  reading.ticks = (uint64_t)reading.realtime_ns;
  device_clock_note(&lanes.clock, &reading);
}

static uint64_t cuda_drain(struct recorder *recorder, uint64_t limit) {
  const struct cupti_api *api = cuda_listener_api();
  struct activity_buffer *buffer;
  uint64_t count = 0;
  tell_part(recorder);
  if (!api) return 0;
  note_readings(false);
  while (count < limit && (buffer = activity_buffers_take())) {
    note_readings(true);
    count += activity_rows_read(&lanes, api, buffer, &counts);
    activity_buffers_return(buffer);
  }
  recorder->device_records += count;
  return count;
}

/* ---- What it takes. */

static void follow_steps(struct recorder *recorder, const char *why) {
  follows_steps = true;
  is_thinned = true;
  cuda_listener_record(gate_wants_full());
  recorder_diagnose(recorder, "info", "capture_thinned", 0, "kernels",
                    "kernels, copies and calls into CUDA are recorded in the steps whose ops are, from here on: %s",
                    why);
}

/* The time that its records took of the program's since the last tick. */
static double note_cost(void) {
  uint64_t now_ns = clock_monotonic_ns();
  double used_ns = (double)(counts.of_devices - ticked_work) * DEVICE_RECORD_NS +
                   (double)(counts.of_calls - ticked_calls) * CALL_RECORD_NS;
  double passed_ns = (double)(now_ns - ticked_ns), share = passed_ns > 0 ? used_ns / passed_ns : 0;
  /* Until now it was told as if the share before went on: what is told never goes back. */
  double told_ns = taken_ns + taken_share * (double)(now_ns - taken_at_ns);
  taken_ns = told_ns;
  taken_share = share;
  taken_at_ns = now_ns;
  ticked_work = counts.of_devices;
  ticked_calls = counts.of_calls;
  ticked_ns = now_ns;
  return share;
}

static void keep_to_limits(struct recorder *recorder) {
  double share = note_cost(), allowed = limits_overhead();
  const char *why = limits_devices_thinned();
  patience = allowed > 0 && share > allowed ? patience + 1 : 0;
  if (follows_steps) return;
  if (why) follow_steps(recorder, why);
  else if (patience >= PATIENCE) follow_steps(recorder, "in every step they would take more than --overhead");
}

/* ---- What is told at the end. */

static void tell_count(struct recorder *recorder, uint64_t count, const char *table, const char *what) {
  if (count) recorder_diagnose(recorder, "warning", "capture_degraded", (int64_t)count, table, "cuda: %s", what);
}

static void tell_clock(struct recorder *recorder) {
  const struct device_clock *clock = &lanes.clock;
  double seconds = (double)(clock->last_ns - clock->first_ns) * 1e-9;
  if (!clock->readings) return;
  recorder_diagnose(recorder, "info", "capture_clock", (int64_t)clock->readings, NULL,
                    "cuda: CUPTI's clock went %.3f microseconds a second ahead of ours; %llu readings, within %u ns "
                    "each, were foretold to %.0f ns",
                    seconds > 0 ? (clock->last_offset_ns - clock->first_offset_ns) * 1e-3 / seconds : 0,
                    (unsigned long long)clock->readings, clock->uncertainty_ns, clock->worst_ns);
  tell_count(recorder, clock->jumps, NULL,
             "CUPTI's clock was set while it was recorded: times before and after that "
             "may be apart by as much as it was set by");
}

static void tell_records(struct recorder *recorder) {
  char text[160];
  tell_clock(recorder);
  snprintf(text, sizeof text, "records of kinds that are not known were left out: kind %u and others",
           counts.unknown_kinds[0]);
  if (!counts.unknown_kinds[1]) text[strlen(text) - strlen(" and others")] = 0;
  tell_count(recorder, counts.unknown, NULL, text);
  tell_count(recorder, counts.damaged, NULL, "records were cut off, or not as CUPTI writes them, and were left out");
  tell_count(recorder, lanes.without_times, NULL, "records have no times: CUPTI could not tell them");
  tell_count(recorder, lanes.reversed, NULL, "records end before they begin, and have no duration");
  tell_count(recorder, kernel_rows_early(), "kernels",
             "kernels began before the call that launched them, as CUPTI tells the times of devices");
}

static void cuda_tick(struct recorder *recorder, const struct clock_reading *now, bool is_end) {
  tell_part(recorder);
  if (!cuda_listener_api()) return;
  keep_to_limits(recorder);
  if (lanes.clock.readings)
    process_counters_add(recorder, now->monotonic_ns, "cupti_clock_error", "ns", lanes.clock.error_ns);
  if (is_end) tell_records(recorder);
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
    .settle = cuda_settle,
    .set_detail = cuda_set_detail,
    .cost = cuda_cost,
    .reset = cuda_reset,
    .open = cuda_open,
    .drain = cuda_drain,
    .tick = cuda_tick,
    .losses = cuda_losses,
    .close = cuda_close,
};
