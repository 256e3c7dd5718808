/* row_map.h: a hash map from 128-bit keys to row numbers, for the writer thread. */
#ifndef TFPROF_CAPTURE_ROW_MAP_H
#define TFPROF_CAPTURE_ROW_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct row_map_entry {
  uint64_t high, low;
  uint32_t row_plus_one; /* 0: free */
};

struct row_map {
  struct row_map_entry *entries;
  uint32_t mask, used;
};

void row_map_end(struct row_map *map);
/* Of what a program may make ever more of, and what is found again in another way: empties a map of so many entries. */
enum { ROW_MAP_BOUND = 1 << 16 };
static inline bool row_map_bound(struct row_map *map) {
  bool is_full = map->used >= ROW_MAP_BOUND;
  if (is_full) row_map_end(map);
  return is_full;
}
/* The entry of this key, made with row_plus_one 0 when it is new; NULL: no memory. Valid until the next call. */
struct row_map_entry *row_map_entry(struct row_map *map, uint64_t high, uint64_t low);
/* The caller has set row_plus_one of a new entry. */
static inline void row_map_added(struct row_map *map) { map->used++; }

#endif
