/* adopt.c: profiles that were read into a store of their own go over to another one.
**
** Several files are read at the same time, each by a thread of its own, into a store (and a pool) of its own; then
** their profiles are taken over one after the other, in an order that does not depend on which was read first.  Row
** numbers and references mean the same in any store: only texts get other ids.
*/
#include "store/private.h"

#include <stdlib.h>

/* The column with its texts' ids in the other pool; a new reference. NULL: no memory. */
static struct column *translate(struct column *column, const string_id *map) {
  if (column->form == COLUMN_ABSENT) return column_retain(column);
  if (column->form == COLUMN_CONSTANT && !column->nulls) return column_constant(column->rows, map[column->base]);
  int64_t *values = malloc((size_t)column->rows * sizeof *values);
  uint64_t *nulls = malloc(((size_t)column->rows + 63) / 64 * sizeof *nulls);
  struct column *result = NULL;
  if (values && nulls) {
    bool has_nulls = column_read(column, 0, column->rows, values, nulls);
    for (uint32_t row = 0; row < column->rows; row++) {
      bool is_null = has_nulls && nulls[row >> 6] >> (row & 63) & 1;
      if (!is_null) values[row] = map[values[row]];
    }
    result = column_from_integers(values, has_nulls ? nulls : NULL, column->rows);
  }
  free(values);
  free(nulls);
  return result;
}

static bool is_text(unsigned table, unsigned column) {
  uint8_t type = schema_tables[table].columns[column].type;
  return type == TYPE_TEXT || type == TYPE_JSON;
}

/* Columns that are one array go on being one. */
static bool translate_segment(struct segment *segment, const string_id *map) {
  struct column *before[SCHEMA_MAXIMUM_COLUMNS] = {NULL};
  unsigned count = schema_tables[segment->table].column_count;
  bool ok = true;
  for (unsigned i = 2; i < count && ok; i++) {
    if (!segment->columns[i] || !is_text(segment->table, i)) continue;
    before[i] = segment->columns[i];
    segment->columns[i] = NULL;
    for (unsigned twin = 2; twin < i && !segment->columns[i]; twin++) {
      if (before[twin] == before[i]) segment->columns[i] = column_retain(segment->columns[twin]);
    }
    if (!segment->columns[i]) segment->columns[i] = translate(before[i], map);
    ok = segment->columns[i] != NULL;
  }
  for (unsigned i = 2; i < count; i++) column_release(before[i]);
  return ok;
}

static bool translate_profile(struct profile *profile, const string_id *map) {
  string_id *texts[] = {
      &profile->path,    &profile->job,          &profile->host,       &profile->framework, &profile->framework_version,
      &profile->command, &profile->clock_domain, &profile->attributes, &profile->location,  &profile->real_location,
      &profile->run_command, &profile->origin};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) *texts[i] = map[*texts[i]];
  for (size_t i = 0; i < profile->file_count; i++) profile->files[i].location = map[profile->files[i].location];
  for (size_t i = 0; i < profile->diagnostic_count; i++) {
    struct diagnostic *diagnostic = &profile->diagnostics[i];
    diagnostic->severity = map[diagnostic->severity];
    diagnostic->reason = map[diagnostic->reason];
    diagnostic->message = map[diagnostic->message];
    diagnostic->file = map[diagnostic->file];
  }
  bool ok = true;
  for (unsigned table = 0; table < TABLE_count; table++) {
    const struct profile_table *rows = &profile->tables[table];
    for (size_t i = 0; i < rows->segment_count && ok; i++) ok = translate_segment(rows->segments[i], map);
  }
  if (profile->source->adopt) profile->source->adopt(profile, map);
  return ok;
}

struct store *store_create_apart(const struct store *store) {
  struct store *apart = store_create(store->passes, store->pass_count);
  if (apart)
    apart->hooks = (struct store_hooks){.is_interrupted = store->hooks.is_interrupted, .context = store->hooks.context};
  return apart;
}

enum tfprof_status store_adopt(struct store *store, uint32_t run_number, struct store *from,
                               struct tfprof_error *error) {
  string_id *map;
  enum tfprof_status status = pool_merge(store->pool, from->pool, &map);
  if (status == TFPROF_LIMIT) return error_set(error, status, "there are more strings than can be held");
  if (status) return error_no_memory(error);
  size_t taken = 0;
  for (; taken < from->pending.count && !status; taken++) {
    struct profile *profile = from->pending.items[taken];
    if (!translate_profile(profile, map)) status = error_no_memory(error);
    else status = store_add_pending(store, run_number, profile, error);
    if (status) profile_release(profile);
  }
  from->pending.count -= taken;
  memmove(from->pending.items, from->pending.items + taken, from->pending.count * sizeof *from->pending.items);
  store->diagnostic_changes++;
  free(map);
  return status;
}
