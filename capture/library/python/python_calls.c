/* python_calls.c: the two ends of a call (see python_calls.h). Everything here runs with the GIL held, on the thread
** that makes the call, whose innermost frame is the function's. */
#include "python_calls.h"

#include "channel/thread_record.h"
#include "python_api.h"
#include "python_code.h"
#include "python_frames.h"
#include "recorder/clock.h"
#include "recorder/gate.h"

#include <dlfcn.h>

/* The name is kept with the code object in the thread's table, so that it is made once. 0: there is no room. */
static uint32_t name_of_code(struct capture_thread *thread, const uint8_t *code) {
  struct intern_slot *slot = intern_find(&thread->codes, (uintptr_t)code, NULL);
  if (slot && slot->data) return slot->data;
  uint32_t forgets = thread->changes.forgets;
  if (!slot && !python_code_number(thread, code)) return 0;
  struct python_code copy;
  if (!python_copy_code(python_read_here, code, thread->scratch, SCRATCH_SIZE, &copy)) return 0;
  const char *text = (const char *)copy.bytes + copy.file_length;
  uint32_t length = copy.function_length;
  uint32_t name = thread_intern_name(thread, hash_bytes(text, length), text, length);
  if (forgets != thread->changes.forgets) return 0;
  slot = intern_find(&thread->codes, (uintptr_t)code, NULL);
  if (slot) slot->data = name;
  return name;
}

static bool describe_call(struct capture_thread *thread, struct open_op *call, const uint8_t *frame) {
  call->node = python_stack_node(thread, frame, true);
  call->name = name_of_code(thread, (const uint8_t *)python_frame_object(frame, python_layout.frame_code));
  return call->name != 0;
}

static void begin_call(void) {
  if (!gate_wants_full() || !gate_is_ours()) return;
  struct capture_thread *thread = capture_current_thread;
  if (!thread && !(thread = thread_enter(REFUSED_OP))) return;
  const uint8_t *frame = python_current_frame();
  if (!frame) return;
  uint32_t depth = atomic_load_explicit(&thread->depth, memory_order_relaxed);
  if (depth == OPEN_MAXIMUM) {
    atomic_fetch_add_explicit(&thread->too_deep, 1, memory_order_relaxed);
    return;
  }
  struct open_op *call = &thread->open[depth];
  call->frame = NULL;
  call->has_child = 0;
  call->is_told = 0;
  call->inputs = 0;
  atomic_store_explicit(&call->scope, SCOPE_PYTHON, memory_order_relaxed);
  atomic_store_explicit(&call->is_engine_range, 0, memory_order_relaxed);
  atomic_store_explicit(&call->pin, 0, memory_order_relaxed);
  uint32_t forgets = thread->changes.forgets;
  bool is_described = describe_call(thread, call, frame);
  if (forgets != thread->changes.forgets) is_described = describe_call(thread, call, frame); /* there is room now */
  if (!is_described) {
    atomic_fetch_add_explicit(&thread->lost, 1, memory_order_relaxed);
    return;
  }
  if (depth) call[-1].has_child = 1;
  call->object = frame;
  atomic_store_explicit(&thread->depth, depth + 1, memory_order_relaxed);
  call->start_ticks = clock_ticks();
}

static void write_call(struct capture_thread *thread, const struct open_op *call, uint64_t end_ticks) {
  struct op_item *item = thread_reserve(thread, sizeof *item);
  if (!item) {
    atomic_fetch_add_explicit(&thread->lost, 1, memory_order_relaxed);
    return;
  }
  memset(item, 0, sizeof *item);
  item->head = (struct item){ITEM_OP, SCOPE_PYTHON, sizeof *item / 16, call->name};
  item->start_ticks = call->start_ticks;
  item->end_ticks = end_ticks;
  item->sequence = -1;
  item->node = call->node;
  item->owner = (uint16_t)thread->number;
  item->pin = call->pin;
  thread_commit(thread, sizeof *item);
}

/* The call of this frame may not have been recorded: it had begun before. Calls above it whose end was not told
** (another profiler took our place meanwhile) have no row. */
static void end_call(void) {
  uint64_t end_ticks = clock_ticks();
  struct capture_thread *thread = capture_current_thread;
  if (!thread) return;
  const uint8_t *frame = python_current_frame();
  uint32_t depth = atomic_load_explicit(&thread->depth, memory_order_relaxed), place = depth;
  while (place && (open_op_scope(&thread->open[place - 1]) != SCOPE_PYTHON || thread->open[place - 1].object != frame))
    place--;
  if (!place || !frame) return;
  write_call(thread, &thread->open[place - 1], end_ticks);
  for (uint32_t i = depth; i >= place; i--)
    if (open_op_scope(&thread->open[i - 1]) == SCOPE_PYTHON) thread_take_out(thread, i - 1);
}

/* ---- 3.12 on: builtin functions. PyMethodDef (methodobject.h); METH_FASTCALL is 0x80. None is immortal there. */

struct method_definition {
  const char *name;
  void *(*function)(void *, void *const *, long);
  int flags;
  const char *doc;
};
enum { FASTCALL = 0x80 };

static void *call_began(void *self, void *const *arguments, long count) {
  (void)self;
  (void)arguments;
  (void)count;
  begin_call();
  return python_api.none;
}

static void *call_ended(void *self, void *const *arguments, long count) {
  (void)self;
  (void)arguments;
  (void)count;
  end_call();
  return python_api.none;
}

void *python_call_watcher(int number) {
  static struct method_definition definitions[2] = {{"call_began", call_began, FASTCALL, NULL},
                                                    {"call_ended", call_ended, FASTCALL, NULL}};
  void *function = python_api.new_function(&definitions[number], NULL, NULL);
  if (function) return function;
  python_api.clear_error();
  python_api.increment(python_api.none);
  return python_api.none;
}

/* ---- Before: Py_tracefunc (cpython/pystate.h). PyTrace_CALL is 0, PyTrace_RETURN 3, which exceptions and the pauses
** of generators end with, too; calls of builtin functions are told and left out. */

static int profile_event(void *object, void *frame, int what, void *argument) {
  (void)object;
  (void)frame;
  (void)argument;
  if (what == 0) begin_call();
  if (what == 3) end_call();
  return 0;
}

bool python_calls_profile_thread(void) {
  void (*set_profile)(int (*)(void *, void *, int, void *), void *);
  void *address = dlsym(RTLD_DEFAULT, "PyEval_SetProfile");
  if (!address) return false;
  memcpy(&set_profile, &address, sizeof address);
  set_profile(profile_event, NULL);
  return true;
}
