/* python_frames.c: the walk over the frames, and its proof (see python_frames.h). */
#include "python_frames.h"

#include "guarded_read.h"
#include "python_code.h"
#include "recorder/clock.h"

#include <stdio.h>

static const struct module_watch *module_watch; /* there is one wherever python_module_code is set */

void python_watch_modules(const struct module_watch *watch) { module_watch = watch; }

/* The node of a frame called from `parent`, which is not among the recent ones; 0: there was no room, or the tables
** were emptied. */
static __attribute__((noinline, cold)) uint32_t number_node(struct capture_thread *thread, uint32_t parent,
                                                            const struct stack_frame *frame) {
  uint32_t forgets = thread->changes.forgets;
  uint32_t code = python_code_number(thread, (const uint8_t *)frame->code), module = 0, node = 0;
  if (code && frame->module) module = module_watch->number(thread, frame->module, frame->type);
  if (code && (module || !frame->module))
    node = thread_intern_node(thread, parent, code, python_code_offset(frame->code, frame->instruction), module);
  return forgets == thread->changes.forgets ? node : 0;
}

static inline uint32_t frame_node(struct capture_thread *thread, uint32_t parent, const struct stack_frame *frame,
                                  struct recent_node *recent) {
  /* All that tells frames apart, but for the parent, and when: each multiplied by a large odd number of its own. */
  uint64_t place = frame->code * HASH_FACTOR_1 + thread->generation * HASH_FACTOR_5 +
                   frame->instruction * HASH_FACTOR_2 + frame->module * HASH_FACTOR_3 +
                   frame->type * HASH_FACTOR_4;
  if (recent && recent->place == place && recent->parent == parent && recent->node) return recent->node;
  struct recent_node *set = thread->recent_nodes[hash_step(place, parent) % NODE_SETS];
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

static bool write_call(struct capture_thread *thread, uint32_t node, uint8_t scope) {
  struct call_item *item = thread_reserve(thread, sizeof *item);
  if (!item) return false;
  *item = (struct call_item){{ITEM_CALL, scope, sizeof *item / 16, node}, clock_ticks()};
  thread_commit(thread, sizeof *item);
  return true;
}

/* The calls of modules on the stack inside the first `known` ones, which go on. What there is no room for is told with
** the next op. */
static __attribute__((noinline, cold)) void tell_calls(struct capture_thread *thread, const uint8_t **outermost,
                                                       uint32_t first, uint32_t depth, uint32_t known) {
  uint32_t place = known ? thread->calls[known - 1].place + 1 : 0;
  thread->call_count = known;
  for (place = place > first ? place : first; place < depth; place++) {
    uint32_t node = thread->stack[place].node;
    if (!thread->stack[place].module) continue;
    if (!write_call(thread, node, 0)) return;
    thread->calls[thread->call_count++] =
        (struct module_call){python_call_number(outermost[-(ptrdiff_t)(place - first)]), place, node};
  }
}

/* The whole stack was looked at anew, although calls go on: what their modules were told as may be void. */
static __attribute__((noinline, cold)) void tell_calls_again(struct capture_thread *thread, uint32_t known) {
  for (uint32_t i = 0; i < known; i++) {
    struct module_call *call = &thread->calls[i];
    uint32_t node = call->place < thread->stack_depth ? thread->stack[call->place].node : call->node;
    if (node != call->node && write_call(thread, node, CALL_GOES_ON)) call->node = node;
  }
}

/* A stack that is not known down to its outermost frame: which place a frame has is not known either. */
static __attribute__((noinline, cold)) void note_cut(struct capture_thread *thread) {
  atomic_fetch_add_explicit(&thread->cut, 1, memory_order_relaxed);
  for (uint32_t i = 0; i < thread->call_count; i++) thread->calls[i].place = STACK_MAXIMUM;
}

static inline uint32_t find_node(struct capture_thread *thread, const uint8_t *frame, struct recent_node *recent,
                                 bool tells_calls) {
  if (__builtin_expect(thread->deaths_seen != atomic_load_explicit(&python_code_deaths, memory_order_acquire), 0))
    python_notice_deaths(thread);
  /* Outwards to the innermost call of a module that was there before: what lies around it is as it was then. */
  uint32_t depth = 0, first = 0, known = thread->call_count, known_depth = 0;
  bool has_new_call = false, is_known = !python_tells_calls;
  const uintptr_t module_code = python_module_code;
  for (; frame && depth < STACK_MAXIMUM; frame = python_at(frame, python_layout.frame_previous)) {
    thread->walk[depth] = frame;
    depth += python_layout.frame_owner < 0 || frame[python_layout.frame_owner] < FRAME_OF_C_STACK;
    if (__builtin_expect(python_frame_object(frame, python_layout.frame_code) != module_code, 1) || is_known) continue;
    uint64_t number = python_call_number(frame);
    while (known && thread->calls[known - 1].number > number) known--;
    is_known = known && thread->calls[known - 1].number == number;
    has_new_call |= !is_known;
    if (!is_known) continue;
    uint32_t place = thread->calls[known - 1].place;
    known_depth = depth;
    if (place < thread->stack_depth && place + depth <= STACK_MAXIMUM) {
      first = place;
      frame = NULL;
      break;
    }
  }
  if (!depth) return 0;
  if (__builtin_expect(frame != NULL, 0)) {
    note_cut(thread);
    has_new_call = false;
  } else if (known_depth && !first) {
    thread->calls[known - 1].place = depth - known_depth;
  }

  /* Most stacks differ from the one before only in their innermost frames. */
  const uint8_t **outermost = &thread->walk[depth - 1];
  depth += first;
  uint32_t same = first, limit = depth < thread->stack_depth ? depth : thread->stack_depth;
  while (same < limit && is_same_frame(&thread->stack[same], outermost[-(ptrdiff_t)(same - first)])) same++;
  uint32_t node = same ? thread->stack[same - 1].node : 0;
  for (; same < depth; same++) {
    const uint8_t *object = outermost[-(ptrdiff_t)(same - first)];
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
  if (__builtin_expect(tells_calls && known_depth && !first, 0)) tell_calls_again(thread, known);
  if (__builtin_expect(tells_calls && has_new_call, 0))
    tell_calls(thread, outermost, first, depth, is_known ? known : 0);
  return node;
}

uint32_t python_stack_node_of_op(struct capture_thread *thread, const uint8_t *frame, struct recent_node *recent) {
  return find_node(thread, frame, recent, true);
}

uint32_t python_stack_node(struct capture_thread *thread, const uint8_t *frame, bool tells_calls) {
  uint32_t wanted = thread->changes.wanted, node = find_node(thread, frame, NULL, tells_calls);
  if (__builtin_expect(wanted != thread->changes.wanted, 0)) module_watch->resolve(thread, false);
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
  uint32_t offset = python_offset_in(layout, (uintptr_t)code, (uintptr_t)instruction);
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
  const struct python_layout *layout = python_layout_to_prove();
  if (!layout || size < 64) return 0;
  python_layout = *layout; /* python_copy_code goes by it; no op is recorded yet, or the two are the same */
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

unsigned python_describe_modules(uint64_t *modules, uint64_t *calls, unsigned room) {
  unsigned count = 0;
  uint64_t frame, code, keywords;
  if (!python_layout.version || python_layout.frame_locals < 0 || !python_module_code) return 0;
  frame = (uint64_t)(uintptr_t)python_current_frame();
  while (frame && count < room) {
    const uint8_t *object = (const uint8_t *)(uintptr_t)frame;
    if (!guarded_word(object + python_layout.frame_code, &code)) return 0;
    if ((code & ~(uint64_t)STACK_REFERENCE_TAG) == python_module_code) {
      if (!guarded_word(object + python_layout.frame_locals, &modules[count]) ||
          !guarded_word(object + python_layout.frame_locals + KEYWORDS_LOCAL, &keywords))
        return 0;
      keywords &= ~(uint64_t)STACK_REFERENCE_TAG;
      modules[count] &= ~(uint64_t)STACK_REFERENCE_TAG;
      if (!guarded_word((const uint8_t *)(uintptr_t)keywords + DICTIONARY_VERSION, &calls[count])) calls[count] = 0;
      count++;
    }
    if (!guarded_word(object + python_layout.frame_previous, &frame)) return 0;
  }
  return count;
}
