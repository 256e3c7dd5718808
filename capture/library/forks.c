/* forks.c: see forks.h. */
#include "forks.h"

#include "memory_callbacks.h"
#include "module_discovery.h"
#include "module_rows.h"
#include "recording.h"
#include "sampling.h"
#include "torch_lock.h"

#include <pthread.h>
#include <unistd.h>

enum { LOCKS = 5, WAIT_US = 100000, TRY_US = 50 };

static void (*call_in_child)(bool is_whole);
static _Thread_local unsigned taken; /* by the forking thread: a bit for each */
static _Thread_local bool is_whole;

/* In the order in which they are taken; who has one takes only those behind it. NULL: there is none. */
static pthread_mutex_t *lock_of_number(unsigned number) {
  switch (number) {
    case 0: return &sampling_lock;
    case 1: return torch_lock;
    case 2: return &memory_lock;
    case 3: return &module_discovery_lock;
    default: return &module_queue_lock;
  }
}

static bool take(pthread_mutex_t *lock) {
  for (int waited = 0; pthread_mutex_trylock(lock); waited += TRY_US) {
    if (waited >= WAIT_US) return false;
    usleep(TRY_US);
  }
  return true;
}

static void before_fork(void) {
  recording_before_fork();
  taken = 0;
  is_whole = true;
  for (unsigned i = 0; i < LOCKS; i++) {
    pthread_mutex_t *lock = lock_of_number(i);
    if (!lock) continue;
    if (take(lock)) taken |= 1u << i;
    else is_whole = false;
  }
}

static void after_fork_in_parent(void) {
  for (unsigned i = LOCKS; i--;)
    if (taken >> i & 1) pthread_mutex_unlock(lock_of_number(i));
  recording_after_fork_in_parent();
}

static void after_fork_in_child(void) {
  for (unsigned i = 0; i < LOCKS; i++) {
    pthread_mutex_t *lock = lock_of_number(i);
    if (lock) pthread_mutex_init(lock, NULL);
  }
  call_in_child(is_whole);
}

bool forks_watch(void (*in_child)(bool)) {
  static bool is_watching;
  call_in_child = in_child;
  if (!is_watching) is_watching = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
  return is_watching;
}
