/* groups.c: see groups.h. Programs do the same again and again, so what came behind a key before is compared first,
** which spares most hashes. */
#include "derive/groups.h"

#include "base/hash.h"

#include <string.h>

static uint64_t hash_of_key(const int64_t *key, unsigned width) {
  uint64_t hash = 0;
  for (unsigned i = 0; i < width; i++) {
    hash = (hash ^ (uint64_t)key[i]) * HASH_FACTOR_1;
    hash ^= hash >> 31;
  }
  return hash;
}

static bool is_same_key(const int64_t *a, const int64_t *b, unsigned width) {
  for (unsigned i = 0; i < width; i++) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

struct search {
  const struct groups *groups;
  const int64_t *key;
};

static inline bool is_it(const void *context, uint32_t number) {
  const struct search *search = context;
  unsigned width = search->groups->width;
  return is_same_key(search->groups->keys + (size_t)number * width, search->key, width);
}

static uint32_t *place_of_key(const struct groups *groups, const int64_t *key) {
  return hash_index_place(&groups->index, hash_of_key(key, groups->width), is_it, &(struct search){groups, key});
}

static bool grow_groups(struct groups *groups) {
  uint64_t places = groups->index.places ? (groups->index.mask + 1) * 2 : 1024;
  uint32_t *larger = scratch_allocate_zeroed(places, sizeof *larger);
  if (!larger) return false;
  scratch_free(groups->index.places);
  groups->index = (struct hash_index){larger, places - 1};
  for (uint32_t i = 0; i < groups->count; i++)
    hash_index_put(&groups->index, hash_of_key(groups->keys + (size_t)i * groups->width, groups->width), i);
  return true;
}

/* The number of a key that is new or was not foreseen; NO_ROW: no memory. */
static uint32_t look_up(struct groups *groups, const int64_t *key) {
  if (hash_index_is_full(&groups->index, groups->count) && !grow_groups(groups)) return NO_ROW;
  uint32_t *place = place_of_key(groups, key);
  if (*place) return *place - 1;
  uint32_t capacity = groups->capacity;
  int64_t *keys = scratch_grow(groups->keys, groups->count, &groups->capacity, 256, groups->width * sizeof *keys);
  if (!keys) return NO_ROW;
  groups->keys = keys;
  if (groups->capacity != capacity) {
    uint32_t *followers = scratch_resize(groups->followers, (size_t)groups->capacity * sizeof *followers);
    if (!followers) return NO_ROW;
    groups->followers = followers;
  }
  memcpy(keys + (size_t)groups->count * groups->width, key, groups->width * sizeof *keys);
  groups->followers[groups->count] = groups->count;
  *place = ++groups->count;
  return groups->count - 1;
}

uint32_t groups_number(struct groups *groups, const int64_t *key) {
  if (groups->count) {
    uint32_t next = groups->followers[groups->last];
    if (is_same_key(groups->keys + (size_t)next * groups->width, key, groups->width)) return groups->last = next;
  }
  uint32_t number = look_up(groups, key);
  if (number == NO_ROW) return NO_ROW;
  groups->followers[groups->last] = number;
  return groups->last = number;
}

uint32_t groups_find(const struct groups *groups, const int64_t *key) {
  const uint32_t *place = groups->count && groups->index.places ? place_of_key(groups, key) : NULL;
  return place && *place ? *place - 1 : NO_ROW;
}

void groups_free(struct groups *groups) {
  scratch_free(groups->keys);
  scratch_free(groups->index.places);
  scratch_free(groups->followers);
  *groups = (struct groups){.width = groups->width};
}
