/* module_discovery.c: see module_discovery.h. */
#include "module_discovery.h"

#include "known_modules.h"
#include "module_facts.h"
#include "module_search.h"
#include "python/python_api.h"
#include "python/python_code.h"
#include "python/python_frames.h"
#include "python/python_thread.h"
#include "python/python_worker.h"
#include "recorder/clock.h"
#include "recorder/gate.h"
#include "recorder/moments.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
  WANTED_MAXIMUM = 4096,
  NEWS_MAXIMUM = 1 << 16,
  SHORTEST_PAUSE_MS = 40,
  SHARE = 100,    /* of the time that passes is spent among the objects at most one part in so many, */
  FREE_CALLS = 8, /* but for the first times */
  LONGEST_PAUSE_MS = 60000,
  WAIT_MS = 500,   /* of a thread for the looker, once */
  WAITS_MS = 2000, /* in vain, all together */
};

static void *get_objects, *news; /* with the GIL */

pthread_mutex_t module_discovery_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wanted, answered;
static _Atomic bool is_ready;
static bool has_looker;
static bool has_news;
static uint64_t questions, answers; /* for the looker */
static uint64_t waited_in_vain_ms;
static unsigned searches;
static uint64_t fruitless_pause_ms, next_work_ms, again_ms; /* again: 0: not wanted */
static _Atomic uint64_t next_search_ms;
static _Atomic uint64_t news_lost, looks_failed;
static _Atomic int call; /* of the main thread */
enum { CALL_NONE, CALL_ASKING, CALL_PENDING };
static void *_Atomic main_state; /* the PyThreadState of the thread that comes; NULL: it has not come yet */
static void *_Atomic coming;     /* the same while it is here */

static uint64_t now_ms(void) { return clock_monotonic_ns() / 1000000; }

static void begin_conditions(void) {
  moment_condition(&wanted);
  moment_condition(&answered);
}

void module_discovery_begin(void *work, void *its_get_objects) {
  python_worker_give(WORK_MODULES, work);
  python_api.increment(get_objects = its_get_objects);
  begin_conditions();
  atomic_store(&is_ready, true);
}

/* ---- Looking, with the GIL. Whatever fails leaves no trace: an error set here would be the program's. */

static void look(void *module, void *caller) {
  if (!news && !(news = python_api.new_list(0))) {
    atomic_fetch_add(&looks_failed, 1);
    python_api.clear_error();
  } else if (python_api.list_size(news) >= NEWS_MAXIMUM) {
    atomic_fetch_add(&news_lost, 1);
  } else if (!module_facts_look(module, caller, news)) {
    atomic_fetch_add(&looks_failed, 1);
    python_api.clear_error();
  }
}

static void tell_numbers(void) {
  if (news && !module_facts_add_numbers(news)) python_api.clear_error();
}

/* The modules on the stack of a thread, whose frames stand still while we have the GIL, from the innermost outwards. */
static unsigned find_modules(const uint8_t *frame, void *modules[STACK_MAXIMUM]) {
  unsigned count = 0;
  for (; frame && count < STACK_MAXIMUM; frame = python_at(frame, python_layout.frame_previous)) {
    bool has_code = python_layout.frame_owner < 0 || frame[python_layout.frame_owner] < FRAME_OF_C_STACK;
    if (!has_code || python_frame_object(frame, python_layout.frame_code) != python_module_code) continue;
    modules[count] = (void *)python_frame_object(frame, python_layout.frame_locals);
    count += modules[count] != NULL; /* its function has not begun */
  }
  return count;
}

static uintptr_t type_of(const void *object) { return (uintptr_t)python_at(object, OBJECT_TYPE); }

/* Whoever is about to take the GIL for the first time makes the state of its thread without it, and puts it into the
** list before it is complete: what is not written yet is zero, and then there is no frame. ThreadSanitizer would tell
** of that. */
static __attribute__((noinline, no_sanitize("thread"))) const uint8_t *unfinished_at(const uint8_t *state, int offset) {
  return *(const uint8_t *const volatile *)(const void *)(state + offset);
}

static const uint8_t *frame_of_other(const uint8_t *state) {
  if (python_layout.thread_cframe >= 0) state = unfinished_at(state, python_layout.thread_cframe);
  return state ? unfinished_at(state, python_layout.current_frame) : NULL;
}

/* What a thread has seen on its stack and not left since is there. The main thread, once it has come, may run functions
** of Python here, and comes no second time meanwhile: from then on it alone can say. */
static void look_at_stacks(void) {
  void *modules[STACK_MAXIMUM];
  if (!python_layout.version || !python_module_code) return;
  void *first = python_api.first_thread(python_api.interpreter()), *thread;
  for (thread = first; thread; thread = python_api.next_thread(thread)) {
    if (thread == atomic_load(&coming) && thread != python_thread_state()) continue;
    unsigned count = find_modules(frame_of_other(thread), modules);
    for (unsigned i = 0; i < count; i++) known_module_prove(thread, (uintptr_t)modules[i], type_of(modules[i]));
  }
  for (thread = first; thread; thread = python_api.next_thread(thread)) {
    unsigned count = find_modules(frame_of_other(thread), modules);
    for (void *caller = NULL; count; caller = modules[count]) look(modules[--count], caller); /* frames refer to them */
  }
}

/* Those that stand on no stack now. */
static void search(const struct wanted_module *missing, unsigned count, bool is_last_time) {
  const void *state = atomic_load(&coming);
  bool is_main = state && state == python_thread_state();
  const struct module_search wanted_now = {missing, count, get_objects, is_main ? state : NULL, is_last_time, look};
  bool is_fruitless = !module_search(&wanted_now);
  fruitless_pause_ms = !is_fruitless ? 0 : fruitless_pause_ms ? fruitless_pause_ms * 2 : SHORTEST_PAUSE_MS;
  if (fruitless_pause_ms > LONGEST_PAUSE_MS) fruitless_pause_ms = LONGEST_PAUSE_MS;
}

static void search_in_time(bool is_last_time) {
  static struct wanted_module missing[WANTED_MAXIMUM];
  uint64_t start = now_ms();
  if (!is_last_time && start < next_search_ms) return;
  unsigned count = known_modules_take_wanted(missing, WANTED_MAXIMUM);
  if (!count) return;
  search(missing, count, is_last_time);
  uint64_t end = now_ms(), pause = ++searches > FREE_CALLS ? (end - start) * SHARE : SHORTEST_PAUSE_MS;
  if (pause < SHORTEST_PAUSE_MS) pause = SHORTEST_PAUSE_MS;
  next_search_ms = end + (pause > fruitless_pause_ms ? pause : fruitless_pause_ms);
}

/* ---- Telling the hook. */

static void look_and_tell(void) {
  if (!atomic_load(&is_ready)) return;
  look_at_stacks();
  search_in_time(false);
  tell_numbers();
  uint64_t now = now_ms();
  pthread_mutex_lock(&module_discovery_lock);
  has_news = news && python_api.list_size(news);
  bool is_due = now >= next_work_ms && (has_news || (again_ms && now >= again_ms));
  if (is_due) {
    has_news = false;
    again_ms = 0;
    next_work_ms = now + SHORTEST_PAUSE_MS;
  }
  pthread_mutex_unlock(&module_discovery_lock);
  if (is_due) python_worker_ask(WORK_MODULES);
}

/* Called by the interpreter on its main thread. */
static int come(void *unused) {
  (void)unused;
  if (!gate_is_ours()) return 0;
  atomic_store(&call, CALL_NONE); /* who asks from now on may have met something that is not seen below */
  void *state = python_thread_state ? python_thread_state() : NULL;
  atomic_store(&main_state, state);
  atomic_store(&coming, state);
  look_and_tell();
  atomic_store(&coming, NULL);
  if (known_modules_expire(state) && capture_current_thread) thread_forget_modules(capture_current_thread);
  return 0;
}

void module_discovery_take(void *list, bool is_last_time) {
  if (is_last_time) {
    look_at_stacks();
    search_in_time(true);
    tell_numbers();
  }
  void *taken = news;
  news = NULL;
  for (intptr_t i = 0, size = taken ? python_api.list_size(taken) : 0; i < size; i++)
    if (python_api.append(list, python_api.list_item(taken, i))) python_api.clear_error();
  if (taken) python_api.decrement(taken);
}

/* ---- Telling, by one thread at a time. */

static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER;

bool module_telling_begin(unsigned milliseconds) {
  for (unsigned waited = 0; pthread_mutex_trylock(&telling); waited++) {
    if (waited >= milliseconds) return false;
    usleep(1000);
  }
  return true;
}

void module_telling_end(void) { pthread_mutex_unlock(&telling); }

/* ---- Asking, without the GIL. */

/* The interpreter has few places for pending calls, which the program needs, too: ours takes one, or two where threads
** ask at the same moment, since another one's asking may fail. */
bool module_discovery_ask(void) {
  if (!atomic_load_explicit(&is_ready, memory_order_relaxed)) return false;
  int seen = CALL_NONE;
  atomic_compare_exchange_strong(&call, &seen, CALL_ASKING);
  if (seen == CALL_PENDING) return true;
  bool is_taken = python_api.add_pending_call(come, NULL) == 0;
  seen = CALL_ASKING; /* unless it has come already */
  if (!is_taken) atomic_store(&call, CALL_NONE);
  else atomic_compare_exchange_strong(&call, &seen, CALL_PENDING);
  return is_taken;
}

bool module_discovery_is_main(uint32_t tid) {
  void *state = atomic_load_explicit(&main_state, memory_order_relaxed);
  return state ? state == python_thread_state() : tid == (uint32_t)getpid();
}

/* The looker needs the GIL, so a thread that has it cannot wait. */
bool module_discovery_wait(void) {
  if (!gate_is_ours() || !atomic_load_explicit(&is_ready, memory_order_relaxed)) return false;
  bool can_wait = !python_api.has_gil();
  pthread_mutex_lock(&module_discovery_lock);
  uint64_t mine = ++questions, start = now_ms();
  pthread_cond_signal(&wanted);
  can_wait = can_wait && has_looker && waited_in_vain_ms < WAITS_MS;
  const struct timespec until = moment_after(WAIT_MS);
  while (can_wait && answers < mine)
    if (pthread_cond_timedwait(&answered, &module_discovery_lock, &until)) break;
  bool is_answered = answers >= mine;
  if (can_wait && !is_answered) waited_in_vain_ms += now_ms() - start;
  pthread_mutex_unlock(&module_discovery_lock);
  return is_answered;
}

/* The thread that does so. With the GIL, which it gives up while it waits. */
static void look_for_others(void) {
  while (atomic_load(&is_ready)) {
    void *state = python_api.release_gil();
    pthread_mutex_lock(&module_discovery_lock);
    while (answers == questions) pthread_cond_wait(&wanted, &module_discovery_lock);
    uint64_t asked = questions;
    pthread_mutex_unlock(&module_discovery_lock);
    python_api.take_gil(state);
    look_and_tell();
    pthread_mutex_lock(&module_discovery_lock);
    answers = asked;
    pthread_cond_broadcast(&answered);
    pthread_mutex_unlock(&module_discovery_lock);
  }
}

void module_discovery_begin_looking(void) {
  if (!gate_is_ours()) return;
  pthread_mutex_lock(&module_discovery_lock);
  if (!has_looker && atomic_load(&is_ready)) has_looker = python_thread_start(look_for_others);
  pthread_mutex_unlock(&module_discovery_lock);
}

void module_discovery_tick(void) {
  uint64_t now = now_ms();
  bool are_wanted = known_modules_are_wanted();
  pthread_mutex_lock(&module_discovery_lock);
  bool is_due = (has_news && now >= next_work_ms) || (again_ms && now >= again_ms) ||
                (are_wanted && now >= next_search_ms);
  pthread_mutex_unlock(&module_discovery_lock);
  if (is_due) module_discovery_ask(); /* where it cannot be asked it is at the next tick */
}

void module_discovery_again(unsigned milliseconds) {
  pthread_mutex_lock(&module_discovery_lock);
  again_ms = now_ms() + milliseconds;
  pthread_mutex_unlock(&module_discovery_lock);
}

uint64_t module_discovery_lost(void) { return atomic_load(&news_lost); }

uint64_t module_discovery_failed(void) { return atomic_load(&looks_failed); }

/* ---- The end. */

void module_discovery_stop(void) { atomic_store(&is_ready, false); }

void module_discovery_reset(void) {
  /* A forked child has no pending calls, and not the looker. What was news is the parent's. */
  call = CALL_NONE;
  has_looker = has_news = false;
  news = NULL;
  main_state = coming = NULL;
  questions = answers = waited_in_vain_ms = 0;
  next_work_ms = again_ms = fruitless_pause_ms = 0;
  next_search_ms = 0;
  searches = 0;
  module_search_reset();
  begin_conditions();
  pthread_mutex_init(&telling, NULL);
}
