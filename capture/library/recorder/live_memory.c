/* live_memory.c: open addressing; the hole of a piece that is taken out is closed by moving back those behind it. */
#include "live_memory.h"

#include "base/hash.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static size_t home_of(uintptr_t address) { return (size_t)hash_spread(address >> 4, 44); }

static struct live_piece *find_piece(const struct live_memory *live, uintptr_t address) {
  size_t place = home_of(address);
  while (live->pieces[place & live->mask].address && live->pieces[place & live->mask].address != address) place++;
  return &live->pieces[place & live->mask];
}

static bool live_memory_grow(struct live_memory *live) {
  size_t old_count = live->pieces ? live->mask + 1 : 0, count = old_count ? old_count * 2 : 1024;
  struct live_piece *old = live->pieces, *pieces = calloc(count, sizeof *pieces);
  if (!pieces) return false;
  live->pieces = pieces;
  live->mask = count - 1;
  for (size_t i = 0; i < old_count; i++)
    if (old[i].address) *find_piece(live, old[i].address) = old[i];
  free(old);
  return true;
}

uint32_t live_memory_put(struct live_memory *live, uintptr_t address, int64_t bytes, uint32_t left_out) {
  if ((!live->pieces || live->count * 2 > live->mask) && !live_memory_grow(live)) {
    live->refused++;
    return left_out;
  }
  struct live_piece *piece = find_piece(live, address);
  uint32_t displaced = piece->address ? piece->left_out : 0;
  if (piece->address)
    live->in_use -= (uint64_t)piece->bytes;
  else
    live->count++;
  *piece = (struct live_piece){address, bytes, left_out};
  live->in_use += (uint64_t)bytes;
  if (live->in_use > live->peak) live->peak = live->in_use;
  return displaced;
}

struct live_piece *live_memory_find(const struct live_memory *live, uintptr_t address) {
  struct live_piece *piece = live->pieces ? find_piece(live, address) : NULL;
  return piece && piece->address ? piece : NULL;
}

int64_t live_memory_take(struct live_memory *live, uintptr_t address, uint32_t *left_out) {
  struct live_piece *pieces = live->pieces, *piece = pieces ? find_piece(live, address) : NULL;
  if (left_out) *left_out = 0;
  if (!piece || !piece->address) return 0;
  int64_t bytes = piece->bytes;
  if (left_out) *left_out = piece->left_out;
  size_t mask = live->mask, hole = (size_t)(piece - pieces);
  for (size_t place = hole + 1; pieces[place & mask].address; place++) {
    /* It may move into the hole when that lies between its home and its place. */
    if (((place - home_of(pieces[place & mask].address)) & mask) < ((place - hole) & mask)) continue;
    pieces[hole & mask] = pieces[place & mask];
    hole = place;
  }
  pieces[hole & mask].address = 0;
  live->count--;
  live->in_use -= (uint64_t)bytes;
  return bytes;
}

void live_memory_end(struct live_memory *live) {
  free(live->pieces);
  memset(live, 0, sizeof *live);
}
