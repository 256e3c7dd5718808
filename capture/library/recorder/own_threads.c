/* own_threads.c: see own_threads.h. */
#include "own_threads.h"

#include <errno.h>
#include <signal.h>

bool own_thread_start(pthread_t *thread, void *(*run)(void *), void *argument) {
  pthread_t its;
  pthread_attr_t attributes;
  sigset_t all, before;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, thread ? PTHREAD_CREATE_JOINABLE : PTHREAD_CREATE_DETACHED);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); /* which the new thread inherits */
  int reason = pthread_create(thread ? thread : &its, &attributes, run, argument);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  errno = reason;
  return reason == 0;
}
