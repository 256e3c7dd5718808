/* status.h: the exit statuses that are tfprof-capture's own; any other is the program's. As of env(1) and
** the shells. */
#ifndef TFPROF_LAUNCHER_STATUS_H
#define TFPROF_LAUNCHER_STATUS_H

enum {
  STATUS_USAGE = 2,           /* the command line cannot be understood */
  STATUS_CANNOT_RECORD = 125, /* it can, but the run directory or the library cannot be used */
  STATUS_NOT_EXECUTABLE = 126,
  STATUS_NOT_FOUND = 127,
};

#endif
