/* advise.h: the command `advise`: all findings, or checkers in the layout of the TensorFlow profiler. */
#ifndef TFPROF_SHELL_ADVISE_H
#define TFPROF_SHELL_ADVISE_H

#include "session.h"

/* `line`: -checkers A,B chooses, as JobChecker or job, all: every one; -NAME VALUE is a setting for this time, as
** low_ratio or accelerator_utilization.low_ratio. */
enum session_result advise_run(struct session *session, const char *line);

/* What there is to choose and to set. */
void advise_explain(void);
/* Calls `take` with the name of each checker, as JobChecker: for help and completion. */
void advise_each_checker(void (*take)(void *user, const char *name), void *user);

#endif
