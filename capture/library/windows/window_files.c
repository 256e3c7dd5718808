/* window_files.c: see window_files.h. TensorFlow writes to DIRECTORY/plugins/profile/SECOND/HOST.xplane.pb, which is
** found by its end. */
#include "window_files.h"

#include "recorder/file_threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LEVELS = 4 /* of directories */ };
static const char suffix[] = ".xplane.pb", of_dumps[] = ".tfprof";

static void fail(struct window_file *file, const char *what) {
  file->is_full = errno == ENOSPC || errno == EDQUOT;
  snprintf(file->error, sizeof file->error, "%s: %s", what, strerror(errno));
  file->name[0] = 0;
}

/* ---- What TensorFlow has written. */

static bool has_suffix(const char *name) {
  size_t length = strlen(name), end = sizeof suffix - 1;
  return length > end && !strcmp(name + length - end, suffix);
}

static DIR *open_directory(const char *path) {
  int number = file_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
  DIR *stream = number < 0 ? NULL : fdopendir(number);
  if (number >= 0 && !stream) close(number);
  return stream;
}

/* The first such file below the directory. false: there is none. */
static bool find_file(const char *directory, unsigned level, char *found, size_t size) {
  DIR *stream = open_directory(directory);
  bool is_found = false;
  for (struct dirent *entry; stream && !is_found && (entry = readdir(stream));) {
    if (entry->d_name[0] == '.') continue;
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", directory, entry->d_name) >= sizeof path) continue;
    struct stat facts;
    if (lstat(path, &facts)) continue;
    if (S_ISDIR(facts.st_mode)) is_found = level < LEVELS && find_file(path, level + 1, found, size);
    else if (S_ISREG(facts.st_mode) && has_suffix(entry->d_name))
      is_found = (size_t)snprintf(found, size, "%s", path) < size;
  }
  if (stream) closedir(stream);
  return is_found;
}

static void remove_all(const char *directory, unsigned level) {
  DIR *stream = open_directory(directory);
  for (struct dirent *entry; stream && (entry = readdir(stream));) {
    char path[PATH_MAX];
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", directory, entry->d_name) >= sizeof path) continue;
    struct stat facts;
    bool is_directory = !lstat(path, &facts) && S_ISDIR(facts.st_mode);
    if (is_directory && level < LEVELS) remove_all(path, level + 1);
    else if (!is_directory) unlink(path);
  }
  if (stream) closedir(stream);
  rmdir(directory);
}

/* *bytes is to be freed. */
static bool read_exported(const char *path, char **bytes, size_t *size) {
  int from = file_open(path, O_RDONLY, 0);
  struct stat facts;
  bool is_read = from >= 0 && !fstat(from, &facts) && (*bytes = malloc((size_t)facts.st_size + 1));
  *size = 0;
  while (is_read && *size < (size_t)facts.st_size) {
    ssize_t got = read(from, *bytes + *size, (size_t)facts.st_size - *size);
    if (got > 0) *size += (size_t)got;
    else if (got == 0 || errno != EINTR) break;
  }
  int reason = errno;
  if (from >= 0) close(from);
  errno = reason;
  return is_read && *size == (size_t)facts.st_size;
}

/* ---- The file beside the dump. */

static bool write_all(int to, const char *bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t put = write(to, bytes + done, size - done);
    if (put > 0) done += (size_t)put;
    else if (put == 0 || errno != EINTR) return false;
  }
  return true;
}

static void put_file(struct window_file *file, const char *bytes, size_t size) {
  const char *slash = strrchr(file->dump, '/'), *stem = slash ? slash + 1 : file->dump;
  size_t length = strlen(stem), end = sizeof of_dumps - 1;
  if (length > end && !strcmp(stem + length - end, of_dumps)) length -= end;
  char path[PATH_MAX], hidden[PATH_MAX];
  int directory = (int)(stem - file->dump);
  int named = snprintf(file->name, sizeof file->name, "%.*s.%u%s", (int)length, stem, file->number, suffix);
  bool fits = named > 0 && (size_t)named < sizeof file->name &&
              snprintf(path, sizeof path, "%.*s%s", directory, file->dump, file->name) < PATH_MAX &&
              snprintf(hidden, sizeof hidden, "%.*s.%s.part", directory, file->dump, file->name) < PATH_MAX;
  errno = ENAMETOOLONG;
  int to = fits ? file_open(hidden, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600) : -1;
  if (to < 0) {
    fail(file, "its file cannot be made");
    return;
  }
  bool is_whole = write_all(to, bytes, size);
  int reason = errno;
  if (close(to) && is_whole) {
    is_whole = false;
    reason = errno;
  }
  errno = reason;
  if (is_whole && rename(hidden, path)) {
    is_whole = false;
    reason = errno;
  }
  if (!is_whole) {
    unlink(hidden);
    errno = reason;
    fail(file, "its file cannot be written");
    return;
  }
  file->written = size;
}

static void write_file(void *argument) {
  struct window_file *file = argument;
  char found[PATH_MAX], *read_bytes = NULL;
  size_t size = file->size;
  errno = ENOENT;
  bool is_there = !file->directory || (find_file(file->directory, 0, found, sizeof found) &&
                                       read_exported(found, &read_bytes, &size));
  if (!is_there) fail(file, "what the profiler has written cannot be read");
  else put_file(file, read_bytes ? read_bytes : file->bytes, size);
  free(read_bytes);
  if (file->directory) remove_all(file->directory, 0);
}

void window_file_write(struct window_file *file) {
  file->name[0] = file->error[0] = 0;
  file->written = 0;
  file->is_full = false;
  if (!file_thread_run(FILE_THREAD_DISK, write_file, file))
    snprintf(file->error, sizeof file->error, "its file cannot be written: no thread can be started");
}

static void remove_place(void *place) { rmdir(place); }

void window_place_remove(const char *place) {
  char path[PATH_MAX];
  if ((size_t)snprintf(path, sizeof path, "%s", place) < sizeof path)
    file_thread_run(FILE_THREAD_DISK, remove_place, path);
}
