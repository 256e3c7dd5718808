/* checksum.h: the two checksums of zlib, by libdeflate where it was found when building. */
#ifndef TFPROF_CHECKSUM_H
#define TFPROF_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* The CRC-32 of zlib and PNG (reflected polynomial 0xEDB88320), which may be continued: start with 0, or with the
** checksum of what came before. */
uint32_t checksum_crc32(uint32_t before, const void *bytes, size_t length);
/* Adler-32, which ends a zlib stream. */
uint32_t checksum_adler32(const void *bytes, size_t length);

#endif
