/* scratch.c: see scratch.h.
**
** Small pieces come from malloc.  Large ones are mappings of their own; free ones are kept in a short list, of which a
** request takes the smallest that is large enough, less what it does not need, or else the largest, which is made
** longer: either way it gets pages that are there.  Huge pages were tried: where memory is in small pieces the kernel
** takes longer to make them than they save.
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
  MOST_KEPT = 48,            /* pieces, and */
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

static size_t mapping_of(size_t bytes) { return (bytes + HEADER_BYTES + PIECE - 1) / PIECE * PIECE; }

/* `all` bytes, which begin with a header that says so. */
static void *begin_mapping(char *mapping, size_t all) {
  *(struct header *)(void *)mapping = (struct header){.capacity = all - HEADER_BYTES, .is_mapping = true};
  return mapping + HEADER_BYTES;
}

/* NULL: no memory; the piece stays as it was. */
static void *lengthen(void *memory, size_t bytes) {
  size_t all = mapping_of(bytes);
  char *mapping = (char *)memory - HEADER_BYTES;
  mapping = mremap(mapping, header_of(memory)->capacity + HEADER_BYTES, all, MREMAP_MAYMOVE);
  return mapping == MAP_FAILED ? NULL : begin_mapping(mapping, all);
}

/* With the lock: the kept piece that suits best, and of the others the largest; MOST_KEPT: none. */
static unsigned find_kept(size_t bytes) {
  unsigned best = MOST_KEPT;
  for (unsigned i = 0; i < kept.count; i++) {
    size_t capacity = header_of(kept.pieces[i])->capacity;
    size_t found = best == MOST_KEPT ? 0 : header_of(kept.pieces[best])->capacity;
    if (found >= bytes ? capacity >= bytes && capacity < found : capacity > found) best = i;
  }
  return best;
}

static void *take_kept(size_t bytes) {
  void *memory = NULL;
  pthread_mutex_lock(&kept.lock);
  unsigned at = find_kept(bytes);
  if (at < MOST_KEPT && (CAN_MOVE || header_of(kept.pieces[at])->capacity >= bytes)) {
    memory = kept.pieces[at];
    kept.bytes -= header_of(memory)->capacity;
    size_t all = header_of(memory)->capacity + HEADER_BYTES, used = mapping_of(bytes);
    if (all >= used + SMALLEST_MAPPING) { /* the rest stays */
      begin_mapping((char *)memory - HEADER_BYTES, used);
      kept.pieces[at] = begin_mapping((char *)memory - HEADER_BYTES + used, all - used);
      kept.bytes += all - used - HEADER_BYTES;
    } else {
      kept.pieces[at] = kept.pieces[--kept.count];
    }
  }
  pthread_mutex_unlock(&kept.lock);
  if (!memory || header_of(memory)->capacity >= bytes) return memory;
  void *longer = lengthen(memory, bytes);
  if (!longer) unmap(memory);
  return longer;
}

static void *map(size_t bytes) {
  size_t all = mapping_of(bytes);
  char *mapping = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return mapping == MAP_FAILED ? NULL : begin_mapping(mapping, all);
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
  bool is_large = bytes >= SMALLEST_MAPPING && bytes <= SIZE_MAX / 8;
  if (CAN_MOVE && header_of(memory)->is_mapping && is_large) return lengthen(memory, bytes);
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
