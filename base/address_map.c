/* address_map.c: see address_map.h. */
#include "base/address_map.h"

#include <stdlib.h>

enum { FEWEST_PLACES = 256 };

bool address_map_grow(struct address_map *map, size_t size) {
  size_t old_count = map->entries ? map->mask + 1 : 0, count = old_count ? old_count * 2 : FEWEST_PLACES;
  const char *old = map->entries;
  struct address_map larger = {calloc(count, size), count - 1, map->count};
  if (!larger.entries) return false;
  for (const char *entry = old; entry && entry < old + old_count * size; entry += size) {
    uintptr_t address = address_map_address(entry);
    if (address) memcpy(address_map_search(&larger, size, address), entry, size);
  }
  free(map->entries);
  *map = larger;
  return true;
}

void address_map_remove(struct address_map *map, size_t size, void *entry) {
  size_t hole = (size_t)((char *)entry - (char *)map->entries) / size;
  for (size_t place = hole + 1;; place++) {
    uintptr_t address = address_map_address(address_map_place(map, size, place));
    if (!address) break;
    /* It may move into the hole when that lies between its home and its place. */
    if (((place - address_map_home(address)) & map->mask) < ((place - hole) & map->mask)) continue;
    memcpy(address_map_place(map, size, hole), address_map_place(map, size, place), size);
    hole = place;
  }
  memset(address_map_place(map, size, hole), 0, size);
  map->count--;
}
