/* own_threads.h: threads of ours in somebody's program.
**
** They block all signals. A signal is for the program: on a thread of ours its handler would run where the program does
** not expect it, and one that the program blocks in its own threads, to take it by sigwait(), would end the process.
*/
#ifndef TFPROF_CAPTURE_OWN_THREADS_H
#define TFPROF_CAPTURE_OWN_THREADS_H

#include <pthread.h>
#include <stdbool.h>

/* Starts one by pthread_create() itself: functions of Python that do so may have been replaced by a library, such as
** gevent, whose "threads" run on the caller's. `thread`: what joins it; NULL: nobody does. false: it cannot be started,
** and errno says why. */
bool own_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

#endif
