/* compress.c: see compress.h. */
#include "dump/compress.h"

#include <stdlib.h>

/* Level 1: the writer shares the processor with the program that it records, and higher levels gain under 5 % on
** columns. */
enum { COMPRESSION_LEVEL = 1 };

#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>

struct dump_compressor {
  struct libdeflate_compressor *state;
};

struct dump_decompressor {
  struct libdeflate_decompressor *state;
};

struct dump_compressor *dump_compressor_create(void) {
  struct dump_compressor *compressor = malloc(sizeof *compressor);
  if (!compressor) return NULL;
  compressor->state = libdeflate_alloc_compressor(COMPRESSION_LEVEL);
  if (!compressor->state) {
    free(compressor);
    return NULL;
  }
  return compressor;
}

void dump_compressor_free(struct dump_compressor *compressor) {
  if (!compressor) return;
  libdeflate_free_compressor(compressor->state);
  free(compressor);
}

size_t dump_compress(struct dump_compressor *compressor, const void *input, size_t length, void *output,
                     size_t capacity) {
  return libdeflate_zlib_compress(compressor->state, input, length, output, capacity);
}

struct dump_decompressor *dump_decompressor_create(void) {
  struct dump_decompressor *decompressor = malloc(sizeof *decompressor);
  if (!decompressor) return NULL;
  decompressor->state = libdeflate_alloc_decompressor();
  if (!decompressor->state) {
    free(decompressor);
    return NULL;
  }
  return decompressor;
}

void dump_decompressor_free(struct dump_decompressor *decompressor) {
  if (!decompressor) return;
  libdeflate_free_decompressor(decompressor->state);
  free(decompressor);
}

bool dump_decompress(struct dump_decompressor *decompressor, const void *input, size_t length, void *output,
                     size_t raw_length) {
  size_t used = 0;
  /* Without an output count libdeflate demands that the output is filled exactly. */
  return libdeflate_zlib_decompress_ex(decompressor->state, input, length, output, raw_length, &used, NULL) ==
             LIBDEFLATE_SUCCESS &&
         used == length;
}

#else
#include <zlib.h>

struct dump_compressor {
  z_stream stream;
};

struct dump_decompressor {
  z_stream stream;
};

struct dump_compressor *dump_compressor_create(void) {
  struct dump_compressor *compressor = calloc(1, sizeof *compressor);
  if (!compressor) return NULL;
  if (deflateInit(&compressor->stream, COMPRESSION_LEVEL) != Z_OK) {
    free(compressor);
    return NULL;
  }
  return compressor;
}

void dump_compressor_free(struct dump_compressor *compressor) {
  if (!compressor) return;
  deflateEnd(&compressor->stream);
  free(compressor);
}

size_t dump_compress(struct dump_compressor *compressor, const void *input, size_t length, void *output,
                     size_t capacity) {
  z_stream *stream = &compressor->stream;
  if (length > UINT32_MAX || capacity > UINT32_MAX || deflateReset(stream) != Z_OK) return 0;
  stream->next_in = (Bytef *)(uintptr_t)input; /* zlib's own type is not const */
  stream->avail_in = (uInt)length;
  stream->next_out = output;
  stream->avail_out = (uInt)capacity;
  return deflate(stream, Z_FINISH) == Z_STREAM_END ? capacity - stream->avail_out : 0;
}

struct dump_decompressor *dump_decompressor_create(void) {
  struct dump_decompressor *decompressor = calloc(1, sizeof *decompressor);
  if (!decompressor) return NULL;
  if (inflateInit(&decompressor->stream) != Z_OK) {
    free(decompressor);
    return NULL;
  }
  return decompressor;
}

void dump_decompressor_free(struct dump_decompressor *decompressor) {
  if (!decompressor) return;
  inflateEnd(&decompressor->stream);
  free(decompressor);
}

bool dump_decompress(struct dump_decompressor *decompressor, const void *input, size_t length, void *output,
                     size_t raw_length) {
  z_stream *stream = &decompressor->stream;
  uint8_t nothing;
  if (length > UINT32_MAX || raw_length > UINT32_MAX || inflateReset(stream) != Z_OK) return false;
  stream->next_in = (Bytef *)(uintptr_t)input;
  stream->avail_in = (uInt)length;
  stream->next_out = raw_length ? output : &nothing;
  stream->avail_out = (uInt)raw_length;
  return inflate(stream, Z_FINISH) == Z_STREAM_END && stream->avail_in == 0 && stream->avail_out == 0;
}

#endif
