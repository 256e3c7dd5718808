/* checksum.c: see checksum.h. */
#include "base/checksum.h"

#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>

uint32_t checksum_crc32(uint32_t before, const void *bytes, size_t length) {
  return libdeflate_crc32(before, bytes, length);
}

uint32_t checksum_adler32(const void *bytes, size_t length) { return libdeflate_adler32(1, bytes, length); }

#else
#include <zlib.h>

uint32_t checksum_crc32(uint32_t before, const void *bytes, size_t length) {
  return (uint32_t)crc32_z(before, bytes, length);
}

uint32_t checksum_adler32(const void *bytes, size_t length) { return (uint32_t)adler32_z(1, bytes, length); }

#endif
