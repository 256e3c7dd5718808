/* pickle_file.h: what readers of pickled files share: the bytes of a file, and members that become attributes. */
#ifndef TFPROF_PICKLE_FILE_H
#define TFPROF_PICKLE_FILE_H

#include "read/pickle/pickle.h"

/* So many bytes of zeros are behind those of the file. */
enum { PICKLE_FILE_PADDING = 128 };

/* The bytes of the file, to be freed. */
enum tfprof_status pickle_file_read(const char *path, uint8_t **bytes, uint64_t *length, struct tfprof_error *error);

/* The members of a dict become the attributes of the profile, but those of the names (NULL ends). What is too large for
** that is told as "... of `whole`". TFPROF_NO_MEMORY, TFPROF_LIMIT. */
enum tfprof_status pickle_set_attributes(struct profile *profile, const struct pickle_value *root,
                                         const char *const *but, const char *whole);

#endif
