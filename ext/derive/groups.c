/* groups.c: see groups.h. A hash table of numbers, at most half full. Programs do the same again and again, so that
** what came behind a key before is compared first, which spares most hashes. */
#include "derive/groups.h"

#include <string.h>

static uint64_t hash_of_key(const int64_t *key, unsigned width) {
  uint64_t hash = 0;
  for (unsigned i = 0; i < width; i++) {
    hash = (hash ^ (uint64_t)key[i]) * UINT64_C(0x9e3779b97f4a7c15);
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

static uint32_t *slot_of_key(const struct groups *groups, const int64_t *key) {
  for (uint64_t at = hash_of_key(key, groups->width);; at++) {
    uint32_t *slot = &groups->slots[at & groups->mask];
    if (!*slot || is_same_key(groups->keys + (size_t)(*slot - 1) * groups->width, key, groups->width)) return slot;
  }
}

static bool grow_groups(struct groups *groups) {
  uint32_t mask = groups->slots ? groups->mask * 2 + 1 : 1023;
  scratch_free(groups->slots);
  groups->slots = scratch_allocate_zeroed((size_t)mask + 1, sizeof *groups->slots);
  groups->mask = mask;
  for (uint32_t i = 0; groups->slots && i < groups->count; i++)
    *slot_of_key(groups, groups->keys + (size_t)i * groups->width) = i + 1;
  return groups->slots;
}

/* The number of a key that is new or was not foreseen; NO_ROW: no memory. */
static uint32_t look_up(struct groups *groups, const int64_t *key) {
  if ((groups->count + 1) * UINT64_C(2) > groups->mask && !grow_groups(groups)) return NO_ROW;
  uint32_t *slot = slot_of_key(groups, key);
  if (*slot) return *slot - 1;
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
  *slot = ++groups->count;
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
  const uint32_t *slot = groups->count ? slot_of_key(groups, key) : NULL;
  return slot && *slot ? *slot - 1 : NO_ROW;
}

void groups_free(struct groups *groups) {
  scratch_free(groups->keys);
  scratch_free(groups->slots);
  scratch_free(groups->followers);
  *groups = (struct groups){.width = groups->width};
}
