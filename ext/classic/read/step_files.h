/* step_files.h: files of steps, which are numbered by their names. */
#ifndef TFPROF_TENSORFLOW_STEP_FILES_H
#define TFPROF_TENSORFLOW_STEP_FILES_H

#include <stdint.h>

#include "read/open/path_list.h"

enum { TF_NO_STEP = -1 };
/* "run_meta_5" and "run_meta_5.pbtxt" are step 5; TF_NO_STEP where the name has no number. */
int64_t tf_step_number(const char *path);
/* Adds the file itself or, of a directory, those in it whose names have numbers, by number: any number of steps can be
** named that way. */
enum tfprof_status tf_list_step_files(const char *path, struct path_list *files, struct tfprof_error *error);

#endif
