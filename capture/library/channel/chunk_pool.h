/* chunk_pool.h: the memory through which records travel from the program's threads to the writer thread.
**
** A thread writes into a chunk of its own and takes the next one when it is full; the writer thread gives chunks back
** once it has read them.  So memory follows the backlog of all threads together, whatever their number, and never
** exceeds what chunk_pool_begin was given; pages that were never needed are never touched.  Taking and giving back are
** one atomic operation on a bit map: no locks, no system calls.
*/
#ifndef TFPROF_CAPTURE_CHUNK_POOL_H
#define TFPROF_CAPTURE_CHUNK_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
  CHUNK_SIZE = 64 * 1024,
  CHUNK_COUNT = 768, /* usually 48 MiB: a million ops and changes of memory, one second at 350,000 ops/s that each
                     ** allocate and release; and more than there are threads (THREAD_MAXIMUM), which hold one each */
  CHUNK_COUNT_MINIMUM = 16,
  CHUNK_COUNT_MAXIMUM = 64 * 1024, /* 4 GiB */
  CHUNK_HEADER = 64,
  CHUNK_CAPACITY = CHUNK_SIZE - CHUNK_HEADER,
};

/* Written by one thread, read by the writer thread: bytes below `used` are complete, and none follow once `next` is
** set. */
struct chunk {
  _Atomic(struct chunk *) next;
  _Atomic uint32_t used;
  uint8_t padding[CHUNK_HEADER - 12];
  uint8_t bytes[CHUNK_CAPACITY];
};

/* Reserves address space for `bytes` in chunks, once in the life of the process; brought within the bounds above.
** false: the system refused. */
bool chunk_pool_begin(uint64_t bytes);
/* All chunks are free again: only for the single thread of a forked child. */
void chunk_pool_reset(void);
/* NULL when all chunks are in use. */
struct chunk *chunk_acquire(void);
void chunk_release(struct chunk *chunk);
/* Half of all chunks were in use when this one was taken: the writer thread has to come soon. */
bool chunk_is_in_upper_half(const struct chunk *chunk);
/* Gives pages of free chunks that a burst had touched back to the system, but keeps some. Called by the writer thread
** now and then. */
void chunk_pool_trim(void);
/* How many chunks are in use, for tests. */
unsigned chunk_pool_used(void);

#endif
