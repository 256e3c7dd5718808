/* sampling.c: see sampling.h. */
#include "sampling.h"

#include "clock.h"
#include "op_callbacks.h"
#include "thread_record.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SHARE 0.6

enum {
  OP_COST_NS = 400, /* in a real step, with shapes and stack: measured 300 to 450 on several machines */
  WARMUP_STEPS = 3, /* as in ext/derive/step_marks.c */
  FIRST_STEPS = 5,  /* after them, recorded in any case */
  REVIEW_STEPS = 50,
  INTERVAL_MAXIMUM = 1000,
  SERIES_MAXIMUM = 8,
  PATTERN_MAXIMUM = 8,
  ROUNDS = 8, /* that show a pattern */
  KEPT_MARKS = 33,  /* to find the pattern in */
  LEARN_MARKS = 17, /* an irregular series is taken for one without pattern, until KEPT_MARKS are there */
  KEPT_STEPS = 16,  /* whose durations are looked at */
  FEWEST_STEPS = 8, /* without ops, to say how long one takes */
  SILENT_MARKS = 200,
  EVENTS = 1024,
};

struct mark {
  uint64_t start, end; /* ticks */
};

struct series {
  enum step_mark kind;
  uint32_t thread, name; /* name 0 where it differs from mark to mark */
  uint64_t count;
  unsigned first_ended; /* which of the series ended its first mark when */
  struct mark marks[KEPT_MARKS]; /* the first ones */
};

struct durations {
  double ns[KEPT_STEPS];
  unsigned count;
};

static struct {
  struct sampling_options options;
  bool is_active, is_on, is_full, is_switched_off;
  unsigned windows, size_factor;
  struct series series[SERIES_MAXIMUM];
  unsigned series_count;
  struct series *leader;
  bool is_learnt;
  bool must_review;
  unsigned per_step, phase;
  uint64_t silence; /* marks of others since the last one of the leader */
  uint64_t steps, recorded; /* recorded: after the warm-up */
  uint64_t steps_before; /* when the series were forgotten last */
  int64_t step_began_ns;
  uint64_t ops_before;
  bool is_step_whole; /* the step that is going on was recorded from its beginning on */
  uint32_t interval, drawn_interval;
  uint64_t block_end, next_step, reviewed; /* in steps */
  struct durations with_ops, without_ops, op_counts;
  double cost_ns, step_ns;
  uint64_t random;
} sampling;

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

/* options.max_bytes, for the writer thread: it does not wait for the lock, which a fork holds that waits for it. */
static _Atomic uint64_t limit_bytes;

/* One thread at a time adds (under the lock), the writer thread takes. */
static struct sampling_event events[EVENTS];
static _Atomic uint64_t events_added, events_taken;
static uint32_t told_interval = UINT32_MAX;

/* ---- Switching. */

static bool has_event_room(void) { return atomic_load(&events_added) - atomic_load(&events_taken) < EVENTS - 1; }

/* Recording begins or ends at `ticks`. `interval`: for how many steps one speaks from here on. */
static void apply(bool is_wanted, uint32_t interval, uint64_t ticks) {
  if (sampling.windows) is_wanted = true;
  else if (sampling.is_switched_off) is_wanted = false, interval = 0;
  if (is_wanted == sampling.is_on && interval == told_interval) return;
  if (!has_event_room()) return; /* the writer thread is stuck: things stay as they are */
  if (is_wanted != sampling.is_on) {
    if (is_wanted) is_wanted = ops_arm();
    else ops_disarm();
    sampling.is_on = is_wanted;
  }
  uint64_t added = atomic_load_explicit(&events_added, memory_order_relaxed);
  events[added % EVENTS] = (struct sampling_event){.ticks = ticks,
                                                   .is_on = is_wanted,
                                                   .interval = interval,
                                                   .is_new = interval != told_interval,
                                                   .step = (int64_t)sampling.steps,
                                                   .cost_ns = (uint32_t)sampling.cost_ns,
                                                   .step_ns = (uint32_t)sampling.step_ns};
  told_interval = interval;
  atomic_store_explicit(&events_added, added + 1, memory_order_release);
}

/* Whether the ops of step `step` are wanted; `interval` is filled. */
static bool decide(uint64_t step, uint32_t *interval) {
  const struct sampling_options *options = &sampling.options;
  *interval = 0;
  if (options->mode == OPS_NONE) return false;
  if (options->last_step >= 0) {
    bool is_inside = (int64_t)step >= options->first_step && (int64_t)step <= options->last_step;
    *interval = is_inside;
    return is_inside && !sampling.is_full;
  }
  *interval = sampling.interval;
  if (sampling.is_full) return false;
  if (sampling.interval <= 1) return true;
  if (step >= sampling.block_end || sampling.interval != sampling.drawn_interval) {
    sampling.random = sampling.random * 6364136223846793005u + 1442695040888963407u;
    sampling.block_end = step + sampling.interval;
    sampling.next_step = step + (sampling.random >> 33) % sampling.interval;
    sampling.drawn_interval = sampling.interval;
  }
  return step == sampling.next_step;
}

static void follow(uint64_t ticks) {
  uint32_t interval;
  bool is_wanted = decide(sampling.steps, &interval);
  apply(is_wanted, interval, ticks);
}

/* ---- What a step costs. */

static int by_value(const void *left, const void *right) {
  const double *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

static double quantile(double *values, unsigned count, double share) {
  qsort(values, count, sizeof *values, by_value);
  return values[(unsigned)((count - 1) * share)];
}

static void keep(struct durations *durations, double ns) {
  durations->ns[durations->count++ % KEPT_STEPS] = ns;
}

static double median(const struct durations *durations) {
  double values[KEPT_STEPS];
  unsigned count = durations->count < KEPT_STEPS ? durations->count : KEPT_STEPS;
  memcpy(values, durations->ns, sizeof values);
  return count ? quantile(values, count, 0.5) : 0;
}

static void measure_cost(void) {
  double with_ops = median(&sampling.with_ops), without = median(&sampling.without_ops);
  double modelled = median(&sampling.op_counts) * OP_COST_NS, cost = modelled;
  if (sampling.with_ops.count >= 5 && sampling.without_ops.count >= FEWEST_STEPS) {
    cost = with_ops - without;
    if (cost < modelled / 2) cost = modelled / 2;
    if (cost > modelled * 2) cost = modelled * 2;
  }
  if (sampling.without_ops.count < FEWEST_STEPS) without = with_ops > 2 * cost ? with_ops - cost : with_ops / 2;
  sampling.cost_ns = cost;
  sampling.step_ns = without;
}

static void choose_interval(void) {
  sampling.reviewed = sampling.steps;
  sampling.must_review = false;
  measure_cost();
  double allowed = sampling.options.mode == OPS_ALL ? 0 : sampling.options.overhead * SHARE * sampling.step_ns;
  double wanted = allowed > 0 ? sampling.cost_ns / allowed : sampling.options.mode == OPS_ALL ? 1 : INTERVAL_MAXIMUM;
  wanted *= sampling.size_factor;
  if (wanted > INTERVAL_MAXIMUM) wanted = INTERVAL_MAXIMUM;
  uint32_t interval = wanted > 1 ? (uint32_t)(wanted + 0.999) : 1;
  double change = (double)interval / sampling.interval;
  if (sampling.interval > 1 && change > 0.75 && change < 1.25) return;
  sampling.interval = interval;
}

/* ---- Which marks end steps. */

static struct series *find_series(enum step_mark kind, uint32_t thread, uint32_t name) {
  if (kind != MARK_OPTIMIZER) name = 0;
  for (unsigned i = 0; i < sampling.series_count; i++) {
    struct series *series = &sampling.series[i];
    if (series->kind == kind && series->thread == thread && series->name == name) return series;
  }
  if (sampling.series_count == SERIES_MAXIMUM) return NULL;
  struct series *series = &sampling.series[sampling.series_count];
  *series = (struct series){.kind = kind, .thread = thread, .name = name, .first_ended = sampling.series_count++};
  return series;
}

static struct series *best_series(void) {
  struct series *best[MARK_USER + 1] = {NULL};
  for (unsigned i = 0; i < sampling.series_count; i++) {
    struct series *series = &sampling.series[i], **place = &best[series->kind];
    /* One that is in the middle of a round has one mark more than the last of the round. */
    if (!*place || series->count + 1 >= (*place)->count) *place = series;
  }
  if (best[MARK_USER]) return best[MARK_USER];
  struct series *profiler = best[MARK_PROFILER], *optimizer = best[MARK_OPTIMIZER];
  return profiler && (!optimizer || profiler->count * 2 + 1 >= optimizer->count) ? profiler : optimizer;
}

/* The 80th percentile of how far periods are from the median of their group, period i in group i % groups. */
static double deviation(const double *periods, unsigned count, unsigned groups) {
  double room[KEPT_MARKS], deviations[KEPT_MARKS];
  for (unsigned group = 0; group < groups; group++) {
    unsigned used = 0;
    for (unsigned i = group; i < count; i += groups) room[used++] = periods[i];
    double middle = quantile(room, used, 0.5);
    for (unsigned i = group; i < count; i += groups)
      deviations[i] = periods[i] > middle ? periods[i] - middle : middle - periods[i];
  }
  return quantile(deviations, count, 0.8);
}

/* How many marks make a step, and after which the longest pause comes: as find_pattern of ext/derive/steps.c. false:
** more marks are needed. */
static bool find_pattern(const struct series *series) {
  unsigned marks = series->count < KEPT_MARKS ? (unsigned)series->count : KEPT_MARKS, count = marks - 1;
  double periods[KEPT_MARKS] = {0}, room[KEPT_MARKS] = {0};
  sampling.per_step = 1;
  sampling.phase = 0;
  if (series->kind != MARK_OPTIMIZER) return true;
  for (unsigned i = 0; i < count; i++) room[i] = periods[i] = (double)(series->marks[i + 1].end - series->marks[i].end);
  double all = deviation(periods, count, 1);
  if (all <= quantile(room, count, 0.5) / 8) return true;
  for (unsigned m = 2; m <= PATTERN_MAXIMUM && count >= ROUNDS * m; m++) {
    if (deviation(periods, count, m) > all / 4) continue;
    double longest = -1;
    sampling.per_step = m;
    for (unsigned phase = 0; phase < m; phase++) {
      unsigned used = 0;
      for (unsigned i = phase; i < count; i += m)
        room[used++] = (double)(series->marks[i + 1].start - series->marks[i].end);
      double pause = quantile(room, used, 0.5);
      if (pause > longest) {
        longest = pause;
        sampling.phase = phase;
      }
    }
    return true;
  }
  return marks >= LEARN_MARKS;
}

/* ---- Steps. */

static uint64_t count_ops(void) {
  uint64_t count = 0;
  for (unsigned number = 1; number <= thread_count(); number++) {
    struct capture_thread *thread = thread_of_number(number);
    if (thread) count += atomic_load_explicit(&thread->ops_written, memory_order_relaxed);
  }
  return count;
}

/* How many steps the marks of a series have ended. */
static uint64_t rounds_of(const struct series *series) {
  return (series->count + sampling.per_step - 1 - sampling.phase) / sampling.per_step;
}

static void end_step(int64_t now) {
  uint64_t ops = count_ops();
  bool is_recorded = sampling.is_step_whole && sampling.is_on;
  if (sampling.step_began_ns && sampling.steps >= WARMUP_STEPS) {
    double duration = (double)(now - sampling.step_began_ns);
    if (is_recorded) {
      keep(&sampling.with_ops, duration);
      keep(&sampling.op_counts, (double)(ops - sampling.ops_before));
      sampling.recorded++;
    } else if (!sampling.is_on) {
      keep(&sampling.without_ops, duration);
    }
  }
  sampling.steps = sampling.steps_before + rounds_of(sampling.leader);
  sampling.ops_before = ops;
  sampling.step_began_ns = now;
}

static void learn(void) {
  uint64_t count = sampling.leader->count;
  if (count < WARMUP_STEPS + FIRST_STEPS || !find_pattern(sampling.leader)) return;
  sampling.is_learnt = rounds_of(sampling.leader) >= WARMUP_STEPS + FIRST_STEPS;
  sampling.steps = sampling.steps_before + rounds_of(sampling.leader);
  if (sampling.recorded > sampling.steps) sampling.recorded = sampling.steps;
}

static bool is_review_due(void) {
  if (!sampling.is_learnt) return false;
  return sampling.must_review || sampling.steps - sampling.reviewed >= REVIEW_STEPS ||
         sampling.without_ops.count == FEWEST_STEPS;
}

/* Everything is recorded until it is known again what ends a step. */
static void forget_series(void) {
  sampling.steps_before = sampling.steps;
  sampling.series_count = 0;
  sampling.leader = NULL;
  sampling.is_learnt = false;
  sampling.must_review = true;
  sampling.per_step = 1;
  sampling.phase = sampling.silence = 0;
  sampling.interval = 1;
}

/* What ended the steps does so no more: the program has gone over to another optimizer, or has begun to mark steps. */
static bool is_leader_gone(enum step_mark kind) {
  return sampling.is_learnt && ((kind == MARK_USER && sampling.leader->kind != MARK_USER) ||
                                sampling.silence > SILENT_MARKS * sampling.per_step);
}

void sampling_mark_ended(enum step_mark kind, uint32_t thread, uint32_t name, uint64_t start_ticks,
                         uint64_t end_ticks) {
  int64_t now = (int64_t)clock_monotonic_ns();
  if (pthread_mutex_trylock(&guard)) return;
  if (sampling.is_active && is_leader_gone(kind)) forget_series();
  struct series *series = sampling.is_active ? find_series(kind, thread, name) : NULL;
  if (series) {
    if (series->count < KEPT_MARKS) series->marks[series->count] = (struct mark){start_ticks, end_ticks};
    series->count++;
    if (!sampling.is_learnt) sampling.leader = best_series();
    bool is_end = series == sampling.leader && (series->count - 1) % sampling.per_step == sampling.phase;
    sampling.silence = series == sampling.leader ? 0 : sampling.silence + 1;
    if (is_end) end_step(now);
    if (!sampling.is_learnt || (series == sampling.leader && series->count == KEPT_MARKS)) learn();
    if (is_end) {
      if (is_review_due()) choose_interval();
      follow(end_ticks);
      sampling.is_step_whole = sampling.is_on;
    }
  }
  pthread_mutex_unlock(&guard);
}

enum step_mark sampling_mark_kind(const char *name) {
  if (name[0] == 'O' && !strncmp(name, "Optimizer.step#", 15)) return MARK_OPTIMIZER;
  if (name[0] == 'P' && !strncmp(name, "ProfilerStep#", 13)) return MARK_PROFILER;
  if (name[0] == 't' && !strncmp(name, "tfprof.step#", 12)) return MARK_USER;
  return MARK_NONE;
}

/* ---- From outside. */

static void reset(void) {
  struct sampling_options options = sampling.options;
  bool is_on = sampling.is_on;
  memset(&sampling, 0, sizeof sampling);
  sampling.options = options;
  sampling.is_on = is_on;
  sampling.is_active = true;
  sampling.interval = sampling.size_factor = 1;
  sampling.random = clock_monotonic_ns();
  sampling.is_step_whole = true;
  forget_series();
  atomic_store(&events_added, 0);
  atomic_store(&events_taken, 0);
  told_interval = UINT32_MAX;
  follow(clock_ticks());
}

void sampling_begin(const struct sampling_options *options) {
  pthread_mutex_lock(&guard);
  sampling.options = *options;
  atomic_store_explicit(&limit_bytes, options->max_bytes, memory_order_relaxed);
  sampling.is_on = false;
  reset();
  pthread_mutex_unlock(&guard);
}

void sampling_before_fork(void) { pthread_mutex_lock(&guard); }
void sampling_after_fork_in_parent(void) { pthread_mutex_unlock(&guard); }
void sampling_after_fork_in_child(bool is_recording) {
  pthread_mutex_init(&guard, NULL);
  if (is_recording) reset();
}

void sampling_end(void) {
  pthread_mutex_lock(&guard);
  sampling.is_active = sampling.is_on = false;
  ops_disarm();
  pthread_mutex_unlock(&guard);
}

bool sampling_switch(int mode) {
  pthread_mutex_lock(&guard);
  sampling.is_switched_off = mode != 1;
  follow(clock_ticks());
  sampling.is_step_whole = false;
  if (!sampling.is_on) ops_disarm();
  bool is_done = mode == 2 ? ops_arm_empty() : true;
  pthread_mutex_unlock(&guard);
  return is_done;
}

void sampling_window(int change) {
  pthread_mutex_lock(&guard);
  if (change > 0) sampling.windows++;
  else if (sampling.windows) sampling.windows--;
  if (sampling.is_active) {
    bool was_on = sampling.is_on;
    follow(clock_ticks());
    if (was_on != sampling.is_on) sampling.is_step_whole = false;
  }
  pthread_mutex_unlock(&guard);
}

bool sampling_note_bytes(uint64_t bytes) {
  uint64_t limit = atomic_load_explicit(&limit_bytes, memory_order_relaxed);
  if (!limit || bytes < limit / 2) return true;
  pthread_mutex_lock(&guard);
  unsigned factor = bytes >= limit - limit / 10 ? 8 : bytes >= limit - limit / 4 ? 4 : 2;
  if (factor != sampling.size_factor) {
    sampling.size_factor = factor;
    sampling.must_review = true;
  }
  bool is_reached = bytes >= limit && !sampling.is_full && sampling.is_active;
  if (is_reached) {
    sampling.is_full = true;
    follow(clock_ticks());
  }
  pthread_mutex_unlock(&guard);
  return !is_reached;
}

bool sampling_take_event(struct sampling_event *event) {
  uint64_t taken = atomic_load_explicit(&events_taken, memory_order_relaxed);
  if (taken == atomic_load_explicit(&events_added, memory_order_acquire)) return false;
  *event = events[taken % EVENTS];
  atomic_store_explicit(&events_taken, taken + 1, memory_order_release);
  return true;
}

void sampling_counts(uint64_t *steps, uint64_t *recorded) {
  pthread_mutex_lock(&guard);
  *steps = sampling.steps;
  *recorded = sampling.recorded;
  pthread_mutex_unlock(&guard);
}
