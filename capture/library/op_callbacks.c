/* op_callbacks.c: the path of an op: start_op and end_op.
**
** Called by PyTorch on the program's threads, mostly without the GIL, 3,000 times in a 10 ms step.  Nothing here takes
** a lock, allocates or calls the system, except when a thread runs its first op.  The time is read last at the start
** and first at the end, so that our own work lies outside the op that it describes.
*/
#include "op_callbacks.h"

#include "clock.h"
#include "python_frames.h"
#include "session.h"
#include "thread_record.h"
#include "torch_inputs.h"

static bool records_inputs, records_stacks;
static uint64_t registered;

/* PyTorch destroys the context after the end callback: at::ObserverContext has only a virtual destructor, two entries
** in its vtable. */
static void keep_context(void *context) { (void)context; }
static const void *const context_vtable[2] = {(const void *)keep_context, (const void *)keep_context};

/* A range's name may hold a NUL; the string object knows how long it is. */
static uint32_t name_length(const uint8_t *object, const char *text) {
  if (!torch_layout.has_name_text || object[torch_layout.name_kind] != 0 ||
      torch_pointer(object, torch_layout.name) != (const void *)text)
    return (uint32_t)strnlen(text, NAME_MAXIMUM);
  uint64_t length = torch_word(object, torch_layout.name + 8u);
  return length < NAME_MAXIMUM ? (uint32_t)length : NAME_MAXIMUM;
}

static uint32_t text_name(struct capture_thread *thread, struct open_op *op, const uint8_t *object) {
  const char *text = torch.name(object);
  uint32_t length = name_length(object, text);
  uint64_t hash = intern_hash(text, length);
  struct intern_slot *slot = intern_find_bytes(&thread->names, &thread->arena, hash, text, length);
  op->is_text = 1;
  if (!slot) return thread_intern_name(thread, hash, text, length, &op->name_data);
  op->name_data = slot->data;
  return slot->id;
}

/* Operators can be unregistered and others be registered at the same address, so the key holds the name, too: the
** words of the string object, which holds short names itself, and the text of a long one. */
static inline uint64_t schema_key(const uint8_t *schema) {
  const uint8_t *text = torch_pointer(schema, 0);
  uint64_t length = torch_word(schema, 8);
  uint64_t key = intern_mix((uintptr_t)schema, length);
  if (text == schema + 16)
    return intern_mix(intern_mix(key, torch_word(text, 0)), length > 8 ? torch_word(text, 8) : 0);
  for (; length >= 8; length -= 8, text += 8) key = intern_mix(key, torch_word(text, 0));
  uint64_t rest = 0;
  memcpy(&rest, text, length);
  return intern_mix(key, rest);
}

static uint32_t op_name(struct capture_thread *thread, struct open_op *op, const uint8_t *object) {
  if (!torch_layout.schema_begins_with_text || object[torch_layout.name_kind] != 1)
    return text_name(thread, op, object);
  uint64_t key = schema_key(torch_pointer(object, torch_layout.name));
  struct intern_slot *slot = intern_find(&thread->schemas, key, NULL);
  op->is_text = 0;
  return slot ? slot->id : thread_intern_schema(thread, key, torch.name(object));
}

static uint32_t op_inputs(struct capture_thread *thread, const uint8_t *object) {
  uint64_t *words = (uint64_t *)(void *)thread->scratch;
  uint32_t count = torch_inputs_encode(object, words, SCRATCH_SIZE / 8);
  if (!count) return 0;
  if (count == UINT32_MAX) {
    atomic_fetch_add_explicit(&thread->cut, 1, memory_order_relaxed);
    return 0;
  }
  uint64_t hash = intern_hash_words(words, count);
  struct intern_slot *slot = intern_find_words(&thread->inputs, &thread->arena, hash, words, count);
  return slot ? slot->id : thread_intern_inputs(thread, hash, words, count * 8u);
}

/* An op called by another op's C++ code has its caller's stack: the innermost frame stands where it stood then. (A
** range of the user can be open while frames come and go.) */
static uint32_t op_stack(struct capture_thread *thread, struct open_op *op, uint32_t depth) {
  const uint8_t *frame = python_current_frame();
  op->frame = frame;
  op->stack = 0;
  if (!frame) return 0;
  op->instruction = python_instruction(frame);
  const struct open_op *caller = op - 1;
  if (depth && caller->frame == frame && caller->instruction == op->instruction && caller->scope != SCOPE_USER) {
    op->stack = caller->stack;
    return 0;
  }
  return op->stack = python_stack_node(thread, frame);
}

/* The engine's own range around a backward op comes first and has no sequence number. As Kineto does, it gets the one
** of the op. */
static void tell_engine_range(struct capture_thread *thread, struct open_op *range, const struct open_op *op) {
  static const char prefix[] = "autograd::engine::evaluate_function: ";
  if (range->scope != SCOPE_FUNCTION || !range->is_text || range->has_child) return;
  if (strncmp((const char *)thread->arena.base + range->name_data + 8, prefix, sizeof prefix - 1)) return;
  range->sequence = op->sequence;
  range->forward_thread = op->forward_thread;
}

static bool describe_op(struct capture_thread *thread, struct open_op *op, const uint8_t *object, uint32_t depth) {
  op->name = op_name(thread, op, object);
  if (!op->name) return false;
  op->inputs = records_inputs ? op_inputs(thread, object) : 0;
  op->node = records_stacks ? op_stack(thread, op, depth) : 0;
  return true;
}

static struct capture_thread *enter_thread(void) {
  return session_is_recording() ? thread_enter(torch.current_thread()) : NULL;
}

static void start_op(void **context, const uint8_t *object) {
  *context = NULL;
  struct capture_thread *thread = capture_current_thread;
  if (__builtin_expect(!thread, 0) && !(thread = enter_thread())) return;
  uint32_t depth = atomic_load_explicit(&thread->depth, memory_order_relaxed);
  if (__builtin_expect(depth == OPEN_MAXIMUM, 0)) {
    atomic_fetch_add_explicit(&thread->too_deep, 1, memory_order_relaxed);
    return;
  }
  struct open_op *op = &thread->open[depth];
  op->frame = NULL;
  op->scope = torch_layout.has_details ? object[torch_layout.scope] : SCOPE_FUNCTION;
  op->has_child = 0;
  op->pin = 0;
  op->sequence = -1;
  op->forward_thread = 0;
  if (torch_layout.has_details) {
    op->sequence = (int64_t)torch_word(object, torch_layout.sequence);
    op->forward_thread = (uint32_t)torch_word(object, torch_layout.forward_thread);
  }
  uint32_t forgets = thread->forgets;
  bool is_described = describe_op(thread, op, object, depth);
  /* Tables that filled up meanwhile were emptied, and the first numbers with them: once more, now there is room. */
  if (__builtin_expect(forgets != thread->forgets, 0)) is_described = describe_op(thread, op, object, depth);
  if (__builtin_expect(!is_described, 0)) {
    atomic_fetch_add_explicit(&thread->lost, 1, memory_order_relaxed);
    return;
  }
  if (depth) {
    if (op->scope == SCOPE_BACKWARD_FUNCTION) tell_engine_range(thread, op - 1, op);
    op[-1].has_child = 1;
  }
  op->vtable = context_vtable;
  op->thread = thread;
  atomic_store_explicit(&op->is_done, 0, memory_order_relaxed);
  atomic_store_explicit(&thread->depth, depth + 1, memory_order_relaxed);
  *context = op;
  op->start_ticks = clock_ticks();
}
TORCH_START_CALLBACK(start_op)

static inline void write_op(struct capture_thread *thread, const struct open_op *op, uint64_t end_ticks,
                            uint32_t owner) {
  struct op_item *item = thread_reserve(thread, sizeof *item);
  if (__builtin_expect(!item, 0)) {
    atomic_fetch_add_explicit(&thread->lost, 1, memory_order_relaxed);
    return;
  }
  item->head = (struct item){ITEM_OP, op->scope, sizeof *item / 16, op->name};
  item->start_ticks = op->start_ticks;
  item->end_ticks = end_ticks;
  item->sequence = op->sequence;
  item->inputs = op->inputs;
  item->node = op->node;
  item->forward_thread = op->forward_thread;
  item->owner = (uint16_t)owner;
  item->pin = op->pin;
  thread_commit(thread, sizeof *item);
  __builtin_prefetch(item + 3, 1); /* the writer thread had it last */
}

/* Ranges of the user may end in any order and on any thread: the others never do. What lies open above the range stays
** where it is, and its place becomes free when it is the last one. */
static void end_elsewhere(struct open_op *op, uint64_t end_ticks) {
  struct capture_thread *owner = op->thread, *thread = capture_current_thread;
  if (owner->session != capture_session || atomic_load_explicit(&op->is_done, memory_order_acquire))
    return; /* begun before a fork */
  if (!thread && !(thread = enter_thread())) return;
  write_op(thread, op, end_ticks, owner->number);
  atomic_store_explicit(&op->is_done, 1, memory_order_release);
}

static void end_op(const void *object, void *context) {
  uint64_t end_ticks = clock_ticks();
  struct open_op *op = context;
  (void)object;
  if (__builtin_expect(!op, 0)) return;
  struct capture_thread *thread = capture_current_thread;
  uint32_t depth = thread ? atomic_load_explicit(&thread->depth, memory_order_relaxed) : 0;
  if (__builtin_expect(!depth || op != &thread->open[depth - 1], 0)) {
    end_elsewhere(op, end_ticks);
    return;
  }
  write_op(thread, op, end_ticks, thread->number);
  do depth--;
  while (depth && __builtin_expect(atomic_load_explicit(&thread->open[depth - 1].is_done, memory_order_acquire), 0));
  atomic_store_explicit(&thread->depth, depth, memory_order_relaxed);
}

static void start_nothing(void **context, const uint8_t *object) {
  (void)object;
  *context = NULL;
}
TORCH_START_CALLBACK(start_nothing)

static void end_nothing(const void *object, void *context) {
  (void)object;
  (void)context;
}

static bool add_callbacks(void *start, void *end, bool needs_inputs) {
  ops_disarm();
  struct torch_callback callback = {
      .start = start, .end = end, .sampling_probability = 1, .needs_inputs = needs_inputs};
  memset(callback.scopes, 1, sizeof callback.scopes);
  registered = torch.add_global_callback(callback);
  return registered != 0;
}

bool ops_arm(bool with_inputs, bool with_stacks) {
  records_inputs = with_inputs && input_layout.is_proved;
  records_stacks = with_stacks && python_layout.version != 0;
  return add_callbacks((void *)start_op_entry, (void *)end_op, records_inputs);
}

bool ops_arm_empty(bool with_inputs) {
  return add_callbacks((void *)start_nothing_entry, (void *)end_nothing, with_inputs && input_layout.is_proved);
}

void ops_disarm(void) {
  if (registered) torch.remove_callback(registered);
  registered = 0;
}
