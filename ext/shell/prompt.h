/* prompt.h: the SQL prompt. */
#ifndef TFPROF_SHELL_PROMPT_H
#define TFPROF_SHELL_PROMPT_H

#include "session.h"

/* Reads and runs statements until Ctrl-D or `quit`. */
void prompt_run(struct session *session);

#endif
