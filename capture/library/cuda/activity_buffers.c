/* activity_buffers.c: see activity_buffers.h. */
#include "activity_buffers.h"

#include "recorder/doorbell.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { DISCARD_BYTES = 16384 };

pthread_mutex_t activity_buffers_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct cupti_api *api;
static struct {
  struct activity_buffer *free, *lent;  /* lists */
  struct activity_buffer *first, *last; /* that wait */
  unsigned made, limit, waiting;
} pool;
static _Atomic uint64_t dropped, discarded;

void activity_buffers_begin(const struct cupti_api *its_api, unsigned count) {
  api = its_api;
  pool.limit = count < 2 ? 2 : count < ACTIVITY_BUFFERS_MAXIMUM ? count : ACTIVITY_BUFFERS_MAXIMUM;
}

void activity_buffers_reset(void) {
  memset(&pool, 0, sizeof pool);
  atomic_store(&dropped, 0);
  atomic_store(&discarded, 0);
}

static struct activity_buffer *make_buffer(size_t bytes) {
  struct activity_buffer *buffer = calloc(1, sizeof *buffer);
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (buffer && memory != MAP_FAILED) {
    buffer->bytes = memory;
    return buffer;
  }
  free(buffer);
  if (memory != MAP_FAILED) munmap(memory, bytes);
  return NULL;
}

static void lend_buffer(struct activity_buffer *buffer) {
  buffer->next = pool.lent;
  pool.lent = buffer;
}

void activity_buffers_request(uint8_t **bytes, size_t *size, size_t *records) {
  struct activity_buffer *buffer = NULL;
  *records = 0; /* as many as there is room for */
  pthread_mutex_lock(&activity_buffers_lock);
  if (pool.free) {
    buffer = pool.free;
    pool.free = buffer->next;
  } else if (pool.made < pool.limit) {
    buffer = make_buffer(ACTIVITY_BUFFER_BYTES);
    pool.made += buffer != NULL;
  }
  *size = ACTIVITY_BUFFER_BYTES;
  if (!buffer) {
    buffer = make_buffer(DISCARD_BYTES);
    *size = DISCARD_BYTES;
    if (buffer) buffer->is_discarded = true;
  }
  if (buffer) lend_buffer(buffer);
  pthread_mutex_unlock(&activity_buffers_lock);
  *bytes = buffer ? buffer->bytes : NULL;
  if (!buffer) *size = 0;
  if (!buffer || buffer->is_discarded) doorbell_ring_to_look();
}

/* NULL: it is none of ours. */
static struct activity_buffer *take_back(const uint8_t *bytes) {
  for (struct activity_buffer **at = &pool.lent; *at; at = &(*at)->next) {
    struct activity_buffer *buffer = *at;
    if (buffer->bytes != bytes) continue;
    *at = buffer->next;
    buffer->next = NULL;
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

static void put_to_wait(struct activity_buffer *buffer) {
  if (pool.last) pool.last->next = buffer;
  else pool.first = buffer;
  pool.last = buffer;
  pool.waiting++;
}

void activity_buffers_complete(void *context, uint32_t stream, uint8_t *bytes, size_t size, size_t used) {
  size_t lost = 0;
  (void)size;
  if (!api->ActivityGetNumDroppedRecords(context, stream, &lost) && lost) atomic_fetch_add(&dropped, lost);
  bool is_half = false;
  pthread_mutex_lock(&activity_buffers_lock);
  struct activity_buffer *buffer = bytes ? take_back(bytes) : NULL;
  if (buffer) buffer->used = used < ACTIVITY_BUFFER_BYTES ? used : ACTIVITY_BUFFER_BYTES;
  if (buffer && !buffer->is_discarded) {
    put_to_wait(buffer);
    is_half = pool.waiting * 2 >= pool.limit;
  }
  pthread_mutex_unlock(&activity_buffers_lock);
  if (is_half) doorbell_ring_to_look();
  if (!buffer || !buffer->is_discarded) return;
  if (buffer->used > DISCARD_BYTES) buffer->used = DISCARD_BYTES;
  atomic_fetch_add(&discarded, count_records(buffer));
  munmap(buffer->bytes, DISCARD_BYTES);
  free(buffer);
}

struct activity_buffer *activity_buffers_take(void) {
  pthread_mutex_lock(&activity_buffers_lock);
  struct activity_buffer *buffer = pool.first;
  if (buffer) {
    pool.first = buffer->next;
    if (!pool.first) pool.last = NULL;
    pool.waiting--;
    buffer->next = NULL;
  }
  pthread_mutex_unlock(&activity_buffers_lock);
  return buffer;
}

void activity_buffers_return(struct activity_buffer *buffer) {
  pthread_mutex_lock(&activity_buffers_lock);
  buffer->next = pool.free;
  pool.free = buffer;
  pthread_mutex_unlock(&activity_buffers_lock);
}

struct activity_losses activity_buffers_losses(void) {
  return (struct activity_losses){atomic_load(&dropped), atomic_load(&discarded)};
}
