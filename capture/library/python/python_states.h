/* python_states.h: the threads that CPython knows of, those that have recorded nothing among them.
**
** The interpreter has a list of its thread states, which changes whenever a thread begins or ends, under a lock of
** CPython's.  It is followed without that lock, by guarded reads.  What was freed meanwhile is memory that says
** something else, or none: whoever takes a state for a thread's looks whether there is such a thread, and at its frames
** by python_peek.h, which believes none that is no frame.
*/
#ifndef TFPROF_CAPTURE_PYTHON_STATES_H
#define TFPROF_CAPTURE_PYTHON_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct python_state {
  uintptr_t address; /* of the PyThreadState */
  uint32_t tid;      /* the thread's, as the system has it */
};

/* With the GIL, once the layout of this Python is believed: compares the list with what the interpreter's own functions
** say of it. false: it is not where it should be, no thread is listed, and `reason` says why. Before CPython 3.11
** states do not have the system's number of their thread, and none is listed. */
bool python_states_prove(char *reason, size_t size);
/* On any thread, without the GIL: the states of the main interpreter, the newest first. How many, `room` at most. */
unsigned python_states_list(struct python_state *states, unsigned room);

#endif
