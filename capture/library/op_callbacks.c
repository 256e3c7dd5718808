/* op_callbacks.c: the path of an op: start_op and end_op.
**
** Called by PyTorch on the program's threads, mostly without the GIL, 3,000 times in a 10 ms step.  Nothing here takes
** a lock, allocates or calls the system, except when a thread runs its first op.  The time is read last at the start
** and first at the end, so that our own work lies outside the op that it describes.
*/
#include "op_callbacks.h"

#include "clock.h"
#include "python_frames.h"
#include "sampling.h"
#include "session.h"
#include "thread_record.h"
#include "torch_inputs.h"

static bool records_inputs, records_stacks;
static uint64_t range_callback, op_callback; /* handles; 0: not registered */
static bool is_empty;                        /* op_callback is that of ops_arm_empty */
static _Atomic uint64_t counted_empty;
_Atomic bool ops_armed;

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

/* Operators can be unregistered and others be registered at the same address, so the hash is of the name, too: the
** words of the string object, which holds short names itself, and the text of a long one. */
static inline uint64_t schema_hash(uint64_t hash, const uint8_t *schema) {
  const uint8_t *text = torch_pointer(schema, 0);
  uint64_t length = torch_word(schema, 8);
  hash = input_hash(input_hash(hash, (uintptr_t)schema), length);
  if (text == schema + 16) return input_hash(input_hash(hash, torch_word(text, 0)), torch_word(text, 8));
  for (; length >= 8; length -= 8, text += 8) hash = input_hash(hash, torch_word(text, 0));
  uint64_t rest = 0;
  memcpy(&rest, text, length);
  return input_hash(hash, rest);
}

static inline bool has_schema(const uint8_t *object) {
  return torch_layout.schema_begins_with_text && object[torch_layout.name_kind] == 1;
}

static uint32_t name_number(struct capture_thread *thread, const uint8_t *object) {
  const char *text = torch.name(object);
  if (!has_schema(object)) {
    uint32_t length = name_length(object, text);
    return thread_intern_name(thread, intern_hash(text, length), text, length);
  }
  uint64_t key = schema_hash(0, torch_pointer(object, torch_layout.name));
  struct intern_slot *slot = intern_find(&thread->schemas, key, NULL);
  return slot ? slot->id : thread_intern_schema(thread, key, text);
}

/* `is_whole` becomes false when the inputs are too many to be kept. */
static uint32_t inputs_number(struct capture_thread *thread, const uint8_t *object, bool *is_whole) {
  struct input_sink sink = {.words = (uint64_t *)(void *)thread->scratch, .room = SCRATCH_SIZE / 8};
  torch_inputs_read(&sink, object);
  if (sink.is_full) {
    *is_whole = false;
    atomic_fetch_add_explicit(&thread->cut, 1, memory_order_relaxed);
    return 0;
  }
  if (!sink.used) return 0;
  uint64_t hash = intern_hash_words(sink.words, sink.used);
  struct intern_slot *slot = intern_find_words(&thread->inputs, &thread->arena, hash, sink.words, sink.used);
  return slot ? slot->id : thread_intern_inputs(thread, hash, sink.words, sink.used * 8u);
}

/* The numbers of a name and inputs that were not among the recent ones. */
static __attribute__((noinline)) bool number_op(struct capture_thread *thread, struct open_op *op,
                                                const uint8_t *object, uint64_t key, struct recent_op *set) {
  uint32_t forgets = thread->forgets;
  bool is_whole = true;
  op->name = name_number(thread, object);
  op->inputs = records_inputs ? inputs_number(thread, object, &is_whole) : 0;
  if (!op->name) return false;
  if (!is_whole || forgets != thread->forgets) return true;
  memmove(set + 1, set, (RECENT_WAYS - 1) * sizeof *set);
  set[0] = (struct recent_op){key, op->name, op->inputs};
  return true;
}

static const char engine_prefix[] = "autograd::engine::evaluate_function: ";

static inline bool name_op(struct capture_thread *thread, struct open_op *op, const uint8_t *object) {
  uint64_t key = thread->op_seed;
  op->is_engine_range = 0;
  if (has_schema(object)) {
    key = schema_hash(key, torch_pointer(object, torch_layout.name));
  } else {
    const char *text = torch.name(object);
    key = input_hash(key, intern_hash(text, name_length(object, text)));
    op->is_engine_range = op->scope == SCOPE_FUNCTION && !strncmp(text, engine_prefix, sizeof engine_prefix - 1);
  }
  if (records_inputs) key = torch_inputs_hash(key, object);
  struct recent_op *set = thread->recent_ops[key / (UINT64_MAX / RECENT_SETS + 1)];
  /* Without branches: which way it is cannot be foretold, that it is there nearly always can. */
  _Static_assert(RECENT_WAYS == 4, "all ways are looked at");
  const struct recent_op *recent = set + (set[1].key == key) + 2 * (set[2].key == key) + 3 * (set[3].key == key);
  if (__builtin_expect(recent->key != key || !recent->name, 0)) return number_op(thread, op, object, key, set);
  op->name = recent->name;
  op->inputs = recent->inputs;
  return true;
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
static inline void tell_engine_range(struct open_op *range, const uint8_t *object) {
  if (!range->is_engine_range || range->has_child) return;
  range->is_told = 1;
  range->sequence = (int64_t)torch_word(object, torch_layout.sequence);
  range->forward_thread = (uint32_t)torch_word(object, torch_layout.forward_thread);
}

static struct capture_thread *enter_thread(void) {
  return session_is_recording() ? thread_enter(torch.current_thread()) : NULL;
}

static inline bool describe(struct capture_thread *thread, struct open_op *op, const uint8_t *object, uint32_t depth) {
  if (!name_op(thread, op, object)) return false;
  op->node = records_stacks ? op_stack(thread, op, depth) : 0;
  return true;
}

/* The op that begins, on top of the open ones; NULL when it cannot be recorded. */
static inline struct open_op *begin(const uint8_t *object, uint8_t scope) {
  struct capture_thread *thread = capture_current_thread;
  if (__builtin_expect(!thread, 0) && !(thread = enter_thread())) return NULL;
  uint32_t depth = atomic_load_explicit(&thread->depth, memory_order_relaxed);
  if (__builtin_expect(depth == OPEN_MAXIMUM, 0)) {
    atomic_fetch_add_explicit(&thread->too_deep, 1, memory_order_relaxed);
    return NULL;
  }
  struct open_op *op = &thread->open[depth];
  op->frame = NULL;
  op->scope = scope;
  op->has_child = 0;
  op->is_told = 0;
  atomic_store_explicit(&op->pin, 0, memory_order_relaxed);
  uint32_t forgets = thread->forgets;
  bool is_described = describe(thread, op, object, depth);
  /* Tables that filled up meanwhile were emptied, and the first numbers with them: once more, now there is room. */
  if (__builtin_expect(forgets != thread->forgets, 0)) is_described = describe(thread, op, object, depth);
  if (__builtin_expect(!is_described, 0)) {
    atomic_fetch_add_explicit(&thread->lost, 1, memory_order_relaxed);
    return NULL;
  }
  if (depth) {
    if (scope == SCOPE_BACKWARD_FUNCTION) tell_engine_range(op - 1, object);
    op[-1].has_child = 1;
  }
  op->object = object;
  atomic_store_explicit(&op->is_done, 0, memory_order_relaxed);
  atomic_store_explicit(&thread->depth, depth + 1, memory_order_relaxed);
  return op;
}

static inline void write_op(struct capture_thread *thread, const struct open_op *op, const uint8_t *object,
                            uint64_t end_ticks, uint32_t owner) {
  struct op_item *item = thread_reserve(thread, sizeof *item);
  if (__builtin_expect(!item, 0)) {
    atomic_fetch_add_explicit(&thread->lost, 1, memory_order_relaxed);
    return;
  }
  item->head = (struct item){ITEM_OP, op->scope, sizeof *item / 16, op->name};
  item->start_ticks = op->start_ticks;
  item->end_ticks = end_ticks;
  item->sequence = -1;
  item->forward_thread = 0;
  if (__builtin_expect(op->is_told, 0)) {
    item->sequence = op->sequence;
    item->forward_thread = op->forward_thread;
  } else if (torch_layout.has_details) {
    item->sequence = (int64_t)torch_word(object, torch_layout.sequence);
    item->forward_thread = (uint32_t)torch_word(object, torch_layout.forward_thread);
  }
  item->inputs = op->inputs;
  item->node = op->node;
  item->owner = (uint16_t)owner;
  item->pin = atomic_load_explicit(&op->pin, memory_order_relaxed);
  thread_commit(thread, sizeof *item);
  __builtin_prefetch(item + 3, 1); /* the writer thread had it last */
}

/* The one on top has ended, and with it those below that had ended before. */
static inline void pop(struct capture_thread *thread, uint32_t depth) {
  do depth--;
  while (depth && __builtin_expect(atomic_load_explicit(&thread->open[depth - 1].is_done, memory_order_acquire), 0));
  atomic_store_explicit(&thread->depth, depth, memory_order_relaxed);
}

/* ---- Ops: everything but the ranges of the user. They end on the thread that began them, the last one first. */

static void start_op(void **context, const uint8_t *object) {
  *context = NULL;
  struct open_op *op = begin(object, torch_layout.has_details ? object[torch_layout.scope] : SCOPE_FUNCTION);
  if (__builtin_expect(op != NULL, 1)) op->start_ticks = clock_ticks();
}
TORCH_START_CALLBACK(start_op)

static void end_op(const void *object, void *context) {
  uint64_t end_ticks = clock_ticks();
  (void)context;
  struct capture_thread *thread = capture_current_thread;
  if (__builtin_expect(!thread, 0)) return;
  uint32_t depth = atomic_load_explicit(&thread->depth, memory_order_relaxed), place = depth;
  /* Above it there may be ranges that are still open; an op that was not recorded is nowhere. */
  while (place && __builtin_expect(thread->open[place - 1].object != object, 0)) place--;
  if (__builtin_expect(!place, 0)) return;
  struct open_op *op = &thread->open[place - 1];
  write_op(thread, op, object, end_ticks, thread->number);
  atomic_store_explicit(&thread->ops_written,
                        atomic_load_explicit(&thread->ops_written, memory_order_relaxed) + 1, memory_order_relaxed);
  op->object = NULL;
  if (__builtin_expect(place == depth, 1))
    pop(thread, depth);
  else
    atomic_store_explicit(&op->is_done, 1, memory_order_release);
}

/* ---- Ranges of the user may end in any order and on any thread. What lies open above one stays where it is, and its
** place becomes free when it is the last one. */

static void start_range(void **context, const uint8_t *object) {
  *context = NULL;
  struct open_op *range = begin(object, SCOPE_USER);
  if (!range) return;
  range->object = NULL;
  range->vtable = context_vtable;
  range->thread = capture_current_thread;
  range->mark = step_mark_kind(torch.name(object)) & 3;
  *context = range;
  range->start_ticks = clock_ticks();
}
TORCH_START_CALLBACK(start_range)

static void end_range(const void *object, void *context) {
  uint64_t end_ticks = clock_ticks();
  struct open_op *range = context;
  if (!range) return;
  struct capture_thread *owner = range->thread, *thread = capture_current_thread;
  if (owner->session != capture_session || atomic_load_explicit(&range->is_done, memory_order_acquire))
    return; /* begun before a fork */
  if (!thread && !(thread = enter_thread())) return;
  if (owner != thread) atomic_store_explicit(&owner->is_shared, 1, memory_order_relaxed);
  write_op(thread, range, object, end_ticks, owner->number);
  enum step_mark mark = range->mark;
  uint32_t name = range->name;
  uint64_t start_ticks = range->start_ticks, depth = atomic_load_explicit(&thread->depth, memory_order_relaxed);
  if (owner == thread && depth && range == &thread->open[depth - 1])
    pop(thread, (uint32_t)depth);
  else
    atomic_store_explicit(&range->is_done, 1, memory_order_release);
  if (mark != MARK_NONE) sampling_mark_ended(mark, owner->number, name, start_ticks, end_ticks);
}

/* ---- Registration. */

static void start_nothing(void **context, const uint8_t *object) {
  (void)object;
  *context = NULL;
  uint64_t counted = atomic_load_explicit(&counted_empty, memory_order_relaxed);
  atomic_store_explicit(&counted_empty, counted + 1, memory_order_relaxed);
}
TORCH_START_CALLBACK(start_nothing)

static void end_nothing(const void *object, void *context) {
  (void)object;
  (void)context;
}

static uint64_t add_callback(void *start, void *end, bool ranges, bool needs_inputs) {
  struct torch_callback callback = {
      .start = start, .end = end, .sampling_probability = 1, .needs_inputs = needs_inputs};
  for (unsigned scope = 0; scope < sizeof callback.scopes; scope++)
    callback.scopes[scope] = (scope == SCOPE_USER) == ranges;
  return torch.add_global_callback(callback);
}

static void remove_callback(uint64_t *handle) {
  if (*handle) torch.remove_callback(*handle);
  *handle = 0;
}

void callbacks_prepare(bool with_inputs, bool with_stacks) {
  records_inputs = with_inputs && input_layout.is_proved;
  records_stacks = with_stacks && python_layout.version != 0;
  torch_inputs_ready();
}

bool ranges_arm(void) {
  range_callback = add_callback((void *)start_range_entry, (void *)end_range, true, records_inputs);
  return range_callback != 0;
}

void ranges_disarm(void) { remove_callback(&range_callback); }

bool ops_arm(void) {
  if (is_empty) ops_disarm();
  if (!op_callback) op_callback = add_callback((void *)start_op_entry, (void *)end_op, false, records_inputs);
  atomic_store_explicit(&ops_armed, op_callback != 0, memory_order_relaxed);
  return op_callback != 0;
}

bool ops_arm_empty(void) {
  ops_disarm();
  is_empty = true;
  atomic_store_explicit(&counted_empty, 0, memory_order_relaxed);
  op_callback = add_callback((void *)start_nothing_entry, (void *)end_nothing, false, records_inputs);
  return op_callback != 0;
}

uint64_t ops_counted_empty(void) { return atomic_load_explicit(&counted_empty, memory_order_relaxed); }

void ops_disarm(void) {
  atomic_store_explicit(&ops_armed, false, memory_order_relaxed);
  remove_callback(&op_callback);
  is_empty = false;
}
