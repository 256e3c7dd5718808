/* read.c: from a path to the files it names, and from those to a run.
**
** A directory gives its files (not those of directories within it), a glob all that it matches.  Where there are
** dumps among several files, the others are left alone: what lies beside a recording is mostly not one.
**
** No file is opened twice, whatever it is called: by its location or as another name of the same inode.  Opening what
** is open refreshes it and gives the run that has it.  A directory of which single files are open takes over their
** runs, so that the files of one recording are one run; a pattern leaves what is open where it is.
**
** A directory without a profile may be one that a tool has put directories with profiles into: the newest is opened.
**
** A directory that tfprof_save made of several runs gives each as a run of its own.
**
** A refresh looks at the paths of all runs again: files that have appeared (a process that started later) are opened,
** and one that took the place of another becomes a profile of its own, so that ids never change their meaning.
*/
#include "read/read.h"

#include "read/clock_alignment.h"
#include "read/log_directory.h"
#include "read/opening.h"
#include "read/recognise.h"
#include "read/saved_runs.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Numbers in names count as numbers, so that rank 2 comes before rank 10. */
static int compare_paths(const void *left, const void *right) {
  return strverscmp(*(char *const *)left, *(char *const *)right);
}

static void sort_paths(struct path_list *list) {
  if (list->count > 1) qsort(list->paths, list->count, sizeof *list->paths, compare_paths);
}

static enum tfprof_status list_directory(const char *path, struct path_list *list, struct tfprof_error *error) {
  DIR *directory = opendir(path);
  enum tfprof_status status = TFPROF_OK;
  if (!directory) return error_io(error, path, "cannot open the directory");
  struct dirent *entry;
  while (!status && (errno = 0, entry = readdir(directory))) {
    if (entry->d_name[0] != '.') status = paths_add(list, path, entry->d_name, error);
  }
  if (!status && errno) status = error_io(error, path, "cannot read the directory");
  closedir(directory);
  if (!status) sort_paths(list);
  return status;
}

/* ---- errors about paths ---- */

/* The longest part of the path that exists; "." when none does. */
static void find_existing_parent(const char *path, char *parent, size_t size) {
  struct stat info;
  snprintf(parent, size, "%s", path);
  for (;;) {
    char *slash = strrchr(parent, '/');
    if (!slash) {
      snprintf(parent, size, ".");
      return;
    }
    if (slash == parent) slash++;
    *slash = 0;
    if (stat(parent, &info) == 0 || strcmp(parent, "/") == 0) return;
  }
}

static enum tfprof_status not_found(const char *path, int reason, struct tfprof_error *error) {
  char parent[1024];
  struct stat info;
  if (reason != ENOENT && reason != ENOTDIR) {
    errno = reason;
    return error_io(error, path, "cannot open");
  }
  find_existing_parent(path, parent, sizeof parent);
  const char *last = strrchr(path, '/');
  bool is_whole =
      last && last[1] && (size_t)(last - path) == strlen(parent) && strncmp(path, parent, strlen(parent)) == 0;
  if (stat(parent, &info) == 0 && !S_ISDIR(info.st_mode)) {
    error_at(error, TFPROF_NOT_FOUND, path, 0, "no such file or directory; %s is a file", parent);
  } else if (strcmp(parent, ".") == 0 || strcmp(parent, "/") == 0 || is_whole) { /* would say nothing new */
    error_at(error, TFPROF_NOT_FOUND, path, 0, "no such file or directory; what can be opened is a folder that "
             "tfprof-capture -o wrote, or a file of another profiler");
  } else {
    error_at(error, TFPROF_NOT_FOUND, path, 0, "no such file or directory; of this path %s exists", parent);
  }
  if (error) error->has_offset = false;
  return TFPROF_NOT_FOUND;
}

/* Names what there is instead. */
static enum tfprof_status nothing_to_open(const char *path, const struct path_list *list, struct tfprof_error *error) {
  char names[400] = "";
  size_t length = 0, shown = 0;
  for (size_t i = 0; i < list->count && length + 80 < sizeof names; i++) {
    struct stat info;
    const char *slash = strrchr(list->paths[i], '/'), *name = slash ? slash + 1 : list->paths[i];
    bool is_directory = stat(list->paths[i], &info) == 0 && S_ISDIR(info.st_mode);
    length += (size_t)snprintf(names + length, sizeof names - length, "%s%.60s%s", shown ? ", " : "", name,
                               is_directory ? "/" : "");
    shown++;
  }
  if (list->count == 0) {
    error_at(error, TFPROF_NOT_FOUND, path, 0, "the directory is empty: nothing has been recorded into it");
  } else if (shown < list->count) {
    error_at(error, TFPROF_NOT_FOUND, path, 0, "there is no profile in it; it has %s and %zu more", names,
             list->count - shown);
  } else {
    error_at(error, TFPROF_NOT_FOUND, path, 0, "there is no profile in it; it has %s", names);
  }
  if (error) error->has_offset = false;
  return TFPROF_NOT_FOUND;
}

/* ---- opening ---- */

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
    const struct read_file file = {path, format};
    status = format ? opening_bundle(opening, &(struct read_bundle){&file, 1}, error)
                    : recognise_refuse(path, head, error);
  }
  free(head);
  return status;
}

/* ---- what a path names ---- */

enum path_kind { PATH_FILE, PATH_DIRECTORY, PATH_PATTERN };

static bool is_directory(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

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
    status = is_directory(path) ? opening_note(opening, path, list_directory(path, list, &reason), &reason)
                                : paths_add(list, path, "", &reason);
    if (status && error) *error = reason;
  }
  if (!status && (result != 0 || found.gl_pathc == 0)) {
    char parent[1024];
    find_existing_parent(pattern, parent, sizeof parent);
    error_at(error, TFPROF_NOT_FOUND, pattern, 0, "nothing matches the pattern; the nearest that exists is %s", parent);
    if (error) error->has_offset = false;
    status = TFPROF_NOT_FOUND;
  }
  if (result == 0) globfree(&found);
  sort_paths(list);
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
    return not_found(path, reason, error);
  }
  *kind = S_ISDIR(info.st_mode) ? PATH_DIRECTORY : PATH_FILE;
  return *kind == PATH_DIRECTORY ? list_directory(path, list, error) : paths_add(list, path, "", error);
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

/* Where the directory has no profile itself, the newest below it that a tool has put some into is opened. */
static enum tfprof_status open_below(struct opening *opening, const char *path, const struct path_list *list,
                                     struct tfprof_error *error) {
  struct path_list below = {0};
  char *newest;
  for (size_t i = 0; i < list->count; i++) {
    if (bundles_find_open(opening->store, list->paths[i])) return TFPROF_OK;
  }
  enum tfprof_status status = log_directory_newest(path, &newest, &opening->others, error);
  if (status || !newest) return status;
  status = list_directory(newest, &below, error);
  if (!status) status = opening_several(opening, &below, error);
  paths_clear(&below);
  free(newest);
  return status;
}

static enum tfprof_status open_listed(struct opening *opening, const char *path, enum path_kind kind,
                                      const struct path_list *list, struct tfprof_error *error) {
  enum tfprof_status status = opening_several(opening, list, error);
  bool has_none = !status && kind == PATH_DIRECTORY && !opening->opened && !opening->failed;
  return has_none ? open_below(opening, path, list, error) : status;
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

/* Makes what was opened visible, with what was not. */
static void publish(struct opening *opening) {
  store_publish_run(opening->store, opening->run_number);
  drop_replaced(opening->store, opening->run_number);
  for (size_t i = 0; i < store_profile_count(opening->store); i++) {
    struct profile *profile = store_profile_at(opening->store, i);
    if (profile->run_number == opening->run_number) tell_of_nothing(profile);
  }
  clock_alignment_run(opening->store, opening->run_number);
  struct profile *profile = first_profile(opening->store, opening->run_number);
  for (size_t i = 0; i + 1 < opening->failures.count && profile; i += 2) {
    tell_unopened(profile, opening->failures.paths[i], opening->failures.paths[i + 1]);
  }
  if (opening->others && opening->opened && profile) {
    profile_diagnose_once(profile, "info", "older_runs",
                          "the newest of %zu directories with profiles below %s was opened; each can be, by its path",
                          opening->others + 1, store_run_path(opening->store, opening->run_number));
  }
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
  if (!status) status = open_listed(opening, store_run_path(store, run_number), kind, &list, &reason);
  bool is_serious = status == TFPROF_NO_MEMORY || status == TFPROF_INTERRUPTED;
  if (is_serious) {
    store_cancel_run(store, run_number);
    if (error) *error = reason;
  } else if (opening->opened || opening->failed) {
    publish(opening);
  }
  paths_clear(&list);
  paths_clear(&opening->failures);
  free(opening);
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
    if (!path || is_directory(path) || strpbrk(path, "*?[")) continue;
    if (*run_number) {
      store_join_run(store, profile->run_number, *run_number);
    } else {
      *run_number = profile->run_number;
      status = store_widen_run(store, *run_number, directory, error);
    }
  }
  return status;
}

static enum tfprof_status open_new(struct opening *opening, const char *path, enum path_kind kind,
                                   const struct path_list *list, uint32_t *run_number, struct tfprof_error *error) {
  struct store *store = opening->store;
  enum tfprof_status status = store_add_run(store, path, NULL, &opening->run_number, error);
  if (!status) {
    status = kind == PATH_FILE ? open_single(opening, path, error) : open_listed(opening, path, kind, list, error);
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
  if (!status && !*run_number && kind == PATH_FILE) status = run_of_file(store, path, run_number, error);
  if (!status && !*run_number && kind == PATH_DIRECTORY) status = take_over(store, path, &list, run_number, error);
  bool is_open = *run_number != 0;
  if (!status && is_open) status = refresh_run(store, *run_number, NULL, error);
  if (!status && !is_open) status = open_new(opening, path, kind, &list, run_number, error);
  /* Nothing that is not open already: what has it? */
  for (size_t i = 0; i < list.count && !status && !*run_number; i++) {
    status = run_of_file(store, list.paths[i], run_number, error);
  }
  if (!status && !*run_number) status = nothing_to_open(path, &list, error);
  paths_clear(&list);
  paths_clear(&opening->failures);
  free(opening);
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
  if (!status) {
    status = runs.count ? open_saved_runs(store, &runs, run_number, error) : open_run(store, path, run_number, error);
  }
  paths_clear(&runs);
  return status;
}
