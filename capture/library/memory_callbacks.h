/* memory_callbacks.h: what runs whenever PyTorch gives memory, takes it back, or has none.
**
** c10::reportMemoryUsageToProfiler, c10::reportOutOfMemoryToProfiler and c10::memoryProfilingEnabled are called through
** the procedure linkage table, in libc10.so itself too; ours stand before PyTorch's because this library is loaded
** earlier, into the global scope.  That the calls arrive, with the arguments where we look for them, is proved each
** time by a tensor of known size (memory_watch, memory_prove).  Nothing here takes a lock or calls the system, but
** where a profiler of the user is active, a thread allocates for the first time, or memory grows by much.
*/
#ifndef TFPROF_CAPTURE_MEMORY_CALLBACKS_H
#define TFPROF_CAPTURE_MEMORY_CALLBACKS_H

#include "memory_forwarding.h"

/* What a number of thread_record.h's memory items stands for: a device and who deals out its memory. */
struct memory_pool {
  struct torch_device device;
  bool is_cpu_allocator; /* DefaultCPUAllocator, and not a mapping */
};
enum { POOL_MAXIMUM = 64 };
/* NULL: there is no such number. */
const struct memory_pool *memory_pool_of_number(unsigned number);
/* The highest total in use that was seen of the pool before the recording. */
uint64_t memory_pool_peak_before(unsigned number);

/* Before PyTorch is loaded: from now on its allocators are asked to tell. It cannot be begun later: PyTorch complains
** on stderr of pieces that it did not know. */
void memory_ask(bool is_wanted);
/* The calling thread is about to make and drop a tensor. */
void memory_watch(void);
/* It has: of `bytes` at `address`. false: `reason` says what was not as expected. */
bool memory_prove(uintptr_t address, int64_t bytes, char *reason, size_t size);

void memory_arm(bool with_stacks);
void memory_disarm(void);
/* The child is armed as its parent was. */
void memory_after_fork_in_child(void);

#endif
