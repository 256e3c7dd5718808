/* moments.h: until when a thread waits, by the system's CLOCK_MONOTONIC: a step of CLOCK_REALTIME makes no wait longer.
*/
#ifndef TFPROF_CAPTURE_MOMENTS_H
#define TFPROF_CAPTURE_MOMENTS_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* Now, in nanoseconds. Times of the dump are those of clock_monotonic_ns() (clock.h). */
static inline uint64_t moment_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* As the functions that wait take it. */
static inline struct timespec moment_at(uint64_t ns) {
  return (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}
static inline struct timespec moment_after(int milliseconds) {
  return moment_at(moment_now_ns() + (uint64_t)milliseconds * 1000000);
}

/* A condition that is waited for until a moment. */
static inline void moment_condition(pthread_cond_t *condition) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(condition, &attributes);
  pthread_condattr_destroy(&attributes);
}

#endif
