/* read.c: from a path to the files it names, and from those to a run.
**
** A directory gives its files (not those of directories within it), a glob all that it matches.  Where there are
** dumps among several files, the others are left alone: what lies beside a recording is mostly not one.
*/
#include "read/read.h"

#include "read/dump_reader.h"
#include "read/json/json.h"
#include "read/recognise.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const struct read_format *const read_formats[] = {&dump_read_format, &read_format_json};
const unsigned read_format_count = sizeof read_formats / sizeof read_formats[0];

struct path_list {
  char **paths;
  size_t count, capacity;
};

static void clear_paths(struct path_list *list) {
  for (size_t i = 0; i < list->count; i++) free(list->paths[i]);
  free(list->paths);
}

static enum tfprof_status add_path(struct path_list *list, const char *directory, const char *name,
                                   struct tfprof_error *error) {
  if (list->count == list->capacity) {
    size_t capacity = list->capacity ? list->capacity * 2 : 16;
    char **paths = realloc(list->paths, capacity * sizeof *paths);
    if (!paths) return error_no_memory(error);
    list->paths = paths;
    list->capacity = capacity;
  }
  size_t length = strlen(directory), size = length + strlen(name) + 2;
  char *path = malloc(size);
  if (!path) return error_no_memory(error);
  bool needs_slash = *name && length && directory[length - 1] != '/';
  snprintf(path, size, "%s%s%s", directory, needs_slash ? "/" : "", name);
  list->paths[list->count++] = path;
  return TFPROF_OK;
}

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
  while (!status && (entry = readdir(directory))) {
    if (entry->d_name[0] != '.') status = add_path(list, path, entry->d_name, error);
  }
  closedir(directory);
  if (!status) sort_paths(list);
  return status;
}

/* ---- errors about paths ---- */

/* The longest part of the path that exists, or "." when none does. */
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
  find_existing_parent(path, parent, sizeof parent);
  const char *kind = stat(parent, &info) == 0 && !S_ISDIR(info.st_mode) ? "file" : "directory";
  if (reason != ENOENT && reason != ENOTDIR) {
    errno = reason;
    return error_io(error, path, "cannot open");
  }
  error_at(error, TFPROF_NOT_FOUND, path, 0, "no such file or directory; the nearest that exists is the %s %s", kind,
           strcmp(parent, ".") == 0 ? "that the program was started in" : parent);
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
    error_at(error, TFPROF_NOT_FOUND, path, 0, "the directory is empty");
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

struct opening {
  struct store *store;
  uint32_t run_number;
  size_t opened, failed;
  struct tfprof_error first_failure;
  struct path_list failures; /* path, message, path, message, ... */
};

static struct profile *first_profile(const struct opening *opening) {
  for (size_t i = 0; i < store_profile_count(opening->store); i++) {
    struct profile *profile = store_profile_at(opening->store, i);
    if (profile->run_number == opening->run_number) return profile;
  }
  return NULL;
}

static enum tfprof_status open_file(struct opening *opening, const struct read_format *format, const char *path) {
  struct tfprof_error reason;
  enum tfprof_status status = format->open(opening->store, opening->run_number, path, &reason);
  if (!status) {
    opening->opened++;
    return TFPROF_OK;
  }
  if (opening->failed++ == 0) opening->first_failure = reason;
  if (status == TFPROF_NO_MEMORY || status == TFPROF_INTERRUPTED) {
    opening->first_failure = reason;
    return status;
  }
  status = add_path(&opening->failures, path, "", NULL);
  if (!status) status = add_path(&opening->failures, reason.message, "", NULL);
  if (status) error_no_memory(&opening->first_failure);
  return status;
}

struct candidate {
  const struct read_format *format;
  size_t path; /* index */
};

/* Opens what can be opened among several files. */
static enum tfprof_status open_several(struct opening *opening, const char *path, const struct path_list *list,
                                       struct tfprof_error *error) {
  struct candidate *candidates = malloc((list->count + 1) * sizeof *candidates);
  struct file_head *head = malloc(sizeof *head);
  size_t count = 0, dumps = 0;
  enum tfprof_status status = candidates && head ? TFPROF_OK : error_no_memory(error);
  for (size_t i = 0; i < list->count && !status; i++) {
    if (i % 64 == 0 && store_interrupted(opening->store)) status = error_set(error, TFPROF_INTERRUPTED, "interrupted");
    /* What cannot be read is no profile here; of a path given by itself the user is told why. */
    if (status || recognise_read(list->paths[i], head, NULL)) continue;
    const struct read_format *format = recognise_format(list->paths[i], head);
    if (!format) continue;
    candidates[count++] = (struct candidate){format, i};
    dumps += format == &dump_read_format;
  }
  if (!status && count == 0) status = nothing_to_open(path, list, error);
  for (size_t i = 0; i < count && !status; i++) {
    if (dumps && candidates[i].format != &dump_read_format) continue;
    store_progress(opening->store, "opening", (double)i / (double)count);
    if (store_interrupted(opening->store)) {
      status = error_set(error, TFPROF_INTERRUPTED, "interrupted");
      break;
    }
    status = open_file(opening, candidates[i].format, list->paths[candidates[i].path]);
    if (status && error) *error = opening->first_failure;
  }
  free(candidates);
  free(head);
  if (!status && opening->opened == 0) {
    status = opening->first_failure.status;
    if (error) *error = opening->first_failure;
  }
  return status;
}

static enum tfprof_status open_single(struct opening *opening, const char *path, struct tfprof_error *error) {
  struct file_head *head = malloc(sizeof *head);
  if (!head) return error_no_memory(error);
  enum tfprof_status status = recognise_read(path, head, error);
  if (!status) {
    const struct read_format *format = recognise_format(path, head);
    status =
        format ? format->open(opening->store, opening->run_number, path, error) : recognise_refuse(path, head, error);
  }
  free(head);
  return status;
}

static bool is_directory(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static enum tfprof_status open_glob(struct opening *opening, const char *pattern, struct tfprof_error *error) {
  glob_t found = {0};
  struct path_list list = {0};
  enum tfprof_status status = TFPROF_OK;
  int result = glob(pattern, GLOB_NOSORT, NULL, &found);
  if (result == GLOB_NOSPACE) status = error_no_memory(error);
  for (size_t i = 0; i < found.gl_pathc && !status && result == 0; i++) {
    if (is_directory(found.gl_pathv[i])) status = list_directory(found.gl_pathv[i], &list, error);
    else status = add_path(&list, found.gl_pathv[i], "", error);
  }
  if (!status && (result != 0 || found.gl_pathc == 0)) {
    char parent[1024];
    find_existing_parent(pattern, parent, sizeof parent);
    error_at(error, TFPROF_NOT_FOUND, pattern, 0, "nothing matches the pattern; the nearest that exists is %s", parent);
    if (error) error->has_offset = false;
    status = TFPROF_NOT_FOUND;
  }
  if (result == 0) globfree(&found);
  sort_paths(&list);
  if (!status) status = open_several(opening, pattern, &list, error);
  clear_paths(&list);
  return status;
}

static enum tfprof_status open_path(struct opening *opening, const char *path, struct tfprof_error *error) {
  struct stat info;
  struct path_list list = {0};
  if (stat(path, &info) != 0) {
    int reason = errno;
    if (reason == ENOENT && strpbrk(path, "*?[")) return open_glob(opening, path, error);
    return not_found(path, reason, error);
  }
  if (!S_ISDIR(info.st_mode)) return open_single(opening, path, error);
  enum tfprof_status status = list_directory(path, &list, error);
  if (!status) status = open_several(opening, path, &list, error);
  clear_paths(&list);
  return status;
}

enum tfprof_status read_open(struct store *store, const char *path, uint32_t *run_number, struct tfprof_error *error) {
  struct opening *opening = calloc(1, sizeof *opening);
  if (!opening) return error_no_memory(error);
  opening->store = store;
  enum tfprof_status status = TFPROF_OK;
  if (!*path) status = error_set(error, TFPROF_USAGE, "the path to open is empty");
  if (!status) status = store_add_run(store, path, NULL, &opening->run_number, error);
  if (!status) {
    status = open_path(opening, path, error);
    if (status) store_cancel_run(store, opening->run_number);
  }
  if (!status) {
    store_publish_run(store, opening->run_number);
    *run_number = opening->run_number;
    struct profile *profile = first_profile(opening);
    for (size_t i = 0; i + 1 < opening->failures.count && profile; i += 2) {
      profile_diagnose(profile, "error", "unopened_file", 1, -1, -1, "%s could not be opened: %s",
                       opening->failures.paths[i], opening->failures.paths[i + 1]);
    }
  }
  clear_paths(&opening->failures);
  free(opening);
  return status;
}
