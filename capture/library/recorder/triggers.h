/* triggers.h: what makes the last seconds of a recording be written (frame_ring.h), and the thread that does so.
**
** Whoever meets one says so and goes on, or waits until it is written.  The thread sleeps until then, has the writer
** thread bring everything into the ring, and copies, when it is time for that (trigger_files.h).  It needs neither
** memory nor a lock that the program's threads have, so that it works in a process that is about to end by a signal,
** too: there it does not wait for the writer thread for long, which may wait for such a lock.
*/
#ifndef TFPROF_CAPTURE_TRIGGERS_H
#define TFPROF_CAPTURE_TRIGGERS_H

#include "frame_ring.h"

enum trigger_kind {
  TRIGGER_SLOW_STEP,
  TRIGGER_EXCEPTION,
  TRIGGER_THREAD_EXCEPTION,
  TRIGGER_OUT_OF_MEMORY,
  TRIGGER_HANG,
  TRIGGER_SIGNAL,
  TRIGGER_ASKED,
  TRIGGER_OTHER_PROCESS, /* of the run, which has met one and asks for what this one has kept */
  TRIGGER_CRASH,
  TRIGGER_KINDS
};

/* Who was asked, of the other processes of the run on this machine. */
struct asked_others {
  unsigned asked, failed;
};
struct trigger_wishes {
  int64_t after_ns; /* what follows a trigger for so long is written with it */
  /* Asks them for their last seconds, and returns within that time; takes neither memory nor a lock. */
  struct asked_others (*ask_others)(const struct kept_trigger *trigger, int timeout_ms);
  void (*flush)(int timeout_ms); /* returns when all that was recorded is in the ring, or after that time */
};

/* Starts the thread. The wishes are copied. */
bool triggers_begin(struct frame_ring *ring, const struct trigger_wishes *wishes);
/* What is asked for by now is written, and the thread ends. */
void triggers_end(int timeout_ms);
/* Around a fork, as recording_rest(). What is to be written later still is. */
bool triggers_rest(int timeout_ms);
void triggers_go_on(void);
void triggers_after_fork_in_child(void);
/* Whether anything is kept in this process. */
bool triggers_are_on(void);

/* Not of the program's threads: it is written some time after it, or counted. Where the thread is busy it waits for so
** long until it can say so. */
void trigger_note(enum trigger_kind kind, const struct kept_trigger *facts, int patience_ms);
/* Waits until it is written. `path`: the file; `problem`: why there is none. */
bool trigger_write(enum trigger_kind kind, const char *message, int timeout_ms, char *path, size_t path_size,
                   char *problem, size_t problem_size);
/* The name of a kind, as triggers.kind has it, and the kind that has it; TRIGGER_KINDS: none has. */
const char *trigger_kind_name(enum trigger_kind kind);
enum trigger_kind trigger_kind_of(const char *name);

/* ---- Within handlers of signals. */

/* It is written soon. `sender`: the process that sent it. */
void trigger_of_signal(int number, long sender);
/* The process is about to end: waits until it is written, two seconds at most. */
void trigger_of_crash(int number, long sender, const void *address);

/* ---- For the writer thread: since it was asked last, how many triggers of all kinds came and were not written, and
** how often another process could not be asked. */
uint64_t triggers_take_unwritten(void);
uint64_t triggers_take_unasked(void);
/* When what is kept was written last, and from when on it was there; false: never. */
bool triggers_written(int64_t *from_ns, int64_t *to_ns);
/* Says on stderr what was written since; the thread itself has no stderr. */
void triggers_say(void);

#endif
