/* scratch.c: see scratch.h.
**
** Small pieces come from malloc.  Large ones are mappings of their own; free ones are kept in a short list, of which a
** request takes the smallest that is not much too large.  Huge pages were tried: where memory is in small pieces the
** kernel takes longer to make them than they save.
*/
#include "store/scratch.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
  HEADER_BYTES = 64,
  PIECE = 1 << 16, /* mappings are multiples of this */
  SMALLEST_MAPPING = 1 << 18,
  MOST_KEPT = 24,            /* pieces, and */
  MOST_KEPT_BYTES = 64 << 20 /* bytes that are kept for reuse */
};

struct header { /* HEADER_BYTES before what the caller has */
  size_t capacity;
  bool is_mapping;
};
_Static_assert(sizeof(struct header) <= HEADER_BYTES, "the header lies in front of the memory");

static struct {
  pthread_mutex_t lock;
  unsigned keepers, count;
  size_t bytes;
  void *pieces[MOST_KEPT]; /* as their users had them */
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct header *header_of(void *memory) { return (struct header *)(void *)((char *)memory - HEADER_BYTES); }

/* ThreadSanitizer does not know mremap, and takes what it moves for what lay there before. */
#if defined(__SANITIZE_THREAD__)
enum { CAN_MOVE = 0 };
#elif defined(__has_feature)
enum { CAN_MOVE = !__has_feature(thread_sanitizer) };
#else
enum { CAN_MOVE = 1 };
#endif

static void unmap(void *memory) {
  munmap((char *)memory - HEADER_BYTES, header_of(memory)->capacity + HEADER_BYTES);
}

static void *take_kept(size_t bytes) {
  unsigned best = MOST_KEPT;
  void *memory = NULL;
  pthread_mutex_lock(&kept.lock);
  for (unsigned i = 0; i < kept.count; i++) {
    size_t capacity = header_of(kept.pieces[i])->capacity;
    if (capacity < bytes || capacity > 2 * bytes) continue;
    if (best == MOST_KEPT || capacity < header_of(kept.pieces[best])->capacity) best = i;
  }
  if (best < MOST_KEPT) {
    memory = kept.pieces[best];
    kept.bytes -= header_of(memory)->capacity;
    kept.pieces[best] = kept.pieces[--kept.count];
  }
  pthread_mutex_unlock(&kept.lock);
  return memory;
}

static void *map(size_t bytes) {
  size_t all = (bytes + HEADER_BYTES + PIECE - 1) / PIECE * PIECE;
  char *mapping = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return NULL;
  *(struct header *)(void *)mapping = (struct header){.capacity = all - HEADER_BYTES, .is_mapping = true};
  return mapping + HEADER_BYTES;
}

void *scratch_allocate(size_t bytes) {
  if (bytes > SIZE_MAX / 8) return NULL;
  if (bytes >= SMALLEST_MAPPING) {
    void *memory = take_kept(bytes);
    return memory ? memory : map(bytes);
  }
  char *memory = malloc(HEADER_BYTES + bytes);
  if (!memory) return NULL;
  memory += HEADER_BYTES;
  *header_of(memory) = (struct header){.capacity = bytes};
  return memory;
}

void *scratch_allocate_zeroed(size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
  void *memory = scratch_allocate(bytes);
  if (memory) memset(memory, 0, bytes);
  return memory;
}

void *scratch_resize(void *memory, size_t bytes) {
  if (!memory) return scratch_allocate(bytes);
  size_t capacity = header_of(memory)->capacity;
  if (bytes <= capacity && bytes >= capacity / 2) return memory;
  if (CAN_MOVE && header_of(memory)->is_mapping && bytes >= SMALLEST_MAPPING && bytes <= SIZE_MAX / 8) {
    size_t all = (bytes + HEADER_BYTES + PIECE - 1) / PIECE * PIECE;
    char *mapping = mremap((char *)memory - HEADER_BYTES, capacity + HEADER_BYTES, all, MREMAP_MAYMOVE);
    if (mapping == MAP_FAILED) return NULL;
    ((struct header *)(void *)mapping)->capacity = all - HEADER_BYTES;
    return mapping + HEADER_BYTES;
  }
  void *other = scratch_allocate(bytes);
  if (!other) return NULL;
  memcpy(other, memory, bytes < capacity ? bytes : capacity);
  scratch_free(memory);
  return other;
}

void *scratch_grow(void *items, uint32_t count, uint32_t *capacity, uint32_t least, size_t size) {
  if (count < *capacity) return items;
  uint32_t larger = *capacity ? *capacity * 2 : least;
  void *grown = scratch_resize(items, (size_t)larger * size);
  if (grown) *capacity = larger;
  return grown;
}

void scratch_free(void *memory) {
  if (!memory) return;
  if (!header_of(memory)->is_mapping) {
    free((char *)memory - HEADER_BYTES);
    return;
  }
  size_t capacity = header_of(memory)->capacity;
  pthread_mutex_lock(&kept.lock);
  bool is_kept = kept.keepers && kept.count < MOST_KEPT && kept.bytes + capacity <= MOST_KEPT_BYTES;
  if (is_kept) {
    kept.pieces[kept.count++] = memory;
    kept.bytes += capacity;
  }
  pthread_mutex_unlock(&kept.lock);
  if (!is_kept) unmap(memory);
}

void scratch_keep(void) {
  pthread_mutex_lock(&kept.lock);
  kept.keepers++;
  pthread_mutex_unlock(&kept.lock);
}

void scratch_return(void) {
  pthread_mutex_lock(&kept.lock);
  if (--kept.keepers == 0) {
    while (kept.count) unmap(kept.pieces[--kept.count]);
    kept.bytes = 0;
  }
  pthread_mutex_unlock(&kept.lock);
}
