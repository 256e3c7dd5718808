/* module_discovery.h: from the address of a module that an op's stack shows to the module itself.
**
** Only under the GIL can it be said whether there is still a module at an address.  The writer thread, which never
** takes the GIL, asks the interpreter to call us when it can (Py_AddPendingCall: on the main thread, between two
** instructions). Then the objects that Python's garbage collector knows are gone through once (in C, some 10 ms in a
** program with PyTorch, without any code of the program being run), and weak references to those that were wanted are
** handed to a new Python thread, which runs the hook's function: a thread of its own, because torch.compile may be
** watching the main thread.
**
** This happens when a model is run for the first time, and when modules turn up that were not part of it then; after
** the first times at most a hundredth of the time is spent on it, and less and less while nothing is found: a program
** may make a module for each step and drop it.  An address where no object is any more is told to be that of a dead
** module, so that the next one there is asked for again.
*/
#ifndef TFPROF_CAPTURE_MODULE_DISCOVERY_H
#define TFPROF_CAPTURE_MODULE_DISCOVERY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* With the GIL: `work` is called with a list of references to modules (module_facts.h) on a thread of its own.
** `get_objects` is gc.get_objects, `start_thread` _thread.start_new_thread. false: this interpreter lacks a function.
** All three are kept for ever. */
bool module_discovery_begin(void *work, void *get_objects, void *start_thread);
/* By the writer thread: a module that is not known, and the moment when to ask for those. */
void module_discovery_want(uintptr_t address, uintptr_t type);
void module_discovery_tick(void);
/* By the hook: `work` is to be called again after this time, though with nothing new: something was not complete, or
** may have changed. */
void module_discovery_again(unsigned milliseconds);
/* With the GIL: appends references to those that are wanted now to a list. */
void module_discovery_now(void *list);
/* No more calls; and in a forked child: nothing is wanted. */
void module_discovery_stop(void);
void module_discovery_reset(void);
/* Of what is wanted. For forks.c. */
extern pthread_mutex_t module_discovery_lock;

#endif
