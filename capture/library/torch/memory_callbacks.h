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
** known size (memory_watch, memory_prove).
**
** While no ops are recorded a change of the CPU's memory without a stack takes 16 bytes and reads no clock: of up to
** BRIEF_RUN changes in a row the first one tells the time, and the writer thread sees to it that none is told to be
** earlier than its last look.  Their order, also between threads, and with it what is in use, is exact.
**
** On the path of an allocation nothing takes a lock or calls the system, but where a thread allocates for the first
** time or memory grows by much.
*/
#ifndef TFPROF_CAPTURE_MEMORY_CALLBACKS_H
#define TFPROF_CAPTURE_MEMORY_CALLBACKS_H

#include "recorder/parts.h"
#include "recorder/source.h"
#include "recorder/live_memory.h"
#include "torch_memory.h"

extern const struct capture_source memory_source;
extern struct capture_part memory_part;

/* Before PyTorch is loaded: from now on it is known what the CPU's allocator has given. */
void memory_begin(void);
/* The calling thread is about to make and drop a tensor. */
void memory_watch(void);
/* It has: of `bytes` at `address`. false: `reason` says what was not as expected. */
bool memory_prove(uintptr_t address, int64_t bytes, char *reason, size_t size);

/* What happens from now on is recorded. While no ops are, only failures and pieces of 1 MiB and more have a stack. */
void memory_arm(bool with_stacks);
/* By what recording an op takes, in nanoseconds; before recording begins. */
void memory_set_cost(double op_ns);
/* Nothing more is looked at. */
void memory_disarm(void);

#endif
