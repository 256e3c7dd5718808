/* triggers.c: see triggers.h.
**
** There is one place for what is to be written next; who finds it taken waits, or is counted.  All waits are futexes,
** which a handler of a signal may use.
*/
#include "triggers.h"

#include "clock.h"
#include "file_threads.h"
#include "gate.h"
#include "moments.h"
#include "own_threads.h"
#include "parts.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
  FLUSH_MS = 1500,
  LAST_FLUSH_MS = 400, /* of a process that is about to end, */
  CRASH_MS = 2000,     /* which waits for so long in all */
  LOOK_MS = 50,
};

static const char *const kind_names[TRIGGER_KINDS] = {
    "slow_step", "exception", "thread_exception", "out_of_memory", "hang", "signal", "asked", "crash"};

enum { PLACE_FREE, PLACE_TAKEN, PLACE_READY, PLACE_DONE };

static struct frame_ring *ring;
static void (*flush)(int timeout_ms);
static pthread_t thread;
static _Atomic long thread_number;
static _Atomic pid_t process; /* whose thread it is; 0: there is none */
static _Atomic bool is_over, has_ended;

/* Grows with whatever is asked for, and with whatever was done: what is waited for. */
static _Atomic uint32_t asked, done;

/* What is written next. */
static struct {
  _Atomic int state;
  _Atomic bool is_waited_for;
  enum trigger_kind kind;
  struct kept_trigger facts;
  int reason; /* PLACE_DONE: errno; 0: it is written */
  char path[4400];
} place;

static struct {
  _Atomic int number; /* 0: none has come */
  _Atomic long sender;
} user_signal;

static struct {
  _Atomic int number; /* 0: none has come */
  _Atomic long sender;
  _Atomic(const void *) address;
  _Atomic bool is_written;
} crash;

static struct {
  _Atomic bool is_ready;
  char text[5000];
} news;

static _Atomic uint64_t unwritten;
static uint64_t written;
static int64_t written_ns[TRIGGER_KINDS]; /* when one was last; 0: none */
static char crash_path[4400];

/* ---- Waiting. */

static void wait_on(_Atomic uint32_t *word, uint32_t seen, int milliseconds) {
  const struct timespec patience = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, milliseconds < 0 ? NULL : &patience, NULL, 0);
}

static void wake(_Atomic uint32_t *word) {
  atomic_fetch_add(word, 1);
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Looks again each time that something is done. */
static bool wait_until(bool (*is_so)(void), uint64_t end_ns) {
  for (;;) {
    uint32_t seen = atomic_load(&done);
    if (is_so()) return true;
    if (moment_now_ns() >= end_ns) return false;
    wait_on(&done, seen, LOOK_MS);
  }
}

/* ---- The thread. */

static bool may_write(enum trigger_kind kind, int64_t now_ns) {
  bool is_asked = kind == TRIGGER_SIGNAL || kind == TRIGGER_ASKED;
  if (is_asked || kind == TRIGGER_EXCEPTION || kind == TRIGGER_CRASH) return true;
  if (written >= WRITTEN_MAXIMUM) return false;
  return !written_ns[kind] || now_ns - written_ns[kind] >= (int64_t)ring->head.keep_ns;
}

/* 0, or errno. */
static int write_dump(enum trigger_kind kind, struct kept_trigger *facts, int flush_ms, char *path, size_t size) {
  facts->kind = kind_names[kind];
  if (!facts->time_ns) facts->time_ns = (int64_t)clock_monotonic_ns();
  flush(flush_ms);
  int reader = frame_ring_open_reader(ring);
  int reason = reader < 0 ? errno : frame_ring_copy(ring, reader, facts, path, size);
  if (reader >= 0 && !reason && kind == TRIGGER_CRASH) frame_ring_note_end(ring, reader, crash.number);
  if (reader >= 0) close(reader);
  if (!reason) {
    written++;
    written_ns[kind] = (int64_t)clock_monotonic_ns();
  }
  return reason;
}

/* Said soon, by the writer thread; others that come before that are not. */
static void note_news(const struct kept_trigger *facts, int reason, const char *path) {
  if (atomic_load(&news.is_ready)) return;
  if (reason)
    snprintf(news.text, sizeof news.text, "what is kept of process %ld could not be written (%s): %s", (long)getpid(),
             facts->message, strerror(reason));
  else snprintf(news.text, sizeof news.text, "wrote %s: %s", path, facts->message);
  atomic_store(&news.is_ready, true);
}

void triggers_say(void) {
  if (!atomic_load(&news.is_ready)) return;
  capture_say("%s", news.text);
  atomic_store(&news.is_ready, false);
}

static void serve_crash(void) {
  struct kept_trigger facts = {.kind = NULL};
  int number = crash.number;
  const char *name = number == SIGSEGV   ? "SIGSEGV"
                     : number == SIGABRT ? "SIGABRT"
                     : number == SIGBUS  ? "SIGBUS"
                     : number == SIGFPE  ? "SIGFPE"
                     : number == SIGILL  ? "SIGILL"
                                         : "SIGTERM";
  if (crash.sender > 0)
    snprintf(facts.message, sizeof facts.message, "signal %d (%s), sent by process %ld", number, name, crash.sender);
  else if (crash.address)
    snprintf(facts.message, sizeof facts.message, "signal %d (%s) at address %p", number, name, crash.address);
  else snprintf(facts.message, sizeof facts.message, "signal %d (%s)", number, name);
  write_dump(TRIGGER_CRASH, &facts, LAST_FLUSH_MS, crash_path, sizeof crash_path);
  crash.is_written = true;
}

static void serve_signal(void) {
  static char path[4400];
  struct kept_trigger facts = {.kind = NULL};
  int number = atomic_exchange(&user_signal.number, 0);
  long sender = user_signal.sender;
  snprintf(facts.message, sizeof facts.message, "signal %d", number);
  if (sender > 0)
    snprintf(facts.message, sizeof facts.message, "signal %d, sent by process %ld", number, sender);
  int reason = write_dump(TRIGGER_SIGNAL, &facts, FLUSH_MS, path, sizeof path);
  note_news(&facts, reason, path);
}

static void free_place(void) {
  int state = PLACE_DONE;
  atomic_compare_exchange_strong(&place.state, &state, PLACE_FREE);
}

static void serve_place(void) {
  place.reason = EAGAIN;
  bool may = may_write(place.kind, (int64_t)clock_monotonic_ns());
  if (may) place.reason = write_dump(place.kind, &place.facts, FLUSH_MS, place.path, sizeof place.path);
  else atomic_fetch_add(&unwritten, 1);
  if (may && place.kind != TRIGGER_ASKED) note_news(&place.facts, place.reason, place.path);
  atomic_store(&place.state, PLACE_DONE);
  if (!place.is_waited_for) free_place();
}

static void *run(void *unused) {
  (void)unused;
  prctl(PR_SET_NAME, "tfprof-keep");
  atomic_store(&thread_number, syscall(SYS_gettid));
  file_threads_take_table();
  for (;;) {
    uint32_t seen = atomic_load(&asked);
    if (crash.number && !crash.is_written) serve_crash();
    else if (user_signal.number) serve_signal();
    else if (atomic_load(&place.state) == PLACE_READY) serve_place();
    else if (atomic_load(&is_over)) break;
    else {
      wait_on(&asked, seen, -1);
      continue;
    }
    wake(&done);
  }
  atomic_store(&has_ended, true);
  wake(&done);
  return NULL;
}

static bool start_thread(void) {
  atomic_store(&is_over, false);
  atomic_store(&has_ended, false);
  bool has_thread = own_thread_start(&thread, run, NULL);
  atomic_store(&process, has_thread ? getpid() : 0);
  return has_thread;
}

bool triggers_begin(struct frame_ring *its_ring, void (*its_flush)(int timeout_ms)) {
  ring = its_ring;
  flush = its_flush;
  written = 0;
  memset(written_ns, 0, sizeof written_ns);
  atomic_store(&place.state, PLACE_FREE);
  atomic_store(&unwritten, 0);
  crash.is_written = false;
  crash.number = user_signal.number = 0;
  return start_thread();
}

bool triggers_are_on(void) { return process && process == getpid() && gate_is_ours(); }

static bool has_thread_ended(void) { return has_ended; }

bool triggers_rest(int timeout_ms) {
  if (!triggers_are_on()) return true;
  atomic_store(&is_over, true);
  wake(&asked);
  if (!wait_until(has_thread_ended, moment_now_ns() + (uint64_t)timeout_ms * 1000000)) return false;
  pthread_join(thread, NULL);
  own_thread_wait_until_gone(atomic_load(&thread_number));
  atomic_store(&process, 0);
  return true;
}

void triggers_go_on(void) {
  if (ring && !process && !start_thread())
    capture_say("nothing more that is kept of process %ld is written: no thread can be started", (long)getpid());
}

void triggers_end(int timeout_ms) {
  if (!triggers_rest(timeout_ms)) pthread_detach(thread);
  atomic_store(&process, 0);
  ring = NULL;
}

void triggers_after_fork_in_child(void) {
  atomic_store(&process, 0);
  ring = NULL;
  atomic_store(&place.state, PLACE_FREE);
  user_signal.number = 0;
}

uint64_t triggers_take_unwritten(void) { return atomic_exchange(&unwritten, 0); }

/* ---- From other threads. */

enum trigger_kind trigger_kind_of(const char *name) {
  int kind = 0;
  while (kind < TRIGGER_KINDS && strcmp(kind_names[kind], name) != 0) kind++;
  return (enum trigger_kind)kind;
}

static bool take_place(void) {
  int state = PLACE_FREE;
  return atomic_compare_exchange_strong(&place.state, &state, PLACE_TAKEN);
}

static void fill_place(enum trigger_kind kind, const struct kept_trigger *facts, bool is_waited_for) {
  place.kind = kind;
  place.facts = *facts;
  place.is_waited_for = is_waited_for;
  atomic_store(&place.state, PLACE_READY);
  wake(&asked);
}

void trigger_note(enum trigger_kind kind, const struct kept_trigger *facts) {
  if (!triggers_are_on()) return;
  if (take_place()) fill_place(kind, facts, false);
  else atomic_fetch_add(&unwritten, 1);
}

static bool is_place_done(void) { return atomic_load(&place.state) == PLACE_DONE; }

bool trigger_write(enum trigger_kind kind, const char *message, int timeout_ms, char *path, size_t path_size,
                   char *problem, size_t problem_size) {
  struct kept_trigger facts = {.time_ns = (int64_t)clock_monotonic_ns()};
  uint64_t end_ns = moment_now_ns() + (uint64_t)timeout_ms * 1000000;
  snprintf(problem, problem_size, "nothing is kept of it");
  if (!triggers_are_on()) return false;
  snprintf(facts.message, sizeof facts.message, "%s", message);
  snprintf(problem, problem_size, "it does not get to it within %d ms", timeout_ms);
  if (!wait_until(take_place, end_ns)) return false;
  fill_place(kind, &facts, true);
  if (!wait_until(is_place_done, end_ns)) { /* whoever serves it frees it */
    place.is_waited_for = false;
    free_place();
    return false;
  }
  bool is_written = !place.reason;
  if (is_written) snprintf(path, path_size, "%s", place.path);
  else
    snprintf(problem, problem_size, place.reason == EAGAIN ? "it was written a moment ago" : "it cannot be written: %s",
             strerror(place.reason));
  free_place();
  return is_written;
}

/* ---- Within handlers. */

void trigger_of_signal(int number, long sender) {
  if (!triggers_are_on()) return;
  atomic_store(&user_signal.sender, sender);
  atomic_store(&user_signal.number, number);
  wake(&asked);
}

static bool is_crash_written(void) { return crash.is_written; }

void trigger_of_crash(int number, long sender, const void *address) {
  int none = 0;
  if (!triggers_are_on()) return;
  atomic_store(&crash.sender, sender);
  atomic_store(&crash.address, address);
  atomic_compare_exchange_strong(&crash.number, &none, number);
  wake(&asked);
  wait_until(is_crash_written, moment_now_ns() + CRASH_MS * UINT64_C(1000000));
}
