/* classic_cache.c: see classic_cache.h. */
#include "classic/vtab/classic_cache.h"

#include "base/hash.h"
#include "base/list.h"
#include "store/snapshot.h"

#include <stdlib.h>
#include <string.h>

SQLITE_EXTENSION_INIT3

void classic_cache_put_back(struct classic_cached *cached) {
  if (--cached->references || cached->is_kept) return;
  classic_model_free(cached->model);
  free(cached);
}

/* ---- the user's types ---- */

struct user_types {
  struct classic_user_type *items;
  size_t count, capacity;
  uint64_t hash;
};

static void user_types_free(struct user_types *types) {
  for (size_t i = 0; i < types->count; i++) {
    free(types->items[i].pattern);
    free(types->items[i].type);
  }
  free(types->items);
}

static void hash_option_text(uint64_t *hash, const char *text) {
  do *hash = hash_fnv1a_value(*hash, (uint8_t)*text);
  while (*text++);
}

/* Where the table is not there, or cannot be asked, there are none. */
static enum tfprof_status read_user_types(struct connection *connection, struct user_types *types,
                                          struct tfprof_error *error) {
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2(connection->db, "SELECT pattern, type FROM temp.node_type_patterns ORDER BY rowid", -1,
                                &statement, NULL);
  enum tfprof_status status = TFPROF_OK;
  *types = (struct user_types){.hash = HASH_FNV1A_START};
  while (!status && code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
    const char *pattern = (const char *)sqlite3_column_text(statement, 0),
               *type = (const char *)sqlite3_column_text(statement, 1);
    bool has_room = array_room(types->items, types->count, types->capacity);
    struct classic_user_type *items = types->items;
    if (has_room && pattern && type)
      items[types->count++] = (struct classic_user_type){strdup(pattern), strdup(type)};
    if (!has_room || !pattern || !type || !items[types->count - 1].pattern || !items[types->count - 1].type) {
      status = error_no_memory(error);
    } else {
      hash_option_text(&types->hash, pattern);
      hash_option_text(&types->hash, type);
    }
    code = SQLITE_OK;
  }
  if (code == SQLITE_INTERRUPT) status = error_set(error, TFPROF_INTERRUPTED, "interrupted");
  sqlite3_finalize(statement);
  if (status) user_types_free(types);
  return status;
}

/* ---- models ---- */

struct classic_cache {
  struct classic_cached *first;
};

struct classic_cache *classic_cache_create(void) { return calloc(1, sizeof(struct classic_cache)); }

/* Takes what is older than the store, or has other types of the user, out of the list; NULL: all. */
static void drop(struct classic_cache *cache, const struct store *store, uint64_t types) {
  struct classic_cached **place = &cache->first;
  while (*place) {
    struct classic_cached *cached = *place;
    if (store && cached->generation == store_generation(store) && cached->types == types) {
      place = &cached->next;
      continue;
    }
    *place = cached->next;
    cached->is_kept = false;
    cached->references++;
    classic_cache_put_back(cached);
  }
}

void classic_cache_free(void *cache) {
  drop(cache, NULL, 0);
  free(cache);
}

static enum tfprof_status find_cached_result(struct connection *connection, struct profile *profile,
                                             const struct user_types *types, bool is_compat,
                                             struct classic_cached **found, struct tfprof_error *error) {
  struct classic_cache *cache = connection_part_data(connection, "classic");
  struct classic_cached *cached = cache->first;
  while (cached && cached->model->profile_number != profile->number) cached = cached->next;
  if (!cached) {
    cached = calloc(1, sizeof *cached);
    if (!cached) return error_no_memory(error);
    enum tfprof_status status = classic_model_create(connection->store, profile, is_compat, &cached->model, error);
    if (!status) status = classic_model_add_types(cached->model, types->items, types->count, error);
    if (status) {
      classic_model_free(cached->model);
      free(cached);
      return status;
    }
    cached->is_kept = true;
    cached->generation = store_generation(connection->store);
    cached->types = types->hash;
    cached->next = cache->first;
    cache->first = cached;
  }
  cached->references++;
  *found = cached;
  return TFPROF_OK;
}

enum tfprof_status classic_cache_get(struct connection *connection, const char *selection, bool is_compat,
                                     struct classic_cached ***models, size_t *count, struct tfprof_error *error) {
  struct snapshot *profiles;
  *models = NULL;
  *count = 0;
  struct user_types types;
  enum tfprof_status status = read_user_types(connection, &types, error);
  if (status) return status;
  if (is_compat) types.hash = ~types.hash;
  drop(connection_part_data(connection, "classic"), connection->store, types.hash);
  status = store_snapshot(connection->store, TABLE_profiles, selection, &profiles, error);
  if (status) {
    user_types_free(&types);
    return status;
  }
  *models = calloc(profiles->rows + 1, sizeof **models);
  if (!*models) status = error_no_memory(error);
  for (size_t i = 0; i < profiles->segment_count && !status; i++) {
    /* A row of profiles has the profile's number. */
    struct profile *profile = store_profile_by_number(connection->store, (uint32_t)profiles->segments[i]->first_row);
    if (!profile) continue;
    bool has_rows = profile_raw_rows(profile, TABLE_nodes) || profile_raw_rows(profile, TABLE_ops) ||
                    profile_raw_rows(profile, TABLE_kernels);
    if (!has_rows) continue;
    status = find_cached_result(connection, profile, &types, is_compat, &(*models)[*count], error);
    *count += status == TFPROF_OK;
  }
  snapshot_release(profiles);
  user_types_free(&types);
  if (status) {
    for (size_t i = 0; i < *count; i++) classic_cache_put_back((*models)[i]);
    free(*models);
    *models = NULL;
    *count = 0;
  }
  return status;
}

enum tfprof_status classic_cache_keep_answering(struct classic_cached **models, size_t *count, enum classic_view view,
                                                const struct classic_options *options, struct tfprof_error *error) {
  size_t kept = 0;
  struct tfprof_error reason;
  error->status = TFPROF_OK;
  for (size_t i = 0; i < *count; i++) kept += classic_check(models[i]->model, view, options, &reason) == TFPROF_OK;
  if (kept == 0 && *count) return classic_check(models[0]->model, view, options, error);
  kept = 0;
  for (size_t i = 0; i < *count; i++) {
    if (classic_check(models[i]->model, view, options, &reason) == TFPROF_OK) {
      models[kept++] = models[i];
      continue;
    }
    if (error->status == TFPROF_OK) *error = reason;
    classic_cache_put_back(models[i]);
  }
  *count = kept;
  return TFPROF_OK;
}
