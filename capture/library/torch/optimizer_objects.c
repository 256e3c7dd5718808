/* optimizer_objects.c: see optimizer_objects.h. */
#include "optimizer_objects.h"

#include "python/guarded_read.h"
#include "python/python_layout.h"
#include "base/hash.h"

#include <stdatomic.h>

enum { DEPTH = 12 /* of the range's own frames inside that function */ };

static struct python_layout layout;
static int first_local, first_item; /* in a frame; in a tuple */
static uintptr_t optimizer_code;    /* 0: nothing is looked for */

/* How many optimizers were made at addresses of one hash. A number too high is no harm: the object counts as one that
** follows itself. */
static _Atomic uint32_t made[4096];

static uint64_t address_hash(uintptr_t optimizer) { return hash_step(optimizer, HASH_FACTOR_1); }

void optimizer_objects_made(uintptr_t optimizer) {
  uint64_t place = (address_hash(optimizer) >> 32) % (sizeof made / sizeof *made);
  atomic_fetch_add_explicit(&made[place], 1, memory_order_relaxed);
}

/* What python_layout.h leaves out, for modules are not looked for there. */
static int locals_of(const struct python_layout *of) {
  if (of->frame_locals >= 0) return of->frame_locals;
  return of->version == 310 ? 352 : 360;
}

static bool read_object(const uint8_t *object, int offset, uint64_t *word) {
  bool is_read = guarded_word(object + offset, word);
  *word &= ~(uint64_t)STACK_REFERENCE_TAG;
  return is_read;
}

bool optimizer_objects_prove(uintptr_t probe, uintptr_t expected, uintptr_t code) {
  static const int items[] = {24, 32}; /* of a tuple: from 3.14 on its hash lies before them */
  const struct python_layout *known = python_layout_to_prove();
  uint64_t frame = known && python_thread_state ? (uint64_t)(uintptr_t)python_thread_state() : 0, its_code, arguments;
  if (!frame) return false;
  if (known->thread_cframe >= 0 && !guarded_word((const uint8_t *)frame + known->thread_cframe, &frame)) return false;
  bool is_read = guarded_word((const uint8_t *)frame + known->current_frame, &frame);
  for (unsigned depth = 0; is_read && frame && depth < DEPTH; depth++) {
    const uint8_t *object = (const uint8_t *)(uintptr_t)frame;
    is_read = read_object(object, known->frame_code, &its_code) &&
              guarded_word(object + known->frame_previous, &frame);
    if (!is_read || its_code != probe) continue;
    if (!read_object(object, locals_of(known), &arguments)) return false;
    for (unsigned i = 0; i < sizeof items / sizeof *items; i++) {
      uint64_t item;
      if (!guarded_word((const uint8_t *)(uintptr_t)arguments + items[i], &item) || item != expected) continue;
      layout = *known;
      first_local = locals_of(known);
      first_item = items[i];
      optimizer_code = code;
      return true;
    }
    return false;
  }
  return false;
}

uint32_t optimizer_object(void) {
  const uint8_t *frame = optimizer_code ? python_thread_state() : NULL;
  if (frame && layout.thread_cframe >= 0) frame = python_at(frame, layout.thread_cframe);
  if (frame) frame = python_at(frame, layout.current_frame);
  for (unsigned depth = 0; frame && depth < DEPTH; depth++, frame = python_at(frame, layout.frame_previous)) {
    if (python_frame_object(frame, layout.frame_code) != optimizer_code) continue;
    const uint8_t *arguments = (const uint8_t *)python_frame_object(frame, first_local);
    const uint8_t *optimizer = arguments ? python_at(arguments, first_item) : NULL;
    uint64_t hash = address_hash((uintptr_t)optimizer);
    uint64_t place = (hash >> 32) % (sizeof made / sizeof *made);
    hash = hash_step(hash, atomic_load_explicit(&made[place], memory_order_relaxed));
    return optimizer ? (uint32_t)(hash >> 32) | 1 : 0;
  }
  return 0;
}
