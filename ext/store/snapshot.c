/* snapshot.c: all rows of a table in some profiles at one moment, and the cache of such snapshots.
**
** A snapshot holds on to the profile versions that its segments belong to.  The store keeps the snapshots that it
** has made, with their indexes, until something is opened, closed or refreshed; what a cursor still reads then lives
** on until the cursor lets go.  A snapshot in use holds the store as well, so that closing the connection's last
** table does not pull the rug from under a running statement; one that only the cache knows does not.
*/
#include "store/private.h"

#include <stdlib.h>

enum { CACHED_PER_TABLE = 64 };

/* ---- making ---- */

static struct snapshot *allocate(struct store *store, unsigned table, const char *selection, size_t profiles,
                                 size_t segments) {
  struct snapshot *snapshot = calloc(1, sizeof *snapshot);
  struct snapshot_private *state = calloc(1, sizeof *state);
  if (!snapshot || !state) {
    free(snapshot);
    free(state);
    return NULL;
  }
  snapshot->private_state = state;
  snapshot->store = store;
  snapshot->table = (uint16_t)table;
  snapshot->segments = malloc((segments + 1) * sizeof *snapshot->segments);
  snapshot->positions = malloc((segments + 1) * sizeof *snapshot->positions);
  state->profiles = malloc((profiles + 1) * sizeof *state->profiles);
  state->groups = malloc((profiles + 1) * sizeof *state->groups);
  state->selection = strdup(selection ? selection : "");
  state->diagnostic_changes = store->diagnostic_changes;
  bool is_whole = snapshot->segments && snapshot->positions && state->profiles && state->groups && state->selection;
  if (!is_whole) {
    snapshot_free(snapshot);
    return NULL;
  }
  return snapshot;
}

/* The rows of one profile version after those that are there. */
static void append_profile(struct snapshot *snapshot, struct profile *profile) {
  struct snapshot_private *state = snapshot->private_state;
  const struct profile_table *list = &profile->tables[snapshot->table];
  state->profiles[state->profile_count++] = profile_retain(profile);
  if (list->segment_count == 0) return;
  struct snapshot_group *group = state->group_count ? &state->groups[state->group_count - 1] : NULL;
  if (!group || group->number != profile->number) {
    group = &state->groups[state->group_count++];
    *group = (struct snapshot_group){.number = profile->number,
                                     .is_dense = true,
                                     .first_segment = snapshot->segment_count,
                                     .first_position = snapshot->rows};
  }
  for (size_t i = 0; i < list->segment_count; i++) {
    struct segment *segment = list->segments[i];
    if (segment->first_row != group->rows) group->is_dense = false;
    snapshot->segments[snapshot->segment_count] = segment;
    snapshot->positions[snapshot->segment_count++] = snapshot->rows;
    snapshot->rows += segment->rows;
    group->rows += segment->rows;
    group->segment_count++;
  }
}

static void finish_snapshot(struct snapshot *snapshot) {
  snapshot->positions[snapshot->segment_count] = snapshot->rows;
}

/* A table whose rows lie in the profiles. */
static enum tfprof_status make_ordinary(struct store *store, unsigned table, const char *selection,
                                        struct profile *const *profiles, size_t count, struct snapshot **result,
                                        struct tfprof_error *error) {
  size_t segments = 0;
  for (size_t i = 0; i < count; i++) {
    enum tfprof_status status = profile_ensure_table(profiles[i], table, error);
    if (status) return status;
    segments += profiles[i]->tables[table].segment_count;
  }
  struct snapshot *snapshot = allocate(store, table, selection, count, segments);
  if (!snapshot) return error_no_memory(error);
  for (size_t i = 0; i < count; i++) append_profile(snapshot, profiles[i]);
  finish_snapshot(snapshot);
  *result = snapshot;
  return TFPROF_OK;
}

/* runs and profiles: one profile made for the purpose holds all rows. */
static enum tfprof_status make_catalogue(struct store *store, unsigned table, const char *selection,
                                         struct profile *const *profiles, size_t count, struct snapshot **result,
                                         struct tfprof_error *error) {
  struct profile *catalogue = NULL;
  enum tfprof_status status = table == TABLE_runs ? catalogue_of_runs(store, profiles, count, &catalogue, error)
                                                  : catalogue_of_profiles(store, profiles, count, &catalogue, error);
  if (status) return status;
  struct snapshot *snapshot = allocate(store, table, selection, 1, catalogue->tables[table].segment_count);
  if (snapshot) {
    append_profile(snapshot, catalogue);
    finish_snapshot(snapshot);
    *result = snapshot;
  }
  profile_release(catalogue);
  return snapshot ? TFPROF_OK : error_no_memory(error);
}

/* The rows that a file holds, then those that reading it added. */
static enum tfprof_status make_diagnostics(struct store *store, const char *selection, struct profile *const *profiles,
                                           size_t count, struct snapshot **result, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  size_t segments = 0;
  for (size_t i = 0; i < count && !status; i++) {
    status = profile_verify(profiles[i], error);
    segments += profiles[i]->tables[TABLE_diagnostics].segment_count + 1;
  }
  if (status) return status;
  struct snapshot *snapshot = allocate(store, TABLE_diagnostics, selection, 2 * count, segments);
  if (!snapshot) return error_no_memory(error);
  for (size_t i = 0; i < count && !status; i++) {
    struct profile *added = NULL;
    append_profile(snapshot, profiles[i]);
    status = catalogue_of_diagnostics(profiles[i], &added, error);
    if (status) break;
    append_profile(snapshot, added);
    profile_release(added);
  }
  if (status) {
    snapshot_free(snapshot);
    return status;
  }
  finish_snapshot(snapshot);
  *result = snapshot;
  return TFPROF_OK;
}

static enum tfprof_status make(struct store *store, unsigned table, const char *selection, struct snapshot **result,
                               struct tfprof_error *error) {
  struct profile **profiles;
  size_t count;
  enum tfprof_status status = store_select(store, selection, &profiles, &count, error);
  if (status) return status;
  if (table == TABLE_runs || table == TABLE_profiles) {
    status = make_catalogue(store, table, selection, profiles, count, result, error);
  } else if (table == TABLE_diagnostics) {
    status = make_diagnostics(store, selection, profiles, count, result, error);
  } else {
    status = make_ordinary(store, table, selection, profiles, count, result, error);
  }
  free(profiles);
  return status;
}

/* ---- the cache ---- */

/* Tables of the store itself change with every diagnostic. */
static bool is_current(const struct store *store, const struct snapshot *snapshot) {
  unsigned table = snapshot->table;
  if (table != TABLE_runs && table != TABLE_profiles && table != TABLE_diagnostics) return true;
  return snapshot->private_state->diagnostic_changes == store->diagnostic_changes;
}

/* Takes the snapshot of that selection out of its list; too old ones and too many are dropped on the way. */
static struct snapshot *take_from_cache(struct store *store, unsigned table, const char *selection) {
  struct snapshot **link = &store->cache[table], *found = NULL;
  size_t count = 0;
  while (*link) {
    struct snapshot *snapshot = *link;
    bool is_match = !found && strcmp(snapshot->private_state->selection, selection) == 0;
    bool is_good = is_current(store, snapshot);
    if (is_match && is_good) {
      found = snapshot;
      *link = snapshot->private_state->next;
      if (count < CACHED_PER_TABLE) break;
    } else if (!is_good || count >= CACHED_PER_TABLE) {
      *link = snapshot->private_state->next;
      snapshot_uncache(snapshot);
    } else {
      link = &snapshot->private_state->next;
      count++;
    }
  }
  return found;
}

enum tfprof_status store_snapshot(struct store *store, unsigned table, const char *selection, struct snapshot **result,
                                  struct tfprof_error *error) {
  *result = NULL;
  struct snapshot *snapshot = take_from_cache(store, table, selection ? selection : "");
  if (!snapshot) {
    enum tfprof_status status = make(store, table, selection, &snapshot, error);
    if (status) return status;
    snapshot->private_state->is_cached = true;
    /* Making it may have told something new, which is in it. */
    snapshot->private_state->diagnostic_changes = store->diagnostic_changes;
  }
  snapshot->private_state->next = store->cache[table];
  store->cache[table] = snapshot;
  *result = snapshot_retain(snapshot);
  return TFPROF_OK;
}

uint64_t store_estimate_rows(struct store *store, unsigned table) {
  uint64_t rows = 0;
  if (table == TABLE_runs) return store_run_count(store);
  if (table == TABLE_profiles) return store->profiles.count;
  for (size_t i = 0; i < store->profiles.count; i++) {
    const struct profile *profile = store->profiles.items[i];
    if (profile->tables[table].is_ready) {
      rows += profile_table_rows(profile, table);
      if (table == TABLE_diagnostics) rows += profile->diagnostic_count;
      continue;
    }
    /* Not made yet: such tables have far fewer rows than those they are made from. */
    uint64_t raw = 0;
    for (unsigned other = 0; other < TABLE_count; other++) raw += profile_table_rows(profile, other);
    rows += raw / 64 + 16;
  }
  return rows;
}

/* ---- reading ---- */

static bool is_subset(const struct column_set *part, const struct column_set *whole) {
  return !(part->words[0] & ~whole->words[0]) && !(part->words[1] & ~whole->words[1]);
}

enum tfprof_status snapshot_require(struct snapshot *snapshot, const struct column_set *columns,
                                    struct tfprof_error *error) {
  struct column_set *ready = &snapshot->private_state->ready;
  if (is_subset(columns, ready)) return TFPROF_OK;
  for (size_t i = 0; i < snapshot->private_state->profile_count; i++) {
    struct profile *profile = snapshot->private_state->profiles[i];
    enum tfprof_status status = profile_ensure_columns(profile, snapshot->table, NULL, columns, error);
    if (status) return status;
  }
  ready->words[0] |= columns->words[0];
  ready->words[1] |= columns->words[1];
  return TFPROF_OK;
}

enum tfprof_status snapshot_require_segment(struct snapshot *snapshot, size_t segment, const struct column_set *columns,
                                            struct tfprof_error *error) {
  if (is_subset(columns, &snapshot->private_state->ready)) return TFPROF_OK;
  struct segment *rows = snapshot->segments[segment];
  return profile_ensure_columns(rows->profile, snapshot->table, rows, columns, error);
}

const struct snapshot_group *snapshot_find_group(const struct snapshot *snapshot, uint32_t number) {
  const struct snapshot_private *state = snapshot->private_state;
  size_t low = 0, high = state->group_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (state->groups[middle].number < number) low = middle + 1;
    else high = middle;
  }
  return low < state->group_count && state->groups[low].number == number ? &state->groups[low] : NULL;
}

int64_t snapshot_find_id(const struct snapshot *snapshot, int64_t id) {
  uint64_t row = id_row(id);
  const struct snapshot_group *group = snapshot_find_group(snapshot, id_profile(id));
  if (!group) return -1;
  if (group->is_dense) return row < group->rows ? (int64_t)(group->first_position + row) : -1;
  size_t low = group->first_segment, high = group->first_segment + group->segment_count;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (snapshot->segments[middle]->first_row <= row) low = middle;
    else high = middle;
  }
  const struct segment *segment = snapshot->segments[low];
  if (row < segment->first_row || row - segment->first_row >= segment->rows) return -1;
  return (int64_t)(snapshot->positions[low] + (row - segment->first_row));
}
