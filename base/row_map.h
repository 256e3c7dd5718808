/* row_map.h: a hash map: keys of three integers, numbered from 0 as they come, each with a value.
**
** What is met again and again and stands in a table once: threads, streams, frames, stacks, nodes.  Numbers are those
** of rows, so that what belongs to a key lies in arrays by number, where a new key makes one item more.  Zeroed it is
** empty.  A slot takes four bytes, so that a hostile file that is nothing but new keys costs little more than its keys.
*/
#ifndef TFPROF_ROW_MAP_H
#define TFPROF_ROW_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_index.h"

struct row_key {
  uint64_t words[3];
};
struct row_map {
  struct row_key *keys; /* by number */
  uint32_t *values;     /* by number, 0 at first: the user's own */
  uint32_t count;
  size_t key_capacity, value_capacity;
  struct hash_index index;
};

enum { ROW_MAP_NONE = UINT32_MAX };

/* The number of a key, which is entered where it is new: then the number is the count before. ROW_MAP_NONE: no memory,
** or more than 2^30 keys. */
uint32_t row_map_number(struct row_map *map, struct row_key key);
/* The number of a key. ROW_MAP_NONE: it is not there. */
uint32_t row_map_find(const struct row_map *map, struct row_key key);
/* Forgets all keys from number `count` on. */
void row_map_cut(struct row_map *map, uint32_t count);
void row_map_free(struct row_map *map);

#endif
