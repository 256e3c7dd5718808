/* read.h: opens any profile, whatever wrote it.
**
** One reader per family of formats; each recognises its files by content and fills the store through the functions of
** store.h.  read_open() looks at what a path names (file, run directory, glob), asks each of readers[] once about
** each file, and adds one run with a profile per file.
*/
#ifndef TFPROF_READ_H
#define TFPROF_READ_H

#include "store/store.h"

struct read_format {
  const char *name;        /* as in profiles.format */
  const char *description; /* "dump written by tfprof-capture or tfprof_save" */
  /* Adds one profile to the unpublished run. Runs on any thread: several files are read at the same time, each into a
  ** store of its own (opening.c). */
  enum tfprof_status (*open)(struct store *store, uint32_t run_number, const char *path, struct tfprof_error *error);
  bool may_be_gzip; /* open() unpacks a gzip file */
};

/* What a reader takes a file for. */
struct recognised {
  const struct read_format *format; /* NULL: none of the reader's */
  int certainty;                    /* 1 to 100; of the readers that take a file, the one that is surest has it */
};

struct reader {
  const struct read_format *const *formats; /* all that it reads; NULL ends */
  /* `head` is the file's first bytes (at most 4096, fewer when it is shorter), already decompressed when gzip; where
  ** they do not tell it may look into the file, which is bounded. */
  struct recognised (*probe)(const char *path, const uint8_t *head, size_t length);
};
extern const struct reader *const readers[]; /* NULL ends */

/* Opens `path`: a file; a directory (every dump in it; other profiles if it has no dump); a glob. *run_number is the
** new run, or where all that the path names is open already the run that has it (its first file), refreshed. Fails with
** nothing opened when there is no readable profile at all; a file among several that cannot be opened is a diagnostic
** of the run's first profile. Errors: not found (with the nearest existing parent), empty file, directory without
** dumps, unknown kind (says what the bytes look like), newer version. */
enum tfprof_status read_open(struct store *store, const char *path, uint32_t *run_number, struct tfprof_error *error);
/* Reads what was recorded since, in the files that are open and in those that have appeared under the paths of the
** runs; *added counts the rows. Files that are gone or cannot be read are diagnostics and no error. */
enum tfprof_status read_refresh(struct store *store, uint64_t *added, struct tfprof_error *error);

/* Opens files of TensorFlow that belong to one program as one profile: read/tensorflow/tensorflow.h. */
struct tensorflow_files;
enum tfprof_status read_open_tensorflow(struct store *store, const struct tensorflow_files *files, uint32_t *run_number,
                                        struct tfprof_error *error);

#endif
