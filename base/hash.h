/* hash.h: the hashes of everything.
**
** For tables in memory: hash_spread of a word, hash_pair of two, hash_mix to go on, hash_text of a text.  They may
** change with any release.  None but hash_text is keyed: what they guard is only speed.
**
** For what lies in files or is agreed on between processes, and so stays what it is: FNV-1a; hash_step, hash_words and
** hash_bytes (code_traces.hash is one of these).
*/
#ifndef TFPROF_HASH_H
#define TFPROF_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

/* Large odd numbers, for words that are multiplied by one each and added up. The first is 2^64 by the golden ratio. */
#define HASH_FACTOR_1 UINT64_C(0x9e3779b97f4a7c15)
#define HASH_FACTOR_2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define HASH_FACTOR_3 UINT64_C(0x165667b19e3779f9)
#define HASH_FACTOR_4 UINT64_C(0xd6e8feb86659fd93)
#define HASH_FACTOR_5 UINT64_C(0xa0761d6478bd642f)

/* ---- for tables in memory ---- */

/* 1 to 64 bits of one word (Knuth's multiplicative hashing): the upper ones, which all bits of the word move. */
static inline uint64_t hash_spread(uint64_t word, unsigned bits) { return word * HASH_FACTOR_1 >> (64 - bits); }

/* A multiplication of 64 x 64 -> 128 bits, as in wyhash (public domain, Wang Yi), and odd numbers to begin with. */
#define HASH_FIRST UINT64_C(0xa0761d6478bd642f)
#define HASH_SECOND UINT64_C(0xe7037ed1a0b428db)
#define HASH_THIRD UINT64_C(0x8ebc6af09c88c6e3)
static inline uint64_t hash_mix(uint64_t a, uint64_t b) {
  __extension__ unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}
static inline uint64_t hash_pair(uint64_t a, uint64_t b) { return hash_mix(a ^ HASH_FIRST, b ^ HASH_SECOND); }

/* Sixteen bytes at a time, the last ones overlapping. Only the machine's own order of bytes matters. Where others
** choose the texts `seed` is drawn by chance, so that nobody can make many fall into one place. */
static inline uint32_t hash_text(uint64_t seed, const char *text, size_t length) {
  uint64_t state = seed ^ HASH_FIRST ^ length, left, right;
  if (length >= 8) {
    size_t at = 0;
    for (; length - at > 16; at += 16)
      state = hash_mix(load_u64(text + at) ^ HASH_SECOND ^ seed, load_u64(text + at + 8) ^ state);
    left = load_u64(text + (length - at > 8 ? at : length - 8));
    right = load_u64(text + length - 8);
  } else if (length >= 4) {
    left = load_u32(text);
    right = load_u32(text + length - 4);
  } else {
    left = length
               ? (uint64_t)(uint8_t)text[0] << 16 | (uint64_t)(uint8_t)text[length / 2] << 8 | (uint8_t)text[length - 1]
               : 0;
    right = 0;
  }
  state = hash_mix(left ^ HASH_SECOND ^ seed, right ^ state);
  return (uint32_t)(state ^ state >> 32);
}

/* ---- FNV-1a: the same for the same bytes in every profile and on every machine ---- */

#define HASH_FNV1A_START UINT64_C(0xcbf29ce484222325)
static inline uint64_t hash_fnv1a_value(uint64_t hash, uint64_t value) {
  return (hash ^ value) * UINT64_C(0x100000001b3);
}
static inline uint64_t hash_fnv1a(uint64_t hash, const char *bytes, size_t length) {
  for (size_t i = 0; i < length; i++) hash = hash_fnv1a_value(hash, (unsigned char)bytes[i]);
  return hash;
}

/* ---- the hashes that the recorder writes: the same on machines of one byte order ---- */

#define HASH_STEP_FACTOR UINT64_C(0xff51afd7ed558ccd)
static inline uint64_t hash_step(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * HASH_STEP_FACTOR;
  return hash ^ hash >> 32;
}

/* Whole words, in two chains that the processor runs at the same time. */
static inline uint64_t hash_words(const uint64_t *words, size_t count) {
  uint64_t even = HASH_FACTOR_1 ^ count, odd = HASH_FACTOR_2;
  for (; count >= 2; count -= 2, words += 2) {
    even = hash_step(even, words[0]);
    odd = hash_step(odd, words[1]);
  }
  if (count) even = hash_step(even, words[0]);
  return hash_step(even, odd);
}

/* Any bytes, 8 at a time. */
static inline uint64_t hash_bytes(const void *bytes, size_t length) {
  const uint8_t *cursor = bytes;
  uint64_t hash = HASH_FACTOR_1 ^ length, word = 0;
  for (; length >= 8; length -= 8, cursor += 8) {
    memcpy(&word, cursor, 8);
    hash = hash_step(hash, word);
  }
  if (!length) return hash;
  word = 0;
  memcpy(&word, cursor, length);
  return hash_step(hash, word);
}

#endif
