/* chunk_pool.c: a fixed region of chunks with a bit map of those in use (see chunk_pool.h). */
#include "chunk_pool.h"

#include <stddef.h>
#include <sys/mman.h>

enum {
  KEPT_CHUNKS = 64, /* 4 MiB stay resident between bursts */
};
_Static_assert(sizeof(struct chunk) == 64, "a cache line");

static uint8_t *region;
static struct chunk *chunks; /* of the parts of `region` */
static unsigned chunk_count, word_count, shared_count; /* shared_count: beside one for each thread */
enum { WORDS = (CHUNK_COUNT_MAXIMUM + CHUNK_HOLDERS) / 64 };
static _Atomic uint64_t in_use[WORDS];
static _Atomic uint32_t taken, holders; /* chunks in use, threads that have one */
/* Chunks given out since the last trim; written only by chunk_release, i.e. the writer thread. */
static uint64_t touched[WORDS];

bool chunk_pool_begin(uint64_t bytes) {
  if (region) return true;
  uint64_t count = bytes / CHUNK_SIZE;
  if (count < CHUNK_COUNT_MINIMUM) count = CHUNK_COUNT_MINIMUM;
  if (count > CHUNK_COUNT_MAXIMUM) count = CHUNK_COUNT_MAXIMUM;
  shared_count = (unsigned)count;
  count += CHUNK_HOLDERS;
  size_t size = (size_t)count * (CHUNK_SIZE + sizeof *chunks);
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  madvise(memory, size, MADV_WIPEONFORK); /* no child reads what its parent wrote */
  madvise(memory, size, MADV_NOHUGEPAGE); /* one would be there as a whole once a byte of it is touched */
  region = memory;
  chunks = (struct chunk *)(void *)(region + (size_t)count * CHUNK_SIZE);
  chunk_count = (unsigned)count;
  word_count = (chunk_count + 63) / 64;
  chunk_pool_reset();
  return true;
}

void chunk_pool_reset(void) {
  atomic_store(&taken, 0);
  atomic_store(&holders, 0);
  for (unsigned word = 0; word < word_count; word++) {
    unsigned left = chunk_count - word * 64; /* what the last word has beyond the region is in use for ever */
    atomic_store_explicit(&in_use[word], left < 64 ? ~0ull << left : 0, memory_order_relaxed);
  }
}

static uint32_t shared_in_use(void) {
  uint32_t all = atomic_load_explicit(&taken, memory_order_relaxed);
  uint32_t own = atomic_load_explicit(&holders, memory_order_relaxed);
  return all > own ? all - own : 0;
}

/* The lowest free chunk is taken, so that few different pages are in use. */
struct chunk *chunk_acquire(bool is_first) {
  if (!is_first && shared_in_use() >= shared_count) return NULL;
  for (unsigned word = 0; word < word_count; word++) {
    uint64_t bits = atomic_load_explicit(&in_use[word], memory_order_relaxed);
    while (~bits) {
      uint64_t bit = ~bits & (bits + 1); /* the lowest zero */
      if (!atomic_compare_exchange_weak_explicit(&in_use[word], &bits, bits | bit, memory_order_acquire,
                                                 memory_order_relaxed))
        continue;
      size_t index = (size_t)word * 64 + (size_t)__builtin_ctzll(bit);
      struct chunk *chunk = &chunks[index];
      chunk->bytes = region + index * CHUNK_SIZE;
      atomic_fetch_add_explicit(&taken, 1, memory_order_relaxed);
      if (is_first) atomic_fetch_add_explicit(&holders, 1, memory_order_relaxed);
      atomic_store_explicit(&chunk->next, NULL, memory_order_relaxed);
      atomic_store_explicit(&chunk->used, 0, memory_order_relaxed);
      return chunk;
    }
  }
  return NULL;
}

void chunk_release(struct chunk *chunk, bool is_last) {
  atomic_fetch_sub_explicit(&taken, 1, memory_order_relaxed);
  if (is_last) atomic_fetch_sub_explicit(&holders, 1, memory_order_relaxed);
  size_t index = (size_t)(chunk - chunks);
  touched[index / 64] |= 1ull << index % 64;
  atomic_fetch_and_explicit(&in_use[index / 64], ~(1ull << index % 64), memory_order_release);
}

bool chunk_pool_is_half_full(void) { return shared_in_use() >= shared_count / 2; }

void chunk_trim(struct chunk *chunk, uint32_t read) {
  enum { PAGE = 4096 };
  if (read >= PAGE) madvise(chunk->bytes, (size_t)read / PAGE * PAGE, MADV_DONTNEED);
}

void chunk_pool_trim(void) {
  for (size_t index = KEPT_CHUNKS; index < chunk_count; index++) {
    uint64_t bit = 1ull << index % 64;
    if (!(touched[index / 64] & bit)) continue;
    uint64_t before = atomic_fetch_or_explicit(&in_use[index / 64], bit, memory_order_acquire);
    if (before & bit) continue; /* a thread has it */
    madvise(region + index * CHUNK_SIZE, CHUNK_SIZE, MADV_DONTNEED);
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
