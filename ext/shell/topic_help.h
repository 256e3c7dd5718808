/* topic_help.h: `help NAME` of what tfprof describes itself, such as a function or a code of diagnostics. */
#ifndef TFPROF_SHELL_TOPIC_HELP_H
#define TFPROF_SHELL_TOPIC_HELP_H

#include "session.h"

/* Prints what is known of the name. False: there is nothing of that name, and nothing was printed. */
bool topic_help_print(const struct session *session, const char *name);

#endif
