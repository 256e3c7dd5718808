/* doorbell.c: see doorbell.h. */
#include "doorbell.h"

#include <stdatomic.h>

enum ring { RING_NOT, RING_LOOK, RING_WRITE };

static _Atomic int rung;
static _Atomic bool has_listener;
static pthread_cond_t wake;

static void doorbell_ring(enum ring how) {
  if (!atomic_load(&has_listener)) return;
  int now = atomic_load(&rung);
  while (now < (int)how && !atomic_compare_exchange_weak(&rung, &now, (int)how)) continue;
  pthread_cond_signal(&wake);
}

void doorbell_ring_to_write(void) { doorbell_ring(RING_WRITE); }
void doorbell_ring_to_look(void) { doorbell_ring(RING_LOOK); }

void doorbell_begin(void) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&wake, &attributes);
  pthread_condattr_destroy(&attributes);
  atomic_store(&has_listener, true);
}

void doorbell_end(void) {
  atomic_store(&has_listener, false);
  atomic_store(&rung, RING_NOT);
}

void doorbell_ring_with_guard(void) { pthread_cond_signal(&wake); }

bool doorbell_has_rung(void) { return atomic_load(&rung) != RING_NOT; }

bool doorbell_wait(pthread_mutex_t *guard, const struct timespec *until) {
  return pthread_cond_timedwait(&wake, guard, until) == 0;
}

bool doorbell_take(void) { return atomic_exchange(&rung, RING_NOT) == RING_WRITE; }
