/* huffman.h: the zlib format without its search for repetitions: each byte is replaced by a code as long as it is rare.
**
** For bytes that do not repeat but are not alike either, the high bytes of times and durations: as small as a full
** compressor makes them, at a third of its cost, and any zlib reads the result.  Without it, with deflate in its place,
** the writer takes 5 to 6 % longer for an op (71.9 and 76.1 ns, bench_dump_writer in turns) and dumps are 0.5 % larger.
*/
#ifndef TFPROF_DUMP_HUFFMAN_H
#define TFPROF_DUMP_HUFFMAN_H

#include <stddef.h>
#include <stdint.h>

enum { HUFFMAN_SLACK_BYTES = 16 }; /* that may be written past `capacity` */

/* Returns the number of bytes written, or 0 when they would be more than `capacity`.  `output` must have room for
** HUFFMAN_SLACK_BYTES more.  `length` is at least 1. */
size_t dump_huffman(const uint8_t *input, size_t length, uint8_t *output, size_t capacity);

#endif
