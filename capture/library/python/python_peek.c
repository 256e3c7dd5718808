/* python_peek.c: frames and code objects by guarded reads (see python_peek.h). */
#include "python_peek.h"

#include "guarded_read.h"
#include "python_code.h"
#include "python_layout.h"
#include "recorder/live_memory.h"
#include "stack_rows.h"

#include <dlfcn.h>
#include <string.h>

enum {
  PAGE = 4096,
  CODES_MAXIMUM = 1 << 16,
  STEADY_TRIES = 5,
};

static struct live_memory codes; /* address of a code object to its copy (struct code_copy *) */
static uint64_t deaths_seen;     /* python_code.h */

void python_peek_open(void) {
  codes = (struct live_memory){0};
  deaths_seen = 0;
}

static void forget_codes(void) {
  const struct live_piece *pieces = codes.pieces.entries;
  for (size_t i = 0; pieces && i <= codes.pieces.mask; i++)
    if (pieces[i].address) code_copy_free((struct code_copy *)(intptr_t)pieces[i].bytes);
  live_memory_end(&codes);
}

void python_peek_close(void) { forget_codes(); }

/* ---- Reading what another thread may be changing. */

/* Frames lie close to each other: memory is read by pages, each once for a sample. */
static struct {
  uintptr_t page; /* 0: none */
  uint8_t bytes[PAGE];
} cached;

static bool fetch(uintptr_t address, void *copy, size_t bytes) {
  for (uint8_t *out = copy; bytes;) {
    uintptr_t page = address & ~(uintptr_t)(PAGE - 1);
    size_t piece = PAGE - (address - page) < bytes ? PAGE - (address - page) : bytes;
    if (!page) return false;
    if (cached.page != page) {
      cached.page = 0;
      if (!guarded_read((const void *)page, cached.bytes, PAGE)) return false;
      cached.page = page;
    }
    memcpy(out, cached.bytes + (address - page), piece);
    out += piece;
    address += piece;
    bytes -= piece;
  }
  return true;
}

static bool fetch_word(uintptr_t address, uintptr_t *word) { return fetch(address, word, sizeof *word); }

static uintptr_t code_type;

void python_peek_prepare(void) {
  if (!code_type) code_type = (uintptr_t)dlsym(RTLD_DEFAULT, "PyCode_Type");
}

static bool is_code(uintptr_t object) {
  python_peek_prepare();
  uint64_t type;
  return object && guarded_word((const uint8_t *)object + OBJECT_TYPE, &type) && type == code_type;
}

/* Whether a frame may stand there: within the code, as far as that can be told. */
static bool is_instruction(const struct python_place *place) {
  enum { LONGEST_CODE = 1 << 24 };
  if (python_layout.code_instructions < 0) return (int64_t)place->instruction >= -1;
  uintptr_t first = place->code + (uintptr_t)python_layout.code_instructions;
  return place->instruction + 2 >= first && place->instruction - first + 2 < LONGEST_CODE;
}

/* Whether the code is that of a generator or a coroutine: something always calls it, but while it is not running its
** frame has no caller. */
static bool is_suspendable(uintptr_t code) {
  enum { GENERATOR = 0x20, COROUTINE = 0x80, ITERABLE_COROUTINE = 0x100, ASYNC_GENERATOR = 0x200 };
  int32_t flags;
  if (!fetch(code + (uintptr_t)python_layout.code_flags, &flags, sizeof flags)) return false;
  return flags & (GENERATOR | COROUTINE | ITERABLE_COROUTINE | ASYNC_GENERATOR);
}

/* How many frames; -1: it was changing. One that seems to have a generator as its outermost frame was: this yielded
** while it was read. */
static int copy_stack(uintptr_t state, struct python_place *stack, unsigned room) {
  uintptr_t frame;
  cached.page = 0;
  if (python_layout.thread_cframe >= 0 && !fetch_word(state + (uintptr_t)python_layout.thread_cframe, &state))
    return -1;
  if (!state || !fetch_word(state + (uintptr_t)python_layout.current_frame, &frame)) return -1;
  unsigned depth = 0;
  for (unsigned steps = 0; frame && depth < room && steps < 2 * room; steps++) {
    uint8_t owner = 0;
    struct python_place place;
    uintptr_t previous;
    if (!fetch_word(frame + (uintptr_t)python_layout.frame_code, &place.code) ||
        !fetch_word(frame + (uintptr_t)python_layout.frame_previous, &previous) ||
        (python_layout.frame_owner >= 0 && !fetch(frame + (uintptr_t)python_layout.frame_owner, &owner, 1)))
      return -1;
    if (python_layout.code_instructions < 0) {
      int32_t index;
      if (!fetch(frame + (uintptr_t)python_layout.frame_instruction, &index, sizeof index)) return -1;
      place.instruction = (uintptr_t)(intptr_t)index;
    } else if (!fetch_word(frame + (uintptr_t)python_layout.frame_instruction, &place.instruction)) {
      return -1;
    }
    place.code &= ~(uintptr_t)STACK_REFERENCE_TAG;
    if (python_layout.frame_owner < 0 || owner < FRAME_OF_C_STACK) {
      if (!place.code || !is_instruction(&place)) return -1;
      stack[depth++] = place;
    }
    frame = previous;
  }
  return frame || (depth && is_suspendable(stack[depth - 1].code)) ? -1 : (int)depth;
}

unsigned python_peek_stack(uintptr_t state, struct python_place *stack, unsigned room) {
  int depth = copy_stack(state, stack, room);
  return depth > 0 ? (unsigned)depth : 0;
}

unsigned python_peek_steady(uintptr_t state, struct python_place *stack, bool *is_changing) {
  static struct python_place again[STACK_MAXIMUM];
  int depth = -1;
  *is_changing = true;
  for (unsigned tries = 0; tries < STEADY_TRIES && *is_changing; tries++) {
    depth = copy_stack(state, stack, STACK_MAXIMUM);
    if (depth < 0) continue;
    int second = copy_stack(state, again, STACK_MAXIMUM);
    *is_changing = second != depth || memcmp(stack, again, (size_t)depth * sizeof *stack) != 0;
  }
  return depth > 0 ? (unsigned)depth : 0;
}

/* ---- Code objects. */

static struct code_copy *find_code(uintptr_t address) {
  int64_t copy = live_memory_take(&codes, address, NULL);
  if (copy) live_memory_put(&codes, address, copy, 0);
  return (struct code_copy *)(intptr_t)copy;
}

static struct code_copy *copy_code(struct recorder *recorder, uintptr_t address) {
  static struct {
    struct code_item item;
    uint8_t bytes[SCRATCH_SIZE];
  } buffer;
  struct python_code code;
  if (!is_code(address) ||
      !python_copy_code(guarded_read, (const uint8_t *)address, buffer.bytes, sizeof buffer.bytes, &code))
    return NULL;
  buffer.item = (struct code_item){.first_line = code.first_line,
                                   .file_length = code.file_length,
                                   .function_length = code.function_length,
                                   .table_length = code.table_length};
  struct code_copy *copy = code_copy_make(recorder, &buffer.item);
  if (copy) live_memory_put(&codes, address, (int64_t)(intptr_t)copy, 0);
  return copy;
}

/* What was copied of those that died meanwhile is forgotten. */
void python_peek_begin(void) {
  uintptr_t code;
  while (python_code_next_death(&deaths_seen, &code)) {
    if (!code) forget_codes();
    code_copy_free((struct code_copy *)(intptr_t)(code ? live_memory_take(&codes, code, NULL) : 0));
  }
  if (codes.pieces.count > CODES_MAXIMUM) forget_codes();
}

int64_t python_peek_trace(struct recorder *recorder, const struct python_place *stack, unsigned depth) {
  int64_t trace = -1;
  for (unsigned i = 0; i < depth; i++)
    if (!find_code(stack[i].code) && !copy_code(recorder, stack[i].code)) return -1;
  uint64_t deaths = deaths_seen;
  python_peek_begin();
  if (deaths != deaths_seen) return -1; /* one of them may have been copied while it died */
  while (depth--) {
    const struct code_copy *code = find_code(stack[depth].code);
    uint32_t offset = python_code_offset(stack[depth].code, stack[depth].instruction);
    trace = code ? stack_trace_row(recorder, trace, code, offset) : TRACE_LOST;
    if (trace == TRACE_LOST) return -1;
  }
  return trace < 0 ? -1 : trace;
}
