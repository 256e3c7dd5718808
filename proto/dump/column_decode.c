/* column_decode.c: a block of a dump file to int64 or double values.
**
** Total over any bytes.  Sizes were checked against each other when the directory was read (format.c); here every read
** is checked against what is left, and every value against minimum ... maximum, because readers choose the width of
** their arrays by these.  Checks inside loops are gathered into one flag, so that the loops stay fast.
*/
#include "base/bytes.h"
#include "base/checksum.h"
#include "base/vectors.h"
#include "dump/column_codec.h"

#include <stdlib.h>

void column_decoder_clear(struct column_decoder *decoder) {
  dump_decompressor_free(decoder->decompressor);
  free(decoder->raw);
  memset(decoder, 0, sizeof *decoder);
}

/* The uncompressed first part of the block. */
static enum tfprof_status inflate_block(struct column_decoder *decoder, const struct dump_block *block,
                                        const uint8_t *stored, const uint8_t **raw, const char **wrong) {
  if (block->encoding >= DUMP_ENCODING_COUNT) {
    *wrong = "it is stored in a way that only a later version knows; update tfprof to read it";
    return TFPROF_VERSION;
  }
  if (checksum_crc32(0, stored, block->stored_bytes) != block->crc32) {
    *wrong = "its checksum is wrong";
    return TFPROF_CORRUPT;
  }
  if (!block->is_compressed) {
    *raw = stored;
    return TFPROF_OK;
  }
  if (!decoder->decompressor && !(decoder->decompressor = dump_decompressor_create())) return TFPROF_NO_MEMORY;
  if (block->raw_bytes > decoder->capacity) {
    size_t capacity = block->raw_bytes + block->raw_bytes / 2 + 4096;
    uint8_t *grown = malloc(capacity);
    if (!grown) return TFPROF_NO_MEMORY;
    free(decoder->raw);
    decoder->raw = grown;
    decoder->capacity = capacity;
  }
  if (!dump_decompress(decoder->decompressor, stored, block->stored_bytes - block->low_bytes, decoder->raw,
                       block->raw_bytes)) {
    *wrong = "it cannot be decompressed";
    return TFPROF_CORRUPT;
  }
  *raw = decoder->raw;
  return TFPROF_OK;
}

/* Reads `count` varints that must fill from `at` to `end` exactly. */
static bool read_varints(const uint8_t *at, const uint8_t *end, uint32_t count, uint64_t *values) {
  uint32_t i = 0;
  while (end - at >= 16) { /* room for eight short ones, and for the longest one */
    if (i == count) return false;
    uint64_t bytes = load_u64(at);
    uint64_t more = bytes & 0x8080808080808080u;
    if (!more && count - i >= 8) {
      for (unsigned k = 0; k < 8; k++) values[i + k] = at[k];
      i += 8;
      at += 8;
    } else if (!(bytes & 0x80)) {
      values[i++] = bytes & 0x7f;
      at += 1;
    } else if (!(bytes & 0x8000)) {
      values[i++] = (bytes & 0x7f) | (bytes >> 1 & 0x3f80);
      at += 2;
    } else {
      const uint8_t *next = varint_read_ahead(at, &values[i]);
      if (!next) next = varint_read(at, end, &values[i]);
      if (!next) return false;
      at = next;
      i++;
    }
  }
  for (; i < count; i++) {
    at = varint_read(at, end, &values[i]);
    if (!at) return false;
  }
  return at == end;
}

/* Shifts the values up and puts the low bytes, one plane after the other, below them. False when a value has no
** room. */
VECTOR_CLONES static bool join_low_bytes(uint64_t *values, uint32_t count, const uint8_t *planes, unsigned width) {
  uint64_t high = 0;
  const uint8_t *second = planes + count, *third = second + (width > 1 ? count : 0);
  switch (width) {
    case 1:
      for (uint32_t i = 0; i < count; i++) {
        high |= values[i];
        values[i] = values[i] << 8 | planes[i];
      }
      break;
    case 2:
      for (uint32_t i = 0; i < count; i++) {
        high |= values[i];
        values[i] = values[i] << 16 | (uint64_t)second[i] << 8 | planes[i];
      }
      break;
    case 3:
      for (uint32_t i = 0; i < count; i++) {
        high |= values[i];
        values[i] = values[i] << 24 | (uint64_t)third[i] << 16 | (uint64_t)second[i] << 8 | planes[i];
      }
      break;
  }
  return high >> (64 - 8 * width) == 0;
}

/* The encoded values of a VARINT or DELTA block, as they were before they were split. */
static const char *read_numbers(const struct dump_block *block, const uint8_t *raw, uint32_t raw_bytes,
                                const uint8_t *low, uint32_t count, uint64_t *values) {
  if (!read_varints(raw, raw + raw_bytes, count, values)) return "its values are cut off";
  if (block->low_bytes != count * block->low_width) return "its low bytes are not as many as its values";
  if (block->low_width && !join_low_bytes(values, count, low, block->low_width))
    return "a value does not fit in 64 bits";
  return NULL;
}

static const char outside[] = "a value lies outside the range that the directory states";

VECTOR_CLONES static const char *decode_varint(const struct dump_block *block, uint32_t count, uint64_t *values) {
  uint64_t minimum = (uint64_t)block->minimum, range = (uint64_t)block->maximum - minimum, largest = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (values[i] > largest) largest = values[i];
    values[i] += minimum;
  }
  return largest > range ? outside : NULL;
}

static const char *decode_delta(const struct dump_block *block, uint32_t count, uint64_t *values) {
  uint64_t minimum = (uint64_t)block->minimum, range = (uint64_t)block->maximum - minimum, largest = 0, sum = 0;
  for (uint32_t i = 0; i < count; i++) {
    sum += (uint64_t)unzigzag(values[i]);
    if (sum > largest) largest = sum;
    values[i] = sum + minimum;
  }
  return largest > range ? outside : NULL;
}

VECTOR_CLONES static const char *decode_dictionary(const struct dump_block *block, const uint8_t *raw,
                                                   uint32_t raw_bytes, uint32_t count, uint64_t *values) {
  const uint8_t *end = raw + raw_bytes, *at;
  uint64_t minimum = (uint64_t)block->minimum, range = (uint64_t)block->maximum - minimum, sum = 0, gap, size;
  uint64_t dictionary[256] = {0};
  at = varint_read(raw, end, &size);
  if (!at || size == 0 || size > 256) return "its dictionary has an impossible size";
  for (unsigned i = 0; i < size; i++) {
    at = varint_read(at, end, &gap);
    if (!at) return "its dictionary is cut off";
    if (gap > range - sum) return outside;
    sum += gap;
    dictionary[i] = minimum + sum;
  }
  if ((size_t)(end - at) != count) return "its values are cut off";
  unsigned largest = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (at[i] > largest) largest = at[i];
    values[i] = dictionary[at[i]];
  }
  return count && largest >= size ? "a value is not in its dictionary" : NULL;
}

static const char *decode_runs(const struct dump_block *block, const uint8_t *raw, uint32_t raw_bytes, uint32_t count,
                               uint64_t *values) {
  const uint8_t *end = raw + raw_bytes, *at = raw;
  uint64_t minimum = (uint64_t)block->minimum, range = (uint64_t)block->maximum - minimum, length, value;
  for (uint32_t i = 0; i < count;) {
    if (!(at = varint_read(at, end, &length)) || !(at = varint_read(at, end, &value))) return "its values are cut off";
    if (length == 0 || length > count - i) return "a run is longer than the frame";
    if (value > range) return outside;
    for (uint32_t stop = i + (uint32_t)length; i < stop; i++) values[i] = minimum + value;
  }
  return at == end ? NULL : "it has more values than rows";
}

static const char *decode_real(const uint8_t *raw, uint32_t raw_bytes, uint32_t count, uint64_t *values) {
  if (raw_bytes == 8 && count) { /* all rows have the same */
    uint64_t value = load_u64(raw);
    for (uint32_t i = 0; i < count; i++) values[i] = value;
    return NULL;
  }
  if (raw_bytes != (uint64_t)count * 8) return "its values are cut off";
  for (uint32_t i = 0; i < count; i++) {
    uint64_t value = 0;
    for (unsigned k = 0; k < 8; k++) value |= (uint64_t)raw[(size_t)k * count + i] << (8 * k);
    values[i] = value;
  }
  return NULL;
}

enum { FEW_KNOWN = 16 };

/* The values of a word of rows of which few are not null. They are copied first, for they may lie where they go. */
static void spread_few(uint64_t *to, unsigned rows, uint64_t known, const uint64_t *from, uint64_t filler) {
  uint64_t values[FEW_KNOWN];
  memcpy(values, from, (size_t)__builtin_popcountll(known) * sizeof *values);
  for (unsigned i = 0; i < rows; i++) to[i] = filler;
  for (unsigned i = 0; known; known &= known - 1) to[__builtin_ctzll(known)] = values[i++];
}

/* Moves `count` values at the start of the array to the rows that are not null. */
static void spread(uint64_t *values, uint32_t rows, uint32_t count, const uint64_t *nulls, uint64_t filler) {
  for (uint32_t word = (rows + 63) / 64; word-- > 0;) { /* from the end, for a value never moves down */
    uint64_t *to = values + (size_t)word * 64;
    unsigned left = rows - word * 64 < 64 ? rows - word * 64 : 64;
    uint64_t known = ~nulls[word] & ~(uint64_t)0 >> (64 - left);
    unsigned known_count = (unsigned)__builtin_popcountll(known);
    count -= known_count;
    const uint64_t *from = values + count;
    if (known_count == left) {
      memmove(to, from, left * sizeof *to);
      continue;
    }
    if (known_count <= FEW_KNOWN) {
      spread_few(to, left, known, from, filler);
      continue;
    }
    while (left-- > 0) { /* without a branch: whether a row is NULL is hard to foretell */
      uint64_t is_known = known >> left & 1;
      known_count -= (unsigned)is_known;
      to[left] = filler ^ ((filler ^ from[known_count]) & (0 - is_known));
    }
  }
}

/* Returns the number of rows that are not null. */
static uint32_t read_nulls(const uint8_t *bitmap, uint32_t rows, uint64_t *nulls) {
  uint32_t words = (rows + 63) / 64, bytes = (rows + 7) / 8, count = 0;
  nulls[words - 1] = 0;
  memcpy(nulls, bitmap, bytes);
  for (uint32_t i = 0; i < words; i++) nulls[i] = load_u64(&nulls[i]);
  if (rows % 64) nulls[words - 1] &= ((uint64_t)1 << (rows % 64)) - 1;
  for (uint32_t i = 0; i < words; i++) count += (uint32_t)__builtin_popcountll(nulls[i]);
  return rows - count;
}

enum tfprof_status column_decode(struct column_decoder *decoder, const struct dump_block *block, const uint8_t *stored,
                                 uint32_t rows, void *output, uint64_t *nulls, const char **wrong) {
  const uint8_t *raw;
  uint64_t *values = output; /* doubles are handled by their bits */
  uint32_t count = rows, raw_bytes = block->raw_bytes;
  enum tfprof_status status = inflate_block(decoder, block, stored, &raw, wrong);
  if (status) return status;
  if (block->has_nulls) {
    uint32_t bytes = (rows + 7) / 8;
    if (!nulls || raw_bytes < bytes) {
      *wrong = "its null bitmap is cut off";
      return TFPROF_CORRUPT;
    }
    count = read_nulls(raw, rows, nulls);
    raw += bytes;
    raw_bytes -= bytes;
  } else if (nulls) {
    memset(nulls, 0, ((size_t)rows + 63) / 64 * sizeof *nulls);
  }
  const uint8_t *low = stored + (block->stored_bytes - block->low_bytes);
  *wrong = NULL;
  switch ((enum dump_encoding)block->encoding) {
    case DUMP_CONSTANT:
      if (raw_bytes || block->minimum != block->maximum) *wrong = "a constant column has values";
      for (uint32_t i = 0; i < rows; i++) values[i] = (uint64_t)block->minimum;
      break;
    case DUMP_VARINT:
      *wrong = read_numbers(block, raw, raw_bytes, low, count, values);
      if (!*wrong) *wrong = decode_varint(block, count, values);
      break;
    case DUMP_DELTA:
      *wrong = read_numbers(block, raw, raw_bytes, low, count, values);
      if (!*wrong) *wrong = decode_delta(block, count, values);
      break;
    case DUMP_REAL: *wrong = decode_real(raw, raw_bytes, count, values); break;
    case DUMP_DICTIONARY: *wrong = decode_dictionary(block, raw, raw_bytes, count, values); break;
    case DUMP_RUNS: *wrong = decode_runs(block, raw, raw_bytes, count, values); break;
    case DUMP_BYTES:
    case DUMP_ENCODING_COUNT: *wrong = "it is not a column"; break;
  }
  if (*wrong) return TFPROF_CORRUPT;
  if (count < rows) spread(values, rows, count, nulls, block->encoding == DUMP_REAL ? 0 : (uint64_t)block->minimum);
  return TFPROF_OK;
}

enum tfprof_status column_decode_bytes(struct column_decoder *decoder, const struct dump_block *block,
                                       const uint8_t *stored, const uint8_t **bytes, const char **wrong) {
  enum tfprof_status status = inflate_block(decoder, block, stored, bytes, wrong);
  if (status) return status;
  if (block->encoding == DUMP_BYTES) return TFPROF_OK;
  *wrong = "it is not a block of bytes";
  return TFPROF_CORRUPT;
}
