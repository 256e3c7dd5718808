/* classic_cache.c: see classic_cache.h. */
#include "vtab/classic_cache.h"

#include <stdlib.h>

SQLITE_EXTENSION_INIT3

void classic_cache_put_back(struct classic_cached *cached) {
  if (--cached->references || cached->is_kept) return;
  classic_model_free(cached->model);
  free(cached);
}

/* Takes what is older than the store out of the list. */
static void drop(struct connection *connection, bool all) {
  struct classic_cached **place = &connection->classic_models;
  while (*place) {
    struct classic_cached *cached = *place;
    if (!all && cached->generation == store_generation(connection->store)) {
      place = &cached->next;
      continue;
    }
    *place = cached->next;
    cached->is_kept = false;
    cached->references++;
    classic_cache_put_back(cached);
  }
}

void classic_cache_clear(struct connection *connection) { drop(connection, true); }

static enum tfprof_status find(struct connection *connection, struct profile *profile, struct classic_cached **found,
                               struct tfprof_error *error) {
  struct classic_cached *cached = connection->classic_models;
  while (cached && cached->model->profile_number != profile->number) cached = cached->next;
  if (!cached) {
    cached = calloc(1, sizeof *cached);
    if (!cached) return error_no_memory(error);
    enum tfprof_status status = classic_model_create(connection->store, profile, &cached->model, error);
    if (status) {
      free(cached);
      return status;
    }
    cached->is_kept = true;
    cached->generation = store_generation(connection->store);
    cached->next = connection->classic_models;
    connection->classic_models = cached;
  }
  cached->references++;
  *found = cached;
  return TFPROF_OK;
}

enum tfprof_status classic_cache_get(struct connection *connection, const char *selection,
                                     struct classic_cached ***models, size_t *count, struct tfprof_error *error) {
  struct snapshot *profiles;
  *models = NULL;
  *count = 0;
  drop(connection, false);
  enum tfprof_status status = store_snapshot(connection->store, TABLE_profiles, selection, &profiles, error);
  if (status) return status;
  *models = calloc(profiles->rows + 1, sizeof **models);
  if (!*models) status = error_no_memory(error);
  for (size_t i = 0; i < profiles->segment_count && !status; i++) {
    /* A row of profiles has the profile's number. */
    struct profile *profile = store_profile_by_number(connection->store, (uint32_t)profiles->segments[i]->first_row);
    if (!profile) continue;
    const struct profile_table *tables = profile->tables;
    if (!tables[TABLE_nodes].segment_count && !tables[TABLE_ops].segment_count && !tables[TABLE_kernels].segment_count) continue;
    status = find(connection, profile, &(*models)[*count], error);
    *count += status == TFPROF_OK;
  }
  snapshot_release(profiles);
  if (status) {
    for (size_t i = 0; i < *count; i++) classic_cache_put_back((*models)[i]);
    free(*models);
    *models = NULL;
    *count = 0;
  }
  return status;
}
