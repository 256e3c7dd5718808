/* inflate.h: gzip decompression that can be stopped, copied and gone on with.
**
** One interface over two libraries: ISA-L where built with it (TFPROF_HAVE_ISAL), else zlib.  Measured on 500 MB of
** trace JSON (tests/bench/bench_json inflate): ISA-L 2.0-2.5 GB/s with checksum, libdeflate 1.7-1.9 GB/s but only whole
** files at once, zlib 0.7 GB/s.  zlib-ng is not packaged in Debian 12.
*/
#ifndef TFPROF_INFLATE_H
#define TFPROF_INFLATE_H

#include <stddef.h>
#include <stdint.h>

struct inflater;

enum inflater_status {
  INFLATER_MORE,    /* input or output is used up */
  INFLATER_END,     /* the member ended and its checksum is right */
  INFLATER_DAMAGED,
};

struct inflater *inflater_create(void); /* NULL: no memory */
/* An independent copy in the same state, as small as it can be kept. NULL: no memory. */
struct inflater *inflater_copy(const struct inflater *inflater);
void inflater_free(struct inflater *inflater);
/* For the next member. */
void inflater_reset(struct inflater *inflater);
/* Moves *in and *out forward by what was used and made. *in may also go back, by up to INFLATER_GIVES_BACK bytes, into
** what earlier calls were given: so many bytes before *in must be those that came before it. */
enum { INFLATER_GIVES_BACK = 16 };
enum inflater_status inflater_step(struct inflater *inflater, const uint8_t **in, size_t *in_length, uint8_t **out,
                                   size_t *out_length);

#endif
