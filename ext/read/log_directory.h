/* log_directory.h: where tools put their profiles below a directory that people name. */
#ifndef TFPROF_LOG_DIRECTORY_H
#define TFPROF_LOG_DIRECTORY_H

#include "dump/error.h"

#include <stddef.h>

/* The directory below `path` in which the newest file lies of those that a reader looks for there (reader->below), to
** be freed; NULL: there is none. *others is how many other directories have such files. */
enum tfprof_status log_directory_newest(const char *path, char **newest, size_t *others, struct tfprof_error *error);

#endif
