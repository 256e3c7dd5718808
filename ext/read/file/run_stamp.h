/* run_stamp.h: when a run began, by the name of its directory, 2026_11_28_01_46_58, as profilers of TensorFlow and JAX
** call it.
*/
#ifndef TFPROF_RUN_STAMP_H
#define TFPROF_RUN_STAMP_H

#include <stdint.h>

/* Seconds from 1970, in whatever time zone; -1: the directory is called otherwise. */
int64_t run_stamp_of_name(const char *name);
/* The same of the directory that a file lies in. */
int64_t run_stamp_of_file(const char *path);

#endif
