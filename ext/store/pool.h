/* pool.h: every string of a store, once.
**
** A string is a 32-bit id; equal bytes have equal ids, so that names compare and group as integers.  Id 0 is NULL.
** Bytes are kept with a NUL after them and never move while the pool lives, so that they can be handed to SQLite
** without a copy. One pool belongs to one store and is used by one thread at a time; readers that parse in parallel
** collect their strings in a private pool and publish them with pool_merge().
*/
#ifndef TFPROF_POOL_H
#define TFPROF_POOL_H

#include "base/error.h"

struct pool;
typedef uint32_t string_id;

struct pool *pool_create(void); /* NULL: no memory */
void pool_free(struct pool *pool);

/* Interns a copy of the bytes. *id is 0 for text == NULL. TFPROF_NO_MEMORY, or TFPROF_LIMIT beyond 2^32-2 strings or
** 1 GB texts. */
enum tfprof_status pool_intern(struct pool *pool, const char *text, size_t length, string_id *id);
/* The same of a text from a file, which may be anything: for each byte that is not UTF-8 it has U+FFFD, and *mended
** (may be NULL) counts such texts. SQLite takes any bytes for text, but many who read from it do not. */
enum tfprof_status pool_intern_mended(struct pool *pool, const char *text, size_t length, string_id *id,
                                      uint64_t *mended);
#define NOT_UTF8_MESSAGE "texts with bytes that are not UTF-8 have U+FFFD in their place"
/* As pool_intern for several, which takes less time than one by one: ids[i] is that of texts[i]. */
struct pool_text {
  const char *bytes;
  size_t length;
};
enum tfprof_status pool_intern_many(struct pool *pool, const struct pool_text *texts, size_t count, string_id *ids);
/* The id of a text that is already there, else 0. */
string_id pool_find(const struct pool *pool, const char *text, size_t length);
/* The bytes, NUL-terminated; NULL for id 0. The id must come from this pool. */
const char *pool_text(const struct pool *pool, string_id id);
uint32_t pool_length(const struct pool *pool, string_id id);
/* True when the bytes themselves contain a NUL, so that the length must be told to SQLite. */
bool pool_has_nul(const struct pool *pool, string_id id);
/* Ids are 1 ... pool_count. */
uint32_t pool_count(const struct pool *pool);
/* Puts ids into the memcmp order of their texts. TFPROF_NO_MEMORY or OK. */
enum tfprof_status pool_sort(const struct pool *pool, string_id *ids, size_t count);
/* Interns all strings of `from`; map[id in from] = id in pool (caller frees map). */
enum tfprof_status pool_merge(struct pool *pool, const struct pool *from, string_id **map);
/* Bytes of memory held. */
uint64_t pool_bytes(const struct pool *pool);

#endif
