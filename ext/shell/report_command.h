/* report_command.h: `tfprof report RUN... [options]`, which writes a page. */
#ifndef TFPROF_SHELL_REPORT_COMMAND_H
#define TFPROF_SHELL_REPORT_COMMAND_H

#include "session.h"

/* Whether the command line asks for it: its first word is `report`, and no file is called so. */
bool report_is_asked(char **argv);
/* argv[1] is `report`. The exit status, as main.c lists them. */
int report_command(struct session *session, char **argv);

#endif
