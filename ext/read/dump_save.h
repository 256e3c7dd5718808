/* dump_save.h: writes what is open into dump files. */
#ifndef TFPROF_DUMP_SAVE_H
#define TFPROF_DUMP_SAVE_H

#include "store/store.h"

/* One open profile becomes the file `path`, several become a directory `path` with a file each; where `path` is an
** empty directory already they are put into it. TFPROF_USAGE: the path is a file, a directory that is not empty, or a
** file in the directory of an open run, which would have its rows twice. All columns are written, derived ones too, so
** that opening the result shows the same rows with the same row numbers; what reading the profiles added to diagnostics
** is written as well. TFPROF_IO: it cannot be written, or a file that is open cannot be read any more, so that columns
** would be NULL. After a failure no half-written file is left. */
enum tfprof_status dump_save(struct store *store, const char *path, struct tfprof_error *error);

#endif
