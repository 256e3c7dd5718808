/* sampling.c: see sampling.h. */
#include "sampling.h"

#include "channel/thread_record.h"
#include "host/process_counters.h"
#include "host/process_identity.h"
#include "recorder/clock.h"
#include "recorder/gate.h"
#include "recorder/moments.h"
#include "sampling_agreement.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
  EVENTS = 1024,
  PACE_PLACES = 256, /* the steps that are looked at, those before them, and those that end meanwhile */
};

static struct {
  struct sampling_options options;
  struct sampling_plan plan;
  struct step_marks marks;
  bool is_active, is_on, is_switched_off, is_paused, is_started, is_held;
  bool is_dormant; /* steps are counted, and ops are not recorded */
  unsigned windows;
  bool is_step_whole; /* the step that is going on was recorded from its beginning on */
  int64_t step_began_ns, step_began_thread_ns;
  int64_t left_out_ns; /* of the step that goes on: what we took at once */
  long waits; /* of the thread until then: how often it gave up its processor by itself */
  uint32_t step_thread; /* which ended the last step */
  struct source_cost before; /* of all sources when it ended */
  struct level_wish told_wish; /* to the other ranks */
} sampling;

static const struct capture_source *const *sources;

/* Of a dormant program: with the lock. */
static struct {
  struct visit facts;
  uint64_t wanted_ns, wanted_steps;
  bool is_new;    /* the writer thread has not been told that it begins */
  bool is_within; /* it began within the step that goes on */
} visit;
static _Atomic uint64_t steps_so_far;

pthread_mutex_t sampling_lock = PTHREAD_MUTEX_INITIALIZER;

/* options.max_bytes, for the writer thread: it does not wait for the lock, which a fork holds that waits for it. */
static _Atomic uint64_t limit_bytes;
/* What the writer thread takes from the program, as it said last: always, of the time; for a record of an op. */
static _Atomic double writer_share, writer_record_ns;
static _Atomic double windows_share; /* of the time, too */

/* One thread at a time adds (under the lock), the writer thread takes. */
static struct sampling_event events[EVENTS];
static _Atomic uint64_t events_added, events_taken;
static uint32_t told_interval = UINT32_MAX;
static double told_op_ns;

/* sampling.step_thread, for the writer thread. */
static _Atomic uint32_t step_thread;
/* The same of how steps go: the last ones, each in the place of the one PACE_PLACES before. */
static struct {
  _Atomic uint64_t steps, timed;
  _Atomic int64_t number, ended_ns, took_ns[PACE_PLACES];
  _Atomic bool is_paused;
} pace;

/* Step `number` has ended. */
static void note_pace(uint64_t number, int64_t now, int64_t took_ns) {
  if (took_ns > 0) {
    uint64_t timed = atomic_load_explicit(&pace.timed, memory_order_relaxed);
    atomic_store_explicit(&pace.took_ns[timed % PACE_PLACES], took_ns, memory_order_relaxed);
    atomic_store_explicit(&pace.timed, timed + 1, memory_order_release);
  }
  atomic_store_explicit(&pace.number, (int64_t)number + 1, memory_order_relaxed);
  atomic_store_explicit(&pace.ended_ns, now, memory_order_relaxed);
  uint64_t steps = atomic_load_explicit(&pace.steps, memory_order_relaxed);
  atomic_store_explicit(&pace.steps, steps + 1, memory_order_release);
}

static int by_value(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

uint64_t sampling_step_ends(void) { return atomic_load_explicit(&pace.steps, memory_order_relaxed); }

/* The median of up to PACE_STEPS before the one of that place; 0: there is none. */
static int64_t usual_before(uint64_t timed) {
  int64_t took_ns[PACE_STEPS];
  unsigned count = timed < PACE_STEPS ? (unsigned)timed : PACE_STEPS;
  for (unsigned i = 0; i < count; i++)
    took_ns[i] = atomic_load_explicit(&pace.took_ns[(timed - 1 - i) % PACE_PLACES], memory_order_relaxed);
  qsort(took_ns, count, sizeof *took_ns, by_value);
  return count ? took_ns[count / 2] : 0;
}

unsigned sampling_took(uint64_t *seen, int64_t *took_ns, int64_t *usual_ns, int64_t *number) {
  uint64_t timed = atomic_load_explicit(&pace.timed, memory_order_acquire);
  if (timed < *seen) *seen = 0; /* steps have begun anew */
  if (timed - *seen > PACE_HISTORY) *seen = timed - PACE_HISTORY;
  unsigned count = (unsigned)(timed - *seen);
  *number = atomic_load_explicit(&pace.number, memory_order_relaxed) - count;
  for (unsigned i = 0; i < count; i++) {
    took_ns[i] = atomic_load_explicit(&pace.took_ns[(*seen + i) % PACE_PLACES], memory_order_relaxed);
    usual_ns[i] = usual_before(*seen + i);
  }
  *seen = timed;
  return count;
}

void sampling_pace(struct step_pace *told) {
  told->steps = atomic_load_explicit(&pace.steps, memory_order_acquire);
  told->number = atomic_load_explicit(&pace.number, memory_order_relaxed);
  told->ended_ns = atomic_load_explicit(&pace.ended_ns, memory_order_relaxed);
  told->is_paused = atomic_load_explicit(&pace.is_paused, memory_order_relaxed);
  told->usual_ns = usual_before(atomic_load_explicit(&pace.timed, memory_order_acquire));
}

uint32_t sampling_step_thread(void) { return atomic_load_explicit(&step_thread, memory_order_relaxed); }

/* ---- Switching. */

static bool change_detail(enum detail detail) {
  bool is_set = sources != NULL;
  if (!is_set) return false;
  for EACH_SOURCE(source, sources)
    if (source->set_detail) is_set &= source->set_detail(detail);
  return is_set;
}

static bool has_ops(void) {
  for EACH_SOURCE(source, sources)
    if (source->needs_framework) return true;
  return false;
}

static bool has_event_room(void) { return atomic_load(&events_added) - atomic_load(&events_taken) < EVENTS - 1; }

/* Where there is room. */
static void add_event(const struct sampling_event *event) {
  uint64_t added = atomic_load_explicit(&events_added, memory_order_relaxed);
  events[added % EVENTS] = *event;
  atomic_store_explicit(&events_added, added + 1, memory_order_release);
}

/* Recording begins or ends at `ticks`. `interval`: for how many steps one speaks from here on. */
static void apply(bool is_wanted, uint32_t interval, uint64_t ticks) {
  if (sampling.is_paused || sampling.is_dormant) is_wanted = false;
  else if (sampling.windows) is_wanted = true;
  else if (sampling.is_switched_off) is_wanted = false, interval = 0;
  /* What an op costs is known better and better. */
  double op_ns_now = sampling.plan.cost_ns > 0 ? sampling.plan.record_ns : 0;
  bool is_new_cost = op_ns_now > 0 && (op_ns_now < told_op_ns * 0.9 || op_ns_now > told_op_ns * 1.1);
  if (is_wanted == sampling.is_on && interval == told_interval && !is_new_cost) return;
  if (!has_event_room()) return; /* the writer thread is stuck: things stay as they are */
  if (is_wanted != sampling.is_on) {
    bool is_set = change_detail(is_wanted ? DETAIL_FULL : DETAIL_ALWAYS);
    sampling.is_on = is_wanted = is_wanted && is_set;
  }
  add_event(&(struct sampling_event){.ticks = ticks,
                                     .is_on = is_wanted,
                                     .has_ops = has_ops(),
                                     .interval = interval,
                                     .is_new = interval != told_interval,
                                     .op_ns = is_new_cost ? op_ns_now : 0,
                                     .is_others = sampling.plan.level > sampling.plan.wanted,
                                     .step = (int64_t)step_marks_all(&sampling.marks),
                                     .begins_visit = visit.is_new,
                                     .cost_ns = (uint32_t)sampling.plan.cost_ns,
                                     .step_ns = (uint32_t)sampling.plan.step_ns,
                                     .always_ns = (uint32_t)sampling.plan.always_ns});
  visit.is_new = false;
  told_interval = interval;
  if (is_new_cost) told_op_ns = op_ns_now;
}

void sampling_restate(void) {
  pthread_mutex_lock(&sampling_lock);
  bool is_told = sampling.is_active && !sampling.is_dormant && told_interval != UINT32_MAX;
  if (is_told && has_event_room())
    add_event(&(struct sampling_event){.ticks = clock_ticks(),
                                       .is_on = sampling.is_on,
                                       .has_ops = has_ops(),
                                       .interval = told_interval,
                                       .op_ns = told_op_ns,
                                       .step = (int64_t)step_marks_all(&sampling.marks),
                                       .is_restated = true});
  pthread_mutex_unlock(&sampling_lock);
}

/* Of the block that begins with the next step, if one does. The first step is recorded in any case: processes without
** steps agree with nobody. */
static unsigned next_level(void) {
  uint64_t step = sampling.marks.steps;
  struct level_wish wish = {.level = sampling.plan.wanted, .is_learning = sampling.plan.is_learning};
  int rank;
  if (!step || sampling.options.mode == OPS_NONE || !process_identity_is_rank(&rank)) return wish.level;
  bool is_new = wish.level != sampling.told_wish.level || wish.is_learning != sampling.told_wish.is_learning;
  sampling.told_wish = wish;
  if (sampling_plan_begins_block(&sampling.plan, step))
    return sampling_agreement_level(sampling.options.seed, rank, step, wish);
  if (is_new) sampling_agreement_tell(wish);
  return wish.level;
}

/* Those that were chosen are meant by their numbers, and are in the next call if it is like the last one; else one in
** so many is a call, of several steps perhaps. */
static uint64_t next_step(void) {
  const struct sampling_options *options = &sampling.options;
  if (options->last_step < 0) return sampling.marks.steps;
  uint64_t step = step_marks_all(&sampling.marks), first = (uint64_t)options->first_step;
  return step < first && step + sampling.marks.at_once > first ? first : step;
}

static void follow(uint64_t ticks) {
  uint32_t interval;
  bool is_wanted = sampling_plan_wants_ops(&sampling.plan, next_step(), next_level(), &interval);
  bool is_held = sampling.is_held && sampling.is_on && !sampling.plan.is_full && sampling.options.last_step < 0;
  apply(is_wanted || is_held, interval, ticks);
}

/* ---- Steps. */

/* While there is no writer thread that takes them. */
static void forget_events(void) {
  atomic_store(&events_added, 0);
  atomic_store(&events_taken, 0);
}

/* ---- Visits. */

/* With the lock, at the end of a step or within one. No steps are chosen by their numbers: these change where something
** else is found to end them. */
static void open_visit(uint64_t ticks, bool is_within) {
  if (!gate_move(GATE_WOKEN, GATE_RECORDING)) return;
  step_marks_count_from(&sampling.marks, COUNT_OF_VISIT);
  visit.is_within = is_within;
  sampling.options.first_step = 0;
  sampling.options.last_step = INT64_MAX;
  sampling_plan_begin(&sampling.plan, &sampling.options);
  sampling.is_dormant = sampling.is_on = false;
  sampling.is_started = false;
  sampling.step_began_ns = 0;
  told_interval = UINT32_MAX;
  told_op_ns = 0;
  visit.facts = (struct visit){.state = VISIT_GOES_ON, .begin_ns = moment_now_ns()};
  visit.is_new = true;
  follow(ticks);
  sampling.is_step_whole = sampling.is_on;
}

/* With the lock. What threads write from here on is of no recording. */
static void close_visit(uint64_t ticks) {
  bool was_open = visit.facts.state == VISIT_GOES_ON;
  if (visit.facts.state != VISIT_AWAITED && !was_open) return;
  sampling.is_dormant = true;
  follow(ticks);
  if (!gate_move(GATE_RECORDING, GATE_DORMANT)) gate_move(GATE_WOKEN, GATE_DORMANT);
  atomic_fetch_add(&capture_recording, 1);
  visit.facts.state = VISIT_OVER;
  visit.facts.end_ns = moment_now_ns();
}

/* With the lock: a step has ended while nothing is recorded. */
static void pass_step(uint64_t ticks) {
  if (visit.facts.state == VISIT_AWAITED && moment_now_ns() >= visit.wanted_ns) open_visit(ticks, false);
}

/* The step within which it began has ended. */
static void cut_step(uint64_t ticks) {
  if (!has_event_room()) return; /* then the next one counts not, either */
  add_event(
      &(struct sampling_event){.ticks = ticks, .step = (int64_t)step_marks_all(&sampling.marks), .cuts_step = true});
  step_marks_count_from(&sampling.marks, COUNT_OF_VISIT);
  visit.is_within = false;
}

static void end_step_of_visit(uint64_t ticks) {
  if (visit.facts.state != VISIT_GOES_ON) return;
  if (visit.is_within) {
    cut_step(ticks);
    return;
  }
  visit.facts.steps = step_marks_counted(&sampling.marks, COUNT_OF_VISIT);
  if (visit.wanted_steps && visit.facts.steps >= visit.wanted_steps) close_visit(ticks);
}

void sampling_sleep(const struct sampling_options *options, const struct capture_source *const *its_sources) {
  pthread_mutex_lock(&sampling_lock);
  sources = its_sources;
  sampling.options = *options;
  atomic_store_explicit(&limit_bytes, options->max_bytes, memory_order_relaxed);
  sampling.is_dormant = true;
  if (!sampling.is_active) step_marks_begin(&sampling.marks);
  sampling.is_active = true;
  pthread_mutex_unlock(&sampling_lock);
}

void sampling_await_visit(uint64_t begin_ns, uint64_t steps) {
  pthread_mutex_lock(&sampling_lock);
  forget_events();
  visit.wanted_ns = begin_ns;
  visit.wanted_steps = steps;
  visit.facts = (struct visit){.state = VISIT_AWAITED};
  pthread_mutex_unlock(&sampling_lock);
}

void sampling_look_at_visit(struct visit *facts) {
  pthread_mutex_lock(&sampling_lock);
  *facts = visit.facts;
  pthread_mutex_unlock(&sampling_lock);
}

void sampling_begin_visit(void) {
  pthread_mutex_lock(&sampling_lock);
  if (visit.facts.state == VISIT_AWAITED) {
    open_visit(clock_ticks(), true);
    sampling.is_step_whole = false;
  }
  pthread_mutex_unlock(&sampling_lock);
}

void sampling_end_visit(void) {
  pthread_mutex_lock(&sampling_lock);
  close_visit(clock_ticks());
  pthread_mutex_unlock(&sampling_lock);
}

void sampling_forget_visit(void) {
  pthread_mutex_lock(&sampling_lock);
  visit.facts.state = VISIT_NONE;
  pthread_mutex_unlock(&sampling_lock);
}

uint64_t sampling_steps(void) { return atomic_load_explicit(&steps_so_far, memory_order_relaxed); }

/* What recording has taken so far; on the thread of that number. */
static struct source_cost cost_of_all(uint32_t thread) {
  struct source_cost cost = {0};
  for EACH_SOURCE(source, sources)
    if (source->cost) source->cost(thread, &cost);
  return cost;
}

/* Step `number` has ended. */
static void end_step(uint64_t number, uint32_t thread) {
  int64_t now = (int64_t)clock_monotonic_ns(), thread_now = -1;
  const struct source_cost cost = cost_of_all(thread), *before = &sampling.before;
  struct rusage usage = {0};
  /* Two calls of the system, a microsecond: where nothing is recorded that steps are sampled for nobody needs them. */
  if (cost.full_ns > 0) {
    struct timespec used;
    if (!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used)) thread_now = used.tv_sec * 1000000000 + used.tv_nsec;
    getrusage(RUSAGE_THREAD, &usage);
  }
  bool is_same = thread == sampling.step_thread && thread_now >= 0 && sampling.step_began_thread_ns >= 0;
  if (sampling.step_began_ns && now >= sampling.step_began_ns) {
    int64_t wall_ns = now - sampling.step_began_ns;
    int64_t thread_ns = is_same ? thread_now - sampling.step_began_thread_ns : -1;
    /* A thread that waited for nothing was kept from running: by other programs, which would keep it as long again. */
    bool has_waited = !is_same || usage.ru_nvcsw != sampling.waits;
    const struct step_seen seen = {
        .wall_ns = has_waited ? wall_ns : thread_ns,
        .thread_ns = thread_ns,
        .full_ns = cost.full_ns - before->full_ns,
        .thread_full_ns = is_same ? cost.thread_full_ns - before->thread_full_ns : 0,
        .always_ns = cost.always_ns - before->always_ns,
        .records = cost.full - before->full,
        .records_ns = cost.records_ns - before->records_ns,
        .has_all_ops = sampling.is_step_whole && sampling.is_on,
        .has_no_ops = !sampling.is_on,
    };
    sampling_plan_add(&sampling.plan, number, &seen);
  } else if (!sampling.is_started) {
    sampling_plan_start(&sampling.plan, process_age_ns(), cost.full_ns);
  }
  note_pace(number, now, sampling.step_began_ns ? now - sampling.step_began_ns - sampling.left_out_ns : 0);
  sampling.left_out_ns = 0;
  sampling.is_started = true;
  sampling.before = cost;
  sampling.step_began_ns = now;
  sampling.step_began_thread_ns = thread_now;
  sampling.step_thread = thread;
  atomic_store_explicit(&step_thread, thread, memory_order_relaxed);
  sampling.waits = usage.ru_nvcsw;
}

static void begin_step(uint64_t ticks) {
  for EACH_SOURCE(source, sources)
    if (source->step_begins) source->step_begins(sampling.is_on, ticks);
}

static void review(void) {
  uint64_t steps = sampling.marks.steps;
  sampling_plan_note_writer(&sampling.plan, atomic_load(&writer_share) + atomic_load(&windows_share),
                            atomic_load(&writer_record_ns));
  /* One step before they can be known, so that the other ranks hear of it in time. */
  bool is_known = sampling.marks.is_learnt || steps + 1 == WARMUP_STEPS + FIRST_STEPS;
  if (!is_known) sampling_plan_wait(&sampling.plan);
  else sampling_plan_review(&sampling.plan, steps);
}

bool sampling_mark_ended(enum step_mark kind, uint32_t thread, uint32_t name, uint64_t start_ticks,
                         uint64_t end_ticks) {
  if (!gate_is_ours()) return false;
  unsigned what = 0;
  /* No mark may be lost: the steps of the ranks of a job would no longer have the same numbers. Whoever has the lock
  ** has it for microseconds, but once in a process for as long as the page of ranks may not answer, and waits for
  ** nothing that this thread could hold. */
  pthread_mutex_lock(&sampling_lock);
  if (sampling.is_active) {
    uint64_t number = sampling.marks.steps;
    what = step_marks_add(&sampling.marks, kind, thread, name, start_ticks, end_ticks);
    if (what & STEPS_ARE_FORGOTTEN) sampling_plan_forget(&sampling.plan);
    atomic_store_explicit(&steps_so_far, step_marks_all(&sampling.marks), memory_order_relaxed);
    if (sampling.is_dormant) {
      if (what & STEP_HAS_ENDED) pass_step(end_ticks);
    } else if (what & STEP_HAS_ENDED) {
      end_step(number, thread);
      review();
      follow(end_ticks);
      sampling.is_step_whole = sampling.is_on;
      if (sampling.marks.is_learnt) begin_step(end_ticks);
      end_step_of_visit(end_ticks);
    }
    /* What was taken for a step before the pattern was known may have been a part of one. */
    if (sampling.plan.recorded > sampling.marks.steps) sampling.plan.recorded = sampling.marks.steps;
  }
  pthread_mutex_unlock(&sampling_lock);
  return what & STEP_HAS_ENDED;
}

/* ---- From outside. */

void sampling_rest(void) {
  pthread_mutex_lock(&sampling_lock);
  if (sampling.is_active) sampling_agreement_rest();
  pthread_mutex_unlock(&sampling_lock);
}

static void reset(void) {
  struct sampling_options options = sampling.options;
  bool is_on = sampling.is_on, is_dormant = sampling.is_dormant;
  memset(&sampling, 0, sizeof sampling);
  sampling.is_dormant = is_dormant;
  sampling.options = options;
  sampling.is_on = is_on;
  sampling.is_active = true;
  sampling.is_step_whole = true;
  sampling_plan_begin(&sampling.plan, &options);
  step_marks_begin(&sampling.marks);
  atomic_store(&step_thread, 0);
  atomic_store(&pace.steps, 0);
  atomic_store(&pace.timed, 0);
  sampling_note_writer(0, 0);
  told_interval = UINT32_MAX;
  told_op_ns = 0;
  follow(clock_ticks());
}

void sampling_begin(const struct sampling_options *options, const struct capture_source *const *its_sources) {
  pthread_mutex_lock(&sampling_lock);
  if (!sampling.is_active) forget_events();
  sources = its_sources;
  sampling.options = *options;
  atomic_store_explicit(&limit_bytes, options->max_bytes, memory_order_relaxed);
  sampling.is_on = false;
  reset();
  pthread_mutex_unlock(&sampling_lock);
}

void sampling_after_fork_in_child(void) {
  if (!sampling.is_active) return;
  sampling.is_held = false;
  sampling_agreement_after_fork_in_child();
  forget_events();
  if (visit.facts.state != VISIT_NONE) sampling.is_dormant = true;
  visit.facts = (struct visit){.state = VISIT_NONE};
  atomic_store(&steps_so_far, 0);
  reset();
}

void sampling_end(void) {
  pthread_mutex_lock(&sampling_lock);
  sampling.is_active = sampling.is_on = false;
  sampling_agreement_leave();
  change_detail(DETAIL_ALWAYS);
  pthread_mutex_unlock(&sampling_lock);
}

bool sampling_switch(int mode) {
  pthread_mutex_lock(&sampling_lock);
  sampling.is_switched_off = mode != 1;
  follow(clock_ticks());
  sampling.is_step_whole = false;
  bool is_done = change_detail(mode == 2 ? DETAIL_EMPTY : sampling.is_on ? DETAIL_FULL : DETAIL_ALWAYS);
  pthread_mutex_unlock(&sampling_lock);
  return is_done;
}

void sampling_window(int change) {
  if (!gate_is_ours()) return;
  pthread_mutex_lock(&sampling_lock);
  if (change > 0) sampling.windows++;
  else if (sampling.windows) sampling.windows--;
  if (sampling.is_active) {
    bool was_on = sampling.is_on;
    follow(clock_ticks());
    if (was_on != sampling.is_on) sampling.is_step_whole = false;
  }
  pthread_mutex_unlock(&sampling_lock);
}

void sampling_pause(bool is_paused) {
  pthread_mutex_lock(&sampling_lock);
  sampling.is_paused = is_paused;
  atomic_store(&pace.is_paused, is_paused);
  follow(clock_ticks());
  sampling.is_step_whole = false;
  sampling.step_began_ns = 0;
  pthread_mutex_unlock(&sampling_lock);
}

void sampling_note_writer(double share, double record_ns) {
  atomic_store(&writer_share, share);
  atomic_store(&writer_record_ns, record_ns);
}

void sampling_note_windows(double share) { atomic_store(&windows_share, share); }

void sampling_leave_out(uint64_t ns) {
  pthread_mutex_lock(&sampling_lock);
  sampling.left_out_ns += (int64_t)ns;
  pthread_mutex_unlock(&sampling_lock);
}

void sampling_hold(bool is_open) {
  pthread_mutex_lock(&sampling_lock);
  sampling.is_held = is_open;
  if (is_open) step_marks_count_from(&sampling.marks, COUNT_OF_WINDOW);
  pthread_mutex_unlock(&sampling_lock);
}

void sampling_look(struct sampling_now *now) {
  pthread_mutex_lock(&sampling_lock);
  const struct step_marks *marks = &sampling.marks;
  *now = (struct sampling_now){
      .steps = step_marks_all(marks),
      .in_window = step_marks_counted(marks, COUNT_OF_WINDOW),
      .seed = sampling.options.seed,
      .overhead = sampling.options.overhead,
      .wants_ops = sampling.is_active && sampling.is_on,
      .is_chosen = sampling.options.mode == OPS_ALL || sampling.options.last_step >= 0 || sampling.windows};
  pthread_mutex_unlock(&sampling_lock);
}

bool sampling_note_bytes(uint64_t bytes) {
  uint64_t limit = atomic_load_explicit(&limit_bytes, memory_order_relaxed);
  if (!limit || bytes < limit / 2) return true;
  pthread_mutex_lock(&sampling_lock);
  bool was_full = sampling.plan.is_full;
  sampling_plan_note_bytes(&sampling.plan, bytes);
  bool is_reached = sampling.plan.is_full && !was_full && sampling.is_active;
  if (is_reached) follow(clock_ticks());
  pthread_mutex_unlock(&sampling_lock);
  return !is_reached;
}

void sampling_note_rate(unsigned levels) {
  pthread_mutex_lock(&sampling_lock);
  sampling_plan_note_rate(&sampling.plan, levels);
  pthread_mutex_unlock(&sampling_lock);
}

bool sampling_take_event(struct sampling_event *event) {
  uint64_t taken = atomic_load_explicit(&events_taken, memory_order_relaxed);
  if (taken == atomic_load_explicit(&events_added, memory_order_acquire)) return false;
  *event = events[taken % EVENTS];
  atomic_store_explicit(&events_taken, taken + 1, memory_order_release);
  return true;
}

bool sampling_lacks_steps(uint64_t *steps, uint64_t *recorded) {
  enum { MANY_STEPS = 50, ENOUGH_STEPS = 5 };
  pthread_mutex_lock(&sampling_lock);
  *steps = sampling.marks.steps;
  *recorded = sampling.plan.recorded;
  bool is_chosen = sampling.options.mode == OPS_NONE || sampling.options.last_step >= 0;
  pthread_mutex_unlock(&sampling_lock);
  return !is_chosen && *steps >= MANY_STEPS && *recorded < ENOUGH_STEPS;
}
