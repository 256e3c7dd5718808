/* free_space.h: which addresses of a memory are free, as pieces are given and taken back, and the largest free run.
**
** A segment tree (de Berg et al., Computational Geometry, §10.3) over the places at which anything begins or ends, each
** node of which knows how much is free at its beginning, at its end and at most in between: a change costs the
** logarithm of their number, whatever its size.  What is free on both sides of a cut is two runs.
*/
#ifndef TFPROF_DERIVE_FREE_SPACE_H
#define TFPROF_DERIVE_FREE_SPACE_H

#include <stdbool.h>
#include <stdint.h>

struct free_run {
  uint64_t first, last, largest;
}; /* bytes */

struct free_space {
  const uint64_t *bounds; /* addresses, ascending, each once; the caller's */
  uint32_t count;         /* of stretches between them */
  struct free_run *nodes; /* a node, its left half's, its right half's */
  uint8_t *whole;         /* by node: what its halves have yet to be told */
  uint8_t *cuts;          /* by bound */
};

/* Nothing is free. false: no memory, else free_space_end() is due. */
bool free_space_begin(struct free_space *space, const uint64_t *bounds, uint32_t bound_count);
void free_space_end(struct free_space *space);

/* Where the address stands among the bounds; it must be one of them. */
uint32_t free_space_bound(const struct free_space *space, uint64_t address);
/* From one bound to another, which is greater. */
void free_space_set(struct free_space *space, uint32_t from, uint32_t to, bool is_free);
/* Runs end at the bound, or no longer do; to be called before the stretch that begins there is set. */
static inline void free_space_cut(struct free_space *space, uint32_t bound, bool is_cut) {
  space->cuts[bound] = is_cut;
}
static inline uint64_t free_space_largest(const struct free_space *space) {
  return space->count ? space->nodes[0].largest : 0;
}

#endif
