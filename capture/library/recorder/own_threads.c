/* own_threads.c: see own_threads.h. */
#include "own_threads.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { GONE_WITHIN_US = 100000, LOOK_US = 50 };

/* 0: the usual stack. 0, or the errno that says why not. */
static int start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *argument) {
  pthread_t its;
  pthread_attr_t attributes;
  sigset_t all, before;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, thread ? PTHREAD_CREATE_JOINABLE : PTHREAD_CREATE_DETACHED);
  if (stack_bytes) pthread_attr_setstacksize(&attributes, stack_bytes);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); /* which the new thread inherits */
  int reason = pthread_create(thread ? thread : &its, &attributes, run, argument);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return reason;
}

bool own_thread_start(pthread_t *thread, void *(*run)(void *), void *argument) {
  return (errno = start(thread, 0, run, argument)) == 0;
}

bool own_thread_start_small(size_t stack_bytes, void *(*run)(void *), void *argument) {
  int reason = start(NULL, stack_bytes, run, argument);
  if (reason == EINVAL) reason = start(NULL, 0, run, argument); /* there is more thread-local storage than that */
  return (errno = reason) == 0;
}

void own_thread_wait_until_gone(long number) {
  char place[64];
  snprintf(place, sizeof place, "/proc/self/task/%ld", number);
  for (int waited = 0; !access(place, F_OK) && waited < GONE_WITHIN_US; waited += LOOK_US) usleep(LOOK_US);
}
