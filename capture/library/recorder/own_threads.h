/* own_threads.h: threads of ours in somebody's program.
**
** They block all signals. A signal is for the program: on a thread of ours its handler would run where the program does
** not expect it, and one that the program blocks in its own threads, to take it by sigwait(), would end the process.
*/
#ifndef TFPROF_CAPTURE_OWN_THREADS_H
#define TFPROF_CAPTURE_OWN_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Starts one by pthread_create() itself: functions of Python that do so may have been replaced by a library, such as
** gevent, whose "threads" run on the caller's. `thread`: what joins it; NULL: nobody does. false: it cannot be started,
** and errno says why. */
bool own_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);
/* The same, detached, with a stack of so many bytes, or of the usual size where the program's thread-local variables
** need more. */
bool own_thread_start_small(size_t stack_bytes, void *(*run)(void *), void *argument);

/* The system counts a thread for a moment after it has ended: returns when that is over, or after 100 ms. `number`: as
** the system has it. */
void own_thread_wait_until_gone(long number);

#endif
