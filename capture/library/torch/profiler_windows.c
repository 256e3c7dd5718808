/* profiler_windows.c: see profiler_windows.h. */
#include "profiler_windows.h"

#include "channel/thread_record.h"

static struct capture_thread *thread_of(uint64_t number) {
  static struct capture_thread *threads[THREAD_MAXIMUM];
  static unsigned count;
  if (count && threads[0]->session != capture_session) count = 0; /* those of the process that forked us */
  for (unsigned i = 0; i < count; i++)
    if (threads[i]->logical_thread == number) return threads[i];
  struct capture_thread *thread = count < THREAD_MAXIMUM ? thread_adopt(number) : NULL;
  if (thread) threads[count++] = thread;
  return thread;
}

bool profiler_windows_add(const struct profiler_op *op) {
  struct capture_thread *thread = thread_of(op->thread);
  if (!thread) return false;
  uint32_t length = name_length(op->name);
  uint32_t name = thread_intern_name(thread, hash_bytes(op->name, length), op->name, length);
  struct op_item *item = name ? thread_reserve(thread, sizeof *item) : NULL;
  if (!item) {
    atomic_fetch_add_explicit(&thread->lost, 1, memory_order_relaxed);
    return false;
  }
  memset(item, 0, sizeof *item);
  item->head = (struct item){ITEM_OP, op->scope, sizeof *item / 16, name};
  item->start_ticks = (uint64_t)op->start_ns;
  item->end_ticks = (uint64_t)op->end_ns;
  item->sequence = op->sequence;
  item->forward_thread = op->forward_thread;
  item->owner = (uint16_t)thread->number;
  thread_commit(thread, sizeof *item);
  return true;
}
