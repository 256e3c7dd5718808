/* trigger_files.c: see trigger_files.h. */
#include "trigger_files.h"

#include "clock.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum {
  ROWS_MAXIMUM = 8,  /* of a file, beside the one of an end */
  ASK_MS = 1000,     /* that asking the others may take; */
  LAST_ASK_MS = 200, /* in a process that is about to end */
};

static const char *const kind_names[TRIGGER_KINDS] = {
    "slow_step", "exception", "thread_exception", "out_of_memory", "hang", "signal", "asked", "other_process", "crash"};

static struct frame_ring *ring;
static struct trigger_wishes wishes;
static unsigned written;
static _Atomic int64_t written_from_ns, written_ns; /* what the last one has; 0: there is none */
static int64_t taken_ns[TRIGGER_KINDS]; /* when one was last that is written; 0: none */
static struct {
  struct kept_trigger rows[ROWS_MAXIMUM];
  unsigned count;
  int64_t due_ns;
} waiting;
static _Atomic uint64_t unwritten, unasked;

void trigger_files_begin(struct frame_ring *its_ring, const struct trigger_wishes *its_wishes) {
  ring = its_ring;
  wishes = *its_wishes;
  written = 0;
  atomic_store(&written_ns, 0);
  memset(taken_ns, 0, sizeof taken_ns);
  trigger_files_forget();
}

void trigger_files_forget(void) {
  waiting.count = 0;
  atomic_store(&unwritten, 0);
  atomic_store(&unasked, 0);
}

const char *trigger_kind_name(enum trigger_kind kind) { return kind_names[kind]; }

enum trigger_kind trigger_kind_of(const char *name) {
  int kind = 0;
  while (kind < TRIGGER_KINDS && strcmp(kind_names[kind], name) != 0) kind++;
  return (enum trigger_kind)kind;
}

uint64_t triggers_take_unwritten(void) { return atomic_exchange(&unwritten, 0); }
uint64_t triggers_take_unasked(void) { return atomic_exchange(&unasked, 0); }

bool triggers_written(int64_t *from_ns, int64_t *to_ns) {
  *to_ns = atomic_load(&written_ns);
  *from_ns = atomic_load(&written_from_ns);
  return *to_ns != 0;
}
void trigger_files_leave_out(void) { atomic_fetch_add(&unwritten, 1); }

/* ---- Which. */

static bool is_an_end(enum trigger_kind kind) { return kind == TRIGGER_EXCEPTION || kind == TRIGGER_CRASH; }
static bool is_chosen(enum trigger_kind kind) { return kind == TRIGGER_SIGNAL || kind == TRIGGER_ASKED; }

/* Of another process: what that has met. */
static enum trigger_kind kind_of_limit(enum trigger_kind kind, const struct kept_trigger *facts) {
  return kind == TRIGGER_OTHER_PROCESS ? trigger_kind_of(facts->asked_by_kind) : kind;
}

static bool may_write(enum trigger_kind kind, enum trigger_kind of_limit, int64_t now_ns) {
  if (is_an_end(kind) || is_chosen(kind)) return true;
  if (written >= WRITTEN_MAXIMUM) return false;
  return !taken_ns[of_limit] || now_ns - taken_ns[of_limit] >= (int64_t)ring->head.keep_ns;
}

/* Somebody has ended the whole job, which the others are told as well. */
static bool is_from_outside(const struct kept_trigger *facts) {
  static const char interrupt[] = "KeyboardInterrupt";
  return strstr(facts->message, "(SIGTERM)") || !strncmp(facts->message, interrupt, sizeof interrupt - 1);
}

static void ask_others(enum trigger_kind kind, struct kept_trigger *facts) {
  if (!wishes.ask_others || is_chosen(kind) || kind == TRIGGER_OTHER_PROCESS) return;
  if (is_an_end(kind) && is_from_outside(facts)) return;
  struct asked_others others = wishes.ask_others(facts, kind == TRIGGER_CRASH ? LAST_ASK_MS : ASK_MS);
  facts->asked_processes_plus_one = others.asked + 1;
  atomic_fetch_add(&unasked, others.failed);
}

enum trigger_answer trigger_files_meet(enum trigger_kind kind, struct kept_trigger *facts) {
  int64_t now_ns = (int64_t)clock_monotonic_ns();
  facts->kind = kind_names[kind];
  if (!facts->time_ns) facts->time_ns = now_ns;
  enum trigger_kind of_limit = kind_of_limit(kind, facts);
  bool may = may_write(kind, of_limit, now_ns), has_room = waiting.count < ROWS_MAXIMUM;
  if (may) {
    taken_ns[of_limit] = now_ns;
    ask_others(kind, facts);
  }
  if (is_an_end(kind) || is_chosen(kind)) return TRIGGER_IS_DUE;
  if (!has_room || (!may && !waiting.count)) {
    trigger_files_leave_out();
    return TRIGGER_IS_LEFT_OUT;
  }
  if (!waiting.count) waiting.due_ns = facts->time_ns + wishes.after_ns;
  if (waiting.due_ns > now_ns + wishes.after_ns) waiting.due_ns = now_ns + wishes.after_ns;
  waiting.rows[waiting.count++] = *facts;
  return TRIGGER_WAITS;
}

/* ---- Writing. */

static int write_trigger_rows(struct kept_trigger *rows, unsigned count, int flush_ms, char *path) {
  int64_t now_ns = (int64_t)clock_monotonic_ns();
  for (unsigned i = 0; i < count; i++) rows[i].kept_to_ns = now_ns;
  wishes.flush(flush_ms);
  int reader = frame_ring_open_reader(ring);
  int reason = reader < 0 ? errno : frame_ring_copy(ring, reader, rows, count, path, TRIGGER_FILE_PATH);
  if (reader >= 0) close(reader);
  if (!reason) {
    written++;
    atomic_store(&written_from_ns, rows[0].kept_from_ns);
    atomic_store(&written_ns, (int64_t)clock_monotonic_ns());
  }
  return reason;
}

int trigger_files_write(enum trigger_kind kind, struct kept_trigger *facts, int flush_ms, char *path) {
  static struct kept_trigger rows[ROWS_MAXIMUM + 1]; /* large for the stack of a handler */
  unsigned count = 0;
  rows[count++] = *facts;
  for (unsigned i = 0; i < waiting.count && is_an_end(kind); i++) rows[count++] = waiting.rows[i];
  if (is_an_end(kind)) waiting.count = 0;
  return write_trigger_rows(rows, count, flush_ms, path);
}

int64_t trigger_files_due_ns(void) { return waiting.count ? waiting.due_ns : 0; }

int trigger_files_write_waiting(int flush_ms, struct kept_trigger *first, char *path) {
  unsigned count = waiting.count;
  waiting.count = 0;
  *first = waiting.rows[0];
  return write_trigger_rows(waiting.rows, count, flush_ms, path);
}
