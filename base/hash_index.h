/* hash_index.h: which item of an array is the one that is asked for.
**
** The items lie where their owner has them.  The index is a table of their numbers by a hash (open addressing, at most
** half full, four bytes a place).  The owner gives the hash of what is asked for, and a function that says whether an
** item is it, which is inlined.  Memory is the owner's, so it may come from anywhere:
**
**   if (hash_index_is_full(&index, count)) ...             places for twice as many, and each item put again
**   uint32_t *place = hash_index_place(&index, hash, is_it, &wanted);
**   if (!*place) *place = ++count;                         with a new item
*/
#ifndef TFPROF_HASH_INDEX_H
#define TFPROF_HASH_INDEX_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

struct hash_index {
  uint32_t *places; /* an item's number + 1; 0: free. NULL until there are any */
  uint64_t mask;    /* places, a power of two, less one */
};

/* Whether one more item than `count` needs more places. */
static inline bool hash_index_is_full(const struct hash_index *index, uint64_t count) {
  return !index->places || (count + 1) * 2 > index->mask;
}
/* A power of two: places for so many items, of an index that does not grow. */
static inline uint64_t hash_index_places(uint64_t items) {
  uint64_t places = 16;
  while (places < items * 2 + 1) places *= 2;
  return places;
}

/* The place of what is asked for, or the free one where it belongs. `is_it(context, number)`: whether an item is it. */
static inline uint32_t *hash_index_place(const struct hash_index *index, uint64_t hash,
                                         bool (*is_it)(const void *context, uint32_t number), const void *context) {
  assert(index->places && !(index->mask & (index->mask + 1)));
  uint64_t at = hash & index->mask;
  while (index->places[at] && !is_it(context, index->places[at] - 1)) at = (at + 1) & index->mask;
  return &index->places[at];
}
/* An item that is not there yet. */
static inline void hash_index_put(struct hash_index *index, uint64_t hash, uint32_t number) {
  assert(index->places && !(index->mask & (index->mask + 1)));
  uint64_t at = hash & index->mask;
  while (index->places[at]) at = (at + 1) & index->mask;
  index->places[at] = number + 1;
}

#endif
