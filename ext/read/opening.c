/* opening.c: one file, or several at the same time.
**
** Several files are read on all processors, each into a store of its own, and taken over in the order of the list as
** they are done: what the store holds then, down to the numbers of profiles and strings, does not depend on the number
** of threads.  While fewer files are left than there are processors, each may use several.
*/
#include "read/opening.h"

#include "read/dump_reader.h"
#include "read/recognise.h"
#include "store/parallel.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A number of an inode is used again once its file is gone, so the profile's own path must still lead there. */
struct profile *opening_find(struct store *store, const char *path) {
  struct stat info, own;
  if (stat(path, &info) != 0) return NULL;
  struct profile *profile = store_find_file(store, path, (uint64_t)info.st_dev, (uint64_t)info.st_ino);
  if (!profile) return NULL;
  const char *own_path = pool_text(store_pool(store), profile->location ? profile->location : profile->path);
  bool is_there = stat(own_path, &own) == 0 && own.st_dev == info.st_dev && own.st_ino == info.st_ino;
  return is_there ? profile : NULL;
}

static void identify(struct opening *opening, const char *path, const struct stat *info) {
  store_identify_file(opening->store, path, (uint64_t)info->st_dev, (uint64_t)info->st_ino);
}

enum tfprof_status opening_file(struct opening *opening, const struct read_format *format, const char *path,
                                struct tfprof_error *error) {
  struct stat info = {0};
  bool is_known = stat(path, &info) == 0;
  enum tfprof_status status = format->open(opening->store, opening->run_number, path, error);
  if (status) return status;
  if (is_known) identify(opening, path, &info);
  opening->opened++;
  return TFPROF_OK;
}

/* What happened to one of several files: only want of memory and Ctrl-C are told to the caller. */
static enum tfprof_status note(struct opening *opening, const char *path, enum tfprof_status status,
                               const struct tfprof_error *reason) {
  if (!status) return TFPROF_OK;
  if (opening->failed++ == 0) opening->first_failure = *reason;
  if (status == TFPROF_NO_MEMORY || status == TFPROF_INTERRUPTED) {
    opening->first_failure = *reason;
    return status;
  }
  status = paths_add(&opening->failures, path, "", NULL);
  if (!status) status = paths_add(&opening->failures, reason->message, "", NULL);
  if (status) error_no_memory(&opening->first_failure);
  return status;
}

struct candidate {
  const struct read_format *format; /* NULL: a file that cannot be read */
  const char *path;
};

/* Without a format the file could not be read or recognised; what can be after all waits for a refresh. */
static enum tfprof_status open_candidate(struct opening *opening, const struct candidate *candidate,
                                         struct file_head *head) {
  struct tfprof_error reason;
  const char *path = candidate->path;
  if (opening_find(opening->store, path)) return TFPROF_OK; /* by another name, a moment ago */
  enum tfprof_status status = candidate->format ? opening_file(opening, candidate->format, path, &reason)
                                                : recognise_read(path, head, &reason);
  bool is_recognised = status || candidate->format || recognise_format(path, head);
  if (!is_recognised) status = recognise_refuse(path, head, &reason);
  return note(opening, path, status, &reason);
}

/* ---- several at the same time ---- */

struct reading { /* of one file */
  struct store *store;
  struct stat info;
  bool is_done;
  enum tfprof_status status;
  struct tfprof_error reason;
};
struct readings {
  struct opening *opening;
  const struct candidate *candidates;
  struct reading *files;
  size_t count;
  unsigned workers;
  pthread_mutex_t lock;      /* of what follows, and of the opening */
  size_t taken_over;         /* so many of the first */
  enum tfprof_status status; /* what ends the whole */
};

static void take_over(struct readings *all, size_t i) {
  struct opening *opening = all->opening;
  struct reading *file = &all->files[i];
  const char *path = all->candidates[i].path;
  if (!file->status && opening_find(opening->store, path)) { /* by another name */
  } else if (!file->status) {
    file->status = store_adopt(opening->store, opening->run_number, file->store, &file->reason);
    if (!file->status) {
      identify(opening, path, &file->info);
      opening->opened++;
    }
  }
  store_release(file->store);
  file->store = NULL;
  all->status = note(opening, path, file->status, &file->reason);
}

static void read_apart(void *context, size_t i, unsigned worker) {
  struct readings *all = context;
  struct reading *file = &all->files[i];
  const char *path = all->candidates[i].path;
  pthread_mutex_lock(&all->lock);
  bool is_over = all->status != TFPROF_OK;
  pthread_mutex_unlock(&all->lock);
  if (is_over) return;
  if (worker == 0) store_progress(all->opening->store, "opening", (double)i / (double)all->count);
  size_t left = all->count - i;
  parallel_set_share(left < all->workers ? all->workers / (unsigned)left : 1);
  uint32_t run_number;
  file->store = store_create_apart(all->opening->store);
  file->status = file->store ? TFPROF_OK : error_no_memory(&file->reason);
  if (!file->status && stat(path, &file->info) != 0) file->status = error_io(&file->reason, path, "cannot examine");
  if (!file->status) file->status = store_add_run(file->store, path, NULL, &run_number, &file->reason);
  if (!file->status) {
    file->status = all->candidates[i].format->open(file->store, run_number, path, &file->reason);
  }
  parallel_set_share(0);
  pthread_mutex_lock(&all->lock);
  file->is_done = true;
  while (all->taken_over < all->count && all->files[all->taken_over].is_done && !all->status) {
    take_over(all, all->taken_over++);
  }
  pthread_mutex_unlock(&all->lock);
}

static enum tfprof_status open_together(struct opening *opening, const struct candidate *candidates, size_t count) {
  struct readings all = {.opening = opening, .candidates = candidates, .count = count};
  all.files = calloc(count, sizeof *all.files);
  if (!all.files) return error_no_memory(&opening->first_failure);
  all.workers = parallel_workers();
  pthread_mutex_init(&all.lock, NULL);
  parallel_for(count, read_apart, &all);
  pthread_mutex_destroy(&all.lock);
  for (size_t i = 0; i < count; i++) store_release(all.files[i].store);
  free(all.files);
  return all.status;
}

/* ---- which ---- */

static bool is_file(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static bool is_named_as_dump(const char *path) {
  size_t length = strlen(path);
  return length > 7 && strcmp(path + length - 7, ".tfprof") == 0;
}

/* Where a run has dumps, other files are left alone. */
static bool may_be_dump(const struct candidate *candidate) {
  return candidate->format ? candidate->format == &dump_read_format : is_named_as_dump(candidate->path);
}

/* The files that are not open and may be profiles. */
static enum tfprof_status choose(struct opening *opening, const struct path_list *list, struct file_head *head,
                                 struct candidate *candidates, size_t *count, struct tfprof_error *error) {
  bool has_dumps = opening->has_dumps;
  for (size_t i = 0; i < list->count; i++) {
    if (i % 64 == 0 && store_interrupted(opening->store)) return error_set(error, TFPROF_INTERRUPTED, "interrupted");
    const char *path = list->paths[i];
    if (opening_find(opening->store, path)) continue;
    bool is_readable = recognise_read(path, head, NULL) == TFPROF_OK;
    const struct read_format *format = is_readable ? recognise_format(path, head) : NULL;
    /* A file that says to be a dump and is none has lost its beginning, or has not begun. */
    bool is_lost = !format && is_readable && head->length && is_named_as_dump(path);
    if (!format && !is_lost && (is_readable || !is_file(path))) continue; /* no profile */
    candidates[*count] = (struct candidate){format, path};
    has_dumps |= !is_lost && may_be_dump(&candidates[*count]);
    ++*count;
  }
  size_t kept = 0;
  for (size_t i = 0; i < *count; i++) {
    if (!has_dumps || may_be_dump(&candidates[i])) candidates[kept++] = candidates[i];
  }
  *count = kept;
  return TFPROF_OK;
}

enum tfprof_status opening_several(struct opening *opening, const struct path_list *list, struct tfprof_error *error) {
  struct candidate *candidates = malloc((list->count + 1) * sizeof *candidates);
  struct file_head *head = malloc(sizeof *head);
  size_t count = 0;
  enum tfprof_status status = candidates && head ? TFPROF_OK : error_no_memory(error);
  if (!status) status = choose(opening, list, head, candidates, &count, error);
  for (size_t i = 0, together; i < count && !status; i += together) {
    store_progress(opening->store, "opening", (double)i / (double)count);
    for (together = 0; i + together < count && candidates[i + together].format;) together++;
    if (store_interrupted(opening->store)) {
      status = error_set(&opening->first_failure, TFPROF_INTERRUPTED, "interrupted");
    } else if (together > 1) {
      status = open_together(opening, candidates + i, together);
    } else {
      together = 1;
      status = open_candidate(opening, &candidates[i], head);
    }
    if (status && error) *error = opening->first_failure;
  }
  free(candidates);
  free(head);
  return status;
}
