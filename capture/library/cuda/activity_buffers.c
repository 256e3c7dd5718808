/* activity_buffers.c: see activity_buffers.h. */
#include "activity_buffers.h"

#include "base/hash.h"
#include "recorder/clock.h"
#include "recorder/doorbell.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ALLOCATION = 32 /* what malloc takes besides */, COPIED_MAXIMUM = 64 << 10 };
enum { READ_MAXIMUM = 4 << 20 /* in a millisecond; nobody gets a buffer meanwhile */ };
enum { EMPTY_BYTES = 256 }; /* of which none was written: nothing is in it */
enum { FAST_NS = 50000000, SLOW_NS = 500000000, HELD_NS = 1000000000 /* two fetches */ };
static const size_t sizes[] = {[BUFFER_SMALL] = 32 << 10,
                               [BUFFER_MIDDLE] = 256 << 10,
                               [BUFFER_LARGE] = 1 << 20,
                               [BUFFER_DISCARDED] = 32 << 10};

pthread_mutex_t activity_buffers_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct cupti_api *api;
static struct {
  struct activity_buffer *free[BUFFER_LARGE + 1], *lent; /* lists; by kind */
  enum activity_buffer_kind wanted;                      /* the next ones */
  struct activity_buffer *first, *last;   /* that wait */
  uint64_t session_ns;                    /* what was lent before is not expected back */
  unsigned session;                       /* which one that is */
  uint64_t limit, taken, waiting;         /* bytes: of all that is kept; of those what waits */
} pool;
static _Atomic uint64_t dropped, discarded, heard;
static _Atomic long worker, fetcher; /* threads */
static _Thread_local bool has_asked;

void activity_buffers_begin(const struct cupti_api *its_api, uint64_t limit) {
  api = its_api;
  pool.limit = limit < ACTIVITY_BUFFERS_LEAST ? ACTIVITY_BUFFERS_LEAST : limit;
}

void activity_buffers_reset(void) {
  memset(&pool, 0, sizeof pool);
  atomic_store(&dropped, 0);
  atomic_store(&discarded, 0);
  atomic_store(&heard, 0);
  worker = fetcher = 0;
}

static struct activity_buffer *make_buffer(enum activity_buffer_kind kind) {
  struct activity_buffer *buffer = calloc(1, sizeof *buffer);
  void *memory = mmap(NULL, sizes[kind], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (buffer && memory != MAP_FAILED) {
    *buffer = (struct activity_buffer){.bytes = memory, .size = sizes[kind], .kind = kind};
    return buffer;
  }
  free(buffer);
  if (memory != MAP_FAILED) munmap(memory, sizes[kind]);
  return NULL;
}

/* One that is kept. NULL: there is no room, or none is left of `room`. */
static struct activity_buffer *get_buffer(enum activity_buffer_kind kind, uint64_t room) {
  struct activity_buffer *buffer = pool.free[kind];
  if (buffer) {
    pool.free[kind] = buffer->next;
    return buffer;
  }
  if (pool.taken + sizes[kind] > room || !(buffer = make_buffer(kind))) return NULL;
  pool.taken += sizes[kind];
  return buffer;
}

/* The smallest that nobody has, whatever was wanted. NULL: all are in use. */
static struct activity_buffer *get_free_buffer(void) {
  for (unsigned kind = BUFFER_SMALL; kind <= BUFFER_LARGE; kind++)
    if (pool.free[kind]) return get_buffer((enum activity_buffer_kind)kind, 0);
  return NULL;
}

/* What counts for the limit. */
static uint64_t counted(const struct activity_buffer *buffer) {
  return buffer->kind == BUFFER_DISCARDED ? 0 : buffer->size;
}

static void lend_buffer(struct activity_buffer *buffer) {
  memset(buffer->bytes, 0, EMPTY_BYTES);
  buffer->lent_ns = clock_monotonic_ns();
  buffer->session = pool.session;
  buffer->next = pool.lent;
  pool.lent = buffer;
}

void activity_buffers_request(uint8_t **bytes, size_t *size, size_t *records) {
  has_asked = true;
  *records = 0; /* as many as there is room for */
  pthread_mutex_lock(&activity_buffers_lock);
  struct activity_buffer *buffer = get_buffer(pool.wanted, pool.limit / 4 * 3);
  if (!buffer) buffer = get_buffer(BUFFER_SMALL, pool.limit);
  if (!buffer) buffer = get_free_buffer();
  if (!buffer) buffer = make_buffer(BUFFER_DISCARDED);
  if (buffer) lend_buffer(buffer);
  pthread_mutex_unlock(&activity_buffers_lock);
  *bytes = buffer ? buffer->bytes : NULL;
  *size = buffer ? buffer->size : 0;
  if (!buffer || buffer->kind == BUFFER_DISCARDED) doorbell_ring_to_look();
}

/* NULL: it is none of ours. */
static struct activity_buffer *take_back(const uint8_t *bytes) {
  for (struct activity_buffer **at = &pool.lent; *at; at = &(*at)->next) {
    struct activity_buffer *buffer = *at;
    if (buffer->bytes != bytes) continue;
    *at = buffer->next;
    buffer->next = NULL;
    if (buffer->is_written_off) pool.taken += counted(buffer);
    buffer->is_written_off = false;
    return buffer;
  }
  return NULL;
}

static uint64_t count_records(const struct activity_buffer *buffer) {
  struct cupti_record *record = NULL;
  uint64_t count = 0;
  while (!api->ActivityGetNextRecord(buffer->bytes, buffer->used, &record)) count++;
  return count;
}

static uint64_t taken_by(const struct activity_buffer *buffer) {
  return buffer->size + (buffer->kind == BUFFER_COPY ? sizeof *buffer + ALLOCATION : 0);
}

static void put_to_wait(struct activity_buffer *buffer) {
  if (pool.last) pool.last->next = buffer;
  else pool.first = buffer;
  pool.last = buffer;
  pool.waiting += taken_by(buffer);
}

static void put_to_free(struct activity_buffer *buffer) {
  buffer->next = pool.free[buffer->kind];
  pool.free[buffer->kind] = buffer;
}

/* Its records in a buffer of their own, where they are few and there is room, and it is free again; else itself. */
static struct activity_buffer *copy_out(struct activity_buffer *buffer) {
  uint64_t taken = sizeof *buffer + ALLOCATION + buffer->used;
  bool is_little = buffer->used <= COPIED_MAXIMUM && buffer->used * 2 <= buffer->size,
       has_room = is_little && pool.taken + taken <= pool.limit;
  struct activity_buffer *copy = has_room ? malloc(sizeof *copy + buffer->used) : NULL;
  if (!copy) return buffer;
  *copy = (struct activity_buffer){
      .bytes = (uint8_t *)(copy + 1), .size = buffer->used, .used = buffer->used, .lent_ns = buffer->lent_ns,
      .session = buffer->session, .kind = BUFFER_COPY};
  memcpy(copy->bytes, buffer->bytes, buffer->used);
  pool.taken += taken;
  put_to_free(buffer);
  return copy;
}

/* With the lock: whether the next ones are larger or smaller. Those that were asked for are not full as a rule. */
static void choose_size(const struct activity_buffer *buffer) {
  uint64_t filled_ns = clock_monotonic_ns() - buffer->lent_ns;
  if (buffer->kind != pool.wanted || buffer->used < buffer->size / 8 * 7) return;
  if (filled_ns < FAST_NS && pool.wanted < BUFFER_LARGE) pool.wanted++;
  if (filled_ns > SLOW_NS && pool.wanted > BUFFER_SMALL) pool.wanted--;
}

static void discard(struct activity_buffer *buffer) {
  atomic_fetch_add(&discarded, count_records(buffer));
  munmap(buffer->bytes, buffer->size);
  free(buffer);
}

void activity_buffers_complete(void *context, uint32_t stream, uint8_t *bytes, size_t size, size_t used) {
  static _Thread_local long its;
  size_t lost = 0;
  (void)size;
  if (!its) its = (long)syscall(SYS_gettid);
  if (!has_asked && its != fetcher) worker = its;
  if (!api->ActivityGetNumDroppedRecords(context, stream, &lost) && lost) atomic_fetch_add(&dropped, lost);
  bool is_half = false;
  pthread_mutex_lock(&activity_buffers_lock);
  struct activity_buffer *buffer = bytes ? take_back(bytes) : NULL;
  if (buffer) {
    buffer->used = used < buffer->size ? used : buffer->size;
    choose_size(buffer);
    heard += buffer->used > 0;
  }
  if (buffer && buffer->kind != BUFFER_DISCARDED) {
    if (buffer->used) put_to_wait(copy_out(buffer));
    else put_to_free(buffer);
    is_half = pool.waiting * 2 >= pool.limit;
    buffer = NULL;
  }
  pthread_mutex_unlock(&activity_buffers_lock);
  if (is_half) doorbell_ring_to_look();
  if (buffer) discard(buffer);
}

struct activity_buffer *activity_buffers_take(void) {
  pthread_mutex_lock(&activity_buffers_lock);
  struct activity_buffer *buffer = pool.first;
  if (buffer) {
    pool.first = buffer->next;
    if (!pool.first) pool.last = NULL;
    pool.waiting -= taken_by(buffer);
    buffer->next = NULL;
  }
  pthread_mutex_unlock(&activity_buffers_lock);
  return buffer;
}

void activity_buffers_return(struct activity_buffer *buffer) {
  pthread_mutex_lock(&activity_buffers_lock);
  if (buffer->kind == BUFFER_COPY) {
    pool.taken -= taken_by(buffer);
    free(buffer);
  } else {
    put_to_free(buffer);
  }
  pthread_mutex_unlock(&activity_buffers_lock);
}

/* CUPTI may ask for one before it has a record. It may write meanwhile: what is read then is of the one moment or the
** other. */
__attribute__((no_sanitize("thread"))) static bool is_empty(const struct activity_buffer *buffer) {
  const uint64_t *words = (const uint64_t *)(const void *)buffer->bytes;
  uint64_t all = 0;
  for (size_t i = 0; i < EMPTY_BYTES / sizeof *words; i++) all |= __atomic_load_n(&words[i], __ATOMIC_RELAXED);
  return !all;
}

static unsigned count_lent(bool is_written_off) {
  unsigned count = 0;
  pthread_mutex_lock(&activity_buffers_lock);
  for (const struct activity_buffer *buffer = pool.lent; buffer; buffer = buffer->next)
    count += buffer->is_written_off == is_written_off && !is_empty(buffer);
  pthread_mutex_unlock(&activity_buffers_lock);
  return count;
}

unsigned activity_buffers_lent(void) { return count_lent(false); }
unsigned activity_buffers_written_off(void) { return count_lent(true); }

void activity_buffers_begin_session(void) {
  pthread_mutex_lock(&activity_buffers_lock);
  pool.session_ns = clock_monotonic_ns();
  pool.session++;
  for (struct activity_buffer *buffer = pool.lent; buffer; buffer = buffer->next) {
    if (!buffer->is_written_off) pool.taken -= counted(buffer);
    buffer->is_written_off = true;
  }
  pthread_mutex_unlock(&activity_buffers_lock);
}

struct activity_arrears activity_buffers_arrears(uint64_t now_ns) {
  struct activity_arrears arrears = {now_ns, 0};
  pthread_mutex_lock(&activity_buffers_lock);
  const struct activity_buffer *const lists[] = {pool.lent, pool.first};
  for (int i = 0; i < 2; i++)
    for (const struct activity_buffer *buffer = lists[i]; buffer; buffer = buffer->next) {
      if (buffer->lent_ns < pool.session_ns || (lists[i] == pool.lent && is_empty(buffer))) continue;
      if (buffer->lent_ns < arrears.since_ns) arrears.since_ns = buffer->lent_ns;
      arrears.held += lists[i] == pool.lent && buffer->lent_ns + HELD_NS < now_ns;
    }
  pthread_mutex_unlock(&activity_buffers_lock);
  return arrears;
}

/* CUPTI may write meanwhile: what is read then is of the one moment or the other. */
__attribute__((no_sanitize("thread"))) static uint64_t hash_content(const struct activity_buffer *buffer,
                                                                    uint64_t hash) {
  const uint64_t *words = (const uint64_t *)(const void *)buffer->bytes;
  for (size_t i = 0; i < buffer->size / sizeof *words; i++) {
    hash = (hash ^ __atomic_load_n(&words[i], __ATOMIC_RELAXED)) * HASH_FACTOR_1;
    hash ^= hash >> 32;
  }
  return hash;
}

uint64_t activity_buffers_content(void) {
  uint64_t hash = 0;
  size_t read = 0;
  pthread_mutex_lock(&activity_buffers_lock);
  for (const struct activity_buffer *buffer = pool.lent; buffer && read < READ_MAXIMUM; buffer = buffer->next) {
    if (buffer->is_written_off) continue;
    hash = hash_content(buffer, hash ^ (uintptr_t)buffer->bytes);
    read += buffer->size;
  }
  pthread_mutex_unlock(&activity_buffers_lock);
  return hash | 1;
}

uint64_t activity_buffers_heard(void) { return heard; }
long activity_buffers_worker(void) { return worker; }
void activity_buffers_fetcher(long tid) { fetcher = tid; }

struct activity_losses activity_buffers_losses(void) {
  return (struct activity_losses){atomic_load(&dropped), atomic_load(&discarded)};
}
