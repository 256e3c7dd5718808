/* nvtx_ranges.c: see nvtx_ranges.h.
**
** The writer thread looks at what is open when the recording ends, and the threads go on meanwhile: so the text of an
** open range, which is never 0, is written last and taken away first, and what lies beside it is atomic.
**
** Each domain has a stack of its own, but all of a thread lie on one: where a range ends below those of other domains
** these move down, so that domains which take turns use up no places.
*/
#include "nvtx_ranges.h"

#include "channel/number_list.h"
#include "channel/thread_record.h"
#include "governor/sampling.h"
#include "nvtx_abi.h"
#include "nvtx_texts.h"
#include "recorder/clock.h"
#include "recorder/gate.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

struct open_range {
  _Atomic uint32_t text; /* 0: none */
  _Atomic uint32_t color, category, payload;
  _Atomic uint64_t start_ticks, value;
  _Atomic uint16_t domain, thread;
  uint16_t level; /* ranges of its domain that are around it */
  _Atomic uint8_t scope;
};

/* Of a thread. */
struct range_stack {
  _Atomic uint32_t depth;
  uint32_t beyond;   /* ranges that are open beyond NVTX_OPEN_MAXIMUM */
  uint32_t payloads; /* numbers of ITEM_PAYLOAD, which ascend over the lives of the structure */
  uint32_t number; /* 1, 2, ... */
  struct open_range open[NVTX_OPEN_MAXIMUM];
};

/* Of the process: id is 0 while it is free, and 1 while somebody fills or empties it. */
struct started_range {
  _Atomic uint64_t id;
  struct open_range range;
  uint32_t life;
};
enum { STARTED_FREE = 0, STARTED_BUSY = 1, STARTED_PROBES = 64 };
#define STARTED_UNKNOWN UINT64_MAX /* the id of one for which there was no room */

static struct started_range started[NVTX_STARTED_MAXIMUM];
static _Atomic uint64_t started_count; /* and with it the next id: its lowest bits are the place */
static _Atomic bool is_armed, wants_full;

static _Atomic(struct range_stack *) stacks[NVTX_STACKS];
static _Atomic unsigned stack_count;
static _Atomic uint32_t next_free[NVTX_STACKS];
static struct number_list free_stacks = {.next = next_free};
static _Thread_local struct range_stack *own_stack __attribute__((tls_model("initial-exec")));
static pthread_key_t end_of_thread;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static bool has_key;

struct nvtx_faults nvtx_faults;

static inline void count(_Atomic uint64_t *counter) { atomic_fetch_add_explicit(counter, 1, memory_order_relaxed); }

void nvtx_ranges_arm(void) { atomic_store_explicit(&is_armed, true, memory_order_release); }
void nvtx_ranges_disarm(void) { atomic_store_explicit(&is_armed, false, memory_order_relaxed); }
void nvtx_ranges_set_full(bool is_full) { atomic_store_explicit(&wants_full, is_full, memory_order_relaxed); }

/* ---- Stacks. */

static void thread_ended(void *pointer) {
  struct range_stack *stack = pointer;
  own_stack = NULL;
  atomic_store_explicit(&stack->depth, 0, memory_order_relaxed);
  number_list_give(&free_stacks, stack->number);
}

static unsigned stacks_made(void) {
  unsigned made = atomic_load(&stack_count);
  return made < NVTX_STACKS ? made : NVTX_STACKS;
}

static void make_key(void) { has_key = pthread_key_create(&end_of_thread, thread_ended) == 0; }

static struct range_stack *take_stack(void) {
  uint32_t number = number_list_take(&free_stacks);
  if (number) return atomic_load_explicit(&stacks[number - 1], memory_order_acquire);
  if (atomic_load_explicit(&stack_count, memory_order_relaxed) >= NVTX_STACKS) return NULL;
  void *memory = mmap(NULL, sizeof(struct range_stack), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  unsigned place = atomic_fetch_add(&stack_count, 1);
  if (place >= NVTX_STACKS) {
    atomic_fetch_sub(&stack_count, 1);
    munmap(memory, sizeof(struct range_stack));
    return NULL;
  }
  struct range_stack *stack = memory;
  stack->number = place + 1;
  atomic_store_explicit(&stacks[place], stack, memory_order_release);
  return stack;
}

static __attribute__((noinline, cold)) struct range_stack *enter_stack(void) {
  pthread_once(&key_once, make_key);
  struct range_stack *stack = has_key ? take_stack() : NULL;
  if (!stack) {
    count(&nvtx_faults.threads);
    return NULL;
  }
  stack->beyond = 0;
  pthread_setspecific(end_of_thread, stack);
  return own_stack = stack;
}

static inline struct range_stack *stack_of_thread(void) {
  struct range_stack *stack = own_stack;
  return __builtin_expect(stack != NULL, 1) ? stack : enter_stack();
}

void nvtx_ranges_reset(void) {
  atomic_store(&free_stacks.head, 0);
  for (unsigned i = 0, made = stacks_made(); i < made; i++) {
    struct range_stack *stack = atomic_load(&stacks[i]);
    if (!stack || stack == own_stack) continue;
    atomic_store(&stack->depth, 0);
    number_list_give(&free_stacks, stack->number);
  }
  uint32_t depth = own_stack ? atomic_load(&own_stack->depth) : 0;
  for (uint32_t i = 0; i < depth; i++) { /* the thread has another number here, and no payloads */
    atomic_store(&own_stack->open[i].thread, 0);
    atomic_store(&own_stack->open[i].payload, 0);
  }
  for (unsigned i = 0; i < NVTX_STARTED_MAXIMUM && i < atomic_load(&started_count); i++) {
    if (atomic_load(&started[i].id) == STARTED_BUSY) atomic_store(&started[i].id, STARTED_FREE);
    atomic_store(&started[i].range.thread, 0);
    atomic_store(&started[i].range.payload, 0);
  }
}

/* ---- Items. */

/* NULL: nothing is recorded now. */
static inline struct capture_thread *thread_that_records(enum refused what) {
  if (__builtin_expect(!atomic_load_explicit(&is_armed, memory_order_acquire), 0)) return NULL;
  struct capture_thread *thread = capture_current_thread;
  if (__builtin_expect(!thread, 0)) return thread_enter(what);
  return __builtin_expect(thread_is_of_recording(thread), 1) || thread_renew(thread) ? thread : NULL;
}

/* The number of the JSON, which is written; 0: there is none, or no room. */
static __attribute__((noinline)) uint32_t write_payload(struct capture_thread *thread, struct range_stack *stack,
                                                        const struct nvtx_event *event) {
  uint32_t size = (uint32_t)(sizeof(struct bytes_item) + event->json_length + 15) & ~15u;
  struct bytes_item *item = thread_reserve(thread, size);
  if (!item) {
    count(&nvtx_faults.lost);
    return 0;
  }
  if (!++stack->payloads) stack->payloads = 1;
  item->head = (struct item){ITEM_PAYLOAD, 0, (uint16_t)(size / 16), stack->payloads};
  item->length = event->json_length;
  item->padding = 0;
  memcpy(item->bytes, event->json, event->json_length);
  thread_commit(thread, size);
  return stack->payloads;
}

static inline void put(struct open_range *range, const struct nvtx_event *event, uint8_t kind,
                       struct capture_thread *thread, struct range_stack *stack) {
  uint32_t payload = __builtin_expect(event->json_length && thread, 0) ? write_payload(thread, stack, event) : 0;
  uint8_t scope = (uint8_t)(kind | event->value_sort << NVTX_SCOPE_VALUE | (event->has_color ? NVTX_SCOPE_COLOR : 0));
  atomic_store_explicit(&range->color, event->color, memory_order_relaxed);
  atomic_store_explicit(&range->category, event->category, memory_order_relaxed);
  atomic_store_explicit(&range->payload, payload, memory_order_relaxed);
  atomic_store_explicit(&range->value, event->value, memory_order_relaxed);
  atomic_store_explicit(&range->domain, event->domain, memory_order_relaxed);
  atomic_store_explicit(&range->thread, (uint16_t)(thread ? thread->number : 0), memory_order_relaxed);
  atomic_store_explicit(&range->scope, scope, memory_order_relaxed);
}

/* What is said at the end wins. */
static void put_late(struct open_range *range, const struct nvtx_event *late, struct capture_thread *thread,
                     struct range_stack *stack) {
  if (late->text) atomic_store_explicit(&range->text, late->text, memory_order_relaxed);
  if (late->category) atomic_store_explicit(&range->category, late->category, memory_order_relaxed);
  uint8_t scope = atomic_load_explicit(&range->scope, memory_order_relaxed);
  if (late->has_color) {
    atomic_store_explicit(&range->color, late->color, memory_order_relaxed);
    scope |= NVTX_SCOPE_COLOR;
  }
  if (late->json_length && thread) {
    atomic_store_explicit(&range->payload, write_payload(thread, stack, late), memory_order_relaxed);
    atomic_store_explicit(&range->thread, (uint16_t)thread->number, memory_order_relaxed); /* whose number it is */
    scope &= (uint8_t)~(7 << NVTX_SCOPE_VALUE);
  }
  atomic_store_explicit(&range->scope, scope, memory_order_relaxed);
}

static inline uint8_t scope_now(uint8_t scope) {
  return (uint8_t)(scope | (atomic_load_explicit(&wants_full, memory_order_relaxed) ? NVTX_SCOPE_FULL : 0));
}

static inline void fill_item(struct range_item *item, const struct open_range *range, uint64_t end_ticks,
                             uint32_t size) {
  item->head = (struct item){ITEM_RANGE, scope_now(atomic_load_explicit(&range->scope, memory_order_relaxed)),
                             (uint16_t)(size / 16), atomic_load_explicit(&range->text, memory_order_relaxed)};
  item->start_ticks = atomic_load_explicit(&range->start_ticks, memory_order_relaxed);
  item->end_ticks = end_ticks;
  item->value = atomic_load_explicit(&range->value, memory_order_relaxed);
  item->payload = atomic_load_explicit(&range->payload, memory_order_relaxed);
  item->color = atomic_load_explicit(&range->color, memory_order_relaxed);
  item->category = atomic_load_explicit(&range->category, memory_order_relaxed);
  item->domain = atomic_load_explicit(&range->domain, memory_order_relaxed);
  item->owner = atomic_load_explicit(&range->thread, memory_order_relaxed);
}

/* ---- Push and pop. */

/* The innermost that is open in the domain; NULL: there is none. */
static inline struct open_range *innermost(struct range_stack *stack, unsigned domain) {
  uint32_t place = atomic_load_explicit(&stack->depth, memory_order_relaxed);
  while (place--) {
    struct open_range *range = &stack->open[place];
    if (__builtin_expect(atomic_load_explicit(&range->domain, memory_order_relaxed) == domain, 1)) return range;
  }
  return NULL;
}

static void move_range(struct open_range *to, struct open_range *from) {
  uint32_t text = atomic_exchange_explicit(&from->text, 0, memory_order_relaxed);
  atomic_store_explicit(&to->start_ticks, atomic_load_explicit(&from->start_ticks, memory_order_relaxed),
                        memory_order_relaxed);
  atomic_store_explicit(&to->value, atomic_load_explicit(&from->value, memory_order_relaxed), memory_order_relaxed);
  atomic_store_explicit(&to->color, atomic_load_explicit(&from->color, memory_order_relaxed), memory_order_relaxed);
  atomic_store_explicit(&to->category, atomic_load_explicit(&from->category, memory_order_relaxed),
                        memory_order_relaxed);
  atomic_store_explicit(&to->payload, atomic_load_explicit(&from->payload, memory_order_relaxed),
                        memory_order_relaxed);
  atomic_store_explicit(&to->domain, atomic_load_explicit(&from->domain, memory_order_relaxed), memory_order_relaxed);
  atomic_store_explicit(&to->thread, atomic_load_explicit(&from->thread, memory_order_relaxed), memory_order_relaxed);
  atomic_store_explicit(&to->scope, atomic_load_explicit(&from->scope, memory_order_relaxed), memory_order_relaxed);
  to->level = from->level;
  atomic_store_explicit(&to->text, text, memory_order_release);
}

static inline void take_out(struct range_stack *stack, struct open_range *range) {
  uint32_t depth = atomic_load_explicit(&stack->depth, memory_order_relaxed);
  struct open_range *last = &stack->open[depth - 1];
  atomic_store_explicit(&range->text, 0, memory_order_relaxed);
  for (; __builtin_expect(range < last, 0); range++) move_range(range, range + 1);
  atomic_store_explicit(&stack->depth, depth - 1, memory_order_release);
}

/* A range has been popped. Steps are of one thread, so that what may end on another one marks none; and one within
** another is a part of it. */
static inline void end_step(const struct range_stack *stack, struct capture_thread *thread, uint32_t text,
                            uint64_t start_ticks, uint64_t end_ticks) {
  uint32_t step = nvtx_text(text)->step;
  if (__builtin_expect(!step, 1)) return;
  for (uint32_t i = 0; i < atomic_load_explicit(&stack->depth, memory_order_relaxed); i++) {
    if (nvtx_text(atomic_load_explicit(&stack->open[i].text, memory_order_relaxed))->step) return;
  }
  sampling_mark_ended(MARK_NVTX, thread->number, step, start_ticks, end_ticks);
}

int nvtx_push(const struct nvtx_event *event) {
  struct range_stack *stack = stack_of_thread();
  struct capture_thread *thread = thread_that_records(REFUSED_BEGIN);
  if (__builtin_expect(!stack, 0)) return NVTX_NOT_TRACKED;
  uint32_t depth = atomic_load_explicit(&stack->depth, memory_order_relaxed);
  if (__builtin_expect(depth == NVTX_OPEN_MAXIMUM, 0)) {
    count(&nvtx_faults.too_deep);
    return (int)(depth + stack->beyond++);
  }
  struct open_range *range = &stack->open[depth];
  const struct open_range *around = innermost(stack, event->domain);
  int level = range->level = around ? around->level + 1u : 0;
  put(range, event, NVTX_PUSHED, thread, stack);
  atomic_store_explicit(&range->text, event->text, memory_order_release);
  atomic_store_explicit(&stack->depth, depth + 1, memory_order_release);
  atomic_store_explicit(&range->start_ticks, clock_ticks(), memory_order_relaxed);
  return level;
}

int nvtx_pop(unsigned domain, const struct nvtx_event *late) {
  uint64_t end_ticks = clock_ticks();
  struct range_stack *stack = stack_of_thread();
  struct capture_thread *thread = thread_that_records(REFUSED_OP);
  if (__builtin_expect(!stack, 0)) return NVTX_NOT_TRACKED;
  if (__builtin_expect(stack->beyond, 0)) return (int)(NVTX_OPEN_MAXIMUM + --stack->beyond);
  struct open_range *range = innermost(stack, domain);
  if (__builtin_expect(!range, 0)) {
    count(&nvtx_faults.pops_without_push);
    return NVTX_NOT_TRACKED;
  }
  if (__builtin_expect(late != NULL, 0)) put_late(range, late, thread, stack);
  uint32_t text = atomic_load_explicit(&range->text, memory_order_relaxed);
  uint64_t start_ticks = atomic_load_explicit(&range->start_ticks, memory_order_relaxed);
  struct range_item *item = thread ? thread_reserve(thread, sizeof *item) : NULL;
  if (__builtin_expect(item != NULL, 1)) {
    fill_item(item, range, end_ticks, sizeof *item);
    thread_commit(thread, sizeof *item);
    __builtin_prefetch(item + 3, 1);
    thread_count_written(thread, WRITTEN_RANGES);
  } else if (thread) {
    count(&nvtx_faults.lost);
  }
  int level = range->level;
  take_out(stack, range);
  if (thread) end_step(stack, thread, text, start_ticks, end_ticks);
  return level;
}

/* ---- Start and end. */

uint64_t nvtx_start(const struct nvtx_event *event) {
  struct range_stack *stack = stack_of_thread();
  struct capture_thread *thread = thread_that_records(REFUSED_BEGIN);
  if (__builtin_expect(!stack, 0)) return STARTED_UNKNOWN;
  for (unsigned i = 0; i < STARTED_PROBES; i++) {
    uint64_t number = atomic_fetch_add_explicit(&started_count, 1, memory_order_relaxed) + NVTX_STARTED_MAXIMUM;
    struct started_range *place = &started[number % NVTX_STARTED_MAXIMUM];
    uint64_t expected = STARTED_FREE;
    if (!atomic_compare_exchange_strong_explicit(&place->id, &expected, STARTED_BUSY, memory_order_acquire,
                                                 memory_order_relaxed))
      continue;
    put(&place->range, event, NVTX_STARTED, thread, stack);
    place->life = thread ? atomic_load_explicit(&thread->life, memory_order_relaxed) : 0;
    atomic_store_explicit(&place->range.text, event->text, memory_order_relaxed);
    atomic_store_explicit(&place->range.start_ticks, clock_ticks(), memory_order_relaxed);
    atomic_store_explicit(&place->id, number, memory_order_release);
    return number;
  }
  count(&nvtx_faults.too_many_started);
  return STARTED_UNKNOWN;
}

void nvtx_end(uint64_t id, const struct nvtx_event *late) {
  uint64_t end_ticks = clock_ticks(), expected = id;
  struct started_range *place = &started[id % NVTX_STARTED_MAXIMUM];
  if (id == STARTED_UNKNOWN) return; /* counted when it began */
  bool is_open = id >= NVTX_STARTED_MAXIMUM &&
                 atomic_compare_exchange_strong_explicit(&place->id, &expected, STARTED_BUSY, memory_order_acquire,
                                                         memory_order_relaxed);
  if (!is_open) {
    count(&nvtx_faults.ends_without_start);
    return;
  }
  struct range_stack *stack = stack_of_thread();
  struct capture_thread *thread = stack ? thread_that_records(REFUSED_OP) : NULL;
  if (late && thread) {
    put_late(&place->range, late, thread, stack);
    if (late->json_length) place->life = atomic_load_explicit(&thread->life, memory_order_relaxed);
  }
  end_ticks = clock_end_ticks(atomic_load_explicit(&place->range.start_ticks, memory_order_relaxed), end_ticks);
  struct started_item *item = thread ? thread_reserve(thread, sizeof *item) : NULL;
  if (item) {
    fill_item(&item->range, &place->range, end_ticks, sizeof *item);
    item->life = place->life;
    memset(item->padding, 0, sizeof item->padding);
    thread_commit(thread, sizeof *item);
    thread_count_written(thread, WRITTEN_RANGES);
  } else if (thread) {
    count(&nvtx_faults.lost);
  }
  atomic_store_explicit(&place->id, STARTED_FREE, memory_order_release);
}

/* ---- Marks. */

void nvtx_mark(const struct nvtx_event *event) {
  uint64_t ticks = clock_ticks();
  struct range_stack *stack = stack_of_thread();
  struct capture_thread *thread = stack ? thread_that_records(REFUSED_OP) : NULL;
  if (!thread) return;
  struct open_range range;
  put(&range, event, NVTX_MARKED, thread, stack);
  atomic_store_explicit(&range.text, event->text, memory_order_relaxed);
  atomic_store_explicit(&range.start_ticks, ticks, memory_order_relaxed);
  struct range_item *item = thread_reserve(thread, sizeof *item);
  if (!item) {
    count(&nvtx_faults.lost);
    return;
  }
  fill_item(item, &range, ticks, sizeof *item);
  thread_commit(thread, sizeof *item);
  thread_count_written(thread, WRITTEN_RANGES);
}

/* ---- What is open. */

static void give_open(const struct open_range *range, void (*take)(void *context, const struct nvtx_open *open),
                      void *context) {
  uint32_t text = atomic_load_explicit(&range->text, memory_order_acquire);
  const struct nvtx_open open = {
      .start_ticks = atomic_load_explicit(&range->start_ticks, memory_order_relaxed),
      .value = atomic_load_explicit(&range->value, memory_order_relaxed),
      .text = text,
      .color = atomic_load_explicit(&range->color, memory_order_relaxed),
      .category = atomic_load_explicit(&range->category, memory_order_relaxed),
      .payload = atomic_load_explicit(&range->payload, memory_order_relaxed),
      .domain = atomic_load_explicit(&range->domain, memory_order_relaxed),
      .thread = atomic_load_explicit(&range->thread, memory_order_relaxed),
      .scope = atomic_load_explicit(&range->scope, memory_order_relaxed),
  };
  if (text && open.start_ticks) take(context, &open);
}

void nvtx_ranges_open(void (*take)(void *context, const struct nvtx_open *open), void *context) {
  for (unsigned i = 0, made = stacks_made(); i < made; i++) {
    struct range_stack *stack = atomic_load_explicit(&stacks[i], memory_order_acquire);
    uint32_t depth = stack ? atomic_load_explicit(&stack->depth, memory_order_acquire) : 0;
    for (uint32_t j = 0; j < depth && j < NVTX_OPEN_MAXIMUM; j++) give_open(&stack->open[j], take, context);
  }
  uint64_t begun = atomic_load(&started_count);
  for (unsigned i = 0; i < NVTX_STARTED_MAXIMUM && i < begun; i++)
    if (atomic_load_explicit(&started[i].id, memory_order_acquire) > STARTED_BUSY)
      give_open(&started[i].range, take, context);
}
