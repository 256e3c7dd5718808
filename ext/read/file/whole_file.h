/* whole_file.h: a file that is taken into memory whole, unpacked where it is gzip. */
#ifndef TFPROF_WHOLE_FILE_H
#define TFPROF_WHOLE_FILE_H

#include "read/file/source.h"

/* All bytes of the source, to be freed, also on failure. TFPROF_LIMIT past `maximum`, which no `kind` of file needs. */
enum tfprof_status whole_file_read(struct source *source, const char *path, size_t maximum, const char *kind,
                                   char **bytes, size_t *length, struct tfprof_error *error);

#endif
