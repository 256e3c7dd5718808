/* open.c: from a path to the files it names, and from those to a run.
**
** The files of this folder in the order in which they run:
**
**   open.c, open_named.c  what a user gives: one path, or keys with paths
**   paths.c, path_list.c  the files that lie there
**   log_directory.c       the newest run below, where a tool has put directories with profiles
**   recognise.c           what each file is, by its first bytes
**   bundles.c             which files are one profile
**   opening.c             the reader of each bundle fills a profile of the run
**   overlaps.c            files that are copies of others
**   clock_alignment.c     the clocks of the ranks
**   neighbours.c          where there is no profile, what else lies there
**
** A directory gives its files (not those of directories within it), a glob all that it matches.  Where there are
** dumps among several files, the others are left alone: what lies beside a recording is mostly not one; but for the
** profiles that profiler servers sent to tfprof-capture.
**
** No file is opened twice, whatever it is called: by its location or as another name of the same inode.  Opening what
** is open refreshes it and gives the run that has it.  A directory of which single files are open takes over their
** runs, so that the files of one recording are one run; a pattern leaves what is open where it is.
**
** A directory may be one that a tool has put directories with profiles into, at whatever depth (log_directory.h): the
** newest run is opened, be it that of its own files or one below, and what is left out is told.  Graphs, checkpoints
** and memory at one moment are no run, so that they hide none.  A recording of ours is never left for what lies below.
**
** A directory that tfprof_save made of several runs gives each as a run of its own.
**
** A refresh looks at the paths of all runs again: files that have appeared (a process that started later) are opened,
** and one that took the place of another becomes a profile of its own, so that ids never change their meaning.
*/
#include "read/read.h"

#include "read/dump/saved_runs.h"
#include "read/open/clock_alignment.h"
#include "read/open/log_directory.h"
#include "read/open/neighbours.h"
#include "read/open/opening.h"
#include "read/open/overlaps.h"
#include "read/open/paths.h"
#include "read/open/recognise.h"
#include "read/xplane/xplane.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- opening ---- */

static void free_opening(struct opening *opening) {
  paths_clear(&opening->failures);
  paths_clear(&opening->left_out);
  paths_clear(&opening->copies);
  paths_clear(&opening->older);
  free(opening);
}

static struct profile *first_profile(const struct store *store, uint32_t run_number) {
  for (size_t i = 0; i < store_profile_count(store); i++) {
    struct profile *profile = store_profile_at(store, i);
    if (profile->run_number == run_number) return profile;
  }
  return NULL;
}

static void tell_unopened(struct profile *profile, const char *path, const char *message) {
  profile_diagnose_once(profile, "error", "unopened_file", "%s could not be opened: %s", path, message);
}

static enum tfprof_status open_single(struct opening *opening, const char *path, struct tfprof_error *error) {
  struct file_head *head = malloc(sizeof *head);
  if (!head) return error_no_memory(error);
  enum tfprof_status status = recognise_read(path, head, error);
  if (!status) {
    const struct read_format *format = recognise_format(path, head);
    const struct read_file file = {.path = path, .format = format};
    status = format ? opening_bundle(opening, &(struct read_bundle){&file, 1}, error)
                    : neighbours_refuse(path, head, error);
    if (format && status == TFPROF_WRONG_KIND) neighbours_add(path, format, error);
  }
  free(head);
  return status;
}

/* ---- what a path names ---- */

enum path_kind { PATH_FILE, PATH_DIRECTORY, PATH_PATTERN };

/* What matches and cannot be listed is told with the run, as a file is that cannot be opened. */
static enum tfprof_status list_pattern(struct opening *opening, const char *pattern, struct path_list *list,
                                       struct tfprof_error *error) {
  glob_t found = {0};
  enum tfprof_status status = TFPROF_OK;
  int result = glob(pattern, GLOB_NOSORT, NULL, &found);
  if (result == GLOB_NOSPACE) status = error_no_memory(error);
  for (size_t i = 0; i < found.gl_pathc && !status && result == 0; i++) {
    const char *path = found.gl_pathv[i];
    struct tfprof_error reason;
    status = paths_is_directory(path) ? opening_note(opening, path, paths_list_directory(path, list, &reason), &reason)
                                : paths_add(list, path, "", &reason);
    if (status && error) *error = reason;
  }
  if (!status && (result != 0 || found.gl_pathc == 0)) {
    char parent[1024];
    paths_existing_parent(pattern, parent, sizeof parent);
    error_at(error, TFPROF_NOT_FOUND, pattern, 0, "nothing matches the pattern; the nearest that exists is %s", parent);
    if (error) error->has_offset = false;
    status = TFPROF_NOT_FOUND;
  }
  if (result == 0) globfree(&found);
  paths_sort(list);
  return status;
}

/* The files that the path names, sorted. */
static enum tfprof_status list_path(struct opening *opening, const char *path, struct path_list *list,
                                    enum path_kind *kind, struct tfprof_error *error) {
  struct stat info;
  if (stat(path, &info) != 0) {
    int reason = errno;
    *kind = PATH_PATTERN;
    if (reason == ENOENT && strpbrk(path, "*?[")) return list_pattern(opening, path, list, error);
    return paths_not_found(path, reason, error);
  }
  *kind = S_ISDIR(info.st_mode) ? PATH_DIRECTORY : PATH_FILE;
  return *kind == PATH_DIRECTORY ? paths_list_directory(path, list, error) : paths_add(list, path, "", error);
}

/* ---- the life of a run ---- */

/* Profiles whose file is another one now, and for which there is a new profile of that path, go. */
static void drop_replaced(struct store *store, uint32_t run_number) {
  size_t i = 0;
  while (i < store_profile_count(store)) {
    struct profile *old = store_profile_at(store, i++);
    if (old->run_number != run_number || !old->is_replaced || !old->location) continue;
    struct profile *new = store_find_file(
        store, &(struct file_identity){.path = pool_text(store_pool(store), old->location)}, NULL);
    if (!new) continue;
    profile_diagnose(new, "info", "replaced_file", 1, -1, -1,
                     "this recording has taken the place of profile %u, whose file was replaced", old->number);
    store_remove_profile(store, old);
    i = 0;
  }
}

static bool is_later(const struct timespec *left, const struct timespec *right) {
  return left->tv_sec != right->tv_sec ? left->tv_sec > right->tv_sec : left->tv_nsec > right->tv_nsec;
}

/* Whether a directory's own files are a run, and of when: dumps always are, whatever lies below them. */
struct own_run {
  bool is_run, has_dumps;
  struct timespec time;
};

static struct own_run look_at_own(const struct bundle_list *chosen) {
  struct own_run own = {.is_run = false};
  for (size_t i = 0; i < chosen->count; i++) {
    for (size_t k = 0; k < chosen->bundles[i].count; k++) {
      const struct read_file *file = &chosen->bundles[i].files[k];
      struct stat info;
      if (file->format && strcmp(file->format->name, "tfprof") == 0) own.has_dumps = true;
      if (!file->format || file->format->is_no_run || stat(file->path, &info) != 0) continue;
      if (!own.is_run || is_later(&info.st_mtim, &own.time)) own.time = info.st_mtim;
      own.is_run = true;
    }
  }
  return own;
}

/* Adds paths to a list. */
static enum tfprof_status add_paths(struct path_list *to, const struct path_list *from, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (size_t i = 0; i < from->count && !status; i++) status = paths_add(to, from->paths[i], "", error);
  return status;
}

static enum tfprof_status leave_out(struct opening *opening, const struct bundle_list *chosen,
                                    struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (size_t i = 0; i < chosen->count && !status; i++) {
    for (size_t k = 0; k < chosen->bundles[i].count && !status; k++)
      status = paths_add(&opening->left_out, chosen->bundles[i].files[k].path, "", error);
  }
  return status;
}

static enum tfprof_status list_directories(const struct path_list *directories, struct path_list *list,
                                           struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (size_t i = 0; i < directories->count && !status; i++)
    status = paths_list_directory(directories->paths[i], list, error);
  if (!status) paths_sort(list);
  return status;
}

static enum tfprof_status open_chosen(struct opening *opening, const struct bundle_list *chosen,
                                      struct tfprof_error *error) {
  enum tfprof_status status = opening_several(opening, chosen, error);
  if (!status) status = add_paths(&opening->copies, &chosen->copies, error);
  return status ? status : add_paths(&opening->older, &chosen->left_out, error);
}

/* Opens what is chosen of the list. */
static enum tfprof_status open_listed(struct opening *opening, const struct path_list *list,
                                      struct tfprof_error *error) {
  struct bundle_list chosen;
  enum tfprof_status status = bundles_choose(opening->store, list, opening->has_dumps, &chosen, error);
  if (!status) status = open_chosen(opening, &chosen, error);
  bundles_clear(&chosen);
  return status;
}

static enum tfprof_status open_run_below(struct opening *opening, const struct log_run *run,
                                         struct tfprof_error *error) {
  struct path_list below = {0};
  enum tfprof_status status = list_directories(&run->directories, &below, error);
  if (!status) status = open_listed(opening, &below, error);
  paths_clear(&below);
  if (opening->opened) opening->directories = run->directories.count;
  return status;
}

/* The newest run of a directory: its own files, or what lies below it. */
static enum tfprof_status open_directory(struct opening *opening, const char *path, const struct path_list *list,
                                         struct tfprof_error *error) {
  struct bundle_list chosen;
  struct log_run run = {.others = 0};
  enum tfprof_status status = bundles_choose(opening->store, list, false, &chosen, error);
  struct own_run own = {.is_run = false};
  if (!status) own = look_at_own(&chosen);
  if (!status && !own.has_dumps) status = log_directory_newest(opening->store, path, &run, error);
  if (!status) {
    opening->others = run.others;
    opening->is_cut = run.is_cut;
    bool is_below_newer = run.directories.count && (!own.is_run || is_later(&run.time, &own.time));
    if (is_below_newer) status = open_run_below(opening, &run, error);
    else opening->others += run.directories.count;
  }
  if (!status && opening->opened) {
    status = leave_out(opening, &chosen, error);
  } else if (!status) {
    status = open_chosen(opening, &chosen, error);
  }
  log_run_clear(&run);
  bundles_clear(&chosen);
  return status;
}

/* Of a recording that is still written the events may be to come; a file of another profiler is whole. */
static void tell_of_nothing(struct profile *profile) {
  static const bool is_no_event[TABLE_count] = {
      [TABLE_runs] = true,    [TABLE_profiles] = true,    [TABLE_devices] = true,     [TABLE_device_peaks] = true,
      [TABLE_links] = true,   [TABLE_threads] = true,     [TABLE_given_names] = true, [TABLE_diagnostics] = true};
  if (strcmp(profile->source->format, "tfprof") == 0) return;
  for (unsigned table = 0; table < TABLE_count; table++) {
    if (!is_no_event[table] && (profile->tables[table].is_estimated || profile_raw_rows(profile, table))) return;
  }
  profile_diagnose_once(profile, "warning", "no_events",
                        "the file, of the format %s, holds no events: the profiler was on while nothing ran, or it is "
                        "another file than the one that was meant", profile->source->format);
}

/* The names of some of the files, and how many there are more. */
static void name_some(const struct path_list *list, char *names, size_t size) {
  enum { SHOWN = 4 };
  size_t length = 0;
  *names = 0;
  for (size_t i = 0; i < list->count && i < SHOWN && length < size; i++) {
    const char *slash = strrchr(list->paths[i], '/');
    length += (size_t)snprintf(names + length, size - length, "%s%.60s", i ? ", " : "",
                               slash ? slash + 1 : list->paths[i]);
  }
  if (list->count > SHOWN && length < size)
    snprintf(names + length, size - length, " and %zu more", list->count - SHOWN);
}

/* What else lies at the path, and was left alone. */
static void tell_of_others(const struct opening *opening, struct profile *profile, const char *path) {
  char names[400];
  if (opening->others && opening->directories) {
    profile_diagnose_once(profile, "info", "older_runs",
                          "the newest of %zu runs below %s was opened; each can be, by the path of its directory",
                          opening->others + 1, path);
  } else if (opening->others) {
    profile_diagnose_once(profile, "info", "older_runs",
                          "%zu directories below %s have older profiles; each can be opened, by its path",
                          opening->others, path);
  }
  if (opening->directories > 1) {
    profile_diagnose_once(profile, "info", "joined_directories",
                          "the profiles of %zu directories below %s are one run: those of ranks or hosts that recorded "
                          "at the same time", opening->directories, path);
  }
  if (opening->left_out.count) {
    name_some(&opening->left_out, names, sizeof names);
    profile_diagnose_once(profile, "info", "left_out",
                          "a newer run, or the only one, lies below %s; what lies there itself was left out, and can "
                          "be opened by its path: %s", path, names);
  }
  if (opening->copies.count) {
    name_some(&opening->copies, names, sizeof names);
    profile_diagnose_once(profile, "info", "copies", "files that are copies of others beside them were left out: %s",
                          names);
  }
  if (opening->older.count) {
    name_some(&opening->older, names, sizeof names);
    profile_diagnose_once(profile, "info", "older_files",
                          "older checkpoints and dumps, and other files of the same graph, module or rank, were left "
                          "out; each can be opened by its path: %s", names);
  }
  if (opening->is_cut) {
    profile_diagnose_once(profile, "warning", "not_all_looked_at",
                          "so much lies below %s that newer runs than this one may not have been found; open the "
                          "directory of the run", path);
  }
}

/* Makes what was opened visible, with what was not. */
static void publish(struct opening *opening) {
  store_publish_run(opening->store, opening->run_number);
  drop_replaced(opening->store, opening->run_number);
  for (size_t i = 0; i < store_profile_count(opening->store); i++) {
    struct profile *profile = store_profile_at(opening->store, i);
    if (profile->run_number == opening->run_number) tell_of_nothing(profile);
  }
  overlaps_run(opening->store, opening->run_number);
  xplane_rank_processes(opening->store, opening->run_number);
  clock_alignment_run(opening->store, opening->run_number);
  struct profile *profile = first_profile(opening->store, opening->run_number);
  for (size_t i = 0; i + 1 < opening->failures.count && profile; i += 2) {
    tell_unopened(profile, opening->failures.paths[i], opening->failures.paths[i + 1]);
  }
  if (opening->opened && profile) tell_of_others(opening, profile, store_run_path(opening->store, opening->run_number));
}

/* Puts in the place of what lies at the path of a run the files of the directories below it that the run lies in. */
static enum tfprof_status list_again(struct store *store, uint32_t run_number, struct path_list *list,
                                     struct tfprof_error *error) {
  struct path_list directories = {0};
  enum tfprof_status status = TFPROF_OK;
  char *own = location_of(store_run_path(store, run_number));
  if (!own) return error_no_memory(error);
  for (size_t i = 0; i < store_profile_count(store) && !status; i++) {
    const struct profile *profile = store_profile_at(store, i);
    if (profile->run_number != run_number || !profile->location) continue;
    const char *file = pool_text(store_pool(store), profile->location), *slash = strrchr(file, '/');
    char *directory = strndup(file, slash && slash > file ? (size_t)(slash - file) : 1);
    bool is_known = directory && strcmp(directory, own) == 0;
    for (size_t k = 0; k < directories.count && directory; k++)
      is_known |= strcmp(directory, directories.paths[k]) == 0;
    if (!directory) status = error_no_memory(error);
    else if (!is_known && paths_is_directory(directory)) status = paths_add(&directories, directory, "", error);
    free(directory);
  }
  if (!status && directories.count) {
    paths_clear(list);
    *list = (struct path_list){0};
    status = list_directories(&directories, list, error);
  }
  paths_clear(&directories);
  free(own);
  return status;
}

/* Files that have appeared under the path of a run, or taken the place of others. */
static enum tfprof_status look_again(struct store *store, uint32_t run_number, struct tfprof_error *error) {
  struct opening *opening = calloc(1, sizeof *opening);
  struct path_list list = {0};
  enum path_kind kind;
  if (!opening) return error_no_memory(error);
  opening->store = store;
  opening->run_number = run_number;
  for (size_t i = 0; i < store_profile_count(store); i++) {
    const struct profile *profile = store_profile_at(store, i);
    if (profile->run_number == run_number) opening->has_dumps |= strcmp(profile->source->format, "tfprof") == 0;
  }
  struct tfprof_error reason;
  enum tfprof_status status = list_path(opening, store_run_path(store, run_number), &list, &kind, &reason);
  if (!status && kind == PATH_DIRECTORY) status = list_again(store, run_number, &list, &reason);
  if (!status) status = open_listed(opening, &list, &reason);
  bool is_serious = status == TFPROF_NO_MEMORY || status == TFPROF_INTERRUPTED;
  if (is_serious) {
    store_cancel_run(store, run_number);
    if (error) *error = reason;
  } else if (opening->opened || opening->failed) {
    publish(opening);
  }
  paths_clear(&list);
  free_opening(opening);
  return is_serious ? status : TFPROF_OK; /* a path that is gone is told of its profiles */
}

/* Adds the rows of the profiles that were opened after the one of that number. */
static enum tfprof_status add_new_rows(struct store *store, uint32_t last_profile, uint64_t *added,
                                       struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (size_t i = 0; i < store_profile_count(store); i++) {
    struct profile *profile = store_profile_at(store, i);
    if (profile->number <= last_profile) continue;
    for (unsigned table = 0; table < TABLE_count && !status; table++) {
      if (profile->tables[table].is_estimated) status = profile_list_table(profile, table, error);
      *added += profile_raw_rows(profile, table);
    }
  }
  return status;
}

/* `added` may be NULL: rows need not be counted. */
static enum tfprof_status refresh_run(struct store *store, uint32_t run_number, uint64_t *added,
                                      struct tfprof_error *error) {
  size_t count = store_profile_count(store);
  uint32_t last = count ? store_profile_at(store, count - 1)->number : 0;
  uint64_t rows;
  enum tfprof_status status = store_refresh(store, run_number, &rows, error);
  if (!status) status = look_again(store, run_number, error);
  if (added) *added = rows;
  return status || !added ? status : add_new_rows(store, last, added, error);
}

enum tfprof_status read_refresh(struct store *store, uint64_t *added, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  *added = 0;
  for (size_t i = 0; !status && store_run_at(store, i); i++) {
    uint64_t rows = 0;
    status = refresh_run(store, store_run_at(store, i), &rows, error);
    *added += rows;
  }
  return status;
}

/* The run of an open file, as it is after a refresh; 0: it is not open. */
static enum tfprof_status run_of_file(struct store *store, const char *path, uint32_t *run_number,
                                      struct tfprof_error *error) {
  struct profile *profile = bundles_find_open(store, path);
  if (profile) {
    *run_number = profile->run_number;
  } else { /* it may have appeared in a directory that is open */
    char *directory = strdup(path), *slash = directory ? strrchr(directory, '/') : NULL;
    if (!directory) return error_no_memory(error);
    if (slash) slash[slash == directory] = 0;
    *run_number = store_find_run(store, slash ? directory : ".");
    free(directory);
  }
  if (!*run_number) return TFPROF_OK;
  enum tfprof_status status = refresh_run(store, *run_number, NULL, error);
  profile = bundles_find_open(store, path); /* it may have turned out to be another one now */
  *run_number = profile ? profile->run_number : 0;
  return status;
}

/* The files of a directory that were opened one by one become one run, which is the first of theirs. */
static enum tfprof_status take_over(struct store *store, const char *directory, const struct path_list *list,
                                    uint32_t *run_number, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (size_t i = 0; i < list->count && !status; i++) {
    struct profile *profile = bundles_find_open(store, list->paths[i]);
    if (!profile || profile->run_number == *run_number) continue;
    const char *path = store_run_path(store, profile->run_number);
    if (!path || paths_is_directory(path) || strpbrk(path, "*?[")) continue;
    if (*run_number) {
      store_join_run(store, profile->run_number, *run_number);
    } else {
      *run_number = profile->run_number;
      status = store_widen_run(store, *run_number, directory, error);
    }
  }
  return status;
}

/* Where the open run of a directory lies below it: the run that is the newest there now; 0: it is not open. */
static enum tfprof_status find_newest_run(struct store *store, const char *path, const struct path_list *list,
                                          uint32_t *run_number, struct tfprof_error *error) {
  struct log_run run = {.others = 0};
  struct path_list below = {0};
  for (size_t i = 0; i < list->count; i++) {
    if (bundles_find_open(store, list->paths[i])) return TFPROF_OK;
  }
  enum tfprof_status status = log_directory_newest(store, path, &run, error);
  if (!status && run.directories.count) {
    status = list_directories(&run.directories, &below, error);
    *run_number = 0;
  }
  for (size_t i = 0; i < below.count && !status && !*run_number; i++) {
    const struct profile *profile = bundles_find_open(store, below.paths[i]);
    if (profile) *run_number = profile->run_number;
  }
  paths_clear(&below);
  log_run_clear(&run);
  return status;
}

static enum tfprof_status open_new(struct opening *opening, const char *path, enum path_kind kind,
                                   const struct path_list *list, uint32_t *run_number, struct tfprof_error *error) {
  struct store *store = opening->store;
  enum tfprof_status status = store_add_run(store, path, NULL, &opening->run_number, error);
  if (!status) {
    status = kind == PATH_FILE        ? open_single(opening, path, error)
             : kind == PATH_DIRECTORY ? open_directory(opening, path, list, error)
                                      : open_listed(opening, list, error);
    if (!status && opening->opened == 0 && opening->failed) {
      status = opening->first_failure.status;
      if (error) *error = opening->first_failure;
    }
    if (status || opening->opened == 0) store_cancel_run(store, opening->run_number);
  }
  if (!status && opening->opened) {
    publish(opening);
    *run_number = opening->run_number;
  }
  return status;
}

/* The file that a path stands for which leads nowhere itself; NULL: a path as it is. */
static char *find_stand_in(const char *path) {
  struct stat info;
  char *file = NULL;
  if (stat(path, &info) == 0) return NULL;
  for (const struct reader *const *reader = readers; *reader && !file; reader++) {
    if ((*reader)->stand_in) file = (*reader)->stand_in(path);
  }
  return file;
}

static enum tfprof_status open_run(struct store *store, const char *path, uint32_t *run_number,
                                   struct tfprof_error *error) {
  struct path_list list = {0};
  enum path_kind kind;
  *run_number = 0;
  struct opening *opening = calloc(1, sizeof *opening);
  if (!opening) return error_no_memory(error);
  opening->store = store;
  enum tfprof_status status = list_path(opening, path, &list, &kind, error);
  if (!status) *run_number = store_find_run(store, path);
  if (!status && *run_number && kind == PATH_DIRECTORY) status = find_newest_run(store, path, &list, run_number, error);
  if (!status && !*run_number && kind == PATH_FILE) status = run_of_file(store, path, run_number, error);
  if (!status && !*run_number && kind == PATH_DIRECTORY) status = take_over(store, path, &list, run_number, error);
  bool is_open = *run_number != 0;
  if (!status && is_open) status = refresh_run(store, *run_number, NULL, error);
  if (!status && !is_open) status = open_new(opening, path, kind, &list, run_number, error);
  /* Nothing that is not open already: what has it? */
  for (size_t i = 0; i < list.count && !status && !*run_number; i++) {
    status = run_of_file(store, list.paths[i], run_number, error);
  }
  if (!status && !*run_number) status = paths_nothing_to_open(path, &list, error);
  paths_clear(&list);
  free_opening(opening);
  return status;
}

/* *run_number: the first. What cannot be opened is told with that. */
static enum tfprof_status open_saved_runs(struct store *store, const struct path_list *runs, uint32_t *run_number,
                                          struct tfprof_error *error) {
  struct path_list failures = {0};
  struct tfprof_error reason, first;
  enum tfprof_status status = TFPROF_OK;
  *run_number = 0;
  for (size_t i = 0; i < runs->count && !status; i++) {
    uint32_t number;
    enum tfprof_status result = open_run(store, runs->paths[i], &number, &reason);
    if (!result) {
      if (!*run_number) *run_number = number;
      continue;
    }
    if (!failures.count) first = reason;
    if (result == TFPROF_NO_MEMORY || result == TFPROF_INTERRUPTED) status = result;
    if (!status) status = paths_add(&failures, runs->paths[i], "", &reason);
    if (!status) status = paths_add(&failures, reason.message, "", &reason);
    if (status && error) *error = reason;
  }
  if (!status && !*run_number) {
    status = first.status;
    if (error) *error = first;
  }
  struct profile *profile = status ? NULL : first_profile(store, *run_number);
  for (size_t i = 0; i + 1 < failures.count && profile; i += 2) {
    tell_unopened(profile, failures.paths[i], failures.paths[i + 1]);
  }
  paths_clear(&failures);
  return status;
}

enum tfprof_status read_open(struct store *store, const char *path, uint32_t *run_number, struct tfprof_error *error) {
  struct path_list runs = {0};
  *run_number = 0;
  if (!*path) return error_set(error, TFPROF_USAGE, "the path to open is empty");
  enum tfprof_status status = saved_runs_list(path, &runs, error);
  char *file = status || runs.count ? NULL : find_stand_in(path);
  if (!status) {
    status = runs.count ? open_saved_runs(store, &runs, run_number, error)
                        : open_run(store, file ? file : path, run_number, error);
  }
  paths_clear(&runs);
  free(file);
  return status;
}
