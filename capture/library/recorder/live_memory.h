/* live_memory.h: pieces of memory that were given and not taken back: their sizes by their addresses.
**
** The allocator of the CPU says how much it gives, but not how much it takes back: that is looked up here, and the
** total in use is kept. It serves the writer thread, and before there is one whoever allocates (memory_callbacks.c).
** The writer thread also notes there which pieces have no row (left_out_memory.h).
*/
#ifndef TFPROF_CAPTURE_LIVE_MEMORY_H
#define TFPROF_CAPTURE_LIVE_MEMORY_H

#include "base/address_map.h"

struct live_piece {
  uintptr_t address;
  int64_t bytes;
  uint32_t left_out; /* its number, where it has no row; 0: it has one, or was given before the recording */
};

struct live_memory {
  struct address_map pieces; /* of struct live_piece */
  uint64_t in_use, peak; /* bytes */
  uint64_t refused;      /* pieces for which there was no memory */
};

/* A piece was given. One that stands at the same address counts as taken back, for its release was lost: its number is
** returned. Where there is no memory for it, it is its own. */
uint32_t live_memory_put(struct live_memory *live, uintptr_t address, int64_t bytes, uint32_t left_out);
/* The size of the piece that is taken back, and its number (or NULL); 0: it is not known. */
int64_t live_memory_take(struct live_memory *live, uintptr_t address, uint32_t *left_out);
/* NULL: none stands there. */
struct live_piece *live_memory_find(const struct live_memory *live, uintptr_t address);
void live_memory_end(struct live_memory *live);

#endif
