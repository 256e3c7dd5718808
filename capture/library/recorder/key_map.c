/* key_map.c: see key_map.h. */
#include "key_map.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

static uint32_t place_of(uint64_t high, uint64_t low) {
  return (uint32_t)(hash_pair(high, low) >> 32);
}

static bool key_map_grow(struct key_map *map) {
  uint32_t old_count = map->entries ? map->mask + 1 : 0, count = old_count ? old_count * 2 : 1024;
  struct key_map_entry *entries = calloc(count, sizeof *entries);
  if (!entries) return false;
  for (uint32_t i = 0; i < old_count; i++) {
    if (!map->entries[i].row_plus_one) continue;
    uint32_t place = place_of(map->entries[i].high, map->entries[i].low);
    while (entries[place & (count - 1)].row_plus_one) place++;
    entries[place & (count - 1)] = map->entries[i];
  }
  free(map->entries);
  map->entries = entries;
  map->mask = count - 1;
  return true;
}

void key_map_end(struct key_map *map) {
  free(map->entries);
  memset(map, 0, sizeof *map);
}

struct key_map_entry *key_map_entry(struct key_map *map, uint64_t high, uint64_t low) {
  if ((!map->entries || map->used * 2 > map->mask) && !key_map_grow(map)) return NULL;
  for (uint32_t place = place_of(high, low);; place++) {
    struct key_map_entry *entry = &map->entries[place & map->mask];
    if (entry->row_plus_one && (entry->high != high || entry->low != low)) continue;
    entry->high = high;
    entry->low = low;
    return entry;
  }
}
