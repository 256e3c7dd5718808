/* log_directory.c: see log_directory.h. */
#include "read/log_directory.h"

#include "read/read.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct search {
  char *newest;          /* directory */
  char *last;            /* directory of the file before: a pattern gives the files of one after each other */
  size_t directories;
  struct timespec time;  /* of the newest file */
};

static bool is_later(const struct timespec *left, const struct timespec *right) {
  return left->tv_sec != right->tv_sec ? left->tv_sec > right->tv_sec : left->tv_nsec > right->tv_nsec;
}

/* False: no memory. */
static bool look_at(struct search *search, const char *file) {
  struct stat info;
  const char *name = strrchr(file, '/');
  if (!name || stat(file, &info) != 0 || !S_ISREG(info.st_mode)) return true;
  char *directory = strndup(file, (size_t)(name - file));
  if (!directory) return false;
  bool is_new = !search->last || strcmp(search->last, directory) != 0;
  search->directories += is_new;
  if (!search->newest || is_later(&info.st_mtim, &search->time)) {
    char *copy = strdup(directory);
    if (!copy) {
      free(directory);
      return false;
    }
    free(search->newest);
    search->newest = copy;
    search->time = info.st_mtim;
  }
  free(search->last);
  search->last = directory;
  return true;
}

/* The path with everything that a pattern would take for a sign of its own made plain. NULL: no memory. */
static char *pattern_below(const char *path, const char *below) {
  char *pattern = malloc(2 * strlen(path) + strlen(below) + 2), *to = pattern;
  for (const char *at = path; pattern && *at; at++) {
    if (strchr("*?[]\\", *at)) *to++ = '\\';
    *to++ = *at;
  }
  if (pattern) sprintf(to, "/%s", below);
  return pattern;
}

static enum tfprof_status look_below(struct search *search, const char *path, const char *below,
                                     struct tfprof_error *error) {
  char *pattern = pattern_below(path, below);
  glob_t found = {0};
  int result = pattern ? glob(pattern, 0, NULL, &found) : GLOB_NOSPACE;
  bool ok = result != GLOB_NOSPACE;
  for (size_t i = 0; i < found.gl_pathc && ok && result == 0; i++) ok = look_at(search, found.gl_pathv[i]);
  if (result == 0) globfree(&found);
  free(pattern);
  return ok ? TFPROF_OK : error_no_memory(error);
}

enum tfprof_status log_directory_newest(const char *path, char **newest, size_t *others, struct tfprof_error *error) {
  struct search search = {0};
  enum tfprof_status status = TFPROF_OK;
  for (const struct reader *const *reader = readers; *reader && !status; reader++) {
    for (const char *const *below = (*reader)->below; below && *below && !status; below++) {
      status = look_below(&search, path, *below, error);
    }
  }
  free(search.last);
  if (status) free(search.newest);
  *newest = status ? NULL : search.newest;
  *others = search.directories ? search.directories - 1 : 0;
  return status;
}
