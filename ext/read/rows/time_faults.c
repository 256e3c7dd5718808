/* time_faults.c: see time_faults.h. */
#include "read/rows/time_faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/rows/eager_rows.h"

/* ---- columns ---- */

void bounds_widen(struct bounds *bounds, int64_t low, int64_t high) {
  if (low < bounds->low) bounds->low = low;
  if (high > bounds->high) bounds->high = high;
}

struct bounds column_bounds(const struct column *column) {
  struct bounds bounds = {INT64_MAX, INT64_MIN};
  if (column->form == COLUMN_CONSTANT) return (struct bounds){column->base, column->base};
  if (column->form != COLUMN_ARRAY) return bounds;
  if (column->width < 8) {
    int64_t widest = ((int64_t)1 << 8 * column->width) - 1;
    int64_t high = column->base > INT64_MAX - widest ? INT64_MAX : column->base + widest;
    return (struct bounds){column->base, high};
  }
  for (uint32_t row = 0; row < column->rows; row++) {
    if (column_is_null(column, row)) continue;
    int64_t value = column_integer(column, row);
    bounds_widen(&bounds, value, value);
  }
  return bounds;
}

bool segment_has_span(const struct segment *segment) {
  const struct table_spec *spec = &schema_tables[segment->table];
  return spec->start_column >= 0 && segment->columns[spec->start_column] && segment->columns[spec->dur_column];
}

int64_t *segment_numbers(const struct segment *segment, unsigned column) {
  enum { BLOCK = 2048 };
  uint64_t nulls[BLOCK / 64];
  const struct column *c = segment->columns[column];
  int64_t *values = malloc(((size_t)segment->rows + 1) * sizeof *values);
  for (uint32_t first = 0; values && first < segment->rows; first += BLOCK) {
    uint32_t count = segment->rows - first < BLOCK ? segment->rows - first : BLOCK;
    bool has_nulls = !c || column_read(c, first, count, values + first, nulls);
    for (uint32_t i = 0; has_nulls && i < count; i++)
      if (!c || nulls_have(nulls, i)) values[first + i] = ROW_NULL;
  }
  return values;
}

bool segment_change(struct segment *segment, unsigned column, const int64_t *values) {
  struct column *packed = pack_values(values, segment->rows, false);
  if (!packed) return false;
  column_release(segment->columns[column]);
  segment->columns[column] = packed;
  return true;
}

bool segment_change_span(struct segment *segment, const int64_t *starts, const int64_t *durations) {
  const struct table_spec *spec = &schema_tables[segment->table];
  unsigned start = (unsigned)spec->start_column, duration = (unsigned)spec->dur_column;
  if (!segment_change(segment, start, starts) || !segment_change(segment, duration, durations)) return false;
  struct column *end = column_sum(segment->columns[start], segment->columns[duration]);
  if (!end) return false;
  column_release(segment->columns[spec->end_column]);
  segment->columns[spec->end_column] = end;
  return true;
}

bool row_columns_read(struct row_columns *columns, const struct segment *segment) {
  const struct table_spec *spec = &schema_tables[segment->table];
  int thread = schema_find_column(spec, "thread_id"), category = schema_find_column(spec, "category");
  *columns = (struct row_columns){
      segment_numbers(segment, (unsigned)spec->start_column), segment_numbers(segment, (unsigned)spec->dur_column),
      thread < 0 ? NULL : segment_numbers(segment, (unsigned)thread),
      category < 0 ? NULL : segment_numbers(segment, (unsigned)category)};
  return columns->starts && columns->durations && (columns->threads || thread < 0) &&
         (columns->categories || category < 0);
}

void row_columns_free(struct row_columns *columns) {
  free(columns->starts);
  free(columns->durations);
  free(columns->threads);
  free(columns->categories);
}

uint8_t *threads_on_devices(const struct profile *profile, uint64_t *thread_count) {
  const struct profile_table *threads = &profile->tables[TABLE_threads];
  string_id stream = pool_find(store_pool(profile->store), "stream", strlen("stream"));
  uint8_t *is_stream = calloc(threads->rows + 1, 1);
  *thread_count = threads->rows;
  for (size_t s = 0; is_stream && s < threads->segment_count; s++) {
    const struct segment *segment = threads->segments[s];
    int64_t *kinds = segment_numbers(segment, COLUMN_threads_kind);
    for (uint32_t row = 0; kinds && row < segment->rows; row++)
      is_stream[segment->first_row + row] = stream && kinds[row] == (int64_t)stream;
    if (!kinds) {
      free(is_stream);
      is_stream = NULL;
    }
    free(kinds);
  }
  return is_stream;
}

/* The value of the column of this name, where the table has one; ROW_NULL else. */
static int64_t named_value(const struct segment *segment, const char *name, uint32_t row) {
  int column = schema_find_column(&schema_tables[segment->table], name);
  const struct column *c = column < 0 ? NULL : segment->columns[column];
  return !c || column_is_null(c, row) ? ROW_NULL : column_integer(c, row);
}

/* ---- the tally ---- */

/* Marks of profilers are rows of ops, and of ranges as well: each is told once, as what it is among the ops. */
static bool is_copy_of_op(const struct segment *segment, uint32_t row) {
  if (segment->table != TABLE_ranges) return false;
  const struct pool *pool = store_pool(segment->profile->store);
  int64_t domain = named_value(segment, "domain", row), category = named_value(segment, "category", row);
  return domain != ROW_NULL && category != ROW_NULL && !strcmp(pool_text(pool, (string_id)domain), "torch") &&
         !strcmp(pool_text(pool, (string_id)category), "user");
}

void time_faults_add(struct time_faults *faults, enum time_fault fault, const struct segment *segment, uint32_t row,
                     uint64_t count, double stake_ns, double away_ns) {
  if (is_copy_of_op(segment, row)) return;
  int64_t thread = named_value(segment, "thread_id", row), name = named_value(segment, "name", row);
  uint32_t lane = thread == ROW_NULL ? UINT32_MAX : (uint32_t)thread;
  string_id text = name == ROW_NULL ? 0 : (string_id)name;
  struct fault_tally *tally = faults->named[fault], *others = tally + FAULT_NAMES;
  while (tally < others && tally->count &&
         !(tally->thread == lane && tally->name == text && tally->table == segment->table))
    tally++;
  if (!tally->count) *tally = (struct fault_tally){lane, text, segment->table, 0, 0, away_ns};
  tally->count += count;
  tally->stake_ns += stake_ns;
}

/* ---- the telling ---- */

static const char *length_text(double ns, char *text, size_t size) {
  static const struct {
    double ns;
    const char *unit;
  } units[] = {{365.25 * 86400e9, "years"}, {86400e9, "days"}, {3600e9, "hours"}, {1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}};
  size_t i = 0;
  while (i + 1 < sizeof units / sizeof *units && ns < units[i].ns) i++;
  snprintf(text, size, ns / units[i].ns < 1000 ? "%.3g %s" : "%.0f %s", ns / units[i].ns, units[i].unit);
  return text;
}

/* A value of tables that a reader has whole, such as threads; ROW_NULL: it has none. */
static int64_t value_of_row(const struct profile *profile, unsigned table, unsigned column, uint32_t row) {
  const struct profile_table *content = &profile->tables[table];
  for (size_t s = 0; s < content->segment_count; s++) {
    const struct segment *segment = content->segments[s];
    if (row < segment->first_row || row - segment->first_row >= segment->rows) continue;
    const struct column *c = segment->columns[column];
    uint32_t at = (uint32_t)(row - segment->first_row);
    return !c || column_is_null(c, at) ? ROW_NULL : column_integer(c, at);
  }
  return ROW_NULL;
}

/* "gemm on stream 7 of GPU 0", "ProfilerStep#3 on thread 12". */
static const char *place_text(const struct profile *profile, const struct fault_tally *tally, bool is_others,
                              char *text, size_t size) {
  if (is_others) {
    snprintf(text, size, "others");
    return text;
  }
  const char *name = tally->name ? pool_text(store_pool(profile->store), tally->name) : NULL;
  int length = snprintf(text, size, "%.120s", name ? name : schema_tables[tally->table].name);
  if (tally->thread == UINT32_MAX || length < 0 || (size_t)length >= size) return text;
  int64_t stream = value_of_row(profile, TABLE_threads, COLUMN_threads_stream, tally->thread);
  int64_t tid = value_of_row(profile, TABLE_threads, COLUMN_threads_tid, tally->thread);
  int64_t device = value_of_row(profile, TABLE_threads, COLUMN_threads_device_id, tally->thread);
  int64_t name_of_device =
      device == ROW_NULL ? ROW_NULL : value_of_row(profile, TABLE_devices, COLUMN_devices_name, (uint32_t)device);
  const char *device_name =
      name_of_device == ROW_NULL ? "a device" : pool_text(store_pool(profile->store), (string_id)name_of_device);
  text += length;
  size -= (size_t)length;
  if (stream != ROW_NULL)
    snprintf(text, size, " on stream %lld of %.60s", (long long)stream, device_name);
  else if (tid != ROW_NULL)
    snprintf(text, size, " on thread %lld", (long long)tid);
  return text - length;
}

void time_faults_tell(const struct time_faults *faults, struct profile *profile) {
  for (unsigned fault = 0; fault < FAULT_COUNT; fault++) {
    for (unsigned i = 0; i <= FAULT_NAMES; i++) {
      const struct fault_tally *tally = &faults->named[fault][i];
      char place[256], stake[32], away[32];
      if (!tally->count) continue;
      bool is_others = i == FAULT_NAMES;
      place_text(profile, tally, is_others, place, sizeof place);
      length_text(tally->stake_ns, stake, sizeof stake);
      length_text(tally->away_ns, away, sizeof away);
      int table = is_others ? -1 : (int)tally->table;
      switch ((enum time_fault)fault) {
        case FAULT_FAR_START:
          profile_diagnose(profile, "warning", "impossible_time", (int64_t)tally->count, -1, table,
                           "%s: begins %s away from nearly all other events; has no time here (%s in all)", place, away,
                           stake);
          break;
        case FAULT_LONG:
          profile_diagnose(profile, "warning", "impossible_duration", (int64_t)tally->count, -1, table,
                           "%s: ends %s after all else that was recorded, and nothing waited for it; has no duration "
                           "here (%s in all)", place, away, stake);
          break;
        case FAULT_OUTLASTS:
          profile_diagnose(profile, "warning", "impossible_duration", (int64_t)tally->count, -1, table,
                           "%s: ends %s after a synchronization of the device that waited for it; has no duration "
                           "here (%s in all)", place, away, stake);
          break;
        case FAULT_CLOCK:
          profile_diagnose(profile, "warning", "device_clock", (int64_t)tally->count, -1, table,
                           "%s: the clock of the device is %s away from that of the host, by the calls that launched "
                           "its work; all times of its streams are moved by that", place, away);
          break;
        case FAULT_BEFORE_LAUNCH:
          profile_diagnose(profile, "warning", "impossible_time", (int64_t)tally->count, -1, table,
                           "%s: begins %s before the call that launched it; has no time here (%s in all)", place, away,
                           stake);
          break;
        case FAULT_OUT_OF_ORDER:
          profile_diagnose(profile, "warning", "impossible_time", (int64_t)tally->count, -1, table,
                           "%s: begins %s away from where the order of launches has it; has no time here (%s in all)",
                           place, away, stake);
          break;
        case FAULT_AFTER_ALL:
          profile_diagnose(profile, "warning", "impossible_time", (int64_t)tally->count, -1, table,
                           "%s: begins %s after everything of the host has ended and nothing runs any more; has no "
                           "time here (%s in all)", place, away, stake);
          break;
        case FAULT_OVER_OTHERS:
          profile_diagnose(profile, "warning", "impossible_duration", (int64_t)tally->count, -1, table,
                           "%s: lasts over many later ones of its stream; ends here where the next one begins, %s less "
                           "in all", place, stake);
          break;
        case FAULT_OVER_MARKS:
          profile_diagnose(profile, "warning", "impossible_duration", (int64_t)tally->count, -1, table,
                           "%s: lasts over marks with later numbers, which begin after it one by one; ends here where "
                           "the next one begins, %s less in all", place, stake);
          break;
        case FAULT_CROSSES:
          profile_diagnose(profile, "warning", "impossible_duration", (int64_t)tally->count, -1, table,
                           "%s: lasts over what follows on its thread, and much longer than others of its name; has "
                           "no duration here (%s in all)", place, stake);
          break;
        case FAULT_OVERLAPS:
          profile_diagnose(profile, "info", "overlapping_stream", (int64_t)tally->count, -1, table,
                           "%s, and what else runs there: begins while earlier work of its stream runs, %s in all, so "
                           "this is no queue that runs one thing after the other; durations stay as the source has "
                           "them, so that their sums are more than the time in which the device was busy",
                           place, stake);
          break;
        case FAULT_COUNT: break;
      }
    }
  }
}
