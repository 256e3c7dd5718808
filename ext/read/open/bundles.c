/* bundles.c: see bundles.h.
**
** Each file is recognised by itself.  Those of one reader that lie in one directory are then shown to the reader
** together, which knows what its tool writes side by side.
*/
#include "read/open/bundles.h"

#include "dump/directory.h"
#include "dump/format.h"
#include "read/dump/dump.h"
#include "read/open/log_directory.h"
#include "read/open/recognise.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A number of an inode is used again once its file is gone, so the path it was read from must still lead there. */
struct profile *bundles_find_open(struct store *store, const char *path) {
  struct stat info, own;
  const char *location;
  if (stat(path, &info) != 0) return NULL;
  struct file_identity file = {path, (uint64_t)info.st_dev, (uint64_t)info.st_ino};
  struct profile *profile = store_find_file(store, &file, &location);
  bool is_itself = profile && strcmp(location, path) == 0;
  if (is_itself) return profile;
  bool is_there = profile && stat(location, &own) == 0 && own.st_dev == info.st_dev && own.st_ino == info.st_ino;
  return is_there ? profile : NULL;
}

/* ---- which files ---- */

static bool is_file(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static bool is_named_as_dump(const char *path) {
  size_t length = strlen(path);
  return length > 7 && strcmp(path + length - 7, ".tfprof") == 0;
}

static bool ends_in(const char *path, const char *ending) {
  size_t length = strlen(path), size = strlen(ending);
  return length > size && strcmp(path + length - size, ending) == 0;
}

static bool may_be_dump(const struct read_file *file) {
  return file->format ? file->format == &dump_read_format : is_named_as_dump(file->path);
}

/* Where a run has dumps, other files are left alone, but for those that profiler servers sent to tfprof-capture, and
** formats that belong to dumps. */
static bool is_of_run(const struct read_file *file) {
  bool joins_dumps = file->format && file->format->joins_dumps;
  return may_be_dump(file) || joins_dumps || ends_in(file->path, DUMP_SERVER_SUFFIX);
}

/* ---- copies ---- */

static size_t directory_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash - path) : 0;
}

static bool share_directory(const char *left, const char *right) {
  size_t length = directory_length(left);
  return length == directory_length(right) && strncmp(left, right, length) == 0;
}

/* Whether `other` is the original of `path`, by their names. */
static bool is_original(const struct read_copy *pair, const char *path, const char *other) {
  size_t length = strlen(path), copy = strlen(pair->copy), original = strlen(pair->original);
  if (!ends_in(path, pair->copy) || !ends_in(other, pair->original) || !share_directory(path, other)) return false;
  if (pair->copy[0] == '/') return strcmp(path, other) != 0;
  return strlen(other) == length - copy + original && strncmp(path, other, length - copy) == 0;
}

static int compare_paths(const void *left, const void *right) {
  return strverscmp(*(char *const *)left, *(char *const *)right);
}

/* Whether a file of the name that the original would have is in the list, which spares nearly all files the search for
** it. */
static bool may_have_original(const struct read_copy *pair, const struct path_list *list, const char *path) {
  if (!ends_in(path, pair->copy)) return false;
  if (pair->copy[0] == '/') return true;
  size_t stem = strlen(path) - strlen(pair->copy);
  char *original = malloc(stem + strlen(pair->original) + 1);
  if (!original) return true;
  memcpy(original, path, stem);
  strcpy(original + stem, pair->original);
  bool is_there = bsearch(&original, list->paths, list->count, sizeof *list->paths, compare_paths);
  free(original);
  return is_there;
}

/* Whether an original is among the files, recognised, or open already. */
static bool has_original(struct store *store, const struct read_copy *pair, const struct read_file *files, size_t count,
                         const struct path_list *list, const char *path) {
  if (!may_have_original(pair, list, path)) return false;
  for (size_t i = 0; i < count; i++) {
    if (files[i].format && is_original(pair, path, files[i].path)) return true;
  }
  for (size_t i = 0; i < list->count; i++) {
    if (is_original(pair, path, list->paths[i]) && bundles_find_open(store, list->paths[i])) return true;
  }
  return false;
}

static bool is_copy(struct store *store, const struct read_file *files, size_t count, const struct path_list *list,
                    const char *path) {
  bool found = false;
  for (const struct reader *const *reader = readers; *reader && !found; reader++) {
    for (const struct read_copy *pair = (*reader)->copies; pair && pair->original && !found; pair++)
      found = has_original(store, pair, files, count, list, path);
  }
  return found;
}

/* A link to nowhere that is called as a profile. */
static bool is_dangling(const char *path) {
  struct stat info;
  return log_directory_is_name(path) && stat(path, &info) != 0 && lstat(path, &info) == 0;
}

static bool is_of(const struct reader *reader, const struct read_format *format) {
  for (const struct read_format *const *own = reader->formats; *own; own++) {
    if (*own == format) return true;
  }
  return false;
}

static bool is_claimed(const struct read_format *format) {
  for (const struct reader *const *reader = readers; *reader && format; reader++) {
    if ((*reader)->claim && is_of(*reader, format)) return true;
  }
  return false;
}

/* Whether beside dumps the file may be of the run, and is worth a closer look: thousands of others may lie there. */
static bool may_be_of_run(const char *path) {
  static const char magic[] = DUMP_MAGIC;
  char bytes[sizeof magic - 1];
  if (is_named_as_dump(path) || ends_in(path, DUMP_SERVER_SUFFIX)) return true;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return true;
  bool is_dump = pread(fd, bytes, sizeof bytes, 0) == sizeof bytes && memcmp(bytes, magic, sizeof bytes) == 0;
  close(fd);
  return is_dump;
}

/* What the file at the path is; false: no profile. */
static bool recognise(const char *path, struct file_head *head, struct read_file *file) {
  bool is_readable = recognise_read(path, head, NULL) == TFPROF_OK;
  *file = (struct read_file){.path = path, .format = is_readable ? recognise_format(path, head) : NULL};
  /* A file that says to be a dump and is none has lost its beginning, or all of it: the writer makes none empty. */
  bool is_lost = !file->format && is_readable && is_named_as_dump(path);
  return file->format || is_lost || (!is_readable && (is_file(path) || is_dangling(path)));
}

/* The files that may be profiles and are not open, with those that are where a reader wants to see them. */
static enum tfprof_status choose(struct store *store, const struct path_list *list, bool has_dumps,
                                 struct file_head *head, struct read_file *files, size_t *count,
                                 struct path_list *copies, struct tfprof_error *error) {
  bool has_claimed = false, is_of_dumps = has_dumps;
  for (size_t i = 0; i < list->count; i++) {
    if (i % 64 == 0 && store_interrupted(store)) return error_set(error, TFPROF_INTERRUPTED, "interrupted");
    const char *path = list->paths[i];
    struct read_file *file = &files[*count];
    if (bundles_find_open(store, path)) {
      *file = (struct read_file){.path = path, .is_open = true};
    } else if (is_of_dumps && !may_be_of_run(path)) {
      continue;
    } else if (recognise(path, head, file)) {
      has_claimed |= is_claimed(file->format);
      has_dumps |= file->format && may_be_dump(file);
    } else {
      continue;
    }
    ++*count;
  }
  for (size_t i = 0; i < *count && has_claimed; i++) {
    if (!files[i].is_open) continue;
    recognise(files[i].path, head, &files[i]);
    files[i].is_open = true;
  }
  size_t kept = 0;
  bool is_alone = list->count == 1; /* whoever names a copy wants it */
  enum tfprof_status status = TFPROF_OK;
  for (size_t i = 0; i < *count && !status; i++) {
    /* Files that are kept move to the front: none is lost that may be an original. */
    bool is_left = files[i].is_open ? !is_claimed(files[i].format) : has_dumps && !is_of_run(&files[i]);
    bool may_be_copy = !is_left && !files[i].is_open && !has_dumps && !is_alone;
    bool is_of_other = may_be_copy && is_copy(store, files, *count, list, files[i].path);
    if (is_of_other) status = paths_add(copies, files[i].path, "", error);
    if (!is_left && !is_of_other) files[kept++] = files[i];
  }
  *count = kept;
  return status;
}

/* ---- which belong together ---- */

struct grouping {
  const struct read_file *files;
  size_t count;
  size_t *owners;             /* of each file: the first of its bundle */
  bool *is_shown;             /* to the reader */
  struct read_file *together; /* that are shown at the same time: */
  size_t *places, *together_owners;
};

/* Shows the reader those of its files that lie beside file `first`. */
static void show(struct grouping *grouping, const struct reader *reader, size_t first) {
  size_t count = 0;
  for (size_t i = first; i < grouping->count; i++) {
    const struct read_file *file = &grouping->files[i];
    bool is_beside = is_of(reader, file->format) && share_directory(file->path, grouping->files[first].path);
    if (!is_beside) continue;
    grouping->is_shown[i] = true;
    grouping->together_owners[count] = count;
    grouping->places[count] = i;
    grouping->together[count++] = *file;
  }
  reader->claim(grouping->together, count, grouping->together_owners);
  for (size_t i = 0; i < count; i++) {
    size_t owner = grouping->together_owners[i], place = grouping->places[i];
    assert(owner == READ_LEFT_OUT || (owner <= i && grouping->together_owners[owner] == owner));
    /* What belongs to a profile that is open already is shown by itself. */
    bool is_alone = owner != READ_LEFT_OUT && grouping->together[owner].is_open;
    grouping->owners[place] = owner == READ_LEFT_OUT ? owner : is_alone ? place : grouping->places[owner];
  }
}

static void group(struct grouping *grouping) {
  for (size_t i = 0; i < grouping->count; i++) grouping->owners[i] = i;
  for (const struct reader *const *reader = readers; *reader; reader++) {
    for (size_t i = 0; i < grouping->count && (*reader)->claim; i++) {
      if (!grouping->is_shown[i] && is_of(*reader, grouping->files[i].format)) show(grouping, *reader, i);
    }
  }
}

/* The files of each bundle one after the other, bundles in the order of their first files. */
static enum tfprof_status gather(const struct grouping *grouping, struct bundle_list *list,
                                 struct tfprof_error *error) {
  struct read_file *next = list->files;
  enum tfprof_status status = TFPROF_OK;
  for (size_t i = 0; i < grouping->count && !status; i++) {
    bool is_left = grouping->owners[i] == READ_LEFT_OUT && !grouping->files[i].is_open;
    if (is_left) status = paths_add(&list->left_out, grouping->files[i].path, "", error);
    if (grouping->owners[i] != i || grouping->files[i].is_open) continue;
    struct read_bundle *bundle = &list->bundles[list->count++];
    *bundle = (struct read_bundle){next, 0};
    size_t end = grouping->is_shown[i] ? grouping->count : i + 1; /* no other is beside one that was shown to nobody */
    for (size_t k = i; k < end; k++) {
      if (grouping->owners[k] != i) continue;
      *next++ = grouping->files[k];
      bundle->count++;
    }
  }
  return status;
}

void bundles_clear(struct bundle_list *list) {
  free(list->files);
  free(list->bundles);
  paths_clear(&list->copies);
  paths_clear(&list->left_out);
  *list = (struct bundle_list){.count = 0};
}

enum tfprof_status bundles_choose(struct store *store, const struct path_list *list, bool has_dumps,
                                  struct bundle_list *chosen, struct tfprof_error *error) {
  size_t room = list->count + 1;
  struct file_head *head = malloc(sizeof *head);
  struct read_file *files = malloc(2 * room * sizeof *files);
  size_t *numbers = malloc(3 * room * sizeof *numbers);
  bool *is_shown = calloc(room, sizeof *is_shown);
  *chosen = (struct bundle_list){.files = malloc(room * sizeof *chosen->files),
                                 .bundles = malloc(room * sizeof *chosen->bundles)};
  bool has_memory = head && files && numbers && is_shown && chosen->files && chosen->bundles;
  struct grouping grouping = {files, 0, numbers, is_shown, files + room, numbers + room, numbers + 2 * room};
  enum tfprof_status status =
      has_memory ? choose(store, list, has_dumps, head, files, &grouping.count, &chosen->copies, error)
                 : error_no_memory(error);
  if (!status) {
    group(&grouping);
    status = gather(&grouping, chosen, error);
  }
  if (status) bundles_clear(chosen);
  free(head);
  free(files);
  free(numbers);
  free(is_shown);
  return status;
}
