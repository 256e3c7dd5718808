/* column_codec.h: one column of one frame to a block and back.
**
** A block is, in this order: a null bitmap (when there are nulls), the encoded non-null values, and the low bytes.  The
** first two together are compressed when that makes them smaller; the low bytes (low_width planes of one byte for each
** non-null value) are what no compressor can shorten, the nanoseconds of a clock, and are stored as they are.
**
** Private to the dump codec.
*/
#ifndef TFPROF_DUMP_COLUMN_CODEC_H
#define TFPROF_DUMP_COLUMN_CODEC_H

#include "dump/compress.h"
#include "dump/reader.h"

/* How the first part of a block is made smaller; the last two are the same to a reader. */
enum column_packing { PACKED_NOT, PACKED_HUFFMAN, PACKED_DEFLATE };

/* What served a column best so far. The encoder tries all that might do on some frames, ever more rarely, and repeats
** the best between. Start with all zero. */
struct column_choice {
  uint8_t encoding, low_width, packing;
  uint16_t frames_until_trial, period;
};

struct column_encoder;

struct column_encoder *column_encoder_create(void);
void column_encoder_free(struct column_encoder *encoder);

/* Encodes `rows` rows. Fills `block` except for its offset, and *bytes (block->stored_bytes long), which stay valid
** until the next call. *is_absent: all rows are null and there is no block. Fails only for want of memory. */
enum tfprof_status column_encode(struct column_encoder *encoder, const struct dump_column_data *column, uint32_t rows,
                                 struct column_choice *choice, struct dump_block *block, const uint8_t **bytes,
                                 bool *is_absent);
/* The same for bytes without rows: DUMP_BYTES. */
enum tfprof_status column_encode_bytes(struct column_encoder *encoder, const uint8_t *input, uint32_t length,
                                       uint16_t dump_id, struct dump_block *block, const uint8_t **bytes);

struct column_decoder {
  struct dump_decompressor *decompressor;
  uint8_t *raw;
  size_t capacity;
};

/* `decoder` starts as all zero. */
void column_decoder_clear(struct column_decoder *decoder);
/* Decodes a block from its stored bytes; values and nulls as for dump_block_decode. The checksum is checked. On
** TFPROF_CORRUPT and TFPROF_VERSION *wrong says what is wrong. */
enum tfprof_status column_decode(struct column_decoder *decoder, const struct dump_block *block, const uint8_t *stored,
                                 uint32_t rows, void *output, uint64_t *nulls, const char **wrong);
/* A DUMP_BYTES block: *bytes is block->raw_bytes long and valid until the next call. */
enum tfprof_status column_decode_bytes(struct column_decoder *decoder, const struct dump_block *block,
                                       const uint8_t *stored, const uint8_t **bytes, const char **wrong);

#endif
