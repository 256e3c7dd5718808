/* save.c: see save.h.
**
** The tables of a profile are written one after the other in frames of DUMP_FRAME_ROWS rows.  Texts get ids of the
** file when they first occur; references are row numbers, which stay what they are, and so do times, with what says by
** how much they are moved.  Of start, end and duration two are enough: see choose_span.
*/
#include "read/dump/save.h"

#include "base/list.h"
#include "dump/writer.h"
#include "read/dump/source.h"
#include "store/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct saving {
  struct store *store;
  struct profile *profile;
  struct dump_writer *writer;
  uint32_t *file_ids;  /* of the pool's strings, 0: not written yet */
  size_t file_id_count;
  int64_t (*values)[DUMP_FRAME_ROWS]; /* SCHEMA_MAXIMUM_COLUMNS of them; reals by their bits */
  uint64_t (*nulls)[DUMP_FRAME_ROWS / 64];
  struct dump_column_data columns[SCHEMA_MAXIMUM_COLUMNS];
};

/* ---- values ---- */

static enum tfprof_status text_id(struct saving *saving, string_id id, int64_t *file_id, struct tfprof_error *error) {
  const struct pool *pool = store_pool(saving->store);
  if (id >= saving->file_id_count) { /* the pool has grown since: derived texts */
    if (!array_extend(saving->file_ids, saving->file_id_count, (size_t)pool_count(pool) + 1))
      return error_no_memory(error);
  }
  if (id && !saving->file_ids[id]) {
    saving->file_ids[id] = dump_writer_string(saving->writer, pool_text(pool, id), pool_length(pool, id));
    if (!saving->file_ids[id]) return error_set(error, TFPROF_LIMIT, "the texts are too many or too long for one file");
  }
  *file_id = saving->file_ids[id];
  return TFPROF_OK;
}

/* Reads one column of up to DUMP_FRAME_ROWS rows into its buffers, as the writer wants it. */
static enum tfprof_status take_column(struct saving *saving, const struct segment *segment, unsigned column,
                                      uint32_t first, uint32_t rows, struct tfprof_error *error) {
  const struct column_spec *spec = &schema_tables[segment->table].columns[column];
  const struct column *source = segment->columns[column];
  int64_t *values = saving->values[column];
  uint64_t *nulls = saving->nulls[column];
  bool is_text = spec->type == TYPE_TEXT || spec->type == TYPE_JSON;
  column_read(source, first, rows, values, nulls);
  for (uint32_t row = 0; row < rows; row++) {
    if (nulls_have(nulls, row)) continue;
    if (is_text) {
      enum tfprof_status status = text_id(saving, (string_id)values[row], &values[row], error);
      if (status) return status;
      if (!values[row]) nulls_add(nulls, row);
    }
  }
  struct dump_column_data *data = &saving->columns[column];
  bool is_climbing = spec->type == TYPE_TIME || spec->type == TYPE_REFERENCE;
  *data = (struct dump_column_data){.dump_id = spec->dump_id,
                                    .order = is_climbing ? DUMP_ASCENDING : DUMP_UNORDERED,
                                    .is_real = spec->type == TYPE_REAL,
                                    .integers = values,
                                    .reals = (const double *)(const void *)values,
                                    .nulls = nulls};
  return TFPROF_OK;
}

/* How far apart neighbouring values are, in all. */
static double roughness(const int64_t *values, uint32_t rows) {
  double sum = 0;
  for (uint32_t row = 1; row < rows; row++) {
    double step = (double)values[row] - (double)values[row - 1];
    sum += step < 0 ? -step : step;
  }
  return sum;
}

/* Leaves out of a frame what a reader adds up by itself: end_ns mostly, or start_ns where the rows come in the order of
** their ends, which then have the smaller differences. An end that stands alone is written. */
static void choose_span(struct saving *saving, const struct table_spec *spec, uint32_t rows) {
  if (spec->start_column < 0) return;
  unsigned start = (unsigned)spec->start_column, end = (unsigned)spec->end_column, dur = (unsigned)spec->dur_column;
  bool has_end_alone = false, has_null_duration = false;
  for (uint32_t row = 0; row < rows; row++) {
    bool is_incomplete = nulls_have(saving->nulls[start], row) || nulls_have(saving->nulls[dur], row);
    has_end_alone |= is_incomplete && !nulls_have(saving->nulls[end], row);
    has_null_duration |= is_incomplete;
  }
  if (has_end_alone) {
    for (uint32_t row = 0; row < rows; row++) {
      bool is_sum = !nulls_have(saving->nulls[start], row) && !nulls_have(saving->nulls[dur], row);
      if (is_sum) nulls_add(saving->nulls[end], row);
    }
  } else if (has_null_duration || roughness(saving->values[start], rows) <= roughness(saving->values[end], rows)) {
    saving->columns[end].dump_id = 0;
  } else {
    saving->columns[start].dump_id = 0;
  }
}

/* ---- tables ---- */

/* Whether the source has a column of the segment's table, in whatever segment. */
static bool is_raw_anywhere(const struct segment *segment, unsigned column) {
  const struct profile_table *list = &segment->profile->tables[segment->table];
  for (size_t i = 0; i < list->segment_count && list->has_kinds; i++)
    if (column_set_has(&list->segments[i]->is_raw, column)) return true;
  return column_set_has(&segment->is_raw, column);
}

/* What a reader has again by looking at another table, as it was had here: the name of an op beside its number, and
** what counts. */
static bool is_repetition(const struct segment *segment, unsigned column) {
  static const struct table_column repetitions[] = {{TABLE_ops, COLUMN_ops_parent_name},
                                                    {TABLE_ops, COLUMN_ops_is_measured},
                                                    {TABLE_kernels, COLUMN_kernels_op_name},
                                                    {TABLE_api_calls, COLUMN_api_calls_op_name}};
  for (size_t i = 0; i < sizeof repetitions / sizeof *repetitions; i++) {
    if (repetitions[i].table == segment->table && repetitions[i].column == column)
      return !is_raw_anywhere(segment, column);
  }
  return false;
}

/* is_first: of the table. */
static enum tfprof_status save_rows(struct saving *saving, const struct segment *segment, uint32_t first, uint32_t rows,
                                    bool is_first, struct tfprof_error *error) {
  const struct table_spec *spec = &schema_tables[segment->table];
  struct dump_column_data written[SCHEMA_MAXIMUM_COLUMNS];
  unsigned count = 0;
  for (unsigned column = 2; column < spec->column_count; column++) {
    saving->columns[column].dump_id = 0;
    bool is_left_out = is_repetition(segment, column);
    /* A reader would else derive what is NULL throughout, having more to derive it from, or take the column for one
    ** that an earlier release did not know. */
    bool is_kept = is_first && !is_left_out;
    if (is_left_out || (segment->columns[column]->form == COLUMN_ABSENT && !is_kept)) {
      memset(saving->nulls[column], 0xff, sizeof saving->nulls[column]);
      continue;
    }
    enum tfprof_status status = take_column(saving, segment, column, first, rows, error);
    if (status) return status;
    saving->columns[column].is_kept = is_kept;
  }
  choose_span(saving, spec, rows);
  for (unsigned column = 2; column < spec->column_count; column++) {
    if (saving->columns[column].dump_id) written[count++] = saving->columns[column];
  }
  return dump_writer_rows(saving->writer, spec->dump_id, rows, written, count, error);
}

static enum tfprof_status save_segment(struct saving *saving, const struct segment *segment,
                                       struct tfprof_error *error) {
  for (uint32_t first = 0; first < segment->rows; first += DUMP_FRAME_ROWS) {
    uint32_t rows = segment->rows - first < DUMP_FRAME_ROWS ? segment->rows - first : DUMP_FRAME_ROWS;
    if (store_interrupted(saving->store)) return error_set(error, TFPROF_INTERRUPTED, "interrupted");
    bool is_first = dump_writer_rows_written(saving->writer, schema_tables[segment->table].dump_id) == 0;
    enum tfprof_status status = save_rows(saving, segment, first, rows, is_first, error);
    if (status) return status;
  }
  return TFPROF_OK;
}

static void add_all_columns(struct column_set *columns, unsigned table) {
  for (unsigned column = 2; column < schema_tables[table].column_count; column++) column_set_add(columns, column);
}

static enum tfprof_status save_table(struct saving *saving, unsigned table, struct tfprof_error *error) {
  const struct profile_table *list = &saving->profile->tables[table];
  struct column_set all = {{0, 0}};
  add_all_columns(&all, table);
  enum tfprof_status status = profile_require(saving->profile, table, &all, error);
  for (size_t i = 0; i < list->segment_count && !status; i++) {
    status = save_segment(saving, list->segments[i], error);
  }
  return status;
}

/* The rows of the file and those that reading it added. The latter follow the others, wherever their numbers are
** now. */
static enum tfprof_status save_diagnostics(struct saving *saving, struct tfprof_error *error) {
  char selection[16];
  struct snapshot *snapshot;
  struct column_set all = {{0, 0}};
  snprintf(selection, sizeof selection, "%u", saving->profile->number);
  enum tfprof_status status = store_snapshot(saving->store, TABLE_diagnostics, selection, &snapshot, error);
  if (status) return status;
  add_all_columns(&all, TABLE_diagnostics);
  status = snapshot_require(snapshot, &all, error);
  for (size_t i = 0; i < snapshot->segment_count && !status; i++) {
    status = save_segment(saving, snapshot->segments[i], error);
  }
  snapshot_release(snapshot);
  return status;
}

static enum tfprof_status save_tables(struct saving *saving, struct tfprof_error *error) {
  bool is_wanted[TABLE_count];
  for (unsigned table = 0; table < TABLE_count; table++) {
    bool is_of_store = table == TABLE_runs || table == TABLE_profiles || table == TABLE_diagnostics;
    is_wanted[table] = !is_of_store && !dump_is_made_again(table);
  }
  enum tfprof_status status = profile_require_tables(saving->profile, is_wanted, error);
  for (unsigned table = 0; table < TABLE_count && !status; table++) {
    if (!is_wanted[table]) continue;
    store_progress(saving->store, "saving", (double)table / TABLE_count);
    status = save_table(saving, table, error);
  }
  return status ? status : save_diagnostics(saving, error);
}

/* ---- files ---- */

static const char *text_of(const struct saving *saving, string_id id) {
  return pool_text(store_pool(saving->store), id);
}

/* Whether the times of the profile count from 1970: what moves them onto the clock of other profiles is then told by
** the description of the profile, as readings of the clocks tell it of others. */
static bool is_common_clock(const struct saving *saving) {
  const char *domain = text_of(saving, saving->profile->clock_domain);
  return !domain || strcmp(domain, "realtime") == 0;
}

static struct dump_profile describe_saved(const struct saving *saving, int64_t event_count) {
  const struct profile *profile = saving->profile;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  bool has_span = profile->start_ns <= profile->end_ns;
  return (struct dump_profile){
      .host = text_of(saving, profile->host),
      .job = text_of(saving, profile->job),
      .command = text_of(saving, profile->command),
      .run_command = text_of(saving, profile->run_command),
      .framework = text_of(saving, profile->framework),
      .framework_version = text_of(saving, profile->framework_version),
      .recorder = "tfprof_save " TFPROF_RELEASE,
      .clock_domain = text_of(saving, profile->clock_domain),
      .pid = profile->pid > 0 && profile->pid <= UINT32_MAX ? (uint32_t)profile->pid : 0,
      .parent_pid = profile->parent_pid > 0 && profile->parent_pid <= UINT32_MAX ? (uint32_t)profile->parent_pid : 0,
      .rank = profile->rank >= 0 && profile->rank <= INT32_MAX ? (int32_t)profile->rank : -1,
      .world_size = profile->world_size > 0 && profile->world_size <= UINT32_MAX ? (uint32_t)profile->world_size : 0,
      .created_realtime_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec,
      .attributes = text_of(saving, profile->attributes),
      .event_count_plus_one = (uint64_t)event_count + 1,
      .span_start_ns = has_span ? profile->start_ns : 0,
      .span_ns_plus_one = has_span ? (uint64_t)(profile->end_ns - profile->start_ns) + 1 : 0,
      .origin = profile_origin(profile),
      .clock_offset_ns = is_common_clock(saving) ? profile->clock_offset_ns : 0,
      .is_torn = !profile->complete,
      .has_no_clock_error = profile->clock_error_ns < 0};
}

/* A reading of the clocks that gives the profile the offset it has, and a second one where its error is too large
** for the uncertainty of the first. */
static enum tfprof_status save_clock(struct saving *saving, struct tfprof_error *error) {
  const struct profile *profile = saving->profile;
  bool is_common = is_common_clock(saving);
  int64_t uncertainty = profile->clock_error_ns < 0 ? 0 : profile->clock_error_ns;
  struct dump_clock clock = {.realtime_ns = is_common ? 0 : profile->clock_offset_ns};
  if ((is_common || profile->clock_offset_ns == 0) && profile->clock_error_ns < 0) return TFPROF_OK;
  if (uncertainty <= UINT32_MAX) clock.uncertainty_ns = (uint32_t)uncertainty;
  enum tfprof_status status = dump_writer_clock(saving->writer, &clock, error);
  if (status || uncertainty <= UINT32_MAX) return status;
  if (__builtin_add_overflow(clock.realtime_ns, uncertainty, &clock.realtime_ns)) return TFPROF_OK;
  return dump_writer_clock(saving->writer, &clock, error);
}

enum tfprof_status dump_save(struct store *store, struct profile *profile, const char *path,
                             struct tfprof_error *error) {
  struct saving *saving = calloc(1, sizeof *saving);
  if (!saving) return error_no_memory(error);
  saving->store = store;
  saving->profile = profile;
  saving->values = malloc(SCHEMA_MAXIMUM_COLUMNS * sizeof *saving->values);
  saving->nulls = malloc(SCHEMA_MAXIMUM_COLUMNS * sizeof *saving->nulls);
  enum tfprof_status status = saving->values && saving->nulls ? TFPROF_OK : error_no_memory(error);
  int64_t event_count = 0;
  if (!status) status = profile_list_all(profile, error);
  if (!status) status = profile_find_span(profile, error);
  if (!status) status = profile_count_events(profile, &event_count, error);
  struct dump_profile description = describe_saved(saving, event_count);
  if (!status) status = dump_writer_create(path, false, &description, &saving->writer, error);
  if (!status) {
    status = save_clock(saving, error);
    if (!status) status = save_tables(saving, error);
    if (!status && profile_lacks_columns(profile)) {
      status =
          error_set(error, TFPROF_IO,
                    "%s: the file cannot be read any more, and what had not been read of it would be saved as NULL; "
                    "bring it back and call tfprof_refresh(), or leave it out with tfprof_close(%u)",
                    text_of(saving, profile->path), profile->run_number);
    }
    if (status) dump_writer_abandon(saving->writer);
    else status = dump_writer_close(saving->writer, error);
    if (status) unlink(path);
  }
  free(saving->values);
  free(saving->nulls);
  free(saving->file_ids);
  free(saving);
  return status;
}
