/* gzip_pieces.c: see gzip_pieces.h.  The format of the file is that of RFC 1952, its blocks those of RFC 1951; that a
** piece ends at a byte is zlib's Z_SYNC_FLUSH.  Of a timeline the highest level that does not look for a longer match
** behind each that it has found (3) makes 15 to 29 % more bytes than the usual one in half the time.
*/
#include "write/gzip_pieces.h"

#include "base/list.h"

#include <stdlib.h>
#include <zlib.h>

enum { LEVEL = 3, RAW_BLOCKS = -15, MEMORY = 8, LARGEST_STEP = 1 << 30, ROOM = 1 << 16 };

struct gzip_piece {
  z_stream stream;
  unsigned char *bytes;
  size_t length, capacity;
  struct gzip_sum sum;
  bool has_ended;
};

/* Deflate, without a name, a time or an operating system. */
const unsigned char gzip_begin[GZIP_BEGIN_BYTES] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};

static unsigned char *put_32(unsigned char *at, uint32_t number) {
  for (unsigned i = 0; i < 4; i++) *at++ = (unsigned char)(number >> 8 * i);
  return at;
}

void gzip_end(const struct gzip_sum *sum, unsigned char bytes[GZIP_END_BYTES]) {
  bytes[0] = 3; /* the last block, which is empty */
  bytes[1] = 0;
  put_32(put_32(bytes + 2, sum->check), (uint32_t)sum->length);
}

struct gzip_piece *gzip_piece_new(void) {
  struct gzip_piece *piece = calloc(1, sizeof *piece);
  if (piece && deflateInit2(&piece->stream, LEVEL, Z_DEFLATED, RAW_BLOCKS, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) {
    free(piece);
    return NULL;
  }
  return piece;
}

void gzip_piece_free(struct gzip_piece *piece) {
  if (!piece) return;
  deflateEnd(&piece->stream);
  free(piece->bytes);
  free(piece);
}

/* Compresses what the stream has, until it has room left when it is done. */
static bool deflate_all(struct gzip_piece *piece, int flush) {
  do {
    if (!array_reserve(piece->bytes, piece->capacity, piece->length + ROOM)) return false;
    size_t room = piece->capacity - piece->length;
    piece->stream.next_out = piece->bytes + piece->length;
    piece->stream.avail_out = room < LARGEST_STEP ? (uInt)room : LARGEST_STEP;
    room = piece->stream.avail_out;
    deflate(&piece->stream, flush);
    piece->length += room - piece->stream.avail_out;
  } while (piece->stream.avail_out == 0);
  return true;
}

static void begin_anew(struct gzip_piece *piece) {
  deflateReset(&piece->stream);
  piece->length = 0;
  piece->sum = (struct gzip_sum){0};
  piece->has_ended = false;
}

bool gzip_piece_add(struct gzip_piece *piece, const void *bytes, size_t length, bool is_last) {
  const unsigned char *at = bytes;
  if (piece->has_ended) begin_anew(piece);
  do {
    uInt step = length < LARGEST_STEP ? (uInt)length : LARGEST_STEP;
    length -= step;
    piece->sum.check = (uint32_t)crc32(piece->sum.check, at, step);
    piece->sum.length += step;
    piece->stream.next_in = (unsigned char *)at;
    piece->stream.avail_in = step;
    if (!deflate_all(piece, is_last && !length ? Z_SYNC_FLUSH : Z_NO_FLUSH)) return false;
    if (step) at += step; /* at may be null where there is nothing to add */
  } while (length);
  piece->has_ended = is_last;
  return true;
}

const unsigned char *gzip_piece_take(struct gzip_piece *piece, size_t *length, struct gzip_sum *sum) {
  sum->check = (uint32_t)crc32_combine(sum->check, piece->sum.check, (z_off_t)piece->sum.length);
  sum->length += piece->sum.length;
  *length = piece->length;
  return piece->bytes;
}
