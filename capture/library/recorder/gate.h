/* gate.h: whether a thread of the program may record now, and at which point of its life the recording is.
**
** One atomic. A forked child has inherited the recording but for its file and the writer thread: it gets its own with
** the first thing that is recorded of it, so that one which only goes on to another program leaves no file.
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
};
extern _Atomic int gate_state;

/* Whether what the thread does is to be recorded; starts the recording of a forked child. */
bool gate_may_record(void);
/* The same without starting one. */
static inline bool gate_is_open(void) {
  return atomic_load_explicit(&gate_state, memory_order_acquire) == GATE_RECORDING;
}

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
