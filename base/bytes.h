/* bytes.h: little-endian numbers and varints at any address.
**
** Every number on disk is little-endian whatever the machine; memcpy of a fixed size compiles to one load or store.
** varint_* is protobuf's base-128 encoding, at most 10 bytes for 64 bits.
*/
#ifndef TFPROF_BYTES_H
#define TFPROF_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { VARINT_MAXIMUM_BYTES = 10 };

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define BYTES_LE(bits, value) __builtin_bswap##bits(value)
#else
#define BYTES_LE(bits, value) (value)
#endif

static inline uint16_t load_u16(const void *from) {
  uint16_t value;
  memcpy(&value, from, sizeof value);
  return BYTES_LE(16, value);
}

static inline uint32_t load_u32(const void *from) {
  uint32_t value;
  memcpy(&value, from, sizeof value);
  return BYTES_LE(32, value);
}

static inline uint64_t load_u64(const void *from) {
  uint64_t value;
  memcpy(&value, from, sizeof value);
  return BYTES_LE(64, value);
}

static inline void store_u16(void *to, uint16_t value) {
  value = BYTES_LE(16, value);
  memcpy(to, &value, sizeof value);
}

static inline void store_u32(void *to, uint32_t value) {
  value = BYTES_LE(32, value);
  memcpy(to, &value, sizeof value);
}

static inline void store_u64(void *to, uint64_t value) {
  value = BYTES_LE(64, value);
  memcpy(to, &value, sizeof value);
}

/* Small magnitudes of both signs become small unsigned numbers: 0, -1, 1, -2 -> 0, 1, 2, 3. */
static inline uint64_t zigzag(int64_t value) { return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63); }
static inline int64_t unzigzag(uint64_t value) { return (int64_t)((value >> 1) ^ (0 - (value & 1))); }

/* Writes `value` and returns the byte after it; there must be room for VARINT_MAXIMUM_BYTES. */
static inline uint8_t *varint_write(uint8_t *to, uint64_t value) {
  while (value >= 0x80) {
    *to++ = (uint8_t)(value | 0x80);
    value >>= 7;
  }
  *to++ = (uint8_t)value;
  return to;
}

static inline unsigned varint_length(uint64_t value) {
  return ((unsigned)(63 - __builtin_clzll(value | 1)) * 9 + 73) / 64;
}

/* The number in a varint of eight bytes, of which only the low seven bits of each may be set. */
static inline uint64_t varint_join(uint64_t bytes) {
  bytes = (bytes & 0x7f007f007f007f00u) >> 1 | (bytes & 0x007f007f007f007fu);
  bytes = (bytes & 0x3fff00003fff0000u) >> 2 | (bytes & 0x00003fff00003fffu);
  return (bytes & 0x0fffffff00000000u) >> 4 | (bytes & 0x000000000fffffffu);
}

/* Reads a varint and returns the byte after it, or NULL when the bytes end too soon or it does not fit in 64 bits. */
static inline const uint8_t *varint_read(const uint8_t *at, const uint8_t *end, uint64_t *value) {
  uint64_t result = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at == end) return NULL;
    uint64_t byte = *at++;
    if (shift == 63 && byte > 1) return NULL;
    result |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      *value = result;
      return at;
    }
  }
  return NULL;
}

/* The same where at least eight bytes can be read, without a loop; NULL for a varint longer than eight bytes, which is
** then varint_read's. */
static inline const uint8_t *varint_read_ahead(const uint8_t *at, uint64_t *value) {
  uint64_t bytes = load_u64(at), ends = ~bytes & 0x8080808080808080u;
  if (!ends) return NULL;
  *value = varint_join(bytes & (ends ^ (ends - 1))); /* up to the first byte that ends a varint */
  return at + (__builtin_ctzll(ends) >> 3) + 1;
}

/* Any varint, where at least VARINT_MAXIMUM_BYTES can be read; NULL where it does not fit in 64 bits. */
static inline const uint8_t *varint_read_far(const uint8_t *at, uint64_t *value) {
  const uint8_t *next = varint_read_ahead(at, value);
  return next ? next : varint_read(at, at + VARINT_MAXIMUM_BYTES, value);
}

#endif
