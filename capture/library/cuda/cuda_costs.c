/* cuda_costs.c: see cuda_costs.h. */
#include "cuda_costs.h"

#include "channel/thread_record.h"
#include "governor/sampling.h"
#include "host/thread_switches.h"
#include "kernel_rows.h"
#include "launch_budget.h"
#include "launch_times.h"

#include <string.h>
#include <unistd.h>

enum {
  /* What CUPTI takes of a launching thread, ns, until it was measured: estimates, on the large side. */
  WORK_NS = 400,
  CALL_NS = 200,
  RENEW_SECONDS = 300, /* until it is measured again */
};

#define LEAST_RUNNING 0.05

pthread_mutex_t cuda_costs_lock = PTHREAD_MUTEX_INITIALIZER;

/* With the lock: until since_ns; from then on as the share says. What is told never goes back. */
static struct {
  bool is_on, is_thinned;
  uint64_t since_ns;
  double share;    /* of the time, while it is on */
  uint32_t thread; /* that ends the steps, and */
  double own;      /* its share of the calls */
  double on_ns, always_ns, full_ns, thread_ns;
  double switch_ns[2]; /* what switching off took last, and on */
} told;

/* With the lock. */
static void tell_until_now(void) {
  uint64_t now_ns = clock_monotonic_ns();
  double passed_ns = told.is_on && now_ns > told.since_ns ? (double)(now_ns - told.since_ns) : 0;
  double taken_ns = passed_ns * told.share;
  told.since_ns = now_ns;
  told.on_ns += passed_ns;
  if (!told.is_thinned) {
    told.always_ns += taken_ns;
    return;
  }
  told.full_ns += taken_ns;
  told.thread_ns += taken_ns * told.own;
}

/* With the lock. */
static void tell_switching(bool is_on, double switch_ns) {
  told.switch_ns[is_on] = switch_ns;
  if (!told.is_thinned) {
    told.always_ns += switch_ns;
  } else if (is_on) {
    double pair_ns = switch_ns + (told.switch_ns[false] > 0 ? told.switch_ns[false] : switch_ns);
    told.full_ns += pair_ns;
    told.thread_ns += pair_ns;
  }
}

void cuda_costs_record(bool is_on, uint64_t switch_ns) {
  pthread_mutex_lock(&cuda_costs_lock);
  tell_until_now();
  if (switch_ns) tell_switching(is_on, (double)switch_ns);
  told.is_on = is_on;
  pthread_mutex_unlock(&cuda_costs_lock);
}

void cuda_costs_add(uint32_t thread, struct source_cost *cost) {
  pthread_mutex_lock(&cuda_costs_lock);
  tell_until_now();
  cost->always_ns += told.always_ns;
  cost->full_ns += told.full_ns;
  if (thread == told.thread) cost->thread_full_ns += told.thread_ns;
  pthread_mutex_unlock(&cuda_costs_lock);
}

void cuda_costs_reset(void) { memset(&told, 0, sizeof told); }

/* ---- On the writer thread. */

static struct launch_budget budget;
static struct launch_times times;
static bool was_switched;
static bool is_calibrating;
static unsigned renew; /* seconds */
static struct activity_counts noted;
static struct kernel_leads noted_leads;
static double noted_on_ns;
static uint32_t watched, watched_number; /* a thread's id, and the governor's number of it */
static double noted_ns, noted_wait_ns;   /* when it was noted, and how long that thread had waited for a processor */

void cuda_costs_open(void) {
  launch_budget_begin(&budget, limits_overhead());
  launch_times_begin(&times);
  memset(&noted, 0, sizeof noted);
  memset(&noted_leads, 0, sizeof noted_leads);
  noted_on_ns = noted_ns = 0;
  noted_wait_ns = -1;
  was_switched = is_calibrating = false;
  watched = watched_number = renew = 0;
}

uint32_t cuda_costs_watched(void) { return watched; }
bool cuda_costs_want_thinned(void) { return budget.is_thinned; }
bool cuda_costs_are_over(void) { return launch_budget_is_over(&budget); }
bool cuda_costs_is_measuring(void) { return times.is_measuring; }
double cuda_costs_share(void) { return budget.share; }
struct launch_times *cuda_costs_times(void) {
  return was_switched ? &times : NULL;
}

void cuda_costs_note_switch(const struct record_switch *change) { launch_times_switch(&times, change); }

double cuda_costs_of_launch(bool *is_measured) {
  *is_measured = times.rounds > 0;
  return CALL_NS + (*is_measured ? times.kernel_ns : WORK_NS);
}

void cuda_costs_thin(bool is_thinned) {
  was_switched |= is_thinned;
  is_calibrating = false;
  launch_times_measure(&times, is_thinned && times.rounds < LAUNCH_ROUNDS);
  pthread_mutex_lock(&cuda_costs_lock);
  tell_until_now();
  told.is_thinned = is_thinned;
  pthread_mutex_unlock(&cuda_costs_lock);
}

bool cuda_costs_want_calibration(void) {
  return is_calibrating || (!times.rounds && !told.is_thinned && launch_budget_may_be_over(&budget));
}

void cuda_costs_calibrate(bool is_wanted) {
  was_switched |= is_wanted;
  is_calibrating = is_wanted;
  launch_times_measure(&times, is_wanted);
}

double cuda_costs_of_switching(void) {
  pthread_mutex_lock(&cuda_costs_lock);
  bool is_known = told.switch_ns[false] > 0 && told.switch_ns[true] > 0;
  double pair_ns = is_known ? told.switch_ns[false] + told.switch_ns[true] : 0;
  pthread_mutex_unlock(&cuda_costs_lock);
  return pair_ns;
}

static void measure(void) {
  if (launch_times_learn(&times)) {
    launch_times_measure(&times, told.is_thinned && times.rounds < LAUNCH_ROUNDS);
    is_calibrating = false;
    renew = 0;
  } else if (told.is_thinned && !times.is_measuring && ++renew >= RENEW_SECONDS) {
    launch_times_measure(&times, true);
  }
}

static void find_watched(void) {
  uint32_t number = sampling_step_thread();
  if (number == watched_number) return;
  const struct capture_thread *thread = number ? thread_of_number(number) : NULL;
  watched = thread ? thread->tid : 0;
  watched_number = thread ? number : 0;
  noted_wait_ns = -1;
}

/* The part of the time since it was noted last that the thread which launches was not kept waiting for a processor: on
** a busy machine it launches less, and each launch is slowed by as much. */
static double running_part(void) {
  double now_ns = (double)clock_monotonic_ns(), wait_ns = thread_wait_ns(watched ? (long)watched : (long)getpid());
  double passed_ns = now_ns - noted_ns, waited_ns = wait_ns - noted_wait_ns;
  bool is_known = noted_wait_ns >= 0 && wait_ns >= 0 && passed_ns > 0;
  noted_ns = now_ns;
  noted_wait_ns = wait_ns;
  if (!is_known || waited_ns < 0) return 1;
  double part = 1 - waited_ns / passed_ns;
  return part < LEAST_RUNNING ? LEAST_RUNNING : part;
}

void cuda_costs_note(const struct activity_counts *counts, bool can_thin) {
  struct kernel_leads leads = kernel_rows_leads();
  bool is_measured;
  pthread_mutex_lock(&cuda_costs_lock);
  tell_until_now();
  double on_ns = told.on_ns;
  pthread_mutex_unlock(&cuda_costs_lock);
  double running = running_part();
  const struct launch_use use = {.on_ns = (on_ns - noted_on_ns) * running,
                                 .works = counts->of_devices - noted.of_devices,
                                 .calls = counts->of_calls - noted.of_calls,
                                 .judged = leads.judged - noted_leads.judged,
                                 .exposed = leads.exposed - noted_leads.exposed};
  measure();
  const struct launch_prices prices = {.work_ns = cuda_costs_of_launch(&is_measured) - CALL_NS,
                                       .call_ns = CALL_NS,
                                       .writer_ns = limits_device_record_ns() * running}; /* of all of the time */
  launch_budget_note(&budget, &use, &prices, can_thin && sampling_step_thread() != 0);
  uint64_t of_watched = counts->of_watched - noted.of_watched;
  pthread_mutex_lock(&cuda_costs_lock);
  tell_until_now();
  told.share = budget.share * running;
  told.thread = watched_number;
  if (use.calls) told.own = (double)of_watched / (double)use.calls;
  pthread_mutex_unlock(&cuda_costs_lock);
  noted = *counts;
  noted_leads = leads;
  noted_on_ns = on_ns;
  find_watched();
}
