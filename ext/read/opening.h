/* opening.h: what becomes of the files that a path names: a run with the profiles that can be read. */
#ifndef TFPROF_OPENING_H
#define TFPROF_OPENING_H

#include "read/bundles.h"

struct opening {
  struct store *store;
  uint32_t run_number;
  bool has_dumps; /* the run has: other files are left alone */
  size_t opened, failed;
  struct tfprof_error first_failure;
  struct path_list failures; /* path, message, path, message, ... */
  size_t others;             /* directories below the path that have profiles as well, and were left alone */
};

/* Tells the store of which files the profiles are that were added last. */
void opening_identify(struct store *store, const struct read_bundle *bundle);
/* Opens one bundle, whose files are recognised. */
enum tfprof_status opening_bundle(struct opening *opening, const struct read_bundle *bundle,
                                  struct tfprof_error *error);
/* What happened to one of several: counted and told where it failed; only want of memory and Ctrl-C are returned. */
enum tfprof_status opening_note(struct opening *opening, const char *path, enum tfprof_status status,
                                const struct tfprof_error *reason);
/* Opens what can be opened among several files and is not open yet, with profiles in the order of the list. Files that
** cannot be are counted and told; only want of memory and Ctrl-C end the whole. */
enum tfprof_status opening_several(struct opening *opening, const struct path_list *list, struct tfprof_error *error);

#endif
