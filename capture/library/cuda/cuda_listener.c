/* cuda_listener.c: see cuda_listener.h. */
#include "cuda_listener.h"

#include "activity_buffers.h"
#include "cuda_costs.h"
#include "cupti_refusals.h"
#include "device_facts.h"
#include "listening_check.h"
#include "recorder/moments.h"
#include "recorder/own_threads.h"
#include "stream_numbers.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
  FETCH_MS = 500,
  FACTS_MS = 5,       /* until the driver is initialised */
  ASIDE_MS = 2000,    /* that others wait for us to step aside */
  AGAIN_MS = 2000,    /* until it is tried again where another one listens */
  TEARDOWN_MS = 10000, /* that another one may take to finalise CUPTI */
  SILENT_MS = 10000,  /* that the driver may take to begin */
  LENT_MS = 100,      /* that CUPTI may take to give buffers back after it has flushed them */
  FLUSH_FORCED = 1,   /* CUPTI_ACTIVITY_FLAG_FLUSH_FORCED */
  SYSTEM_THREADS = 1, /* CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM */
  CLOCK_MS = 1000,    /* until CUPTI is told again what to keep time by, where that did not help; doubled each time */
  READINGS = 64,
  SWITCHES = 256,
};

static struct cupti_api api;
static unsigned traces;
static _Atomic bool has_begun;
static _Atomic int wanted_recording = CUDA_ALL; /* of work: enum cuda_recording */
static _Atomic bool has_other_clock; /* records have; since that was looked at last */
static _Atomic bool has_own_call;    /* the one of listening_check.h was read */

/* Of what is asked of the thread, and whether anything is recorded. Nothing of CUPTI's is called with it. */
static pthread_mutex_t control = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked, done;
static struct {
  uint64_t fetches_wanted, fetches_done;
  _Atomic bool is_aside_wanted; /* looked at without the lock before CUPTI is called */
  bool is_all_wanted, is_aside, has_ended;
  bool is_late; /* who waited for us to step aside has begun */
  char who[48]; /* listens in our place */
} state;
/* Of the calls that switch what is recorded. */
static pthread_mutex_t switching = PTHREAD_MUTEX_INITIALIZER;
static enum cuda_recording recorded; /* now */
static void *subscriber;  /* NULL: we do not listen */
static void *left_behind; /* the subscriber that we left too late to end its subscription */
static bool is_refused;   /* another one was there first */
static bool has_beat;     /* the call of listening_check.h is recorded whatever else is */
static int thread_ids_before; /* how CUPTI numbered threads before us */
static _Atomic unsigned sessions, kept_back;
/* Of the thread alone. */
static struct listening_check check;
static struct {
  uint64_t next_ns, wait_ns; /* when CUPTI may be told again what to keep time by; 0: at once */
} keeping;
static struct {
  uint64_t since_ns; /* 0: we are not about to come back */
  bool was_called;   /* the driver, since then */
  bool is_free;      /* CUPTI has no listener */
} returning;

/* What the writer thread is told. */
static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER;
static struct device_reading readings[READINGS];
static unsigned readings_added, readings_taken;
static struct record_switch switches[SWITCHES];
static unsigned switches_added, switches_taken;
static struct capture_part part = {.name = "cuda"};
static unsigned changes, changes_taken; /* of the part */

const struct fork_lock cuda_listener_locks[] = {{.lock = &control},         {.lock = &switching},
                                                {.lock = &telling},         {.lock = &activity_buffers_lock},
                                                {.lock = &cuda_costs_lock}, {.lock = &cuda_refusals_lock},
                                                {0}};

/* ---- Switching. */

/* How long it took. Where nobody takes them the last one stands for all since: what was recorded meanwhile is not
** known. */
static uint64_t note_switch(int64_t begun_ns) {
  int64_t done_ns = (int64_t)clock_monotonic_ns();
  pthread_mutex_lock(&telling);
  bool is_full = switches_added - switches_taken == SWITCHES;
  struct record_switch *change = &switches[(is_full ? switches_added - 1 : switches_added++) % SWITCHES];
  if (!is_full) change->begun_ns = begun_ns;
  change->done_ns = done_ns;
  change->to = recorded;
  pthread_mutex_unlock(&telling);
  return (uint64_t)(done_ns - begun_ns);
}

bool cuda_listener_take_switch(struct record_switch *change) {
  pthread_mutex_lock(&telling);
  bool is_there = switches_taken != switches_added;
  if (is_there) *change = switches[switches_taken++ % SWITCHES];
  pthread_mutex_unlock(&telling);
  return is_there;
}

/* With `switching`: everything, when it begins and ends. */
static void switch_all(bool to_on) {
  int64_t begun_ns = (int64_t)clock_monotonic_ns();
  cuda_kinds_switch(to_on, true);
  cuda_calls_switch(to_on, true);
  recorded = to_on ? CUDA_ALL : CUDA_NOTHING;
  note_switch(begun_ns);
}

/* With `switching`. */
static uint64_t switch_to(enum cuda_recording to) {
  int64_t begun_ns = (int64_t)clock_monotonic_ns();
  if ((to >= CUDA_CALLS) != (recorded >= CUDA_CALLS)) cuda_calls_switch(to >= CUDA_CALLS, false);
  if ((to == CUDA_ALL) != (recorded == CUDA_ALL)) cuda_kinds_switch(to == CUDA_ALL, false);
  sessions += to == CUDA_ALL && recorded != CUDA_ALL;
  recorded = to;
  return note_switch(begun_ns);
}

/* Whoever has the lock switches to what is wanted when it has given it up. */
static uint64_t follow_wish(void) {
  uint64_t taken_ns = 0;
  while (has_begun && !pthread_mutex_trylock(&switching)) {
    enum cuda_recording wish = (enum cuda_recording)wanted_recording;
    if (subscriber && wish != recorded) taken_ns += switch_to(wish);
    pthread_mutex_unlock(&switching);
    if ((int)wish == wanted_recording) break;
  }
  return taken_ns;
}

static void end_switching(void) {
  pthread_mutex_unlock(&switching);
  follow_wish();
}

uint64_t cuda_listener_record(enum cuda_recording wish) {
  wanted_recording = (int)wish;
  return follow_wish();
}

/* ---- Beginning. */

static void set_part(enum part_state part_state, const char *reason) {
  pthread_mutex_lock(&telling);
  part_set(&part, part_state, reason);
  changes++;
  pthread_mutex_unlock(&telling);
}

bool cuda_listener_take_part(struct capture_part *now) {
  pthread_mutex_lock(&telling);
  bool is_new = changes != changes_taken;
  changes_taken = changes;
  *now = part;
  pthread_mutex_unlock(&telling);
  return is_new;
}

static void ignore_callback(void *own, int domain, uint32_t function, const void *data) {
  (void)own, (void)domain, (void)function, (void)data;
}

static void describe_refusal(int result, const char *holder, char *reason, size_t size) {
  char version[CUPTI_VERSION_TEXT];
  const char *known = cupti_refusal_text(result);
  if (result == CUPTI_SUBSCRIBED_BY_ANOTHER)
    snprintf(reason, size,
             "another profiler listens to CUDA in this process (%.100s), and only one can: run without it; every other "
             "second it is tried whether it has left",
             holder[0] ? holder : "such as nsys, ncu, DCGM, cuda-gdb or torch.profiler");
  else if (known)
    snprintf(reason, size, "%s (%.60s, %d)", known, cupti_result_text(&api, result), result);
  else
    snprintf(reason, size,
             "CUPTI does not begin: %.50s (%d); driver and CUPTI may not fit together: %s, %.80s, needs a driver for "
             "that CUDA or a later one",
             cupti_result_text(&api, result), result, cupti_version_text(api.version, version), api.path);
}

enum beginning {
  FOR_THE_FIRST_TIME,
  BACK, /* torch.profiler, which has ended, may have subscribed; it is recorded without, then */
  AGAIN, /* where another one was there first: what was said of it is not said again */
  LOST   /* another one has taken CUPTI without a word: whether we are subscribed is not known */
};
static const char own_name[] = "tfprof"; /* as others are told who listens */

/* Whether it is still we who are subscribed: CUPTI may have been finalised, and another one may have subscribed since.
** It has lost what it was told then. `holder`: who it says it is; empty: it does not. */
static bool is_still_ours(const char *holder) {
  int type;
  if (holder[0]) return !strcmp(holder, own_name);
  return !api.GetThreadIdType || api.GetThreadIdType(&type) || type == SYSTEM_THREADS;
}

/* `is_new`: CUPTI had no subscriber until now. */
static bool subscribe(enum beginning beginning, bool *is_new, char *reason, size_t size) {
  char holder[128] = "";
  struct cupti_subscription wish = {sizeof wish, own_name, holder, sizeof holder};
  void *now = NULL;
  int result = api.Subscribe_v2 ? api.Subscribe_v2(&now, ignore_callback, NULL, &wish)
                                : api.Subscribe(&now, ignore_callback, NULL);
  bool stays = result == CUPTI_SUBSCRIBED_BY_ANOTHER && (beginning == BACK || beginning == LOST);
  *is_new = !result;
  if (!result) subscriber = now;
  else if (!stays) subscriber = NULL;
  else if (!subscriber && left_behind && is_still_ours(holder)) subscriber = left_behind;
  else if (!subscriber || (beginning == LOST && !is_still_ours(holder))) subscriber = &subscriber;
  left_behind = NULL;
  is_refused = !subscriber && result == CUPTI_SUBSCRIBED_BY_ANOTHER;
  if (!subscriber) describe_refusal(result, holder, reason, size);
  return subscriber;
}

/* With `switching`, or on the thread: once the driver is initialised, for only then is CUPTI's clock what it stays. */
static void note_reading(void) {
  struct device_reading taken;
  if (!device_facts_count()) return;
  bool is_told = device_clock_read(&api, &taken);
  pthread_mutex_lock(&telling);
  if (is_told && readings_added - readings_taken < READINGS) readings[readings_added++ % READINGS] = taken;
  pthread_mutex_unlock(&telling);
}

bool cuda_listener_take_reading(struct device_reading *reading) {
  pthread_mutex_lock(&telling);
  bool is_there = readings_taken != readings_added;
  if (is_there) *reading = readings[readings_taken++ % READINGS];
  pthread_mutex_unlock(&telling);
  return is_there;
}

void cuda_listener_note_call(void) { has_own_call = true; }
void cuda_listener_note_other_clock(void) { has_other_clock = true; }

/* With `switching`: CUPTI keeps time by our clock again, where another one has made it keep another. cuptiGetTimestamp
** that says it is CUPTI's own may not follow what CUPTI was told: then records are heard. */
static void keep_clock(void) {
  uint64_t now_ns = clock_monotonic_ns();
  bool has_records = atomic_exchange(&has_other_clock, false);
  enum device_clock_kept kept = device_clock_kept(&api);
  if (kept == KEPT_OURS) keeping.wait_ns = keeping.next_ns = 0;
  if (kept == KEPT_OURS || (kept == KEPT_ITS_OWN && !has_records) || now_ns < keeping.next_ns) return;
  device_clock_keep(&api);
  keeping.wait_ns = keeping.wait_ns ? keeping.wait_ns * 2 : CLOCK_MS * UINT64_C(1000000);
  keeping.next_ns = now_ns + keeping.wait_ns;
}

/* With `switching`. */
static void tell_listening(void) {
  char reason[PART_TEXT_MAXIMUM], version[CUPTI_VERSION_TEXT];
  const char *without = cuda_kinds_without(), *remedy = cuda_kinds_remedy();
  if (without[0]) snprintf(reason, sizeof reason, "without %s%s%s", without, remedy ? ": " : "", remedy ? remedy : "");
  else snprintf(reason, sizeof reason, "%s, %.180s", cupti_version_text(api.version, version), api.path);
  set_part(without[0] ? PART_DEGRADED : PART_OK, reason);
}

/* Subscribes, with CUPTI keeping time by our clock (device_clock.h). Another one that listens, and that we wait for,
** keeps its own: CUPTI is told only once we are subscribed, and we subscribe again. The first time, within cuInit,
** there is no context. */
static bool subscribe_with_clock(enum beginning beginning, char *reason, size_t size) {
  bool is_new;
  if (!subscribe(beginning, &is_new, reason, size)) return false;
  if (beginning != FOR_THE_FIRST_TIME && device_clock_kept(&api) == KEPT_OURS) return true;
  if (beginning == FOR_THE_FIRST_TIME || !is_new) return device_clock_keep(&api), true;
  api.Unsubscribe(subscriber);
  device_clock_keep(&api);
  return subscribe(beginning, &is_new, reason, size);
}

/* With `switching`. false: it was refused, which is said. */
static bool listen_to_cuda(enum beginning beginning) {
  char reason[PART_TEXT_MAXIMUM] = "";
  if (!subscribe_with_clock(beginning, reason, sizeof reason)) {
    if (is_refused && beginning == AGAIN) return false;
    set_part(PART_DEGRADED, reason);
    capture_say("what GPUs do is not recorded: %s; the program goes on", reason);
    return false;
  }
  if (beginning != LOST && api.GetThreadIdType && api.GetThreadIdType(&thread_ids_before)) thread_ids_before = 0;
  api.SetThreadIdType(SYSTEM_THREADS);
  int result = api.ActivityRegisterCallbacks(activity_buffers_request, activity_buffers_complete);
  if (result) {
    describe_refusal(result, "", reason, sizeof reason);
    set_part(PART_DEGRADED, reason);
    if (subscriber != &subscriber) api.Unsubscribe(subscriber);
    subscriber = NULL;
    return false;
  }
  cuda_kinds_renew();
  has_other_clock = false;
  memset(&keeping, 0, sizeof keeping);
  cuda_latency_switch(true);
  /* Where it was lost nobody can tell whether it was finalised. No call was recorded for seconds, not even ours: no
  ** kernel to come belongs to one from before. */
  activity_buffers_begin_session();
  kept_back = 0;
  cuda_kinds_ask_of_devices(recorded == CUDA_ALL);
  switch_all(true);
  has_beat = cuda_driver_call_switch(LISTENING_CALL, true);
  if (wanted_recording != CUDA_ALL) switch_to((enum cuda_recording)wanted_recording);
  sessions++;
  if (beginning != LOST) tell_listening();
  listening_check_begin(&check, clock_monotonic_ns());
  note_reading();
  return true;
}

/* ---- The thread. */

/* With `switching`: what we leave to others, or to the end. */
static void switch_off(void) {
  switch_all(false);
  cuda_latency_switch(false);
  cuda_kinds_end_topology();
  if (has_beat) cuda_driver_call_switch(LISTENING_CALL, false);
}

/* With nothing recorded any more: what runs may end. Forced, its record would come without its end, and never again
** (pytorch/pytorch#195844). */
static void wait_for_work(void) {
  static const struct timespec pause = {.tv_nsec = 2000000};
  uint64_t until_ns = clock_monotonic_ns() + LENT_MS * UINT64_C(1000000);
  while (!api.ActivityFlushAll(0) && activity_buffers_lent() > kept_back && clock_monotonic_ns() < until_ns)
    nanosleep(&pause, NULL);
}

/* Gets all records. CUPTI may give buffers back a moment after it has flushed them, to whoever is registered then. */
static void flush_all(void) {
  static const struct timespec pause = {.tv_nsec = 500000};
  wait_for_work();
  int result = api.ActivityFlushAll(FLUSH_FORCED);
  uint64_t until_ns = clock_monotonic_ns() + LENT_MS * UINT64_C(1000000);
  cuda_note_result(&api, "cuptiActivityFlushAll", result);
  while (!result && activity_buffers_lent() > kept_back && clock_monotonic_ns() < until_ns) nanosleep(&pause, NULL);
  kept_back = activity_buffers_lent();
}

/* `is_late`: it did not wait any longer, and listens: CUPTI is not called in its window. */
static void leave_to_another(const char *who, bool is_late) {
  char text[128];
  pthread_mutex_lock(&switching);
  returning.since_ns = 0;
  if (subscriber) {
    if (is_late) {
      left_behind = subscriber != &subscriber ? subscriber : NULL;
    } else {
      switch_off();
      flush_all();
      api.SetThreadIdType(thread_ids_before);
      if (subscriber != &subscriber) api.Unsubscribe(subscriber);
    }
    subscriber = NULL;
    snprintf(text, sizeof text, "%s listens to CUDA instead, as the program asked; until it ends", who);
    set_part(PART_DEGRADED, text);
  }
  end_switching();
}

/* Kineto finalises CUPTI after each of its windows. */
static bool is_to_be_finalised(void) {
  const char *word = getenv("TEARDOWN_CUPTI");
  return word && *word && strcmp(word, "0");
}

/* Whether nobody is about to finalise CUPTI any more: who does unsubscribes right before that, so CUPTI that had no
** listener the last time it was tried, one fetch ago, has been finalised since.  It is finalised within the next call
** of the driver: that is ours, so that it is over, as a rule, before we call CUPTI at all. */
static bool can_return(void) {
  void *mine = NULL;
  if (returning.is_free || !is_to_be_finalised()) return true;
  if (clock_monotonic_ns() - returning.since_ns > TEARDOWN_MS * UINT64_C(1000000)) return true;
  bool was_called = returning.was_called;
  returning.was_called = true;
  listening_check_beat(&check, true);
  if (!was_called || state.is_aside_wanted) return false;
  returning.is_free = !api.Subscribe(&mine, ignore_callback, NULL);
  if (returning.is_free) api.Unsubscribe(mine);
  return false;
}

/* Not while another one begins: it waits for us, though not for ever. */
static void come_back(void) {
  pthread_mutex_lock(&switching);
  if (subscriber) {
    returning.since_ns = 0;
  } else if (!state.is_aside_wanted && can_return()) {
    listen_to_cuda(is_refused ? AGAIN : BACK);
    returning.since_ns = 0;
  }
  end_switching();
}

static void begin_returning(void) {
  returning.since_ns = clock_monotonic_ns();
  returning.was_called = returning.is_free = false;
}

/* The one that was there first may have left. */
static void try_again(void) {
  pthread_mutex_lock(&switching);
  if (is_refused && !state.is_aside_wanted && listen_to_cuda(AGAIN))
    capture_say("what GPUs do is recorded from here on: the other profiler has left");
  end_switching();
}

/* With `control`: waits until something is asked for, or `milliseconds` have passed. */
static void wait_for_wish(int milliseconds) {
  const struct timespec until = moment_after(milliseconds);
  while (state.fetches_wanted == state.fetches_done && state.is_aside_wanted == state.is_aside)
    if (pthread_cond_timedwait(&asked, &control, &until) == ETIMEDOUT) break;
}

static void look_whether_we_listen(void) {
  char text[PART_TEXT_MAXIMUM];
  uint64_t silent_ns, now_ns = clock_monotonic_ns();
  if (state.is_aside_wanted) return;
  bool is_quiet = listening_check_wants_content(&check, now_ns);
  const struct listening_signs signs = {activity_buffers_heard(), is_quiet ? activity_buffers_content() : 0,
                                        has_own_call};
  enum listening listening = listening_check_look(&check, &signs, now_ns, &silent_ns);
  if (listening == LISTENING) return;
  pthread_mutex_lock(&switching);
  if (listening == LISTENING_LOST) {
    snprintf(text, sizeof text,
             "nothing that CUPTI records has come for %.0f s: another one in this process may have taken it, with "
             "buffers of its own or by cuptiFinalize; it is begun anew",
             (double)silent_ns / 1e9);
    set_part(PART_DEGRADED, text);
    listen_to_cuda(LOST);
  } else {
    tell_listening();
    capture_say("what GPUs did may not have been recorded for %.0f s: another one in the program may have taken CUPTI; "
                "it is recorded from here on",
                (double)silent_ns / 1e9);
  }
  end_switching();
}

static void fetch(bool is_all) {
  pthread_mutex_lock(&switching);
  bool was_listening = subscriber != NULL;
  bool can_check = has_beat || (recorded >= CUDA_CALLS && traces & TRACE_API);
  if (is_all && was_listening) {
    switch_off();
    subscriber = NULL;
  }
  if (was_listening && !is_all && device_facts_count()) keep_clock();
  end_switching();
  if (!was_listening) return; /* what another one has recorded is left to it */
  note_reading();
  if (!is_all) listening_check_beat(&check, can_check);
  if (is_all) flush_all();
  else cuda_note_result(&api, "cuptiActivityFlushAll", api.ActivityFlushAll(0));
  if (!is_all) look_whether_we_listen();
}

/* What the program called the driver for did not come to be. */
static void tell_no_device(void) {
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  char reason[PART_TEXT_MAXIMUM / 2];
  snprintf(reason, sizeof reason, "the CUDA driver was called, and gave the program no device%s%.60s%s",
           visible ? ": CUDA_VISIBLE_DEVICES is \"" : "", visible ? visible : "", visible ? "\"" : "");
  set_part(PART_OFF, reason);
}

/* What the thread knows of devices. */
struct presence {
  enum devices_answer answer;
  uint64_t begin_ns;
  bool is_told; /* that there is none */
};

static void look_for_devices(struct presence *presence, bool is_end) {
  if (presence->answer == DEVICES_KNOWN) return;
  presence->answer = device_facts_ask();
  if (presence->answer == DEVICES_KNOWN) {
    pthread_mutex_lock(&switching);
    if (subscriber) cuda_kinds_ask_of_devices(recorded == CUDA_ALL);
    if (is_end && subscriber && traces & TRACE_UNIFIED)
      cuda_kinds_add_refused("unified memory", "the program ended before its devices were known");
    if (subscriber && (presence->is_told || cuda_kinds_without()[0])) tell_listening();
    end_switching();
    return;
  }
  bool is_silent = is_end || clock_monotonic_ns() - presence->begin_ns > SILENT_MS * UINT64_C(1000000);
  if (presence->is_told || (presence->answer == DEVICES_LATER && !is_silent)) return;
  presence->is_told = true;
  tell_no_device();
}

static void *fetch_records(void *argument) {
  (void)argument;
  uint64_t tried_ns = clock_monotonic_ns();
  struct presence presence = {.begin_ns = tried_ns};
  prctl(PR_SET_NAME, "tfprof-cuda");
  activity_buffers_fetcher((long)syscall(SYS_gettid));
  pthread_mutex_lock(&control);
  while (!state.has_ended) {
    wait_for_wish(presence.answer == DEVICES_LATER && !presence.is_told ? FACTS_MS : FETCH_MS);
    uint64_t wanted = state.fetches_wanted;
    bool is_all = state.is_all_wanted, is_aside = state.is_aside_wanted, was_aside = state.is_aside;
    bool is_asked = wanted != state.fetches_done, is_late = state.is_late;
    char who[sizeof state.who];
    memcpy(who, state.who, sizeof who);
    pthread_mutex_unlock(&control);
    look_for_devices(&presence, is_all);
    if (is_aside && !was_aside) leave_to_another(who, is_late);
    if (!is_aside && was_aside) begin_returning();
    if (returning.since_ns && !is_all) come_back();
    if (!is_aside && !is_all && clock_monotonic_ns() - tried_ns > AGAIN_MS * UINT64_C(1000000)) {
      try_again();
      tried_ns = clock_monotonic_ns();
    }
    if (!is_aside && (presence.answer == DEVICES_KNOWN || is_asked)) fetch(is_all);
    pthread_mutex_lock(&control);
    state.fetches_done = wanted;
    state.is_aside = is_aside;
    state.has_ended = is_all;
    pthread_cond_broadcast(&done);
  }
  pthread_mutex_unlock(&control);
  return NULL;
}

static bool start_fetching(void) {
  moment_condition(&asked);
  moment_condition(&done);
  return own_thread_start(NULL, fetch_records, NULL);
}

void cuda_listener_begin(unsigned its_traces, uint64_t buffer_bytes) {
  char reason[256];
  bool is_started = false;
  pthread_mutex_lock(&switching);
  bool is_new = !has_begun && !changes; /* where it was refused it would be again */
  if (is_new && !cupti_find(&api, reason, sizeof reason)) {
    set_part(PART_OFF, reason);
    capture_say("what GPUs do is not recorded: %s; the program goes on", reason);
    is_new = false;
  }
  if (is_new) {
    traces = its_traces;
    cuda_kinds_begin(&api, traces);
    activity_buffers_begin(&api, buffer_bytes);
    stream_numbers_begin(&api);
    state.is_aside = state.is_aside_wanted;
    is_started = state.is_aside || listen_to_cuda(FOR_THE_FIRST_TIME) || is_refused;
  }
  pthread_mutex_unlock(&switching);
  if (!is_started) return;
  device_facts_expect();
  bool is_fetched = start_fetching();
  atomic_store(&has_begun, is_fetched);
  if (!is_fetched) set_part(PART_OFF, "the thread that fetches records cannot be started");
}

unsigned cuda_listener_sessions(void) { return sessions; }
unsigned cuda_listener_kept_back(void) { return kept_back + activity_buffers_written_off(); }
bool cuda_listener_records_kernels(void) { return traces & TRACE_KERNELS; }
bool cuda_listener_records_launches(void) { return traces & TRACE_KERNELS && traces & TRACE_API; }

const struct cupti_api *cuda_listener_api(void) { return atomic_load(&has_begun) ? &api : NULL; }

void cuda_listener_fetch(bool is_all, const struct timespec *until) {
  if (!atomic_load(&has_begun)) return;
  pthread_mutex_lock(&control);
  uint64_t mine = ++state.fetches_wanted;
  state.is_all_wanted |= is_all;
  pthread_cond_signal(&asked);
  while (state.fetches_done < mine && !state.has_ended)
    if (pthread_cond_timedwait(&done, &control, until)) break;
  pthread_mutex_unlock(&control);
}

bool cuda_listener_is_stuck(void) {
  pthread_mutex_lock(&control);
  bool is_stuck = atomic_load(&has_begun) && state.fetches_done < state.fetches_wanted;
  pthread_mutex_unlock(&control);
  return is_stuck;
}

void cuda_listener_step_aside(bool is_aside, const char *who) {
  const struct timespec until = moment_after(ASIDE_MS);
  pthread_mutex_lock(&control);
  state.is_aside_wanted = is_aside;
  snprintf(state.who, sizeof state.who, "%s", who);
  bool is_heard = atomic_load(&has_begun); /* else it is when it begins */
  if (is_heard) pthread_cond_signal(&asked);
  while (is_heard && state.is_aside != is_aside && !state.has_ended)
    if (pthread_cond_timedwait(&done, &control, &until)) break;
  state.is_late = is_heard && is_aside && !state.is_aside;
  pthread_mutex_unlock(&control);
}

void cuda_listener_reset(void) {
  bool was_used = atomic_load(&has_begun);
  memset(&state, 0, sizeof state);
  subscriber = left_behind = NULL;
  recorded = CUDA_NOTHING;
  is_refused = has_beat = false;
  has_other_clock = has_own_call = false;
  memset(&keeping, 0, sizeof keeping);
  sessions = kept_back = 0;
  thread_ids_before = 0;
  memset(&check, 0, sizeof check);
  memset(&returning, 0, sizeof returning);
  cuda_kinds_reset();
  switches_added = switches_taken = 0;
  readings_added = readings_taken = 0;
  atomic_store(&has_begun, false);
  wanted_recording = CUDA_ALL;
  activity_buffers_reset();
  device_facts_reset();
  changes_taken = 0; /* the child's file has not been told */
  if (was_used) set_part(PART_OFF, "CUDA cannot be used in a process that was forked by one which uses it");
}
