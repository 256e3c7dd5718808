/* c_stacks.h: the stacks of C and C++ of threads of this process that hang, where the user asked for them.
**
** A thread unwinds its own stack, in a handler of a signal that is sent to it, for 2 to 40 µs.  That is why it is not
** done unasked: who waits in poll, nanosleep and the like is told EINTR then, whatever SA_RESTART says.  Threads that
** wait in such a call are left out, so that no program sees one; so are those that block the signal.  It is the last of
** the real-time signals that nobody has a handler of, and has its default action again once all threads have answered.
**
** Unwinding must take no lock that who hangs may have: it needs glibc 2.35, and a libgcc that makes use of it.
** Everything here runs on the writer thread, but for the handler.
*/
#ifndef TFPROF_CAPTURE_C_STACKS_H
#define TFPROF_CAPTURE_C_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "host/thread_looks.h"

enum { C_STACK_BYTES = 8192 }; /* of one as a text */

/* Before anything hangs: libgcc is loaded. NULL: stacks can be taken; else why they cannot. */
const char *c_stacks_prepare(void);
/* For a look at all threads of the process: false: there is no signal for it. */
bool c_stacks_begin(void);
void c_stacks_end(void);
/* The stack of a thread that was just looked at, innermost first, a line for each frame: "libc.so.6+0x89e8a
** pthread_cond_wait+0x1ea". Its length; 0: none. */
size_t c_stacks_take(uint32_t tid, const struct thread_look *look, char *text, size_t room);

#endif
