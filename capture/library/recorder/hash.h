/* hash.h: hashes of bytes and of words, for tables and draws. hash_bytes() is in the file (code_traces.hash): it stays
** what it is.
*/
#ifndef TFPROF_CAPTURE_HASH_H
#define TFPROF_CAPTURE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t hash_mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0xff51afd7ed558ccdu;
  return hash ^ hash >> 32;
}

/* Whole words, in two chains that the processor runs at the same time. */
static inline uint64_t hash_words(const uint64_t *words, size_t count) {
  uint64_t even = 0x9e3779b97f4a7c15u ^ count, odd = 0xc2b2ae3d27d4eb4fu;
  for (; count >= 2; count -= 2, words += 2) {
    even = hash_mix(even, words[0]);
    odd = hash_mix(odd, words[1]);
  }
  if (count) even = hash_mix(even, words[0]);
  return hash_mix(even, odd);
}

/* Any bytes, 8 at a time. */
static inline uint64_t hash_bytes(const void *bytes, size_t length) {
  const uint8_t *cursor = bytes;
  uint64_t hash = 0x9e3779b97f4a7c15u ^ length, word = 0;
  for (; length >= 8; length -= 8, cursor += 8) {
    memcpy(&word, cursor, 8);
    hash = hash_mix(hash, word);
  }
  if (!length) return hash;
  word = 0;
  memcpy(&word, cursor, length);
  return hash_mix(hash, word);
}

#endif
