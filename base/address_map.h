/* address_map.h: what is known of things that come and go, by their addresses: pieces of memory, objects of Python.
**
** Entries are any struct that begins with a uintptr_t, its address, and lie in the table itself (open addressing, at
** most half full); `size` is that of an entry, the same in every call. The hole of one that is taken out is closed by
** moving back those behind it, so that whatever a call returned is good until the next that adds or removes. Zeroed a
** map is empty; free() of `entries` ends it.
*/
#ifndef TFPROF_ADDRESS_MAP_H
#define TFPROF_ADDRESS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"

struct address_map {
  void *entries;      /* NULL until the first; address 0: free */
  size_t mask, count; /* of places, one less than there are; of entries */
};

/* Twice the places. False: no memory, and nothing has changed. */
bool address_map_grow(struct address_map *map, size_t size);
void address_map_remove(struct address_map *map, size_t size, void *entry);

static inline size_t address_map_home(uintptr_t address) { return (size_t)hash_spread(address >> 4, 44); }
static inline void *address_map_place(const struct address_map *map, size_t size, size_t place) {
  return (char *)map->entries + (place & map->mask) * size;
}
static inline uintptr_t address_map_address(const void *entry) {
  uintptr_t address;
  memcpy(&address, entry, sizeof address);
  return address;
}

/* The entry of an address, or the free place where it would be; there must be places. */
static inline void *address_map_search(const struct address_map *map, size_t size, uintptr_t address) {
  size_t place = address_map_home(address);
  void *entry = address_map_place(map, size, place);
  for (uintptr_t there; (there = address_map_address(entry)) && there != address;)
    entry = address_map_place(map, size, ++place);
  return entry;
}

/* NULL: it is not there. */
static inline void *address_map_find(const struct address_map *map, size_t size, uintptr_t address) {
  void *entry = map->entries ? address_map_search(map, size, address) : NULL;
  return entry && address_map_address(entry) ? entry : NULL;
}

/* The entry of an address, made where it is new, all 0 but the address. NULL: it is, and there is no memory. */
static inline void *address_map_put(struct address_map *map, size_t size, uintptr_t address, bool *is_new) {
  *is_new = false;
  if ((!map->entries || map->count * 2 > map->mask) && !address_map_grow(map, size))
    return address_map_find(map, size, address);
  void *entry = address_map_search(map, size, address);
  *is_new = !address_map_address(entry);
  if (*is_new) {
    memcpy(memset(entry, 0, size), &address, sizeof address);
    map->count++;
  }
  return entry;
}

#endif
