/* python_frames.c: offsets by version, the walk, and its proof (see python_frames.h). */
#include "python_frames.h"

#include "guarded_read.h"
#include "python_code.h"

#include <dlfcn.h>
#include <stdio.h>

struct python_layout python_layout;
void *(*python_thread_state)(void);
uintptr_t python_module_code;
static const struct python_layout *candidate;

/* From the headers of each version: PyThreadState (cpython/pystate.h), PyFrameObject or _PyInterpreterFrame
** (cpython/frameobject.h, internal/pycore_frame.h), PyCodeObject (cpython/code.h), PyASCIIObject and
** PyCompactUnicodeObject (cpython/unicodeobject.h). */
static const struct python_layout layouts[] = {
    /* version, table; thread: cframe, current frame; frame: code, previous, instruction, owner;
       frame: first local;
       code: first line, file, function, table, instructions; text: ascii, compact */
    /* clang-format off */
    {308, PYTHON_LNOTAB,    -1, 24,  32, 24, 104, -1,  -1,  40, 104, 112, 120,  -1,  48, 72},
    {309, PYTHON_LNOTAB,    -1, 24,  32, 24, 104, -1,  -1,  40, 104, 112, 120,  -1,  48, 72},
    {310, PYTHON_LINETABLE, -1, 24,  32, 24,  96, -1,  -1,  40, 104, 112, 120,  -1,  48, 72},
    {311, PYTHON_LOCATIONS, 56,  8,  32, 48,  56, 69,  72,  72, 112, 128, 136, 184,  48, 72},
    {312, PYTHON_LOCATIONS, 56,  0,   0,  8,  56, 70,  72,  68, 112, 128, 136, 192,  40, 56},
    {313, PYTHON_LOCATIONS, -1, 72,   0,  8,  56, 70,  72,  68, 112, 128, 136, 200,  40, 56},
    {314, PYTHON_LOCATIONS, -1, 72,   0,  8,  56, 74,  80,  68, 112, 128, 136, 208,  40, 56},
    /* clang-format on */
};

bool python_find(unsigned version, char *reason, size_t size) {
  candidate = NULL;
  void *address = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
  if (!address) {
    snprintf(reason, size, "this Python does not export PyGILState_GetThisThreadState");
    return false;
  }
  memcpy(&python_thread_state, &address, sizeof address);
  for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
    if (layouts[i].version == version) candidate = &layouts[i];
  if (!candidate) snprintf(reason, size, "the frames of Python %u.%u are not known", version / 100, version % 100);
  return candidate != NULL;
}

void python_believe(bool is_proved) {
  if (is_proved && candidate)
    python_layout = *candidate;
  else
    memset(&python_layout, 0, sizeof python_layout);
}

/* In bytes of code, as Python's f_lasti says from 3.10 on. */
static uint32_t code_offset(const struct python_layout *layout, uintptr_t code, uintptr_t instruction) {
  if (layout->code_instructions >= 0) return (uint32_t)(instruction - (code + (uintptr_t)layout->code_instructions));
  return (uint32_t)instruction * (layout->table == PYTHON_LINETABLE ? 2 : 1);
}

/* The node of a frame called from `parent`, which is not among the recent ones; 0: there was no room, or the tables
** were emptied. */
static __attribute__((noinline, cold)) uint32_t number_node(struct capture_thread *thread, uint32_t parent,
                                                            const struct stack_frame *frame) {
  uint32_t forgets = thread->forgets;
  uint32_t code = python_code_number(thread, (const uint8_t *)frame->code), module = 0, node = 0;
  if (code && frame->module) module = thread_intern_module(thread, frame->module, frame->type);
  if (code && (module || !frame->module))
    node =
        thread_intern_node(thread, parent, code, code_offset(&python_layout, frame->code, frame->instruction), module);
  return forgets == thread->forgets ? node : 0;
}

static inline uint32_t frame_node(struct capture_thread *thread, uint32_t parent, const struct stack_frame *frame,
                                  struct recent_node *recent) {
  /* All that tells frames apart, but for the parent, and when: each multiplied by a large odd number of its own. */
  uint64_t place = frame->code * 0x9e3779b97f4a7c15u + thread->generation * 0xa0761d6478bd642fu +
                   frame->instruction * 0xc2b2ae3d27d4eb4fu + frame->module * 0x165667b19e3779f9u +
                   frame->type * 0xd6e8feb86659fd93u;
  if (recent && recent->place == place && recent->parent == parent && recent->node) return recent->node;
  struct recent_node *set = thread->recent_nodes[intern_mix(place, parent) % NODE_SETS];
  _Static_assert(NODE_WAYS == 4, "all ways are looked at");
  struct recent_node *found = set;
  for (unsigned way = 1; way < NODE_WAYS; way++)
    if (set[way].place == place && set[way].parent == parent) found = &set[way];
  if (__builtin_expect(found->place != place || found->parent != parent || !found->node, 0)) {
    uint32_t node = number_node(thread, parent, frame);
    if (!node) return 0;
    memmove(set + 1, set, (NODE_WAYS - 1) * sizeof *set);
    set[0] = (struct recent_node){place, parent, node};
    found = set;
  }
  if (recent) *recent = *found;
  return found->node;
}

static inline bool is_same_frame(const struct stack_frame *frame, const uint8_t *object) {
  if (frame->instruction != python_instruction(object) ||
      frame->code != python_frame_object(object, python_layout.frame_code))
    return false;
  if (__builtin_expect(!frame->module, 1)) return true;
  return frame->module == python_frame_object(object, python_layout.frame_locals) &&
         frame->type == (uintptr_t)python_at((const uint8_t *)frame->module, OBJECT_TYPE);
}

uint32_t python_stack_node(struct capture_thread *thread, const uint8_t *frame, struct recent_node *recent) {
  if (__builtin_expect(thread->deaths_seen != atomic_load_explicit(&python_code_deaths, memory_order_acquire), 0))
    python_notice_deaths(thread);
  uint32_t depth = 0;
  for (; frame && depth < STACK_MAXIMUM; frame = python_at(frame, python_layout.frame_previous)) {
    thread->walk[depth] = frame;
    depth += python_layout.frame_owner < 0 || frame[python_layout.frame_owner] < FRAME_OF_C_STACK;
  }
  if (!depth) return 0;
  if (__builtin_expect(frame != NULL, 0)) atomic_fetch_add_explicit(&thread->cut, 1, memory_order_relaxed);

  /* Most stacks differ from the one before only in their innermost frames. */
  const uint8_t **outermost = &thread->walk[depth - 1];
  uint32_t same = 0, limit = depth < thread->stack_depth ? depth : thread->stack_depth;
  while (same < limit && is_same_frame(&thread->stack[same], outermost[-(ptrdiff_t)same])) same++;
  uint32_t node = same ? thread->stack[same - 1].node : 0;
  for (; same < depth; same++) {
    const uint8_t *object = outermost[-(ptrdiff_t)same];
    struct stack_frame *place = &thread->stack[same];
    place->code = python_frame_object(object, python_layout.frame_code);
    place->instruction = python_instruction(object);
    place->module = place->type = 0;
    if (place->code == python_module_code) {
      place->module = python_frame_object(object, python_layout.frame_locals);
      place->type = place->module ? (uintptr_t)python_at((const uint8_t *)place->module, OBJECT_TYPE) : 0;
    }
    place->node = node = frame_node(thread, node, place, same + 1 == depth ? recent : NULL);
    if (__builtin_expect(!node, 0)) { /* the tables are full or were emptied: what was found before is void */
      thread->stack_depth = 0;
      return 0;
    }
  }
  thread->stack_depth = depth;
  return node;
}

/* ---- The proof. */

struct description {
  char *text;
  size_t length, size;
};

static void describe_text(struct description *out, const uint8_t *bytes, uint32_t length, char end) {
  for (uint32_t i = 0; i < length && out->length + 2 < out->size; i++)
    out->text[out->length++] = bytes[i] < 32 || bytes[i] == 127 ? '?' : (char)bytes[i];
  if (out->length + 2 < out->size) out->text[out->length++] = end;
}

static bool describe_frame(struct description *out, const struct python_layout *layout, uint64_t code,
                           uint64_t instruction) {
  static uint8_t buffer[SCRATCH_SIZE]; /* with the GIL held there is one caller at a time */
  struct python_code copy;
  if (!python_copy_code(guarded_read, (const uint8_t *)(uintptr_t)code, buffer, sizeof buffer, &copy)) return false;
  uint32_t offset = code_offset(layout, (uintptr_t)code, (uintptr_t)instruction);
  int32_t line = python_line(layout->table, copy.bytes + copy.file_length + copy.function_length, copy.table_length,
                             copy.first_line, offset);
  int written = snprintf(out->text + out->length, out->size - out->length, "%llu %u %d %d ", (unsigned long long)code,
                         offset, line, copy.first_line);
  if (written < 0 || (size_t)written >= out->size - out->length) return false;
  out->length += (size_t)written;
  describe_text(out, copy.bytes, copy.file_length, '\t');
  describe_text(out, copy.bytes + copy.file_length, copy.function_length, '\n');
  return true;
}

size_t python_describe_stack(char *text, size_t size) {
  struct description out = {text, 0, size};
  struct python_layout believed = python_layout;
  if (!candidate || size < 64) return 0;
  const struct python_layout *layout = candidate;
  python_layout = *candidate; /* python_copy_code goes by it; no op is recorded yet, or the two are the same */
  uint64_t state = (uint64_t)(uintptr_t)python_thread_state(), frame = 0, code, instruction, previous;
  bool is_read = state != 0;
  if (is_read && layout->thread_cframe >= 0)
    is_read = guarded_word((const uint8_t *)(uintptr_t)state + layout->thread_cframe, &state);
  is_read = is_read && guarded_word((const uint8_t *)(uintptr_t)state + layout->current_frame, &frame);
  for (int depth = 0; is_read && frame && depth < STACK_MAXIMUM; depth++) {
    const uint8_t *object = (const uint8_t *)(uintptr_t)frame;
    uint8_t owner = 0;
    is_read = guarded_word(object + layout->frame_code, &code) &&
              guarded_word(object + layout->frame_instruction, &instruction) &&
              guarded_word(object + layout->frame_previous, &previous) &&
              (layout->frame_owner < 0 || guarded_read(object + layout->frame_owner, &owner, 1));
    if (layout->code_instructions < 0) instruction = (uint64_t)(int64_t)(int32_t)instruction;
    if (is_read && owner < FRAME_OF_C_STACK)
      is_read = describe_frame(&out, layout, code & ~(uint64_t)STACK_REFERENCE_TAG, instruction);
    frame = previous;
  }
  python_layout = believed;
  if (!is_read) return 0;
  text[out.length] = 0;
  return out.length;
}

unsigned python_describe_modules(uint64_t *modules, unsigned room) {
  unsigned count = 0;
  uint64_t frame, code;
  if (!python_layout.version || python_layout.frame_locals < 0 || !python_module_code) return 0;
  frame = (uint64_t)(uintptr_t)python_current_frame();
  while (frame && count < room) {
    const uint8_t *object = (const uint8_t *)(uintptr_t)frame;
    if (!guarded_word(object + python_layout.frame_code, &code)) return 0;
    if ((code & ~(uint64_t)STACK_REFERENCE_TAG) == python_module_code) {
      if (!guarded_word(object + python_layout.frame_locals, &modules[count])) return 0;
      modules[count++] &= ~(uint64_t)STACK_REFERENCE_TAG;
    }
    if (!guarded_word(object + python_layout.frame_previous, &frame)) return 0;
  }
  return count;
}
