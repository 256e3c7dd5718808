/* python_calls.h: --python=calls: every call of a Python function as an op of category `python`.
**
** CPython tells us when a function begins and ends: from 3.12 on through sys.monitoring, whose callbacks are two
** builtin functions made here; before through PyEval_SetProfile, thread by thread.  A generator has a row for each time
** that it runs.  Calls nest with the ops on the thread's stack of what is open.  Added to a Python call of 55 ns: see
** tests/bench/README.md.
*/
#ifndef TFPROF_CAPTURE_PYTHON_CALLS_H
#define TFPROF_CAPTURE_PYTHON_CALLS_H

#include <stdbool.h>

/* With the GIL held. The callbacks for sys.monitoring: number 0 for the beginning of a call, 1 for its end. A new
** reference to a builtin function, or to None where memory is short. No error is set. */
void *python_call_watcher(int number);
/* With the GIL held: the calling thread's calls are told to us through PyEval_SetProfile. false: it is not there. */
bool python_calls_profile_thread(void);

#endif
