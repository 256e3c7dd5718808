/* triggers.h: what makes the last seconds of a recording be written (frame_ring.h), and the thread that does so.
**
** Whoever meets one says so and goes on, or waits until it is written.  The thread sleeps until then, has the writer
** thread bring everything into the ring, and copies.  It needs neither memory nor a lock that the program's threads
** have, so that it works in a process that is about to end by a signal, too: there it does not wait for the writer
** thread for long, which may wait for such a lock.
**
** What comes by itself (a slow step, a failed allocation) is written once in the time that is kept, by kind, and
** WRITTEN_MAXIMUM times in all; what was not written is counted, and told in diagnostics.
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
  TRIGGER_CRASH,
  TRIGGER_KINDS
};
enum { WRITTEN_MAXIMUM = 100 };

/* Starts the thread. `flush` returns when all that was recorded is in the ring, or after so many milliseconds. */
bool triggers_begin(struct frame_ring *ring, void (*flush)(int timeout_ms));
/* What is asked for by now is written, and the thread ends. */
void triggers_end(int timeout_ms);
/* Around a fork, as recording_rest(). */
bool triggers_rest(int timeout_ms);
void triggers_go_on(void);
void triggers_after_fork_in_child(void);
/* Whether anything is kept in this process. */
bool triggers_are_on(void);

/* Not of the program's threads: it is written soon, or counted. */
void trigger_note(enum trigger_kind kind, const struct kept_trigger *facts);
/* Waits until it is written. `path`: the file; `problem`: why there is none. */
bool trigger_write(enum trigger_kind kind, const char *message, int timeout_ms, char *path, size_t path_size,
                   char *problem, size_t problem_size);
/* The kind that has this name, as triggers.kind has it; TRIGGER_KINDS: none has. */
enum trigger_kind trigger_kind_of(const char *name);

/* ---- Within handlers of signals. */

/* It is written soon. `sender`: the process that sent it. */
void trigger_of_signal(int number, long sender);
/* The process is about to end: waits until it is written, two seconds at most. */
void trigger_of_crash(int number, long sender, const void *address);

/* ---- For the writer thread: how many came and were not written since it was asked last, of all kinds. */
uint64_t triggers_take_unwritten(void);
/* Says on stderr what was written since; the thread itself has no stderr. */
void triggers_say(void);

#endif
