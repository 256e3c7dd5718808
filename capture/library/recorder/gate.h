/* gate.h: whether a thread of the program may record now, and at which point of its life the recording is.
**
** One atomic, and a mark. A forked child has inherited the recording but for its file and the writer thread. It gets
** its own with the first thing that is recorded of it, so that one which only goes on to another program leaves no
** file.  A child of a fork that no handler saw, by the system call itself, has no writer thread, and locks may be taken
** in it for ever: the mark lies in a page that the kernel leaves empty in each child, and where it is missing nothing
** is recorded or asked for.
*/
#ifndef TFPROF_CAPTURE_GATE_H
#define TFPROF_CAPTURE_GATE_H

#include <stdatomic.h>
#include <stdbool.h>

enum gate_state {
  GATE_NONE,
  GATE_RECORDING,
  GATE_INHERITED,  /* forked, and nothing has been recorded since */
  GATE_STARTING,   /* by another thread */
  GATE_UNRECORDED, /* forked, and cannot record: said with the first thing that would be */
  GATE_ENDED,
  /* Of a program in which nothing is recorded until somebody asks (control.h); marks of steps are counted. */
  GATE_DORMANT,
  GATE_WOKEN,  /* somebody has: all is ready, and recording begins with the next step */
  GATE_ASLEEP, /* forked from such a program, and no mark has come since */
};
extern _Atomic int gate_state;

/* The mark is set: in the process that loads the library, and in a forked child, by the handler. */
void gate_own(void);
extern const volatile bool *gate_mark;
static inline bool gate_is_ours(void) { return *gate_mark; }
/* The same by a system call, too: a child may share the memory of its parent. */
bool gate_is_of_process(void);

/* Whether what the thread does is to be recorded; starts the recording of a forked child. */
bool gate_may_record(void);
/* The same without starting one. */
static inline bool gate_is_open(void) {
  return atomic_load_explicit(&gate_state, memory_order_acquire) == GATE_RECORDING && gate_is_ours();
}

/* Whether marks of steps count, without a recording, too; of a forked child that is asleep this is the first. */
bool gate_counts_steps(void);
void gate_set_waking(void (*wake)(void));

/* How a forked child starts (false: it cannot), and how it says that it does not. */
void gate_set_child(bool (*start)(void), void (*refuse)(void));
/* false: it was not in the first state. */
bool gate_move(enum gate_state from, enum gate_state to);

enum detail {
  DETAIL_NOTHING, /* nothing of ours is called */
  DETAIL_ALWAYS,  /* steps, ranges, counters, memory */
  DETAIL_FULL,    /* and what is too much for every step: ops, calls, stacks of small allocations */
  DETAIL_EMPTY,   /* callbacks as DETAIL_FULL has them, which do nothing: to measure what calling any takes */
};
extern _Atomic int gate_detail;
static inline bool gate_wants_full(void) {
  return atomic_load_explicit(&gate_detail, memory_order_relaxed) == DETAIL_FULL;
}

#endif
