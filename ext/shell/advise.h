/* advise.h: the command `advise` in the layout of the TensorFlow profiler. */
#ifndef TFPROF_SHELL_ADVISE_H
#define TFPROF_SHELL_ADVISE_H

#include "session.h"

/* `line`: -checkers A,B chooses, as JobChecker or job; -NAME VALUE is a setting for this time, as low_ratio or
** accelerator_utilization.low_ratio. */
enum session_result advise_run(struct session *session, const char *line);

/* What there is to choose and to set. */
void advise_explain(void);
/* Calls `take` with the name of each checker, JobChecker, and with each option, -low_ratio: for help and completion. */
void advise_each_checker(void (*take)(void *user, const char *name), void *user);
void advise_each_option(void (*take)(void *user, const char *name, const char *standard), void *user);

#endif
