/* thread_looks.h: what the kernel tells of a thread of this process at a moment, whoever began it. */
#ifndef TFPROF_CAPTURE_THREAD_LOOKS_H
#define TFPROF_CAPTURE_THREAD_LOOKS_H

#include <stdbool.h>
#include <stdint.h>

struct thread_look {
  char name[16];           /* as the system has it */
  const char *state;       /* "running", "sleeping", "uninterruptible", "stopped"; NULL: the thread has ended */
  const char *waits_for;   /* thread_waits.h; NULL: nothing, or that is not told */
  const char *system_call; /* that it waits in; NULL: none, or that is not told */
  char kernel_function[48]; /* in which it sleeps; empty: not told */
};

/* The numbers of the threads that there are, in the order of the system. How many are filled, `room` at most, and
** how many there are in `count`. */
unsigned thread_list(uint32_t *tids, unsigned room, unsigned *count);
/* false: it has ended. */
bool thread_look(uint32_t tid, struct thread_look *look);

#endif
