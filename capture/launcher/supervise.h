/* supervise.h: runs the program and waits for it. */
#ifndef TFPROF_LAUNCHER_SUPERVISE_H
#define TFPROF_LAUNCHER_SUPERVISE_H

#include <stdint.h>
#include <sys/types.h>

struct outcome {
  int start_error; /* 0, or why the program could not be started (errno of fork or exec) */
  pid_t pid;
  int wait_status;    /* as waitpid gives it */
  int64_t started_ns; /* CLOCK_MONOTONIC, the clock of the recordings */
  int64_t ended_ns;
};

/* Starts `command` (found on PATH as the shell does) in the present environment and returns when it has ended. What the
** program may read or write to is closed here meanwhile, but stderr and `kept`. `environment`: what it gets where the
** present one is too large beside its command line. Where there is no process for it this one becomes the program. */
void supervise(char **command, char **environment, int kept, struct outcome *outcome);

/* Ends this process as the program ended: with its exit status, or by the same signal. */
_Noreturn void end_as(int wait_status);

#endif
