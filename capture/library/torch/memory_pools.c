/* memory_pools.c: see memory_pools.h. */
#include "memory_pools.h"

#include "channel/thread_record.h"

pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER; /* of `before`, and of making pools */
static struct live_memory before;

static struct memory_pool pools[POOL_MAXIMUM] = {[POOL_CPU] = {{DEVICE_TYPE_CPU, -1}},
                                                 [POOL_MAPPED] = {{DEVICE_TYPE_CPU, -1}}};
static _Atomic unsigned pool_count = POOL_MAPPED + 1;

/* ---- Pools. */

const struct memory_pool *memory_pool_of_number(unsigned number) {
  return number < atomic_load_explicit(&pool_count, memory_order_acquire) ? &pools[number] : NULL;
}

unsigned memory_pool_number(struct torch_device device) {
  if (device.type == DEVICE_TYPE_CPU) return POOL_MAPPED;
  unsigned number = POOL_MAPPED + 1, count = atomic_load_explicit(&pool_count, memory_order_acquire);
  while (number < count && (pools[number].device.type != device.type || pools[number].device.index != device.index))
    number++;
  if (__builtin_expect(number < count, 1)) return number;
  pthread_mutex_lock(&memory_lock);
  count = atomic_load_explicit(&pool_count, memory_order_relaxed);
  while (number < count && (pools[number].device.type != device.type || pools[number].device.index != device.index))
    number++;
  if (number == POOL_MAXIMUM) {
    number--;
  } else if (number == count) {
    pools[number].device = device;
    atomic_store_explicit(&pool_count, count + 1, memory_order_release);
  }
  pthread_mutex_unlock(&memory_lock);
  return number;
}

/* ---- What is not recorded yet. */

void memory_kept_note(uintptr_t address, int64_t bytes) {
  pthread_mutex_lock(&memory_lock);
  uint32_t left_out;
  if (bytes == MEMORY_SIZE_UNKNOWN)
    live_memory_take(&before, address, &left_out);
  else
    live_memory_put(&before, address, bytes, 0);
  pthread_mutex_unlock(&memory_lock);
}

void memory_take_over(struct live_memory *live) {
  pthread_mutex_lock(&memory_lock);
  *live = before;
  before = (struct live_memory){0};
  pthread_mutex_unlock(&memory_lock);
}

void memory_after_fork_in_child(const struct live_memory *live) { before = *live; }
