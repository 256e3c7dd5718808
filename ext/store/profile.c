/* profile.c: one version of a profile: its segments, its diagnostics, and values as SQL sees them. */
#include "base/list.h"
#include "store/private.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define MAXIMUM_SEGMENT_ROWS ((uint32_t)1 << 31)

static struct segment *segment_create(struct profile *profile, unsigned table, uint64_t first_row, uint32_t rows,
                                      void *source_data) {
  struct segment *segment = calloc(1, sizeof *segment);
  if (!segment) return NULL;
  segment->shared = calloc(1, sizeof *segment->shared);
  if (!segment->shared) {
    free(segment);
    return NULL;
  }
  segment->shared->references = 1;
  segment->table = (uint16_t)table;
  segment->first_row = first_row;
  segment->rows = rows;
  segment->profile = profile;
  segment->source_data = source_data;
  return segment;
}

static void free_source_data(const struct profile_source *source, void *source_data) {
  if (source && source->free_segment && source_data) source->free_segment(source_data);
}

static void segment_free(struct segment *segment) {
  for (unsigned column = 0; column < schema_tables[segment->table].column_count; column++) {
    column_release(segment->columns[column]);
  }
  if (--segment->shared->references == 0) {
    free_source_data(segment->profile->source, segment->source_data);
    free(segment->shared);
  }
  free(segment);
}

struct profile *profile_create(struct store *store, uint32_t number, uint32_t run_number,
                               const struct profile_source *source, void *source_data) {
  struct profile *profile = calloc(1, sizeof *profile);
  struct profile_shared *shared = calloc(1, sizeof *shared);
  if (!profile || !shared) {
    struct profile lent = {.store = store, .source = source, .source_data = source_data};
    if (source && source->free_profile) source->free_profile(&lent);
    free(profile);
    free(shared);
    return NULL;
  }
  shared->references = 1;
  profile->shared = shared;
  profile->store = store;
  profile->references = 1;
  profile->number = number;
  profile->run_number = run_number;
  profile->source = source;
  profile->source_data = source_data;
  profile->pid = profile->parent_pid = profile->rank = profile->world_size = -1;
  profile->clock_error_ns = profile->file_bytes = profile->event_count = -1;
  profile->start_ns = 1;
  return profile;
}

struct profile *profile_retain(struct profile *profile) {
  profile->references++;
  return profile;
}

void profile_cut_segments(struct profile *profile, unsigned table, size_t count) {
  struct profile_table *rows = &profile->tables[table];
  while (rows->segment_count > count) segment_free(rows->segments[--rows->segment_count]);
  rows->rows = 0;
  if (count) {
    const struct segment *last = rows->segments[count - 1];
    rows->rows = last->first_row + last->rows;
  }
}

void profile_release(struct profile *profile) {
  if (!profile || --profile->references) return;
  for (unsigned table = 0; table < TABLE_count; table++) {
    profile_cut_segments(profile, table, 0);
    free(profile->tables[table].segments);
  }
  if (--profile->shared->references == 0) {
    if (profile->source && profile->source->free_profile) profile->source->free_profile(profile);
    free(profile->shared);
  }
  free(profile->diagnostics);
  free(profile->files);
  free(profile);
}

/* ---- segments ---- */

/* Tables that the store makes itself: arrays by row number are made of none of them. */
static bool is_of_store(unsigned table) {
  return table == TABLE_runs || table == TABLE_profiles || table == TABLE_diagnostics;
}

enum tfprof_status profile_add_segment(struct profile *profile, unsigned table, uint64_t first_row, uint32_t rows,
                                       const struct column_set *raw, void *source_data, struct segment **result,
                                       struct tfprof_error *error) {
  struct profile_table *list = &profile->tables[table];
  struct segment *segment = NULL;
  enum tfprof_status status = TFPROF_OK;
  if (result) *result = NULL;
  if (rows > MAXIMUM_SEGMENT_ROWS || first_row > ((uint64_t)1 << ID_ROW_BITS) - rows) {
    status = error_set(error, TFPROF_LIMIT, "table %s has more rows than ids can number", schema_tables[table].name);
  } else if (first_row < list->rows || (first_row > list->rows && !is_of_store(table))) {
    status = error_set(error, TFPROF_USAGE, "rows of table %s overlap or leave a gap", schema_tables[table].name);
  } else if (list->is_deferred ? !profile->is_listing
                               : !list->is_made && !pass_set_is_empty(&profile->passes_running)) {
    status =
        error_set(error, TFPROF_USAGE, "a pass adds rows to table %s, which the source has", schema_tables[table].name);
  }
  if (!status && rows) {
    segment = segment_create(profile, table, first_row, rows, source_data);
    if (!segment || !array_room(list->segments, list->segment_count, list->segment_capacity))
      status = error_no_memory(error);
  }
  if (status || !rows) {
    if (segment) segment_free(segment);
    else free_source_data(profile->source, source_data);
    return status;
  }
  if (raw) segment->is_raw = *raw;
  list->segments[list->segment_count++] = segment;
  list->rows = first_row + rows;
  if (result) *result = segment;
  return TFPROF_OK;
}

void profile_remove_last_segment(struct profile *profile, unsigned table) {
  size_t count = profile->tables[table].segment_count;
  if (count) profile_cut_segments(profile, table, count - 1);
}

enum tfprof_status segment_set_column(struct segment *segment, unsigned column, struct column *value) {
  if (!value) return TFPROF_NO_MEMORY;
  if (value->rows != segment->rows || column < 2 || column >= schema_tables[segment->table].column_count) {
    column_release(value);
    return TFPROF_USAGE;
  }
  assert(segment_may_have(segment, column, value));
  /* A column that is there stays: cursors may be reading it. */
  if (segment->columns[column] || column_set_has(&segment->is_raw, column)) column_release(value);
  else segment->columns[column] = value;
  return TFPROF_OK;
}

uint64_t profile_table_rows(const struct profile *profile, unsigned table) {
  uint64_t rows = 0;
  if (profile->tables[table].is_deferred) return profile->tables[table].rows;
  for (size_t i = 0; i < profile->tables[table].segment_count; i++) rows += profile->tables[table].segments[i]->rows;
  return rows;
}

static bool some_pass_makes(const struct store *store, unsigned table) {
  for (unsigned pass = 0; pass < store->pass_count; pass++) {
    if (store->passes[pass]->makes_table == (int)table) return true;
  }
  return false;
}

uint64_t profile_raw_rows(const struct profile *profile, unsigned table) {
  return profile->tables[table].is_made ? 0 : profile_table_rows(profile, table);
}

void profile_seal_table(struct profile *profile, unsigned table) {
  struct profile_table *list = &profile->tables[table];
  struct column_set raw[2] = {{{0, 0}}, {{0, 0}}}; /* by kind */
  list->has_kinds = false;
  for (size_t i = 0; i < list->segment_count; i++) {
    struct column_set *of_kind = &raw[list->segments[i]->is_of_other_kind];
    of_kind->words[0] |= list->segments[i]->is_raw.words[0];
    of_kind->words[1] |= list->segments[i]->is_raw.words[1];
    list->has_kinds |= list->segments[i]->is_of_other_kind != list->segments[0]->is_of_other_kind;
  }
  for (size_t i = 0; i < list->segment_count; i++)
    list->segments[i]->is_raw = raw[list->segments[i]->is_of_other_kind];
  bool has_none = !list->is_deferred && !list->is_lost && list->segment_count == 0;
  list->is_made = has_none && some_pass_makes(profile->store, table);
  list->is_ready = !list->is_made;
}

void profile_seal(struct profile *profile) {
  for (unsigned table = 0; table < TABLE_count; table++) profile_seal_table(profile, table);
}

void profile_defer_table(struct profile *profile, unsigned table, uint64_t rows, bool is_estimated) {
  struct profile_table *list = &profile->tables[table];
  assert(profile->source->list && list->segment_count == 0);
  list->is_deferred = true;
  list->is_estimated = is_estimated;
  list->rows = rows;
}

/* ---- versions ---- */

/* Keys of diagnostics: 0 to 2 for those that concern a profile as a whole, then those that were told while a table was
** listed, by the table that they are about, so that they stand in the same order whatever was asked for first; else
** which column of which segment. */
enum { KEY_OF_PROFILE = 0, KEY_OF_SOURCE = 1, KEY_OF_FILE = 2, KEY_OF_LISTING = 3 };
#define KEY_OF_COLUMN ((uint64_t)1 << 63)

bool diagnostic_is_of_column(const struct diagnostic *diagnostic) { return diagnostic->key & KEY_OF_COLUMN; }

static uint64_t diagnostic_key(const struct segment *segment, unsigned column) {
  /* 36 bits of row, 7 of column, 8 of table, and one so that it is never 0. */
  _Static_assert((int)SCHEMA_MAXIMUM_COLUMNS <= 128 && (int)TABLE_count <= 256, "the key is too small");
  return KEY_OF_COLUMN | (uint64_t)segment->table << 43 | (uint64_t)column << 36 | segment->first_row;
}

/* A segment of the new version that stands for the same rows, with the raw columns that are loaded already. */
static bool share_segment(struct profile *profile, const struct segment *old, struct column_set *forgotten) {
  struct profile_table *list = &profile->tables[old->table];
  struct segment *segment = calloc(1, sizeof *segment);
  if (!segment) return false;
  if (!array_room(list->segments, list->segment_count, list->segment_capacity)) {
    free(segment);
    return false;
  }
  *segment = *old;
  segment->profile = profile;
  segment->shared->references++;
  for (unsigned column = 0; column < schema_tables[old->table].column_count; column++) {
    bool is_shared = column_set_has(&old->is_raw, column) && !column_set_has(&old->is_unsettled, column);
    segment->columns[column] = is_shared && old->columns[column] ? column_retain(old->columns[column]) : NULL;
  }
  *forgotten = old->is_unsettled;
  for (unsigned word = 0; word < 2; word++) segment->is_told.words[word] &= ~old->is_unsettled.words[word];
  segment->is_unsettled = (struct column_set){{0, 0}};
  list->segments[list->segment_count++] = segment;
  list->rows = segment->first_row + segment->rows;
  return true;
}

/* What was said about columns that will be loaded again will be said again. */
static void forget_diagnostics(struct profile *profile, const struct segment *segment,
                               const struct column_set *columns) {
  if (!columns->words[0] && !columns->words[1]) return;
  size_t kept = 0, ordered = profile->diagnostics_ordered;
  for (size_t i = 0; i < profile->diagnostic_count; i++) {
    const struct diagnostic *diagnostic = &profile->diagnostics[i];
    bool is_forgotten = false;
    for (unsigned column = 2; column < schema_tables[segment->table].column_count; column++) {
      is_forgotten |= column_set_has(columns, column) && diagnostic->key == diagnostic_key(segment, column);
    }
    if (!is_forgotten) profile->diagnostics[kept++] = *diagnostic;
    if (i + 1 == ordered) profile->diagnostics_ordered = kept;
  }
  profile->diagnostic_count = kept;
}

struct profile *profile_clone(struct profile *old) {
  struct profile *profile = calloc(1, sizeof *profile);
  if (!profile) return NULL;
  *profile = *old;
  profile->references = 1;
  profile->shared->references++;
  profile->is_verified = false;
  profile->start_ns = 1;
  profile->end_ns = 0;
  profile->has_span = false;
  profile->passes_done = profile->passes_running = (struct pass_set){{0}};
  profile->diagnostics = NULL;
  profile->diagnostic_capacity = 0;
  profile->files = NULL;
  memset(profile->tables, 0, sizeof profile->tables);
  if (old->file_count) {
    profile->files = malloc(old->file_count * sizeof *old->files);
    if (!profile->files) {
      profile->diagnostic_count = 0;
      profile_release(profile);
      return NULL;
    }
    memcpy(profile->files, old->files, old->file_count * sizeof *old->files);
  }
  if (old->diagnostic_count) {
    profile->diagnostics = malloc(old->diagnostic_count * sizeof *old->diagnostics);
    if (!profile->diagnostics) {
      profile->diagnostic_count = 0;
      profile_release(profile);
      return NULL;
    }
    memcpy(profile->diagnostics, old->diagnostics, old->diagnostic_count * sizeof *old->diagnostics);
    profile->diagnostic_capacity = old->diagnostic_count;
  }
  for (unsigned table = 0; table < TABLE_count; table++) {
    const struct profile_table *list = &old->tables[table];
    for (size_t i = 0; i < list->segment_count && !list->is_made; i++) {
      struct column_set forgotten;
      if (!share_segment(profile, list->segments[i], &forgotten)) {
        profile_release(profile);
        return NULL;
      }
      forget_diagnostics(profile, list->segments[i], &forgotten);
    }
    struct profile_table *copy = &profile->tables[table];
    copy->is_ready = true;
    if (list->is_deferred || list->is_lost) profile_defer_table(profile, table, list->rows, list->is_estimated);
  }
  return profile;
}

/* ---- diagnostics ---- */

static string_id intern_or_none(struct profile *profile, const char *text, bool *failed) {
  string_id id = 0;
  if (pool_intern_mended(profile->store->pool, text, text ? strlen(text) : 0, &id, NULL)) *failed = true;
  return id;
}

static void diagnose_with_key(struct profile *profile, uint64_t key, const char *severity, const char *reason,
                              int64_t count, int64_t offset, int table, const char *message) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* passes that run side by side may come here */
  bool failed = false;
  struct diagnostic diagnostic = {.severity = intern_or_none(profile, severity, &failed),
                                  .reason = intern_or_none(profile, reason, &failed),
                                  .message = intern_or_none(profile, message, &failed),
                                  .file = profile->path,
                                  .count = count,
                                  .offset = offset,
                                  .table = table,
                                  .key = key};
  pthread_mutex_lock(&lock);
  profile->store->diagnostic_changes++;
  if (failed || !array_room(profile->diagnostics, profile->diagnostic_count, profile->diagnostic_capacity))
    profile->diagnostics_lost++;
  else profile->diagnostics[profile->diagnostic_count++] = diagnostic;
  pthread_mutex_unlock(&lock);
}

void profile_diagnose(struct profile *profile, const char *severity, const char *reason, int64_t count, int64_t offset,
                      int table, const char *format, ...) {
  char message[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  uint64_t key = profile->is_listing ? (uint64_t)(KEY_OF_LISTING + 1 + table) : KEY_OF_PROFILE;
  diagnose_with_key(profile, key, severity, reason, count, offset, table, message);
}

void profile_diagnose_source(struct profile *profile, const char *severity, const char *reason, int64_t count,
                             int64_t offset, int table, const char *format, ...) {
  char message[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  diagnose_with_key(profile, KEY_OF_SOURCE, severity, reason, count, offset, table, message);
}

static void forget_key(struct profile *profile, uint64_t key) {
  size_t kept = 0, ordered = profile->diagnostics_ordered;
  for (size_t i = 0; i < profile->diagnostic_count; i++) {
    if (profile->diagnostics[i].key != key) profile->diagnostics[kept++] = profile->diagnostics[i];
    if (i + 1 == ordered) profile->diagnostics_ordered = kept;
  }
  profile->diagnostic_count = kept;
}

void profile_cut_diagnostics(struct profile *profile, size_t count) {
  if (profile->diagnostic_count > count) profile->diagnostic_count = count;
}

void profile_forget_source_diagnostics(struct profile *profile) { forget_key(profile, KEY_OF_SOURCE); }

/* Those that are kept once: short of memory they are told again, which adds up to one row with a higher count. */
static void diagnose_once(struct profile *profile, uint64_t key, const char *severity, const char *reason,
                          const char *message) {
  string_id text = pool_find(profile->store->pool, message, strlen(message));
  for (size_t i = 0; i < profile->diagnostic_count && text; i++) {
    if (profile->diagnostics[i].key == key && profile->diagnostics[i].message == text) return;
  }
  diagnose_with_key(profile, key, severity, reason, 1, -1, -1, message);
}

void profile_diagnose_once(struct profile *profile, const char *severity, const char *reason, const char *format, ...) {
  char message[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  diagnose_once(profile, KEY_OF_PROFILE, severity, reason, message);
}

/* ---- files that cannot be read any more ---- */

void profile_tell_file(struct profile *profile, const struct tfprof_error *reason) {
  char message[1400];
  bool is_replaced = reason->status == TFPROF_REPLACED, is_lost = reason->status == TFPROF_NOT_FOUND;
  int length = snprintf(message, sizeof message, "%s; what had been read of it is still shown, the rest is NULL; ",
                        reason->message);
  if (is_replaced) snprintf(message + length, sizeof message - (size_t)length, "tfprof_refresh() shows the new one");
  else
    snprintf(message + length, sizeof message - (size_t)length,
             "tfprof_refresh() reads it once it is there again, tfprof_close(%u) gives it up", profile->run_number);
  diagnose_once(profile, KEY_OF_FILE, "error",
                is_replaced ? "replaced_file"
                : is_lost   ? "lost_file"
                            : "unreadable_file",
                message);
}

bool profile_has_file_trouble(const struct profile *profile) {
  for (size_t i = 0; i < profile->diagnostic_count; i++) {
    if (profile->diagnostics[i].key == KEY_OF_FILE) return true;
  }
  return false;
}

bool profile_lacks_columns(const struct profile *profile) {
  if (!profile_has_file_trouble(profile)) return false;
  for (unsigned table = 0; table < TABLE_count; table++) {
    const struct profile_table *list = &profile->tables[table];
    for (size_t i = 0; i < list->segment_count; i++) {
      const struct column_set *lost = &list->segments[i]->is_unsettled;
      if (lost->words[0] | lost->words[1]) return true;
    }
  }
  return false;
}

void profile_forget_file_trouble(struct profile *profile) { forget_key(profile, KEY_OF_FILE); }

void segment_lose(struct segment *segment, unsigned column, const struct tfprof_error *reason) {
  column_set_add(&segment->is_unsettled, column);
  profile_tell_file(segment->profile, reason);
}

void segment_diagnose(struct segment *segment, unsigned column, const char *severity, const char *reason, int64_t count,
                      int64_t offset, const char *format, ...) {
  char message[1024];
  va_list arguments;
  if (column_set_has(&segment->is_told, column)) return;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  diagnose_with_key(segment->profile, diagnostic_key(segment, column), severity, reason, count, offset, segment->table,
                    message);
}

/* ---- values ---- */

static int64_t wrapping_add(int64_t left, int64_t right) { return (int64_t)((uint64_t)left + (uint64_t)right); }

static struct value integer_value(int64_t integer) { return (struct value){.kind = VALUE_INTEGER, .integer = integer}; }

struct value segment_value(const struct segment *segment, unsigned column, uint32_t row) {
  const struct value nothing = {.kind = VALUE_NULL};
  const struct profile *profile = segment->profile;
  if (column == 0) return integer_value(id_make(profile->number, segment->first_row + row));
  if (column == 1) {
    /* The row of a profile belongs to itself; runs belong to none. */
    if (segment->table == TABLE_profiles) return integer_value((int64_t)(segment->first_row + row));
    return segment->table == TABLE_runs ? nothing : integer_value(profile->number);
  }
  const struct column *values = segment->columns[column];
  if (column_is_null(values, row)) return nothing;
  if (values->is_real) {
    double real = column_real(values, row);
    if (real != real) return nothing; /* SQL has no NaN */
    return (struct value){.kind = VALUE_REAL, .real = real};
  }
  int64_t integer = column_integer(values, row);
  const struct column_spec *spec = &schema_tables[segment->table].columns[column];
  switch ((enum column_type)spec->type) {
    case TYPE_TEXT:
    case TYPE_JSON: return integer ? (struct value){.kind = VALUE_TEXT, .text = (string_id)integer} : nothing;
    case TYPE_TIME: return integer_value(wrapping_add(integer, profile->clock_offset_ns));
    case TYPE_REFERENCE:
      if (spec->target == TABLE_runs || spec->target == TABLE_profiles) return integer_value(integer);
      return integer_value(id_make(profile->number, (uint64_t)integer));
    case TYPE_REAL: return (struct value){.kind = VALUE_REAL, .real = (double)integer};
    case TYPE_INTEGER:
    case TYPE_BOOLEAN:
    case TYPE_DURATION: break;
  }
  return integer_value(integer);
}
