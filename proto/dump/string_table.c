/* string_table.c: see string_table.h.  Open addressing with linear probing, at most half full; texts lie in chunks that
** never move.  A text's hash lies beside its id, which spares a look at others: base/hash_index.h has the ids alone. */
#include "dump/string_table.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/list.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 1024, CHUNK_BYTES = 64 << 10 };

struct chunk {
  struct chunk *before;
};

void string_table_clear(struct string_table *table) {
  struct chunk *chunk = (struct chunk *)(void *)table->chunk;
  while (chunk) {
    struct chunk *before = chunk->before;
    free(chunk);
    chunk = before;
  }
  free(table->slots);
  free(table->entries);
  memset(table, 0, sizeof *table);
}

static bool grow_slots(struct string_table *table) {
  size_t count = table->slot_count ? table->slot_count * 2 : FIRST_SLOTS;
  struct string_table_slot *slots = calloc(count, sizeof *slots);
  if (!slots) return false;
  for (uint32_t id = 1; id <= table->count; id++) {
    uint32_t hash = table->entries[id - 1].hash;
    size_t at = hash & (count - 1);
    while (slots[at].id) at = (at + 1) & (count - 1);
    slots[at].hash = hash;
    slots[at].id = id;
  }
  free(table->slots);
  table->slots = slots;
  table->slot_count = count;
  return true;
}

/* Room for a text, in the current chunk or a new one. A long text gets a chunk of its own. */
static char *allocate_text(struct string_table *table, size_t length) {
  if (!table->chunk || length > table->chunk_size - table->chunk_used) {
    size_t size = sizeof(struct chunk) + (length > CHUNK_BYTES / 4 ? length : CHUNK_BYTES);
    struct chunk *chunk = malloc(size);
    if (!chunk) return NULL;
    chunk->before = (struct chunk *)(void *)table->chunk;
    table->chunk = (char *)chunk;
    table->chunk_used = sizeof *chunk;
    table->chunk_size = size;
  }
  char *text = table->chunk + table->chunk_used;
  table->chunk_used += length;
  return text;
}

static uint32_t add_text(struct string_table *table, const char *text, size_t length, uint32_t hash) {
  if (table->count >= STRING_TABLE_MAXIMUM_COUNT || length > STRING_TABLE_MAXIMUM_BYTES - table->bytes) return 0;
  if (!array_room(table->entries, table->count, table->capacity)) return 0;
  if (table->count * (size_t)2 >= table->slot_count && !grow_slots(table)) return 0;
  char *copy = allocate_text(table, length);
  if (!copy) return 0;
  if (length) memcpy(copy, text, length);
  table->entries[table->count++] = (struct string_table_entry){copy, (uint32_t)length, hash};
  table->bytes += length;
  size_t at = hash & (table->slot_count - 1);
  while (table->slots[at].id) at = (at + 1) & (table->slot_count - 1);
  table->slots[at].hash = hash;
  table->slots[at].id = table->count;
  return table->count;
}

uint32_t string_table_add(struct string_table *table, const char *text, size_t length) {
  uint32_t hash = hash_text(0, text, length);
  if (table->slot_count) {
    size_t mask = table->slot_count - 1, at = hash & mask;
    for (; table->slots[at].id; at = (at + 1) & mask) {
      if (table->slots[at].hash != hash) continue;
      const struct string_table_entry *entry = &table->entries[table->slots[at].id - 1];
      if (entry->length == length && memcmp(entry->text, text, length) == 0) return table->slots[at].id;
    }
  }
  return add_text(table, text, length, hash);
}
