/* column_encode.c: int64 or double values to a block of a dump file.
**
** Which encoding is smallest depends on the data in ways that no cheap statistic tells (a column of names looks like
** noise but repeats with every layer of the model), so the encoder tries those that might do and keeps the smallest,
** then repeats that choice for a number of frames that doubles from trial to trial.  The writer remembers the choice
** per column.
**
** A choice made once for all programs (differences or a dictionary by the column's order, deflated) takes 9 to 10 %
** more bytes and 25 to 30 % more of the writer's time; one made once for each recording saves 6 to 8 % of its time
** where nothing changes (bench_dump_writer, each in three turns), and is wrong for a program whose phases differ.
*/
#include "base/bytes.h"
#include "base/checksum.h"
#include "base/hash.h"
#include "dump/column_codec.h"
#include "dump/huffman.h"

#include <stdlib.h>

enum {
  LONGEST_PERIOD = 128,   /* frames between two trials, at most */
  COMPRESS_AT_LEAST = 64, /* bytes: less is not worth the call */
  DICTIONARY_SIZE = 256,
  DICTIONARY_SLOTS = 1024, /* of the hash table of distinct values */
  CLOSE_RANGE = 16 << 10,  /* values that lie within this need no hash table */
};

struct stored { /* an encoded block, before it is told to the directory */
  uint8_t *bytes;
  uint8_t encoding, low_width, packing;
  uint32_t raw_bytes, stored_bytes, low_bytes;
};

struct column_encoder {
  struct dump_compressor *compressor;
  uint32_t rows;             /* that the buffers have room for */
  uint64_t *packed;          /* the values that are not null */
  uint64_t *steps;           /* what is written of them: differences */
  uint8_t *raw;              /* bitmap and encoded values */
  struct stored best, trial; /* `bytes` of both are buffers */
  uint8_t *plain;            /* buffer for column_encode_bytes */
  size_t plain_capacity;
  uint64_t slot_value[DICTIONARY_SLOTS];
  int16_t slot_code[DICTIONARY_SLOTS]; /* -1: free */
  uint8_t close[CLOSE_RANGE + 8];
};

struct numbers {          /* the column to encode */
  const uint64_t *values; /* int64 bits */
  uint32_t count;
  int64_t minimum, maximum;
  uint32_t runs;         /* of equal neighbours */
  uint32_t bitmap_bytes; /* already at the start of encoder->raw */
};

struct column_encoder *column_encoder_create(void) {
  struct column_encoder *encoder = calloc(1, sizeof *encoder);
  if (!encoder) return NULL;
  encoder->compressor = dump_compressor_create();
  if (!encoder->compressor) {
    free(encoder);
    return NULL;
  }
  memset(encoder->slot_code, 0xff, sizeof encoder->slot_code);
  return encoder;
}

static void free_row_buffers(struct column_encoder *encoder) {
  free(encoder->packed);
  free(encoder->steps);
  free(encoder->raw);
  free(encoder->best.bytes);
  free(encoder->trial.bytes);
  encoder->packed = encoder->steps = NULL;
  encoder->raw = encoder->best.bytes = encoder->trial.bytes = NULL;
  encoder->rows = 0;
}

void column_encoder_free(struct column_encoder *encoder) {
  if (!encoder) return;
  free_row_buffers(encoder);
  free(encoder->plain);
  dump_compressor_free(encoder->compressor);
  free(encoder);
}

static bool reserve_rows(struct column_encoder *encoder, uint32_t rows) {
  if (rows <= encoder->rows) return true;
  if (rows < DUMP_FRAME_ROWS) rows = DUMP_FRAME_ROWS;
  free_row_buffers(encoder);
  size_t raw = rows / 8 + 8 + ((size_t)rows + DICTIONARY_SIZE + 2) * VARINT_MAXIMUM_BYTES;
  encoder->packed = malloc((size_t)rows * sizeof *encoder->packed);
  encoder->steps = malloc((size_t)rows * sizeof *encoder->steps);
  encoder->raw = malloc(raw);
  encoder->best.bytes = malloc(raw + 3 * (size_t)rows + HUFFMAN_SLACK_BYTES);
  encoder->trial.bytes = malloc(raw + 3 * (size_t)rows + HUFFMAN_SLACK_BYTES);
  if (!encoder->packed || !encoder->steps || !encoder->raw || !encoder->best.bytes || !encoder->trial.bytes) {
    free_row_buffers(encoder);
    return false;
  }
  encoder->rows = rows;
  return true;
}

/* ---- The encodings: each writes to `to` and returns the end ---- */

static uint8_t *write_numbers(uint8_t *to, const uint64_t *steps, uint32_t count, unsigned low_width) {
  unsigned shift = 8 * low_width;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t value = steps[i] >> shift;
    if (value < 0x80) {
      *to++ = (uint8_t)value;
    } else if (value < 0x4000) {
      store_u16(to, (uint16_t)((value & 0x7f) | 0x80 | (value << 1 & 0x7f00)));
      to += 2;
    } else {
      to = varint_write(to, value);
    }
  }
  return to;
}

static uint8_t *write_low_bytes(uint8_t *to, const uint64_t *steps, uint32_t count, unsigned low_width) {
  for (unsigned plane = 0; plane < low_width; plane++) {
    for (uint32_t i = 0; i < count; i++) *to++ = (uint8_t)(steps[i] >> (8 * plane));
  }
  return to;
}

static void make_steps(uint64_t *steps, const struct numbers *numbers, uint8_t encoding) {
  uint64_t before = (uint64_t)numbers->minimum;
  if (encoding == DUMP_VARINT) {
    for (uint32_t i = 0; i < numbers->count; i++) steps[i] = numbers->values[i] - before;
  } else {
    for (uint32_t i = 0; i < numbers->count; i++) {
      steps[i] = zigzag((int64_t)(numbers->values[i] - before));
      before = numbers->values[i];
    }
  }
}

static uint8_t *write_runs(uint8_t *to, const struct numbers *numbers) {
  for (uint32_t i = 0; i < numbers->count;) {
    uint32_t start = i++;
    while (i < numbers->count && numbers->values[i] == numbers->values[start]) i++;
    to = varint_write(to, i - start);
    to = varint_write(to, numbers->values[start] - (uint64_t)numbers->minimum);
  }
  return to;
}

struct entry {
  uint64_t value;
  unsigned code; /* in order of first use */
};

static int compare_entries(const void *left, const void *right) {
  uint64_t a = ((const struct entry *)left)->value, b = ((const struct entry *)right)->value;
  return a < b ? -1 : a > b;
}

/* The slot of a value, or the free one where it belongs. There are always free slots. */
static inline unsigned find_value_slot(const struct column_encoder *encoder, uint64_t value) {
  unsigned slot = (unsigned)hash_spread(value, 10); /* 10 bits */
  while (encoder->slot_code[slot] >= 0 && encoder->slot_value[slot] != value) slot = (slot + 1) % DICTIONARY_SLOTS;
  return slot;
}

/* The same as write_dictionary for values that lie close together: they are looked up by place, and found sorted. */
static uint8_t *write_close_dictionary(struct column_encoder *encoder, uint8_t *to, const struct numbers *numbers) {
  uint8_t *used = encoder->close, *rank = encoder->close; /* first whether a value occurs, then its place */
  uint64_t minimum = (uint64_t)numbers->minimum, range = (uint64_t)numbers->maximum - minimum, before = 0;
  uint8_t gaps[DICTIONARY_SIZE * 2], *gap = gaps;
  unsigned size = 0;
  memset(used, 0, (size_t)range + 8);
  for (uint32_t row = 0; row < numbers->count; row++) used[numbers->values[row] - minimum] = 1;
  for (uint64_t value = 0; value <= range; value++) {
    if (value % 8 == 0 && load_u64(used + value) == 0) {
      value += 7;
      continue;
    }
    if (!used[value]) continue;
    if (size == DICTIONARY_SIZE) return NULL;
    gap = varint_write(gap, value - before);
    before = value;
    rank[value] = (uint8_t)size++;
  }
  to = varint_write(to, size);
  memcpy(to, gaps, (size_t)(gap - gaps));
  to += gap - gaps;
  for (uint32_t row = 0; row < numbers->count; row++) *to++ = rank[numbers->values[row] - minimum];
  return to;
}

/* Returns NULL when there are more than 256 distinct values. */
static uint8_t *write_dictionary(struct column_encoder *encoder, uint8_t *to, const struct numbers *numbers) {
  struct entry entries[DICTIONARY_SIZE];
  uint8_t rank[DICTIONARY_SIZE];
  uint8_t *codes = (uint8_t *)encoder->steps; /* free here, and longer than is needed */
  unsigned size = 0;
  uint32_t row;
  if ((uint64_t)numbers->maximum - (uint64_t)numbers->minimum < CLOSE_RANGE) {
    return write_close_dictionary(encoder, to, numbers);
  }
  for (row = 0; row < numbers->count; row++) {
    uint64_t value = numbers->values[row] - (uint64_t)numbers->minimum;
    unsigned slot = find_value_slot(encoder, value);
    if (encoder->slot_code[slot] < 0) {
      if (size == DICTIONARY_SIZE) break;
      encoder->slot_code[slot] = (int16_t)size;
      encoder->slot_value[slot] = value;
      entries[size].value = value;
      entries[size].code = size;
      size++;
    }
    codes[row] = (uint8_t)encoder->slot_code[slot];
  }
  memset(encoder->slot_code, 0xff, sizeof encoder->slot_code);
  if (row < numbers->count) return NULL;
  qsort(entries, size, sizeof *entries, compare_entries); /* sorted, the dictionary is a few small gaps */
  to = varint_write(to, size);
  uint64_t before = 0;
  for (unsigned i = 0; i < size; i++) {
    to = varint_write(to, entries[i].value - before);
    before = entries[i].value;
    rank[entries[i].code] = (uint8_t)i;
  }
  for (row = 0; row < numbers->count; row++) *to++ = rank[codes[row]];
  return to;
}

/* ---- Blocks ---- */

/* Puts the raw bytes, smaller if `packing` wishes so and can, and then the low bytes into `stored`. */
static void store_raw(struct column_encoder *encoder, struct stored *stored, uint32_t raw_bytes, uint8_t packing) {
  size_t packed = 0, worthwhile = raw_bytes - raw_bytes / 32;
  if (raw_bytes < COMPRESS_AT_LEAST) packing = PACKED_NOT;
  if (packing == PACKED_HUFFMAN) packed = dump_huffman(encoder->raw, raw_bytes, stored->bytes, worthwhile);
  if (packing == PACKED_DEFLATE) {
    packed = dump_compress(encoder->compressor, encoder->raw, raw_bytes, stored->bytes, worthwhile);
  }
  stored->raw_bytes = raw_bytes;
  stored->packing = packed ? packing : PACKED_NOT;
  if (!packed) {
    memcpy(stored->bytes, encoder->raw, raw_bytes);
    packed = raw_bytes;
  }
  stored->low_bytes = 0;
  stored->stored_bytes = (uint32_t)packed;
}

static bool encode_as(struct column_encoder *encoder, const struct numbers *numbers, uint8_t encoding,
                      uint8_t low_width, uint8_t packing, struct stored *stored) {
  uint8_t *to = encoder->raw + numbers->bitmap_bytes;
  switch (encoding) {
    case DUMP_CONSTANT: break;
    case DUMP_RUNS: to = write_runs(to, numbers); break;
    case DUMP_DICTIONARY: to = write_dictionary(encoder, to, numbers); break;
    default:
      make_steps(encoder->steps, numbers, encoding);
      to = write_numbers(to, encoder->steps, numbers->count, low_width);
  }
  if (!to) return false;
  store_raw(encoder, stored, (uint32_t)(to - encoder->raw), packing);
  stored->encoding = encoding;
  stored->low_width = low_width;
  if (low_width) {
    write_low_bytes(stored->bytes + stored->stored_bytes, encoder->steps, numbers->count, low_width);
    stored->low_bytes = numbers->count * low_width;
    stored->stored_bytes += stored->low_bytes;
  }
  return true;
}

static void swap_stored(struct stored *left, struct stored *right) {
  struct stored kept = *left;
  *left = *right;
  *right = kept;
}

/* Tries one encoding, packed in both ways; the smallest ends in encoder->best.  What comes later costs more time when
** it is written or read, and must be so much smaller. */
static void try_encoding(struct column_encoder *encoder, const struct numbers *numbers, uint8_t encoding,
                         uint8_t low_width) {
  for (unsigned packing = PACKED_HUFFMAN; packing <= PACKED_DEFLATE; packing++) {
    if (!encode_as(encoder, numbers, encoding, low_width, (uint8_t)packing, &encoder->trial)) return;
    uint32_t best = encoder->best.stored_bytes;
    if (encoder->trial.stored_bytes < best - best / (packing == PACKED_DEFLATE ? 16 : 64)) {
      swap_stored(&encoder->best, &encoder->trial);
    }
  }
}

static bool can_be_runs(const struct numbers *numbers) { return numbers->runs <= numbers->count / 4; }

static void run_trial(struct column_encoder *encoder, const struct numbers *numbers, uint8_t order) {
  encoder->best.stored_bytes = UINT32_MAX;
  if (can_be_runs(numbers)) try_encoding(encoder, numbers, DUMP_RUNS, 0);
  if (order != DUMP_ASCENDING) try_encoding(encoder, numbers, DUMP_DICTIONARY, 0);
  uint8_t encoding = order == DUMP_ASCENDING ? DUMP_DELTA : DUMP_VARINT;
  uint64_t largest = (uint64_t)numbers->maximum - (uint64_t)numbers->minimum;
  for (uint8_t width = 0; width <= 3 && (width == 0 || largest >> (8 * width)); width++) {
    if (width * numbers->count > encoder->best.stored_bytes) break;
    try_encoding(encoder, numbers, encoding, width);
  }
}

/* Encodes into encoder->best. */
static void encode_numbers(struct column_encoder *encoder, const struct numbers *numbers, uint8_t order,
                           struct column_choice *choice) {
  if (numbers->minimum == numbers->maximum) {
    encode_as(encoder, numbers, DUMP_CONSTANT, 0, PACKED_DEFLATE, &encoder->best);
    return; /* says nothing of what the next frame will be like */
  }
  if (choice->frames_until_trial > 0 && (choice->encoding != DUMP_RUNS || can_be_runs(numbers)) &&
      encode_as(encoder, numbers, choice->encoding, choice->low_width, choice->packing, &encoder->best)) {
    choice->frames_until_trial--;
    return;
  }
  run_trial(encoder, numbers, order);
  choice->encoding = encoder->best.encoding;
  choice->low_width = encoder->best.low_width;
  choice->packing = encoder->best.packing;
  choice->period = choice->period ? choice->period * 2 : 1;
  if (choice->period > LONGEST_PERIOD) choice->period = LONGEST_PERIOD;
  choice->frames_until_trial = choice->period;
}

static void encode_reals(struct column_encoder *encoder, const uint64_t *values, uint32_t count,
                         uint32_t bitmap_bytes) {
  uint8_t *to = encoder->raw + bitmap_bytes;
  uint32_t same = 1;
  while (same < count && values[same] == values[0]) same++;
  if (same == count) { /* of no values no bytes */
    store_u64(to, values[0]);
    to += 8;
  } else {
    for (unsigned shift = 0; shift < 64; shift += 8) {
      for (uint32_t i = 0; i < count; i++) *to++ = (uint8_t)(values[i] >> shift);
    }
  }
  store_raw(encoder, &encoder->best, (uint32_t)(to - encoder->raw), PACKED_DEFLATE);
  encoder->best.encoding = DUMP_REAL;
  encoder->best.low_width = 0;
}

static void measure_numbers(struct numbers *numbers) {
  const int64_t *values = (const int64_t *)numbers->values;
  int64_t minimum = values[0], maximum = values[0];
  uint32_t runs = 1;
  for (uint32_t i = 1; i < numbers->count; i++) {
    if (values[i] < minimum) minimum = values[i];
    if (values[i] > maximum) maximum = values[i];
    runs += values[i] != values[i - 1];
  }
  numbers->minimum = minimum;
  numbers->maximum = maximum;
  numbers->runs = runs;
}

/* Writes the null bitmap to the start of encoder->raw and gathers the other values. Returns how many there are. */
static uint32_t pack_values(struct column_encoder *encoder, const uint64_t *values, const uint64_t *nulls,
                            uint32_t rows) {
  uint32_t count = 0, words = (rows + 63) / 64;
  uint64_t last_mask = rows % 64 ? ((uint64_t)1 << (rows % 64)) - 1 : UINT64_MAX;
  for (uint32_t word = 0; word < words; word++) {
    uint64_t bits = nulls[word] & (word == words - 1 ? last_mask : UINT64_MAX);
    uint32_t first = word * 64, stop = rows - first < 64 ? rows - first : 64;
    store_u64(encoder->raw + (size_t)word * 8, bits);
    for (uint32_t i = 0; i < stop; i++) {
      encoder->packed[count] = values[first + i];
      count += !(bits >> i & 1);
    }
  }
  return count;
}

static void describe_block(const struct stored *stored, uint16_t dump_id, struct dump_block *block,
                           const uint8_t **bytes) {
  memset(block, 0, sizeof *block);
  block->dump_id = dump_id;
  block->encoding = stored->encoding;
  block->low_width = stored->low_width;
  block->is_compressed = stored->packing != PACKED_NOT;
  block->raw_bytes = stored->raw_bytes;
  block->stored_bytes = stored->stored_bytes;
  block->low_bytes = stored->low_bytes;
  block->crc32 = checksum_crc32(0, stored->bytes, stored->stored_bytes);
  *bytes = stored->bytes;
}

enum tfprof_status column_encode(struct column_encoder *encoder, const struct dump_column_data *column, uint32_t rows,
                                 struct column_choice *choice, struct dump_block *block, const uint8_t **bytes,
                                 bool *is_absent) {
  struct numbers numbers = {.count = rows};
  if (!reserve_rows(encoder, rows)) return TFPROF_NO_MEMORY;
  *is_absent = false;
  if (column->is_real) { /* their bits; a copy, for the two types may not alias */
    memcpy(encoder->steps, column->reals, (size_t)rows * sizeof *column->reals);
    numbers.values = encoder->steps;
  } else {
    numbers.values = (const uint64_t *)column->integers;
  }
  if (column->nulls) {
    uint32_t count = pack_values(encoder, numbers.values, column->nulls, rows);
    if (count == 0 && !column->is_kept) {
      *is_absent = true;
      return TFPROF_OK;
    }
    if (count < rows) {
      numbers.values = encoder->packed;
      numbers.count = count;
      numbers.bitmap_bytes = (rows + 7) / 8;
    }
  }
  if (column->is_real) {
    encode_reals(encoder, numbers.values, numbers.count, numbers.bitmap_bytes);
  } else {
    if (numbers.count) measure_numbers(&numbers); /* of none all are the same */
    encode_numbers(encoder, &numbers, column->order, choice);
  }
  describe_block(&encoder->best, column->dump_id, block, bytes);
  block->has_nulls = numbers.bitmap_bytes > 0;
  block->minimum = numbers.minimum;
  block->maximum = numbers.maximum;
  return TFPROF_OK;
}

enum tfprof_status column_encode_bytes(struct column_encoder *encoder, const uint8_t *input, uint32_t length,
                                       uint16_t dump_id, struct dump_block *block, const uint8_t **bytes) {
  struct stored stored = {.encoding = DUMP_BYTES, .raw_bytes = length, .stored_bytes = length};
  if (length >= COMPRESS_AT_LEAST) {
    if (length > encoder->plain_capacity) {
      uint8_t *grown = malloc(length);
      if (!grown) return TFPROF_NO_MEMORY;
      free(encoder->plain);
      encoder->plain = grown;
      encoder->plain_capacity = length;
    }
    size_t packed = dump_compress(encoder->compressor, input, length, encoder->plain, length - length / 32);
    if (packed) {
      stored.packing = PACKED_DEFLATE;
      stored.stored_bytes = (uint32_t)packed;
    }
  }
  stored.bytes = stored.packing ? encoder->plain : (uint8_t *)(uintptr_t)input;
  describe_block(&stored, dump_id, block, bytes);
  return TFPROF_OK;
}
