/* cuda_report.c: see cuda_report.h. */
#include "cuda_report.h"

#include "cuda_listener.h"
#include "cupti_faults.h"
#include "host/process_counters.h"
#include "host/thread_switches.h"
#include "kernel_rows.h"
#include "worker_watch.h"

#include <stdio.h>
#include <string.h>

static bool are_faults_told, has_told_held;
static struct worker_watch worker;

void cuda_report_begin(void) {
  are_faults_told = has_told_held = false;
  worker_watch_begin(&worker);
}

/* ---- Each second. */

/* What is wrong with this version, once. */
static void tell_faults(struct recorder *recorder, const struct cuda_reported *of) {
  const char *text;
  char name[CUPTI_VERSION_TEXT];
  for (unsigned i = 0; !are_faults_told && (text = cupti_fault_text(of->version, i)); i++)
    recorder_diagnose(recorder, "info", "cupti_fault", 0, NULL, "cuda: %s: %s", cupti_version_text(of->version, name),
                      text);
  are_faults_told = true;
}

static void watch_worker(struct recorder *recorder, const struct cuda_reported *of, const struct clock_reading *now) {
  long tid = activity_buffers_worker();
  double run_ns = tid ? thread_run_ns(tid) : -1;
  bool has_growth = cupti_faults_of(of->version) & FAULT_OF_GROWTH;
  if (!worker_watch_note(&worker, tid, (double)now->monotonic_ns, run_ns, of->counts->all)) return;
  recorder_diagnose(recorder, "warning", "cupti_fault", 0, NULL,
                    "cuda: CUPTI's own thread takes %.0f %% of a processor, %.0f ns for a record, and took %.0f ns at "
                    "first%s",
                    worker.share * 100, worker.last_ns, worker.first_ns,
                    has_growth ? ": CUPTI before that of CUDA 13.4 Update 1 does that in long runs" : "");
}

/* How far what is in the file lags behind, for the end that comes without a warning (capture/launcher/report.c). */
static void tell_arrears(struct recorder *recorder, const struct clock_reading *now) {
  struct activity_arrears arrears = activity_buffers_arrears((uint64_t)now->monotonic_ns);
  double behind_ns = (double)now->monotonic_ns - (double)arrears.since_ns;
  process_counters_add(recorder, now->monotonic_ns, "cupti_behind", "ns", behind_ns);
  if (arrears.held || has_told_held)
    process_counters_add(recorder, now->monotonic_ns, "cupti_held", "count", arrears.held);
  has_told_held = arrears.held;
}

void cuda_report_second(struct recorder *recorder, const struct cuda_reported *of, const struct clock_reading *now) {
  tell_faults(recorder, of);
  watch_worker(recorder, of, now);
  if (of->lanes->clock.readings)
    process_counters_add(recorder, now->monotonic_ns, "cupti_clock_error", "ns", of->lanes->clock.error_ns);
  tell_arrears(recorder, now);
}

/* ---- At the end. */

static void tell_count(struct recorder *recorder, uint64_t count, const char *table, const char *what) {
  if (count) recorder_diagnose(recorder, "warning", "capture_degraded", (int64_t)count, table, "cuda: %s", what);
}

static void tell_clock(struct recorder *recorder, const struct cuda_reported *of) {
  const struct device_clock *clock = &of->lanes->clock;
  double seconds = (double)(clock->last_ns - clock->first_ns) * 1e-9;
  if (clock->readings <= of->is_clock_assumed) return;
  recorder_diagnose(recorder, "info", "capture_clock", (int64_t)clock->readings, NULL,
                    "cuda: CUPTI %s, and went %.3f microseconds a second ahead of ours; %llu readings, within %u ns "
                    "each, were foretold to %.0f ns",
                    clock->is_kept ? "kept time by our clock" : "kept time by a clock of its own",
                    seconds > 0 ? (clock->last_offset_ns - clock->first_offset_ns) * 1e-3 / seconds : 0,
                    (unsigned long long)clock->readings, clock->uncertainty_ns, clock->worst_ns);
  uint64_t doubtful = clock->doubtful + (clock->was_set ? clock->since_reading : 0);
  if (clock->jumps)
    recorder_diagnose(recorder, "warning", "capture_degraded", (int64_t)doubtful, NULL,
                      "cuda: CUPTI's clock was set while it was recorded (%llu times): of so many records the times "
                      "may be off by as much as it was set by",
                      (unsigned long long)clock->jumps);
}

static void tell_missing_kernels(struct recorder *recorder, const struct cuda_reported *of) {
  enum { MANY = 100, OF_12_4 = 22, OF_12_6 = 24 };
  const struct activity_counts *counts = of->counts;
  if (counts->kernels || counts->launches < MANY || !cuda_listener_records_kernels()) return;
  recorder_diagnose(recorder, "warning", "capture_degraded", (int64_t)counts->launches, "kernels",
                    "cuda: of so many launches CUPTI has recorded no kernel%s",
                    of->version >= OF_12_4 && of->version < OF_12_6
                        ? "; that of CUDA 12.4 does that (mended in CUDA 12.5 Update 1)"
                        : "");
}

void cuda_report_end(struct recorder *recorder, const struct cuda_reported *of) {
  const struct activity_counts *counts = of->counts;
  const struct activity_lanes *lanes = of->lanes;
  char text[192];
  struct cuda_refusals refusals = cuda_kinds_refusals();
  tell_clock(recorder, of);
  snprintf(text, sizeof text, "CUPTI refused what it was asked for, at first %s", refusals.first);
  tell_count(recorder, refusals.count, NULL, text);
  tell_count(recorder, cuda_listener_kept_back(), NULL,
             "CUPTI has not given so many buffers back when all were asked for: what is in them, if anything, is lost");
  snprintf(text, sizeof text, "records of kinds that are not known were left out: kind %u and others",
           counts->unknown_kinds[0]);
  if (!counts->unknown_kinds[1]) text[strlen(text) - strlen(" and others")] = 0;
  tell_count(recorder, counts->unknown, NULL, text);
  tell_count(recorder, counts->damaged, NULL, "records were cut off, or not as CUPTI writes them, and were left out");
  tell_count(recorder, lanes->without_times, NULL, "records have no times: CUPTI could not tell them");
  tell_count(recorder, lanes->of_other_clocks, NULL,
             "records have no times: CUPTI told those of a clock that is neither the recorder's nor its own");
  tell_count(recorder, lanes->of_lost_graphs, "kernels",
             "kernels and copies of CUDA graphs have no call, op and line: this CUPTI may have given them those of "
             "other launches, since it was switched off and on (mended in CUDA 13.1 Update 1)");
  tell_missing_kernels(recorder, of);
  tell_count(recorder, cuda_listener_is_stuck(), NULL,
             "the driver or CUPTI did not answer at the end: what had not been fetched is lost");
  tell_count(recorder, lanes->reversed, NULL, "records end before they begin, and have no duration");
  tell_count(recorder, lanes->doubted_ends, "kernels",
             "kernels and copies went on while recording was switched off in between, and have no duration: CUPTI may "
             "tell a wrong end of such work");
  tell_count(recorder, kernel_rows_early(), "kernels",
             "kernels began before the call that launched them, as CUPTI tells the times of devices");
}
