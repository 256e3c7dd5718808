/* torch_lock.h: PyTorch's lock of its list of callbacks, which must not be in another thread's hands when we fork.
**
** at::addGlobalCallback and at::removeCallback take it, and so does every thread that notices that the list has
** changed, or that is given the state of another one: autograd does so for each node of a backward pass.  If a process
** forks meanwhile, the lock stays taken in the child, by nobody, and the child would hang when recording begins or
** ends in it.  So a fork takes it (forks.h).
**
** No symbol leads to it.  It lies in at::GlobalCallbackManager, a static object of libtorch_cpu.so: a version, which
** every change counts up, the std::vector of the callbacks, the std::mutex (ATen/record_function.cpp).  The object is
** found by a callback of ours in the vector, and what lies behind it is proved to be the lock: while it is taken here,
** a change on another thread waits for it.
*/
#ifndef TFPROF_CAPTURE_TORCH_LOCK_H
#define TFPROF_CAPTURE_TORCH_LOCK_H

#include <pthread.h>
#include <stdbool.h>

/* NULL: not found. */
extern pthread_mutex_t *torch_lock;

/* Needs the functions of torch_api.h and guarded_read_begin(). Takes a millisecond. */
bool torch_lock_find(void);

#endif
