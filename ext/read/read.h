/* read.h: opens any profile, whatever wrote it.
**
** One reader per family of formats; each recognises its files by content and fills the store through the functions of
** store.h and profile.h.  read_open() looks at what a path names (file, run directory, glob), asks each of readers[]
** once about each file, lets the readers say which files belong together, and adds one run with the profiles.
*/
#ifndef TFPROF_READ_H
#define TFPROF_READ_H

#include "read/open/path_list.h"
#include "store/store.h"

/* A file that a reader has recognised. */
struct read_file {
  const char *path;
  const struct read_format *format;
  bool is_open; /* already: only claim() sees it, which says what becomes of those beside it */
};
/* Those of one profile; most have one. */
struct read_bundle {
  const struct read_file *files;
  size_t count;
};

struct read_format {
  const char *name;        /* as in profiles.format */
  const char *description; /* "dump written by tfprof-capture or tfprof_save" */
  /* Adds one profile to the unpublished run. Runs on any thread: several are read at the same time, each into a store
  ** of its own (open/opening.c). Of several files this is the format of the first. */
  enum tfprof_status (*open)(struct store *store, uint32_t run_number, const struct read_bundle *bundle,
                             struct tfprof_error *error);
  bool may_be_gzip; /* open() unpacks a gzip file */
  bool joins_dumps; /* beside dumps of tfprof-capture it is part of their run, where others are left alone */
  bool is_no_run;   /* it holds nothing that happened: a graph, what a model is made of, or memory at one moment */
};

/* What a reader takes a file for. */
struct recognised {
  const struct read_format *format; /* NULL: none of the reader's */
  int certainty;                    /* 1 to 100; of the readers that take a file, the one that is surest has it */
};

/* A key of tfprof_open(key, value, ...): how a user says which files belong together, and what each of them is. */
struct read_key {
  const char *name; /* "graph_path"; NULL ends a list */
  enum { READ_NUMBER, READ_PATH, READ_PATHS } kind; /* PATHS: parted by commas */
  /* Of paths: the format that the file must have, and what it is then called: "a GraphDef". */
  const struct read_format *format;
  const char *content;
  const struct read_format *const *others; /* other formats that hold the same; NULL ends, or: there is none */
  bool is_any_alone; /* without other keys it may name a profile of another reader as well, which is opened then */
  /* Whether a file of whose format nothing shows may have this one. NULL: it may not. */
  bool (*may_be)(const uint8_t *head, size_t length);
  /* The file that the path stands for, to be freed. NULL: itself. */
  enum tfprof_status (*find)(const char *path, char **file, struct tfprof_error *error);
  /* Of PATHS: adds the files that one of them stands for, itself or those of a directory. NULL: itself. */
  enum tfprof_status (*list)(const char *path, struct path_list *files, struct tfprof_error *error);
};
struct read_option {
  const struct read_key *key;
  const char *text; /* of paths */
  int64_t number;
};

/* Names of an original and of a copy of it: their endings, before which both are called the same; of a copy that
** begins with a slash the whole name, whatever the original beside it is called. */
struct read_copy {
  const char *original, *copy;
};

#define READ_LEFT_OUT SIZE_MAX

struct reader {
  const struct read_format *const *formats; /* all that it reads; NULL ends */
  /* `head` is the file's first bytes (at most 4096, fewer when it is shorter), already decompressed when gzip; where
  ** they do not tell it may look into the file, which is bounded. */
  struct recognised (*probe)(const char *path, const uint8_t *head, size_t length);
  /* Says which of its files in one directory, in the order of their names, are one profile: owners[i], which is i,
  ** becomes the index of the first file of the profile that file i belongs to, or READ_LEFT_OUT where it has nothing
  ** that the others do not have, or older. NULL: each is one by itself. */
  void (*claim)(const struct read_file *files, size_t count, size_t *owners);
  /* The file that a path stands for which is no file itself, such as the prefix of a checkpoint; to be freed. NULL: it
  ** stands for none; the reader knows no such paths. */
  char *(*stand_in)(const char *path);
  /* Copies that its tool writes beside its files: the same, or less of it, for other programs. Where both are there,
  ** the copy is left alone. The last has no original; NULL: there are none. */
  const struct read_copy *copies;
  /* How the names of its files end, by which they are looked for below a directory that people name, such as a log
  ** directory of TensorBoard (open/log_directory.h). NULL ends; NULL: there are none. */
  const char *const *below;
  /* The keys of its files, and how those are opened as one profile: all paths are of the formats that their keys want.
  ** NULL: it has none. */
  const struct read_key *keys;
  enum tfprof_status (*open_named)(struct store *store, uint32_t run_number, const struct read_option *options,
                                   size_t count, struct tfprof_error *error);
};
extern const struct reader *const readers[]; /* NULL ends */

/* Opens `path`: a file; a directory (every dump in it; if it has none, the newest run of those that other profiles in
** it are and of those that tools have put into directories below it); a glob. *run_number is the
** new run, or where all that the path names is open already the run that has it (its first file), refreshed. Fails with
** nothing opened when there is no readable profile at all; a file among several that cannot be opened is a diagnostic
** of the run's first profile. Errors: not found (with the nearest existing parent), empty file, directory without
** dumps, unknown kind (says what the bytes look like), newer version. */
enum tfprof_status read_open(struct store *store, const char *path, uint32_t *run_number, struct tfprof_error *error);
/* Reads what was recorded since, in the files that are open and in those that have appeared under the paths of the
** runs; *added counts the rows. Files that are gone or cannot be read are diagnostics and no error. */
enum tfprof_status read_refresh(struct store *store, uint64_t *added, struct tfprof_error *error);

/* Opens the files that the options name as one profile, in a new run. */
enum tfprof_status read_open_named(struct store *store, const struct read_option *options, size_t count,
                                   uint32_t *run_number, struct tfprof_error *error);
/* NULL: no reader has a key of that name. */
const struct read_key *read_find_key(const char *name);
/* The names of all keys: "path, graph_path and op_log_path". */
void read_list_keys(char *text, size_t size);

#endif
