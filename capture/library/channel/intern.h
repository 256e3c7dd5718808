/* intern.h: numbers for things that a thread meets again and again: op names, lists of input shapes, code objects,
** call stacks.
**
** Each thread has its own tables, so nothing is shared and nothing is locked.  All tables of a thread live in one
** arena of bounded size; when it is full everything is forgotten and begins anew (thread_record.c).  Numbers are never
** used twice in a thread's life. 0 stands for "none".
**
** Its tables are of their own: they take memory from that arena alone, as no thread of the program may ask for any.
*/
#ifndef TFPROF_CAPTURE_INTERN_H
#define TFPROF_CAPTURE_INTERN_H

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct arena {
  uint8_t *base;
  uint32_t used, size;
};

struct intern_slot {
  uint64_t key;  /* a pointer, or a hash of the bytes at `data` */
  uint32_t id;   /* 0: free; INTERN_DEAD: was removed, the search goes on */
  uint32_t data; /* offset in the arena of what belongs to the entry */
};
enum { INTERN_DEAD = UINT32_MAX };

struct intern_table {
  struct intern_slot *slots; /* NULL until the first entry */
  uint32_t mask, used;
  uint32_t last_id;
};

static inline uint32_t intern_place(uint64_t key) { return (uint32_t)hash_spread(key, 32); }

/* The entry with this key, or NULL. With several of the same key (hashes), call again with `after` set to the last
** one. */
static inline struct intern_slot *intern_find(const struct intern_table *table, uint64_t key,
                                              const struct intern_slot *after) {
  if (!table->slots) return NULL;
  uint32_t place = after ? (uint32_t)(after - table->slots) + 1 : intern_place(key);
  for (;; place++) {
    struct intern_slot *slot = &table->slots[place & table->mask];
    if (!slot->id) return NULL;
    if (slot->key == key && slot->id != INTERN_DEAD) return slot;
  }
}

/* The entry whose bytes (a u32 length and then the bytes at `data`) are these. */
static inline struct intern_slot *intern_find_bytes(const struct intern_table *table, const struct arena *arena,
                                                    uint64_t hash, const void *bytes, uint32_t length) {
  struct intern_slot *slot = NULL;
  while ((slot = intern_find(table, hash, slot))) {
    const uint8_t *data = arena->base + slot->data;
    uint32_t stored;
    memcpy(&stored, data, 4);
    if (stored == length && !memcmp(data + 8, bytes, length)) return slot;
  }
  return NULL;
}

/* As intern_find_bytes, for whole words. */
static inline struct intern_slot *intern_find_words(const struct intern_table *table, const struct arena *arena,
                                                    uint64_t hash, const uint64_t *words, uint32_t count) {
  struct intern_slot *slot = NULL;
  while ((slot = intern_find(table, hash, slot))) {
    const uint64_t *data = (const uint64_t *)(const void *)(arena->base + slot->data);
    uint32_t i = 0;
    if ((uint32_t)data[0] != count * 8) continue;
    while (i < count && data[1 + i] == words[i]) i++;
    if (i == count) return slot;
  }
  return NULL;
}
/* A new entry with the next number. The key must not be there yet (but may, for hashes). NULL: the arena is full. */
struct intern_slot *intern_add(struct intern_table *table, struct arena *arena, uint64_t key, uint32_t data);
/* Copies the bytes into the arena and adds them. NULL: the arena is full. */
struct intern_slot *intern_add_bytes(struct intern_table *table, struct arena *arena, uint64_t hash, const void *bytes,
                                     uint32_t length);
void intern_remove(struct intern_slot *slot);
/* Nothing is known any more; numbers go on. The arena is reset by the caller. */
void intern_forget(struct intern_table *table);

#endif
