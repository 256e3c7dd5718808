/* compress.h: bytes to the zlib format (RFC 1950) and back.
**
** Written with libdeflate where it was found when building (HAVE_LIBDEFLATE: two to three times faster), else with
** zlib; either reads what the other wrote.  A compressor or decompressor is used by one thread at a time.
*/
#ifndef TFPROF_DUMP_COMPRESS_H
#define TFPROF_DUMP_COMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dump_compressor;
struct dump_decompressor;

/* NULL when memory is short. */
struct dump_compressor *dump_compressor_create(void);
void dump_compressor_free(struct dump_compressor *compressor);
/* Returns the number of bytes written to `output`, or 0 when they do not fit in `capacity`: pass what you are willing
** to store, so that 0 means "store it as it is". */
size_t dump_compress(struct dump_compressor *compressor, const void *input, size_t length, void *output,
                     size_t capacity);

struct dump_decompressor *dump_decompressor_create(void);
void dump_decompressor_free(struct dump_decompressor *decompressor);
/* True when the whole of `input` is one stream that holds exactly `raw_length` bytes. The caller has checked raw_length
** against its own cap and dump_ratio_is_possible. */
bool dump_decompress(struct dump_decompressor *decompressor, const void *input, size_t length, void *output,
                     size_t raw_length);

/* Deflate cannot expand by more than 1032; a directory that claims more lies, and no memory need be spent on it. */
static inline bool dump_ratio_is_possible(size_t stored, size_t raw) { return raw / 1100 <= stored; }

#endif
