/* checksum.h: the CRC-32 of zlib and PNG (reflected polynomial 0xEDB88320), which may be continued: start with 0, or
** with the checksum of what came before.
*/
#ifndef TFPROF_DUMP_CHECKSUM_H
#define TFPROF_DUMP_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

uint32_t dump_checksum(uint32_t before, const void *bytes, size_t length);

#endif
