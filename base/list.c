/* list.c: see list.h. */
#include "base/list.h"

#include <stdint.h>

enum { FEWEST_ITEMS = 16 };

static size_t count_at(const void *place, size_t bytes) {
  uint32_t narrow;
  size_t wide;
  assert(bytes == sizeof wide || bytes == sizeof narrow);
  if (bytes == sizeof wide) memcpy(&wide, place, sizeof wide);
  else memcpy(&narrow, place, sizeof narrow), wide = narrow;
  return wide;
}

bool list_grow(void *items, void *capacity, size_t capacity_bytes, size_t needed, size_t item_size) {
  size_t before = count_at(capacity, capacity_bytes);
  uint32_t narrow;
  assert(item_size && needed > before);
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

bool list_extend(void *items, void *count, size_t count_bytes, size_t needed, size_t item_size) {
  size_t before = count_at(count, count_bytes);
  if (!list_grow(items, count, count_bytes, needed, item_size)) return false;
  char *first;
  memcpy(&first, items, sizeof first);
  memset(first + before * item_size, 0, (count_at(count, count_bytes) - before) * item_size);
  return true;
}
