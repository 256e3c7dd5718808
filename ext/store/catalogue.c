/* catalogue.c: the tables that the store itself makes: runs, profiles, and what reading files added to diagnostics.
**
** Each snapshot of such a table gets a profile of its own, whose segments have one row each (diagnostics: all rows of a
** profile) and whose source, below, computes columns when they are asked for: counts and spans are not worth knowing
** before.  Runs and profiles are numbered by profile 0, so that their ids are their numbers.
*/
#include "base/hash.h"
#include "base/hash_index.h"
#include "store/private.h"

#include <stdlib.h>

struct catalogue_row { /* source_data of a segment */
  string_id path, format;
  struct profile **profiles; /* retained: those of the run, the profile itself */
  size_t profile_count;
  struct diagnostic *diagnostics;
};

static void free_row(void *source_data) {
  struct catalogue_row *row = source_data;
  for (size_t i = 0; i < row->profile_count; i++) profile_release(row->profiles[i]);
  free(row->profiles);
  free(row->diagnostics);
  free(row);
}

/* ---- counts and spans ---- */

static int time_column(const struct table_spec *spec) {
  return spec->start_column >= 0 ? spec->start_column : schema_find_column(spec, "time_ns");
}

enum tfprof_status profile_count_events(struct profile *profile, int64_t *count, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  *count = profile->event_count;
  if (*count >= 0) return TFPROF_OK;
  *count = 0;
  for (unsigned table = 0; table < TABLE_count && !status; table++) {
    if (time_column(&schema_tables[table]) < 0 || table == TABLE_steps || table == TABLE_device_steps) continue;
    if (profile->tables[table].is_estimated) status = profile_list_table(profile, table, error);
    *count += (int64_t)profile_raw_rows(profile, table);
  }
  return status;
}

static void widen(const struct segment *segment, unsigned column, int64_t *start, int64_t *end) {
  const struct column *values = segment->columns[column];
  if (!values || values->form == COLUMN_ABSENT) return;
  for (uint32_t row = 0; row < segment->rows; row++) {
    if (column_is_null(values, row)) continue;
    int64_t value = column_integer(values, row);
    if (value < *start) *start = value;
    if (value > *end) *end = value;
  }
}

/* Over all times that the source itself has. */
static enum tfprof_status span_of_tables(struct profile *profile, int64_t *start, int64_t *end,
                                         struct tfprof_error *error) {
  for (unsigned table = 0; table < TABLE_count; table++) {
    const struct profile_table *list = &profile->tables[table];
    const struct table_spec *spec = &schema_tables[table];
    struct column_set times = {{0, 0}};
    enum tfprof_status status = profile_list_table(profile, table, error);
    if (status) return status;
    if (list->is_made || list->segment_count == 0) continue;
    for (unsigned column = 2; column < spec->column_count; column++) {
      bool is_raw = column_set_has(&list->segments[0]->is_raw, column);
      if (spec->columns[column].type == TYPE_TIME && is_raw) column_set_add(&times, column);
    }
    status = profile_require(profile, table, &times, error);
    if (status) return status;
    for (size_t i = 0; i < list->segment_count; i++) {
      if (store_interrupted(profile->store)) return error_interrupted(error);
      for (unsigned column = 2; column < spec->column_count; column++) {
        if (column_set_has(&times, column)) widen(list->segments[i], column, start, end);
      }
    }
  }
  return TFPROF_OK;
}

enum tfprof_status profile_find_span(struct profile *profile, struct tfprof_error *error) {
  int64_t start = INT64_MAX, end = INT64_MIN;
  if (profile->has_span || profile->start_ns <= profile->end_ns) return TFPROF_OK;
  enum tfprof_status status = profile->source->span ? profile->source->span(profile, &start, &end, error)
                                                    : span_of_tables(profile, &start, &end, error);
  if (status) return status;
  profile->has_span = true;
  profile->start_ns = start <= end ? start : 1;
  profile->end_ns = start <= end ? end : 0;
  return TFPROF_OK;
}

/* ---- columns of one row ---- */

struct cell {
  bool is_known;
  int64_t value;
};

static struct cell number(int64_t value) { return (struct cell){true, value}; }
static struct cell number_if(bool is_known, int64_t value) { return (struct cell){is_known, value}; }
static struct cell text(string_id id) { return (struct cell){id != 0, id}; }

/* start, end or duration over the profiles of a row. The snapshot's own profile has no clock offset, so the offsets are
** added here; for a row of `profiles` they are added as well. */
static enum tfprof_status span_cell(const struct catalogue_row *row, int part, struct cell *cell,
                                    struct tfprof_error *error) {
  int64_t start = INT64_MAX, end = INT64_MIN;
  for (size_t i = 0; i < row->profile_count; i++) {
    struct profile *profile = row->profiles[i];
    enum tfprof_status status = profile_find_span(profile, error);
    if (status) return status;
    if (profile->start_ns > profile->end_ns) continue;
    int64_t first, last;
    if (__builtin_add_overflow(profile->start_ns, profile->clock_offset_ns, &first)) continue;
    if (__builtin_add_overflow(profile->end_ns, profile->clock_offset_ns, &last)) continue;
    if (first < start) start = first;
    if (last > end) end = last;
  }
  int64_t duration = 0;
  bool is_known = start <= end && !__builtin_sub_overflow(end, start, &duration);
  *cell = number_if(is_known, part == 0 ? start : part == 1 ? end : duration);
  return TFPROF_OK;
}

const char *profile_origin(const struct profile *profile) {
  return profile->origin ? pool_text(profile->store->pool, profile->origin) : profile->source->format;
}

static bool is_xplane_file(const struct profile *profile) { return strcmp(profile_origin(profile), "xplane") == 0; }

/* Of no other source is the op of a kernel told by the kernel itself. */
bool profile_has_xplane_kernels(const struct profile *profile) {
  static const unsigned columns[] = {COLUMN_kernels_op_name, COLUMN_kernels_op_type, COLUMN_kernels_hlo_op};
  const struct profile_table *kernels = &profile->tables[TABLE_kernels];
  if (is_xplane_file(profile)) return true;
  if (!profile_raw_rows(profile, TABLE_profiler_windows)) return false;
  for (size_t i = 0; i < kernels->segment_count; i++) {
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
      if (column_set_has(&kernels->segments[i]->is_raw, columns[k])) return true;
  }
  return false;
}

static string_id common_format(struct store *store, const struct catalogue_row *row) {
  string_id id = 0;
  if (row->format) return row->format;
  for (size_t i = 0; i < row->profile_count; i++) {
    if (strcmp(row->profiles[i]->source->format, row->profiles[0]->source->format) != 0) return 0;
  }
  if (row->profile_count == 0) return 0;
  const char *format = row->profiles[0]->source->format;
  return pool_intern(store->pool, format, strlen(format), &id) ? 0 : id;
}

static enum tfprof_status run_cell(struct store *store, const struct catalogue_row *row, unsigned column,
                                   struct cell *cell, struct tfprof_error *error) {
  *cell = (struct cell){false, 0};
  switch (column) {
    case COLUMN_runs_path: *cell = text(row->path); break;
    case COLUMN_runs_format: *cell = text(common_format(store, row)); break;
    case COLUMN_runs_profile_count: *cell = number((int64_t)row->profile_count); break;
    case COLUMN_runs_start_ns: return span_cell(row, 0, cell, error);
    case COLUMN_runs_end_ns: return span_cell(row, 1, cell, error);
    case COLUMN_runs_dur_ns: return span_cell(row, 2, cell, error);
    case COLUMN_runs_command:
      for (size_t i = 0; i < row->profile_count && !cell->is_known; i++) *cell = text(row->profiles[i]->run_command);
      for (size_t i = 0; i < row->profile_count && !cell->is_known; i++) *cell = text(row->profiles[i]->command);
      break;
    default: break;
  }
  return TFPROF_OK;
}

static enum tfprof_status profile_cell(struct store *store, const struct catalogue_row *row, unsigned column,
                                       struct cell *cell, struct tfprof_error *error) {
  struct profile *profile = row->profiles[0];
  const char *origin;
  string_id id;
  int64_t events;
  bool needs_kernels;
  enum tfprof_status status = TFPROF_OK;
  *cell = (struct cell){false, 0};
  switch (column) {
    case COLUMN_profiles_run_id: *cell = number(profile->run_number); break;
    case COLUMN_profiles_path: *cell = text(profile->path); break;
    case COLUMN_profiles_format: *cell = text(common_format(store, row)); break;
    case COLUMN_profiles_origin:
      origin = profile_origin(profile);
      if (!pool_intern(store->pool, origin, strlen(origin), &id)) *cell = text(id);
      break;
    case COLUMN_profiles_is_xplane:
      *cell = number(is_xplane_file(profile) || profile_raw_rows(profile, TABLE_profiler_windows));
      break;
    case COLUMN_profiles_has_xplane_kernels:
      needs_kernels = !is_xplane_file(profile) && profile_raw_rows(profile, TABLE_profiler_windows);
      if (needs_kernels) status = profile_list_table(profile, TABLE_kernels, error);
      *cell = number(profile_has_xplane_kernels(profile));
      break;
    case COLUMN_profiles_job: *cell = text(profile->job); break;
    case COLUMN_profiles_host: *cell = text(profile->host); break;
    case COLUMN_profiles_pid: *cell = number_if(profile->pid >= 0, profile->pid); break;
    case COLUMN_profiles_parent_pid: *cell = number_if(profile->parent_pid >= 0, profile->parent_pid); break;
    case COLUMN_profiles_rank: *cell = number_if(profile->rank >= 0, profile->rank); break;
    case COLUMN_profiles_world_size: *cell = number_if(profile->world_size >= 0, profile->world_size); break;
    case COLUMN_profiles_framework: *cell = text(profile->framework); break;
    case COLUMN_profiles_framework_version: *cell = text(profile->framework_version); break;
    case COLUMN_profiles_command: *cell = text(profile->command); break;
    case COLUMN_profiles_start_ns: return span_cell(row, 0, cell, error);
    case COLUMN_profiles_end_ns: return span_cell(row, 1, cell, error);
    case COLUMN_profiles_dur_ns: return span_cell(row, 2, cell, error);
    case COLUMN_profiles_clock_domain: *cell = text(profile->clock_domain); break;
    case COLUMN_profiles_clock_offset_ns: *cell = number(profile->clock_offset_ns); break;
    case COLUMN_profiles_clock_error_ns:
      *cell = number_if(profile->clock_error_ns >= 0, profile->clock_error_ns);
      break;
    case COLUMN_profiles_complete: *cell = number(profile->complete); break;
    case COLUMN_profiles_event_count:
      status = profile_count_events(profile, &events, error);
      *cell = number(events);
      break;
    case COLUMN_profiles_file_bytes: *cell = number_if(profile->file_bytes >= 0, profile->file_bytes); break;
    case COLUMN_profiles_attributes: *cell = text(profile->attributes); break;
    default: break;
  }
  return status;
}

/* ---- diagnostics ---- */

/* What is told of a column at one place of the file after the other becomes one row, with the first of the places. */
static bool is_same_diagnostic(const struct diagnostic *left, const struct diagnostic *right) {
  bool is_column = diagnostic_is_of_column(left) && diagnostic_is_of_column(right);
  return left->severity == right->severity && left->reason == right->reason && left->message == right->message &&
         left->file == right->file && (left->offset == right->offset || is_column) && left->table == right->table;
}

static uint64_t diagnostic_hash(const struct diagnostic *diagnostic) {
  uint64_t hash = ((uint64_t)diagnostic->message << 32 | diagnostic->reason) * HASH_FACTOR_1;
  if (!diagnostic_is_of_column(diagnostic)) hash ^= (uint64_t)diagnostic->offset * HASH_SECOND;
  return hash ^ hash >> 29;
}

struct search {
  const struct diagnostic *merged, *diagnostic;
};

static inline bool is_told(const void *context, uint32_t number) {
  const struct search *search = context;
  return is_same_diagnostic(&search->merged[number], search->diagnostic);
}

/* Those of a profile in the order in which they were first told, equal ones added up. */
static enum tfprof_status merge_diagnostics(const struct profile *profile, struct diagnostic **result, size_t *count,
                                            struct tfprof_error *error) {
  size_t merged = 0, places = hash_index_places(profile->diagnostic_count);
  struct diagnostic *list = malloc((profile->diagnostic_count + 1) * sizeof *list);
  struct hash_index index = {calloc(places, sizeof *index.places), places - 1};
  if (!list || !index.places) {
    free(list);
    free(index.places);
    return error_no_memory(error);
  }
  for (size_t i = 0; i < profile->diagnostic_count; i++) {
    const struct diagnostic *diagnostic = &profile->diagnostics[i];
    const struct search search = {list, diagnostic};
    uint32_t *place = hash_index_place(&index, diagnostic_hash(diagnostic), is_told, &search);
    if (*place) {
      struct diagnostic *first = &list[*place - 1];
      if (__builtin_add_overflow(first->count, diagnostic->count, &first->count)) first->count = INT64_MAX;
      if (diagnostic->offset < first->offset) first->offset = diagnostic->offset;
    } else {
      list[merged++] = *diagnostic;
      *place = (uint32_t)merged;
    }
  }
  free(index.places);
  *result = list;
  *count = merged;
  return TFPROF_OK;
}

static size_t count_diagnostics(const struct profile *profile) {
  struct diagnostic *list;
  size_t count = profile->diagnostic_count;
  if (merge_diagnostics(profile, &list, &count, NULL) == TFPROF_OK) free(list);
  return count + (profile->diagnostics_lost != 0);
}

static struct cell diagnostic_cell(const struct diagnostic *diagnostic, unsigned column, const string_id *table_names) {
  switch (column) {
    case COLUMN_diagnostics_severity: return text(diagnostic->severity);
    case COLUMN_diagnostics_reason: return text(diagnostic->reason);
    case COLUMN_diagnostics_message: return text(diagnostic->message);
    case COLUMN_diagnostics_count: return number(diagnostic->count);
    case COLUMN_diagnostics_file: return text(diagnostic->file);
    case COLUMN_diagnostics_offset: return number_if(diagnostic->offset >= 0, diagnostic->offset);
    case COLUMN_diagnostics_table_name: return text(diagnostic->table >= 0 ? table_names[diagnostic->table] : 0);
    default: break;
  }
  return number_if(false, 0);
}

static struct column *diagnostics_column(const struct segment *segment, unsigned column, const string_id *table_names) {
  const struct catalogue_row *row = segment->source_data;
  uint32_t rows = segment->rows;
  int64_t *values = calloc(rows, sizeof *values);
  uint64_t *nulls = calloc((rows + 63) / 64, sizeof *nulls);
  struct column *result = NULL;
  if (values && nulls) {
    for (uint32_t i = 0; i < rows; i++) {
      struct cell cell = diagnostic_cell(&row->diagnostics[i], column, table_names);
      values[i] = cell.value;
      if (!cell.is_known) nulls[i >> 6] |= (uint64_t)1 << (i & 63);
    }
    result = column_from_integers(values, nulls, rows);
  }
  free(values);
  free(nulls);
  return result;
}

/* ---- the source ---- */

static enum tfprof_status load_catalogue(struct profile *profile, struct segment *segment, const uint16_t *columns,
                                         unsigned count, struct column **out, struct tfprof_error *error) {
  struct store *store = profile->store;
  const struct catalogue_row *row = segment->source_data;
  string_id table_names[TABLE_count] = {0};
  for (unsigned table = 0; table < TABLE_count && segment->table == TABLE_diagnostics; table++) {
    const char *name = schema_tables[table].name;
    if (pool_intern(store->pool, name, strlen(name), &table_names[table])) return error_no_memory(error);
  }
  for (unsigned i = 0; i < count; i++) {
    struct cell cell = {false, 0};
    enum tfprof_status status = TFPROF_OK;
    if (segment->table == TABLE_diagnostics) {
      out[i] = diagnostics_column(segment, columns[i], table_names);
    } else {
      if (segment->table == TABLE_runs) status = run_cell(store, row, columns[i], &cell, error);
      else if (columns[i] == COLUMN_profiles_diagnostic_count) {
        struct profile *subject = row->profiles[0];
        status = profile_verify(subject, error);
        uint64_t recorded = profile_table_rows(subject, TABLE_diagnostics);
        cell = number((int64_t)(recorded + count_diagnostics(subject)));
      } else {
        status = profile_cell(store, row, columns[i], &cell, error);
      }
      if (status) return status;
      out[i] = cell.is_known ? column_constant(1, cell.value) : column_absent(1);
    }
    if (!out[i]) return error_no_memory(error);
  }
  return TFPROF_OK;
}

static const struct profile_source catalogue_source = {
    .format = "tfprof", .load = load_catalogue, .free_segment = free_row};

static enum tfprof_status add_catalogue_rows(struct profile *catalogue, unsigned table, uint64_t first_row,
                                             uint32_t rows, struct catalogue_row *row, struct tfprof_error *error) {
  struct column_set all = {{0, 0}};
  for (unsigned column = 2; column < schema_tables[table].column_count; column++) column_set_add(&all, column);
  return profile_add_segment(catalogue, table, first_row, rows, &all, row, NULL, error);
}

/* A row that holds on to `count` profiles; NULL: no memory. */
static struct catalogue_row *make_row(struct profile *const *profiles, size_t count) {
  struct catalogue_row *row = calloc(1, sizeof *row);
  if (!row) return NULL;
  row->profiles = malloc((count + 1) * sizeof *row->profiles);
  if (!row->profiles) {
    free(row);
    return NULL;
  }
  for (size_t i = 0; i < count; i++) row->profiles[row->profile_count++] = profile_retain(profiles[i]);
  return row;
}

enum tfprof_status catalogue_of_runs(struct store *store, struct profile *const *profiles, size_t count,
                                     struct profile **result, struct tfprof_error *error) {
  struct profile *catalogue = profile_create(store, 0, 0, &catalogue_source, NULL);
  enum tfprof_status status = catalogue ? TFPROF_OK : error_no_memory(error);
  for (size_t i = 0; i < store->run_count && !status; i++) {
    const struct run *run = &store->runs[i];
    if (!run->is_published) continue;
    size_t members = 0;
    struct catalogue_row *row = make_row(NULL, 0);
    struct profile **of_run = malloc((count + 1) * sizeof(struct profile *));
    for (size_t k = 0; k < count && of_run; k++) {
      if (profiles[k]->run_number == run->number) of_run[members++] = profile_retain(profiles[k]);
    }
    if (!row || !of_run) {
      free(of_run);
      if (row) free_row(row);
      status = error_no_memory(error);
      break;
    }
    free(row->profiles);
    row->profiles = of_run;
    row->profile_count = members;
    row->path = run->path;
    row->format = run->format;
    if (members == 0) free_row(row); /* not selected */
    else status = add_catalogue_rows(catalogue, TABLE_runs, run->number, 1, row, error);
  }
  if (status) profile_release(catalogue);
  else *result = catalogue;
  return status;
}

enum tfprof_status catalogue_of_profiles(struct store *store, struct profile *const *profiles, size_t count,
                                         struct profile **result, struct tfprof_error *error) {
  struct profile *catalogue = profile_create(store, 0, 0, &catalogue_source, NULL);
  enum tfprof_status status = catalogue ? TFPROF_OK : error_no_memory(error);
  for (size_t i = 0; i < count && !status; i++) {
    struct catalogue_row *row = make_row(&profiles[i], 1);
    status = row ? add_catalogue_rows(catalogue, TABLE_profiles, profiles[i]->number, 1, row, error)
                 : error_no_memory(error);
  }
  if (status) profile_release(catalogue);
  else *result = catalogue;
  return status;
}

/* One more diagnostic, of those that were lost. */
static void tell_lost(struct store *store, const struct profile *profile, struct diagnostic *diagnostic) {
  static const char reason[] = "diagnostics_lost", severity[] = "warning";
  static const char message[] = "memory was too short to keep all diagnostics";
  *diagnostic = (struct diagnostic){.count = (int64_t)profile->diagnostics_lost, .offset = -1, .table = -1};
  diagnostic->file = profile->path;
  /* Where memory is still short the row has its count. */
  pool_intern(store->pool, reason, sizeof reason - 1, &diagnostic->reason);
  pool_intern(store->pool, severity, sizeof severity - 1, &diagnostic->severity);
  pool_intern(store->pool, message, sizeof message - 1, &diagnostic->message);
}

enum tfprof_status catalogue_of_diagnostics(struct profile *profile, struct profile **result,
                                            struct tfprof_error *error) {
  size_t count = 0;
  struct profile *catalogue = profile_create(profile->store, profile->number, 0, &catalogue_source, NULL);
  struct catalogue_row *row = make_row(NULL, 0);
  enum tfprof_status status = catalogue && row ? TFPROF_OK : error_no_memory(error);
  if (!status) status = merge_diagnostics(profile, &row->diagnostics, &count, error);
  if (status) {
    if (row) free_row(row);
  } else {
    if (profile->diagnostics_lost) tell_lost(profile->store, profile, &row->diagnostics[count++]);
    status = add_catalogue_rows(catalogue, TABLE_diagnostics, DIAGNOSTIC_FIRST_ROW, (uint32_t)count, row, error);
  }
  if (status) profile_release(catalogue);
  else *result = catalogue;
  return status;
}
