/* live_memory.c: see live_memory.h. */
#include "live_memory.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = sizeof(struct live_piece) };

uint32_t live_memory_put(struct live_memory *live, uintptr_t address, int64_t bytes, uint32_t left_out) {
  bool is_new;
  struct live_piece *piece = address_map_put(&live->pieces, PIECE, address, &is_new);
  if (!piece) {
    live->refused++;
    return left_out;
  }
  uint32_t displaced = piece->left_out;
  live->in_use -= (uint64_t)piece->bytes;
  *piece = (struct live_piece){address, bytes, left_out};
  live->in_use += (uint64_t)bytes;
  if (live->in_use > live->peak) live->peak = live->in_use;
  return displaced;
}

struct live_piece *live_memory_find(const struct live_memory *live, uintptr_t address) {
  return address_map_find(&live->pieces, PIECE, address);
}

int64_t live_memory_take(struct live_memory *live, uintptr_t address, uint32_t *left_out) {
  struct live_piece *piece = address_map_find(&live->pieces, PIECE, address);
  if (left_out) *left_out = piece ? piece->left_out : 0;
  if (!piece) return 0;
  int64_t bytes = piece->bytes;
  address_map_remove(&live->pieces, PIECE, piece);
  live->in_use -= (uint64_t)bytes;
  return bytes;
}

void live_memory_end(struct live_memory *live) {
  free(live->pieces.entries);
  memset(live, 0, sizeof *live);
}
