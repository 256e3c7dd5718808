/* gzip_pieces.h: a gzip file of one member, put together from pieces that are compressed by themselves.
**
** Each piece ends at a byte, and refers to nothing before it, so that several threads can compress one each; what lies
** between them is joined as it is.  The check sum of the whole comes from theirs.
*/
#ifndef TFPROF_GZIP_PIECES_H
#define TFPROF_GZIP_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What all pieces so far come to; {0} before the first. */
struct gzip_sum {
  uint32_t check;
  uint64_t length;
};

enum { GZIP_BEGIN_BYTES = 10, GZIP_END_BYTES = 10 };
/* What stands before the first piece. */
extern const unsigned char gzip_begin[GZIP_BEGIN_BYTES];
/* What stands behind the last one. */
void gzip_end(const struct gzip_sum *sum, unsigned char bytes[GZIP_END_BYTES]);

struct gzip_piece;

/* NULL: no memory. May be used for one piece after the other. */
struct gzip_piece *gzip_piece_new(void);
void gzip_piece_free(struct gzip_piece *piece); /* NULL is fine */
/* Appends to the piece; the last of it says so. false: no memory. */
bool gzip_piece_add(struct gzip_piece *piece, const void *bytes, size_t length, bool is_last);
/* Hands over what the piece that has ended came to, until the next one begins, and adds it to the sum. */
const unsigned char *gzip_piece_take(struct gzip_piece *piece, size_t *length, struct gzip_sum *sum);

#endif
