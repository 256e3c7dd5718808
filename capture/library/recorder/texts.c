/* texts.c: see texts.h. */
#include "texts.h"

#include "base/hash.h"

enum {
  KEPT_TEXT_BYTES = 32 * 1024 * 1024, /* of all together, with what each takes besides */
  TEXT_OVERHEAD = 100,                /* entries and slots of the map here and of the dump's writer */
};

void texts_end(struct texts *texts) {
  key_map_end(&texts->strings);
  memset(texts, 0, sizeof *texts);
}

/* Two hashes of 64 bits stand for the text. */
uint32_t texts_keep(struct texts *texts, struct dump_writer *writer, const char *text, size_t length) {
  struct key_map_entry *entry =
      key_map_entry(&texts->strings, hash_bytes(text, length), hash_fnv1a(HASH_FNV1A_START, text, length));
  if (entry && entry->row_plus_one) return entry->row_plus_one;
  if (!entry || texts->bytes >= KEPT_TEXT_BYTES) {
    texts->refused++;
    return 0;
  }
  uint32_t string = dump_writer_string(writer, text, length);
  if (!string) return 0; /* which the writer counts */
  texts->bytes += length + TEXT_OVERHEAD;
  entry->row_plus_one = string;
  key_map_added(&texts->strings);
  return string;
}
