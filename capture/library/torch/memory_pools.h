/* memory_pools.h: who deals out memory, and what of the CPU's was given and is not recorded.
**
** Before a recording begins, and in a forked child until it has its own, what is live is kept here; the writer thread
** then goes on with it.
*/
#ifndef TFPROF_CAPTURE_MEMORY_POOLS_H
#define TFPROF_CAPTURE_MEMORY_POOLS_H

#include "recorder/live_memory.h"
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
/* The number of the device's pool; new ones are few. What is beyond POOL_MAXIMUM counts as the last one. */
unsigned memory_pool_number(struct torch_device device);

/* A piece was given, or taken back (MEMORY_SIZE_UNKNOWN), that is not recorded. */
void memory_kept_note(uintptr_t address, int64_t bytes);
/* What is live now and not recorded: for the writer thread, which goes on with it. */
void memory_take_over(struct live_memory *live);
/* In a forked child: `live` is what its parent knew. */
void memory_after_fork_in_child(const struct live_memory *live);
/* Of all that is here. For forks.h. */
extern pthread_mutex_t memory_lock;

#endif
