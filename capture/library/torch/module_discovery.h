/* module_discovery.h: from the address of a module that an op's stack shows to the module itself.
**
** Only under the GIL can it be said what lies at an address, and an op's callback, which mostly runs without it, may
** not take it: its thread may hold locks that the owner of the GIL waits for.  But the module is called by a frame of
** that thread's stack, and stays there until the op has returned.  So whoever gets the GIL next looks at the stacks of
** all threads (module_facts.h):
**   - for the main thread that is itself: it is asked to call us (Py_AddPendingCall), and does so between two
**     instructions, before it runs any other function of Python; so whatever module stands on its stack then, or lies
**     where one was seen and is made, was there when the op began;
**   - for another thread it is a thread of ours, the looker; the thread waits for it inside its callback, but not long,
**     and not again and again where that was in vain.
** What was found is told to the hook, whose function is called on a thread of its own (python_worker.h), and not more
** often than every SHORTEST_PAUSE_MS.
**
** A module that nobody has found in time (an op threw, its thread could not wait) is looked for among the objects that
** Python's garbage collector knows (module_search.h), some 10 ms in a program with PyTorch: after the first times at
** most a hundredth of the time is spent on that, and less and less while nothing is found.  What is found gets its name
** when the main thread has just come, or when it is found a second time.
*/
#ifndef TFPROF_CAPTURE_MODULE_DISCOVERY_H
#define TFPROF_CAPTURE_MODULE_DISCOVERY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* With the GIL: `work` is called when there is something to take. `get_objects` is gc.get_objects. Both are kept for
** ever. */
void module_discovery_begin(void *work, void *get_objects);
/* On a thread that has met a module which is wanted, in any callback: it is looked for. false: it is not. */
bool module_discovery_ask(void);
/* Whether the thread with this number of the system is the one that is asked; to be called on that thread. */
bool module_discovery_is_main(uint32_t tid);
/* The same in the callback of an op that has not begun yet: returns when somebody has looked, or nobody has in time.
** false: nobody has. */
bool module_discovery_wait(void);
/* The program has threads besides the main one: the looker comes, where it is not there. */
void module_discovery_begin_looking(void);
/* By the writer thread, again and again. */
void module_discovery_tick(void);
/* By the hook: `work` is to be called again after this time, though with nothing new: something was not complete, or
** may have changed. */
void module_discovery_again(unsigned milliseconds);
/* With the GIL: takes all news that there are (module_facts.h) into a list; the last time after looking for what is
** wanted. */
void module_discovery_take(void *list, bool is_last_time);
/* By the hook, without the GIL: only the thread that has begun tells what modules are, until it ends. false: another
** one has not ended in this time. (Locks of Python's are replaced by libraries such as gevent.) */
bool module_telling_begin(unsigned milliseconds);
void module_telling_end(void);
/* News that were given up because the hook took none. */
uint64_t module_discovery_lost(void);
/* Looks that came to nothing because memory was short. */
uint64_t module_discovery_failed(void);
/* No more calls; and in a forked child: nothing is wanted. */
void module_discovery_stop(void);
void module_discovery_reset(void);
extern pthread_mutex_t module_discovery_lock; /* for forks.c */

#endif
