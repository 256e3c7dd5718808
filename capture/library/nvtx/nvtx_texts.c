/* nvtx_texts.c: see nvtx_texts.h.  The table is of its own: any thread adds without a lock, so places are atomic, and
** it never grows. */
#include "nvtx_texts.h"

#include "base/hash.h"
#include "steps/step_words.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <wchar.h>

enum { SLOTS = 1 << 19, PROBES = 64, MAGIC = 0x7478744e };

static uint8_t *region; /* texts, at multiples of 8 bytes */
static _Atomic uint32_t used = 8; /* a text's number is its place in units of 8 bytes, which is not 0 */
static _Atomic uint32_t *slots;
static uint32_t other, unnamed;
_Atomic uint64_t nvtx_texts_cut, nvtx_texts_refused;

const struct nvtx_text *nvtx_text(uint32_t number) {
  return (const struct nvtx_text *)(const void *)(region + (size_t)number * 8);
}

uint32_t nvtx_text_number_of_handle(const void *handle) {
  uintptr_t place = (uintptr_t)handle - (uintptr_t)region;
  if (!region || place % 8 || place < 8 || place >= atomic_load_explicit(&used, memory_order_relaxed)) return 0;
  return ((const struct nvtx_text *)handle)->magic == MAGIC ? (uint32_t)(place / 8) : 0;
}

/* ---- The table. */

static bool is_same(const struct nvtx_text *text, uint32_t hash, const char *bytes, size_t length) {
  return text->hash == hash && text->length == length && !memcmp(text->bytes, bytes, length);
}

/* A copy; 0: there is no room. */
static uint32_t add_nvtx_text(uint32_t hash, const char *bytes, size_t length) {
  uint32_t size = (uint32_t)(sizeof(struct nvtx_text) + length + 7) & ~7u;
  uint32_t place = atomic_load_explicit(&used, memory_order_relaxed);
  do
    if (place + size > NVTX_TEXT_BYTES) return 0;
  while (!atomic_compare_exchange_weak_explicit(&used, &place, place + size, memory_order_relaxed,
                                                memory_order_relaxed));
  struct nvtx_text *text = (struct nvtx_text *)(void *)(region + place);
  text->length = (uint32_t)length;
  text->hash = hash;
  text->step = step_word(bytes, length);
  memcpy(text->bytes, bytes, length);
  text->magic = MAGIC;
  return place / 8;
}

uint32_t nvtx_text_number_of_bytes(const char *bytes, size_t length) {
  if (__builtin_expect(length > NVTX_TEXT_MAXIMUM, 0)) {
    atomic_fetch_add_explicit(&nvtx_texts_cut, 1, memory_order_relaxed);
    length = NVTX_TEXT_MAXIMUM;
  }
  uint64_t whole = hash_bytes(bytes, length);
  uint32_t hash = (uint32_t)(whole >> 32), added = 0;
  for (uint32_t i = 0; i < PROBES; i++) {
    _Atomic uint32_t *slot = &slots[((uint32_t)whole + i) % SLOTS];
    uint32_t number = atomic_load_explicit(slot, memory_order_acquire);
    if (!number) {
      if (!added) added = add_nvtx_text(hash, bytes, length);
      if (!added) break;
      if (atomic_compare_exchange_strong_explicit(slot, &number, added, memory_order_acq_rel, memory_order_acquire))
        return added;
    }
    if (is_same(nvtx_text(number), hash, bytes, length)) return number; /* another thread may have added it, too */
  }
  atomic_fetch_add_explicit(&nvtx_texts_refused, 1, memory_order_relaxed);
  return other;
}

uint32_t nvtx_text_number(const char *text) {
  return text ? nvtx_text_number_of_bytes(text, strnlen(text, NVTX_TEXT_MAXIMUM + 1)) : unnamed;
}

static size_t put_utf8(char *to, uint32_t point) {
  if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) point = 0xfffd;
  if (point < 0x80) {
    to[0] = (char)point;
    return 1;
  }
  size_t more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  static const uint8_t leads[] = {0, 0xc0, 0xe0, 0xf0};
  to[0] = (char)(leads[more] | point >> more * 6);
  for (size_t i = 1; i <= more; i++) to[i] = (char)(0x80 | (point >> (more - i) * 6 & 0x3f));
  return more + 1;
}

uint32_t nvtx_text_number_wide(const void *text) {
  _Static_assert(sizeof(wchar_t) == 4, "a code point each");
  const wchar_t *from = text;
  char bytes[NVTX_TEXT_MAXIMUM + 8];
  size_t length = 0;
  if (!text) return unnamed;
  while (*from && length <= NVTX_TEXT_MAXIMUM) length += put_utf8(bytes + length, (uint32_t)*from++);
  return nvtx_text_number_of_bytes(bytes, length);
}

static void make_region(void) {
  size_t bytes = NVTX_TEXT_BYTES + SLOTS * sizeof *slots;
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  slots = (_Atomic uint32_t *)(void *)((uint8_t *)memory + NVTX_TEXT_BYTES);
  region = memory;
  other = nvtx_text_number("(one of too many names)");
  unnamed = nvtx_text_number("(unnamed)");
}

bool nvtx_texts_begin(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_region);
  return region != NULL;
}
