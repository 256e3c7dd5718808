/* attach.h: tfprof-capture --attach: some steps, or a time, of programs that run already: those that can be
** asked (library/control.h), and profiler servers (profiler_servers.h). */
#ifndef TFPROF_LAUNCHER_ATTACH_H
#define TFPROF_LAUNCHER_ATTACH_H

#include "options.h"

/* Returns when all that was asked for has ended, and says what came of it. The exit status: 0: all of it did; 1: some
** did; 125: nothing. `library`, `hooks`: as late_attach() has them; `tools`, `extension`: as report() has them. */
int attach_run(const struct capture_options *options, const char *library, const char *hooks, const char *tools,
               const char *extension);

#endif
