/* key_map.h: a hash map from 128-bit keys to row numbers, for the writer thread.
**
** Keys and rows lie in the table itself, one miss of the cache for an answer, and a key without a row takes no place
** for good.  base/row_map.h numbers its keys, and keeps them apart from its places.
*/
#ifndef TFPROF_CAPTURE_KEY_MAP_H
#define TFPROF_CAPTURE_KEY_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct key_map_entry {
  uint64_t high, low;
  uint32_t row_plus_one; /* 0: free */
};

struct key_map {
  struct key_map_entry *entries;
  uint32_t mask, used;
};

void key_map_end(struct key_map *map);
/* Of what a program may make ever more of, and what is found again in another way: empties a map of so many entries. */
enum { KEY_MAP_BOUND = 1 << 16 };
static inline bool key_map_bound(struct key_map *map) {
  bool is_full = map->used >= KEY_MAP_BOUND;
  if (is_full) key_map_end(map);
  return is_full;
}
/* The entry of this key, made with row_plus_one 0 when it is new; NULL: no memory. Valid until the next call. */
struct key_map_entry *key_map_entry(struct key_map *map, uint64_t high, uint64_t low);
/* The caller has set row_plus_one of a new entry. */
static inline void key_map_added(struct key_map *map) { map->used++; }

#endif
