/* hash.h: the hashes of the readers: one for tables in memory, one that files and machines agree on. */
#ifndef TFPROF_READ_ROWS_HASH_H
#define TFPROF_READ_ROWS_HASH_H

#include <stddef.h>
#include <stdint.h>

/* A multiplication of 64 x 64 -> 128 bits, as in wyhash (public domain, Wang Yi), and odd numbers to begin with. Not
** keyed: what it guards is only speed. */
#define HASH_FIRST UINT64_C(0xa0761d6478bd642f)
#define HASH_SECOND UINT64_C(0xe7037ed1a0b428db)
#define HASH_THIRD UINT64_C(0x8ebc6af09c88c6e3)
static inline uint64_t hash_mix(uint64_t a, uint64_t b) {
  __extension__ unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}
static inline uint64_t hash_pair(uint64_t a, uint64_t b) { return hash_mix(a ^ HASH_FIRST, b ^ HASH_SECOND); }

/* FNV-1a: the same for the same bytes in every profile and on every machine. */
#define HASH_FNV1A_START UINT64_C(0xcbf29ce484222325)
static inline uint64_t hash_fnv1a_value(uint64_t hash, uint64_t value) {
  return (hash ^ value) * UINT64_C(0x100000001b3);
}
static inline uint64_t hash_fnv1a(uint64_t hash, const char *bytes, size_t length) {
  for (size_t i = 0; i < length; i++) hash = hash_fnv1a_value(hash, (unsigned char)bytes[i]);
  return hash;
}

#endif
