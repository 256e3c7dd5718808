/* nvml_source.c: see nvml_source.h. */
#include "nvml_source.h"

#include "nvml_devices.h"
#include "process_counters.h"
#include "recorder/clock.h"
#include "recorder/moments.h"
#include "recorder/own_threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum {
  PERIOD_MS = 1000,
  USE_SECONDS = 5, /* until all of several devices are asked where the process seems to use none */
  DRIVER_PERIOD_MS = 50, /* until the driver has been initialised, within which the thread begins */
  END_WAIT_MS = 300,     /* for a call of NVML, at the end; one that hangs is left behind */
  DESCRIPTION_WAIT_MS = 3000,
  RING = 256, /* of 8 GPUs half a minute */
};

static const struct {
  const char *name, *unit;
} values[GPU_VALUES] = {
    [GPU_UTILIZATION] = {"gpu_utilization", "ratio"},
    [GPU_MEMORY_UTILIZATION] = {"gpu_memory_utilization", "ratio"},
    [GPU_MEMORY_USED] = {"gpu_memory_used_bytes", "bytes"},
    [GPU_MEMORY_TOTAL] = {"gpu_memory_total_bytes", "bytes"},
    [GPU_PROCESS_MEMORY] = {"gpu_process_memory_bytes", "bytes"},
    [GPU_POWER] = {"gpu_power", "W"},
    [GPU_SM_CLOCK] = {"gpu_sm_clock", "Hz"},
    [GPU_MEMORY_CLOCK] = {"gpu_memory_clock", "Hz"},
    [GPU_TEMPERATURE] = {"gpu_temperature", "C"},
    [GPU_THROTTLE_REASONS] = {"gpu_throttle_reasons", "bits"},
    [GPU_PCIE_SENT] = {"gpu_pcie_sent_bytes", "bytes"},
    [GPU_PCIE_RECEIVED] = {"gpu_pcie_received_bytes", "bytes"},
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards has_thread, end_wanted and the end itself */
static pthread_cond_t changed;
static bool has_thread, end_wanted;

/* From that thread to the writer thread. */
static struct gpu_reading ring[RING];
static _Atomic uint64_t written, taken, dropped;
enum report { NOTHING_TO_REPORT, REPORT_BEGUN, REPORT_READY, REPORT_TOLD };
static _Atomic int report_state;
static char report_text[400];

/* ---- The thread. */

static void report(const char *text) {
  int expected = NOTHING_TO_REPORT;
  if (!atomic_compare_exchange_strong(&report_state, &expected, REPORT_BEGUN)) return; /* one is enough */
  snprintf(report_text, sizeof report_text, "%s", text);
  atomic_store(&report_state, REPORT_READY);
}

/* false: it is to end. */
static bool wait_until(uint64_t until_ns) {
  pthread_mutex_lock(&lock);
  while (!end_wanted && clock_monotonic_ns() < until_ns) {
    const struct timespec until = clock_deadline(until_ns);
    pthread_cond_timedwait(&changed, &lock, &until);
  }
  bool goes_on = !end_wanted;
  pthread_mutex_unlock(&lock);
  return goes_on;
}

static void report_failure(const struct gpu_reading *reading) {
  char text[200];
  snprintf(text, sizeof text,
           "gpu_counters: degraded: NVML tells nothing of GPU %d from here on (it answers %d): off the bus, an error "
           "of its memory, or an instance of MIG that was destroyed",
           reading->ordinal, reading->failure);
  report(text);
}

static void add_reading(int ordinal) {
  uint64_t at = atomic_load_explicit(&written, memory_order_relaxed);
  struct gpu_reading reading = {.time_ns = clock_monotonic_ns(), .ordinal = ordinal};
  if (!nvml_devices_read(ordinal, &reading)) {
    if (reading.failure) report_failure(&reading);
    return;
  }
  if (at - atomic_load_explicit(&taken, memory_order_acquire) >= RING) {
    atomic_fetch_add(&dropped, 1);
    return;
  }
  ring[at % RING] = reading;
  atomic_store_explicit(&written, at + 1, memory_order_release);
}

static int wait_for_driver(void) {
  int count;
  while ((count = nvml_devices_count()) < 0)
    if (!wait_until(clock_monotonic_ns() + DRIVER_PERIOD_MS * 1000000ull)) return 0;
  return count;
}

static void read_gpus(void) {
  char reason[300], text[400];
  int count = wait_for_driver();
  if (!count || !wait_until(0)) return;
  if (!nvml_begin(reason, sizeof reason)) {
    snprintf(text, sizeof text, "gpu_counters: off: %s", reason);
    report(text);
    return;
  }
  int known = nvml_devices_find(count);
  if (known < count) {
    snprintf(text, sizeof text, "gpu_counters: %s: NVML knows %d of the %d GPUs of this process",
             known ? "degraded" : "off", known, count);
    report(text);
  }
  unsigned idle = 0; /* seconds */
  for (uint64_t next = clock_monotonic_ns(); known && wait_until(next); next += PERIOD_MS * 1000000ull) {
    uint32_t used = nvml_devices_used(count);
    bool is_any = count == 1 || (!used && idle++ >= USE_SECONDS); /* whoever makes contexts by the driver has no such */
    for (int i = 0; i < count && wait_until(0); i++)
      if (is_any || used >> i & 1) add_reading(i);
    uint64_t now = clock_monotonic_ns();
    if (now > next + PERIOD_MS * 1000000ull) next = now; /* NVML took long: what was missed is not caught up on */
  }
}

static void *run_gpu_thread(void *argument) {
  prctl(PR_SET_NAME, "tfprof-gpu");
  read_gpus();
  pthread_mutex_lock(&lock);
  has_thread = false;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  return argument;
}

/* ---- On the program's threads. */

static void start_gpu_thread(void) {
  pthread_mutex_lock(&lock);
  bool is_wanted = !has_thread && !end_wanted;
  if (is_wanted) {
    moment_condition(&changed);
    has_thread = own_thread_start(NULL, run_gpu_thread, NULL);
    if (!has_thread) report("gpu_counters: off: its thread cannot be started");
  }
  pthread_mutex_unlock(&lock);
}

/* Waits a moment, so that NVML is not in use while the program's libraries end. */
static void end_gpu_thread(void) {
  const struct timespec until = moment_after(END_WAIT_MS);
  pthread_mutex_lock(&lock);
  end_wanted = true;
  if (has_thread) {
    pthread_cond_broadcast(&changed);
    while (has_thread)
      if (pthread_cond_timedwait(&changed, &lock, &until)) break;
  }
  pthread_mutex_unlock(&lock);
}

/* The thread is the parent's. */
static const char *reset_gpu_counters(bool is_whole) {
  (void)is_whole;
  pthread_mutex_init(&lock, NULL);
  has_thread = end_wanted = false;
  written = taken = dropped = 0;
  report_state = NOTHING_TO_REPORT;
  return NULL;
}

/* ---- On the writer thread. */

static void add_rows_of_reading(struct recorder *recorder, const struct gpu_reading *reading) {
  int64_t device = device_row_cuda(&recorder->devices, reading->ordinal);
  for (unsigned i = 0; i < GPU_VALUES && device >= 0; i++)
    if (reading->known >> i & 1)
      process_counters_add_of_device(recorder, (int64_t)reading->time_ns, device, values[i].name, values[i].unit,
                                     reading->values[i]);
}

/* A device's row is made once: while who tells what it is does not know yet, its readings wait, but not for ever. */
static bool is_described(struct recorder *recorder, const struct gpu_reading *reading) {
  struct device_facts facts = {0};
  if (!recorder->devices.tell_cuda || clock_monotonic_ns() - reading->time_ns > DESCRIPTION_WAIT_MS * 1000000ull)
    return true;
  recorder->devices.tell_cuda(reading->ordinal, &facts);
  return facts.model[0] != 0;
}

static void gpu_counters_tick(struct recorder *recorder, const struct clock_reading *now, bool is_end) {
  (void)now;
  uint64_t from = atomic_load_explicit(&taken, memory_order_relaxed);
  uint64_t to = atomic_load_explicit(&written, memory_order_acquire);
  for (; from < to && (is_end || is_described(recorder, &ring[from % RING])); from++)
    add_rows_of_reading(recorder, &ring[from % RING]);
  atomic_store_explicit(&taken, from, memory_order_release);
  if (atomic_load(&report_state) != REPORT_READY) return;
  recorder_diagnose(recorder, "warning", "capture_off", 0, "counters", "%s", report_text);
  atomic_store(&report_state, REPORT_TOLD);
}

static void gpu_counters_losses(struct recorder *recorder) {
  recorder_lost(recorder, (struct loss){.count = atomic_load(&dropped),
                                        .severity = "warning",
                                        .table = "counters",
                                        .message = "readings of GPUs had no room, because the recorder was held up"});
}

const struct capture_source gpu_counters_source = {
    .name = "gpu_counters",
    .driver_found = start_gpu_thread,
    .stop = end_gpu_thread,
    .reset = reset_gpu_counters,
    .tick = gpu_counters_tick,
    .losses = gpu_counters_losses,
};
