/* intern.c: the rare half of intern.h: new entries and growth. */
#include "intern.h"

enum { FIRST_SLOTS = 64 };

/* Space in the arena, aligned to 8 bytes; its offset, or UINT32_MAX when it is full. */
static uint32_t arena_take(struct arena *arena, uint32_t bytes) {
  bytes = (bytes + 7) & ~7u;
  if (bytes > arena->size - arena->used) return UINT32_MAX;
  uint32_t offset = arena->used;
  arena->used += bytes;
  return offset;
}

/* The old slots stay in the arena unused: all sizes together are at most twice the last one. */
static bool intern_grow(struct intern_table *table, struct arena *arena) {
  uint32_t old_count = table->slots ? table->mask + 1 : 0;
  uint32_t count = old_count ? old_count * 2 : FIRST_SLOTS;
  if ((uint64_t)count * sizeof(struct intern_slot) > arena->size) return false;
  uint32_t offset = arena_take(arena, count * (uint32_t)sizeof(struct intern_slot));
  if (offset == UINT32_MAX) return false;
  struct intern_slot *old = table->slots, *slots = (struct intern_slot *)(void *)(arena->base + offset);
  memset(slots, 0, count * sizeof *slots);
  table->slots = slots;
  table->mask = count - 1;
  table->used = 0;
  for (uint32_t i = 0; i < old_count; i++) {
    if (!old[i].id || old[i].id == INTERN_DEAD) continue;
    uint32_t place = intern_place(old[i].key);
    while (slots[place & table->mask].id) place++;
    slots[place & table->mask] = old[i];
    table->used++;
  }
  return true;
}

struct intern_slot *intern_add(struct intern_table *table, struct arena *arena, uint64_t key, uint32_t data) {
  if (!table->slots || table->used * 2 > table->mask) {
    if (!intern_grow(table, arena)) return NULL;
  }
  uint32_t place = intern_place(key);
  while (table->slots[place & table->mask].id) place++;
  struct intern_slot *slot = &table->slots[place & table->mask];
  *slot = (struct intern_slot){key, ++table->last_id, data};
  table->used++;
  return slot;
}

struct intern_slot *intern_add_bytes(struct intern_table *table, struct arena *arena, uint64_t hash, const void *bytes,
                                     uint32_t length) {
  uint32_t offset = arena_take(arena, 8 + length);
  if (offset == UINT32_MAX) return NULL;
  const uint64_t stored = length;
  memcpy(arena->base + offset, &stored, 8);
  memcpy(arena->base + offset + 8, bytes, length);
  return intern_add(table, arena, hash, offset);
}

void intern_remove(struct intern_slot *slot) { slot->id = INTERN_DEAD; }

void intern_forget(struct intern_table *table) {
  uint32_t last_id = table->last_id;
  memset(table, 0, sizeof *table);
  table->last_id = last_id;
}
