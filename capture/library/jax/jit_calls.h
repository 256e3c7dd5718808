/* jit_calls.h: calls of functions that jax.jit made, which become ranges PjitFunction(NAME) and may be steps.
**
** Each such function is an object of its own of the class PjitFunction, which is written in C++.  Python calls it by
** the pointer that its class says lies in the object (vectorcall); ours takes its place there and goes on to the one
** that was there, which is the same for all.  Type, attributes and identity of the object stay what they are, and no
** frame of ours is in a traceback.
**
** What is called within such a call is a part of it; so are the functions that it traces.  A call that is itself part
** of a trace runs nothing, and counts not.  A function that is called often and is none of the steps has a range for
** its first calls only, unless a call comes less often than once in a millisecond.
**
** Everything is called with the GIL held; free-threaded Python is not supported.
*/
#ifndef TFPROF_CAPTURE_JIT_CALLS_H
#define TFPROF_CAPTURE_JIT_CALLS_H

#include <stdbool.h>

/* Functions of Python: whether the calling thread is tracing; what is called before a step where windows are to be
** opened or closed (windows/window_source.h). Both stay. */
void jit_calls_begin(void *is_traced, void *step_begins);

/* The calls of this object are noted from now on, by this name. false: it has no such pointer, or another one, or there
** is no memory. */
bool jit_calls_watch(void *function, const char *name);

#endif
