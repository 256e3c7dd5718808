/* log_directory.h: where tools put their profiles below a directory that people name. */
#ifndef TFPROF_LOG_DIRECTORY_H
#define TFPROF_LOG_DIRECTORY_H

#include "read/open/path_list.h"
#include "store/store.h"

#include <time.h>

/* The newest run below a directory, at whatever depth. */
struct log_run {
  struct path_list directories; /* that its files lie in: several where each rank or host has its own; none: no run */
  struct timespec time;         /* of its newest file */
  size_t others;                /* directories of other runs */
  bool is_cut;                  /* there is so much below the directory that only the first of it was looked at */
};

/* Free with log_run_clear(), also after a failure. The store, where it is given, is asked whether to go on. */
enum tfprof_status log_directory_newest(struct store *store, const char *path, struct log_run *run,
                                        struct tfprof_error *error);
void log_run_clear(struct log_run *run);

/* Whether a tool calls its profiles so (reader->below). */
bool log_directory_is_name(const char *path);

#endif
