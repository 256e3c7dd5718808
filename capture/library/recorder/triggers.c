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
#include "trigger_files.h"

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

enum { PLACE_FREE, PLACE_TAKEN, PLACE_READY, PLACE_DONE };

static struct frame_ring *ring;
static pthread_t thread;
static _Atomic long thread_number;
static _Atomic pid_t process; /* whose thread it is; 0: there is none */
static _Atomic bool is_over, is_resting, has_ended; /* is_resting: it is over for a while only */

/* Grows with whatever is asked for, and with whatever was done: what is waited for. */
static _Atomic uint32_t asked, done;

/* What is written next. */
static struct {
  _Atomic int state;
  _Atomic bool is_waited_for;
  enum trigger_kind kind;
  struct kept_trigger facts;
  int reason; /* PLACE_DONE: errno; 0: it is written */
  char path[TRIGGER_FILE_PATH];
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

static char written_path[TRIGGER_FILE_PATH]; /* of the thread */

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

/* Said soon, by the writer thread; others that come before that are not. */
static void note_news(const struct kept_trigger *facts, int reason, const char *path) {
  if (atomic_load(&news.is_ready)) return;
  if (reason)
    snprintf(news.text, sizeof news.text, "what is kept of process %ld could not be written (%s): %s", (long)getpid(),
             facts->message, strerror(reason));
  else {
    int length = snprintf(news.text, sizeof news.text, "wrote %s: %s", path, facts->message);
    if (facts->asked_processes_plus_one > 1 && length > 0 && (size_t)length < sizeof news.text)
      snprintf(news.text + length, sizeof news.text - (size_t)length,
               "; asked %lld other process%s of the run for theirs", (long long)facts->asked_processes_plus_one - 1,
               facts->asked_processes_plus_one > 2 ? "es" : "");
  }
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
  trigger_files_meet(TRIGGER_CRASH, &facts);
  bool is_written = !trigger_files_write(TRIGGER_CRASH, &facts, LAST_FLUSH_MS, written_path);
  int reader = is_written ? frame_ring_open_reader(ring) : -1;
  if (reader >= 0) {
    frame_ring_note_end(ring, reader, number);
    close(reader);
  }
  crash.is_written = true;
}

static void serve_signal(void) {
  struct kept_trigger facts = {.kind = NULL};
  int number = atomic_exchange(&user_signal.number, 0);
  long sender = user_signal.sender;
  snprintf(facts.message, sizeof facts.message, "signal %d", number);
  if (sender > 0)
    snprintf(facts.message, sizeof facts.message, "signal %d, sent by process %ld", number, sender);
  trigger_files_meet(TRIGGER_SIGNAL, &facts);
  int reason = trigger_files_write(TRIGGER_SIGNAL, &facts, FLUSH_MS, written_path);
  note_news(&facts, reason, written_path);
}

static void free_place(void) {
  int state = PLACE_DONE;
  atomic_compare_exchange_strong(&place.state, &state, PLACE_FREE);
}

/* Whoever asked says it; and of what ends the program the launcher does, behind what the program says of it: a line of
** ours in between would part it. */
static bool is_said_elsewhere(enum trigger_kind kind, int reason) {
  return kind == TRIGGER_ASKED || (kind == TRIGGER_EXCEPTION && !reason);
}

/* Of one that is written later nobody waits for the file. */
static void serve_place(void) {
  enum trigger_answer answer = trigger_files_meet(place.kind, &place.facts);
  place.reason = answer == TRIGGER_IS_LEFT_OUT ? EAGAIN : 0;
  if (answer == TRIGGER_IS_DUE) {
    place.reason = trigger_files_write(place.kind, &place.facts, FLUSH_MS, place.path);
    if (!is_said_elsewhere(place.kind, place.reason)) note_news(&place.facts, place.reason, place.path);
  }
  atomic_store(&place.state, PLACE_DONE);
  if (!place.is_waited_for) free_place();
}

/* What another process has asked for that one says. */
static void serve_waiting(void) {
  static struct kept_trigger first;
  int reason = trigger_files_write_waiting(FLUSH_MS, &first, written_path);
  if (reason || !first.asked_by_kind) note_news(&first, reason, written_path);
}

/* Until what waits is due; -1: nothing does. */
static int due_in_ms(void) {
  int64_t due_ns = trigger_files_due_ns(), now_ns = (int64_t)clock_monotonic_ns();
  if (!due_ns) return -1;
  if (atomic_load(&is_over)) return atomic_load(&is_resting) ? -1 : 0;
  return due_ns > now_ns ? (int)((due_ns - now_ns) / 1000000) + 1 : 0;
}

static void *run(void *unused) {
  (void)unused;
  prctl(PR_SET_NAME, "tfprof-keep");
  atomic_store(&thread_number, syscall(SYS_gettid));
  file_threads_take_table();
  for (;;) {
    uint32_t seen = atomic_load(&asked);
    int due_ms = due_in_ms();
    if (crash.number && !crash.is_written) serve_crash();
    else if (user_signal.number) serve_signal();
    else if (atomic_load(&place.state) == PLACE_READY) serve_place();
    else if (due_ms == 0) serve_waiting();
    else if (atomic_load(&is_over)) break;
    else {
      wait_on(&asked, seen, due_ms);
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
  atomic_store(&is_resting, false);
  atomic_store(&has_ended, false);
  bool has_thread = own_thread_start(&thread, run, NULL);
  atomic_store(&process, has_thread ? getpid() : 0);
  return has_thread;
}

bool triggers_begin(struct frame_ring *its_ring, const struct trigger_wishes *wishes) {
  ring = its_ring;
  trigger_files_begin(its_ring, wishes);
  atomic_store(&place.state, PLACE_FREE);
  crash.is_written = false;
  crash.number = user_signal.number = 0;
  return start_thread();
}

bool triggers_are_on(void) { return process && process == getpid() && gate_is_ours(); }

static bool has_thread_ended(void) { return has_ended; }

static bool end_thread(bool rests, int timeout_ms) {
  if (!triggers_are_on()) return true;
  atomic_store(&is_resting, rests);
  atomic_store(&is_over, true);
  wake(&asked);
  if (!wait_until(has_thread_ended, moment_now_ns() + (uint64_t)timeout_ms * 1000000)) return false;
  pthread_join(thread, NULL);
  own_thread_wait_until_gone(atomic_load(&thread_number));
  atomic_store(&process, 0);
  return true;
}

bool triggers_rest(int timeout_ms) { return end_thread(true, timeout_ms); }

void triggers_go_on(void) {
  if (ring && !process && !start_thread())
    capture_say("nothing more that is kept of process %ld is written: no thread can be started", (long)getpid());
}

void triggers_end(int timeout_ms) {
  if (!end_thread(false, timeout_ms)) pthread_detach(thread);
  atomic_store(&process, 0);
  ring = NULL;
}

void triggers_after_fork_in_child(void) {
  atomic_store(&process, 0);
  ring = NULL;
  atomic_store(&place.state, PLACE_FREE);
  user_signal.number = 0;
  trigger_files_forget();
}

/* ---- From other threads. */

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

void trigger_note(enum trigger_kind kind, const struct kept_trigger *facts, int patience_ms) {
  if (!triggers_are_on()) return;
  if (wait_until(take_place, moment_now_ns() + (uint64_t)patience_ms * 1000000)) fill_place(kind, facts, false);
  else trigger_files_leave_out();
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
