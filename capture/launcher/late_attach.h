/* late_attach.h: programs that were started without tfprof-capture become ones that can be asked (asked.h), where their
** Python runs what it is told to: CPython 3.14 and later (PEP 768, sys.remote_exec).
*/
#ifndef TFPROF_LAUNCHER_LATE_ATTACH_H
#define TFPROF_LAUNCHER_LATE_ATTACH_H

#include "options.h"

#include <stdbool.h>
#include <sys/types.h>

struct late_parts {
  const char *library, *hooks; /* absolute: libtfprof_capture.so, and the directory of the hooks */
  const char *directory;       /* of the run that the program is recorded into */
};

/* Whether that is worth trying: its program is a CPython of that kind, and its own user asks. */
bool late_attach_is_possible(pid_t process);
/* false: it cannot be done, and why (`problem`). Takes up to some seconds: Python does it between two of its main
** thread's instructions. */
bool late_attach(pid_t process, const struct capture_options *options, const struct late_parts *parts, char *problem,
                 size_t size);

#endif
