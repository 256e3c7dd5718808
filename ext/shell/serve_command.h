/* serve_command.h: `tfprof serve RUN...`: the page of a report, served. */
#ifndef TFPROF_SHELL_SERVE_COMMAND_H
#define TFPROF_SHELL_SERVE_COMMAND_H

#include <stdbool.h>

/* Whether the first word asks for it: unless a file is called so. */
bool serve_is_asked(char **argv);
/* The exit status. */
int serve_command(char **argv);

#endif
