/* memory_callbacks.c: the path of an allocation, a release and a failure (see memory_callbacks.h).
**
** Compiled with -fexceptions: a C++ exception that leaves c10::alloc_cpu passes through allocate() here, whose cleanup
** then records the failure.
*/
#include "memory_callbacks.h"

#include "channel/thread_record.h"
#include "memory_pools.h"
#include "memory_rows.h"
#include "python/python_frames.h"
#include "recorder/clock.h"
#include "recorder/doorbell.h"
#include "recorder/gate.h"
#include "recorder/parts.h"
#include "recorder/settings.h"
#include "recorder/recording.h"
#include "torch_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY_POINT __attribute__((visibility("default"), used))

/* A recording that waits for its next frame loses at most half a second to SIGKILL: too much where memory grows until
** the kernel kills. When large pieces of so much together have been given, the writer thread is to look at once. */
enum { LARGE_PIECE = 1 << 20, LOOK_AFTER = 64 << 20, FAILURE_MS = 200 };
static _Atomic int64_t large_bytes;

enum stage {
  STAGE_OFF,
  STAGE_BEFORE, /* what is given is kept in memory_pools.c */
  STAGE_RECORDED,
};
static _Atomic int stage;
static bool records_stacks;

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
  memory_turn_ends();
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
    snprintf(reason, size, "PyTorch's memory does not pass through this library; %s",
             settings_were_told() ? "it does only where a program is started with tfprof-capture"
                                  : "was it loaded before the library?");
  else if (!is_taken)
    snprintf(reason, size, "this PyTorch gets its memory in another way: of a tensor's %lld bytes the %s was not seen",
             (long long)bytes, is_given ? "release" : "allocation");
  return is_taken;
}

static __attribute__((noinline)) void watch(uintptr_t address, int64_t bytes) {
  if (!pthread_equal(watcher, pthread_self()) || watched_count == WATCHED) return;
  watched[watched_count++] = (struct watched){address, bytes};
}

/* ---- Recording. */

/* A release alone begins no recording in a forked child: those that only clean up and exit leave no file. */
static struct capture_thread *enter_thread(bool is_release) {
  return is_release && !gate_is_open() ? NULL : thread_enter(REFUSED_MEMORY);
}

/* Inside an op that began at the same place of the program its stack is known already. */
static uint32_t current_stack(struct capture_thread *thread) {
  const uint8_t *frame = gate_is_ours() ? python_current_frame() : NULL;
  if (!frame) return 0;
  uint32_t depth = atomic_load_explicit(&thread->depth, memory_order_relaxed);
  if (depth) {
    const struct open_op *op = &thread->open[depth - 1];
    if (op->frame == frame && op->instruction == python_instruction(frame)) return op->stack;
  }
  uint32_t forgets = thread->changes.forgets, node = python_stack_node(thread, frame, false);
  if (__builtin_expect(forgets != thread->changes.forgets, 0)) node = python_stack_node(thread, frame, false);
  return node;
}

/* Outside of recorded ops each piece would cost a walk over the whole stack, more than all else that is recorded of it
** and of a step that does little but launch ops more than may be.  So in steps whose ops are left out only what matters
** by itself has one. */
static inline bool wants_stack(enum item_kind kind, int64_t bytes) {
  if (!records_stacks || bytes < 0) return false;
  return bytes >= LARGE_PIECE || kind == ITEM_OUT_OF_MEMORY || gate_wants_full();
}

/* ---- Brief items. Most changes of memory lie between recorded steps, where the clock and a cache line for each take
** longer than all else. The thread whose turn it is leaves both out. Whoever records a change takes the turn first and
** reads the clock then, or ends it: so of two changes that come after each other, such as one thread's release and the
** next one's allocation at its address, the second one never seems to be the earlier one. */

enum { BRIEF_RUN = 16 };

static bool may_be_brief(void) {
  return !gate_wants_full() && atomic_load(&stage) == STAGE_RECORDED && !atomic_load(&is_watched);
}

/* When it is now, on this thread, which is about to record a change. */
static uint64_t take_turn(struct capture_thread *thread) {
  bool is_mine = atomic_load_explicit(&memory_turn, memory_order_relaxed) == thread->number;
  bool is_wanted = is_mine || may_be_brief();
  if (is_wanted && !is_mine) {
    atomic_exchange(&memory_turn, thread->number);
    clock_fence();
  }
  uint64_t ticks = clock_ticks();
  clock_fence();
  /* If another one has the turn by now it may have read the clock earlier; or ops are recorded, or nothing is. */
  uint32_t whose = atomic_load(&memory_turn);
  if (whose && (whose != thread->number || !may_be_brief())) memory_turn_ends();
  return ticks;
}

/* false: it may not be, or there is no room in the chunk. */
static inline bool record_briefly(const void *address, uint32_t bytes) {
  struct capture_thread *thread = capture_current_thread;
  if (!thread || atomic_load_explicit(&memory_turn, memory_order_relaxed) != thread->number || !thread->brief_left ||
      thread->position + sizeof(struct memory_brief) > CHUNK_SIZE)
    return false;
  struct memory_brief *item = (struct memory_brief *)(void *)(thread->bytes + thread->position);
  item->head = (struct item){ITEM_MEMORY_BRIEF, 0, 1, bytes};
  item->address = (uintptr_t)address;
  thread->brief_left--;
  thread_commit(thread, sizeof *item);
  thread_count_written(thread, WRITTEN_MEMORY);
  __builtin_prefetch(item + 4, 1);
  return true;
}

/* false: nothing is recorded on this thread now. */
static inline bool record(enum item_kind kind, unsigned pool, const void *address, int64_t bytes, uint64_t in_use,
                          uint64_t reserved) {
  struct capture_thread *thread = capture_current_thread;
  if (__builtin_expect(!thread, 0) && !(thread = enter_thread(bytes < 0))) return false;
  if (__builtin_expect(!thread_is_of_recording(thread), 0) && !thread_renew(thread)) return false;
  thread->brief_left = 0;
  uint64_t ticks = take_turn(thread);
  uint32_t node = wants_stack(kind, bytes) ? current_stack(thread) : 0;
  struct memory_item *item = thread_reserve(thread, sizeof *item);
  if (__builtin_expect(!item, 0)) {
    atomic_fetch_add_explicit(&thread->lost_memory, 1, memory_order_relaxed);
    return true;
  }
  unsigned when = gate_wants_full() ? 0 : MEMORY_WITHOUT_OPS;
  item->head = (struct item){(uint8_t)kind, (uint8_t)(pool | when), sizeof *item / 16, node};
  item->bytes = bytes;
  item->ticks = ticks;
  item->address = (uintptr_t)address;
  item->in_use = in_use;
  item->reserved = reserved;
  thread_commit(thread, sizeof *item);
  thread_count_written(thread, WRITTEN_MEMORY);
  thread->brief_left = BRIEF_RUN;
  __builtin_prefetch(item + 3, 1);
  return true;
}

static inline void look_soon(int64_t bytes) {
  if (__builtin_expect(bytes < LARGE_PIECE, 1)) return;
  if (atomic_fetch_add_explicit(&large_bytes, bytes, memory_order_relaxed) + bytes < LOOK_AFTER) return;
  atomic_store_explicit(&large_bytes, 0, memory_order_relaxed);
  doorbell_ring_to_look();
}

static __attribute__((noinline)) void note_whole(const void *address, int64_t bytes) {
  int now = atomic_load_explicit(&stage, memory_order_relaxed);
  if (__builtin_expect(atomic_load_explicit(&is_watched, memory_order_relaxed), 0)) watch((uintptr_t)address, bytes);
  if (now == STAGE_OFF || !gate_is_ours()) return;
  bool is_before = __builtin_expect(now == STAGE_BEFORE, 0);
  if (!is_before && record(ITEM_MEMORY, POOL_CPU, address, bytes, MEMORY_UNKNOWN, MEMORY_UNKNOWN))
    look_soon(bytes);
  else if (is_before || !gate_is_open()) /* else the thread is left out */
    memory_kept_note((uintptr_t)address, bytes);
}

/* Given when bytes is a size, taken back when it is MEMORY_SIZE_UNKNOWN. */
static inline void note_cpu(const void *address, int64_t bytes) {
  uint32_t brief = bytes < 0 ? 0 : (uint32_t)bytes;
  if (__builtin_expect(bytes < LARGE_PIECE && record_briefly(address, brief), 1)) return;
  note_whole(address, bytes);
}

/* The op on top, whose row comes when it ends; of what the program dies of that may be never. */
static const void *current_op_name(void) {
  const struct capture_thread *thread = capture_current_thread;
  uint32_t place = thread ? atomic_load_explicit(&thread->depth, memory_order_relaxed) : 0;
  const struct open_op *op = place ? &thread->open[place - 1] : NULL;
  bool is_known = op && !atomic_load_explicit(&op->pin, memory_order_relaxed);
  return (const void *)(uintptr_t)(is_known ? op->name : 0);
}

/* A program that has no more memory may be killed at any moment, so it is written before it goes on, where that takes
** no longer than FAILURE_MS. Nothing that the writer thread does waits for the program. */
static void note_failure(unsigned pool, int64_t bytes, uint64_t in_use, uint64_t reserved) {
  if (atomic_load_explicit(&stage, memory_order_relaxed) != STAGE_RECORDED) return;
  if (record(ITEM_OUT_OF_MEMORY, pool, current_op_name(), bytes, in_use, reserved)) recording_flush(FAILURE_MS);
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
static const void *_Atomic first_caller; /* a place in the code that called first */
static void find_memory(void) {
  if (!torch_memory.allocate) torch_memory_find(first_caller, NULL, 0);
}
/* Before any of them is called. */
static inline void find_for(const void *caller) {
  if (__builtin_expect(atomic_load_explicit(&torch_memory.allocate, memory_order_acquire) != NULL, 1)) return;
  const void *nobody = NULL;
  atomic_compare_exchange_strong(&first_caller, &nobody, caller);
  pthread_once(&find_once, find_memory);
}

/* A program that runs without us has a next definition, for who else would call? Where there is none all the same,
** memory is given and taken as PyTorch would: aligned to 64 bytes (c10/core/alignment.h), or an exception. */
static __attribute__((noinline, cold)) void *allocate_instead(size_t bytes) {
  void *address = NULL;
  if (!bytes || !posix_memalign(&address, 64, bytes)) return address;
  void (*throw_bad_alloc)(void);
  void *function = dlsym(RTLD_DEFAULT, "_ZSt17__throw_bad_allocv"); /* of libstdc++ */
  memcpy(&throw_bad_alloc, &function, sizeof function);
  if (throw_bad_alloc) throw_bad_alloc();
  return NULL;
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
  find_for(__builtin_return_address(0));
  void *(*allocate)(size_t) = atomic_load_explicit(&torch_memory.allocate, memory_order_relaxed);
  void *address = allocate ? allocate(bytes) : allocate_instead(bytes);
  attempt.has_ended = true;
  if (address) note_cpu(address, (int64_t)bytes);
  return address;
}

/* Noted before it is given to somebody else. */
void memory_release(void *address) {
  if (address) note_cpu(address, MEMORY_SIZE_UNKNOWN);
  find_for(__builtin_return_address(0));
  if (torch_memory.release) torch_memory.release(address);
  else if (!torch_memory.allocate) free(address); /* else it stays: whose it is is not known */
}

/* The allocator of the CPU reports only where a profiler of the user is active; we have seen the same below it. */
static bool is_cpu_allocator(struct torch_device device, uintptr_t caller) {
  return device.type == DEVICE_TYPE_CPU && caller >= torch_memory.begin && caller < torch_memory.end;
}

static void report(void *address, int64_t bytes, size_t in_use, size_t reserved, struct torch_device device,
                   uintptr_t caller) {
  if (torch_memory.report) torch_memory.report(address, bytes, in_use, reserved, device);
  if (atomic_load_explicit(&stage, memory_order_relaxed) != STAGE_RECORDED || is_cpu_allocator(device, caller)) return;
  unsigned pool = memory_pool_number(device);
  /* Mappings come with a total of 0 and reserve what they are. */
  bool has_totals = pool != POOL_MAPPED;
  if (record(ITEM_MEMORY, pool, address, bytes, has_totals ? in_use : MEMORY_UNKNOWN,
             has_totals ? reserved : MEMORY_UNKNOWN))
    look_soon(bytes);
}

static void report_failure(int64_t bytes, size_t in_use, size_t reserved, struct torch_device device,
                           uintptr_t caller) {
  if (torch_memory.report_failure) torch_memory.report_failure(bytes, in_use, reserved, device);
  if (!is_cpu_allocator(device, caller)) note_failure(memory_pool_number(device), bytes, in_use, reserved);
}

void memory_reported(void *address, int64_t bytes, size_t in_use, size_t reserved, struct torch_device device) {
  find_for(__builtin_return_address(0));
  report(address, bytes, in_use, reserved, device, (uintptr_t)__builtin_return_address(0));
}

void memory_failed(int64_t bytes, size_t in_use, size_t reserved, struct torch_device device) {
  find_for(__builtin_return_address(0));
  report_failure(bytes, in_use, reserved, device, (uintptr_t)__builtin_return_address(0));
}

void memory_reported_signed(void *address, int64_t bytes, int64_t in_use, int64_t reserved,
                            struct torch_device device) {
  find_for(__builtin_return_address(0));
  report(address, bytes, (size_t)in_use, (size_t)reserved, device, (uintptr_t)__builtin_return_address(0));
}

void memory_failed_signed(int64_t bytes, int64_t in_use, int64_t reserved, struct torch_device device) {
  find_for(__builtin_return_address(0));
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
  int before = atomic_exchange(&stage, STAGE_OFF);
  memory_turn_ends();
  if (before != STAGE_BEFORE) return; /* what was kept belongs to what the writer thread has not read yet */
  struct live_memory live;
  memory_take_over(&live);
  live_memory_end(&live);
}

/* It is seen from the beginning, and recorded where that was proved. */
static bool memory_source_arm(const struct source_wishes *wishes) {
  if (memory_part.state == PART_OK)
    memory_arm(wishes->with_stacks);
  else
    memory_disarm();
  return true;
}

/* ---- What it costs. */

/* Of what recording an op takes a change of memory takes one part in so many, while no ops are recorded
** (tests/bench/bench_capture_callbacks.c: 2 ns where all is in the cache). */
enum { PART_OF_OP = 64 };
static double change_ns = 6;

void memory_set_cost(double op_ns) { change_ns = op_ns / PART_OF_OP; }

static void memory_cost(uint32_t thread, struct source_cost *cost) {
  (void)thread;
  cost->always_ns += (double)threads_written(WRITTEN_MEMORY) * change_ns;
}

/* ---- The source. */

/* What a forked child inherits of its parent, between closing the parent's file and reset. */
static struct live_memory inherited;

static void memory_close(bool in_child) { memory_rows_close(in_child ? &inherited : NULL); }

static const char * memory_reset(bool is_whole) {
  memory_after_fork_in_child(&inherited);
  inherited = (struct live_memory){0};
  if (!is_whole && memory_part.state == PART_OK)
    part_set(&memory_part, PART_DEGRADED, "what was in use when the process was forked is not known");
  return NULL;
}

struct capture_part memory_part = {.name = "memory"};

const struct capture_source memory_source = {
    .name = "memory",
    .needs_framework = true,
    .parts = (struct capture_part *const[]){&memory_part, NULL},
    .locks = (const struct fork_lock[]){{.lock = &memory_lock}, {0}},
    .arm = memory_source_arm,
    .disarm = memory_disarm,
    .cost = memory_cost,
    .stop = memory_disarm,
    .reset = memory_reset,
    .open = memory_rows_open,
    .drain = memory_rows_drain,
    .items = MEMORY_ITEMS,
    .item = memory_rows_item,
    .tick = memory_rows_tick,
    .losses = memory_rows_losses,
    .close = memory_close,
};
