/* keys.c: see keys.h.
**
** Two walks over the column: the first finds the range of its values, the second writes the keys.  Both read chunks of
** rows as int64 (column_read), so that they need not care how a column is stored.
**
**   integers, times    value - smallest value (times with the profile's clock offset, which differs between profiles)
**   text               the place of the text among those that occur, in memcmp order
**   references         row number, plus what the profiles before it take up: ids sort by profile, then row
**   reals              their bits, turned so that they sort; NaN is NULL
**   id, profile_id     positions are in that order already
*/
#include "store/keys.h"

#include <stdlib.h>

enum { CHUNK_ROWS = 4096 };

/* A chunk of values as SQL sees them, but references are row numbers and reals sortable bits. */
struct chunk {
  uint64_t position; /* of the first */
  uint32_t count;
  size_t group;
  bool has_nulls;
  int64_t values[CHUNK_ROWS];
  uint64_t nulls[CHUNK_ROWS / 64];
};

typedef void (*chunk_function)(struct keys *keys, const struct chunk *chunk, void *context);

static bool is_null_at(const struct chunk *chunk, uint32_t i) { return nulls_have(chunk->nulls, i); }

static void set_null_key(struct chunk *chunk, uint32_t i) {
  nulls_add(chunk->nulls, i);
  chunk->has_nulls = true;
}

static void make_sortable(struct chunk *chunk) {
  for (uint32_t i = 0; i < chunk->count; i++) {
    double real;
    memcpy(&real, &chunk->values[i], sizeof real);
    if (real != real) set_null_key(chunk, i);
    chunk->values[i] = sortable_bits(real);
  }
}

/* A number that can be no row is shown as NULL, and so is text 0. */
static void hide_nulls(struct chunk *chunk, const struct key_space *space) {
  uint64_t limit = (uint64_t)1 << ID_ROW_BITS, all = 0;
  if (space->kind == KEY_TEXT) {
    for (uint32_t i = 0; i < chunk->count; i++) {
      if (chunk->values[i] == 0) set_null_key(chunk, i);
    }
  } else if (space->kind == KEY_REFERENCE) {
    for (uint32_t i = 0; i < chunk->count; i++) all |= (uint64_t)chunk->values[i];
    for (uint32_t i = 0; i < chunk->count && all >= limit; i++) {
      if ((uint64_t)chunk->values[i] >= limit) set_null_key(chunk, i);
    }
  }
}

/* Calls `function` for the chunks of all segments. */
static enum tfprof_status walk(struct snapshot *snapshot, unsigned column, struct keys *keys, chunk_function function,
                               void *context, struct tfprof_error *error) {
  struct chunk *chunk = malloc(sizeof *chunk);
  if (!chunk) return error_no_memory(error);
  const struct snapshot_private *state = snapshot->private_state;
  bool is_time = schema_tables[snapshot->table].columns[column].type == TYPE_TIME;
  unsigned chunks = 0;
  chunk->group = 0;
  for (size_t i = 0; i < snapshot->segment_count; i++) {
    const struct segment *segment = snapshot->segments[i];
    const struct column *values = segment->columns[column];
    uint64_t offset = is_time ? (uint64_t)segment->profile->clock_offset_ns : 0;
    while (state->groups[chunk->group].number != segment->profile->number) chunk->group++;
    for (uint32_t row = 0; row < segment->rows; row += CHUNK_ROWS) {
      if (chunks++ % (INTERRUPT_ROWS / CHUNK_ROWS) == 0 && store_interrupted(snapshot->store)) {
        free(chunk);
        return error_interrupted(error);
      }
      chunk->position = snapshot->positions[i] + row;
      chunk->count = segment->rows - row < CHUNK_ROWS ? segment->rows - row : CHUNK_ROWS;
      chunk->has_nulls = column_read(values, row, chunk->count, chunk->values, chunk->nulls);
      for (uint32_t k = 0; k < chunk->count && offset; k++) {
        chunk->values[k] = (int64_t)((uint64_t)chunk->values[k] + offset);
      }
      if (keys->space.kind == KEY_REAL) make_sortable(chunk);
      else hide_nulls(chunk, &keys->space);
      function(keys, chunk, context);
    }
  }
  free(chunk);
  return TFPROF_OK;
}

/* ---- the first walk ---- */

struct range {
  int64_t minimum, maximum; /* minimum > maximum: no values */
  uint64_t *group_rows;     /* references: the largest row number in each group + 1 */
};

static void find_range(struct keys *keys, const struct chunk *chunk, void *context) {
  struct range *range = context;
  int64_t minimum = INT64_MAX, maximum = INT64_MIN;
  if (!chunk->has_nulls) {
    for (uint32_t i = 0; i < chunk->count; i++) {
      if (chunk->values[i] < minimum) minimum = chunk->values[i];
      if (chunk->values[i] > maximum) maximum = chunk->values[i];
    }
  } else {
    for (uint32_t i = 0; i < chunk->count; i++) {
      if (is_null_at(chunk, i)) {
        keys->space.null_count++;
        continue;
      }
      if (chunk->values[i] < minimum) minimum = chunk->values[i];
      if (chunk->values[i] > maximum) maximum = chunk->values[i];
    }
  }
  if (minimum > maximum) return;
  if (minimum < range->minimum) range->minimum = minimum;
  if (maximum > range->maximum) range->maximum = maximum;
  if (range->group_rows && (uint64_t)maximum + 1 > range->group_rows[chunk->group]) {
    range->group_rows[chunk->group] = (uint64_t)maximum + 1;
  }
}

/* Of texts the first walk marks which occur. */
static void mark_texts(struct keys *keys, const struct chunk *chunk, void *context) {
  uint32_t *dense = keys->space.dense;
  (void)context;
  if (!chunk->has_nulls) {
    for (uint32_t i = 0; i < chunk->count; i++) dense[chunk->values[i]] = 1;
    return;
  }
  for (uint32_t i = 0; i < chunk->count; i++) {
    if (is_null_at(chunk, i)) keys->space.null_count++;
    else dense[chunk->values[i]] = 1;
  }
}

/* ---- between the walks: what a value's key is ---- */

/* Numbers the texts that occur in their order, and forgets those before and after them. */
static enum tfprof_status number_texts(struct snapshot *snapshot, unsigned column, struct keys *keys,
                                       struct tfprof_error *error) {
  struct key_space *space = &keys->space;
  const struct pool *pool = store_pool(snapshot->store);
  size_t known = (size_t)pool_count(pool) + 1, count = 0;
  space->dense = calloc(known, sizeof *space->dense);
  if (!space->dense) return error_no_memory(error);
  enum tfprof_status status = walk(snapshot, column, keys, mark_texts, NULL, error);
  if (status) return status;
  for (size_t i = 0; i < known; i++) count += space->dense[i];
  space->is_empty = count == 0;
  if (count == 0) return TFPROF_OK;
  string_id *ids = malloc(count * sizeof *ids);
  if (!ids) return error_no_memory(error);
  count = 0;
  for (size_t i = 0; i < known; i++) {
    if (space->dense[i]) ids[count++] = (string_id)i;
  }
  space->first_id = ids[0];
  space->dense_count = ids[count - 1] - ids[0] + 1;
  memmove(space->dense, space->dense + space->first_id, space->dense_count * sizeof *space->dense);
  uint32_t *shorter = realloc(space->dense, space->dense_count * sizeof *shorter);
  if (shorter) space->dense = shorter;
  if (pool_sort(pool, ids, count)) status = error_no_memory(error);
  for (size_t i = 0; i < count && !status; i++) space->dense[ids[i] - space->first_id] = (uint32_t)i + 1;
  free(ids);
  space->range = count - 1;
  return status;
}

static void number_references(const struct snapshot *snapshot, struct key_space *space) {
  size_t groups = snapshot->private_state->group_count;
  uint64_t base = 0;
  for (size_t i = 0; i <= groups; i++) { /* in place: counts become their sums */
    uint64_t rows = i < groups ? space->group_base[i] : 0;
    space->group_base[i] = base;
    base += rows;
  }
  if (base) space->range = base - 1;
}

static enum tfprof_status find_space(struct snapshot *snapshot, unsigned column, struct keys *keys,
                                     struct tfprof_error *error) {
  struct range range = {.minimum = INT64_MAX, .maximum = INT64_MIN};
  struct key_space *space = &keys->space;
  if (space->kind == KEY_REFERENCE) {
    space->group_base = calloc(snapshot->private_state->group_count + 1, sizeof *space->group_base);
    if (!space->group_base) return error_no_memory(error);
    range.group_rows = space->group_base;
  }
  if (space->kind == KEY_TEXT) return number_texts(snapshot, column, keys, error);
  enum tfprof_status status = walk(snapshot, column, keys, find_range, &range, error);
  if (status) return status;
  space->is_empty = range.minimum > range.maximum;
  switch (space->kind) {
    case KEY_REFERENCE: number_references(snapshot, space); break;
    case KEY_REAL:
    case KEY_INTEGER:
      if (space->is_empty) break;
      space->minimum = range.minimum;
      space->range = (uint64_t)range.maximum - (uint64_t)range.minimum;
      break;
    case KEY_TEXT:
    case KEY_ASCENDING: break;
  }
  space->is_wide = space->range > UINT32_MAX - 2;
  return status;
}

/* ---- the second walk ---- */

static uint64_t key_of(const struct key_space *space, const struct chunk *chunk, uint32_t i) {
  uint64_t value = (uint64_t)chunk->values[i];
  switch (space->kind) {
    case KEY_INTEGER:
    case KEY_REAL: return value - (uint64_t)space->minimum;
    case KEY_TEXT: return space->dense[(string_id)value - space->first_id] - 1;
    case KEY_REFERENCE: return space->group_base[chunk->group] + value;
    case KEY_ASCENDING: break;
  }
  return value;
}

/* Narrow keys of a chunk without NULLs. */
static void write_narrow(const struct keys *keys, const struct chunk *chunk) {
  uint32_t *to = keys->narrow + chunk->position;
  const struct key_space *space = &keys->space;
  if (space->kind == KEY_TEXT) {
    const uint32_t *dense = space->dense;
    for (uint32_t i = 0; i < chunk->count; i++) to[i] = dense[(string_id)chunk->values[i] - space->first_id];
  } else {
    uint64_t first = space->kind == KEY_REFERENCE ? 0 - space->group_base[chunk->group] : (uint64_t)space->minimum;
    for (uint32_t i = 0; i < chunk->count; i++) to[i] = (uint32_t)((uint64_t)chunk->values[i] - first) + 1;
  }
}

static void write_with_nulls(const struct keys *keys, const struct chunk *chunk) {
  for (uint32_t i = 0; i < chunk->count; i++) {
    uint64_t position = chunk->position + i;
    bool is_null = is_null_at(chunk, i);
    uint64_t key = is_null ? 0 : key_of(&keys->space, chunk, i);
    if (keys->narrow) keys->narrow[position] = is_null ? 0 : (uint32_t)key + 1;
    else keys->wide[position] = key;
    if (is_null && keys->null_bits) keys->null_bits[position >> 6] |= (uint64_t)1 << (position & 63);
  }
}

/* Whether the chunk goes on as everything before it did. */
static bool goes_on_ascending(const struct keys *keys, const struct chunk *chunk) {
  uint64_t begin = chunk->position ? chunk->position : 1, end = chunk->position + chunk->count;
  for (uint64_t position = begin; position < end; position++) {
    if (keys->narrow) {
      if (keys->narrow[position] < keys->narrow[position - 1]) return false;
    } else {
      bool is_null = keys_is_null(keys, position), was_null = keys_is_null(keys, position - 1);
      if (is_null ? !was_null : !was_null && keys->wide[position] < keys->wide[position - 1]) return false;
    }
  }
  return true;
}

static void write_keys(struct keys *keys, const struct chunk *chunk, void *context) {
  (void)context;
  if (chunk->has_nulls) {
    write_with_nulls(keys, chunk);
  } else if (keys->narrow) {
    write_narrow(keys, chunk);
  } else {
    for (uint32_t i = 0; i < chunk->count; i++) keys->wide[chunk->position + i] = key_of(&keys->space, chunk, i);
  }
  if (keys->is_ascending) keys->is_ascending = goes_on_ascending(keys, chunk);
}

/* For id, which needs no keys, and profile_id. */
static enum tfprof_status number_groups(const struct snapshot *snapshot, unsigned column, struct keys *keys,
                                        struct tfprof_error *error) {
  const struct snapshot_private *state = snapshot->private_state;
  if (column == 0) return TFPROF_OK;
  keys->narrow = malloc((snapshot->rows + 1) * sizeof *keys->narrow);
  if (!keys->narrow) return error_no_memory(error);
  keys->space.range = state->group_count;
  if (snapshot->table == TABLE_profiles) keys->space.range = snapshot->rows; /* each belongs to itself */
  if (snapshot->table == TABLE_runs) keys->space.null_count = snapshot->rows;
  for (size_t group = 0; group < state->group_count; group++) {
    uint64_t begin = state->groups[group].first_position, end = begin + state->groups[group].rows;
    for (uint64_t position = begin; position < end; position++) {
      uint32_t key = (uint32_t)(snapshot->table == TABLE_profiles ? position : group) + 1;
      keys->narrow[position] = snapshot->table == TABLE_runs ? 0 : key;
    }
  }
  return TFPROF_OK;
}

static unsigned kind_of_key(const struct snapshot *snapshot, unsigned column) {
  const struct column_spec *spec = &schema_tables[snapshot->table].columns[column];
  if (column < 2) return KEY_ASCENDING;
  if (spec->type == TYPE_TEXT || spec->type == TYPE_JSON) return KEY_TEXT;
  if (spec->type == TYPE_REFERENCE && spec->target != TABLE_runs && spec->target != TABLE_profiles) {
    return KEY_REFERENCE;
  }
  return spec->type == TYPE_REAL ? KEY_REAL : KEY_INTEGER;
}

enum tfprof_status keys_build(struct snapshot *snapshot, unsigned column, struct keys *keys,
                              struct tfprof_error *error) {
  *keys = (struct keys){.is_ascending = true};
  keys->space.kind = kind_of_key(snapshot, column);
  if (keys->space.kind == KEY_ASCENDING) return number_groups(snapshot, column, keys, error);
  enum tfprof_status status = find_space(snapshot, column, keys, error);
  if (!status) {
    size_t rows = (size_t)snapshot->rows;
    if (keys->space.is_wide) keys->wide = malloc((rows + 1) * sizeof *keys->wide);
    else keys->narrow = malloc((rows + 1) * sizeof *keys->narrow);
    bool needs_bits = keys->space.is_wide && keys->space.null_count;
    if (needs_bits) keys->null_bits = calloc(rows / 64 + 1, sizeof *keys->null_bits);
    if ((!keys->wide && !keys->narrow) || (needs_bits && !keys->null_bits)) status = error_no_memory(error);
  }
  if (!status) status = walk(snapshot, column, keys, write_keys, NULL, error);
  if (status) keys_clear(keys);
  return status;
}

void key_space_clear(struct key_space *space) {
  free(space->dense);
  free(space->group_base);
  *space = (struct key_space){0};
}

void keys_clear(struct keys *keys) {
  key_space_clear(&keys->space);
  free(keys->narrow);
  free(keys->wide);
  free(keys->null_bits);
  *keys = (struct keys){0};
}
