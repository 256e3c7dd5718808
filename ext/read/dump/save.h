/* save.h: writes a profile into a dump file. */
#ifndef TFPROF_DUMP_SAVE_H
#define TFPROF_DUMP_SAVE_H

#include "store/store.h"

/* All columns are written, derived ones too, so that opening the result shows the same rows with the same row numbers;
** what reading the profile added to diagnostics is written as well, and what the profile was before (profiles.origin).
** TFPROF_IO: it cannot be written, or a file that is open cannot be read any more, so that columns would be NULL. After
** a failure no half-written file is left. */
enum tfprof_status dump_save(struct store *store, struct profile *profile, const char *path,
                             struct tfprof_error *error);

#endif
