/* huffman.c: one dynamic block of deflate (RFC 1951, 3.2.7) that holds literals only, in the zlib format (RFC 1950).
**
** Code lengths come from Huffman's own construction; where one gets too long for the format, the counts are flattened
** and it is done again, which costs nothing measurable in size.  The exact size is known before the first byte is
** written.  zlib's Z_HUFFMAN_ONLY makes as few bytes of it and a fifth more of the writer's time: 57 instead of 46 ns
** an op (tests/bench/bench_dump_writer.c).
*/
#include "dump/huffman.h"

#include "base/bytes.h"
#include "base/checksum.h"

#include <stdlib.h>

enum {
  LITERALS = 257, /* 256 bytes and the end of the block */
  END_OF_BLOCK = 256,
  LONGEST_CODE = 15,
  LENGTH_SYMBOLS = 19, /* the code lengths are themselves coded */
  LONGEST_LENGTH_CODE = 7,
  REPEAT_BEFORE = 16, /* 3 to 6 times, 2 more bits */
  REPEAT_ZERO = 17,   /* 3 to 10 times, 3 more bits */
  REPEAT_ZEROS = 18,  /* 11 to 138 times, 7 more bits */
  ZLIB_HEADER_BYTES = 2,
  ZLIB_FRAME_BYTES = 6, /* header and Adler-32 */
};

struct code {
  uint16_t bits;
  uint8_t length; /* 0: the symbol does not occur */
};

/* ---- Bits, the first one lowest ---- */

struct bit_writer {
  uint8_t *at;
  uint64_t bits;
  unsigned count;
};

static inline void put_bits(struct bit_writer *writer, uint64_t bits, unsigned count) {
  writer->bits |= bits << writer->count;
  writer->count += count;
}

/* At most 7 bits stay; at most 56 may have been put since. */
static inline void flush_bits(struct bit_writer *writer) {
  store_u64(writer->at, writer->bits);
  writer->at += writer->count >> 3;
  writer->bits >>= writer->count & ~7u;
  writer->count &= 7;
}

/* ---- Codes ---- */

struct node {
  uint32_t count;
  uint16_t symbol;
  uint16_t parent;
};

static int compare_nodes(const void *left, const void *right) {
  const struct node *a = left, *b = right;
  if (a->count != b->count) return a->count < b->count ? -1 : 1;
  return a->symbol < b->symbol ? -1 : 1;
}

/* Sets the lengths of the codes of all symbols whose count is not 0; false when one exceeds `longest`. */
static bool try_lengths(const uint32_t *counts, unsigned symbols, unsigned longest, struct code *codes) {
  struct node nodes[2 * LITERALS];
  unsigned leaves = 0;
  for (unsigned symbol = 0; symbol < symbols; symbol++) {
    codes[symbol].length = 0;
    if (counts[symbol]) nodes[leaves++] = (struct node){.count = counts[symbol], .symbol = (uint16_t)symbol};
  }
  if (leaves == 1) { /* a code needs a bit all the same */
    codes[nodes[0].symbol].length = 1;
    return true;
  }
  qsort(nodes, leaves, sizeof *nodes, compare_nodes);
  /* The two rarest are joined again and again: inner nodes come out in ascending order, so two queues are enough. */
  unsigned leaf = 0, inner = leaves, end = leaves;
  while (end < 2 * leaves - 1) {
    nodes[end].count = 0;
    for (int i = 0; i < 2; i++) {
      bool is_leaf = leaf < leaves && (inner == end || nodes[leaf].count <= nodes[inner].count);
      unsigned rarest = is_leaf ? leaf++ : inner++;
      nodes[end].count += nodes[rarest].count;
      nodes[rarest].parent = (uint16_t)end;
    }
    end++;
  }
  /* From the root down; `count` is not needed any more and holds the depth. */
  nodes[end - 1].count = 0;
  for (unsigned i = end - 1; i-- > 0;) {
    nodes[i].count = nodes[nodes[i].parent].count + 1;
    if (i >= leaves) continue;
    if (nodes[i].count > longest) return false;
    codes[nodes[i].symbol].length = (uint8_t)nodes[i].count;
  }
  return true;
}

static uint16_t reverse_bits(unsigned bits, unsigned count) {
  unsigned reversed = 0;
  for (; count > 0; count--, bits >>= 1) reversed = reversed << 1 | (bits & 1);
  return (uint16_t)reversed;
}

/* Codes of one length are consecutive and ascend with the symbol, as the format demands. `counts` may be flattened. */
static void make_codes(uint32_t *counts, unsigned symbols, unsigned longest, struct code *codes) {
  unsigned next[LONGEST_CODE + 2] = {0}, code = 0;
  while (!try_lengths(counts, symbols, longest, codes)) {
    for (unsigned symbol = 0; symbol < symbols; symbol++) counts[symbol] = (counts[symbol] + 1) / 2;
  }
  for (unsigned symbol = 0; symbol < symbols; symbol++) next[codes[symbol].length + 1]++;
  next[1] = 0; /* symbols that do not occur */
  for (unsigned length = 1; length <= longest; length++) {
    code = (code + next[length]) << 1;
    next[length] = code;
  }
  for (unsigned symbol = 0; symbol < symbols; symbol++) {
    unsigned length = codes[symbol].length;
    if (length) codes[symbol].bits = reverse_bits(next[length]++, length);
  }
}

/* ---- The lengths of the codes, as the format codes them ---- */

struct length_list {
  uint8_t symbols[LITERALS + 1], extra[LITERALS + 1];
  unsigned count;
};

static void add_length(struct length_list *list, unsigned symbol, unsigned extra) {
  list->symbols[list->count] = (uint8_t)symbol;
  list->extra[list->count++] = (uint8_t)extra;
}

/* Of all literals and of one distance code, which does not occur. */
static void list_lengths(const struct code *codes, struct length_list *list) {
  list->count = 0;
  for (unsigned at = 0; at < LITERALS;) {
    unsigned length = codes[at].length, run = 1;
    while (at + run < LITERALS && codes[at + run].length == length) run++;
    at += run;
    if (length) {
      add_length(list, length, 0);
      for (run--; run >= 3;) {
        unsigned part = run < 6 ? run : 6;
        add_length(list, REPEAT_BEFORE, part - 3);
        run -= part;
      }
    } else {
      while (run >= 3) {
        unsigned part = run < 138 ? run : 138;
        if (part < 11) add_length(list, REPEAT_ZERO, part - 3);
        else add_length(list, REPEAT_ZEROS, part - 11);
        run -= part;
      }
    }
    for (; run > 0; run--) add_length(list, length, 0);
  }
  add_length(list, 0, 0);
}

static unsigned extra_bits(unsigned symbol) {
  return symbol == REPEAT_BEFORE ? 2 : symbol == REPEAT_ZERO ? 3 : symbol == REPEAT_ZEROS ? 7 : 0;
}

static const uint8_t length_order[LENGTH_SYMBOLS] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};

/* ---- The whole ---- */

static void count_bytes(const uint8_t *input, size_t length, uint32_t *counts) {
  uint32_t parts[4][256] = {0}; /* so that equal neighbours do not wait for each other */
  size_t i = 0;
  for (; i + 4 <= length; i += 4) {
    for (unsigned k = 0; k < 4; k++) parts[k][input[i + k]]++;
  }
  for (; i < length; i++) parts[0][input[i]]++;
  for (unsigned byte = 0; byte < 256; byte++) {
    counts[byte] = parts[0][byte] + parts[1][byte] + parts[2][byte] + parts[3][byte];
  }
}

static void put_header(struct bit_writer *writer, const struct length_list *list, const struct code *length_codes,
                       unsigned length_code_count) {
  put_bits(writer, 1, 1); /* the last block */
  put_bits(writer, 2, 2); /* dynamic codes */
  put_bits(writer, LITERALS - 257, 5);
  put_bits(writer, 0, 5); /* one distance code */
  put_bits(writer, length_code_count - 4, 4);
  flush_bits(writer);
  for (unsigned i = 0; i < length_code_count; i++) {
    put_bits(writer, length_codes[length_order[i]].length, 3);
    flush_bits(writer);
  }
  for (unsigned i = 0; i < list->count; i++) {
    const struct code *code = &length_codes[list->symbols[i]];
    put_bits(writer, code->bits, code->length);
    put_bits(writer, list->extra[i], extra_bits(list->symbols[i]));
    flush_bits(writer);
  }
}

static void put_literals(struct bit_writer *writer, const uint8_t *input, size_t length, const struct code *codes) {
  struct bit_writer local = *writer; /* in registers */
  size_t i = 0;
  for (; i + 3 <= length; i += 3) {
    for (unsigned k = 0; k < 3; k++) put_bits(&local, codes[input[i + k]].bits, codes[input[i + k]].length);
    flush_bits(&local);
  }
  for (; i < length; i++) {
    put_bits(&local, codes[input[i]].bits, codes[input[i]].length);
    flush_bits(&local);
  }
  *writer = local;
}

size_t dump_huffman(const uint8_t *input, size_t length, uint8_t *output, size_t capacity) {
  struct code codes[LITERALS] = {0}, length_codes[LENGTH_SYMBOLS] = {0};
  uint32_t counts[LITERALS], flattened[LITERALS], length_counts[LENGTH_SYMBOLS] = {0};
  struct length_list list;
  if (length > UINT32_MAX) return 0;
  count_bytes(input, length, counts);
  counts[END_OF_BLOCK] = 1;
  memcpy(flattened, counts, sizeof counts);
  make_codes(flattened, LITERALS, LONGEST_CODE, codes);
  list_lengths(codes, &list);
  for (unsigned i = 0; i < list.count; i++) length_counts[list.symbols[i]]++;
  make_codes(length_counts, LENGTH_SYMBOLS, LONGEST_LENGTH_CODE, length_codes);
  unsigned length_code_count = LENGTH_SYMBOLS;
  while (length_code_count > 4 && !length_codes[length_order[length_code_count - 1]].length) length_code_count--;

  uint64_t bits = 17 + 3 * length_code_count;
  for (unsigned i = 0; i < list.count; i++) bits += length_codes[list.symbols[i]].length + extra_bits(list.symbols[i]);
  for (unsigned i = 0; i < LITERALS; i++) bits += (uint64_t)counts[i] * codes[i].length;
  uint64_t bytes = (bits + 7) / 8 + ZLIB_FRAME_BYTES;
  if (bytes > capacity) return 0;

  output[0] = 0x78; /* deflate with a window of 32 KB, of which nothing is used */
  output[1] = 0x01;
  struct bit_writer writer = {.at = output + ZLIB_HEADER_BYTES};
  put_header(&writer, &list, length_codes, length_code_count);
  put_literals(&writer, input, length, codes);
  put_bits(&writer, codes[END_OF_BLOCK].bits, codes[END_OF_BLOCK].length);
  flush_bits(&writer);
  if (writer.count) writer.at++;
  uint32_t adler = checksum_adler32(input, length);
  for (int shift = 24; shift >= 0; shift -= 8) *writer.at++ = (uint8_t)(adler >> shift); /* the highest byte first */
  return (size_t)(writer.at - output);
}
