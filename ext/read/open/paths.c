/* paths.c: see paths.h. */
#include "read/open/paths.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool paths_is_directory(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool paths_is_empty_directory(const char *path) {
  DIR *directory = opendir(path);
  bool is_empty = directory != NULL;
  for (struct dirent *entry; is_empty && (entry = readdir(directory));) is_empty = entry->d_name[0] == '.';
  if (directory) closedir(directory);
  return is_empty;
}

/* Numbers in names count as numbers, so that rank 2 comes before rank 10. */
static int compare_paths(const void *left, const void *right) {
  return strverscmp(*(char *const *)left, *(char *const *)right);
}

void paths_sort(struct path_list *list) {
  if (list->count > 1) qsort(list->paths, list->count, sizeof *list->paths, compare_paths);
}

enum tfprof_status paths_list_directory(const char *path, struct path_list *list, struct tfprof_error *error) {
  DIR *directory = opendir(path);
  enum tfprof_status status = TFPROF_OK;
  if (!directory) return error_io(error, path, "cannot open the directory");
  struct dirent *entry;
  while (!status && (errno = 0, entry = readdir(directory))) {
    if (entry->d_name[0] != '.') status = paths_add(list, path, entry->d_name, error);
  }
  if (!status && errno) status = error_io(error, path, "cannot read the directory");
  closedir(directory);
  if (!status) paths_sort(list);
  return status;
}

/* ---- errors about paths ---- */

/* The longest part of the path that exists; "." when none does. */
void paths_existing_parent(const char *path, char *parent, size_t size) {
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

enum tfprof_status paths_not_found(const char *path, int reason, struct tfprof_error *error) {
  char parent[1024];
  struct stat info;
  if (reason != ENOENT && reason != ENOTDIR) {
    errno = reason;
    return error_io(error, path, "cannot open");
  }
  paths_existing_parent(path, parent, sizeof parent);
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
enum tfprof_status paths_nothing_to_open(const char *path, const struct path_list *list, struct tfprof_error *error) {
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
