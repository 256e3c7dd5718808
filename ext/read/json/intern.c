/* intern.c: see intern.h.  Open addressing, at most half full.  Each text of a trace is looked up, so its hash lies
** beside its number, which spares a look at others: base/hash_index.h has the numbers alone. */
#include "read/json/intern.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/list.h"

/* As wyhash, for texts of any length: unlike hash_text of 64 bits, and the fastest where bytes behind may be read. */
static inline uint64_t hash_ahead(const char *p, uint32_t length) {
  const uint64_t a = HASH_FIRST, b = HASH_SECOND, c = HASH_THIRD;
  uint64_t seed = length * c, other = seed;
  uint32_t left = length;
  for (; left > 32; left -= 32, p += 32) {
    seed = hash_mix(load_u64(p) ^ a, load_u64(p + 8) ^ seed);
    other = hash_mix(load_u64(p + 16) ^ b, load_u64(p + 24) ^ other);
  }
  seed ^= other;
  /* The last 1 ... 32 bytes; what lies behind the text is masked off. */
  while (left > 16) {
    seed = hash_mix(load_u64(p) ^ a, load_u64(p + 8) ^ seed);
    p += 16;
    left -= 16;
  }
  uint64_t low = 0, high = 0;
  if (left >= 8) {
    low = load_u64(p);
    if (left > 8) high = load_u64(p + 8) << (8 * (16 - left)); /* at most 8 bytes are read behind the text */
  } else if (left) {
    low = load_u64(p) << (8 * (8 - left));
  }
  return hash_mix(low ^ b, high ^ seed ^ a);
}

uint64_t text_hash(const char *bytes, uint32_t length) { return hash_ahead(bytes, length); }

bool text_table_init(struct text_table *table) {
  memset(table, 0, sizeof *table);
  table->mask = 4095;
  table->slots = calloc((size_t)table->mask + 1, sizeof *table->slots);
  return table->slots != NULL;
}

void text_table_free(struct text_table *table) {
  for (uint32_t i = 0; i < table->count; i++) {
    if (table->texts[i].is_owned) free((void *)(uintptr_t)table->texts[i].bytes);
  }
  free(table->texts);
  free(table->slots);
  memset(table, 0, sizeof *table);
}

static bool grow_slots(struct text_table *table) {
  uint64_t mask = table->mask * 2 + 1;
  struct text_slot *slots = calloc((size_t)mask + 1, sizeof *slots);
  if (!slots) return false;
  for (uint64_t i = 0; i <= table->mask; i++) {
    if (!table->slots[i].index) continue;
    uint64_t at = table->slots[i].hash & mask;
    while (slots[at].index) at = (at + 1) & mask;
    slots[at] = table->slots[i];
  }
  free(table->slots);
  table->slots = slots;
  table->mask = mask;
  return true;
}

uint32_t text_intern(struct text_table *table, const char *bytes, uint32_t length, enum text_form form) {
  uint64_t bits = hash_ahead(bytes, length) + form;
  uint32_t hash = (uint32_t)(bits ^ bits >> 32);
  uint64_t at = hash & table->mask;
  for (; table->slots[at].index; at = (at + 1) & table->mask) {
    if (table->slots[at].hash != hash) continue;
    const struct text *text = &table->texts[table->slots[at].index - 1];
    if (text->length == length && text->form == form && memcmp(text->bytes, bytes, length) == 0)
      return table->slots[at].index - 1;
  }
  if (table->count == table->capacity) {
    if (table->count >= UINT32_MAX / 2) return INTERN_NONE;
    if (!array_reserve(table->texts, table->capacity, (size_t)table->count + 1)) return INTERN_NONE;
  }
  table->slots[at] = (struct text_slot){hash, table->count + 1};
  table->texts[table->count] = (struct text){bytes, length, (uint8_t)form, NAME_UNKNOWN, false, 0};
  uint32_t index = table->count++;
  if ((uint64_t)table->count * 2 > table->mask && !grow_slots(table)) {
    /* Full up to the last slot the search above would not end. */
    if (table->count >= table->mask) return INTERN_NONE;
  }
  return index;
}

uint32_t text_intern_copy(struct text_table *table, const char *bytes, uint32_t length, enum text_form form) {
  uint32_t before = table->count, index = text_intern(table, bytes, length, form);
  if (index != before) return index;
  char *copy = malloc((size_t)length + 8);
  if (copy) memcpy(copy, bytes, length);
  table->texts[index].bytes = copy ? copy : "";
  table->texts[index].is_owned = copy != NULL;
  if (!copy) table->texts[index].length = 0; /* found by nobody, and the trace fails */
  return copy ? index : INTERN_NONE;
}

bool text_forget(struct text_table *table) {
  assert(table->published <= table->count && table->permanent <= table->count);
  uint32_t kept = table->published > table->permanent ? table->published : table->permanent;
  if (table->count == kept) return true;
  for (uint32_t i = kept; i < table->count; i++) {
    if (table->texts[i].is_owned) free((void *)(uintptr_t)table->texts[i].bytes);
  }
  struct text_slot *slots = calloc((size_t)table->mask + 1, sizeof *slots);
  if (!slots) return false;
  for (uint64_t i = 0; i <= table->mask; i++) {
    if (!table->slots[i].index || table->slots[i].index > kept) continue;
    uint64_t at = table->slots[i].hash & table->mask;
    while (slots[at].index) at = (at + 1) & table->mask;
    slots[at] = table->slots[i];
  }
  free(table->slots);
  table->slots = slots;
  table->count = kept;
  return true;
}
