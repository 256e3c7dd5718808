/* memory_callbacks.c: the path of an allocation, a release and a failure (see memory_callbacks.h). */
#include "memory_callbacks.h"

#include "clock.h"
#include "python_frames.h"
#include "recording.h"
#include "session.h"
#include "torch_api.h"

#include <pthread.h>
#include <stdio.h>

#define ENTRY_POINT __attribute__((visibility("default"), used))

/* A recording that waits for its next frame loses at most half a second to SIGKILL: too much where memory grows until
** the kernel kills. Growth by this share of the peak and this many bytes is written at once. */
enum { HURRY_SHARE = 16, HURRY_BYTES = 64 << 20 };

static bool is_asked; /* written before PyTorch is loaded */
static _Atomic bool is_recorded;
static bool records_stacks;

static struct memory_pool pools[POOL_MAXIMUM];
static _Atomic unsigned pool_count;
static pthread_mutex_t pool_guard = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t peaks[POOL_MAXIMUM], hurry_at[POOL_MAXIMUM];
static uint64_t peaks_before[POOL_MAXIMUM]; /* written before there is a writer thread */

/* ---- The proof. */

enum { WATCHED = 16 };
static struct watched {
  uintptr_t address;
  int64_t bytes;
  size_t in_use, reserved;
  struct torch_device device;
  bool is_cpu_allocator;
} watched[WATCHED];
static unsigned watched_count;
static pthread_t watcher;
static _Atomic bool is_watched;

void memory_ask(bool is_wanted) { is_asked = is_wanted; }

void memory_watch(void) {
  watched_count = 0;
  watcher = pthread_self();
  atomic_store(&is_watched, true);
}

bool memory_prove(uintptr_t address, int64_t bytes, char *reason, size_t size) {
  atomic_store(&is_watched, false);
  const struct watched *given = NULL, *taken = NULL;
  for (unsigned i = 0; i < watched_count; i++) {
    if (watched[i].address != address) continue;
    if (watched[i].bytes == bytes && !taken) given = &watched[i];
    if (watched[i].bytes == -bytes && given) taken = &watched[i];
  }
  if (!watched_count) {
    snprintf(reason, size, "PyTorch does not tell this library about its memory; was it loaded before the library?");
    return false;
  }
  bool is_right = given && taken && given->in_use >= (size_t)bytes && given->reserved == 0 && taken->reserved == 0 &&
                  given->is_cpu_allocator && taken->is_cpu_allocator;
  if (!is_right)
    snprintf(reason, size,
             "this PyTorch tells about its memory in another way: %u reports on a tensor of %lld bytes, %s",
             watched_count, (long long)bytes,
             !given ? "none that it was allocated" : !taken ? "none that it was released" : "with other totals");
  return is_right;
}

static void watch(uintptr_t address, int64_t bytes, size_t in_use, size_t reserved, struct torch_device device,
                  bool is_cpu_allocator) {
  if (!pthread_equal(watcher, pthread_self()) || watched_count == WATCHED) return;
  watched[watched_count++] = (struct watched){address, bytes, in_use, reserved, device, is_cpu_allocator};
}

/* ---- Pools. */

const struct memory_pool *memory_pool_of_number(unsigned number) {
  return number < atomic_load_explicit(&pool_count, memory_order_acquire) ? &pools[number] : NULL;
}

uint64_t memory_pool_peak_before(unsigned number) { return peaks_before[number]; }

static unsigned find_pool(unsigned count, struct torch_device device, bool is_cpu_allocator) {
  unsigned number = 0;
  while (number < count && (pools[number].device.type != device.type || pools[number].device.index != device.index ||
                            pools[number].is_cpu_allocator != is_cpu_allocator))
    number++;
  return number;
}

/* The number of the pool; new ones are few. What is beyond POOL_MAXIMUM counts as the last one. */
static unsigned pool_number(struct torch_device device, bool is_cpu_allocator) {
  if (device.type == DEVICE_TYPE_CPU) device.index = -1;
  unsigned count = atomic_load_explicit(&pool_count, memory_order_acquire);
  unsigned number = find_pool(count, device, is_cpu_allocator);
  if (__builtin_expect(number < count, 1)) return number;
  pthread_mutex_lock(&pool_guard);
  count = atomic_load_explicit(&pool_count, memory_order_relaxed);
  number = find_pool(count, device, is_cpu_allocator);
  if (number == POOL_MAXIMUM) {
    number--;
  } else if (number == count) {
    pools[number] = (struct memory_pool){device, is_cpu_allocator};
    atomic_store_explicit(&pool_count, count + 1, memory_order_release);
  }
  pthread_mutex_unlock(&pool_guard);
  return number;
}

/* Mappings come with a total of 0 and reserve what they are. */
static bool has_total(unsigned pool) {
  return pools[pool].device.type != DEVICE_TYPE_CPU || pools[pool].is_cpu_allocator;
}

/* Whether it has grown by so much that this must be in the file soon. */
static bool note_peak(unsigned pool, uint64_t in_use) {
  uint64_t peak = atomic_load_explicit(&peaks[pool], memory_order_relaxed);
  if (__builtin_expect(in_use <= peak, 1)) return false;
  while (in_use > peak && !atomic_compare_exchange_weak(&peaks[pool], &peak, in_use)) continue;
  if (in_use < atomic_load_explicit(&hurry_at[pool], memory_order_relaxed)) return false;
  atomic_store_explicit(&hurry_at[pool], in_use + in_use / HURRY_SHARE + HURRY_BYTES, memory_order_relaxed);
  return true;
}

/* ---- Recording. */

/* A release alone begins no recording in a forked child: those that only clean up and exit leave no file. */
static struct capture_thread *enter_thread(bool is_release) {
  bool is_recording = is_release ? session_is_running() : session_is_recording();
  return is_recording ? thread_enter(torch.current_thread()) : NULL;
}

/* Inside an op that began at the same place of the program its stack is known already. */
static uint32_t current_stack(struct capture_thread *thread) {
  const uint8_t *frame = python_current_frame();
  if (!frame) return 0;
  uint32_t depth = atomic_load_explicit(&thread->depth, memory_order_relaxed);
  if (depth) {
    const struct open_op *op = &thread->open[depth - 1];
    if (op->frame == frame && op->scope != SCOPE_USER && op->instruction == python_instruction(frame)) return op->stack;
  }
  uint32_t forgets = thread->forgets, node = python_stack_node(thread, frame);
  if (__builtin_expect(forgets != thread->forgets, 0)) node = python_stack_node(thread, frame);
  return node;
}

static void record(enum item_kind kind, unsigned pool, void *address, int64_t bytes, size_t in_use, size_t reserved) {
  uint64_t ticks = clock_ticks();
  struct capture_thread *thread = capture_current_thread;
  if (__builtin_expect(!thread, 0) && !(thread = enter_thread(bytes < 0))) return;
  uint32_t node = records_stacks && bytes >= 0 ? current_stack(thread) : 0;
  struct memory_item *item = thread_reserve(thread, sizeof *item);
  if (__builtin_expect(!item, 0)) {
    atomic_fetch_add_explicit(&thread->lost_memory, 1, memory_order_relaxed);
    return;
  }
  item->head = (struct item){(uint8_t)kind, (uint8_t)pool, sizeof *item / 16, node};
  item->bytes = bytes;
  item->ticks = ticks;
  item->address = (uintptr_t)address;
  item->in_use = has_total(pool) ? in_use : MEMORY_UNKNOWN;
  item->reserved = pools[pool].device.type != DEVICE_TYPE_CPU ? reserved : MEMORY_UNKNOWN;
  thread_commit(thread, sizeof *item);
  __builtin_prefetch(item + 3, 1);
}

/* ---- In the place of PyTorch's functions. */

ENTRY_POINT bool memory_enabled(void) __asm__("_ZN3c1022memoryProfilingEnabledEv");
ENTRY_POINT void memory_reported(void *address, int64_t bytes, size_t in_use, size_t reserved,
                                 struct torch_device device)
    __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
ENTRY_POINT void memory_failed(int64_t bytes, size_t in_use, size_t reserved, struct torch_device device)
    __asm__("_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE");

bool memory_enabled(void) { return is_asked || memory_user_listens(); }

void memory_reported(void *address, int64_t bytes, size_t in_use, size_t reserved, struct torch_device device) {
  bool is_cpu_allocator = memory_is_cpu_allocator(device, (uintptr_t)__builtin_return_address(0));
  if (!is_cpu_allocator || !is_asked) {
    if (torch_memory.report) torch_memory.report(address, bytes, in_use, reserved, device);
  } else if (__builtin_expect(memory_user_listens(), 0)) {
    memory_forward_cpu(address, bytes, device);
  }
  if (__builtin_expect(atomic_load_explicit(&is_watched, memory_order_relaxed), 0))
    watch((uintptr_t)address, bytes, in_use, reserved, device, is_cpu_allocator);
  if (!is_asked) return;
  unsigned pool = pool_number(device, is_cpu_allocator);
  bool is_growing = has_total(pool) && note_peak(pool, in_use);
  if (!atomic_load_explicit(&is_recorded, memory_order_relaxed)) return;
  record(ITEM_MEMORY, pool, address, bytes, in_use, reserved);
  if (__builtin_expect(is_growing, 0)) recording_hurry();
}

void memory_failed(int64_t bytes, size_t in_use, size_t reserved, struct torch_device device) {
  bool is_cpu_allocator = memory_is_cpu_allocator(device, (uintptr_t)__builtin_return_address(0));
  if (!is_cpu_allocator || !is_asked) {
    if (torch_memory.report_failure) torch_memory.report_failure(bytes, in_use, reserved, device);
  } else if (memory_user_listens()) {
    memory_forward_cpu_failure(bytes, device);
  }
  if (!is_asked || !atomic_load_explicit(&is_recorded, memory_order_relaxed)) return;
  record(ITEM_OUT_OF_MEMORY, pool_number(device, is_cpu_allocator), NULL, bytes, in_use, reserved);
  recording_hurry();
}

static void keep_peaks(void) {
  for (unsigned i = 0; i < POOL_MAXIMUM; i++) peaks_before[i] = atomic_load(&peaks[i]);
}

void memory_arm(bool with_stacks) {
  keep_peaks();
  records_stacks = with_stacks && python_layout.version != 0;
  atomic_store(&is_recorded, is_asked);
}

void memory_disarm(void) { atomic_store(&is_recorded, false); }

void memory_after_fork_in_child(void) {
  pthread_mutex_init(&pool_guard, NULL);
  memory_forwarding_reset();
  keep_peaks();
}
