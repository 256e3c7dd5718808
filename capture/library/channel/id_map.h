/* id_map.h: what the numbers stand for that a thread gives to what it meets for the first time (intern.h), for the
** writer thread.
**
** Numbers ascend. When the thread empties its tables (ITEM_FORGET) they go on, and those from before are used only by
** what was written before, or pinned: so of two generations both are kept.
*/
#ifndef TFPROF_CAPTURE_ID_MAP_H
#define TFPROF_CAPTURE_ID_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct id_map {
  uint64_t *values;
  uint32_t base, count, capacity; /* values[0] is number `base` */
  uint32_t generation;            /* numbers from here on were given since the last ITEM_FORGET */
};

/* 0: it is not known. */
static inline uint64_t id_value(const struct id_map *map, uint32_t id) {
  return id >= map->base && id - map->base < map->count ? map->values[id - map->base] : 0;
}
/* false: no memory. */
bool id_put(struct id_map *map, uint32_t id, uint64_t value);
/* An ITEM_FORGET. What goes is given to `release`, which may be NULL. */
void id_forget(struct id_map *map, void (*release)(uint64_t));
void id_clear(struct id_map *map, void (*release)(uint64_t));

#endif
