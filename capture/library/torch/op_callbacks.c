/* op_callbacks.c: the path of an op, start_op and end_op, and what is registered when.
**
** Called by PyTorch on the program's threads, mostly without the GIL, 3,000 times in a 10 ms step.  Nothing here takes
** a lock, allocates or calls the system, except when a thread runs its first op.  The time is read last at the start
** and first at the end, so that our own work lies outside the op that it describes.
*/
#include "op_callbacks.h"

#include "channel/thread_record.h"
#include "governor/sampling.h"
#include "host/process_identity.h"
#include "module_sightings.h"
#include "python/python_frames.h"
#include "recorder/clock.h"
#include "recorder/gate.h"
#include "noted_ranges.h"
#include "op_rows.h"
#include "optimizer_objects.h"
#include "torch_inputs.h"
#include "torch_lock.h"

#include <unistd.h>

static bool records_inputs, records_stacks;
static _Atomic uint64_t counted_empty;
/* Of a thread that was entered: how many exceptions are thrown and not yet caught. NULL: it was entered before PyTorch
** was there. */
static _Thread_local const unsigned *uncaught_exceptions __attribute__((tls_model("initial-exec")));

static void ops_enter_thread(struct capture_thread *thread) {
  static const unsigned none;
  thread->logical_thread = torch.current_thread();
  uncaught_exceptions = torch.exceptions ? &torch.exceptions()->uncaught : &none;
}

/* PyTorch destroys the context after the end callback: at::ObserverContext has only a virtual destructor, two entries
** in its vtable. */
static void keep_context(void *context) { (void)context; }
static const void *const context_vtable[2] = {(const void *)keep_context, (const void *)keep_context};

/* The name of an op without schema. It may hold a NUL; the string object knows how long it is. */
static inline const char *name_text(const uint8_t *object, uint32_t *length) {
  if (torch_layout.has_name_text && object[torch_layout.name_kind] == 0) {
    uint64_t whole = torch_word(object, torch_layout.name + 8u);
    *length = whole < NAME_MAXIMUM ? (uint32_t)whole : NAME_MAXIMUM;
    if (whole > NAME_MAXIMUM) name_cut(whole);
    return (const char *)torch_pointer(object, torch_layout.name);
  }
  const char *text = torch.name(object);
  *length = name_length(text);
  return text;
}

/* Operators can be unregistered and others be registered at the same address, so the hash is of the name, too: of its
** string object, which holds short names itself, and of the first 8 and the last 16 characters. */
static inline uint64_t schema_hash(const uint8_t *schema) {
  const uint8_t *text = torch_pointer(schema, 0);
  uint64_t length = torch_word(schema, 8), last = length < 8 ? 0 : length - 8, before = length < 16 ? 0 : length - 16;
  return (uintptr_t)schema * HASH_FACTOR_1 + (uintptr_t)text * HASH_FACTOR_2 +
         torch_word(text, 0) * HASH_FACTOR_3 +
         (torch_word(text, (unsigned)before) ^ length) * HASH_FACTOR_4 +
         torch_word(text, (unsigned)last) * HASH_FACTOR_5;
}

static inline bool has_schema(const uint8_t *object) {
  return torch_layout.schema_begins_with_text && object[torch_layout.name_kind] == 1;
}

static uint32_t name_number(struct capture_thread *thread, const uint8_t *object) {
  if (!has_schema(object)) {
    uint32_t length;
    const char *text = name_text(object, &length);
    return thread_intern_name(thread, hash_bytes(text, length), text, length);
  }
  uint64_t key = schema_hash(torch_pointer(object, torch_layout.name));
  struct intern_slot *slot = intern_find(&thread->schemas, key, NULL);
  return slot ? slot->id : thread_intern_schema(thread, key, torch.name(object));
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
  uint64_t hash = hash_words(sink.words, sink.used);
  struct intern_slot *slot = intern_find_words(&thread->inputs, &thread->arena, hash, sink.words, sink.used);
  return slot ? slot->id : thread_intern_inputs(thread, hash, sink.words, sink.used * 8u);
}

/* The numbers of a name and inputs that were not among the recent ones. NULL: they are none now. */
static __attribute__((noinline, cold)) struct recent_op *number_op(struct capture_thread *thread, struct open_op *op,
                                                                   const uint8_t *object, uint64_t key,
                                                                   struct recent_op *set) {
  uint32_t forgets = thread->changes.forgets;
  bool is_whole = true;
  op->name = name_number(thread, object);
  op->inputs = records_inputs ? inputs_number(thread, object, &is_whole) : 0;
  if (!op->name || !is_whole || forgets != thread->changes.forgets) return NULL;
  memmove(set + 1, set, (OP_WAYS - 1) * sizeof *set);
  set[0] = (struct recent_op){.key = key, .name = op->name, .inputs = op->inputs};
  return set;
}

static const char engine_prefix[] = "autograd::engine::evaluate_function: ";

/* The set of a key. What came before tells in which one the next op will be looked for. */
static inline struct recent_op *find_set(struct capture_thread *thread, uint64_t key) {
  uint32_t number = (uint32_t)(key / (UINT64_MAX / OP_SETS + 1));
  thread->following[thread->op_context] = (uint16_t)number;
  thread->op_context = (thread->op_context << 4 ^ number) % OP_CONTEXTS;
  __builtin_prefetch(thread->recent_ops[thread->following[thread->op_context]], 1);
  return thread->recent_ops[number];
}

/* Fills op->name and op->inputs; name 0: there was no room. What is known of ops like this one, or NULL. */
static inline struct recent_op *name_op(struct capture_thread *thread, struct open_op *op, const uint8_t *object) {
  uint64_t key = thread->op_seed;
  bool is_engine_range = false;
  if (__builtin_expect(has_schema(object), 1)) {
    key ^= schema_hash(torch_pointer(object, torch_layout.name));
  } else {
    uint32_t length;
    const char *text = name_text(object, &length);
    key = input_hash(key, hash_bytes(text, length));
    is_engine_range = open_op_scope(op) == SCOPE_FUNCTION && length >= sizeof engine_prefix - 1 &&
                      !memcmp(text, engine_prefix, sizeof engine_prefix - 1);
  }
  atomic_store_explicit(&op->is_engine_range, is_engine_range, memory_order_relaxed);
  if (records_inputs) key = torch_inputs_hash(key, object);
  struct recent_op *set = find_set(thread, key);
  /* Without branches: which way it is cannot be foretold, that it is there nearly always can. */
  _Static_assert(OP_WAYS == 2, "all ways are looked at");
  struct recent_op *recent = set + (set[1].key == key);
  if (__builtin_expect(recent->key != key || !recent->name, 0)) return number_op(thread, op, object, key, set);
  op->name = recent->name;
  op->inputs = recent->inputs;
  return recent;
}

/* An op called by another op's C++ code has its caller's stack: the innermost frame stands where it stood then. */
static inline uint32_t op_stack(struct capture_thread *thread, struct open_op *op, const struct open_op *caller,
                                struct recent_op *recent) {
  const uint8_t *frame = python_current_frame();
  op->frame = frame;
  op->stack = 0;
  if (!frame) return 0;
  op->instruction = python_instruction(frame);
  if (caller && caller->frame == frame && caller->instruction == op->instruction) {
    op->stack = caller->stack;
    return 0;
  }
  return op->stack = python_stack_node_of_op(thread, frame, recent ? &recent->node : NULL);
}

/* The engine's own range around a backward op comes first and has no sequence number. As Kineto does, it gets the one
** of the op. */
static inline void tell_engine_range(struct open_op *range, const uint8_t *object) {
  if (!atomic_load_explicit(&range->is_engine_range, memory_order_relaxed) || range->has_child) return;
  range->is_told = 1;
  range->sequence = (int64_t)torch_word(object, torch_layout.sequence);
  range->forward_thread = (uint32_t)torch_word(object, torch_layout.forward_thread);
}

static inline bool describe_op(struct capture_thread *thread, struct open_op *op, const uint8_t *object,
                               const struct open_op *caller) {
  struct recent_op *recent = name_op(thread, op, object);
  if (__builtin_expect(!op->name, 0)) return false;
  op->node = records_stacks ? op_stack(thread, op, caller, recent) : 0;
  return true;
}

static inline uint64_t changes_of(const struct capture_thread *thread) {
  uint64_t both;
  _Static_assert(sizeof thread->changes == sizeof both, "compared at once");
  memcpy(&both, &thread->changes, sizeof both);
  return both;
}

/* Tables that filled up meanwhile were emptied, and the first numbers with them: once more, now there is room. A module
** that is new is looked for while it is on the stack. */
static __attribute__((noinline, cold)) bool describe_again(struct capture_thread *thread, struct open_op *op,
                                                           const uint8_t *object, const struct open_op *caller,
                                                           struct changes before) {
  bool is_described = op->name != 0;
  if (thread->changes.forgets != before.forgets) is_described = describe_op(thread, op, object, caller);
  if (thread->changes.wanted != before.wanted) module_sightings_resolve(thread, true);
  return is_described;
}

/* NULL when nothing is recorded. */
static inline struct capture_thread *thread_that_records(void) {
  struct capture_thread *thread = capture_current_thread;
  if (__builtin_expect(!thread, 0) && !(thread = thread_enter(REFUSED_OP))) return NULL;
  if (__builtin_expect(!thread_is_of_recording(thread), 0) && !thread_renew(thread)) return NULL;
  if (__builtin_expect(!uncaught_exceptions, 0)) thread_enter_again(thread);
  return thread;
}

static __attribute__((noinline, cold)) void count(_Atomic uint64_t *counter) {
  atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* Fills in what begins within `caller`, the op on top; NULL: there is none. false: there was no room. */
static inline bool begin(struct capture_thread *thread, struct open_op *op, struct open_op *caller,
                         const uint8_t *object, uint8_t scope) {
  op->frame = NULL;
  atomic_store_explicit(&op->scope, scope, memory_order_relaxed);
  op->has_child = 0;
  op->is_told = 0;
  atomic_store_explicit(&op->pin, 0, memory_order_relaxed);
  uint64_t changes = changes_of(thread);
  bool is_described = describe_op(thread, op, object, caller);
  if (__builtin_expect(changes != changes_of(thread), 0)) {
    struct changes before;
    memcpy(&before, &changes, sizeof before);
    is_described = describe_again(thread, op, object, caller, before);
  }
  if (__builtin_expect(!is_described, 0)) {
    count(&thread->lost);
    return false;
  }
  if (caller) {
    if (scope == SCOPE_BACKWARD_FUNCTION) tell_engine_range(caller, object);
    caller->has_child = 1;
  }
  return true;
}

static inline void write_op(struct capture_thread *thread, const struct open_op *op, const uint8_t *object,
                            uint64_t end_ticks, uint32_t owner, bool threw) {
  struct op_item *item = thread_reserve(thread, sizeof *item);
  if (__builtin_expect(!item, 0)) {
    count(&thread->lost);
    return;
  }
  uint8_t scope = (uint8_t)(open_op_scope(op) | (threw ? OP_THREW : 0));
  item->head = (struct item){ITEM_OP, scope, sizeof *item / 16, op->name};
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

/* ---- Ops: everything but the ranges of the user. They end on the thread that began them, nearly always the last one
** first. */

static inline void start_op(void **context, const uint8_t *object, uint8_t scope) {
  *context = NULL;
  struct capture_thread *thread = thread_that_records();
  if (__builtin_expect(!thread, 0)) return;
  uint32_t depth = atomic_load_explicit(&thread->depth, memory_order_relaxed);
  if (__builtin_expect(depth == OPEN_MAXIMUM, 0)) {
    count(&thread->too_deep);
    return;
  }
  struct open_op *op = &thread->open[depth];
  if (__builtin_expect(!begin(thread, op, depth ? op - 1 : NULL, object, scope), 0)) return;
  op->object = object;
  atomic_store_explicit(&thread->depth, depth + 1, memory_order_relaxed);
  op->uncaught = (uint8_t)*uncaught_exceptions;
  op->start_ticks = clock_ticks();
}

static void end_op(const void *object, void *context) {
  uint64_t end_ticks = clock_ticks();
  (void)context;
  struct capture_thread *thread = capture_current_thread;
  if (__builtin_expect(!thread, 0)) return;
  uint32_t depth = atomic_load_explicit(&thread->depth, memory_order_relaxed), place = depth;
  /* Above it there may be ops of another greenlet; an op that was not recorded is nowhere. */
  while (place && __builtin_expect(thread->open[place - 1].object != object, 0)) place--;
  if (__builtin_expect(!place, 0)) return;
  struct open_op *op = &thread->open[place - 1];
  write_op(thread, op, object, end_ticks, thread->number, (uint8_t)*uncaught_exceptions > op->uncaught);
  thread_count_written(thread, WRITTEN_OPS);
  if (__builtin_expect(place == depth, 1))
    atomic_store_explicit(&thread->depth, depth - 1, memory_order_relaxed);
  else
    thread_take_out(thread, place - 1);
}

/* ---- Ranges of the user may end in any order and on any thread. */

/* While one callback takes the place of another both may be called for a range: the first one has it. */
static bool is_begun(const uint8_t *object) {
  const struct capture_thread *thread = capture_current_thread;
  const struct open_op *last = thread ? thread->last_range : NULL;
  return last && last->range_object == object && !atomic_load_explicit(&last->is_done, memory_order_acquire);
}

/* Marks of steps for which there was no room: they have no row, but end steps like any other. By enum step_mark. */
static struct open_op unrecorded_marks[] = {[MARK_CALL] = {.vtable = context_vtable, .mark = MARK_CALL},
                                            [MARK_OPTIMIZER] = {.vtable = context_vtable, .mark = MARK_OPTIMIZER},
                                            [MARK_FRAMEWORK] = {.vtable = context_vtable, .mark = MARK_FRAMEWORK},
                                            [MARK_PROFILER] = {.vtable = context_vtable, .mark = MARK_PROFILER},
                                            [MARK_USER] = {.vtable = context_vtable, .mark = MARK_USER}};
enum { MARK_KINDS = sizeof unrecorded_marks / sizeof *unrecorded_marks };

static uint32_t mark_name(const char *name) {
  return (uint32_t)hash_bytes(name, (uint32_t)strnlen(name, NAME_MAXIMUM));
}

static uint32_t name_of_mark(enum step_mark mark, const char *name) {
  return mark == MARK_FRAMEWORK ? step_mark_name(mark, name) : mark_name(name);
}

/* Where the object is not known, what has its place among the steps of its class since a backward pass began (as in
** ext/derive/steps/optimizers.c). */
static uint32_t optimizer_by_name(uint32_t name) {
  static _Thread_local struct {
    uint32_t name, turn;
    uint64_t passes;
  } seen[2];
  uint64_t passes = noted_passes();
  unsigned place = seen[1].name == name;
  if (seen[place].name != name) {
    seen[1] = seen[0];
    place = 0;
    seen[0].name = name;
    seen[0].passes = passes - 1;
  }
  if (seen[place].passes != passes || !passes) seen[place].turn = 0;
  seen[place].passes = passes;
  return name + seen[place].turn++;
}

/* What stands for the mark, and, in range->forward_thread, for the optimizer that is to be recorded. */
static void describe_mark(struct open_op *range, enum step_mark mark, const char *name) {
  uint32_t hash = name_of_mark(mark, name), object = mark == MARK_OPTIMIZER ? optimizer_object() : 0;
  range->mark_name = object ? object : mark == MARK_OPTIMIZER ? optimizer_by_name(hash) : hash;
  range->is_told = object != 0;
  range->sequence = -1;
  range->forward_thread = object;
}

static struct open_op *open_range(struct capture_thread *thread, struct open_op *range, const void *object) {
  range->thread = thread;
  range->range_object = object;
  thread->last_range = range;
  atomic_store_explicit(&range->is_done, 0, memory_order_relaxed);
  return range;
}

/* NULL when it cannot be recorded. */
static struct open_op *begin_range(const uint8_t *object) {
  struct capture_thread *thread = thread_that_records();
  if (!thread) return NULL;
  struct open_op *range = thread_take_range(thread);
  if (!range) {
    count(&thread->too_deep);
    return NULL;
  }
  uint32_t depth = atomic_load_explicit(&thread->depth, memory_order_relaxed);
  struct open_op *caller = depth ? &thread->open[depth - 1] : NULL;
  if (!begin(thread, range, caller, object, SCOPE_USER)) {
    thread_give_range(thread, range);
    return NULL;
  }
  if (caller) caller->frame = NULL; /* what begins inside it from now on finds out its stack anew */
  range->recording = thread->recording;
  return open_range(thread, range, object);
}

/* The same of a mark while nothing is recorded. */
static __attribute__((noinline, cold)) struct open_op *begin_mark(const uint8_t *object) {
  struct capture_thread *thread = capture_current_thread;
  if (!thread && !(thread = thread_enter(REFUSED_OP))) return NULL;
  struct open_op *range = thread_take_range(thread);
  if (!range) return NULL;
  range->recording = 0;
  return open_range(thread, range, object);
}

static __attribute__((noinline)) void start_range(void **context, const uint8_t *object) {
  *context = NULL;
  if (is_begun(object)) return;
  const char *name = torch.name(object);
  enum step_mark mark = step_mark_kind(name);
  bool is_dormant = __builtin_expect(!gate_may_record(), 0);
  if (is_dormant && (mark == MARK_NONE || !gate_counts_steps())) return;
  struct open_op *range = is_dormant ? begin_mark(object) : begin_range(object);
  uint64_t start_ticks = mark == MARK_BATCH ? clock_ticks() : 0;
  if (mark == MARK_BATCH) { /* what begins with it is told now */
    if (gate_counts_steps() && capture_current_thread)
      sampling_mark_ended(mark, capture_current_thread->number, 0, start_ticks, start_ticks);
    mark = MARK_NONE;
  }
  if (!range) {
    if (mark != MARK_NONE) *context = &unrecorded_marks[mark];
    return;
  }
  range->vtable = context_vtable;
  range->mark = mark & 15;
  if (mark != MARK_NONE) describe_mark(range, mark, name);
  *context = range;
  range->start_ticks = start_ticks ? start_ticks : clock_ticks();
}
TORCH_START_CALLBACK(start_range)

static void end_range(const void *object, void *context) {
  uint64_t end_ticks = clock_ticks();
  struct open_op *range = context;
  if (!range) return;
  struct capture_thread *owner = range->thread, *thread = capture_current_thread;
  if (__builtin_expect(range >= unrecorded_marks && range < unrecorded_marks + MARK_KINDS, 0)) {
    if (!gate_counts_steps()) return;
    uint32_t its_name = name_of_mark(range->mark, torch.name(object));
    sampling_mark_ended(range->mark, thread ? thread->number : 0, its_name, end_ticks, end_ticks);
    return;
  }
  if (owner->session != capture_session || atomic_load_explicit(&range->is_done, memory_order_acquire))
    return; /* begun before a fork */
  if (!thread && !(thread = thread_enter(REFUSED_OP))) return;
  if (owner != thread) atomic_store_explicit(&owner->is_shared, 1, memory_order_relaxed);
  end_ticks = clock_end_ticks(range->start_ticks, end_ticks);
  /* Where neither it nor its end is of this recording, numbers of names are others by now. */
  bool is_recorded = range->recording == owner->recording && thread_is_of_recording(owner) &&
                     (thread_is_of_recording(thread) || thread_renew(thread));
  if (__builtin_expect(is_recorded, 1)) write_op(thread, range, object, end_ticks, owner->number, false);
  enum step_mark mark = range->mark;
  uint32_t name = range->mark_name;
  uint64_t start_ticks = range->start_ticks;
  thread_give_range(owner, range);
  thread->brief_left = 0; /* what comes now is part of the next step */
  if (mark != MARK_NONE) sampling_mark_ended(mark, owner->number, name, start_ticks, end_ticks);
}

/* ---- What is registered. */

static void start_known(void **context, const uint8_t *object) {
  uint8_t scope = object[torch_layout.scope];
  if (__builtin_expect(scope == SCOPE_USER, 0))
    start_range(context, object);
  else
    start_op(context, object, scope);
}
TORCH_START_CALLBACK(start_known)

static void end_known(const void *object, void *context) {
  if (__builtin_expect(context != NULL, 0))
    end_range(object, context);
  else
    end_op(object, context);
}

/* Where it is not known where an object has its scope. */
static void start_unknown(void **context, const uint8_t *object) { start_op(context, object, SCOPE_FUNCTION); }
TORCH_START_CALLBACK(start_unknown)

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

/* Handles; 0: not registered. A second callback costs something in each op of a backward pass, where PyTorch copies
** the list of them: so where scopes are known that for ops takes the place of that for ranges. */
static uint64_t range_callback, op_callback, empty_callback;

enum { RANGES = 1, OPS = 2 };
static uint64_t add_callback(void *start, void *end, int what) {
  struct torch_callback callback = {
      .start = start, .end = end, .sampling_probability = 1, .needs_inputs = records_inputs};
  for (unsigned scope = 0; scope < sizeof callback.scopes; scope++)
    callback.scopes[scope] = (what & (scope == SCOPE_USER ? RANGES : OPS)) != 0;
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
  if (op_callback && torch_layout.has_details) return true;
  if (!range_callback) range_callback = add_callback((void *)start_range_entry, (void *)end_range, RANGES);
  return range_callback != 0;
}

void ranges_disarm(void) { remove_callback(&range_callback); }

bool ops_arm(void) {
  ops_disarm_empty();
  if (!op_callback && torch_layout.has_details) {
    op_callback = add_callback((void *)start_known_entry, (void *)end_known, OPS | RANGES);
    if (op_callback) ranges_disarm();
  } else if (!op_callback) {
    op_callback = add_callback((void *)start_unknown_entry, (void *)end_op, OPS);
  }
  atomic_store(&gate_detail, op_callback ? DETAIL_FULL : DETAIL_ALWAYS);
  memory_turn_ends();
  return op_callback != 0;
}

void ops_disarm(void) {
  if (!op_callback) return;
  atomic_store_explicit(&gate_detail, DETAIL_ALWAYS, memory_order_relaxed);
  uint64_t handle = op_callback;
  op_callback = 0;
  ranges_arm();
  remove_callback(&handle);
}

bool ops_arm_empty(void) {
  ops_disarm();
  atomic_store_explicit(&counted_empty, 0, memory_order_relaxed);
  if (!empty_callback) empty_callback = add_callback((void *)start_nothing_entry, (void *)end_nothing, OPS | RANGES);
  return empty_callback != 0;
}

void ops_disarm_empty(void) { remove_callback(&empty_callback); }

uint64_t ops_counted_empty(void) { return atomic_load_explicit(&counted_empty, memory_order_relaxed); }

static bool ops_set_detail(enum detail detail) {
  if (detail == DETAIL_FULL) return ops_arm();
  if (detail == DETAIL_EMPTY) return ops_arm_empty();
  ops_disarm();
  ops_disarm_empty();
  return true;
}

/* ---- What it costs. */

/* In a real step, with shapes and stack: measured 300 to 450 on several machines. */
enum { USUAL_OP_NS = 400, LEAST_OP_NS = 50, MOST_OP_NS = 5000 };
/* What recording an op takes in a real step, where caches are cold and ours and PyTorch's tables with them, is so many
** times what calling a callback that does nothing takes in a loop: measured, see tests/bench/capture.py. */
#define OP_FACTOR 1.8

static double op_ns = USUAL_OP_NS;

double ops_set_cost(double called_ns) {
  double taken_ns = called_ns * OP_FACTOR;
  /* What is beyond these bounds was disturbed. */
  bool is_known = taken_ns >= LEAST_OP_NS && taken_ns <= MOST_OP_NS;
  op_ns = is_known ? taken_ns : USUAL_OP_NS;
  return op_ns;
}

static void ops_cost(uint32_t thread, struct source_cost *cost) {
  const struct capture_thread *its = thread_of_number(thread);
  uint64_t ops = threads_written(WRITTEN_OPS);
  cost->full += ops;
  cost->records_ns += (double)ops * op_ns;
  cost->full_ns += (double)ops * op_ns;
  if (its)
    cost->thread_full_ns += (double)atomic_load_explicit(&its->written[WRITTEN_OPS], memory_order_relaxed) * op_ns;
}

/* ---- The source. */

static bool has_callbacks, watches_steps;

static void ops_sleep(const struct source_wishes *wishes) {
  has_callbacks = wishes->has_callbacks;
  callbacks_prepare(wishes->with_shapes, wishes->with_stacks);
  watches_steps = has_callbacks && ranges_arm();
}

static bool ops_source_arm(const struct source_wishes *wishes) {
  has_callbacks = wishes->has_callbacks;
  if (!has_callbacks) return true;
  callbacks_prepare(wishes->with_shapes, wishes->with_stacks);
  if (!ranges_arm()) {
    capture_say("the ops of PyTorch %s cannot be recorded: it refused the callbacks; the program goes on",
                process_identity_framework_version());
    return false;
  }
  noted_ranges_arm(wishes->with_stacks);
  return true;
}

static void ops_source_disarm(void) {
  if (!watches_steps) ranges_disarm();
}

/* Callbacks cannot be changed in a child, ever, where PyTorch's lock of them may have been held. */
static const char *ops_reset(bool is_whole) {
  (void)is_whole;
  return has_callbacks && !torch_lock ? "PyTorch's lock of its callbacks was not found" : NULL;
}

struct capture_part ops_part = {.name = "ops"}, shapes_part = {.name = "shapes"}, steps_part = {.name = "steps"};

const struct capture_source ops_source = {
    .name = "ops",
    .needs_framework = true,
    .parts = (struct capture_part *const[]){&ops_part, &shapes_part, &steps_part, NULL},
    .locks = (const struct fork_lock[]){{.found = &torch_lock}, {0}},
    .enter_thread = ops_enter_thread,
    .arm = ops_source_arm,
    .sleep = ops_sleep,
    .disarm = ops_source_disarm,
    .set_detail = ops_set_detail,
    .cost = ops_cost,
    .reset = ops_reset,
    .open = op_rows_open,
    .items = OP_ITEMS,
    .item = op_rows_item,
    .thread_over = op_rows_thread_over,
    .losses = op_rows_losses,
    .close = op_rows_close,
};
