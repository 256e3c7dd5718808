/* pool.c: see pool.h.
**
** An entry per string (where its bytes are, its length and hash), a hash table of ids with linear probing, and the
** bytes themselves in blocks that are never moved.  A tag per slot, some bits of the hash, tells most slots apart
** without a look at the entry, and all tags together are small enough for the processor's cache.  The hash is keyed
** with random bits, so that no file can be made whose strings all collide.  For the tags, and for fetching ahead what
** many texts will need, the table is of its own (base/hash_index.h has neither).
*/
#include "store/pool.h"

#include "base/hash.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum {
  SMALLEST_BLOCK = 4096,
  LARGEST_BLOCK = 1 << 20,
  SMALLEST_TABLE = 64,
  AHEAD = 32, /* texts that the table is told of before they are looked up, so that memory is there by then */
  MAXIMUM_LENGTH = 1 << 30,
};

struct entry {
  const char *text;
  uint32_t hash;
  uint32_t length_and_nul; /* length << 1 | the bytes contain a NUL */
};

struct block {
  struct block *next;
  size_t used, size;
  char bytes[];
};

struct pool {
  struct entry *entries; /* [0] stands for NULL */
  uint32_t count;        /* without [0] */
  uint32_t capacity;     /* of entries, with [0] */
  uint32_t *slots;       /* ids, 0: free; twice as many as there can be entries before it grows */
  uint32_t slot_count;   /* a power of two */
  uint8_t *tags;         /* of slots: some bits of the hash, 0: free */
  struct block *blocks;  /* the first one is being filled */
  uint64_t block_bytes;
  uint64_t seed;
};

struct pool *pool_create(void) {
  struct pool *pool = calloc(1, sizeof *pool);
  if (!pool) return NULL;
  if (getrandom(&pool->seed, sizeof pool->seed, GRND_NONBLOCK) != (ssize_t)sizeof pool->seed) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    pool->seed = (uint64_t)now.tv_nsec * HASH_FACTOR_1 ^ (uint64_t)(uintptr_t)pool;
  }
  pool->capacity = SMALLEST_TABLE / 2;
  pool->slot_count = SMALLEST_TABLE;
  pool->entries = calloc(pool->capacity, sizeof *pool->entries);
  pool->slots = calloc(pool->slot_count, sizeof *pool->slots);
  pool->tags = calloc(pool->slot_count, sizeof *pool->tags);
  if (!pool->entries || !pool->slots || !pool->tags) {
    pool_free(pool);
    return NULL;
  }
  return pool;
}

void pool_free(struct pool *pool) {
  if (!pool) return;
  for (struct block *block = pool->blocks; block;) {
    struct block *next = block->next;
    free(block);
    block = next;
  }
  free(pool->entries);
  free(pool->slots);
  free(pool->tags);
  free(pool);
}

/* Of the hash's highest bits, which hardly say where the slot is. Never 0. */
static uint8_t tag_of(uint32_t hash) { return (uint8_t)(hash >> 25 | 0x80); }

/* The slot that holds the text, or the free one where it belongs. */
static uint32_t find_pool_slot(const struct pool *pool, const char *text, size_t length, uint32_t hash) {
  uint32_t mask = pool->slot_count - 1;
  for (uint32_t slot = hash & mask;; slot = (slot + 1) & mask) {
    if (pool->tags[slot] == 0) return slot;
    if (pool->tags[slot] != tag_of(hash)) continue;
    const struct entry *entry = &pool->entries[pool->slots[slot]];
    if (entry->hash == hash && entry->length_and_nul >> 1 == length && memcmp(entry->text, text, length) == 0)
      return slot;
  }
}

static enum tfprof_status grow_pool(struct pool *pool) {
  uint64_t capacity = (uint64_t)pool->capacity * 2;
  if (capacity > (uint64_t)1 << 31) return TFPROF_LIMIT; /* slots would pass 2^32 */
  struct entry *entries = realloc(pool->entries, capacity * sizeof *entries);
  if (!entries) return TFPROF_NO_MEMORY;
  pool->entries = entries;
  uint32_t *slots = calloc(capacity * 2, sizeof *slots);
  uint8_t *tags = calloc(capacity * 2, sizeof *tags);
  if (!slots || !tags) {
    free(slots);
    free(tags);
    return TFPROF_NO_MEMORY;
  }
  uint32_t mask = (uint32_t)(capacity * 2 - 1);
  for (uint32_t id = 1; id <= pool->count; id++) {
    if (id + AHEAD <= pool->count) __builtin_prefetch(&slots[entries[id + AHEAD].hash & mask], 1);
    uint32_t slot = entries[id].hash & mask;
    while (tags[slot]) slot = (slot + 1) & mask;
    slots[slot] = id;
    tags[slot] = tag_of(entries[id].hash);
  }
  free(pool->slots);
  free(pool->tags);
  pool->slots = slots;
  pool->tags = tags;
  pool->slot_count = mask + 1;
  pool->capacity = (uint32_t)capacity;
  return TFPROF_OK;
}

/* Room for `size` bytes that will not move. Long texts get a block of their own behind the one being filled. */
static char *reserve_pool_bytes(struct pool *pool, size_t size) {
  struct block *head = pool->blocks;
  if (head && head->size - head->used >= size) {
    char *bytes = head->bytes + head->used;
    head->used += size;
    return bytes;
  }
  size_t block_size = head ? head->size * 2 : SMALLEST_BLOCK;
  if (block_size < SMALLEST_BLOCK) block_size = SMALLEST_BLOCK;
  if (block_size > LARGEST_BLOCK) block_size = LARGEST_BLOCK;
  bool is_alone = size > block_size / 4;
  if (is_alone) block_size = size;
  struct block *block = malloc(sizeof *block + block_size);
  if (!block) return NULL;
  block->size = block_size;
  block->used = size;
  pool->block_bytes += sizeof *block + block_size;
  if (is_alone && head) {
    block->next = head->next;
    head->next = block;
  } else {
    block->next = head;
    pool->blocks = block;
  }
  return block->bytes;
}

static enum tfprof_status intern(struct pool *pool, const char *text, size_t length, uint32_t hash, string_id *id) {
  uint32_t slot = find_pool_slot(pool, text, length, hash);
  if (pool->tags[slot]) {
    *id = pool->slots[slot];
    return TFPROF_OK;
  }
  if (pool->count + 1 == pool->capacity) {
    enum tfprof_status status = grow_pool(pool);
    if (status) return status;
    slot = find_pool_slot(pool, text, length, hash);
  }
  char *bytes = reserve_pool_bytes(pool, length + 1);
  if (!bytes) return TFPROF_NO_MEMORY;
  if (length) memcpy(bytes, text, length);
  bytes[length] = 0;
  bool has_nul = length && memchr(bytes, 0, length) != NULL;
  struct entry *entry = &pool->entries[++pool->count];
  *entry = (struct entry){.text = bytes, .hash = hash, .length_and_nul = (uint32_t)length << 1 | has_nul};
  *id = pool->slots[slot] = pool->count;
  pool->tags[slot] = tag_of(hash);
  return TFPROF_OK;
}

enum tfprof_status pool_intern(struct pool *pool, const char *text, size_t length, string_id *id) {
  *id = 0;
  if (!text) return TFPROF_OK;
  if (length > MAXIMUM_LENGTH) return TFPROF_LIMIT;
  return intern(pool, text, length, hash_text(pool->seed, text, length), id);
}

enum tfprof_status pool_intern_mended(struct pool *pool, const char *text, size_t length, string_id *id,
                                      uint64_t *mended) {
  size_t at = text ? utf8_valid(text, length) : length;
  if (at == length) return pool_intern(pool, text, length, id);
  *id = 0;
  if (length > MAXIMUM_LENGTH) return TFPROF_LIMIT;
  const size_t replacement = sizeof UTF8_REPLACEMENT - 1;
  char *whole = malloc(replacement * length), *out = whole;
  if (!whole) return TFPROF_NO_MEMORY;
  for (size_t from = 0; from < length; from = at) {
    at = from + utf8_valid(text + from, length - from);
    memcpy(out, text + from, at - from);
    out += at - from;
    if (at == length) break;
    memcpy(out, UTF8_REPLACEMENT, replacement);
    out += replacement;
    at++;
  }
  enum tfprof_status status = pool_intern(pool, whole, (size_t)(out - whole), id);
  free(whole);
  if (mended) ++*mended;
  return status;
}

enum tfprof_status pool_intern_many(struct pool *pool, const struct pool_text *texts, size_t count, string_id *ids) {
  uint32_t hashes[AHEAD];
  enum tfprof_status status = TFPROF_OK;
  for (size_t first = 0; first < count && !status; first += AHEAD) {
    size_t end = count - first < AHEAD ? count : first + AHEAD;
    for (size_t i = first; i < end && !status; i++) {
      if (!texts[i].bytes) continue;
      if (texts[i].length > MAXIMUM_LENGTH) status = TFPROF_LIMIT;
      else hashes[i - first] = hash_text(pool->seed, texts[i].bytes, texts[i].length);
      if (status) continue;
      __builtin_prefetch(&pool->tags[hashes[i - first] & (pool->slot_count - 1)], 1);
      __builtin_prefetch(&pool->slots[hashes[i - first] & (pool->slot_count - 1)], 1);
    }
    for (size_t i = first; i < end && !status; i++) {
      if (texts[i].bytes) __builtin_prefetch(&pool->entries[pool->slots[hashes[i - first] & (pool->slot_count - 1)]]);
    }
    for (size_t i = first; i < end && !status; i++) {
      ids[i] = 0;
      if (texts[i].bytes) status = intern(pool, texts[i].bytes, texts[i].length, hashes[i - first], &ids[i]);
    }
  }
  return status;
}

string_id pool_find(const struct pool *pool, const char *text, size_t length) {
  if (!text || length > MAXIMUM_LENGTH) return 0;
  return pool->slots[find_pool_slot(pool, text, length, hash_text(pool->seed, text, length))];
}

const char *pool_text(const struct pool *pool, string_id id) { return pool->entries[id].text; }
uint32_t pool_length(const struct pool *pool, string_id id) { return pool->entries[id].length_and_nul >> 1; }
bool pool_has_nul(const struct pool *pool, string_id id) { return pool->entries[id].length_and_nul & 1; }
uint32_t pool_count(const struct pool *pool) { return pool->count; }

/* What sorting looks at first: the first bytes, so that most comparisons never touch the text. */
struct sort_item {
  uint64_t prefix;
  string_id id;
};

static int compare_texts(const struct pool *pool, string_id left, string_id right) {
  uint32_t left_length = pool_length(pool, left), right_length = pool_length(pool, right);
  uint32_t common = left_length < right_length ? left_length : right_length;
  int order = memcmp(pool_text(pool, left), pool_text(pool, right), common);
  if (order) return order;
  return (left_length > right_length) - (left_length < right_length);
}

static bool is_before(const struct pool *pool, const struct sort_item *left, const struct sort_item *right) {
  if (left->prefix != right->prefix) return left->prefix < right->prefix;
  return compare_texts(pool, left->id, right->id) < 0;
}

static uint64_t prefix_of(const struct pool *pool, string_id id) {
  uint64_t prefix = 0;
  uint32_t length = pool_length(pool, id);
  const unsigned char *text = (const unsigned char *)pool_text(pool, id);
  for (uint32_t i = 0; i < 8; i++) prefix = prefix << 8 | (i < length ? text[i] : 0);
  return prefix;
}

/* Merge sort, bottom up; returns whichever of the two arrays holds the result. Names mostly come in an order of their
** own, so that many runs only have to be put one behind the other. */
static struct sort_item *sort_items(const struct pool *pool, struct sort_item *items, struct sort_item *other,
                                    size_t count) {
  for (size_t width = 1; width < count; width *= 2) {
    for (size_t begin = 0; begin < count; begin += 2 * width) {
      size_t middle = begin + width < count ? begin + width : count;
      size_t end = begin + 2 * width < count ? begin + 2 * width : count;
      size_t left = begin, right = middle, to = begin;
      if (middle < end && is_before(pool, &items[middle], &items[middle - 1])) {
        while (left < middle && right < end) {
          other[to++] = is_before(pool, &items[right], &items[left]) ? items[right++] : items[left++];
        }
      }
      memcpy(&other[to], &items[left], (middle - left) * sizeof *items);
      memcpy(&other[to + (middle - left)], &items[right], (end - right) * sizeof *items);
    }
    struct sort_item *swap = items;
    items = other;
    other = swap;
  }
  return items;
}

enum tfprof_status pool_sort(const struct pool *pool, string_id *ids, size_t count) {
  if (count < 2) return TFPROF_OK;
  struct sort_item *items = malloc(2 * count * sizeof *items);
  if (!items) return TFPROF_NO_MEMORY;
  for (size_t i = 0; i < count; i++) items[i] = (struct sort_item){prefix_of(pool, ids[i]), ids[i]};
  struct sort_item *result = sort_items(pool, items, items + count, count);
  for (size_t i = 0; i < count; i++) ids[i] = result[i].id;
  free(items);
  return TFPROF_OK;
}

enum tfprof_status pool_merge(struct pool *pool, const struct pool *from, string_id **map) {
  *map = malloc(((size_t)from->count + 1) * sizeof **map);
  if (!*map) return TFPROF_NO_MEMORY;
  (*map)[0] = 0;
  for (uint32_t id = 1; id <= from->count; id += AHEAD) {
    struct pool_text texts[AHEAD];
    uint32_t count = from->count - id + 1 < AHEAD ? from->count - id + 1 : AHEAD;
    for (uint32_t i = 0; i < count; i++)
      texts[i] = (struct pool_text){pool_text(from, id + i), pool_length(from, id + i)};
    enum tfprof_status status = pool_intern_many(pool, texts, count, *map + id);
    if (status) {
      free(*map);
      *map = NULL;
      return status;
    }
  }
  return TFPROF_OK;
}

uint64_t pool_bytes(const struct pool *pool) {
  return sizeof *pool + pool->block_bytes + pool->capacity * sizeof *pool->entries +
         pool->slot_count * (sizeof *pool->slots + sizeof *pool->tags);
}
