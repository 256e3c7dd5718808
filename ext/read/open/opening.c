/* opening.c: one bundle of files, or several at the same time.
**
** Several bundles are read on all processors, each into a store of its own, and taken over in the order of the list as
** they are done: what the store holds then, down to the numbers of profiles and strings, does not depend on the number
** of threads.  While fewer bundles are left than there are processors, each may use several.
*/
#include "read/open/opening.h"

#include "read/open/neighbours.h"
#include "read/open/recognise.h"
#include "store/parallel.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What the files are before they are read, so that they can be told from others of their names; to be freed. NULL: no
** memory, or one of them is gone. */
static struct file_identity *examine(const struct read_bundle *bundle) {
  struct file_identity *files = calloc(bundle->count, sizeof *files);
  for (size_t i = 0; i < bundle->count && files; i++) {
    struct stat info;
    if (stat(bundle->files[i].path, &info) != 0) {
      free(files);
      return NULL;
    }
    files[i] = (struct file_identity){bundle->files[i].path, (uint64_t)info.st_dev, (uint64_t)info.st_ino};
  }
  return files;
}

void opening_identify(struct store *store, const struct read_bundle *bundle) {
  struct file_identity *files = examine(bundle);
  if (files) store_identify_files(store, files, bundle->count);
  free(files);
}

enum tfprof_status opening_bundle(struct opening *opening, const struct read_bundle *bundle,
                                  struct tfprof_error *error) {
  struct file_identity *files = examine(bundle);
  enum tfprof_status status = bundle->files[0].format->open(opening->store, opening->run_number, bundle, error);
  if (!status) {
    if (files) store_identify_files(opening->store, files, bundle->count);
    opening->opened++;
  }
  free(files);
  return status;
}

enum tfprof_status opening_note(struct opening *opening, const char *path, enum tfprof_status status,
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

/* Without a format the file could not be read or recognised; what can be after all waits for a refresh. */
static enum tfprof_status open_one(struct opening *opening, const struct read_bundle *bundle, struct file_head *head) {
  struct tfprof_error reason;
  const char *path = bundle->files[0].path;
  bool is_known = bundle->files[0].format != NULL;
  if (bundles_find_open(opening->store, path)) return TFPROF_OK; /* by another name, a moment ago */
  enum tfprof_status status = is_known ? opening_bundle(opening, bundle, &reason)
                                       : recognise_read(path, head, &reason);
  if (!status && !is_known && !recognise_format(path, head)) status = neighbours_refuse(path, head, &reason);
  return opening_note(opening, path, status, &reason);
}

/* ---- several at the same time ---- */

struct reading { /* of one bundle */
  struct store *store;
  struct file_identity *files;
  bool is_done;
  enum tfprof_status status;
  struct tfprof_error reason;
};
struct readings {
  struct opening *opening;
  const struct read_bundle *bundles;
  struct reading *of; /* each bundle */
  size_t count;
  unsigned workers;
  pthread_mutex_t lock;      /* of what follows, and of the opening */
  size_t taken_over;         /* so many of the first */
  enum tfprof_status status; /* what ends the whole */
};

static void take_over(struct readings *all, size_t i) {
  struct opening *opening = all->opening;
  struct reading *reading = &all->of[i];
  const struct read_bundle *bundle = &all->bundles[i];
  const char *path = bundle->files[0].path;
  if (!reading->status && bundles_find_open(opening->store, path)) { /* by another name */
  } else if (!reading->status) {
    reading->status = store_adopt(opening->store, opening->run_number, reading->store, &reading->reason);
    if (!reading->status) {
      store_identify_files(opening->store, reading->files, bundle->count);
      opening->opened++;
    }
  }
  store_release(reading->store);
  reading->store = NULL;
  all->status = opening_note(opening, path, reading->status, &reading->reason);
}

static enum tfprof_status read_bundle(struct reading *reading, const struct read_bundle *bundle) {
  const char *path = bundle->files[0].path;
  uint32_t run_number;
  if (!reading->store) return error_no_memory(&reading->reason);
  if (!(reading->files = examine(bundle))) return error_io(&reading->reason, path, "cannot examine");
  enum tfprof_status status = store_add_run(reading->store, path, NULL, &run_number, &reading->reason);
  return status ? status : bundle->files[0].format->open(reading->store, run_number, bundle, &reading->reason);
}

static void read_apart(void *context, size_t i, unsigned worker) {
  struct readings *all = context;
  struct reading *reading = &all->of[i];
  pthread_mutex_lock(&all->lock);
  bool is_over = all->status != TFPROF_OK;
  pthread_mutex_unlock(&all->lock);
  if (is_over) return;
  if (worker == 0) store_progress(all->opening->store, "opening", (double)i / (double)all->count);
  size_t left = all->count - i;
  parallel_set_share(left < all->workers ? all->workers / (unsigned)left : 1);
  reading->store = store_create_apart(all->opening->store);
  reading->status = read_bundle(reading, &all->bundles[i]);
  parallel_set_share(0);
  pthread_mutex_lock(&all->lock);
  reading->is_done = true;
  while (all->taken_over < all->count && all->of[all->taken_over].is_done && !all->status) {
    take_over(all, all->taken_over++);
  }
  pthread_mutex_unlock(&all->lock);
}

static enum tfprof_status open_together(struct opening *opening, const struct read_bundle *bundles, size_t count) {
  struct readings all = {.opening = opening, .bundles = bundles, .count = count};
  all.of = calloc(count, sizeof *all.of);
  if (!all.of) return error_no_memory(&opening->first_failure);
  all.workers = parallel_workers();
  pthread_mutex_init(&all.lock, NULL);
  parallel_for(count, read_apart, &all);
  pthread_mutex_destroy(&all.lock);
  for (size_t i = 0; i < count; i++) {
    store_release(all.of[i].store);
    free(all.of[i].files);
  }
  free(all.of);
  return all.status;
}

enum tfprof_status opening_several(struct opening *opening, const struct bundle_list *chosen,
                                   struct tfprof_error *error) {
  struct file_head *head = malloc(sizeof *head);
  enum tfprof_status status = head ? TFPROF_OK : error_no_memory(error);
  const struct read_bundle *bundles = chosen->bundles;
  for (size_t i = 0, together; i < chosen->count && !status; i += together) {
    store_progress(opening->store, "opening", (double)i / (double)chosen->count);
    for (together = 0; i + together < chosen->count && bundles[i + together].files[0].format;) together++;
    if (store_interrupted(opening->store)) {
      status = error_set(&opening->first_failure, TFPROF_INTERRUPTED, "interrupted");
    } else if (together > 1) {
      status = open_together(opening, bundles + i, together);
    } else {
      together = 1;
      status = open_one(opening, &bundles[i], head);
    }
    if (status && error) *error = opening->first_failure;
  }
  free(head);
  return status;
}
