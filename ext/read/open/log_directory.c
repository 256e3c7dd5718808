/* log_directory.c: see log_directory.h.
**
** All directories below are gone through; one in which a file lies that is called as a tool calls its profiles
** (reader->below) has a run.  A directory that is called by a time, as XProf calls those of its runs, is of that time,
** whenever it was copied; else the newest of its files tells it.
**
** One run may lie in several directories: each rank in its own, called the same but for the rank's number (rank0,
** rank1); or each host in one of its own time, since hosts start their profilers at about, but not at the same second.
*/
#include "read/open/log_directory.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/list.h"
#include "read/file/run_stamp.h"
#include "read/read.h"

enum {
  MAXIMUM_DEPTH = 24,
  MAXIMUM_ENTRIES = 200000, /* a fifth of a second; whoever names a larger tree means another one */
  HOSTS_APART_S = 60
};

struct found_directory {
  char *path; /* owned */
  struct timespec time;
  int64_t stamp; /* seconds, in whatever time zone, by its name; -1: it is called otherwise */
};

struct search {
  struct store *store;
  LIST(struct found_directory) found;
  struct stat around[MAXIMUM_DEPTH + 1]; /* directories around: a link may lead back to one of them */
  size_t entries;
  struct tfprof_error *error;
};

/* ---- names ---- */

bool log_directory_is_name(const char *path) {
  size_t length = strlen(path);
  for (const struct reader *const *reader = readers; *reader; reader++) {
    for (const char *const *ending = (*reader)->below; ending && *ending; ending++) {
      size_t size = strlen(*ending);
      if (length > size && strcasecmp(path + length - size, *ending) == 0) return true;
    }
  }
  return false;
}

static const char *last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Behind "rank", what may stand before its number, and the number; NULL: the text does not begin so. */
static const char *skip_rank(const char *text) {
  if (strncasecmp(text, "rank", 4) != 0) return NULL;
  text += 4;
  if (strchr("_-[=", *text) && *text) text++;
  if (!isdigit((unsigned char)*text)) return NULL;
  while (isdigit((unsigned char)*text)) text++;
  return text;
}

/* Whether two paths are the same but for the numbers of ranks, of which there are some. */
static bool differ_by_rank(const char *left, const char *right) {
  bool has_rank = false;
  while (*left && *right) {
    const char *left_rest = skip_rank(left), *right_rest = skip_rank(right);
    if (left_rest && right_rest) {
      has_rank = true;
      left = left_rest;
      right = right_rest;
    } else if (*left++ != *right++) {
      return false;
    }
  }
  return has_rank && !*left && !*right;
}

/* ---- the search ---- */

static bool is_later(const struct timespec *left, const struct timespec *right) {
  return left->tv_sec != right->tv_sec ? left->tv_sec > right->tv_sec : left->tv_nsec > right->tv_nsec;
}

static enum tfprof_status look_into(struct search *search, const char *path, unsigned depth);

/* What lies in a directory: goes on into directories, and takes the time of a profile into *newest. */
static enum tfprof_status look_at(struct search *search, const char *path, const struct dirent *entry, unsigned depth,
                                  struct timespec *newest, bool *has_profile) {
  struct stat info;
  char *inner = NULL;
  enum tfprof_status status = TFPROF_OK;
  bool may_be_directory = entry->d_type != DT_REG, is_named = log_directory_is_name(entry->d_name);
  if (!may_be_directory && (!is_named || depth == 0)) return TFPROF_OK;
  if (asprintf(&inner, "%s/%s", path, entry->d_name) < 0) return error_no_memory(search->error);
  if (stat(inner, &info) != 0) {
    /* gone meanwhile, or a link to nowhere, which is told where it is opened */
  } else if (S_ISDIR(info.st_mode)) {
    bool is_around = false;
    for (unsigned i = 0; i <= depth; i++)
      is_around |= search->around[i].st_ino == info.st_ino && search->around[i].st_dev == info.st_dev;
    if (!is_around && depth < MAXIMUM_DEPTH) status = look_into(search, inner, depth + 1);
  } else if (S_ISREG(info.st_mode) && is_named && depth > 0) {
    if (!*has_profile || is_later(&info.st_mtim, newest)) *newest = info.st_mtim;
    *has_profile = true;
  }
  free(inner);
  return status;
}

static enum tfprof_status look_into(struct search *search, const char *path, unsigned depth) {
  struct timespec newest = {0};
  bool has_profile = false;
  enum tfprof_status status = TFPROF_OK;
  DIR *directory = opendir(path);
  if (!directory) return TFPROF_OK; /* not ours to read */
  struct dirent *entry;
  if (stat(path, &search->around[depth]) != 0) memset(&search->around[depth], 0, sizeof search->around[depth]);
  while (!status && search->entries < MAXIMUM_ENTRIES && (entry = readdir(directory))) {
    if (entry->d_name[0] == '.') continue;
    if (++search->entries % 1024 == 0 && search->store && store_interrupted(search->store))
      status = error_set(search->error, TFPROF_INTERRUPTED, "interrupted");
    if (!status) status = look_at(search, path, entry, depth, &newest, &has_profile);
  }
  closedir(directory);
  if (status || !has_profile) return status;
  struct found_directory *found = list_add(&search->found);
  if (!found) return error_no_memory(search->error);
  *found = (struct found_directory){strdup(path), newest, run_stamp_of_name(last_part(path))};
  return found->path ? TFPROF_OK : error_no_memory(search->error);
}

/* ---- the newest run ---- */

/* Of those with a time in their names by that, of the others by their files, and of the newest of both by these again:
** the times in names are of unknown time zones. */
static const struct found_directory *find_newest(const struct search *search) {
  const struct found_directory *stamped = NULL, *plain = NULL;
  for (size_t i = 0; i < search->found.count; i++) {
    const struct found_directory *each = &search->found.items[i];
    if (each->stamp < 0) {
      if (!plain || is_later(&each->time, &plain->time)) plain = each;
    } else if (!stamped || each->stamp > stamped->stamp ||
               (each->stamp == stamped->stamp && is_later(&each->time, &stamped->time))) {
      stamped = each;
    }
  }
  if (!stamped || !plain) return stamped ? stamped : plain;
  return is_later(&plain->time, &stamped->time) ? plain : stamped;
}

/* Whether no file that is called as a profile has the same name in both directories. */
static bool have_different_files(const char *left, const char *right) {
  bool are_different = true;
  DIR *directory = opendir(left);
  struct dirent *entry;
  while (directory && are_different && (entry = readdir(directory))) {
    char path[4096];
    struct stat info;
    if (!log_directory_is_name(entry->d_name)) continue;
    bool fits = (size_t)snprintf(path, sizeof path, "%s/%s", right, entry->d_name) < sizeof path;
    are_different = fits && lstat(path, &info) != 0;
  }
  if (directory) closedir(directory);
  return directory && are_different;
}

static bool are_of_one_run(const struct found_directory *left, const struct found_directory *right) {
  if (differ_by_rank(left->path, right->path)) return true;
  size_t parent = (size_t)(last_part(left->path) - left->path);
  bool are_beside = parent == (size_t)(last_part(right->path) - right->path) &&
                    memcmp(left->path, right->path, parent) == 0;
  return are_beside && left->stamp >= 0 && right->stamp >= 0 && llabs(left->stamp - right->stamp) <= HOSTS_APART_S &&
         have_different_files(left->path, right->path);
}

static int compare_directories(const void *left, const void *right) {
  return strverscmp(((const struct found_directory *)left)->path, ((const struct found_directory *)right)->path);
}

/* The newest directory, and from the last one on those that are of one run with all that were taken before. */
static enum tfprof_status take_run(struct search *search, const struct found_directory *newest, struct log_run *run) {
  size_t count = search->found.count, taken = 0;
  const struct found_directory **of_run = calloc(count, sizeof(const struct found_directory *));
  enum tfprof_status status = of_run ? TFPROF_OK : error_no_memory(search->error);
  if (of_run) of_run[taken++] = newest;
  for (size_t i = count; i-- > 0 && of_run;) {
    const struct found_directory *each = &search->found.items[i];
    bool is_of_run = each != newest;
    for (size_t k = 0; k < taken && is_of_run; k++) is_of_run = are_of_one_run(of_run[k], each);
    if (is_of_run) of_run[taken++] = each;
  }
  for (size_t i = 0; i < taken && !status; i++)
    status = paths_add(&run->directories, of_run[i]->path, "", search->error);
  run->time = newest->time;
  run->others = count - taken;
  free(of_run);
  return status;
}

void log_run_clear(struct log_run *run) {
  paths_clear(&run->directories);
  *run = (struct log_run){.others = 0};
}

enum tfprof_status log_directory_newest(struct store *store, const char *path, struct log_run *run,
                                        struct tfprof_error *error) {
  struct search *search = calloc(1, sizeof *search);
  *run = (struct log_run){.others = 0};
  if (!search) return error_no_memory(error);
  search->store = store;
  search->error = error;
  enum tfprof_status status = look_into(search, path, 0);
  if (search->found.count > 1)
    qsort(search->found.items, search->found.count, sizeof *search->found.items, compare_directories);
  const struct found_directory *newest = status ? NULL : find_newest(search);
  if (newest) status = take_run(search, newest, run);
  run->is_cut = search->entries >= MAXIMUM_ENTRIES;
  for (size_t i = 0; i < search->found.count; i++) free(search->found.items[i].path);
  list_free(&search->found);
  free(search);
  return status;
}
