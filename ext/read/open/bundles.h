/* bundles.h: which files of a list are profiles, and which of them belong together. */
#ifndef TFPROF_BUNDLES_H
#define TFPROF_BUNDLES_H

#include "read/open/path_list.h"
#include "read/read.h"

/* A file that could not be read or recognised, and should have been, is alone in a bundle and has no format. */
struct bundle_list {
  struct read_file *files; /* of all bundles; their paths are the list's */
  struct read_bundle *bundles;
  size_t count;
  struct path_list copies;   /* files that were left out because they are copies of others */
  struct path_list left_out; /* or because a reader says so: READ_LEFT_OUT */
};

/* The open profile, published or not, that was read from the file; NULL: none. */
struct profile *bundles_find_open(struct store *store, const char *path);
/* The files that are not open and may be profiles, in the order of the list, which is sorted by strverscmp(). Where the
** run has dumps, or there are some among the files, others are left alone. */
enum tfprof_status bundles_choose(struct store *store, const struct path_list *list, bool has_dumps,
                                  struct bundle_list *chosen, struct tfprof_error *error);
void bundles_clear(struct bundle_list *list);

#endif
