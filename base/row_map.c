/* row_map.c: see row_map.h. */
#include "base/row_map.h"

#include "base/hash.h"
#include "base/list.h"

enum { FEWEST_PLACES = 256, MOST_KEYS = 1 << 30 };

static uint32_t hash_key(const struct row_key *key) {
  return (uint32_t)hash_mix(key->words[0] ^ HASH_FIRST ^ hash_mix(key->words[1], HASH_SECOND),
                            key->words[2] ^ HASH_THIRD);
}

struct search {
  const struct row_key *keys, *key;
};

static inline bool is_it(const void *context, uint32_t number) {
  const struct search *search = context;
  return memcmp(&search->keys[number], search->key, sizeof *search->key) == 0;
}

/* The place of a key, or the free one where it would be. */
static uint32_t *place_of(const struct row_map *map, const struct row_key *key) {
  return hash_index_place(&map->index, hash_key(key), is_it, &(struct search){map->keys, key});
}

static void put_keys(struct row_map *map) {
  for (uint32_t i = 0; i < map->count; i++) hash_index_put(&map->index, hash_key(&map->keys[i]), i);
}

static bool row_map_grow(struct row_map *map) {
  uint64_t count = map->index.places ? (map->index.mask + 1) * 2 : FEWEST_PLACES;
  uint32_t *places = map->count < MOST_KEYS ? calloc(count, sizeof *places) : NULL;
  if (!places) return false;
  free(map->index.places);
  map->index = (struct hash_index){places, count - 1};
  put_keys(map);
  return true;
}

uint32_t row_map_number(struct row_map *map, struct row_key key) {
  if (hash_index_is_full(&map->index, map->count) && !row_map_grow(map)) return ROW_MAP_NONE;
  uint32_t *place = place_of(map, &key);
  if (*place) return *place - 1;
  if (!array_reserve(map->keys, map->key_capacity, (size_t)map->count + 1) ||
      !array_reserve(map->values, map->value_capacity, (size_t)map->count + 1)) {
    return ROW_MAP_NONE;
  }
  map->keys[map->count] = key;
  map->values[map->count] = 0;
  *place = map->count + 1;
  return map->count++;
}

uint32_t row_map_find(const struct row_map *map, struct row_key key) {
  return map->index.places ? *place_of(map, &key) - 1 : ROW_MAP_NONE;
}

void row_map_cut(struct row_map *map, uint32_t count) {
  if (map->count <= count) return;
  map->count = count;
  memset(map->index.places, 0, (map->index.mask + 1) * sizeof *map->index.places);
  put_keys(map);
}

void row_map_free(struct row_map *map) {
  free(map->keys);
  free(map->values);
  free(map->index.places);
  *map = (struct row_map){0};
}
