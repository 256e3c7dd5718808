/* format.c: see format.h. */
#include "dump/format.h"

#include "base/bytes.h"
#include "base/checksum.h"
#include "dump/compress.h"

/* ---- File header ---- */

enum { FILE_HEADER_CHECKED_BYTES = 60 };

void dump_file_header_write(uint8_t *to, const struct dump_file_header *header) {
  memset(to, 0, DUMP_FILE_HEADER_BYTES);
  memcpy(to, DUMP_MAGIC, 8);
  store_u16(to + 8, header->version);
  store_u16(to + 10, header->header_bytes);
  store_u32(to + 12, header->required_features);
  store_u32(to + 16, header->optional_features);
  store_u32(to + 20, header->pid);
  store_u32(to + 24, (uint32_t)header->rank);
  store_u32(to + 28, header->world_size);
  memcpy(to + 32, header->boot_id, 16);
  store_u64(to + 48, header->created_realtime_ns);
  store_u32(to + FILE_HEADER_CHECKED_BYTES, checksum_crc32(0, to, FILE_HEADER_CHECKED_BYTES));
}

bool dump_file_header_read(const uint8_t *from, struct dump_file_header *header) {
  header->version = load_u16(from + 8);
  header->header_bytes = load_u16(from + 10);
  header->required_features = load_u32(from + 12);
  header->optional_features = load_u32(from + 16);
  header->pid = load_u32(from + 20);
  header->rank = (int32_t)load_u32(from + 24);
  header->world_size = load_u32(from + 28);
  memcpy(header->boot_id, from + 32, 16);
  header->created_realtime_ns = load_u64(from + 48);
  header->crc32 = load_u32(from + FILE_HEADER_CHECKED_BYTES);
  return header->crc32 == checksum_crc32(0, from, FILE_HEADER_CHECKED_BYTES);
}

/* ---- Frame header ---- */

void dump_frame_header_write(uint8_t *to, const struct dump_frame_header *header, const uint8_t *head, uint32_t salt) {
  store_u32(to, DUMP_FRAME_MAGIC);
  store_u16(to + 4, header->type);
  store_u16(to + 6, header->table);
  store_u64(to + 8, header->sequence);
  store_u64(to + 16, header->first_row);
  store_u32(to + 24, header->row_count);
  store_u32(to + 28, header->head_length);
  store_u32(to + 32, header->body_length);
  uint32_t sum = checksum_crc32(salt, to, DUMP_FRAME_CHECKED_BYTES);
  store_u32(to + 36, checksum_crc32(sum, head, header->head_length));
}

void dump_frame_header_read(const uint8_t *from, struct dump_frame_header *header) {
  header->type = load_u16(from + 4);
  header->table = load_u16(from + 6);
  header->sequence = load_u64(from + 8);
  header->first_row = load_u64(from + 16);
  header->row_count = load_u32(from + 24);
  header->head_length = load_u32(from + 28);
  header->body_length = load_u32(from + 32);
  header->crc32 = load_u32(from + 36);
}

bool dump_frame_header_is_plausible(const uint8_t *from) {
  return load_u32(from) == DUMP_FRAME_MAGIC && load_u32(from + 28) <= DUMP_MAXIMUM_HEAD_BYTES;
}

bool dump_frame_checksum_is_right(const uint8_t *from, const struct dump_frame_header *header, const uint8_t *head,
                                  uint32_t salt) {
  uint32_t sum = checksum_crc32(salt, from, DUMP_FRAME_CHECKED_BYTES);
  return checksum_crc32(sum, head, header->head_length) == header->crc32;
}

/* ---- Trailer ---- */

void dump_trailer_write(uint8_t *to, const struct dump_trailer *trailer) {
  store_u64(to, trailer->index_offset);
  store_u64(to + 8, trailer->frame_count);
  store_u64(to + 16, trailer->row_count);
  store_u64(to + 24, trailer->string_count);
  store_u64(to + 32, trailer->file_bytes);
}

void dump_trailer_read(const uint8_t *from, struct dump_trailer *trailer) {
  trailer->index_offset = load_u64(from);
  trailer->frame_count = load_u64(from + 8);
  trailer->row_count = load_u64(from + 16);
  trailer->string_count = load_u64(from + 24);
  trailer->file_bytes = load_u64(from + 32);
}

/* ---- Directory ----
**
** count, then for each block: the length of what follows of its entry, dump_id, encoding, flags, raw_bytes,
** stored_bytes, low_bytes (only when the flags give a low width), crc32 (4 bytes), zigzag(minimum), maximum - minimum.
*/

enum {
  FLAG_COMPRESSED = 1,
  FLAG_NULLS = 2,
  FLAG_LOW_WIDTH_SHIFT = 2, /* two bits */
  FLAG_KNOWN = 15,
  ENTRY_MINIMUM_BYTES = 12, /* with its length */
};

size_t dump_directory_write(uint8_t *to, const struct dump_block *blocks, unsigned count) {
  uint8_t *at = varint_write(to, count);
  for (unsigned i = 0; i < count; i++) {
    const struct dump_block *block = &blocks[i];
    uint8_t entry[DUMP_DIRECTORY_ENTRY_BYTES], *end = entry;
    unsigned flags = (block->is_compressed ? FLAG_COMPRESSED : 0u) | (block->has_nulls ? FLAG_NULLS : 0u) |
                     (unsigned)block->low_width << FLAG_LOW_WIDTH_SHIFT;
    end = varint_write(end, block->dump_id);
    end = varint_write(end, block->encoding);
    end = varint_write(end, flags);
    end = varint_write(end, block->raw_bytes);
    end = varint_write(end, block->stored_bytes);
    if (block->low_width) end = varint_write(end, block->low_bytes);
    store_u32(end, block->crc32);
    end = varint_write(end + 4, zigzag(block->minimum));
    end = varint_write(end, (uint64_t)block->maximum - (uint64_t)block->minimum);
    at = varint_write(at, (size_t)(end - entry));
    memcpy(at, entry, (size_t)(end - entry));
    at += end - entry;
  }
  return (size_t)(at - to);
}

int dump_directory_count(const uint8_t *head, size_t length) {
  uint64_t count;
  const uint8_t *at = varint_read(head, head + length, &count);
  if (!at || count > DUMP_MAXIMUM_COLUMNS || count > (size_t)(head + length - at) / ENTRY_MINIMUM_BYTES) return -1;
  return (int)count;
}

/* Whether a block of a known encoding can be as large as it says. */
static bool sizes_agree(const struct dump_block *block, uint32_t rows) {
  if (block->low_bytes > block->stored_bytes) return false;
  uint32_t packed = block->stored_bytes - block->low_bytes;
  if (block->is_compressed ? !dump_ratio_is_possible(packed, block->raw_bytes) : packed != block->raw_bytes)
    return false;
  if (block->encoding == DUMP_BYTES) return true;
  /* Ten bytes are the longest varint; a dictionary may add 256 of them, runs are two for each row at most. */
  return block->raw_bytes <= (rows + 7) / 8 + (2 * rows + 300) * VARINT_MAXIMUM_BYTES &&
         block->low_bytes <= rows * block->low_width;
}

/* Reads one entry from exactly the bytes given. */
static const char *read_entry(const uint8_t *at, const uint8_t *end, uint32_t rows, struct dump_block *block) {
  static const char truncated[] = "a directory entry is too short";
  uint64_t id, encoding, flags, raw, stored, low = 0, minimum, range;
  if (!(at = varint_read(at, end, &id)) || !(at = varint_read(at, end, &encoding)) ||
      !(at = varint_read(at, end, &flags)) || !(at = varint_read(at, end, &raw)) ||
      !(at = varint_read(at, end, &stored))) {
    return truncated;
  }
  if (id == 0 || id > UINT16_MAX) return "a directory entry has an impossible column id";
  if (raw > DUMP_MAXIMUM_RAW_BYTES || stored > UINT32_MAX) return "a block is larger than 16 MB";
  block->dump_id = (uint16_t)id;
  block->raw_bytes = (uint32_t)raw;
  block->stored_bytes = (uint32_t)stored;
  if (encoding >= DUMP_ENCODING_COUNT || flags > FLAG_KNOWN) { /* of a later version: only its place matters */
    block->encoding = DUMP_ENCODING_COUNT;
    return NULL;
  }
  block->encoding = (uint8_t)encoding;
  block->is_compressed = flags & FLAG_COMPRESSED;
  block->has_nulls = flags & FLAG_NULLS;
  block->low_width = (uint8_t)(flags >> FLAG_LOW_WIDTH_SHIFT & 3);
  if (block->low_width && !(at = varint_read(at, end, &low))) return truncated;
  if (low > stored) return "the parts of a block are larger than the whole";
  block->low_bytes = (uint32_t)low;
  if (end - at < 4) return truncated;
  block->crc32 = load_u32(at);
  if (!(at = varint_read(at + 4, end, &minimum)) || !(at = varint_read(at, end, &range))) return truncated;
  block->minimum = unzigzag(minimum);
  if (range > (uint64_t)INT64_MAX - (uint64_t)block->minimum)
    return "a directory entry's range does not fit in 64 bits";
  block->maximum = (int64_t)((uint64_t)block->minimum + range);
  return sizes_agree(block, rows) ? NULL : "a block's sizes contradict each other";
}

const char *dump_directory_read(const uint8_t *head, size_t length, uint32_t rows, uint64_t body_offset,
                                uint32_t body_length, struct dump_block *blocks, unsigned count) {
  const uint8_t *end = head + length;
  uint64_t ignored, used = 0, entry_length;
  const uint8_t *at = varint_read(head, end, &ignored);
  for (unsigned i = 0; i < count; i++) {
    struct dump_block *block = &blocks[i];
    memset(block, 0, sizeof *block);
    if (!at || !(at = varint_read(at, end, &entry_length)) || entry_length > (size_t)(end - at)) {
      return "the directory is cut off";
    }
    const char *wrong = read_entry(at, at + entry_length, rows, block);
    if (wrong) return wrong;
    if (i && block->dump_id <= blocks[i - 1].dump_id) return "the directory is not in order";
    if (block->stored_bytes > body_length - used) return "the blocks are larger than the frame";
    block->offset = body_offset + used;
    used += block->stored_bytes;
    at += entry_length;
  }
  return NULL;
}
