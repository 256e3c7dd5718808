/* list.c: see list.h. */
#include "base/list.h"

#include <stdint.h>

enum { FEWEST_ITEMS = 16 };

bool list_grow(void *items, size_t *capacity, size_t needed, size_t item_size) {
  assert(item_size && needed > *capacity);
  size_t larger = *capacity + *capacity / 2;
  if (larger < needed) larger = needed;
  if (larger < FEWEST_ITEMS) larger = FEWEST_ITEMS;
  if (larger > SIZE_MAX / 2 / item_size) return false;
  void *before, *moved;
  memcpy(&before, items, sizeof before);
  moved = realloc(before, larger * item_size);
  if (!moved) return false;
  memcpy(items, &moved, sizeof moved);
  *capacity = larger;
  return true;
}
