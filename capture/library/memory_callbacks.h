/* memory_callbacks.h: what runs whenever PyTorch gives memory, takes it back, or has none.
**
** Four functions of libc10.so are called through the procedure linkage table, in libc10.so itself too.  This library
** defines them and is loaded earlier, into the global scope, so that the calls come here; each does what PyTorch's own
** one does, by calling it:
**
**   alloc_cpu, free_cpu           under the allocator of the CPU: every tensor's memory. PyTorch would report the same
**                                 through the next function if memoryProfilingEnabled() asked it to; but then it takes
**                                 a lock and a look into a table of its own for each, which is as much again as
**                                 recording it
**   reportMemoryUsageToProfiler   by all other allocators, in any case: CUDA's, mapped files, shared memory. What the
**                                 CPU's reports to a profiler of the user passes through here, too
**   reportOutOfMemoryToProfiler   the same of failures. Those of the CPU are seen as the C++ exception that leaves
**                                 alloc_cpu
**
** A profiler of the user sees what it would see without us: nothing that it is told is changed, and nobody else is
** asked to tell.  That the calls arrive, with the arguments where we look for them, is proved each time by a tensor of
** known size (memory_watch, memory_prove).  On the path of an allocation nothing takes a lock or calls the system, but
** where a thread allocates for the first time or memory grows by much.
*/
#ifndef TFPROF_CAPTURE_MEMORY_CALLBACKS_H
#define TFPROF_CAPTURE_MEMORY_CALLBACKS_H

#include "live_memory.h"
#include "torch_memory.h"

#include <pthread.h>

/* What a number of thread_record.h's memory items stands for: a device and who deals out its memory. */
struct memory_pool {
  struct torch_device device;
};
enum {
  POOL_CPU = 0,    /* c10::alloc_cpu */
  POOL_MAPPED = 1, /* memory of the CPU that another allocator has: mapped files, shared memory */
  POOL_MAXIMUM = 64,
};
/* NULL: there is no such number. */
const struct memory_pool *memory_pool_of_number(unsigned number);

/* Before PyTorch is loaded: from now on it is known what the CPU's allocator has given. */
void memory_begin(void);
/* The calling thread is about to make and drop a tensor. */
void memory_watch(void);
/* It has: of `bytes` at `address`. false: `reason` says what was not as expected. */
bool memory_prove(uintptr_t address, int64_t bytes, char *reason, size_t size);

/* What happens from now on is recorded. While no ops are, only failures and pieces of 1 MiB and more have a stack. */
void memory_arm(bool with_stacks);
/* Nothing more is looked at. */
void memory_disarm(void);
/* What is live now and not recorded: for the writer thread, which goes on with it. */
void memory_take_over(struct live_memory *live);
/* In a forked child: `live` is what its parent knew. It is armed as the parent was, and records once it allocates. */
void memory_after_fork_in_child(const struct live_memory *live);
/* Of what is live and not recorded. For forks.c. */
extern pthread_mutex_t memory_lock;

#endif
