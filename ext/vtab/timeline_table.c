/* timeline_table.c: timeline(from_ns, to_ns, bucket_ns, lanes): all events, by lane and stretch of time, for drawing.
**
**   SELECT * FROM timeline(NULL, NULL, 1 << 20);                       everything, in buckets of about a millisecond
**   SELECT * FROM timeline(:left, :right, :pixel_ns, '[137438953472]');    what a window shows of one thread
**   SELECT * FROM timeline(:left, :right, 0);                          each event by itself
**
** A row is a cell (lanes/cells.h): the events of one track, which is a depth of a thread or stream in one table, that
** begin in one bucket of time.  A cell of one event is that event; of more it keeps how many they are and how long
** they last together, so that nothing vanishes at any zoom: a lane that is half idle has busy_ns of half of its time.
**
** Rows come in the order in which they are drawn, by profile, thread, table, depth and time.
*/
#include "vtab/timeline_table.h"

#include <stdlib.h>
#include <string.h>

#include "lanes/cells.h"

SQLITE_EXTENSION_INIT3

/* What a row has, each once: COLUMN(of timeline_column, name, type, unit, text). */
#define TIMELINE_COLUMNS(COLUMN) \
  COLUMN(PROFILE, profile_id, "INTEGER", NULL, "The profile: a process or rank.") \
  COLUMN(THREAD, thread_id, "INTEGER", NULL, \
         "The lane: a thread of the host or a stream of a device, as in threads. NULL for events without one, " \
         "such as collectives, and for ranges that may end on another thread.") \
  COLUMN(TABLE, table_name, "TEXT", NULL, \
         "Table of the events: ranges, ops, api_calls, kernels, transfers or collectives. It makes the track " \
         "together with depth.") \
  COLUMN(DEPTH, depth, "INTEGER", NULL, "How deep in the table the track lies. 0 is the outermost.") \
  COLUMN(BUCKET, bucket, "INTEGER", NULL, "The bucket of time: start_ns / bucket_ns, rounded down.") \
  COLUMN(FIRST, first_id, "INTEGER", NULL, "The first event, as an id of table_name.") \
  COLUMN(LONGEST, longest_id, "INTEGER", NULL, "The longest event, as an id of table_name.") \
  COLUMN(NAME, name, "TEXT", NULL, "Name of the longest event.") \
  COLUMN(CATEGORY, category, "TEXT", NULL, \
         "What most of busy_ns is of: what ops.category or transfers.kind has, kernel, communication, runtime or " \
         "range.") \
  COLUMN(COUNT, count, "INTEGER", "count", "Number of events.") \
  COLUMN(BUSY, busy_ns, "INTEGER", "ns", "How long the events last, added up. On one track they do not overlap.") \
  COLUMN(START, start_ns, "INTEGER", "ns", "Where the first event begins.") \
  COLUMN(END, end_ns, "INTEGER", "ns", "Where the last event ends.")

#define NUMBER(column, name, type, unit, text) TIMELINE_##column,
enum timeline_column {
  TIMELINE_COLUMNS(NUMBER)
  TIMELINE_ARGUMENTS, /* the first hidden one */
  ARGUMENT_COUNT = 4,
  BUCKETS = 2048
};

const struct function_text timeline_table_text = {
    "from_ns, to_ns, bucket_ns, lanes",
    "All that has a place in time, by lane and bucket of time, for drawing.",
    "All arguments may be NULL or left out. from_ns and to_ns are the window, and whatever touches it comes whole. "
    "bucket_ns is the length of a bucket in ns. With 0 each event comes by itself, and NULL stands for the power of "
    "two that makes at most 2,048 of the window. lanes is the id of a thread or a text with several, such as a JSON "
    "array, where 0 stands for events without a thread. A row is a cell: the events of one track that begin in one "
    "bucket. Rows come in the order of profile, thread, table, depth and time.",
    "SELECT * FROM timeline(NULL, NULL, 1 << 20)"};

#define DESCRIPTION(column, name, type, unit, text) {#name, type, unit, text},
const struct stored_column timeline_table_columns[] = {TIMELINE_COLUMNS(DESCRIPTION){NULL, NULL, NULL, NULL}};

#define DECLARATION(column, name, type, unit, text) #name " " type ", "
static const char declaration[] = "CREATE TABLE x(" TIMELINE_COLUMNS(
    DECLARATION) "from_ns HIDDEN, to_ns HIDDEN, bucket_ns HIDDEN, lanes HIDDEN)";

struct timeline_table {
  sqlite3_vtab base;
  struct connection *connection; /* retained */
};

struct timeline_cursor {
  sqlite3_vtab_cursor base;
  struct cells cells;
  bool has_cells;
  size_t row;
  sqlite3_value *arguments[ARGUMENT_COUNT]; /* NULL: not given */
};

static int timeline_connect(sqlite3 *db, void *data, int count, const char *const *arguments, sqlite3_vtab **made,
                            char **message) {
  (void)count;
  (void)arguments;
  (void)message;
  int result = sqlite3_declare_vtab(db, declaration);
  if (!result) result = sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
  if (result) return result;
  struct timeline_table *table = calloc(1, sizeof *table);
  if (!table) return SQLITE_NOMEM;
  table->connection = connection_retain(data);
  *made = &table->base;
  return SQLITE_OK;
}

static int timeline_disconnect(sqlite3_vtab *base) {
  connection_release(((struct timeline_table *)base)->connection);
  free(base);
  return SQLITE_OK;
}

/* Bit i of idxNum: argument i is given; the values of xFilter are those, in their order. */
static int timeline_best_index(sqlite3_vtab *base, sqlite3_index_info *info) {
  int found[ARGUMENT_COUNT] = {-1, -1, -1, -1}, given = 0;
  for (int i = 0; i < info->nConstraint; i++) {
    const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
    int argument = constraint->iColumn - TIMELINE_ARGUMENTS;
    if (argument < 0) continue;
    if (constraint->op != SQLITE_INDEX_CONSTRAINT_EQ)
      return connection_table_message(base, "timeline", "its arguments take = only");
    if (!constraint->usable) return SQLITE_CONSTRAINT;
    if (found[argument] < 0) found[argument] = i;
  }
  for (int argument = 0, index = 0; argument < ARGUMENT_COUNT; argument++) {
    if (found[argument] < 0) continue;
    given |= 1 << argument;
    info->aConstraintUsage[found[argument]].argvIndex = ++index;
    info->aConstraintUsage[found[argument]].omit = 1;
  }
  info->idxNum = given;
  info->estimatedCost = 1e6;
  info->estimatedRows = 10000;
  return SQLITE_OK;
}

static int timeline_open(sqlite3_vtab *base, sqlite3_vtab_cursor **opened) {
  struct timeline_cursor *cursor = calloc(1, sizeof *cursor);
  (void)base;
  if (!cursor) return SQLITE_NOMEM;
  *opened = &cursor->base;
  return SQLITE_OK;
}

static void drop_cells(struct timeline_cursor *cursor) {
  if (cursor->has_cells) cells_clear(&cursor->cells);
  cursor->has_cells = false;
  for (int i = 0; i < ARGUMENT_COUNT; i++) {
    sqlite3_value_free(cursor->arguments[i]);
    cursor->arguments[i] = NULL;
  }
}

static int timeline_close(sqlite3_vtab_cursor *base) {
  drop_cells((struct timeline_cursor *)base);
  free(base);
  return SQLITE_OK;
}

/* ---- arguments ---- */

static bool is_given(sqlite3_value *value) { return value && sqlite3_value_type(value) != SQLITE_NULL; }

static enum tfprof_status take_time(sqlite3_value *value, const char *name, int64_t absent, int64_t *time,
                                    struct tfprof_error *error) {
  *time = absent;
  if (!is_given(value)) return TFPROF_OK;
  if (sqlite3_value_numeric_type(value) != SQLITE_INTEGER && sqlite3_value_numeric_type(value) != SQLITE_FLOAT)
    return error_set(error, TFPROF_USAGE, "%s must be a number of nanoseconds", name);
  *time = sqlite3_value_int64(value);
  return TFPROF_OK;
}

static int compare_lanes(const void *left, const void *right) {
  const int64_t *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

/* *threads stays NULL where all lanes are wanted. */
static enum tfprof_status take_lanes(sqlite3_value *value, int64_t **threads, size_t *count,
                                     struct tfprof_error *error) {
  *threads = NULL;
  *count = 0;
  if (!is_given(value)) return TFPROF_OK;
  const char *text = (const char *)sqlite3_value_text(value);
  if (!text) return error_no_memory(error);
  int64_t *list = malloc((strlen(text) / 2 + 1) * sizeof *list);
  if (!list) return error_no_memory(error);
  for (const char *at = text; *(at += strspn(at, "[], \t\n"));) {
    char *end;
    list[(*count)++] = strtoll(at, &end, 10);
    if (end == at || (*end && !strchr("], \t\n", *end))) {
      free(list);
      return error_set(error, TFPROF_USAGE, "lanes must be ids of threads, such as '[137438953472, 137438953473]'");
    }
    at = end;
  }
  qsort(list, *count, sizeof *list, compare_lanes);
  *threads = list;
  return TFPROF_OK;
}

/* The first and the last moment of all that is open. */
static enum tfprof_status find_open_span(struct store *store, int64_t *start, int64_t *end,
                                         struct tfprof_error *error) {
  *start = INT64_MAX;
  *end = INT64_MIN;
  for (size_t i = 0; i < store_profile_count(store); i++) {
    struct profile *profile = store_profile_at(store, i);
    enum tfprof_status status = profile_find_span(profile, error);
    if (status) return status;
    if (profile->start_ns > profile->end_ns) continue;
    int64_t first = profile->start_ns + profile->clock_offset_ns, last = profile->end_ns + profile->clock_offset_ns;
    if (first < *start) *start = first;
    if (last > *end) *end = last;
  }
  return TFPROF_OK;
}

static enum tfprof_status take_bucket(sqlite3_value *value, struct store *store, int64_t from_ns, int64_t to_ns,
                                      int64_t *bucket_ns, struct tfprof_error *error) {
  enum tfprof_status status = take_time(value, "bucket_ns", 1, bucket_ns, error);
  if (!status && *bucket_ns < 0) return error_set(error, TFPROF_USAGE, "bucket_ns must not be negative");
  if (status || is_given(value)) return status;
  int64_t start, end;
  status = find_open_span(store, &start, &end, error);
  if (start < from_ns) start = from_ns;
  if (end > to_ns) end = to_ns;
  uint64_t length = end > start ? (uint64_t)end - (uint64_t)start : 0;
  while ((uint64_t)*bucket_ns < length / BUCKETS + (length % BUCKETS != 0)) *bucket_ns *= 2;
  return status;
}

static int timeline_filter(sqlite3_vtab_cursor *base, int given, const char *text, int count, sqlite3_value **values) {
  struct timeline_cursor *cursor = (struct timeline_cursor *)base;
  struct connection *connection = ((struct timeline_table *)base->pVtab)->connection;
  struct tfprof_error error;
  int64_t from_ns, to_ns, bucket_ns, *threads = NULL;
  size_t thread_count;
  (void)text;
  (void)count;
  drop_cells(cursor);
  for (int argument = 0, index = 0; argument < ARGUMENT_COUNT; argument++) {
    if (!(given >> argument & 1)) continue;
    cursor->arguments[argument] = sqlite3_value_dup(values[index++]);
    if (!cursor->arguments[argument]) return SQLITE_NOMEM;
  }
  cursor->row = 0;
  connection_begin(connection);
  enum tfprof_status status = take_time(cursor->arguments[0], "from_ns", INT64_MIN, &from_ns, &error);
  if (!status) status = take_time(cursor->arguments[1], "to_ns", INT64_MAX, &to_ns, &error);
  if (!status) status = take_bucket(cursor->arguments[2], connection->store, from_ns, to_ns, &bucket_ns, &error);
  if (!status) status = take_lanes(cursor->arguments[3], &threads, &thread_count, &error);
  if (!status) {
    status = cells_make(&cursor->cells, connection->store, from_ns, to_ns, bucket_ns, threads, thread_count, NULL,
                        SIZE_MAX, &error);
    cursor->has_cells = !status;
  }
  connection_end(connection);
  free(threads);
  return status ? connection_table_error(base->pVtab, "timeline", &error) : SQLITE_OK;
}

/* ---- rows ---- */

static int timeline_next(sqlite3_vtab_cursor *base) {
  ((struct timeline_cursor *)base)->row++;
  return SQLITE_OK;
}

static int timeline_eof(sqlite3_vtab_cursor *base) {
  const struct timeline_cursor *cursor = (const struct timeline_cursor *)base;
  return cursor->row >= cursor->cells.count;
}

static void result_pool_text(sqlite3_context *context, const struct pool *pool, string_id id) {
  if (id) sqlite3_result_text64(context, pool_text(pool, id), pool_length(pool, id), SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void result_category(sqlite3_context *context, const struct pool *pool, const struct lane_table *table,
                            string_id category) {
  bool is_computing = category && table->table == TABLE_kernels && strcmp(pool_text(pool, category), "compute") == 0;
  if (category && !is_computing) result_pool_text(context, pool, category);
  else sqlite3_result_text(context, table->word, -1, SQLITE_STATIC);
}

static int timeline_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
  const struct timeline_cursor *cursor = (const struct timeline_cursor *)base;
  const struct cell *cell = &cursor->cells.cells[cursor->row];
  const struct sweep *sweep = &cursor->cells.sweep;
  const struct track *track = &sweep->tracks[cell->track];
  const struct lane *lane = &sweep->lanes[track->lane];
  const struct lane_table *table = &lane_tables[lane->kind];
  const struct pool *pool = store_pool(sweep->store);
  switch ((enum timeline_column)column) {
    case TIMELINE_PROFILE: sqlite3_result_int64(context, lane->profile_number); break;
    case TIMELINE_THREAD:
      if (lane->thread_id) sqlite3_result_int64(context, lane->thread_id);
      break;
    case TIMELINE_TABLE: sqlite3_result_text(context, schema_tables[table->table].name, -1, SQLITE_STATIC); break;
    case TIMELINE_DEPTH: sqlite3_result_int64(context, track->depth); break;
    case TIMELINE_BUCKET: sqlite3_result_int64(context, cell->bucket); break;
    case TIMELINE_FIRST: sqlite3_result_int64(context, cell->first_id); break;
    case TIMELINE_LONGEST: sqlite3_result_int64(context, cell_longest_id(cell)); break;
    case TIMELINE_NAME: result_pool_text(context, pool, cell_name(&cursor->cells, cell)); break;
    case TIMELINE_CATEGORY: result_category(context, pool, table, cell->category); break;
    case TIMELINE_COUNT: sqlite3_result_int64(context, (sqlite3_int64)cell->count); break;
    case TIMELINE_BUSY: sqlite3_result_int64(context, cell->busy_ns); break;
    case TIMELINE_START: sqlite3_result_int64(context, cell->start_ns); break;
    case TIMELINE_END: sqlite3_result_int64(context, cell->end_ns); break;
    default: {
      const sqlite3_value *argument = cursor->arguments[column - TIMELINE_ARGUMENTS];
      if (argument) sqlite3_result_value(context, cursor->arguments[column - TIMELINE_ARGUMENTS]);
    }
  }
  return SQLITE_OK;
}

static int timeline_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid) {
  *rowid = (sqlite3_int64)((const struct timeline_cursor *)base)->row + 1;
  return SQLITE_OK;
}

static const sqlite3_module timeline_module = {
    .iVersion = 0,
    .xConnect = timeline_connect,
    .xBestIndex = timeline_best_index,
    .xDisconnect = timeline_disconnect,
    .xOpen = timeline_open,
    .xClose = timeline_close,
    .xFilter = timeline_filter,
    .xNext = timeline_next,
    .xEof = timeline_eof,
    .xColumn = timeline_column,
    .xRowid = timeline_rowid,
};

int timeline_table_register(struct connection *connection) {
  return sqlite3_create_module_v2(connection->db, "timeline", &timeline_module, connection_retain(connection),
                                  connection_release);
}
