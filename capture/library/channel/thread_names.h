/* thread_names.h: what threading.Thread calls the threads.
**
** A thread of that module tells its name as it starts, where the module looks at its number (thread_name_set).  The
** threads that were there before the recording began are told of together (thread_name_note), by their number and the
** time when they started, so that a later thread that gets the number again does not get the name, too.
*/
#ifndef TFPROF_CAPTURE_THREAD_NAMES_H
#define TFPROF_CAPTURE_THREAD_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* The calling thread's, in UTF-8, told before its first op; what does not fit is cut. */
void thread_name_set(const char *name);
/* That of a thread which runs already. With the GIL held, before ops are recorded. Those beyond the first 256 are not
** kept. */
void thread_name_note(uint32_t tid, const char *name);
/* Copies the calling thread's; empty: it is no thread of that module. */
void thread_name_copy(uint32_t tid, char *name, size_t size);
/* In a forked child, whose threads have other numbers. */
void thread_names_reset(void);

#endif
