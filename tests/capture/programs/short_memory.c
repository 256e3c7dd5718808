/* short_memory.c: to be loaded first (LD_PRELOAD): malloc, calloc and realloc fail for callers in one library, one time
** in so many, by a fixed sequence of chance.  FAIL_IN is the end of the library's name, FAIL_ONE_IN the number with
** which it begins (0: none fails); the program changes it by fail_one_in().
*/
#define _GNU_SOURCE
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t bytes), *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);

static _Atomic int one_in = -1; /* -1: the environment has not been read */
static _Atomic unsigned long failed;
static _Atomic unsigned long long state = 12345;
static _Atomic unsigned long begin, end; /* of the library's code */
static _Thread_local int is_looking;

void fail_one_in(int number) { one_in = number; }
unsigned long failed_allocations(void) { return failed; }

static int look(struct dl_phdr_info *library, size_t size, void *name) {
  (void)size;
  size_t length = strlen(library->dlpi_name), wanted = strlen(name);
  if (length < wanted || strcmp(library->dlpi_name + length - wanted, name)) return 0;
  for (int i = 0; i < library->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &library->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X)) continue;
    begin = library->dlpi_addr + segment->p_vaddr;
    end = begin + segment->p_memsz;
  }
  return 1;
}

static int fails(void *caller) {
  static _Atomic unsigned looks;
  if (one_in < 0) {
    const char *text = getenv("FAIL_ONE_IN");
    one_in = text ? atoi(text) : 0;
  }
  if (!one_in || is_looking) return 0;
  if (!end && looks++ % 512 == 0) { /* it is loaded later */
    is_looking = 1;
    dl_iterate_phdr(look, getenv("FAIL_IN"));
    is_looking = 0;
  }
  if (!end || (unsigned long)caller < begin || (unsigned long)caller >= end) return 0;
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  if ((state >> 33) % (unsigned)one_in) return 0;
  failed++;
  return 1;
}

void *malloc(size_t bytes) { return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, bytes);
}
void *realloc(void *memory, size_t bytes) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, bytes);
}
