/* directory.h: which directories dumps are written into: those of the user who writes, and no symbolic links.
**
** A dump tells what a program does: names, lines, shapes, the command.  Where anybody may make files, as in /tmp, a
** directory or a link that another user laid there beforehand would have the dumps where that user wants them.
** Directories are made with mode 0700, dumps with 0600.
*/
#ifndef TFPROF_DUMP_DIRECTORY_H
#define TFPROF_DUMP_DIRECTORY_H

#include "base/error.h"

enum { DUMP_DIRECTORY_MODE = 0700, DUMP_FILE_MODE = 0600 };

/* How the names of profiles end that profiler servers sent, which lie beside dumps and are part of the run as these
** are; other files beside dumps are not. */
#define DUMP_SERVER_SUFFIX ".server.xplane.pb"

/* Opens a directory that dumps may be written into. TFPROF_USAGE: it is a link, or another user's. TFPROF_IO: the
** system refuses. `descriptor` NULL: it is only looked at. */
enum tfprof_status dump_directory_open(const char *path, int *descriptor, struct tfprof_error *error);

#endif
