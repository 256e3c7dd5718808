/* table_file.c: reads sorted string tables, the format of LevelDB
** (https://github.com/google/leveldb/blob/main/doc/table_format.md).
**
** Footer, the last 48 bytes: handles of the metaindex and the index block (offset and size as varints), padding, magic.
** Block: entries (shared, own and value length as varints, own part of the key, value), restart offsets and their
** number; then a byte for the compression (0 none, 1 Snappy) and the masked CRC-32C of both.
**
** Blocks lie behind each other in the order of their keys, which ascend, so that none is read twice.  Yet a byte of
** Snappy's can stand for twenty, and one of a block for as many as the key before it has: what entries are made of is
** counted.
*/
#include "classic/read/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <snappy-c.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"

enum { FOOTER = 48, TRAILER = 5, MOST_PACKED = 22 /* 64 bytes for three: no copy of Snappy's does better */ };
static const uint64_t most_bytes = (uint64_t)1 << 30; /* of one block */
/* Bytes that keys and values may have, with ENTRY_BYTES for each: so many of a file of any size, and beyond that
** BYTES_PER_BYTE for each of the file, which is what zeros are packed to. */
enum { ENTRY_BYTES = 128, FREE_BYTES = 64 << 20, BYTES_PER_BYTE = 24, ENTRIES_UNTIL_POLL = 4096 };

struct key {
  uint8_t *bytes;
  size_t length, capacity;
};

struct table {
  int fd;
  const char *path;
  uint64_t size;
  struct store *store;
  struct tfprof_error *error;
  struct key last;      /* of the entries that were given */
  bool has_last;
  uint64_t given, entries;
  uint64_t end_of_last; /* where the last of their blocks ends */
};

struct block {
  uint8_t *bytes;
  size_t length; /* of the entries */
};

/* Castagnoli's polynomial, a byte at a time. */
uint32_t tf_crc32c(const uint8_t *bytes, size_t length) {
  static uint32_t table[256]; /* the same whoever fills it */
  if (!__atomic_load_n(&table[255], __ATOMIC_ACQUIRE)) {
    for (uint32_t i = 0; i < 256; i++) {
      uint32_t crc = i;
      for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
      __atomic_store_n(&table[i], crc, __ATOMIC_RELEASE);
    }
  }
  uint32_t crc = UINT32_MAX;
  for (size_t i = 0; i < length; i++) crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
  return ~crc;
}

static uint32_t masked(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8u; }

static enum tfprof_status read_at(const struct table *table, uint64_t offset, uint8_t *to, size_t length) {
  size_t done = 0;
  while (done < length) {
    ssize_t got = pread(table->fd, to + done, length - done, (off_t)(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return error_io(table->error, table->path, "cannot read");
    if (got == 0)
      return error_at(table->error, TFPROF_CORRUPT, table->path, offset,
                      "the checkpoint ends in the middle of a block");
    done += (size_t)got;
  }
  return TFPROF_OK;
}

static enum tfprof_status unpack(const struct table *table, uint64_t offset, struct block *block) {
  size_t length;
  if (snappy_uncompressed_length((const char *)block->bytes, block->length, &length) != SNAPPY_OK ||
      length > most_bytes || length / MOST_PACKED > block->length) /* before so much is asked for */
    return error_at(table->error, TFPROF_CORRUPT, table->path, offset, "a packed block of the checkpoint is damaged");
  char *bytes = malloc(length + 1);
  if (!bytes) return error_no_memory(table->error);
  if (snappy_uncompress((const char *)block->bytes, block->length, bytes, &length) != SNAPPY_OK) {
    free(bytes);
    return error_at(table->error, TFPROF_CORRUPT, table->path, offset, "a packed block of the checkpoint is damaged");
  }
  free(block->bytes);
  block->bytes = (uint8_t *)bytes;
  block->length = length;
  return TFPROF_OK;
}

static enum tfprof_status read_block(const struct table *table, uint64_t offset, uint64_t size, struct block *block) {
  *block = (struct block){0};
  if (size > most_bytes || offset > table->size || size + TRAILER > table->size - offset)
    return error_at(table->error, TFPROF_CORRUPT, table->path, offset < table->size ? offset : 0,
                    "a block of the checkpoint lies outside of the file");
  block->bytes = malloc((size_t)size + TRAILER);
  if (!block->bytes) return error_no_memory(table->error);
  enum tfprof_status status = read_at(table, offset, block->bytes, (size_t)size + TRAILER);
  if (!status) {
    uint8_t kind = block->bytes[size];
    block->length = (size_t)size;
    if (masked(tf_crc32c(block->bytes, (size_t)size + 1)) != load_u32(block->bytes + size + 1))
      status = error_at(table->error, TFPROF_CORRUPT, table->path, offset,
                        "the checksum of a block of the checkpoint is wrong");
    else if (kind == 1) status = unpack(table, offset, block);
    else if (kind != 0)
      status = error_at(table->error, TFPROF_CORRUPT, table->path, offset,
                        "a block of the checkpoint is packed in an unknown way");
  }
  if (!status) { /* entries end where the restart offsets begin */
    uint64_t restarts = block->length >= 4 ? load_u32(block->bytes + block->length - 4) : UINT64_MAX / 8;
    if (restarts * 4 + 4 > block->length)
      status = error_at(table->error, TFPROF_CORRUPT, table->path, offset, "a block of the checkpoint is damaged");
    else block->length -= (size_t)(restarts * 4 + 4);
  }
  if (status) {
    free(block->bytes);
    block->bytes = NULL;
  }
  return status;
}

static bool reserve_key(struct key *key, size_t length) {
  return array_reserve(key->bytes, key->capacity, length + 1);
}

/* The entries of one block. *stopped: the callback wants no more. */
static enum tfprof_status each_in_block(const struct table *table, uint64_t offset, const struct block *block,
                                        tf_table_entry *entry, void *context, bool *stopped) {
  const uint8_t *at = block->bytes, *end = at + block->length;
  struct key key = {0};
  enum tfprof_status status = reserve_key(&key, 0) ? TFPROF_OK : error_no_memory(table->error);
  while (at < end && !status && !*stopped) {
    uint64_t shared, own, value;
    at = varint_read(at, end, &shared);
    if (at) at = varint_read(at, end, &own);
    if (at) at = varint_read(at, end, &value);
    if (!at || shared > key.length || own > (size_t)(end - at) || value > (size_t)(end - at) - own) {
      status = error_at(table->error, TFPROF_CORRUPT, table->path, offset, "a block of the checkpoint is damaged");
      break;
    }
    if (!reserve_key(&key, (size_t)(shared + own))) {
      status = error_no_memory(table->error);
      break;
    }
    memcpy(key.bytes + shared, at, (size_t)own);
    key.length = (size_t)(shared + own);
    at += own;
    *stopped = !entry(context, key.bytes, key.length, at, (size_t)value);
    at += value;
  }
  free(key.bytes);
  return status;
}

struct walk {
  struct table *table;
  tf_table_entry *entry;
  void *context;
  uint64_t offset; /* of the block */
  enum tfprof_status status;
  bool stopped;
};

/* An entry of a block, which must be the next one by its key. */
static bool give_entry(void *context, const uint8_t *key, size_t key_length, const uint8_t *value, size_t length) {
  struct walk *walk = context;
  struct table *table = walk->table;
  struct key *last = &table->last;
  size_t common = key_length < last->length ? key_length : last->length;
  int order = common ? memcmp(last->bytes, key, common) : 0;
  if (table->has_last && (order > 0 || (order == 0 && last->length >= key_length))) {
    walk->status = error_at(table->error, TFPROF_CORRUPT, table->path, walk->offset,
                            "the keys of the checkpoint are not in their order");
    return false;
  }
  table->given += key_length + length + ENTRY_BYTES;
  if (table->given > FREE_BYTES + BYTES_PER_BYTE * table->size) {
    walk->status = error_at(table->error, TFPROF_CORRUPT, table->path, walk->offset,
                            "the checkpoint has more entries than a file of its size can");
    return false;
  }
  if (++table->entries % ENTRIES_UNTIL_POLL == 0 && store_interrupted(table->store)) {
    walk->status = error_set(table->error, TFPROF_INTERRUPTED, "interrupted");
    return false;
  }
  if (!reserve_key(last, key_length)) {
    walk->status = error_no_memory(table->error);
    return false;
  }
  memcpy(last->bytes, key, key_length);
  last->length = key_length;
  table->has_last = true;
  walk->stopped = !walk->entry(walk->context, key, key_length, value, length);
  return !walk->stopped;
}

/* An entry of the index: the handle of a block. */
static bool walk_block(void *context, const uint8_t *key, size_t key_length, const uint8_t *value, size_t length) {
  struct walk *walk = context;
  uint64_t offset = 0, size = 0;
  struct block block;
  bool stopped = false;
  (void)key;
  (void)key_length;
  const uint8_t *at = varint_read(value, value + length, &offset);
  if (!at || !varint_read(at, value + length, &size)) {
    walk->status =
        error_at(walk->table->error, TFPROF_CORRUPT, walk->table->path, 0, "the index of the checkpoint is damaged");
    return false;
  }
  if (offset < walk->table->end_of_last) {
    walk->status = error_at(walk->table->error, TFPROF_CORRUPT, walk->table->path, offset,
                            "the blocks of the checkpoint are not in their order");
    return false;
  }
  walk->offset = offset;
  walk->status = read_block(walk->table, offset, size, &block);
  if (!walk->status) {
    walk->table->end_of_last = offset + size + TRAILER;
    enum tfprof_status status = each_in_block(walk->table, offset, &block, give_entry, walk, &stopped);
    if (!walk->status) walk->status = status;
  }
  free(block.bytes);
  return !walk->status && !walk->stopped;
}

enum tfprof_status tf_table_each(const char *path, struct store *store, tf_table_entry *entry, void *context,
                                 struct tfprof_error *error) {
  struct table table = {.path = path, .store = store, .error = error};
  struct stat facts;
  uint8_t footer[FOOTER];
  struct block index = {0};
  uint64_t skipped, offset = 0, size = 0;
  bool stopped = false;
  table.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (table.fd < 0) return error_io(error, path, "cannot open");
  enum tfprof_status status = TFPROF_OK;
  if (fstat(table.fd, &facts) != 0) status = error_io(error, path, "cannot examine");
  else if (!S_ISREG(facts.st_mode) || facts.st_size < FOOTER)
    status = error_at(error, TFPROF_CORRUPT, path, 0, "is no checkpoint");
  if (!status) {
    table.size = (uint64_t)facts.st_size;
    status = read_at(&table, table.size - FOOTER, footer, FOOTER);
  }
  if (!status) {
    const uint8_t *at = footer, *end = footer + FOOTER - 8;
    at = varint_read(at, end, &skipped);
    if (at) at = varint_read(at, end, &skipped);
    if (at) at = varint_read(at, end, &offset);
    if (at) at = varint_read(at, end, &size);
    if (!at || load_u64(footer + FOOTER - 8) != UINT64_C(0xdb4775248b80fb57))
      status = error_at(error, TFPROF_CORRUPT, path, table.size - FOOTER, "is no checkpoint, or was cut off");
  }
  if (!status) status = read_block(&table, offset, size, &index);
  if (!status) {
    struct walk walk = {.table = &table, .entry = entry, .context = context};
    status = each_in_block(&table, offset, &index, walk_block, &walk, &stopped);
    if (walk.status) status = walk.status;
  }
  free(table.last.bytes);
  free(index.bytes);
  close(table.fd);
  return status;
}
