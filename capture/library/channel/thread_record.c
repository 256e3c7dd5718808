/* thread_record.c: the list of threads, their chunks, and the rare paths of their tables (see thread_record.h). */
#include "thread_record.h"

#include "recorder/doorbell.h"
#include "recorder/gate.h"
#include "number_list.h"
#include "thread_names.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

_Thread_local struct capture_thread *capture_current_thread __attribute__((tls_model("initial-exec")));
uint32_t capture_session = 1; /* 0 is that of a structure which a fork that no handler saw has emptied */
_Atomic uint32_t capture_recording = 1;
_Atomic uint32_t memory_turn;

enum {
  EARLY_THREADS = 256, /* once so many structures were made the bell is rung for more, */
  KEPT_FREE = 256,     /* and so many that are free keep their memory */
  STRIPES = 64,
};

static _Atomic(struct capture_thread *) threads[THREAD_MAXIMUM];
static _Atomic unsigned threads_made;
_Atomic uint32_t capture_thread_states[THREAD_MAXIMUM];
static _Atomic uint32_t next_free[THREAD_MAXIMUM];
static struct number_list free_numbers = {.next = next_free};
static _Atomic uint32_t free_count;
static _Atomic bool is_asked; /* for a free structure, since the writer thread's last slot began */
static _Atomic bool lacks_memory;

/* Changes whenever a thread that was refused may ask again. */
static _Atomic uint64_t chances = 1;
/* Of the calling thread: `chances` when it was refused last; 0: it never was. */
static _Thread_local uint64_t refused_at __attribute__((tls_model("initial-exec")));
static _Thread_local uint32_t stripe __attribute__((tls_model("initial-exec"))); /* of `refused`, in which it counts */
static _Atomic uint64_t left_out;
static struct {
  _Alignas(64) _Atomic uint64_t count[REFUSED_KINDS];
} refused[STRIPES]; /* by several threads each: so that few of them want the same cache line */

static _Atomic uint64_t far_written[WRITTEN_KINDS];
static void (*tell_entry)(struct capture_thread *thread);
static pthread_key_t end_of_thread;
static bool has_key;

unsigned thread_count(void) {
  unsigned count = atomic_load(&threads_made);
  return count < THREAD_MAXIMUM ? count : THREAD_MAXIMUM;
}

struct capture_thread *thread_of_number(unsigned number) {
  return number && number <= THREAD_MAXIMUM ? atomic_load_explicit(&threads[number - 1], memory_order_acquire) : NULL;
}

uint64_t threads_refused(enum refused what) {
  uint64_t count = 0;
  for (unsigned i = 0; i < STRIPES; i++) count += atomic_load_explicit(&refused[i].count[what], memory_order_relaxed);
  return count;
}

uint64_t threads_left_out(void) { return atomic_load_explicit(&left_out, memory_order_relaxed); }

uint64_t threads_written(enum written what) {
  uint64_t written = atomic_load_explicit(&far_written[what], memory_order_relaxed);
  unsigned count = thread_count();
  for (unsigned number = 1; number <= count && number <= NEAR_THREADS; number++) {
    const struct capture_thread *thread = thread_of_number(number);
    if (thread) written += atomic_load_explicit(&thread->written[what], memory_order_relaxed);
  }
  return written;
}

void thread_note_written(enum written what, uint64_t more) {
  atomic_fetch_add_explicit(&far_written[what], more, memory_order_relaxed);
}

static void set_state(const struct capture_thread *thread, enum thread_state state) {
  atomic_store_explicit(&capture_thread_states[thread->number - 1], state, memory_order_release);
}

static void thread_ended(void *pointer) {
  struct capture_thread *thread = pointer;
  capture_current_thread = NULL;
  if (thread->session == capture_session) set_state(thread, THREAD_ENDED);
}

bool thread_records_begin(uint64_t buffer_bytes) {
  if (!has_key) has_key = pthread_key_create(&end_of_thread, thread_ended) == 0;
  return has_key && chunk_pool_begin(buffer_bytes);
}

void thread_records_reset(void) {
  capture_current_thread = NULL;
  memory_turn_ends();
  if (has_key) pthread_setspecific(end_of_thread, NULL);
  for (unsigned i = 0, made = thread_count(); i < made; i++) {
    atomic_store_explicit(&threads[i], NULL, memory_order_relaxed);
    atomic_store_explicit(&capture_thread_states[i], THREAD_RUNNING, memory_order_relaxed);
  }
  atomic_store(&threads_made, 0);
  atomic_store(&free_numbers.head, 0);
  atomic_store(&free_count, 0);
  atomic_store(&is_asked, false);
  atomic_store(&lacks_memory, false);
  refused_at = 0;
  atomic_store(&left_out, 0);
  memset(refused, 0, sizeof refused);
  memset(far_written, 0, sizeof far_written);
  chunk_pool_reset();
  thread_names_reset();
}

/* ---- Structures. */

/* Without huge pages: one would be there as a whole once a byte of it is touched. */
static void *map_structure(size_t size) {
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  madvise(memory, size, MADV_NOHUGEPAGE);
  if (getpagesize() == FORK_PAGE) madvise(memory, offsetof(struct capture_thread, open), MADV_WIPEONFORK);
  return memory;
}

/* Of a thread that enters while nothing is recorded, for the marks that it makes: none yet. */
static uint32_t recording_now(void) { return gate_is_open() ? atomic_load(&capture_recording) : 0; }

/* A new one, which the system fills with zeros when its pages are touched. */
static struct capture_thread *make_structure(void) {
  if (atomic_load_explicit(&threads_made, memory_order_relaxed) >= THREAD_MAXIMUM) return NULL;
  size_t size = sizeof(struct capture_thread) + ARENA_SIZE;
  void *memory = map_structure(size);
  if (!memory) {
    atomic_store(&lacks_memory, true);
    return NULL;
  }
  unsigned place = atomic_fetch_add(&threads_made, 1);
  if (place >= THREAD_MAXIMUM) {
    atomic_fetch_sub(&threads_made, 1);
    munmap(memory, size);
    return NULL;
  }
  struct capture_thread *thread = memory;
  thread->number = place + 1;
  thread->session = capture_session;
  thread->generation = 1;
  thread->recording = recording_now();
  thread->arena = (struct arena){(uint8_t *)memory + sizeof *thread, 0, ARENA_SIZE};
  return thread;
}

/* One that a thread left behind, or a new one. */
static struct capture_thread *find_structure(void) {
  uint32_t number = number_list_take(&free_numbers);
  if (!number) return make_structure();
  atomic_fetch_sub_explicit(&free_count, 1, memory_order_relaxed);
  struct capture_thread *thread = atomic_load_explicit(&threads[number - 1], memory_order_acquire);
  thread->recording = recording_now();
  set_state(thread, THREAD_RUNNING);
  return thread;
}

/* The writer thread makes structures free, and comes by itself before long. */
static void ask_for_structures(void) {
  if (!atomic_load_explicit(&is_asked, memory_order_relaxed) && !atomic_exchange(&is_asked, true))
    doorbell_ring_to_look();
}

void thread_records_pulse(void) { atomic_store_explicit(&is_asked, false, memory_order_relaxed); }

void thread_records_tick(void) {
  if (atomic_exchange(&lacks_memory, false)) atomic_fetch_add(&chances, 1);
}

struct capture_thread *thread_adopt(uint64_t logical_thread) {
  struct capture_thread *thread = find_structure();
  if (!thread || thread->number > EARLY_THREADS) ask_for_structures();
  if (!thread) return NULL;
  thread->tid = (uint32_t)syscall(SYS_gettid);
  thread->logical_thread = logical_thread;
  thread->python_state = NULL;
  thread->brief_left = 0;
  if (prctl(PR_GET_NAME, thread->name) != 0) thread->name[0] = 0;
  thread_name_copy(thread->tid, thread->python_name, sizeof thread->python_name);
  atomic_fetch_add_explicit(&thread->life, 1, memory_order_release);
  atomic_store_explicit(&threads[thread->number - 1], thread, memory_order_release);
  return thread;
}

void thread_tell_entry(void (*entered)(struct capture_thread *thread)) { tell_entry = entered; }

static void count_refused(enum refused what) {
  atomic_fetch_add_explicit(&refused[stripe].count[what], 1, memory_order_relaxed);
}

static __attribute__((noinline)) struct capture_thread *enter(enum refused what) {
  uint64_t chance = atomic_load_explicit(&chances, memory_order_acquire); /* before looking, so that none is missed */
  int error = errno; /* the program may be about to look at it */
  struct capture_thread *thread = thread_adopt(0);
  if (thread) {
    tell_entry(thread);
    pthread_setspecific(end_of_thread, thread);
    capture_current_thread = thread;
  } else {
    if (!refused_at) stripe = (uint32_t)(atomic_fetch_add_explicit(&left_out, 1, memory_order_relaxed) % STRIPES);
    refused_at = chance;
    count_refused(what);
  }
  errno = error;
  return thread;
}

struct capture_thread *thread_enter(enum refused what) {
  if (!gate_may_record() && !gate_counts_steps()) return NULL;
  if (refused_at != atomic_load_explicit(&chances, memory_order_relaxed)) return enter(what);
  count_refused(what);
  return NULL;
}

void thread_enter_again(struct capture_thread *thread) { tell_entry(thread); }

/* ---- What is open. */

static unsigned count_open_ranges(const struct capture_thread *thread) {
  uint32_t count = atomic_load_explicit(&thread->range_count, memory_order_acquire), open = 0;
  for (uint32_t i = 0; i < count; i++) open += !atomic_load_explicit(&thread->ranges[i].is_done, memory_order_acquire);
  return open;
}

bool thread_has_open_ranges(struct capture_thread *thread) { return count_open_ranges(thread) != 0; }

unsigned thread_open_count(const struct capture_thread *thread) {
  return atomic_load_explicit(&thread->depth, memory_order_relaxed) + count_open_ranges(thread);
}

/* What an op needs. The writer thread may be looking, and takes it for there twice. */
static void copy_op(struct open_op *to, const struct open_op *from) {
  to->object = from->object;
  to->frame = from->frame;
  to->instruction = from->instruction;
  to->start_ticks = from->start_ticks;
  to->name = from->name;
  to->inputs = from->inputs;
  to->node = from->node;
  to->stack = from->stack;
  atomic_store_explicit(&to->pin, atomic_load_explicit(&from->pin, memory_order_relaxed), memory_order_relaxed);
  atomic_store_explicit(&to->scope, open_op_scope(from), memory_order_relaxed);
  atomic_store_explicit(&to->is_engine_range, atomic_load_explicit(&from->is_engine_range, memory_order_relaxed),
                        memory_order_relaxed);
  to->is_told = from->is_told;
  to->has_child = from->has_child;
  to->uncaught = from->uncaught;
  to->sequence = from->sequence;
  to->forward_thread = from->forward_thread;
}

void thread_take_out(struct capture_thread *thread, uint32_t place) {
  uint32_t depth = atomic_load_explicit(&thread->depth, memory_order_relaxed) - 1;
  for (; place < depth; place++) copy_op(&thread->open[place], &thread->open[place + 1]);
  atomic_store_explicit(&thread->depth, depth, memory_order_relaxed);
}

struct open_op *thread_take_range(struct capture_thread *thread) {
  uint32_t number = thread->free_range;
  if (!number) number = atomic_exchange_explicit(&thread->ended_range, 0, memory_order_acquire);
  if (number) {
    struct open_op *range = &thread->ranges[number - 1];
    thread->free_range = atomic_load_explicit(&range->next, memory_order_relaxed);
    return range;
  }
  uint32_t count = atomic_load_explicit(&thread->range_count, memory_order_relaxed);
  if (count == RANGE_MAXIMUM) return NULL;
  struct open_op *range = &thread->ranges[count];
  atomic_store_explicit(&range->is_done, 1, memory_order_relaxed); /* until it has begun */
  atomic_store_explicit(&thread->range_count, count + 1, memory_order_release);
  return range;
}

void thread_give_range(struct capture_thread *owner, struct open_op *range) {
  uint32_t number = (uint32_t)(range - owner->ranges) + 1;
  atomic_store_explicit(&range->is_done, 1, memory_order_release);
  if (owner == capture_current_thread) {
    atomic_store_explicit(&range->next, owner->free_range, memory_order_relaxed);
    owner->free_range = number;
    return;
  }
  /* The owner takes all of them at once, so that a place cannot be the first one again meanwhile. */
  uint32_t first = atomic_load_explicit(&owner->ended_range, memory_order_relaxed);
  do atomic_store_explicit(&range->next, first, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&owner->ended_range, &first, number, memory_order_release,
                                                memory_order_relaxed));
}

bool thread_runs_op(const struct capture_thread *thread, bool *is_backward) {
  uint32_t depth = atomic_load_explicit(&thread->depth, memory_order_relaxed);
  bool runs = false;
  *is_backward = false;
  for (uint32_t i = 0; i < depth && i < OPEN_MAXIMUM; i++) {
    const struct open_op *op = &thread->open[i];
    uint8_t scope = open_op_scope(op);
    if (scope == SCOPE_PYTHON) continue;
    runs = true;
    *is_backward |=
        scope == SCOPE_BACKWARD_FUNCTION || atomic_load_explicit(&op->is_engine_range, memory_order_relaxed);
  }
  return runs;
}

/* What the thread has entered becomes unknown, so that it is entered anew. */
static void forget_entries(struct capture_thread *thread) {
  thread->arena.used = 0;
  thread->stack_depth = 0;
  thread->generation++;
  thread->op_seed++;
  intern_forget(&thread->schemas);
  intern_forget(&thread->names);
  intern_forget(&thread->inputs);
  intern_forget(&thread->codes);
  intern_forget(&thread->modules);
  intern_forget(&thread->nodes);
}

bool thread_renew(struct capture_thread *thread) {
  uint32_t recording = atomic_load(&capture_recording); /* before the gate is looked at */
  if (!gate_may_record()) return false;
  struct item *item = thread_reserve(thread, 16);
  if (!item) return false;
  memset(item, 0, 16);
  *item = (struct item){ITEM_RENEWED, 0, 1, recording};
  thread_commit(thread, 16);
  atomic_store_explicit(&thread->depth, 0, memory_order_relaxed);
  atomic_store_explicit(&thread->lost, 0, memory_order_relaxed);
  atomic_store_explicit(&thread->too_deep, 0, memory_order_relaxed);
  atomic_store_explicit(&thread->lost_memory, 0, memory_order_relaxed);
  atomic_store_explicit(&thread->cut, 0, memory_order_relaxed);
  thread->changes.forgets++;
  thread->call_count = 0;
  thread->brief_left = 0;
  forget_entries(thread);
  thread->recording = recording;
  return true;
}

/* What a burst of threads has left is given back: what lies there is void, or 0 in a new structure, too. Not so the
** places of ranges, whose list goes on. */
static void give_pages_back(struct capture_thread *thread) {
  enum { PAGE = 4096 };
  uintptr_t begin = ((uintptr_t)thread->open + PAGE - 1) / PAGE * PAGE, end = (uintptr_t)thread->ranges / PAGE * PAGE;
  madvise((void *)begin, end - begin, MADV_DONTNEED);
  begin = ((uintptr_t)thread->arena.base + PAGE - 1) / PAGE * PAGE;
  madvise((void *)begin, (uintptr_t)thread->arena.base + ARENA_SIZE - begin, MADV_DONTNEED);
}

void thread_recycle(struct capture_thread *thread) {
  atomic_store(&thread->depth, 0);
  atomic_store(&thread->is_shared, 0);
  thread->last_range = NULL;
  thread->chunk = NULL;
  thread->position = 0;
  atomic_store(&thread->first_chunk, NULL);
  forget_entries(thread);
  thread->call_count = 0;
  if (atomic_load_explicit(&free_count, memory_order_relaxed) >= KEPT_FREE) give_pages_back(thread);
  set_state(thread, THREAD_FREE);
  atomic_fetch_add_explicit(&free_count, 1, memory_order_relaxed);
  number_list_give(&free_numbers, thread->number);
  atomic_fetch_add_explicit(&chances, 1, memory_order_release);
}

void *thread_next_chunk(struct capture_thread *thread, uint32_t bytes) {
  if (bytes > CHUNK_SIZE || !gate_is_ours()) return NULL;
  struct chunk *chunk = chunk_acquire(!thread->chunk);
  if (!chunk || chunk_pool_is_half_full()) doorbell_ring_to_look();
  if (!chunk) return NULL;
  if (thread->chunk)
    atomic_store_explicit(&thread->chunk->next, chunk, memory_order_release);
  else
    atomic_store_explicit(&thread->first_chunk, chunk, memory_order_release);
  thread->chunk = chunk;
  thread->bytes = chunk->bytes;
  thread->position = 0;
  return chunk->bytes;
}

static bool write_bytes_item(struct capture_thread *thread, enum item_kind kind, uint32_t id, const void *bytes,
                             uint32_t length) {
  uint32_t size = (uint32_t)(sizeof(struct bytes_item) + length + 15) & ~15u;
  struct bytes_item *item = thread_reserve(thread, size);
  if (!item) return false;
  item->head = (struct item){(uint8_t)kind, 0, (uint16_t)(size / 16), id};
  item->length = length;
  item->padding = 0;
  memcpy(item->bytes, bytes, length);
  thread_commit(thread, size);
  return true;
}

/* The item is written before the entry is made: an entry without its item would leave ops without names. */
static uint32_t intern_item(struct capture_thread *thread, struct intern_table *table, enum item_kind kind,
                            uint64_t hash, const void *bytes, uint32_t length) {
  struct intern_slot *slot = intern_find_bytes(table, &thread->arena, hash, bytes, length);
  if (!slot) {
    if (!write_bytes_item(thread, kind, table->last_id + 1, bytes, length)) return 0;
    slot = intern_add_bytes(table, &thread->arena, hash, bytes, length);
    if (!slot) {
      table->last_id++; /* its item is written */
      if (!thread_forget(thread)) return 0;
      if (!write_bytes_item(thread, kind, table->last_id + 1, bytes, length)) return 0;
      slot = intern_add_bytes(table, &thread->arena, hash, bytes, length);
      if (!slot) return 0;
    }
  }
  return slot->id;
}

uint32_t thread_intern_name(struct capture_thread *thread, uint64_t hash, const char *text, uint32_t length) {
  return intern_item(thread, &thread->names, ITEM_NAME, hash, text, length);
}

uint32_t thread_intern_inputs(struct capture_thread *thread, uint64_t hash, const void *words, uint32_t length) {
  return intern_item(thread, &thread->inputs, ITEM_INPUTS, hash, words, length);
}

static _Atomic uint64_t longest_name;

void name_cut(uint64_t length) {
  uint64_t longest = atomic_load_explicit(&longest_name, memory_order_relaxed);
  while (longest < length && !atomic_compare_exchange_weak_explicit(&longest_name, &longest, length,
                                                                    memory_order_relaxed, memory_order_relaxed)) {
  }
}

uint64_t name_longest_cut(void) { return atomic_load_explicit(&longest_name, memory_order_relaxed); }

uint32_t name_length(const char *text) {
  uint32_t length = (uint32_t)strnlen(text, NAME_MAXIMUM);
  if (length == NAME_MAXIMUM && text[length]) name_cut(length + strlen(text + length));
  return length;
}

uint32_t thread_intern_schema(struct capture_thread *thread, uint64_t key, const char *text) {
  uint32_t length = name_length(text);
  uint32_t id = thread_intern_name(thread, hash_bytes(text, length), text, length);
  struct intern_slot *slot = id ? intern_add(&thread->schemas, &thread->arena, key, 0) : NULL;
  if (slot) slot->id = id; /* if the arena is full the next new name empties it */
  return id;
}

void thread_forget_modules(struct capture_thread *thread) {
  intern_forget(&thread->modules);
  thread->stack_depth = 0;
  thread->generation++;
}

uint32_t thread_intern_node(struct capture_thread *thread, uint32_t parent, uint32_t code, uint32_t offset,
                            uint32_t module) {
  const uint32_t place[4] = {parent, code, offset, module};
  uint64_t hash = hash_bytes(place, sizeof place);
  struct intern_slot *slot = intern_find_bytes(&thread->nodes, &thread->arena, hash, place, sizeof place);
  if (slot) return slot->id;
  struct node_item *item = thread_reserve(thread, sizeof *item);
  if (!item) return 0;
  slot = intern_add_bytes(&thread->nodes, &thread->arena, hash, place, sizeof place);
  if (!slot) {
    thread_forget(thread); /* the caller begins again */
    return 0;
  }
  *item = (struct node_item){{ITEM_NODE, 0, sizeof *item / 16, slot->id}, parent, code, offset, module, {0}};
  thread_commit(thread, sizeof *item);
  return slot->id;
}

/* The number of an ITEM_PIN that nothing which is open has, a bit for each in `used`. The next one round: the last one
** that ended elsewhere may still be on its way to the writer thread. */
static uint32_t free_pin(struct capture_thread *thread, const uint64_t *used) {
  do thread->last_pin = thread->last_pin % PIN_MAXIMUM + 1;
  while (used[thread->last_pin / 64] >> thread->last_pin % 64 & 1);
  return thread->last_pin;
}

static bool pin_op(struct capture_thread *thread, struct open_op *op, const uint64_t *used) {
  op->frame = NULL; /* what begins inside it finds out its stack anew */
  if (atomic_load_explicit(&op->pin, memory_order_relaxed)) return true;
  struct pin_item *item = thread_reserve(thread, sizeof *item);
  if (!item) return false;
  uint32_t number = free_pin(thread, used);
  *item = (struct pin_item){{ITEM_PIN, 0, sizeof *item / 16, op->name}, op->inputs, op->node, number, {0}};
  thread_commit(thread, sizeof *item);
  atomic_store_explicit(&op->pin, (uint16_t)number, memory_order_relaxed);
  return true;
}

static bool pin_all(struct capture_thread *thread) {
  uint32_t depth = atomic_load_explicit(&thread->depth, memory_order_relaxed);
  uint32_t ranges = atomic_load_explicit(&thread->range_count, memory_order_relaxed);
  uint64_t used[PIN_MAXIMUM / 64 + 1] = {0};
  for (uint32_t i = 0; i < depth + ranges; i++) {
    const struct open_op *op = i < depth ? &thread->open[i] : &thread->ranges[i - depth];
    uint16_t pin = atomic_load_explicit(&op->pin, memory_order_relaxed); /* of what has just ended, too: a free one */
    used[pin / 64] |= 1ull << pin % 64;
  }
  for (uint32_t i = 0; i < depth; i++)
    if (!pin_op(thread, &thread->open[i], used)) return false;
  for (uint32_t i = 0; i < ranges; i++) {
    struct open_op *range = &thread->ranges[i];
    if (!atomic_load_explicit(&range->is_done, memory_order_acquire) && !pin_op(thread, range, used)) return false;
  }
  return true;
}

bool thread_forget(struct capture_thread *thread) {
  if (!pin_all(thread)) return false;
  struct item *item = thread_reserve(thread, 16);
  if (!item) return false;
  memset(item, 0, 16);
  *item = (struct item){ITEM_FORGET, 0, 1, 0};
  thread_commit(thread, 16);
  thread->changes.forgets++;
  forget_entries(thread);
  return true;
}
