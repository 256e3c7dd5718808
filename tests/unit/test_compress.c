/* test_compress.c: both compressors of the dump against both decompressors: what zlib itself reads is right.
**
** Prints a line for each thing that is wrong; exit status 0 when there is none, else 1.
*/
#include "dump_test.h"

#include "dump/compress.h"
#include "dump/huffman.h"

#include <zlib.h>

enum { LONGEST = 70000 };

static uint8_t input[LONGEST], packed[LONGEST * 2], output[LONGEST + 1];

enum kind { ZEROS, ONE_OTHER, TWO, FEW, SKEWED, FIBONACCI, NOISE, TEXT, RAMP, KINDS };

static void make_input(enum kind kind, size_t length) {
  for (size_t i = 0; i < length; i++) {
    uint64_t random = random_u64();
    switch (kind) {
      case ZEROS: input[i] = 0; break;
      case ONE_OTHER: input[i] = i == length / 2 ? 255 : 7; break;
      case TWO: input[i] = (uint8_t)(random & 1 ? 200 : 3); break;
      case FEW: input[i] = (uint8_t)(random % 13); break;
      case SKEWED: input[i] = (uint8_t)__builtin_ctzll(random | (uint64_t)1 << 40); break;
      case FIBONACCI: break;
      case NOISE: input[i] = (uint8_t)random; break;
      case TEXT: input[i] = (uint8_t) "the quick brown fox, "[i % 21]; break;
      case RAMP: input[i] = (uint8_t)(i >> 5); break;
      case KINDS: break;
    }
  }
  if (kind == FIBONACCI) { /* the deepest code that this many bytes can have: more than the format's 15 bits */
    size_t count = 1, before = 1, i = 0;
    for (uint8_t byte = 0; i < length; byte++) {
      for (size_t k = 0; k < count && i < length; k++) input[i++] = byte;
      size_t next = count + before;
      before = count;
      count = next;
    }
  }
}

/* Both decompressors must give the input back, and nothing else. */
static void check_packed(size_t length, size_t packed_length, const char *what, int kind) {
  struct dump_decompressor *decompressor = dump_decompressor_create();
  uLongf zlib_length = LONGEST + 1;
  memset(output, 0xaa, sizeof output);
  check(decompressor && dump_decompress(decompressor, packed, packed_length, output, length) &&
            memcmp(input, output, length) == 0,
        "%s of kind %d, %zu bytes: wrong", what, kind, length);
  check(!dump_decompress(decompressor, packed, packed_length, output, length + 1), "%s: longer than it is", what);
  if (length) check(!dump_decompress(decompressor, packed, packed_length, output, length - 1), "%s: shorter", what);
  check(!dump_decompress(decompressor, packed, packed_length - 1, output, length), "%s: cut off", what);
  memset(output, 0xaa, sizeof output);
  check(uncompress(output, &zlib_length, packed, packed_length) == Z_OK && zlib_length == length &&
            memcmp(input, output, length) == 0,
        "%s of kind %d, %zu bytes: zlib does not read it", what, kind, length);
  dump_decompressor_free(decompressor);
}

int main(void) {
  static const size_t lengths[] = {1, 2, 3, 4, 5, 64, 100, 1000, 4096, 65536, LONGEST};
  struct dump_compressor *compressor = dump_compressor_create();
  check(compressor != NULL, "no compressor");
  for (int kind = 0; kind < KINDS && compressor; kind++) {
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
      size_t length = lengths[i];
      make_input(kind, length);
      size_t bytes = dump_compress(compressor, input, length, packed, sizeof packed);
      check(bytes > 0, "deflate of kind %d, %zu bytes: does not fit", kind, length);
      check_packed(length, bytes, "deflate", kind);
      if (bytes > 1) check(!dump_compress(compressor, input, length, packed, bytes - 1), "deflate: a smaller space");
      bytes = dump_huffman(input, length, packed, sizeof packed - HUFFMAN_SLACK_BYTES);
      check(bytes > 0, "huffman of kind %d, %zu bytes: does not fit", kind, length);
      check_packed(length, bytes, "huffman", kind);
      check(dump_huffman(input, length, packed, bytes) == bytes, "huffman: a space that is just right");
      memset(packed + bytes - 1, 0x55, HUFFMAN_SLACK_BYTES + 2);
      check(dump_huffman(input, length, packed, bytes - 1) == 0, "huffman: a smaller space");
      check(packed[bytes - 1] == 0x55, "huffman: wrote although it does not fit");
    }
  }
  /* Not much longer than what zlib makes of bytes without repetitions. */
  make_input(FEW, LONGEST);
  size_t huffman = dump_huffman(input, LONGEST, packed, sizeof packed - HUFFMAN_SLACK_BYTES);
  check(huffman * 8 < LONGEST * 3.9, "13 symbols take %.2f bits each", (double)huffman * 8 / LONGEST);
  check(checksum_crc32(0, "123456789", 9) == 0xcbf43926u, "the checksum is not CRC-32");
  check(checksum_crc32(checksum_crc32(0, "1234", 4), "56789", 5) == 0xcbf43926u, "the checksum cannot be continued");
  check(checksum_adler32("Wikipedia", 9) == 0x11e60398u, "adler32");
  dump_compressor_free(compressor);
  printf("test_compress: %s\n", check_failures ? "failed" : "ok");
  return check_result();
}
