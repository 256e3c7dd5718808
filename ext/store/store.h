/* store.h: everything that one database connection has open: its life, what is opened into it, what is in it. No
** SQLite, no file formats.
**
** The parts, from the outside in:
**
**   store      everything one database connection has open; reference-counted, used by one thread at a time: here.
**   run        what one tfprof_open() added: a file, a directory, a glob: here, by its number.
**   profile    one process or rank (one file).  Its rows come from a `source` (a reader) on demand: profile.h.
**   segment    an immutable run of rows of one table of one profile; its columns are loaded or derived on first use:
**              segment.h.
**   snapshot   all segments of one table over the profiles a query selects, at one moment; what cursors read.
**              Permutations and lookup indexes hang on it.  A cursor retains it; opening, closing or refreshing
**              profiles makes later queries get another one: snapshot.h.
**
** Lazy: a source may say which rows a table has when the table is first asked for (source->list), and nothing is
** decoded or derived until snapshot_require() names a column.  A derive pass (pass.h) declares what it reads and
** writes; the store runs passes in the right order, once per profile version.
**
** Versions: a struct profile never changes its rows once it is published.  A refresh that finds new rows makes
** another struct profile of the same number, which shares the columns that the source had loaded, and puts it in the
** place of the old one; what was derived is left behind.  Snapshots hold on to the version that they were made of,
** so that a cursor goes on reading (and deriving) what it began with, whatever is opened, closed or refreshed
** meanwhile.
**
** The tables runs, profiles and diagnostics are made by the store itself, with small segments of their own.  Their
** ids: runs.id is the run number, profiles.id (and profile_id everywhere) the profile number.  Rows of diagnostics
** that a file itself holds keep their row numbers; those that reading the file added begin at row
** DIAGNOSTIC_FIRST_ROW.
*/
#ifndef TFPROF_STORE_H
#define TFPROF_STORE_H

#include "store/pool.h"
#include "store/profile.h"

struct derive_pass;

/* ---- life of a store ---- */

struct store_hooks {                     /* may be all NULL */
  bool (*is_interrupted)(void *context); /* polled by long loops, on worker threads as well */
  void (*progress)(void *context, const char *what, double fraction);
  void *context;
};
/* With one reference; NULL: no memory, or more than DERIVE_MAXIMUM_PASSES. */
struct store *store_create(const struct derive_pass *const *passes, unsigned pass_count);
void store_release(struct store *store);
void store_set_hooks(struct store *store, const struct store_hooks *hooks);
bool store_interrupted(struct store *store);
void store_progress(struct store *store, const char *what, double fraction);
struct pool *store_pool(struct store *store);
/* Rises with every change of what is open. */
uint64_t store_generation(const struct store *store);

/* ---- opening: called by ext/read ---- */

/* A new run; its profiles become visible together by store_publish_run, or vanish by store_cancel_run. `format` may be
** NULL: runs.format comes from the profiles. A run that is published may get more profiles in the same way; then only
** these vanish. */
enum tfprof_status store_add_run(struct store *store, const char *path, const char *format, uint32_t *run_number,
                                 struct tfprof_error *error);
/* A new, empty profile in a run; the caller fills its fields and adds segments. Owned by the store,
** which calls source->free_profile. */
enum tfprof_status store_add_profile(struct store *store, uint32_t run_number, const struct profile_source *source,
                                     void *source_data, struct profile **result, struct tfprof_error *error);
/* A store for a file that another thread reads: it can be interrupted as `store` and tells of no progress. */
struct store *store_create_apart(const struct store *store);
/* Moves the profiles of `from` that are not published to a run of `store`, in their order: texts are entered into the
** pool of `store`, numbers are given there. `from` is only fit to be released afterwards. After a failure the run may
** hold some of them. */
enum tfprof_status store_adopt(struct store *store, uint32_t run_number, struct store *from,
                               struct tfprof_error *error);
/* Takes a profile that is not published yet out of its run again, because reading it failed. */
void store_drop_profile(struct store *store, struct profile *profile);
void store_publish_run(struct store *store, uint32_t run_number);
void store_cancel_run(struct store *store, uint32_t run_number);
/* Says which files the profiles that were added last were read from; the location of a profile is that of the first. */
struct file_identity {
  const char *path;
  uint64_t device, inode; /* 0: not known */
};
void store_identify_files(struct store *store, const struct file_identity *files, size_t count);
/* The profile, published or not, that was read from this file, and where that lay (NULL: is not asked); NULL: none. */
struct profile *store_find_file(struct store *store, const struct file_identity *file, const char **location);
/* Takes a published profile out of its run. */
void store_remove_profile(struct store *store, struct profile *profile);
/* The same of one that holds nothing but what another one has, whose its files are from then on: nobody opens them
** again. */
void store_merge_profile(struct store *store, struct profile *profile, struct profile *into);
/* Gives a published run another path: that of the directory that its file lies in. */
enum tfprof_status store_widen_run(struct store *store, uint32_t run_number, const char *path,
                                   struct tfprof_error *error);
/* Moves the profiles of one published run to another; the first is gone. */
void store_join_run(struct store *store, uint32_t run_number, uint32_t into);

/* ---- after opening ---- */

/* Unlinks at once; memory goes when the last cursor lets go. TFPROF_NOT_FOUND when no such run is open. */
enum tfprof_status store_close_run(struct store *store, uint32_t run_number, struct tfprof_error *error);
/* Asks every source of a run (0: of all runs) for new rows; *added counts them. Rows keep their ids; what was derived
** is derived again on next use. A profile whose file cannot be refreshed stays as it is and gets a diagnostic; that is
** no error. */
enum tfprof_status store_refresh(struct store *store, uint32_t run_number, uint64_t *added,
                                 struct tfprof_error *error);
size_t store_run_count(const struct store *store);
/* Published runs by ascending number; 0 past the last. */
uint32_t store_run_at(const struct store *store, size_t index);
/* The path that a run was opened with, or NULL. */
const char *store_run_path(const struct store *store, uint32_t run_number);
/* The path from the root on without "." and "..", which are resolved as they are written; the caller frees it. NULL: no
** memory. */
char *location_of(const char *path);
/* The published run that was opened with this path, however that is spelled; 0: none. */
uint32_t store_find_run(const struct store *store, const char *path);
/* The published run that was opened with this path, or whose path has this as its last part, with or without .tfprof.
** TFPROF_NOT_FOUND: there is none, or several; says what is open. */
enum tfprof_status store_name_run(const struct store *store, const char *name, uint32_t *run_number,
                                  struct tfprof_error *error);
size_t store_profile_count(const struct store *store);
/* Published profiles by ascending number. The pointers are good until the next refresh or close. */
struct profile *store_profile_at(const struct store *store, size_t index);
struct profile *store_profile_by_number(const struct store *store, uint32_t number);

/* Upper bound or exact number of rows, without running anything (for query plans). */
uint64_t store_estimate_rows(struct store *store, unsigned table);
/* Bytes of memory held by columns, indexes and strings. */
uint64_t store_bytes(const struct store *store);

#endif
