/* scratch.c: see scratch.h. */
#include "derive/scratch.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 1 << 21, HEADER_BYTES = 64 };

struct header { /* HEADER_BYTES before what the caller has */
  void *mapping;
  size_t mapping_bytes; /* 0: from malloc */
};

void *scratch_allocate(size_t bytes) {
  if (bytes > SIZE_MAX - 2 * HUGE_PAGE) return NULL;
  struct header header = {NULL, 0};
  char *memory;
  if (bytes < HUGE_PAGE) {
    header.mapping = malloc(HEADER_BYTES + bytes);
    if (!header.mapping) return NULL;
    memory = (char *)header.mapping + HEADER_BYTES;
  } else {
    header.mapping_bytes = HUGE_PAGE + bytes; /* the header's page, and what lies before a multiple of HUGE_PAGE */
    header.mapping = mmap(NULL, header.mapping_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (header.mapping == MAP_FAILED) return NULL;
    size_t skipped = HUGE_PAGE - (uintptr_t)header.mapping % HUGE_PAGE;
    memory = (char *)header.mapping + skipped;
    madvise(memory, bytes, MADV_HUGEPAGE); /* advice: without it all is as it would be, only slower */
  }
  *(struct header *)(void *)(memory - HEADER_BYTES) = header;
  return memory;
}

void scratch_free(void *memory) {
  if (!memory) return;
  struct header header = *(struct header *)(void *)((char *)memory - HEADER_BYTES);
  if (header.mapping_bytes) munmap(header.mapping, header.mapping_bytes);
  else free(header.mapping);
}
