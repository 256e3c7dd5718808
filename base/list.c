/* list.c: see list.h. */
#include "base/list.h"

#include <stdint.h>

enum { FEWEST_ITEMS = 16 };

bool list_grow(void *items, void *capacity, size_t capacity_bytes, size_t needed, size_t item_size) {
  assert(item_size && (capacity_bytes == sizeof(size_t) || capacity_bytes == sizeof(uint32_t)));
  uint32_t narrow;
  size_t before;
  if (capacity_bytes == sizeof before) memcpy(&before, capacity, sizeof before);
  else memcpy(&narrow, capacity, sizeof narrow), before = narrow;
  assert(needed > before);
  size_t larger = before + before / 2;
  if (larger < needed) larger = needed;
  if (larger < FEWEST_ITEMS) larger = FEWEST_ITEMS;
  if (capacity_bytes == sizeof narrow && larger > UINT32_MAX && needed <= UINT32_MAX) larger = UINT32_MAX;
  if (larger > SIZE_MAX / 2 / item_size || (capacity_bytes == sizeof narrow && larger > UINT32_MAX)) return false;
  void *old, *moved;
  memcpy(&old, items, sizeof old);
  moved = realloc(old, larger * item_size);
  if (!moved) return false;
  memcpy(items, &moved, sizeof moved);
  narrow = (uint32_t)larger;
  if (capacity_bytes == sizeof larger) memcpy(capacity, &larger, sizeof larger);
  else memcpy(capacity, &narrow, sizeof narrow);
  return true;
}
