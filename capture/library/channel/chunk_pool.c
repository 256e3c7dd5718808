/* chunk_pool.c: a fixed region of chunks with a bit map of those in use (see chunk_pool.h). */
#include "chunk_pool.h"

#include <stddef.h>
#include <sys/mman.h>

enum {
  KEPT_CHUNKS = 64, /* 4 MiB stay resident between bursts */
};
_Static_assert(sizeof(struct chunk) == CHUNK_SIZE && offsetof(struct chunk, bytes) == CHUNK_HEADER,
               "header and bytes fill a chunk");

static struct chunk *region;
static unsigned chunk_count, word_count;
static _Atomic uint64_t in_use[CHUNK_COUNT_MAXIMUM / 64];
/* Chunks given out since the last trim; written only by chunk_release, i.e. the writer thread. */
static uint64_t touched[CHUNK_COUNT_MAXIMUM / 64];

bool chunk_pool_begin(uint64_t bytes) {
  if (region) return true;
  uint64_t count = bytes / CHUNK_SIZE;
  if (count < CHUNK_COUNT_MINIMUM) count = CHUNK_COUNT_MINIMUM;
  if (count > CHUNK_COUNT_MAXIMUM) count = CHUNK_COUNT_MAXIMUM;
  void *memory = mmap(NULL, (size_t)count * CHUNK_SIZE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  madvise(memory, (size_t)count * CHUNK_SIZE, MADV_WIPEONFORK); /* no child reads what its parent wrote */
  region = memory;
  chunk_count = (unsigned)count;
  word_count = (chunk_count + 63) / 64;
  chunk_pool_reset();
  return true;
}

void chunk_pool_reset(void) {
  for (unsigned word = 0; word < word_count; word++) {
    unsigned left = chunk_count - word * 64; /* what the last word has beyond the region is in use for ever */
    atomic_store_explicit(&in_use[word], left < 64 ? ~0ull << left : 0, memory_order_relaxed);
  }
}

/* The lowest free chunk is taken, so that few different pages are in use. */
struct chunk *chunk_acquire(void) {
  for (unsigned word = 0; word < word_count; word++) {
    uint64_t bits = atomic_load_explicit(&in_use[word], memory_order_relaxed);
    while (~bits) {
      uint64_t bit = ~bits & (bits + 1); /* the lowest zero */
      if (!atomic_compare_exchange_weak_explicit(&in_use[word], &bits, bits | bit, memory_order_acquire,
                                                 memory_order_relaxed))
        continue;
      struct chunk *chunk = region + (size_t)word * 64 + __builtin_ctzll(bit);
      atomic_store_explicit(&chunk->next, NULL, memory_order_relaxed);
      atomic_store_explicit(&chunk->used, 0, memory_order_relaxed);
      return chunk;
    }
  }
  return NULL;
}

void chunk_release(struct chunk *chunk) {
  size_t index = (size_t)(chunk - region);
  touched[index / 64] |= 1ull << index % 64;
  atomic_fetch_and_explicit(&in_use[index / 64], ~(1ull << index % 64), memory_order_release);
}

/* The lowest free one was taken. */
bool chunk_is_in_upper_half(const struct chunk *chunk) { return (size_t)(chunk - region) >= chunk_count / 2; }

void chunk_pool_trim(void) {
  for (size_t index = KEPT_CHUNKS; index < chunk_count; index++) {
    uint64_t bit = 1ull << index % 64;
    if (!(touched[index / 64] & bit)) continue;
    uint64_t before = atomic_fetch_or_explicit(&in_use[index / 64], bit, memory_order_acquire);
    if (before & bit) continue; /* a thread has it */
    madvise(region + index, CHUNK_SIZE, MADV_DONTNEED);
    touched[index / 64] &= ~bit;
    atomic_fetch_and_explicit(&in_use[index / 64], ~bit, memory_order_release);
  }
}

unsigned chunk_pool_used(void) {
  unsigned count = 0;
  for (unsigned word = 0; word < word_count; word++)
    count += (unsigned)__builtin_popcountll(atomic_load(&in_use[word]));
  return count - (word_count * 64 - chunk_count);
}
