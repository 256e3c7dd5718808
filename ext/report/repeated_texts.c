/* repeated_texts.c: see repeated_texts.h.  A hash table with open addressing, which takes no more texts when it is half
** full or their bytes are too many. */
#include "report/repeated_texts.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 14, MOST_TEXT_BYTES = 64 << 20 };

struct repeated_text {
  char *text;
  size_t length;
  uint64_t hash, row;
  int column;
};

struct repeated_texts {
  struct repeated_text slots[SLOTS];
  size_t count, bytes;
};

struct repeated_texts *repeated_texts_create(void) {
  return calloc(1, sizeof(struct repeated_texts));
}

void repeated_texts_free(struct repeated_texts *texts) {
  for (size_t i = 0; texts && i < SLOTS; i++) free(texts->slots[i].text);
  free(texts);
}

/* FNV-1a over eight bytes at a time. */
static uint64_t hash_cell(int column, const char *text, size_t length) {
  uint64_t hash = 14695981039346656037u ^ (uint64_t)column;
  for (; length >= 8; text += 8, length -= 8) {
    uint64_t word;
    memcpy(&word, text, sizeof word);
    hash = (hash ^ word) * 1099511628211u;
    hash ^= hash >> 29;
  }
  for (; length; text++, length--) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
  return hash ^ hash >> 32;
}

bool repeated_texts_find(struct repeated_texts *texts, int column, uint64_t row, const char *text, size_t length,
                         uint64_t *first_row) {
  uint64_t hash = hash_cell(column, text, length);
  struct repeated_text *slot = &texts->slots[hash % SLOTS];
  while (slot->text) {
    if (slot->hash == hash && slot->column == column && slot->length == length &&
        memcmp(slot->text, text, length) == 0) {
      *first_row = slot->row;
      return true;
    }
    slot = slot + 1 == texts->slots + SLOTS ? texts->slots : slot + 1;
  }
  if (texts->count >= SLOTS / 2 || length > MOST_TEXT_BYTES - texts->bytes) return false;
  slot->text = malloc(length + 1);
  if (!slot->text) return false;
  memcpy(slot->text, text, length);
  slot->length = length;
  slot->hash = hash;
  slot->row = row;
  slot->column = column;
  texts->count++;
  texts->bytes += length;
  return false;
}
