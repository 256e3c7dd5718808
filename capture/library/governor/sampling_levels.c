/* sampling_levels.c: see sampling_levels.h. */
#include "sampling_levels.h"

#include "base/hash.h"

/* MurmurHash3's finaliser: each bit of the number moves each bit of the hash. */
static uint64_t mix(uint64_t number) {
  number = (number ^ number >> 33) * 0xff51afd7ed558ccdu; /* ranks agree on it */
  number = (number ^ number >> 33) * 0xc4ceb9fe1a85ec53u;
  return number ^ number >> 33;
}

uint64_t sampling_seed_of(const char *job) {
  return mix(hash_fnv1a(HASH_FNV1A_START, job, strlen(job)));
}

unsigned sampling_level_of(uint64_t seed, uint64_t step) {
  unsigned level = 1;
  for (; level <= LEVEL_MAXIMUM; level++) {
    uint64_t block = step >> level, half = step >> (level - 1) & 1;
    if ((mix(mix(seed + level) + block) & 1) != half) break;
  }
  return level - 1;
}

unsigned sampling_block_level(uint64_t step) {
  unsigned level = 0;
  while (level < LEVEL_MAXIMUM && !(step >> level & 1)) level++;
  return level;
}
