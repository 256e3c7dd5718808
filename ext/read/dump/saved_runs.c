/* saved_runs.c: see saved_runs.h. */
#include "read/dump/saved_runs.h"

#include "dump/directory.h"
#include "read/dump/save.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char list_name[] = "saved-runs";
static const char list_head[] = "tfprof runs 1\n";
enum { MAXIMUM_LIST_BYTES = 1 << 20, MAXIMUM_NAME_BYTES = 100 };

/* ---- where to ---- */

static bool is_directory(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_empty_directory(const char *path) {
  DIR *stream = opendir(path);
  bool is_empty = stream != NULL;
  for (struct dirent *entry; is_empty && (entry = readdir(stream));) {
    is_empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
  }
  if (stream) closedir(stream);
  return is_empty;
}

/* Whether a file of that path would lie in the directory of an open run, which the next refresh would take it into. */
static bool is_in_open_run(const struct store *store, const char *path) {
  const char *slash = strrchr(path, '/');
  char *parent = !slash ? strdup(".") : slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
  struct stat place, run;
  bool is_inside = false;
  if (parent && stat(parent, &place) == 0) {
    for (size_t i = 0; i < store_run_count(store) && !is_inside; i++) {
      const char *of_run = store_run_path(store, store_run_at(store, i));
      if (!of_run || stat(of_run, &run) != 0) continue;
      is_inside = S_ISDIR(run.st_mode) && run.st_dev == place.st_dev && run.st_ino == place.st_ino;
    }
  }
  free(parent);
  return is_inside;
}

/* What is saved becomes a run of its own: nothing is overwritten, and no other run gets rows twice. */
static enum tfprof_status refuse_place(const struct store *store, size_t count, const char *path,
                                       struct tfprof_error *error) {
  struct stat info;
  if (lstat(path, &info) == 0 && !is_directory(path))
    return error_set(error, TFPROF_USAGE,
                     "%s: there is a file of this name, which is not overwritten; choose another name", path);
  if (is_directory(path) && dump_directory_open(path, NULL, error)) return TFPROF_USAGE;
  if (is_directory(path) && !is_empty_directory(path))
    return error_set(error, TFPROF_USAGE, "%s: the directory is not empty; what is saved needs a new or empty one",
                     path);
  if (count == 1 && !is_directory(path) && is_in_open_run(store, path))
    return error_set(
        error, TFPROF_USAGE,
        "%s: lies in the directory of a run that is open, which would have its rows twice; choose another place", path);
  return TFPROF_OK;
}

/* ---- names ---- */

/* The last part of a path as the name of a file or directory, which no shell or pattern takes for more. */
static void name_of_path(const char *path, char name[MAXIMUM_NAME_BYTES + 1]) {
  char *location = path ? location_of(path) : NULL; /* of "." too there is a name then */
  const char *slash = location ? strrchr(location, '/') : NULL, *last = slash ? slash + 1 : "";
  snprintf(name, MAXIMUM_NAME_BYTES + 1, "%s", *last ? last : "run");
  for (char *at = name; *at; at++) {
    if (strchr("*?[]\\", *at) || iscntrl((unsigned char)*at)) *at = '_';
  }
  if (*name == '.') *name = '_';
  free(location);
}

/* ---- writing ---- */

struct writing {
  struct store *store;
  struct path_list made; /* files and directories, to be removed when something fails */
};

static enum tfprof_status make_directory(struct writing *writing, const char *path, struct tfprof_error *error) {
  if (is_directory(path)) return TFPROF_OK;
  if (mkdir(path, DUMP_DIRECTORY_MODE) != 0) return error_io(error, path, "cannot make the directory");
  return paths_add(&writing->made, path, "", error);
}

static size_t profiles_of_run(const struct store *store, uint32_t run_number) {
  size_t count = 0;
  for (size_t i = 0; i < store_profile_count(store); i++) {
    count += store_profile_at(store, i)->run_number == run_number;
  }
  return count;
}

/* The numbers come first, as long as each other, so that the files are opened in their order and sort in it. */
static enum tfprof_status write_run(struct writing *writing, uint32_t run_number, const char *directory,
                                    struct tfprof_error *error) {
  size_t of_run = profiles_of_run(writing->store, run_number), position = 0;
  int digits = snprintf(NULL, 0, "%zu", of_run);
  enum tfprof_status status = make_directory(writing, directory, error);
  for (size_t i = 0; i < store_profile_count(writing->store) && !status; i++) {
    struct profile *profile = store_profile_at(writing->store, i);
    char name[MAXIMUM_NAME_BYTES + 1], file[MAXIMUM_NAME_BYTES + 40];
    if (profile->run_number != run_number) continue;
    name_of_path(pool_text(store_pool(writing->store), profile->path), name);
    size_t length = strcspn(name, ".");
    if (!length) length = strlen(name);
    if (of_run == 1) snprintf(file, sizeof file, "%.*s.tfprof", (int)length, name);
    else snprintf(file, sizeof file, "%0*zu-%.*s.tfprof", digits, ++position, (int)length, name);
    struct path_list path = {0};
    status = paths_add(&path, directory, file, error);
    if (!status) status = paths_add(&writing->made, path.paths[0], "", error);
    if (!status) status = dump_save(writing->store, profile, path.paths[0], error);
    paths_clear(&path);
  }
  return status;
}

/* Adds a directory in `path` that no other run has. */
static enum tfprof_status add_run_directory(const struct writing *writing, uint32_t run_number, const char *path,
                                            struct path_list *directories, struct tfprof_error *error) {
  char name[MAXIMUM_NAME_BYTES + 1], unique[MAXIMUM_NAME_BYTES + 16];
  name_of_path(store_run_path(writing->store, run_number), name);
  snprintf(unique, sizeof unique, "%s", name);
  enum tfprof_status status = paths_add(directories, path, unique, error);
  for (size_t i = 0, last = directories->count - 1; i < last && !status; i++) {
    if (strcmp(directories->paths[i], directories->paths[last]) != 0) continue;
    free(directories->paths[--directories->count]);
    snprintf(unique, sizeof unique, "%s-%u", name, run_number);
    return paths_add(directories, path, unique, error);
  }
  return status;
}

static enum tfprof_status write_list(struct writing *writing, const char *path, const struct path_list *directories,
                                     struct tfprof_error *error) {
  struct path_list place = {0};
  enum tfprof_status status = paths_add(&place, path, list_name, error);
  if (status) return status;
  int descriptor = open(place.paths[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, DUMP_FILE_MODE);
  FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
  if (descriptor >= 0) status = paths_add(&writing->made, place.paths[0], "", error);
  if (file) {
    fputs(list_head, file);
    for (size_t i = 0; i < directories->count; i++) fprintf(file, "%s\n", strrchr(directories->paths[i], '/') + 1);
  }
  bool is_written = file && !ferror(file);
  if (file) is_written = fclose(file) == 0 && is_written;
  else if (descriptor >= 0) close(descriptor);
  if (!status && !is_written) status = error_io(error, place.paths[0], "cannot write");
  paths_clear(&place);
  return status;
}

static enum tfprof_status write_runs(struct writing *writing, const char *path, struct tfprof_error *error) {
  struct path_list directories = {0};
  size_t count = store_run_count(writing->store);
  enum tfprof_status status = make_directory(writing, path, error);
  for (size_t i = 0; i < count && !status; i++) {
    uint32_t run_number = store_run_at(writing->store, i);
    status = add_run_directory(writing, run_number, path, &directories, error);
    if (!status) status = write_run(writing, run_number, directories.paths[i], error);
  }
  if (!status) status = write_list(writing, path, &directories, error); /* last: a list is of what is there */
  paths_clear(&directories);
  return status;
}

enum tfprof_status saved_runs_write(struct store *store, const char *path, struct tfprof_error *error) {
  struct writing writing = {.store = store};
  size_t count = store_profile_count(store);
  if (count == 0) return error_set(error, TFPROF_USAGE, "nothing is open that could be saved");
  if (!*path) return error_set(error, TFPROF_USAGE, "the path to save to is empty");
  if (refuse_place(store, count, path, error)) return TFPROF_USAGE;
  if (count == 1 && !is_directory(path)) return dump_save(store, store_profile_at(store, 0), path, error);
  enum tfprof_status status = store_run_count(store) == 1 ? write_run(&writing, store_run_at(store, 0), path, error)
                                                          : write_runs(&writing, path, error);
  for (size_t i = writing.made.count; i > 0 && status; i--) remove(writing.made.paths[i - 1]); /* all or nothing */
  paths_clear(&writing.made);
  return status;
}

/* ---- reading ---- */

/* All of the file, to be freed; NULL: `status` says why, or where that is TFPROF_OK there is none. */
static char *read_list(const char *path, size_t *length, enum tfprof_status *status, struct tfprof_error *error) {
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info;
  char *text = NULL;
  *status = TFPROF_OK;
  if (descriptor < 0) return NULL;
  if (fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= MAXIMUM_LIST_BYTES) {
    text = malloc((size_t)info.st_size + 1);
    ssize_t got = text ? read(descriptor, text, (size_t)info.st_size) : 0;
    if (!text) *status = error_no_memory(error);
    else if (got < 0) *status = error_io(error, path, "cannot read");
    *length = got < 0 ? 0 : (size_t)got;
    if (text) text[*length] = 0;
  }
  close(descriptor);
  if (!*status) return text;
  free(text);
  return NULL;
}

/* A list that somebody made leads nowhere else than to what lies beside it. */
static bool is_name(const char *name, size_t length) {
  return length > 0 && length < 256 && *name != '.' && !memchr(name, '/', length) && !memchr(name, 0, length);
}

static enum tfprof_status take_list(const char *directory, const char *path, const char *text, size_t length,
                                    struct path_list *runs, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  size_t at = sizeof list_head - 1;
  if (strncmp(text, list_head, at) != 0) return TFPROF_OK; /* somebody else's file of that name */
  while (at < length && !status) {
    const char *end = memchr(text + at, '\n', length - at);
    size_t size = end ? (size_t)(end - (text + at)) : length - at;
    char name[256];
    if (!is_name(text + at, size))
      return error_at(error, TFPROF_CORRUPT, path, at, "not the name of a directory that lies beside this list");
    snprintf(name, sizeof name, "%.*s", (int)size, text + at);
    status = paths_add(runs, directory, name, error);
    at += size + 1;
  }
  return status;
}

enum tfprof_status saved_runs_list(const char *path, struct path_list *runs, struct tfprof_error *error) {
  struct path_list place = {0};
  size_t length = 0;
  enum tfprof_status status = paths_add(&place, path, list_name, error);
  if (status) return status;
  char *text = read_list(place.paths[0], &length, &status, error);
  if (text) status = take_list(path, place.paths[0], text, length, runs, error);
  free(text);
  paths_clear(&place);
  return status;
}
