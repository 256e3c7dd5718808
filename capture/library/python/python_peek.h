/* python_peek.h: the Python stack of a thread that runs on meanwhile. On the writer thread only.
**
** It takes no lock, nor the GIL, and stops nobody: frames are read through guarded_read, which survives memory that is
** not there, and only a stack whose every frame is one (its code is a code object, and its instruction lies within
** that) down to the outermost is believed.
*/
#ifndef TFPROF_CAPTURE_PYTHON_PEEK_H
#define TFPROF_CAPTURE_PYTHON_PEEK_H

#include "recorder/recorder.h"

struct python_place {
  uintptr_t code, instruction;
};

/* Of a new file: what was known of code objects is forgotten, and not freed. */
void python_peek_open(void);
void python_peek_close(void);
/* So that no later look needs the loader, whose lock may be held. */
void python_peek_prepare(void);
/* Before stacks are looked at: code objects that died since the last time are no longer taken for what they were. */
void python_peek_begin(void);
/* The stack of the thread that has this state (PyThreadState), from the innermost frame outwards. How many frames; 0:
** it runs no Python, or was changing. */
unsigned python_peek_stack(uintptr_t state, struct python_place *stack, unsigned room);
/* The same of a thread that is to stand where it is: read twice, until both are equal. `is_changing`: they never were,
** and the last one is what is returned. `stack` has STACK_MAXIMUM places. */
unsigned python_peek_steady(uintptr_t state, struct python_place *stack, bool *is_changing);
/* The row of code_traces; -1: it cannot be told, since there is no memory, or code died meanwhile. */
int64_t python_peek_trace(struct recorder *recorder, const struct python_place *stack, unsigned depth);

#endif
