/* parallel.h: short-lived worker threads for loops whose iterations are independent.
**
** Threads are made per call, mask all signals (the host's handlers must not run on them) and are joined before return.
*/
#ifndef TFPROF_PARALLEL_H
#define TFPROF_PARALLEL_H

#include <stddef.h>

enum { PARALLEL_MAXIMUM_WORKERS = 16 };

/* Calls task(context, i, worker) for i = 0 ... count-1, on up to parallel_workers() threads, the calling one
** included. Iterations are handed out one by one. Where a thread cannot be made the others do its work. */
void parallel_for(size_t count, void (*task)(void *context, size_t i, unsigned worker), void *context);
/* 1 ... PARALLEL_MAXIMUM_WORKERS: online processors this process may use, or TFPROF_THREADS from the environment. */
unsigned parallel_workers(void);

/* Loops that the calling thread begins from now on use at most so many threads; 0: no limit of its own. For tasks of a
** loop that have loops of their own. */
void parallel_set_share(unsigned workers);

#endif
