/* row_map.c: see row_map.h. Open addressing, at most half full. */
#include "base/row_map.h"

#include "base/hash.h"
#include "base/list.h"

#include <assert.h>

enum { FEWEST_SLOTS = 256, MOST_KEYS = 1 << 30 };

static uint32_t hash_key(const struct row_key *key) {
  return (uint32_t)hash_mix(key->words[0] ^ HASH_FIRST ^ hash_mix(key->words[1], HASH_SECOND),
                            key->words[2] ^ HASH_THIRD);
}

/* The slot of a key, or the free one where it would be. */
static uint64_t slot_of(const struct row_map *map, const struct row_key *key) {
  uint64_t mask = map->slot_count - 1, at = hash_key(key) & mask;
  assert((map->slot_count & mask) == 0 && (uint64_t)map->count * 2 <= map->slot_count);
  while (map->slots[at] && memcmp(&map->keys[map->slots[at] - 1], key, sizeof *key) != 0) at = (at + 1) & mask;
  return at;
}

static void fill_slots(struct row_map *map) {
  uint64_t mask = map->slot_count - 1;
  for (uint32_t i = 0; i < map->count; i++) {
    uint64_t at = hash_key(&map->keys[i]) & mask;
    while (map->slots[at]) at = (at + 1) & mask;
    map->slots[at] = i + 1;
  }
}

static bool row_map_grow(struct row_map *map) {
  uint64_t count = map->slot_count ? map->slot_count * 2 : FEWEST_SLOTS;
  uint32_t *slots = map->count < MOST_KEYS ? calloc(count, sizeof *slots) : NULL;
  if (!slots) return false;
  free(map->slots);
  map->slots = slots;
  map->slot_count = count;
  fill_slots(map);
  return true;
}

uint32_t row_map_number(struct row_map *map, struct row_key key) {
  if ((uint64_t)map->count * 2 >= map->slot_count && !row_map_grow(map)) return ROW_MAP_NONE;
  uint64_t at = slot_of(map, &key);
  if (map->slots[at]) return map->slots[at] - 1;
  if (!array_reserve(map->keys, map->key_capacity, (size_t)map->count + 1) ||
      !array_reserve(map->values, map->value_capacity, (size_t)map->count + 1)) {
    return ROW_MAP_NONE;
  }
  map->keys[map->count] = key;
  map->values[map->count] = 0;
  map->slots[at] = map->count + 1;
  return map->count++;
}

uint32_t row_map_find(const struct row_map *map, struct row_key key) {
  return map->slot_count ? map->slots[slot_of(map, &key)] - 1 : ROW_MAP_NONE;
}

void row_map_cut(struct row_map *map, uint32_t count) {
  if (map->count <= count) return;
  map->count = count;
  memset(map->slots, 0, map->slot_count * sizeof *map->slots);
  fill_slots(map);
}

void row_map_free(struct row_map *map) {
  free(map->keys);
  free(map->values);
  free(map->slots);
  *map = (struct row_map){0};
}
