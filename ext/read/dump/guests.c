/* guests.c: see guests.h. */
#include "read/dump/guests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the dump says ---- */

static enum tfprof_status read_guest_column(struct dump_cursor *cursor, const struct dump_frame *frame,
                                            const struct column_spec *column, int64_t *values, uint64_t *nulls,
                                            struct tfprof_error *error) {
  const struct dump_block *block = dump_frame_block(frame, column->dump_id);
  bool is_number = block && block->encoding != DUMP_REAL && block->encoding < DUMP_BYTES;
  enum tfprof_status status = TFPROF_OK;
  memset(nulls, 0, (frame->rows + 63) / 64 * sizeof *nulls);
  if (is_number) status = dump_block_decode(cursor, frame, block, values, nulls, error);
  bool is_lost = !is_number || dump_is_damage(status); /* the column itself tells that when it is read */
  for (uint32_t row = 0; row < frame->rows; row++) {
    if (is_lost || (!status && nulls_have(nulls, row))) values[row] = GUEST_NOT_KNOWN;
  }
  return is_lost ? TFPROF_OK : status;
}

enum tfprof_status dump_guest_facts(const struct dump_source *source, const struct dump_frame *frame, unsigned table,
                                    const uint16_t *columns, unsigned count, int64_t **facts,
                                    struct tfprof_error *error) {
  struct dump_cursor *cursor = NULL;
  int64_t *values = malloc(frame->rows * sizeof *values);
  uint64_t *nulls = malloc((frame->rows + 63) / 64 * sizeof *nulls);
  *facts = malloc((size_t)frame->rows * count * sizeof **facts);
  enum tfprof_status status = values && nulls && *facts ? dump_cursor_open(source->file, &cursor, error)
                                                        : error_no_memory(error);
  for (unsigned i = 0; i < count && !status; i++) {
    const struct column_spec *column = &schema_tables[table].columns[columns[i]];
    status = read_guest_column(cursor, frame, column, values, nulls, error);
    for (uint32_t row = 0; row < frame->rows && !status; row++) (*facts)[(size_t)row * count + i] = values[row];
  }
  dump_cursor_close(cursor);
  free(values);
  free(nulls);
  return status;
}

char *dump_guest_path(const struct profile *profile, const char *name) {
  const char *dump = pool_text(store_pool(profile->store), profile->path), *slash = strrchr(dump, '/');
  char *path = NULL;
  bool is_plain = *name && *name != '.' && !strchr(name, '/');
  if (!is_plain || asprintf(&path, "%.*s%s", slash ? (int)(slash - dump) + 1 : 0, dump, name) < 0) return NULL;
  return path;
}

/* ---- their store ---- */

bool dump_guests_begin(struct dump_source *source) {
  if (!source->guests) source->guests = calloc(1, sizeof *source->guests);
  return source->guests != NULL;
}

enum tfprof_status dump_guest_add_run(struct profile *profile, const char *path, uint32_t *run,
                                      struct tfprof_error *error) {
  struct dump_guests *guests = ((struct dump_source *)profile->source_data)->guests;
  if (!guests->store) guests->store = store_create_apart(profile->store);
  return guests->store ? store_add_run(guests->store, path, NULL, run, error) : error_no_memory(error);
}

struct profile *dump_guest_opened(struct dump_source *source, uint32_t run, enum tfprof_status status) {
  struct store *store = source->guests->store;
  if (status) {
    store_cancel_run(store, run);
    return NULL;
  }
  store_publish_run(store, run);
  return store_profile_at(store, store_profile_count(store) - 1);
}

static enum tfprof_status bring_texts(struct profile *profile, struct tfprof_error *error) {
  struct dump_guests *guests = ((struct dump_source *)profile->source_data)->guests;
  const struct pool *pool = store_pool(guests->store);
  size_t count = (size_t)pool_count(pool) + 1;
  if (!array_reserve(guests->texts, guests->text_capacity, count)) return error_no_memory(error);
  if (!guests->text_count) guests->texts[guests->text_count++] = 0;
  while (guests->text_count < count) {
    string_id id = (string_id)guests->text_count;
    enum tfprof_status status = pool_intern(store_pool(profile->store), pool_text(pool, id), pool_length(pool, id),
                                            &guests->texts[guests->text_count]);
    if (status) return error_set(error, status, "the strings of the profile cannot be kept");
    guests->text_count++;
  }
  return TFPROF_OK;
}

void dump_guests_adopt(struct dump_source *source, const string_id *map) {
  for (size_t i = 0; source->guests && i < source->guests->text_count; i++)
    source->guests->texts[i] = map[source->guests->texts[i]];
}

/* ---- rows ---- */

/* What a guest has of nodes by its steps is here what they cost in a run, of which a step of the dump may have several;
** all other tables are what they are. The guest's table of rows of the table. */
static unsigned table_of_guest(unsigned table) { return table == TABLE_node_runs ? TABLE_node_steps : table; }

/* The guest's column that has the values of a column; 0: it has none. */
static unsigned column_of_guest(unsigned table, unsigned column) {
  if (table_of_guest(table) == table) return column;
  const struct table_spec *its = &schema_tables[table_of_guest(table)];
  for (unsigned i = 2; i < its->column_count; i++)
    if (!strcmp(its->columns[i].name, schema_tables[table].columns[column].name)) return i;
  return 0;
}

/* Steps of the dump, what belongs to the store, and peaks of devices that the dump has itself are not taken. */
static bool is_of_guests(unsigned table) {
  return table != TABLE_runs && table != TABLE_profiles && table != TABLE_diagnostics && table != TABLE_steps &&
         table != TABLE_node_steps &&
         table != TABLE_profiler_windows && table != TABLE_session_records && table != TABLE_device_peaks;
}

enum tfprof_status dump_guest_place(struct profile *profile, struct dump_guest *guest, struct tfprof_error *error) {
  const struct dump_source *source = profile->source_data;
  for (unsigned table = 0; table < TABLE_count; table++) guest->first_rows[table] = source->numbers[table].rows;
  return bring_texts(profile, error);
}

static struct guest_rows *make_guest_rows(struct dump_guest *guest, unsigned table) {
  uint64_t count = profile_raw_rows(guest->profile, table);
  struct guest_rows *made = guest->taken[table] = calloc(1, sizeof *made);
  if (!made) return NULL;
  made->rows = malloc((count + 1) * sizeof *made->rows);
  made->new_rows = malloc((count + 1) * sizeof *made->new_rows);
  return made->rows && made->new_rows ? made : NULL;
}

/* The next row here is the guest's `row`. */
static enum tfprof_status take_guest_row(struct dump_source *source, struct guest_rows *taken, unsigned table,
                                         uint64_t row, struct tfprof_error *error) {
  if (source->numbers[table].rows >= GUEST_NO_ROW)
    return error_set(error, TFPROF_LIMIT, "too many rows of %s", schema_tables[table].name);
  taken->rows[row] = (uint32_t)source->numbers[table].rows;
  taken->new_rows[taken->new_count++] = (uint32_t)row;
  dump_number_others(source, table, 1);
  return TFPROF_OK;
}

enum tfprof_status dump_guest_know(struct dump_source *source, struct dump_guest *guest, unsigned table,
                                   const struct row_key *keys, struct tfprof_error *error) {
  uint64_t count = profile_raw_rows(guest->profile, table);
  struct row_map *known = &source->guests->known;
  struct guest_rows *taken = make_guest_rows(guest, table);
  enum tfprof_status status = taken ? TFPROF_OK : error_no_memory(error);
  for (uint64_t row = 0; row < count && !status; row++) {
    uint32_t before = known->count, number = row_map_number(known, keys[row]);
    if (number == ROW_MAP_NONE) return error_no_memory(error);
    if (number == before) {
      known->values[number] = (uint32_t)source->numbers[table].rows;
      status = take_guest_row(source, taken, table, row, error);
    }
    if (!status) taken->rows[row] = known->values[number];
  }
  return status;
}

enum tfprof_status dump_guest_follow(struct dump_source *source, struct dump_guest *guest, unsigned table,
                                     unsigned column, struct tfprof_error *error) {
  const struct profile_table *content = &guest->profile->tables[table];
  const struct guest_rows *of = guest->taken[schema_tables[table].columns[column].target];
  struct column_set wanted = {{0, 0}};
  column_set_add(&wanted, column);
  enum tfprof_status status = profile_require(guest->profile, table, &wanted, error);
  struct guest_rows *taken = status ? NULL : make_guest_rows(guest, table);
  if (!status && !taken) return error_no_memory(error);
  const uint64_t first_new = guest->first_rows[schema_tables[table].columns[column].target];
  const uint64_t targets = profile_raw_rows(guest->profile, schema_tables[table].columns[column].target);
  for (size_t i = 0; i < content->segment_count && !status; i++) {
    const struct segment *segment = content->segments[i];
    const struct column *values = segment->columns[column];
    for (uint32_t row = 0; row < segment->rows && !status; row++) {
      uint64_t place = segment->first_row + row;
      bool is_known = values && !column_is_null(values, row);
      uint64_t target = is_known ? (uint64_t)column_integer(values, row) : UINT64_MAX;
      bool is_new = target < targets && of->rows[target] != GUEST_NO_ROW && of->rows[target] >= first_new;
      taken->rows[place] = GUEST_NO_ROW;
      if (is_new) status = take_guest_row(source, taken, table, place, error);
    }
  }
  return status;
}

void dump_guest_number(struct dump_source *source, struct dump_guest *guest) {
  for (unsigned table = 0; table < TABLE_count; table++) {
    if (is_of_guests(table) && !guest->taken[table])
      dump_number_others(source, table, profile_raw_rows(guest->profile, table_of_guest(table)));
  }
}

void dump_guest_diagnose(struct profile *profile, const struct dump_guest *guest, const char *name) {
  const struct pool *pool = store_pool(guest->profile->store);
  for (size_t i = 0; i < guest->profile->diagnostic_count; i++) {
    const struct diagnostic *told = &guest->profile->diagnostics[i];
    const char *severity = pool_text(pool, told->severity), *reason = pool_text(pool, told->reason);
    const char *message = pool_text(pool, told->message);
    if (!severity || !reason || !message) continue;
    if (strcmp(severity, "info") == 0) profile_diagnose_once(profile, severity, reason, "%s", message);
    else profile_diagnose(profile, severity, reason, told->count, told->offset, told->table, "%s: %s", name, message);
  }
}

static void guest_free(struct dump_guest *guest) {
  for (unsigned table = 0; table < TABLE_count; table++) {
    if (!guest->taken[table]) continue;
    free(guest->taken[table]->rows);
    free(guest->taken[table]->new_rows);
    free(guest->taken[table]);
  }
}

enum tfprof_status dump_guest_keep(struct dump_source *source, struct dump_guest *guest, enum tfprof_status status,
                                   struct tfprof_error *error) {
  struct dump_guest *item = status ? NULL : list_add(&source->guests->items);
  if (!status && !item) status = error_no_memory(error);
  if (item) *item = *guest;
  else guest_free(guest);
  return status;
}

size_t dump_guests_count(const struct dump_source *source) {
  return source->guests ? source->guests->items.count : 0;
}

size_t dump_guest_frames(const struct dump_source *source, size_t guest) {
  return source->guests->items.items[guest].frames;
}

void dump_guests_free(struct dump_source *source) {
  for (size_t i = 0; i < dump_guests_count(source); i++) guest_free(&source->guests->items.items[i]);
  if (!source->guests) return;
  store_release(source->guests->store);
  free(source->guests->texts);
  list_free(&source->guests->items);
  row_map_free(&source->guests->known);
  free(source->guests);
}

/* ---- segments ---- */

static enum tfprof_status add_guest_segment(struct profile *profile, size_t guest, unsigned table, size_t number,
                                            struct tfprof_error *error) {
  const struct dump_source *source = profile->source_data;
  const struct dump_guest *from = &source->guests->items.items[guest];
  const struct segment *its = from->profile->tables[table_of_guest(table)].segments[number];
  const struct guest_rows *taken = from->taken[table];
  uint32_t rows = !taken ? its->rows : number ? 0 : taken->new_count; /* such a table is one segment */
  if (!rows) return TFPROF_OK;
  struct column_set raw = {{0, 0}};
  struct dump_segment *segment = malloc(sizeof *segment + 2 * sizeof *segment->frames);
  if (!segment) return error_no_memory(error);
  segment->is_of_guest = true;
  segment->frame_count = 0;
  segment->frames[0] = (uint32_t)guest;
  segment->frames[1] = (uint32_t)number;
  for (unsigned i = 0; i < schema_tables[table].column_count; i++) {
    const struct column_spec *column = &schema_tables[table].columns[i];
    bool is_of_step = (column->type == TYPE_REFERENCE && column->target == TABLE_steps) ||
                      (table == TABLE_ops && i == COLUMN_ops_marked_step);
    if (!is_of_step && column_set_has(&its->is_raw, column_of_guest(table, i))) column_set_add(&raw, i);
  }
  if (table == TABLE_ops && from->profile->framework) column_set_add(&raw, COLUMN_ops_framework);
  struct segment *added = NULL;
  enum tfprof_status status =
      profile_add_segment(profile, table, profile->tables[table].rows, rows, &raw, segment, &added, error);
  if (!status) added->is_of_other_kind = true;
  return status;
}

enum tfprof_status dump_guests_add(struct profile *profile, size_t guest, unsigned table, struct tfprof_error *error) {
  const struct dump_source *source = profile->source_data;
  const struct dump_guest *from = &source->guests->items.items[guest];
  enum tfprof_status status = TFPROF_OK;
  const struct profile_table *content = &from->profile->tables[table_of_guest(table)];
  if (!is_of_guests(table) || content->is_made) return status;
  for (size_t i = 0; i < content->segment_count && !status; i++)
    status = add_guest_segment(profile, guest, table, i, error);
  return status;
}

/* ---- columns ---- */

struct taking { /* of a column of one segment */
  const struct dump_guests *guests;
  const struct dump_guest *guest;
  const struct dump_guest *of; /* whose rows it refers to */
  const struct column_spec *spec;
  const struct guest_rows *targets; /* of the table that it refers to; NULL: all rows of it are taken */
};

static struct taking find_taking(const struct dump_guests *guests, const struct dump_guest *guest,
                                 const struct column_spec *spec) {
  bool is_reference = spec->type == TYPE_REFERENCE;
  bool is_code = is_reference && (spec->target == TABLE_code_traces || spec->target == TABLE_code_frames);
  const struct dump_guest *of = is_code && guest->lender != GUEST_NONE ? &guests->items.items[guest->lender] : guest;
  return (struct taking){guests, guest, of, spec, is_reference ? of->taken[spec->target] : NULL};
}

/* What a value of the guest's profile is here; false: nothing. */
static bool bring_value(const struct taking *taking, int64_t *value) {
  const struct dump_guest *of = taking->of;
  switch ((enum column_type)taking->spec->type) {
    case TYPE_TEXT:
    case TYPE_JSON:
      assert((uint64_t)*value < taking->guests->text_count);
      *value = taking->guests->texts[*value];
      return true;
    case TYPE_TIME:
      return !__builtin_add_overflow(*value, taking->guest->offset_ns, value) && is_dump_time(*value);
    case TYPE_REFERENCE:
      if ((uint64_t)*value >= profile_raw_rows(of->profile, taking->spec->target)) return false;
      if (!taking->targets) *value += (int64_t)of->first_rows[taking->spec->target];
      else *value = (int64_t)taking->targets->rows[*value];
      return !taking->targets || *value != GUEST_NO_ROW;
    case TYPE_INTEGER:
    case TYPE_BOOLEAN:
    case TYPE_REAL:
    case TYPE_DURATION: break;
  }
  return true;
}

/* rows: those to take, NULL: all. NULL: no memory. */
static struct column *bring_column(const struct taking *taking, const struct column *column, const uint32_t *rows,
                                   uint32_t count) {
  int64_t *values = malloc((size_t)column->rows * sizeof *values);
  uint64_t *nulls = malloc(((size_t)column->rows + 63) / 64 * sizeof *nulls);
  uint64_t *own_nulls = calloc(((size_t)count + 63) / 64 + 1, sizeof *own_nulls);
  struct column *result = NULL;
  if (values && nulls && own_nulls) {
    bool is_any_null = false;
    column_read(column, 0, column->rows, values, nulls);
    for (uint32_t i = 0; i < count; i++) {
      uint32_t row = rows ? rows[i] : i; /* never before i: they ascend */
      bool is_null = nulls_have(nulls, row) || !bring_value(taking, &values[row]);
      values[i] = is_null ? 0 : values[row];
      if (is_null) nulls_add(own_nulls, i);
      is_any_null |= is_null;
    }
    const uint64_t *mask = is_any_null ? own_nulls : NULL;
    result = column->is_real ? column_from_reals((const double *)(const void *)values, mask, count)
                             : column_from_integers(values, mask, count);
  }
  free(values);
  free(nulls);
  free(own_nulls);
  return result;
}

enum tfprof_status dump_guests_load(struct profile *profile, struct segment *segment, const uint16_t *columns,
                                    unsigned count, struct column **out, struct tfprof_error *error) {
  struct dump_source *source = profile->source_data;
  const struct dump_segment *own = segment->source_data;
  struct dump_guest *guest = &source->guests->items.items[own->frames[0]];
  const unsigned table = table_of_guest(segment->table);
  const struct segment *its = guest->profile->tables[table].segments[own->frames[1]];
  const struct guest_rows *taken = guest->taken[segment->table];
  struct column_set wanted = {{0, 0}};
  for (unsigned i = 0; i < count; i++) {
    unsigned column = column_of_guest(segment->table, columns[i]);
    if (column_set_has(&its->is_raw, column)) column_set_add(&wanted, column);
  }
  size_t told = guest->profile->diagnostic_count;
  enum tfprof_status status = profile_require(guest->profile, table, &wanted, error);
  if (!status) status = bring_texts(profile, error);
  if (!status && guest->profile->diagnostic_count > told)
    segment_diagnose(segment, columns[0], "warning", "profiler_window", 1, -1,
                     "columns of a file of the framework's profiler could not be read to the end");
  for (unsigned i = 0; i < count && !status; i++) {
    const struct column_spec *spec = &schema_tables[segment->table].columns[columns[i]];
    unsigned place = column_of_guest(segment->table, columns[i]);
    const struct column *column = column_set_has(&wanted, place) ? its->columns[place] : NULL;
    if (segment->table == TABLE_ops && columns[i] == COLUMN_ops_framework) {
      out[i] = column_constant(segment->rows, source->guests->texts[guest->profile->framework]);
      if (!out[i]) status = error_no_memory(error);
      continue;
    }
    if (!column || column->form == COLUMN_ABSENT) continue; /* absent here as well */
    const struct taking taking = find_taking(source->guests, guest, spec);
    out[i] = bring_column(&taking, column, taken ? taken->new_rows : NULL, segment->rows);
    if (!out[i]) status = error_no_memory(error);
  }
  return status;
}
