/* string_table.h: the writer's texts, each kept once, numbered 1, 2, ... in the order of first use.
**
** Looked up once for every recorded op, so the common case (a short text, known already) is one hash, one probe and one
** memcmp. Bounded: beyond STRING_TABLE_MAXIMUM_COUNT texts or STRING_TABLE_MAXIMUM_BYTES nothing is added any more.
*/
#ifndef TFPROF_DUMP_STRING_TABLE_H
#define TFPROF_DUMP_STRING_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define STRING_TABLE_MAXIMUM_COUNT ((uint32_t)1 << 22)
#define STRING_TABLE_MAXIMUM_BYTES ((size_t)512 << 20)

struct string_table_entry {
  const char *text;
  uint32_t length, hash;
};

struct string_table_slot {
  uint32_t hash, id; /* id 0: free */
};

struct string_table {
  struct string_table_slot *slots;
  size_t slot_count;                  /* a power of two, or 0 */
  struct string_table_entry *entries; /* of id 1, 2, ... */
  uint32_t count, capacity;
  char *chunk; /* where the next text goes; chunks are linked through their first bytes */
  size_t chunk_used, chunk_size;
  size_t bytes;
};

/* Starts as all zero. */
void string_table_clear(struct string_table *table);
/* The id of the text, added when it is new; 0 when memory or a limit does not allow it. */
uint32_t string_table_add(struct string_table *table, const char *text, size_t length);

#endif
