/* python_worker.h: a thread of ours that calls the functions of the hooks which tell the library what it asks for.
**
** A thread of its own, because debuggers and torch.compile may be watching those of the program. It comes when
** something is asked for, and goes when all that was asked for has been called.
*/
#ifndef TFPROF_CAPTURE_PYTHON_WORKER_H
#define TFPROF_CAPTURE_PYTHON_WORKER_H

#include <pthread.h>

enum python_work { WORK_MODULES, WORK_SOURCES, PYTHON_WORKS };

/* With the GIL: what is called for it from now on, without arguments; it is kept for ever. */
void python_worker_give(enum python_work work, void *callable);
/* It is called soon, once for all that ask meanwhile. On any thread, with the GIL or without; does not wait for it. */
void python_worker_ask(enum python_work work);
/* In a forked child: what was asked for in the parent has to be asked for again. */
void python_worker_reset(void);
extern pthread_mutex_t python_worker_lock; /* for forks.c */

#endif
