/* store_check.h: what the tests of the store share: checks, a random number, and allocations that fail.
**
** Include it in one file of a program only.  fail_allocation_after(n) lets n allocations pass and all later ones fail
** until it is called with -1; with sanitizers, whose allocator cannot be replaced, can_fail_allocations is false and
** nothing fails.
*/
#ifndef TFPROF_STORE_CHECK_H
#define TFPROF_STORE_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static uint64_t check_random_state = 88172645463325252u;

__attribute__((unused)) static uint64_t check_random(uint64_t bound) { /* xorshift */
  uint64_t x = check_random_state;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  check_random_state = x;
  return bound ? x % bound : x;
}

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) ||               \
    __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer) || !defined(__GLIBC__)
static const bool can_fail_allocations = false;
__attribute__((unused)) static void fail_allocation_after(long count) { (void)count; }
#else
static const bool can_fail_allocations = true;
static long allocations_left = -1; /* -1: without end */

__attribute__((unused)) static void fail_allocation_after(long count) {
  __atomic_store_n(&allocations_left, count, __ATOMIC_RELAXED);
}

static bool may_allocate(void) {
  long left = __atomic_load_n(&allocations_left, __ATOMIC_RELAXED);
  if (left < 0) return true;
  if (left == 0) return false;
  return __atomic_fetch_sub(&allocations_left, 1, __ATOMIC_RELAXED) > 0;
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *pointer, size_t size);
void *malloc(size_t size) { return may_allocate() ? __libc_malloc(size) : NULL; }
void *calloc(size_t count, size_t size) { return may_allocate() ? __libc_calloc(count, size) : NULL; }
void *realloc(void *pointer, size_t size) { return may_allocate() ? __libc_realloc(pointer, size) : NULL; }
#endif

#endif
