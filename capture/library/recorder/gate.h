/* gate.h: whether a thread of the program may record now, and at which point of its life the recording is.
**
** One atomic. A forked child has inherited the recording but for its file and the writer thread: it gets its own with
** its first op or allocation, so that one which only goes on to another program leaves no file.
*/
#ifndef TFPROF_CAPTURE_GATE_H
#define TFPROF_CAPTURE_GATE_H

#include <stdatomic.h>
#include <stdbool.h>

enum gate_state {
  GATE_NONE,
  GATE_RECORDING,
  GATE_INHERITED,  /* forked, without an op or allocation since */
  GATE_STARTING,   /* by another thread */
  GATE_UNRECORDED, /* forked, and cannot record: said with its first op */
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
  DETAIL_FULL,    /* and ops, calls, small allocations with stacks */
  DETAIL_EMPTY,   /* callbacks as DETAIL_FULL has them, which do nothing: to measure what PyTorch takes to call any */
};
extern _Atomic int gate_detail;
static inline bool gate_wants_full(void) {
  return atomic_load_explicit(&gate_detail, memory_order_relaxed) == DETAIL_FULL;
}

#endif
