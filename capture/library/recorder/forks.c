/* forks.c: see forks.h. */
#include "forks.h"

#include "clock.h"
#include "gate.h"

#include <stdint.h>
#include <unistd.h>

enum {
  LOCKS_MAXIMUM = 32,
  WAIT_MS = 100,           /* for a lock, */
  ALL_WAIT_MS = 200,       /* and for all of them together */
  WAIT_FOR_FORK_MS = 2000, /* for others that fork */
  TRY_US = 50,
};

static struct fork_watch watch;
static const struct fork_lock *locks[LOCKS_MAXIMUM];
static unsigned lock_count;
static _Thread_local uint32_t taken; /* by the forking thread: a bit for each */
static _Thread_local bool is_alone, is_whole, is_ours;
static pthread_mutex_t fork_lock = PTHREAD_MUTEX_INITIALIZER; /* one thread forks at a time */

/* NULL: there is none. */
static pthread_mutex_t *lock_of(unsigned number) {
  const struct fork_lock *lock = locks[number];
  return lock->found ? *lock->found : lock->lock;
}

static uint64_t moment(uint64_t milliseconds) { return moment_now_ns() + milliseconds * 1000000; }

static bool take_lock(pthread_mutex_t *lock, uint64_t until_ns) {
  while (pthread_mutex_trylock(lock)) {
    if (moment_now_ns() >= until_ns) return false;
    usleep(TRY_US);
  }
  return true;
}

static void before_fork(void) {
  is_ours = gate_is_ours();
  if (!is_ours) return;
  is_whole = is_alone = take_lock(&fork_lock, moment(WAIT_FOR_FORK_MS));
  watch.before();
  taken = 0;
  uint64_t end_ns = moment(ALL_WAIT_MS);
  for (unsigned i = 0; i < lock_count; i++) {
    pthread_mutex_t *lock = lock_of(i);
    if (!lock) continue;
    uint64_t until_ns = moment(WAIT_MS);
    if (take_lock(lock, until_ns < end_ns ? until_ns : end_ns)) taken |= 1u << i;
    else is_whole = false;
  }
}

static void after_fork_in_parent(void) {
  if (!is_ours) return;
  for (unsigned i = lock_count; i--;)
    if (taken >> i & 1) pthread_mutex_unlock(lock_of(i));
  watch.in_parent();
  if (is_alone) pthread_mutex_unlock(&fork_lock);
}

static void after_fork_in_child(void) {
  if (!is_ours) return; /* nor is the child */
  pthread_mutex_init(&fork_lock, NULL);
  for (unsigned i = 0; i < lock_count; i++) {
    pthread_mutex_t *lock = lock_of(i);
    if (lock) pthread_mutex_init(lock, NULL);
  }
  watch.in_child(is_whole);
}

void forks_add(const struct fork_lock *its_locks) {
  for (unsigned i = 0; i < lock_count; i++)
    if (locks[i] == its_locks) return;
  for (; lock_count < LOCKS_MAXIMUM && (its_locks->lock || its_locks->found); its_locks++)
    locks[lock_count++] = its_locks;
}

bool forks_watch(struct fork_watch its_watch) {
  static bool is_watching;
  watch = its_watch;
  if (!is_watching) is_watching = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
  return is_watching;
}
