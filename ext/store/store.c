/* store.c: what is open in a store: runs and their profiles.
**
** life.c has the life of a store, profile.c what happens inside a profile, passes.c how columns come to be, snapshot.c
** and the files after it how they are read.
*/
#include "base/list.h"
#include "store/private.h"

#include <stdlib.h>

uint64_t store_generation(const struct store *store) { return store->generation; }

static void change(struct store *store) {
  store->generation++;
  store_forget_files(store);
  store_drop_cache(store);
}

/* ---- opening ---- */

static struct run *find_run(struct store *store, uint32_t number) {
  for (size_t i = 0; i < store->run_count; i++) {
    if (store->runs[i].number == number) return &store->runs[i];
  }
  return NULL;
}

static enum tfprof_status intern(struct store *store, const char *text, string_id *id, struct tfprof_error *error) {
  enum tfprof_status status = pool_intern(store->pool, text, text ? strlen(text) : 0, id);
  if (status == TFPROF_LIMIT) return error_set(error, status, "there are more strings than can be held");
  return status ? error_no_memory(error) : TFPROF_OK;
}

enum tfprof_status store_add_run(struct store *store, const char *path, const char *format, uint32_t *run_number,
                                 struct tfprof_error *error) {
  struct run run = {.number = store->last_run + 1};
  enum tfprof_status status = intern(store, path, &run.path, error);
  if (!status) status = intern(store, format, &run.format, error);
  if (!status && location_intern(store->pool, path, &run.location, &run.real_location)) status = error_no_memory(error);
  if (status) return status;
  if (!array_room(store->runs, store->run_count, store->run_capacity)) return error_no_memory(error);
  store->runs[store->run_count++] = run;
  *run_number = store->last_run = run.number;
  return TFPROF_OK;
}

static bool profile_list_add(struct profile_list *list, struct profile *profile) {
  if (!array_room(list->items, list->count, list->capacity)) return false;
  size_t at = list->count++;
  for (; at > 0 && list->items[at - 1]->number > profile->number; at--) list->items[at] = list->items[at - 1];
  list->items[at] = profile;
  return true;
}

enum tfprof_status store_add_pending(struct store *store, uint32_t run_number, struct profile *profile,
                                     struct tfprof_error *error) {
  if (!find_run(store, run_number) || store->last_profile == (1u << (63 - ID_ROW_BITS)) - 1) {
    return error_set(error, TFPROF_USAGE, "run %u takes no profile", run_number);
  }
  /* Publishing must not fail: room in the list of the published is made here. */
  struct profile_list *published = &store->profiles;
  size_t needed = published->count + store->pending.count + 1;
  if (!list_reserve(published, needed)) return error_no_memory(error);
  profile->store = store;
  profile->number = store->last_profile + 1;
  profile->run_number = run_number;
  if (!profile_list_add(&store->pending, profile)) return error_no_memory(error);
  store_forget_files(store);
  store->last_profile++;
  return TFPROF_OK;
}

enum tfprof_status store_add_profile(struct store *store, uint32_t run_number, const struct profile_source *source,
                                     void *source_data, struct profile **result, struct tfprof_error *error) {
  struct profile *profile = profile_create(store, store->last_profile + 1, run_number, source, source_data);
  if (!profile) return error_no_memory(error);
  enum tfprof_status status = store_add_pending(store, run_number, profile, error);
  if (status) profile_release(profile);
  else *result = profile;
  return status;
}

void store_drop_profile(struct store *store, struct profile *profile) {
  size_t kept = 0;
  for (size_t i = 0; i < store->pending.count; i++) {
    if (store->pending.items[i] != profile) store->pending.items[kept++] = store->pending.items[i];
  }
  if (kept == store->pending.count) return; /* not there, or published */
  store->pending.count = kept;
  store_forget_files(store);
  profile_release(profile);
}

void store_publish_run(struct store *store, uint32_t run_number) {
  struct run *run = find_run(store, run_number);
  size_t kept = 0;
  if (!run) return;
  run->is_published = true;
  for (size_t i = 0; i < store->pending.count; i++) {
    struct profile *profile = store->pending.items[i];
    if (profile->run_number == run_number) {
      profile_seal(profile);
      profile_list_add(&store->profiles, profile); /* there is room */
    } else {
      store->pending.items[kept++] = profile;
    }
  }
  store->pending.count = kept;
  change(store);
}

/* Takes the profiles of a run out of a list. */
static void remove_run_profiles(struct profile_list *list, uint32_t run_number) {
  size_t kept = 0, count = list->count;
  for (size_t i = 0; i < count; i++) {
    struct profile *profile = list->items[i];
    if (profile->run_number == run_number) profile_release(profile);
    else list->items[kept++] = profile;
  }
  list->count = kept;
}

static void remove_run(struct store *store, struct run *run) {
  size_t after = (size_t)(store->runs + store->run_count - run - 1);
  memmove(run, run + 1, after * sizeof *run);
  store->run_count--;
}

void store_cancel_run(struct store *store, uint32_t run_number) {
  struct run *run = find_run(store, run_number);
  if (!run) return;
  if (!run->is_published) remove_run(store, run);
  store_forget_files(store);
  remove_run_profiles(&store->pending, run_number);
}

/* ---- what is open already ---- */

static void identify(struct profile *profile, const struct file_identity *files, size_t count) {
  struct pool *pool = profile->store->pool;
  /* Short of memory it is selected by its path as it was given. */
  location_intern(pool, files[0].path, &profile->location, &profile->real_location);
  profile->files = calloc(count, sizeof *profile->files);
  for (size_t i = 0; i < count && profile->files; i++) {
    string_id real_location;
    profile->files[i] = (struct profile_file){.device = files[i].device, .inode = files[i].inode};
    location_intern(pool, files[i].path, &profile->files[i].location, &real_location);
    profile->file_count = i + 1;
  }
}

void store_identify_files(struct store *store, const struct file_identity *files, size_t count) {
  for (size_t i = 0; i < store->pending.count; i++) {
    if (!store->pending.items[i]->files) identify(store->pending.items[i], files, count);
  }
  store_forget_files(store);
}

void store_remove_profile(struct store *store, struct profile *profile) {
  size_t kept = 0, count = store->profiles.count;
  for (size_t i = 0; i < count; i++) {
    if (store->profiles.items[i] != profile) store->profiles.items[kept++] = store->profiles.items[i];
  }
  store->profiles.count = kept;
  if (kept != count) profile_release(profile);
  change(store);
}

void store_merge_profile(struct store *store, struct profile *profile, struct profile *into) {
  size_t count = into->file_count + profile->file_count;
  struct profile_file *files = profile->file_count ? realloc(into->files, count * sizeof *files) : NULL;
  if (files) {
    memcpy(files + into->file_count, profile->files, profile->file_count * sizeof *files);
    into->files = files;
    into->file_count = count;
  }
  store_remove_profile(store, profile);
}

enum tfprof_status store_widen_run(struct store *store, uint32_t run_number, const char *path,
                                   struct tfprof_error *error) {
  struct run *run = find_run(store, run_number), wider;
  if (!run) return error_set(error, TFPROF_NOT_FOUND, "no run %u is open", run_number);
  wider = *run;
  enum tfprof_status status = intern(store, path, &wider.path, error);
  if (!status && location_intern(store->pool, path, &wider.location, &wider.real_location)) {
    status = error_no_memory(error);
  }
  if (status) return status;
  *run = wider;
  change(store);
  return TFPROF_OK;
}

void store_join_run(struct store *store, uint32_t run_number, uint32_t into) {
  struct run *run = find_run(store, run_number);
  if (!run || run_number == into || !find_run(store, into)) return;
  for (size_t i = 0; i < store->profiles.count; i++) {
    if (store->profiles.items[i]->run_number == run_number) store->profiles.items[i]->run_number = into;
  }
  remove_run(store, run);
  change(store);
}

/* ---- after opening ---- */

enum tfprof_status store_close_run(struct store *store, uint32_t run_number, struct tfprof_error *error) {
  struct run *run = find_run(store, run_number);
  if (!run || !run->is_published) return error_set(error, TFPROF_NOT_FOUND, "no run %u is open", run_number);
  remove_run(store, run);
  remove_run_profiles(&store->profiles, run_number);
  change(store);
  return TFPROF_OK;
}

static uint64_t raw_rows(const struct profile *profile) {
  uint64_t rows = 0;
  for (unsigned table = 0; table < TABLE_count; table++) rows += profile_raw_rows(profile, table);
  return rows;
}

/* Puts a new version in the place of `*place` if its source has new rows. */
static enum tfprof_status refresh_profile(struct store *store, struct profile **place, bool *changed, uint64_t *added,
                                          struct tfprof_error *error) {
  struct profile *old = *place;
  *changed = false;
  bool is_same = !old->is_replaced && old->source->is_same && old->source->is_same(old);
  if (is_same && !profile_has_file_trouble(old)) return TFPROF_OK;
  struct profile *new_version = profile_clone(old);
  if (!new_version) return error_no_memory(error);
  enum tfprof_status status = old->source->refresh(new_version, changed, error);
  /* What could not be read in between is read anew. */
  if (!status && profile_has_file_trouble(old)) *changed = true;
  if (status || !*changed) {
    *changed = false;
    profile_release(new_version);
    return status;
  }
  profile_forget_file_trouble(new_version);
  profile_seal(new_version);
  uint64_t before = raw_rows(old), after = raw_rows(new_version);
  if (after > before) *added += after - before;
  *place = new_version;
  store_forget_files(store);
  profile_release(old);
  store->diagnostic_changes++;
  return TFPROF_OK;
}

enum tfprof_status store_refresh(struct store *store, uint32_t run_number, uint64_t *added,
                                 struct tfprof_error *error) {
  bool any = false;
  enum tfprof_status status = TFPROF_OK;
  *added = 0;
  for (size_t i = 0; i < store->profiles.count; i++) {
    struct profile **place = &store->profiles.items[i];
    struct tfprof_error reason;
    bool changed;
    if (!(*place)->source->refresh || (run_number && (*place)->run_number != run_number)) continue;
    store_progress(store, "refreshing", (double)i / (double)store->profiles.count);
    if (store_interrupted(store)) {
      status = error_interrupted(error);
      break;
    }
    status = refresh_profile(store, place, &changed, added, &reason);
    any |= changed;
    (*place)->is_replaced = status == TFPROF_REPLACED;
    if (status == TFPROF_NO_MEMORY || status == TFPROF_INTERRUPTED || status == TFPROF_LIMIT) {
      if (error) *error = reason;
      break;
    }
    if (status) profile_tell_file(*place, &reason);
    status = TFPROF_OK;
  }
  if (any) change(store);
  return status;
}

size_t store_run_count(const struct store *store) {
  size_t count = 0;
  for (size_t i = 0; i < store->run_count; i++) count += store->runs[i].is_published;
  return count;
}

uint32_t store_run_at(const struct store *store, size_t index) {
  for (size_t i = 0; i < store->run_count; i++) {
    if (store->runs[i].is_published && index-- == 0) return store->runs[i].number;
  }
  return 0;
}

const char *store_run_path(const struct store *store, uint32_t run_number) {
  for (size_t i = 0; i < store->run_count; i++) {
    if (store->runs[i].number == run_number) return pool_text(store->pool, store->runs[i].path);
  }
  return NULL;
}

uint32_t store_find_run(const struct store *store, const char *path) {
  string_id location = 0, real_location = 0;
  if (location_intern(store->pool, path, &location, &real_location)) return 0;
  for (size_t i = 0; i < store->run_count; i++) {
    const struct run *run = &store->runs[i];
    if (run->is_published && (run->location == location || run->real_location == real_location)) return run->number;
  }
  return 0;
}

size_t store_profile_count(const struct store *store) { return store->profiles.count; }
struct profile *store_profile_at(const struct store *store, size_t index) {
  return store->profiles.items[index];
}

struct profile *store_profile_by_number(const struct store *store, uint32_t number) {
  size_t low = 0, high = store->profiles.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (store->profiles.items[middle]->number < number) low = middle + 1;
    else high = middle;
  }
  bool is_found = low < store->profiles.count && store->profiles.items[low]->number == number;
  return is_found ? store->profiles.items[low] : NULL;
}
