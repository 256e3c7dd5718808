/* memory_callbacks.c: the path of an allocation, a release and a failure (see memory_callbacks.h).
**
** Compiled with -fexceptions: a C++ exception that leaves c10::alloc_cpu passes through allocate() here, whose cleanup
** then records the failure.
*/
#include "memory_callbacks.h"

#include "clock.h"
#include "op_callbacks.h"
#include "python_frames.h"
#include "recording.h"
#include "session.h"
#include "torch_api.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define ENTRY_POINT __attribute__((visibility("default"), used))

/* A recording that waits for its next frame loses at most half a second to SIGKILL: too much where memory grows until
** the kernel kills. When large pieces of so much together have been given, the writer thread is to look at once. */
enum { LARGE_PIECE = 1 << 20, LOOK_AFTER = 64 << 20 };
static _Atomic int64_t large_bytes;

enum stage {
  STAGE_OFF,
  STAGE_BEFORE, /* what is given is kept in `before` */
  STAGE_RECORDED,
};
static _Atomic int stage;
static bool records_stacks;

pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER; /* of `before`, and of making pools */
static struct live_memory before;

static struct memory_pool pools[POOL_MAXIMUM] = {[POOL_CPU] = {{DEVICE_TYPE_CPU, -1}},
                                                 [POOL_MAPPED] = {{DEVICE_TYPE_CPU, -1}}};
static _Atomic unsigned pool_count = POOL_MAPPED + 1;

/* ---- The proof. */

enum { WATCHED = 16 };
static struct watched {
  uintptr_t address;
  int64_t bytes; /* MEMORY_SIZE_UNKNOWN: taken back */
} watched[WATCHED];
static unsigned watched_count;
static pthread_t watcher;
static _Atomic bool is_watched;

void memory_watch(void) {
  watched_count = 0;
  watcher = pthread_self();
  atomic_store(&is_watched, true);
}

bool memory_prove(uintptr_t address, int64_t bytes, char *reason, size_t size) {
  bool is_given = false, is_taken = false;
  atomic_store(&is_watched, false);
  for (unsigned i = 0; i < watched_count; i++) {
    if (watched[i].address != address) continue;
    if (watched[i].bytes == bytes) is_given = true;
    if (watched[i].bytes == MEMORY_SIZE_UNKNOWN && is_given) is_taken = true;
  }
  if (!watched_count)
    snprintf(reason, size, "PyTorch's memory does not pass through this library; was it loaded before the library?");
  else if (!is_taken)
    snprintf(reason, size, "this PyTorch gets its memory in another way: of a tensor's %lld bytes the %s was not seen",
             (long long)bytes, is_given ? "release" : "allocation");
  return is_taken;
}

static __attribute__((noinline)) void watch(uintptr_t address, int64_t bytes) {
  if (!pthread_equal(watcher, pthread_self()) || watched_count == WATCHED) return;
  watched[watched_count++] = (struct watched){address, bytes};
}

/* ---- Pools. */

const struct memory_pool *memory_pool_of_number(unsigned number) {
  return number < atomic_load_explicit(&pool_count, memory_order_acquire) ? &pools[number] : NULL;
}

/* The number of the device's pool; new ones are few. What is beyond POOL_MAXIMUM counts as the last one. */
static unsigned pool_number(struct torch_device device) {
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

static void keep_before(uintptr_t address, int64_t bytes) {
  pthread_mutex_lock(&memory_lock);
  if (bytes == MEMORY_SIZE_UNKNOWN)
    live_memory_take(&before, address);
  else
    live_memory_put(&before, address, bytes);
  pthread_mutex_unlock(&memory_lock);
}

void memory_take_over(struct live_memory *live) {
  pthread_mutex_lock(&memory_lock);
  *live = before;
  before = (struct live_memory){0};
  pthread_mutex_unlock(&memory_lock);
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
  uint32_t forgets = thread->forgets, node = python_stack_node(thread, frame, NULL);
  if (__builtin_expect(forgets != thread->forgets, 0)) node = python_stack_node(thread, frame, NULL);
  return node;
}

/* Outside of recorded ops each piece would cost a walk over the whole stack, more than all else that is recorded of it
** and of a step that does little but launch ops more than may be.  So in steps whose ops are left out only what matters
** by itself has one. */
static inline bool wants_stack(enum item_kind kind, int64_t bytes) {
  if (!records_stacks || bytes < 0) return false;
  return bytes >= LARGE_PIECE || kind == ITEM_OUT_OF_MEMORY || ops_are_armed();
}

/* false: nothing is recorded on this thread now. */
static inline bool record(enum item_kind kind, unsigned pool, const void *address, int64_t bytes, uint64_t in_use,
                          uint64_t reserved) {
  uint64_t ticks = clock_ticks();
  struct capture_thread *thread = capture_current_thread;
  if (__builtin_expect(!thread, 0) && !(thread = enter_thread(bytes < 0))) return false;
  uint32_t node = wants_stack(kind, bytes) ? current_stack(thread) : 0;
  struct memory_item *item = thread_reserve(thread, sizeof *item);
  if (__builtin_expect(!item, 0)) {
    atomic_fetch_add_explicit(&thread->lost_memory, 1, memory_order_relaxed);
    return true;
  }
  item->head = (struct item){(uint8_t)kind, (uint8_t)pool, sizeof *item / 16, node};
  item->bytes = bytes;
  item->ticks = ticks;
  item->address = (uintptr_t)address;
  item->in_use = in_use;
  item->reserved = reserved;
  thread_commit(thread, sizeof *item);
  uint64_t written = atomic_load_explicit(&thread->memory_written, memory_order_relaxed);
  atomic_store_explicit(&thread->memory_written, written + 1, memory_order_relaxed);
  __builtin_prefetch(item + 3, 1);
  return true;
}

static inline void look_soon(int64_t bytes) {
  if (__builtin_expect(bytes < LARGE_PIECE, 1)) return;
  if (atomic_fetch_add_explicit(&large_bytes, bytes, memory_order_relaxed) + bytes < LOOK_AFTER) return;
  atomic_store_explicit(&large_bytes, 0, memory_order_relaxed);
  recording_look();
}

/* Given when bytes is a size, taken back when it is MEMORY_SIZE_UNKNOWN. */
static inline void note_cpu(const void *address, int64_t bytes) {
  int now = atomic_load_explicit(&stage, memory_order_relaxed);
  if (__builtin_expect(atomic_load_explicit(&is_watched, memory_order_relaxed), 0)) watch((uintptr_t)address, bytes);
  if (now == STAGE_OFF) return;
  if (__builtin_expect(now == STAGE_BEFORE, 0) ||
      !record(ITEM_MEMORY, POOL_CPU, address, bytes, MEMORY_UNKNOWN, MEMORY_UNKNOWN))
    keep_before((uintptr_t)address, bytes);
  else
    look_soon(bytes);
}

static void note_failure(unsigned pool, int64_t bytes, uint64_t in_use, uint64_t reserved) {
  if (atomic_load_explicit(&stage, memory_order_relaxed) != STAGE_RECORDED) return;
  if (record(ITEM_OUT_OF_MEMORY, pool, NULL, bytes, in_use, reserved)) recording_hurry();
}

/* ---- In the place of PyTorch's functions. */

ENTRY_POINT void *memory_allocate(size_t bytes) __asm__("_ZN3c109alloc_cpuEm");
ENTRY_POINT void memory_release(void *address) __asm__("_ZN3c108free_cpuEPv");
ENTRY_POINT void memory_reported(void *address, int64_t bytes, size_t in_use, size_t reserved,
                                 struct torch_device device)
    __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
ENTRY_POINT void memory_failed(int64_t bytes, size_t in_use, size_t reserved, struct torch_device device)
    __asm__("_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE");

/* The same before PyTorch 2.0, where the totals were int64_t: other names, the same registers. */
ENTRY_POINT void memory_reported_signed(void *address, int64_t bytes, int64_t in_use, int64_t reserved,
                                        struct torch_device device)
    __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE");
ENTRY_POINT void memory_failed_signed(int64_t bytes, int64_t in_use, int64_t reserved, struct torch_device device)
    __asm__("_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE");

static pthread_once_t find_once = PTHREAD_ONCE_INIT;
static void find(void) { torch_memory_find(NULL, 0); }
static inline bool is_found(void) {
  if (__builtin_expect(!torch_memory.allocate, 0)) pthread_once(&find_once, find);
  return torch_memory.allocate != NULL;
}

struct attempt {
  size_t bytes;
  bool has_ended;
};
static void attempt_left(struct attempt *attempt) {
  if (__builtin_expect(!attempt->has_ended, 0))
    note_failure(POOL_CPU, attempt->bytes > INT64_MAX ? INT64_MAX : (int64_t)attempt->bytes, MEMORY_UNKNOWN,
                 MEMORY_UNKNOWN);
}

void *memory_allocate(size_t bytes) {
  struct attempt attempt __attribute__((cleanup(attempt_left))) = {bytes, false};
  void *address = NULL;
  /* That it is not found cannot be, for who else would call? It aligns to 64 bytes (c10/core/alignment.h). */
  if (is_found())
    address = torch_memory.allocate(bytes);
  else if (bytes && posix_memalign(&address, 64, bytes))
    address = NULL;
  attempt.has_ended = true;
  if (address) note_cpu(address, (int64_t)bytes);
  return address;
}

/* Noted before it is given to somebody else. */
void memory_release(void *address) {
  if (address) note_cpu(address, MEMORY_SIZE_UNKNOWN);
  if (is_found())
    torch_memory.release(address);
  else
    free(address);
}

/* The allocator of the CPU reports only where a profiler of the user is active; we have seen the same below it. */
static bool is_cpu_allocator(struct torch_device device, uintptr_t caller) {
  return device.type == DEVICE_TYPE_CPU && caller >= torch_memory.begin && caller < torch_memory.end;
}

static void report(void *address, int64_t bytes, size_t in_use, size_t reserved, struct torch_device device,
                   uintptr_t caller) {
  if (!is_found()) return;
  torch_memory.report(address, bytes, in_use, reserved, device);
  if (atomic_load_explicit(&stage, memory_order_relaxed) != STAGE_RECORDED || is_cpu_allocator(device, caller)) return;
  unsigned pool = pool_number(device);
  /* Mappings come with a total of 0 and reserve what they are. */
  bool has_totals = pool != POOL_MAPPED;
  if (record(ITEM_MEMORY, pool, address, bytes, has_totals ? in_use : MEMORY_UNKNOWN,
             has_totals ? reserved : MEMORY_UNKNOWN))
    look_soon(bytes);
}

static void report_failure(int64_t bytes, size_t in_use, size_t reserved, struct torch_device device,
                           uintptr_t caller) {
  if (!is_found()) return;
  torch_memory.report_failure(bytes, in_use, reserved, device);
  if (!is_cpu_allocator(device, caller)) note_failure(pool_number(device), bytes, in_use, reserved);
}

void memory_reported(void *address, int64_t bytes, size_t in_use, size_t reserved, struct torch_device device) {
  report(address, bytes, in_use, reserved, device, (uintptr_t)__builtin_return_address(0));
}

void memory_failed(int64_t bytes, size_t in_use, size_t reserved, struct torch_device device) {
  report_failure(bytes, in_use, reserved, device, (uintptr_t)__builtin_return_address(0));
}

void memory_reported_signed(void *address, int64_t bytes, int64_t in_use, int64_t reserved,
                            struct torch_device device) {
  report(address, bytes, (size_t)in_use, (size_t)reserved, device, (uintptr_t)__builtin_return_address(0));
}

void memory_failed_signed(int64_t bytes, int64_t in_use, int64_t reserved, struct torch_device device) {
  report_failure(bytes, (size_t)in_use, (size_t)reserved, device, (uintptr_t)__builtin_return_address(0));
}

/* ---- Begin and end. */

void memory_begin(void) {
  int expected = STAGE_OFF;
  atomic_compare_exchange_strong(&stage, &expected, STAGE_BEFORE);
}

void memory_arm(bool with_stacks) {
  records_stacks = with_stacks && python_layout.version != 0;
  atomic_store(&stage, STAGE_RECORDED);
}

void memory_disarm(void) {
  atomic_store(&stage, STAGE_OFF);
  struct live_memory live;
  memory_take_over(&live);
  live_memory_end(&live);
}

void memory_after_fork_in_child(const struct live_memory *live) { before = *live; }
