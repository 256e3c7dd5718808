/* doorbell.c: see doorbell.h. */
#include "doorbell.h"

#include "moments.h"

#include <stdatomic.h>
#include <unistd.h>

static _Atomic bool is_rung, has_listener;
static pthread_cond_t wake;

void doorbell_ring_to_look(void) {
  if (!atomic_load(&has_listener)) return;
  atomic_store(&is_rung, true);
  pthread_cond_signal(&wake);
}

/* Once in a process: others may ring while its thread rests. */
static void make_condition(void) {
  static pid_t made_in;
  if (made_in == getpid()) return;
  made_in = getpid();
  moment_condition(&wake);
}

void doorbell_begin(void) {
  make_condition();
  atomic_store(&has_listener, true);
}

void doorbell_end(void) {
  atomic_store(&has_listener, false);
  atomic_store(&is_rung, false);
}

void doorbell_ring_with_guard(void) { pthread_cond_signal(&wake); }

bool doorbell_has_rung(void) { return atomic_load(&is_rung); }

bool doorbell_wait(pthread_mutex_t *guard, const struct timespec *until) {
  return pthread_cond_timedwait(&wake, guard, until) == 0;
}

void doorbell_take(void) { atomic_store(&is_rung, false); }
