/* thread_names.h: what threading.Thread, or the program by way of NVTX, calls the threads.
**
** A thread of that module tells its name as it starts, where the module looks at its number (thread_name_set).  The
** threads that were there before the recording began are told of together (thread_name_note), by their number and the
** time when they started, so that a later thread that gets the number again does not get the name, too.
*/
#ifndef TFPROF_CAPTURE_THREAD_NAMES_H
#define TFPROF_CAPTURE_THREAD_NAMES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The calling thread's, in UTF-8, told before its first op; what does not fit is cut. */
void thread_name_set(const char *name);
enum { THREAD_NAME_ROOM = 128 /* with the NUL */ };
/* Taken around forks. */
extern pthread_mutex_t thread_names_lock;
/* That of a thread which runs already; the last one counts. Those beyond the first 1024 are not kept. It is in the
** thread's row if that is made later. */
void thread_name_note(uint32_t tid, const char *name);
/* Whether one was noted; copies it. */
bool thread_name_noted(uint32_t tid, char *name, size_t size);
/* The same of a thread that told its name by itself, and runs: of one that records nothing, asked for by another. */
bool thread_name_told(uint32_t tid, char *name, size_t size);
/* Copies the calling thread's; empty: it is no thread of that module. */
void thread_name_copy(uint32_t tid, char *name, size_t size);
/* In a forked child, whose threads have other numbers. */
void thread_names_reset(void);

#endif
