/* life.c: who holds whom, and how much memory all take.
**
** A store holds its profiles and, in its cache, snapshots with their orders; a snapshot in use holds its store.  The
** ends of both therefore lie in one file.
*/
#include "store/private.h"

#include <stdlib.h>

/* ---- snapshots and their orders ---- */

void order_free(struct order *order) {
  key_space_clear(&order->space);
  free(order->positions);
  free(order->starts);
  free(order);
}

static void index_free(struct index *index) {
  if (!index) return;
  while (index->orders) {
    struct order *next = index->orders->next;
    order_free(index->orders);
    index->orders = next;
  }
  free(index);
}

static uint64_t index_bytes(const struct snapshot *snapshot) {
  uint64_t bytes = 0;
  if (!snapshot->indexes) return 0;
  for (const struct order *order = snapshot->indexes->orders; order; order = order->next) {
    bytes += sizeof *order + snapshot->rows * sizeof *order->positions + order->space.dense_count * sizeof(uint32_t);
    if (order->starts) bytes += (order->bucket_count + 1) * sizeof *order->starts;
  }
  return bytes;
}

void snapshot_free(struct snapshot *snapshot) {
  struct snapshot_private *state = snapshot->private_state;
  index_free(snapshot->indexes);
  for (size_t i = 0; i < state->profile_count; i++) profile_release(state->profiles[i]);
  free(state->profiles);
  free(state->groups);
  free(state->selection);
  free(state);
  free(snapshot->segments);
  free(snapshot->positions);
  free(snapshot);
}

struct snapshot *snapshot_retain(struct snapshot *snapshot) {
  if (snapshot->references++ == 0) snapshot->store->references++;
  return snapshot;
}

void snapshot_release(struct snapshot *snapshot) {
  if (!snapshot || --snapshot->references) return;
  struct store *store = snapshot->store;
  if (!snapshot->private_state->is_cached) snapshot_free(snapshot);
  store_release(store); /* may free the cache, this snapshot included */
}

void snapshot_uncache(struct snapshot *snapshot) {
  snapshot->private_state->is_cached = false;
  if (snapshot->references == 0) snapshot_free(snapshot);
}

void store_drop_cache(struct store *store) {
  for (unsigned table = 0; table < TABLE_count; table++) {
    struct snapshot *snapshot = store->cache[table];
    store->cache[table] = NULL;
    while (snapshot) {
      struct snapshot *next = snapshot->private_state->next;
      snapshot_uncache(snapshot);
      snapshot = next;
    }
  }
}

/* ---- stores ---- */

struct store *store_create(const struct derive_pass *const *passes, unsigned pass_count) {
  if (pass_count > DERIVE_MAXIMUM_PASSES) return NULL;
  struct store *store = calloc(1, sizeof *store);
  if (!store) return NULL;
  store->references = 1;
  store->passes = passes;
  store->pass_count = pass_count;
  store->pool = pool_create();
  if (!store->pool) {
    free(store);
    return NULL;
  }
  return store;
}

static void release_list(struct profile_list *list) {
  for (size_t i = 0; i < list->count; i++) profile_release(list->items[i]);
  free(list->items);
}

void store_release(struct store *store) {
  if (!store || --store->references) return;
  store_drop_cache(store);
  store_forget_files(store);
  release_list(&store->profiles);
  release_list(&store->pending);
  free(store->runs);
  pool_free(store->pool);
  free(store);
}

static uint64_t profile_bytes(const struct profile *profile) {
  uint64_t bytes = sizeof *profile + profile->diagnostic_capacity * sizeof *profile->diagnostics;
  for (unsigned table = 0; table < TABLE_count; table++) {
    const struct profile_table *rows = &profile->tables[table];
    for (size_t i = 0; i < rows->segment_count; i++) {
      bytes += sizeof **rows->segments;
      for (unsigned column = 0; column < schema_tables[table].column_count; column++) {
        if (rows->segments[i]->columns[column]) bytes += column_bytes(rows->segments[i]->columns[column]);
      }
    }
  }
  return bytes;
}

uint64_t store_bytes(const struct store *store) {
  uint64_t bytes = sizeof *store + pool_bytes(store->pool);
  for (size_t i = 0; i < store->profiles.count; i++) bytes += profile_bytes(store->profiles.items[i]);
  for (unsigned table = 0; table < TABLE_count; table++) {
    for (const struct snapshot *s = store->cache[table]; s; s = s->private_state->next) {
      bytes += sizeof *s + s->segment_count * (sizeof *s->segments + sizeof *s->positions) + index_bytes(s);
    }
  }
  return bytes;
}
