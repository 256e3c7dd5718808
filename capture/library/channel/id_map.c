/* id_map.c: see id_map.h. */
#include "id_map.h"

#include "base/list.h"

#include <stdlib.h>
#include <string.h>

bool id_put(struct id_map *map, uint32_t id, uint64_t value) {
  if (!map->count) map->base = id;
  if (id < map->base) return false;
  uint32_t place = id - map->base;
  if (!array_room(map->values, place, map->capacity)) return false;
  while (map->count <= place) map->values[map->count++] = 0;
  map->values[place] = value;
  return true;
}

/* Numbers that were given before the last ITEM_FORGET but one go; those since may be in ops that are still to come. */
void id_forget(struct id_map *map, void (*release)(uint64_t)) {
  uint32_t keep = map->generation > map->base ? map->generation - map->base : 0;
  if (keep > map->count) keep = map->count;
  for (uint32_t i = 0; release && i < keep; i++) release(map->values[i]);
  map->generation = map->base + map->count;
  if (!keep) return;
  memmove(map->values, map->values + keep, (map->count - keep) * sizeof *map->values);
  map->base += keep;
  map->count -= keep;
}

void id_clear(struct id_map *map, void (*release)(uint64_t)) {
  for (uint32_t i = 0; release && i < map->count; i++) release(map->values[i]);
  free(map->values);
  memset(map, 0, sizeof *map);
}
