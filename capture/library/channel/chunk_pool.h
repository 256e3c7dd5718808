/* chunk_pool.h: the memory through which records travel from the program's threads to the writer thread.
**
** A thread writes into a chunk of its own and takes the next one when it is full; the writer thread gives chunks back
** once it has read them.  So memory follows the backlog of all threads together, and never exceeds what
** chunk_pool_begin was given and one chunk for each thread, of which little is resident while the thread does nothing;
** pages that were never needed are never touched.  Taking and giving back are some atomic operations on a bit map: no
** locks, no system calls.
*/
#ifndef TFPROF_CAPTURE_CHUNK_POOL_H
#define TFPROF_CAPTURE_CHUNK_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
  CHUNK_SIZE = 64 * 1024,
  CHUNK_COUNT = 768, /* usually 48 MiB: a million ops and changes of memory, one second at 350,000 ops/s that each
                     ** allocate and release */
  CHUNK_COUNT_MINIMUM = 16,
  CHUNK_COUNT_MAXIMUM = 64 * 1024, /* 4 GiB */
  CHUNK_HOLDERS = 4096, /* threads, which hold one each beside those */
};

/* Written by one thread, read by the writer thread: bytes below `used` are complete, and none follow once `next` is
** set.  All lie together, a cache line each, apart from the bytes: so the writer thread finds quickly that thousands of
** threads have written nothing. */
struct chunk {
  _Alignas(64) _Atomic(struct chunk *) next;
  uint8_t *bytes; /* CHUNK_SIZE */
  _Atomic uint32_t used;
};

/* Reserves address space for `bytes` in chunks, once in the life of the process; brought within the bounds above.
** false: the system refused. */
bool chunk_pool_begin(uint64_t bytes);
/* All chunks are free again: only for the single thread of a forked child. */
void chunk_pool_reset(void);
/* `is_first`: for a thread that holds none. NULL when all chunks are in use. */
struct chunk *chunk_acquire(bool is_first);
/* `is_last`: the thread holds none any more. */
void chunk_release(struct chunk *chunk, bool is_last);
/* Half of what there is beside one for each thread is in use: the writer thread has to come soon. */
bool chunk_pool_is_half_full(void);
/* Gives pages back in a chunk whose thread has written nothing for a while: those of which all bytes up to `read` were
** read. Called by the writer thread. */
void chunk_trim(struct chunk *chunk, uint32_t read);
/* Gives pages of free chunks that a burst had touched back to the system, but keeps some. Called by the writer thread
** now and then. */
void chunk_pool_trim(void);
/* How many chunks are in use, for tests. */
unsigned chunk_pool_used(void);

#endif
