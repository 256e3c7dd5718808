/* last_call.h: recorded processes write what they have before a signal that ends them. */
#ifndef TFPROF_LAUNCHER_LAST_CALL_H
#define TFPROF_LAUNCHER_LAST_CALL_H

#include <sys/types.h>

/* Tells the program by its environment where the call will come. */
void last_call_prepare(void);
/* Before the signal is handed on to the program of that number: a sixth of a second, unless it takes the signal itself
** and so ends in order, or not at all. */
void last_call(pid_t program, int signal_number);

#endif
