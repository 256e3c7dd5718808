/* python_thread.h: threads of ours that run Python.
**
** They are made as all threads of ours (recorder/own_threads.h) and take the GIL by themselves, so that no function of
** Python's is called to make them: libraries replace those.  One that comes when the interpreter is about to end would
** take a GIL that is gone.  So the end first waits for those that are on their way.
*/
#ifndef TFPROF_CAPTURE_PYTHON_THREAD_H
#define TFPROF_CAPTURE_PYTHON_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts one, on which `run` is called with the GIL held; it may give the GIL up and take it again (python_api.h). It
** leaves no error set. On any thread, with the GIL or without. false: it cannot be started. */
bool python_thread_start(void (*run)(void));
/* At the end, without the GIL: none comes to run any more. */
void python_threads_stop(void);
/* In a forked child, which has none of them. */
void python_threads_reset(void);
extern pthread_mutex_t python_threads_lock; /* for forks.c */

#endif
