/* opening.h: what becomes of the files that a path names: a run with the profiles that can be read. */
#ifndef TFPROF_OPENING_H
#define TFPROF_OPENING_H

#include "read/open/bundles.h"

struct opening {
  struct store *store;
  uint32_t run_number;
  bool has_dumps; /* the run has: other files are left alone */
  size_t opened, failed;
  struct tfprof_error first_failure;
  struct path_list failures; /* path, message, path, message, ... */
  struct path_list left_out; /* files that hold other profiles, and lie above those that were opened */
  struct path_list copies;   /* of files that were opened */
  struct path_list older;    /* parts of what was opened that others take the place of */
  size_t directories;        /* below the path, that the run lies in; 0: it lies in the path itself */
  size_t others;             /* directories below the path that have profiles as well, and were left alone */
  bool is_cut;               /* not all below the path was looked at */
};

/* Tells the store of which files the profiles are that were added last. */
void opening_identify(struct store *store, const struct read_bundle *bundle);
/* Opens one bundle, whose files are recognised. */
enum tfprof_status opening_bundle(struct opening *opening, const struct read_bundle *bundle,
                                  struct tfprof_error *error);
/* What happened to one of several: counted and told where it failed; only want of memory and Ctrl-C are returned. */
enum tfprof_status opening_note(struct opening *opening, const char *path, enum tfprof_status status,
                                const struct tfprof_error *reason);
/* Opens what can be opened of several bundles, with profiles in their order. Files that cannot be are counted and told;
** only want of memory and Ctrl-C end the whole. */
enum tfprof_status opening_several(struct opening *opening, const struct bundle_list *chosen,
                                   struct tfprof_error *error);

#endif
