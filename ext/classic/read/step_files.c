/* step_files.c: see step_files.h. */
#include "classic/read/step_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_DIGITS = 18 };

int64_t tf_step_number(const char *path) {
  size_t length = strlen(path), end = length;
  if (length > 6 && strcmp(path + length - 6, ".pbtxt") == 0) end = length - 6;
  size_t at = end;
  while (at > 0 && path[at - 1] >= '0' && path[at - 1] <= '9') at--;
  bool is_number = at < end && end - at <= MOST_DIGITS && at > 0 && path[at - 1] == '_';
  return is_number ? strtoll(path + at, NULL, 10) : TF_NO_STEP;
}

static int compare_step_files(const void *left, const void *right) {
  const char *a = *(char *const *)left, *b = *(char *const *)right;
  int64_t first = tf_step_number(a), second = tf_step_number(b);
  return first < second ? -1 : first > second ? 1 : strcmp(a, b);
}

enum tfprof_status tf_list_step_files(const char *path, struct path_list *files, struct tfprof_error *error) {
  struct stat info;
  if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) return paths_add(files, path, "", error);
  DIR *directory = opendir(path);
  if (!directory) return error_io(error, path, "cannot open the directory");
  enum tfprof_status status = TFPROF_OK;
  size_t before = files->count;
  struct dirent *entry;
  while (!status && (errno = 0, entry = readdir(directory))) {
    if (entry->d_name[0] != '.' && tf_step_number(entry->d_name) != TF_NO_STEP)
      status = paths_add(files, path, entry->d_name, error);
  }
  if (!status && errno) status = error_io(error, path, "cannot read the directory");
  closedir(directory);
  if (!status && files->count == before)
    status = error_at(error, TFPROF_NOT_FOUND, path, 0, "holds no file of a step, such as run_meta_7");
  if (!status) qsort(files->paths + before, files->count - before, sizeof *files->paths, compare_step_files);
  return status;
}
