/* timeline_function.c: tfprof_timeline(path [, profile]) writes what is open for timeline viewers.
**
**   SELECT tfprof_timeline('run.json.gz');              open it in ui.perfetto.dev, chrome://tracing or Kineto's tools
**   SELECT tfprof_timeline('rank3.json', '*rank3*');    a path that ends in .gz is compressed
**
** The format is Chrome's Trace Event Format as torch.profiler writes it, so that whatever reads its traces, tfprof
** itself among them, reads this, from whichever source it came: a lane for each host thread and device stream, nested
** ops, ranges, kernels, transfers, API calls, instants, counters, memory in use, the steps on a lane of their own,
** arrows from a launching call to its kernel and from a forward op to its backward op.  Times are µs with three digits
** after the point, from `baseTimeNanoseconds` on.
**
** A process of the viewer is a profile, under its process number (where two profiles have the same, plus ten million
** for each further profile), or a device of it, under its number plus a thousand for each further profile.
**
** An XPlane source is drawn as XProf's trace viewer draws it: processes of the names and numbers that it gives planes,
** devices first, streams in its order; on each device the steps, and below each stream the scopes and ops of the
** framework and the modules and ops of XLA (viewer_lines.h); marked steps with their numbers, ops with their types. The
** streams of a recording whose kernels that profiler tells (profiles.has_xplane_kernels) have the same lines.  What
** that viewer hides is there as well (memory in use, what iterators hand over), counters are curves, times are whole
** nanoseconds, and there is no limit to the number of events.
**
** Each op names its call stack (sf), which the file has once (stackFrames), so that lines stay.
**
** Returns how many events were written.
*/
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "func/functions.h"
#include "func/timeline_rows.h"
#include "func/viewer_lines.h"
#include "vtab/connection.h"
#include "write/output_file.h"

SQLITE_EXTENSION_INIT3

/* What the first columns of a SELECT are; those that follow are members of args, named as the column is.  NULLs are
** left out. */
enum shape {
  SPAN,    /* name, category, pid, tid, start, duration */
  ASYNC,   /* the same: spans that need not nest, each a pair of events */
  INSTANT, /* name, category, pid, tid, time */
  COUNTER, /* name, category, pid, tid, time */
  ARROW,   /* name, category, pid, tid, time, and the three again of where it points */
  LABEL,   /* name ("process_name" ...), NULL, pid, tid */
  ROWS,    /* and more, no SELECT: ROWS + an enum timeline_part */
};

#define TEXT_OF(number) TEXT_AS_IS(number)
#define TEXT_AS_IS(number) #number
/* The number of a device of the process, or of the process itself. */
#define PROCESS \
  "CASE WHEN devices.kind <> 'cpu' AND ordinal IS NOT NULL THEN ordinal + first_device ELSE processes.number END"
/* XProf's numbers: of the host 701, of the first device 2, and here a thousand more for each further profile. */
#define IS_XPLANE "origin = 'xplane'"
#define XPLANE_HOST "701 + 1000 * place"
#define XPLANE_DEVICE "2 + 1000 * place"
#define DEVICE "CASE WHEN devices.kind <> 'cpu' THEN ordinal END"
/* clang-format off: SQL is laid out as in sql/.  In each SELECT, %s is the profile argument of a table. */

/* Before each of the others: where a row is drawn.
**
** SQLite 3.40 takes what windows lie one above the other in for a single row, and looks for it through no index: so
** a device is looked up in its table, and CROSS JOIN says in which order the tables are read. */
static const char lanes_sql[] =
  " WITH numbered AS MATERIALIZED ("
  "   SELECT id, pid, rank, host, command, framework, " IS_XPLANE " AS is_xplane, has_xplane_kernels,"
  "     row_number() OVER (ORDER BY id) - 1 AS place, count(*) OVER () AS profile_count,"
  "     row_number() OVER (PARTITION BY pid ORDER BY id) - 1 AS twin"
  "   FROM tfprof_own.profiles%s"
  " ), processes AS MATERIALIZED ("
  "   SELECT *, CASE WHEN is_xplane THEN " XPLANE_HOST
  "       ELSE coalesce(pid, 1000000 + place) + twin * 10000000 END AS number,"
  "     CASE WHEN is_xplane THEN " XPLANE_DEVICE " ELSE 1000 * place END AS first_device,"
  "     CASE WHEN is_xplane AND profile_count > 1 THEN coalesce(host || ' ', '') ELSE '' END AS prefix"
  "   FROM numbered"
  " ), processors AS MATERIALIZED ("
  "   SELECT devices.id, devices.kind, devices.name, model, ordinal + first_device AS number, ordinal,"
  "     is_xplane, prefix"
  "   FROM tfprof_own.devices%s AS devices JOIN processes ON processes.id = devices.profile_id"
  "   WHERE devices.kind <> 'cpu' AND ordinal IS NOT NULL"
  " ), lanes AS MATERIALIZED ("
  "   SELECT threads.id, threads.name, threads.kind, stream, threads.profile_id, is_xplane,"
  "     has_xplane_kernels AND threads.kind = 'stream' AND devices.kind = 'gpu' AS is_viewer_stream,"
  "     row_number() OVER (PARTITION BY threads.profile_id, threads.device_id ORDER BY threads.kind = 'stream'"
  "       AND threads.name NOT LIKE '%%(Compute%%', threads.name LIKE '%%,%%', stream, tid, threads.id) AS place,"
  "     " PROCESS " AS pid, coalesce(stream, tid, threads.id) AS tid"
  "   FROM processes CROSS JOIN tfprof_own.threads%s AS threads ON threads.profile_id = processes.id"
  "   LEFT JOIN tfprof_own.devices AS devices ON devices.id = threads.device_id"
  " )";

static const struct {
  unsigned shape; /* enum shape */
  const char *sql;
} parts[] = {
  {LABEL,
   " SELECT 'process_name', NULL, number, 0,"
   "   CASE WHEN is_xplane THEN prefix || coalesce((SELECT name FROM tfprof_own.devices"
   "       WHERE devices.profile_id = processes.id AND devices.kind = 'cpu'), '/host:CPU')"
   "     ELSE coalesce('rank ' || rank || ' ', '') || coalesce(host || ' ', '') || coalesce(framework || ' ', '')"
   "       || coalesce(command, '') END AS name"
   " FROM processes"},
  {LABEL,
   " SELECT 'process_sort_index', NULL, number, 0, iif(is_xplane, number, place) AS sort_index FROM processes"},
  {LABEL,
   " SELECT 'process_name', NULL, number, 0,"
   "   CASE WHEN is_xplane THEN prefix || coalesce(name, kind) ELSE coalesce(model, name, kind) END AS name"
   " FROM processors"},
  {LABEL,
   " SELECT 'process_labels', NULL, number, 0,"
   "   CASE WHEN is_xplane THEN model ELSE upper(kind) || ' ' || ordinal END AS labels FROM processors"
   " WHERE NOT is_xplane OR model IS NOT NULL"},
  {LABEL,
   " SELECT 'process_sort_index', NULL, number, 0, iif(is_xplane, number, 5000000 + number) AS sort_index"
   " FROM processors"},
  {LABEL,
   " SELECT 'thread_name', NULL, pid, tid,"
   "   coalesce(name, CASE kind WHEN 'stream' THEN 'stream ' ELSE 'thread ' END || tid) AS name"
   " FROM lanes"},
  {LABEL,
   " SELECT 'thread_sort_index', NULL, pid, tid, place * " TEXT_OF(VIEWER_LINES) " AS sort_index"
   " FROM lanes WHERE is_xplane OR is_viewer_stream"},
  /* Where the steps are drawn: on each device that XPlane has any on, else on the host. TPUs have such lines. */
  {LABEL,
   " SELECT 'thread_name', NULL, number, 0, iif(is_xplane, 'Steps', 'steps') AS name FROM processes"
   " WHERE id IN (SELECT profile_id FROM tfprof_own.steps)"
   "   AND NOT (is_xplane AND id IN (SELECT profile_id FROM tfprof_own.device_steps))"},
  {LABEL,
   " SELECT 'thread_name', NULL, number, " TEXT_OF(VIEWER_STEPS) ", 'Steps' AS name FROM processors"
   " WHERE is_xplane AND kind <> 'tpu' AND id IN (SELECT device_id FROM tfprof_own.device_steps)"},
  {LABEL,
   " SELECT 'thread_sort_index', NULL, number, " TEXT_OF(VIEWER_STEPS) ", " TEXT_OF(VIEWER_STEPS) " AS sort_index"
   " FROM processors WHERE is_xplane AND kind <> 'tpu' AND id IN (SELECT device_id FROM tfprof_own.device_steps)"},
  {SPAN,
   " SELECT coalesce(steps.name, 'step ' || steps.number), 'step', processes.number, 0, start_ns, dur_ns,"
   "   steps.number AS number, is_warmup AS \"warm-up\", ops_recorded AS \"ops recorded\""
   " FROM tfprof_own.steps%s AS steps JOIN processes ON processes.id = profile_id"
   " WHERE NOT (is_xplane AND profile_id IN (SELECT profile_id FROM tfprof_own.device_steps))"},
  {SPAN,
   " SELECT coalesce(steps.name, 'step ' || steps.number), 'step', processors.number, " TEXT_OF(VIEWER_STEPS) ","
   "   device_steps.start_ns, device_steps.dur_ns, steps.number AS number, busy_ns AS \"busy ns\""
   " FROM tfprof_own.device_steps%s AS device_steps JOIN tfprof_own.steps AS steps ON steps.id = step_id"
   " JOIN processors ON processors.id = device_id WHERE is_xplane AND kind <> 'tpu'"},
  {ROWS + TIMELINE_VIEWER, NULL},
  {ROWS + TIMELINE_OPS, NULL},
  {ROWS + TIMELINE_KERNELS, NULL},
  {SPAN,
   " SELECT graph_launches.name, 'program', lanes.pid, lanes.tid, graph_launches.start_ns, graph_launches.dur_ns,"
   "   graph AS \"program id\", graph_launches.correlation AS \"run id\""
   " FROM lanes CROSS JOIN tfprof_own.graph_launches%s AS graph_launches ON lanes.id = graph_launches.thread_id"
   " WHERE graph_launches.name IS NOT NULL"},
  {SPAN,
   " SELECT transfers.name, CASE transfers.kind WHEN 'memset' THEN 'gpu_memset' ELSE 'gpu_memcpy' END,"
   "   lanes.pid, lanes.tid, transfers.start_ns, transfers.dur_ns,"
   "   " DEVICE " AS device, lanes.stream AS stream, transfers.correlation AS correlation,"
   "   ops.correlation AS \"External id\", bytes AS bytes, bytes_per_second / 1e9 AS \"memory bandwidth (GB/s)\""
   " FROM lanes CROSS JOIN tfprof_own.transfers%s AS transfers ON lanes.id = transfers.thread_id"
   " LEFT JOIN tfprof_own.devices AS devices ON devices.id = transfers.device_id"
   " LEFT JOIN tfprof_own.ops AS ops ON ops.id = op_id"},
  {ROWS + TIMELINE_CALLS, NULL},
  /* Those that are made of ops are drawn as such, but for what NVTX says more of. */
  {SPAN,
   " SELECT ranges.name, 'range', lanes.pid, lanes.tid, start_ns, dur_ns,"
   "   domain AS domain, category AS category, payload AS payload"
   " FROM lanes CROSS JOIN tfprof_own.ranges%s AS ranges ON lanes.id = thread_id"
   " WHERE is_process_wide IS NOT 1 AND (op_count IS NULL OR ranges.category IS NOT 'user')"},
  {ASYNC,
   " SELECT ranges.name, 'range', lanes.pid, lanes.tid, start_ns, dur_ns,"
   "   domain AS domain, category AS category, payload AS payload"
   " FROM lanes CROSS JOIN tfprof_own.ranges%s AS ranges ON lanes.id = thread_id"
   " WHERE is_process_wide = 1 AND NOT is_xplane"},
  {INSTANT,
   " SELECT instants.name, 'instant', lanes.pid, lanes.tid, time_ns, domain AS domain, payload AS payload"
   " FROM lanes CROSS JOIN tfprof_own.instants%s AS instants ON lanes.id = thread_id"},
  {COUNTER,
   " SELECT counters.name, 'counter', " PROCESS ", 0, time_ns, value AS value"
   " FROM tfprof_own.counters%s AS counters JOIN processes ON processes.id = counters.profile_id"
   " LEFT JOIN tfprof_own.devices AS devices ON devices.id = device_id WHERE value IS NOT NULL"},
  {ROWS + TIMELINE_MEMORY, NULL},
  {ROWS + TIMELINE_LAUNCHES, NULL},
  {ARROW,
   " SELECT 'backward', 'fwdbwd', lanes.pid, lanes.tid, forward.start_ns, other.pid, other.tid, ops.start_ns"
   " FROM tfprof_own.ops%s AS ops CROSS JOIN tfprof_own.ops AS forward ON forward.id = ops.forward_op_id"
   " LEFT JOIN tfprof_own.ops AS parent ON parent.id = ops.parent_id"
   " CROSS JOIN lanes ON lanes.id = forward.thread_id CROSS JOIN lanes AS other ON other.id = ops.thread_id"
   " WHERE ops.forward_op_id IS NOT NULL AND parent.forward_op_id IS NULL"},
};

/* clang-format on */

enum { MOST_COLUMNS = 24, LONGEST_KEY = 48 };

struct timeline {
  sqlite3 *db;
  sqlite3_value *profile; /* NULL: all */
  struct output_file *file;
  sqlite3_int64 event_count, next_arrow;
  struct timeline_rows rows; /* its counts follow those above */
  sqlite3_stmt *json_check;
  int column_count; /* of the part that is being written */
  char keys[MOST_COLUMNS][LONGEST_KEY]; /* of args, by column: ,"name": */
};

/* ---- one event ---- */

/* µs with the ns behind the point. A time before the origin has a minus before it. */
static void write_time(struct timeline *timeline, const char *key, sqlite3_int64 ns) {
  output_text(timeline->file, key);
  output_thousandths(timeline->file, ns);
}

static void write_integer(struct timeline *timeline, const char *key, sqlite3_int64 number) {
  output_text(timeline->file, key);
  output_integer(timeline->file, number);
}

static sqlite3_int64 since_origin(const struct timeline *timeline, sqlite3_int64 ns) {
  return (sqlite3_int64)((uint64_t)ns - (uint64_t)timeline->rows.places.origin_ns);
}

static void write_value(struct timeline *timeline, sqlite3_stmt *statement, int column) {
  const char *text;
  double real;
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      output_integer(timeline->file, sqlite3_column_int64(statement, column));
      break;
    case SQLITE_FLOAT:
      real = sqlite3_column_double(statement, column);
      output_format(timeline->file, isfinite(real) ? "%.17g" : "null", real);
      break;
    default:
      text = (const char *)sqlite3_column_text(statement, column);
      if (!text) output_text(timeline->file, "null");
      else output_json_text(timeline->file, text, (size_t)sqlite3_column_bytes(statement, column));
  }
}

static void begin_event(struct timeline *timeline, sqlite3_stmt *statement, const char *phase, int pid_column) {
  output_text(timeline->file, timeline->event_count++ ? ",\n{\"ph\":\"" : "{\"ph\":\"");
  output_text(timeline->file, phase);
  output_text(timeline->file, "\",\"name\":");
  write_value(timeline, statement, 0);
  if (sqlite3_column_type(statement, 1) != SQLITE_NULL) {
    output_text(timeline->file, ",\"cat\":");
    write_value(timeline, statement, 1);
  }
  write_integer(timeline, ",\"pid\":", sqlite3_column_int64(statement, pid_column));
  write_integer(timeline, ",\"tid\":", sqlite3_column_int64(statement, pid_column + 1));
}

/* Once for each part, since asking SQLite for a name costs as much as writing a member. */
static void name_members(struct timeline *timeline, sqlite3_stmt *statement) {
  timeline->column_count = sqlite3_column_count(statement);
  assert(timeline->column_count <= MOST_COLUMNS);
  for (int column = 0; column < timeline->column_count; column++) {
    snprintf(timeline->keys[column], LONGEST_KEY, ",\"%s\":", sqlite3_column_name(statement, column));
  }
}

static void write_args(struct timeline *timeline, sqlite3_stmt *statement, int first) {
  bool has_args = false;
  for (int column = first; column < timeline->column_count; column++) {
    if (sqlite3_column_type(statement, column) == SQLITE_NULL) continue;
    if (!has_args) output_text(timeline->file, ",\"args\":{");
    output_text(timeline->file, timeline->keys[column] + (has_args ? 0 : 1));
    write_value(timeline, statement, column);
    has_args = true;
  }
  output_text(timeline->file, has_args ? "}}" : "}");
}

static void write_row(struct timeline *timeline, enum shape shape, sqlite3_stmt *statement) {
  sqlite3_int64 time = shape == LABEL ? 0 : since_origin(timeline, sqlite3_column_int64(statement, 4));
  static const char *const phases[] = {"X", "b", "i", "C", "s", "M"};
  begin_event(timeline, statement, phases[shape], 2);
  if (shape != LABEL) write_time(timeline, ",\"ts\":", time);
  switch (shape) {
    case SPAN:
      write_time(timeline, ",\"dur\":", sqlite3_column_int64(statement, 5));
      write_args(timeline, statement, 6);
      break;
    case ASYNC:
      write_integer(timeline, ",\"id\":", ++timeline->next_arrow);
      write_args(timeline, statement, 6);
      begin_event(timeline, statement, "e", 2);
      write_time(timeline, ",\"ts\":", time + sqlite3_column_int64(statement, 5));
      write_integer(timeline, ",\"id\":", timeline->next_arrow);
      output_text(timeline->file, "}");
      break;
    case INSTANT:
      output_text(timeline->file, ",\"s\":\"t\"");
      write_args(timeline, statement, 5);
      break;
    case COUNTER: write_args(timeline, statement, 5); break;
    case ARROW:
      write_integer(timeline, ",\"id\":", ++timeline->next_arrow);
      output_text(timeline->file, "}");
      begin_event(timeline, statement, "f", 5);
      write_time(timeline, ",\"ts\":", since_origin(timeline, sqlite3_column_int64(statement, 7)));
      write_integer(timeline, ",\"id\":", timeline->next_arrow);
      output_text(timeline->file, ",\"bp\":\"e\"}");
      break;
    case LABEL: write_args(timeline, statement, 4); break;
    case ROWS: break; /* write_rows() */
  }
}

/* ---- the whole ---- */

static int prepare(struct timeline *timeline, const char *format, sqlite3_stmt **statement) {
  const char *argument = timeline->profile ? "(?1)" : "";
  char *lanes = sqlite3_mprintf(lanes_sql, argument, argument, argument);
  char *body = sqlite3_mprintf(format, argument, argument);
  char *sql = lanes && body ? sqlite3_mprintf("%s%s", lanes, body) : NULL;
  int result = sql ? sqlite3_prepare_v2(timeline->db, sql, -1, statement, NULL) : SQLITE_NOMEM;
  sqlite3_free(lanes);
  sqlite3_free(body);
  sqlite3_free(sql);
  if (!result && timeline->profile) result = sqlite3_bind_value(*statement, 1, timeline->profile);
  return result;
}

/* SQLite's word counts, as readers of the columns have it. */
static int is_json(void *user, const char *text, size_t length) {
  struct timeline *timeline = user;
  int result = SQLITE_OK, answer = -1;
  if (!timeline->json_check)
    result = sqlite3_prepare_v2(timeline->db, "SELECT json_valid(?1)", -1, &timeline->json_check, NULL);
  if (!result) result = sqlite3_bind_text64(timeline->json_check, 1, text, length, SQLITE_STATIC, SQLITE_UTF8);
  if (!result && sqlite3_step(timeline->json_check) == SQLITE_ROW) answer = sqlite3_column_int(timeline->json_check, 0);
  sqlite3_reset(timeline->json_check);
  return answer;
}

/* The rows of a SELECT of ids and numbers: `columns` of them in each, NULL as INT64_MIN. */
static int read_numbers(struct timeline *timeline, const char *format, int columns, sqlite3_int64 **numbers,
                        size_t *count) {
  sqlite3_stmt *statement = NULL;
  size_t capacity = 0;
  int result = prepare(timeline, format, &statement);
  while (!result && (result = sqlite3_step(statement)) == SQLITE_ROW) {
    result = SQLITE_OK;
    if (*count == capacity) {
      capacity = capacity ? 2 * capacity : 64;
      sqlite3_int64 *larger = sqlite3_realloc64(*numbers, capacity * (size_t)columns * sizeof **numbers);
      if (!larger) {
        result = SQLITE_NOMEM;
        break;
      }
      *numbers = larger;
    }
    for (int column = 0; column < columns; column++) {
      bool is_null = sqlite3_column_type(statement, column) == SQLITE_NULL;
      sqlite3_int64 *number = *numbers + *count * (size_t)columns + (size_t)column;
      *number = is_null ? INT64_MIN : sqlite3_column_int64(statement, column);
    }
    ++*count;
  }
  sqlite3_finalize(statement);
  return result == SQLITE_DONE ? SQLITE_OK : result;
}

static int read_places(struct timeline *timeline, struct connection *connection) {
  enum { LANE_NUMBERS = 7, DEVICE_NUMBERS = 3, PROCESS_NUMBERS = 2 };
  struct timeline_places *places = &timeline->rows.places;
  sqlite3_int64 *lanes = NULL, *devices = NULL, *processes = NULL;
  _Static_assert(sizeof *places->lanes == LANE_NUMBERS * sizeof *lanes, "a lane is its numbers");
  _Static_assert(sizeof *places->devices == DEVICE_NUMBERS * sizeof *devices, "a device is its numbers");
  _Static_assert(sizeof *places->processes == PROCESS_NUMBERS * sizeof *processes, "a process is its numbers");
  timeline->rows.store = connection->store;
  timeline->rows.file = timeline->file;
  timeline->rows.is_json = is_json;
  timeline->rows.user = timeline;
  int result = read_numbers(timeline,
                            " SELECT id, coalesce(pid, 0), coalesce(tid, 0), stream, place, is_xplane, is_viewer_stream"
                            " FROM lanes",
                            LANE_NUMBERS, &lanes, &places->lane_count);
  places->lanes = (const struct timeline_lane *)lanes;
  if (!result)
    result = read_numbers(timeline, " SELECT id, ordinal, number FROM processors", DEVICE_NUMBERS, &devices,
                          &places->device_count);
  places->devices = (const struct timeline_device *)devices;
  if (!result)
    result = read_numbers(timeline, " SELECT id, number FROM processes ORDER BY id", PROCESS_NUMBERS, &processes,
                          &places->process_count);
  places->processes = (const struct timeline_process *)processes;
  return result;
}

static void free_places(struct timeline_places *places) {
  sqlite3_free((void *)places->lanes);
  sqlite3_free((void *)places->devices);
  sqlite3_free((void *)places->processes);
}

static int write_rows(struct timeline *timeline, struct connection *connection, enum timeline_part part,
                      struct tfprof_error *error) {
  struct timeline_rows *rows = &timeline->rows;
  rows->event_count = timeline->event_count;
  rows->next_arrow = timeline->next_arrow;
  connection_begin(connection);
  enum tfprof_status status = timeline_rows_write(rows, part, error);
  connection_end(connection);
  timeline->event_count = rows->event_count;
  timeline->next_arrow = rows->next_arrow;
  return status ? SQLITE_ABORT : SQLITE_OK;
}

static int write_part(struct timeline *timeline, enum shape shape, const char *format) {
  sqlite3_stmt *statement = NULL;
  int result = prepare(timeline, format, &statement);
  if (!result) name_members(timeline, statement);
  while (!result && (result = sqlite3_step(statement)) == SQLITE_ROW) {
    result = SQLITE_OK;
    write_row(timeline, shape, statement);
  }
  sqlite3_finalize(statement);
  return result == SQLITE_DONE ? SQLITE_OK : result;
}

/* The earliest second of anything, so that the numbers stay short and all of them positive. */
static int find_origin(struct timeline *timeline) {
  sqlite3_stmt *statement = NULL;
  int result =
      prepare(timeline,
              "SELECT min(start_ns) / 1000000000 * 1000000000 FROM ("
              "SELECT min(start_ns) AS start_ns FROM tfprof_own.ops%s"
              " UNION ALL SELECT min(start_ns) FROM tfprof_own.steps%s"
              " UNION ALL SELECT min(start_ns) FROM tfprof_own.kernels)",
              &statement);
  if (!result && (result = sqlite3_step(statement)) == SQLITE_ROW) {
    timeline->rows.places.origin_ns = sqlite3_column_int64(statement, 0);
    result = SQLITE_DONE;
  }
  sqlite3_finalize(statement);
  return result == SQLITE_DONE ? SQLITE_OK : result;
}

/* What the events are of, by which tfprof reads them again as what they were (read/json/xspace_trace.h). */
static int write_source(struct timeline *timeline) {
  sqlite3_stmt *statement = NULL;
  char *sql = sqlite3_mprintf(
      "SELECT json_object('framework', max(framework), 'framework_version', max(framework_version), 'origin', "
      "max(origin), 'host', iif(count(DISTINCT host) = 1, max(host), NULL)) "
      "FROM tfprof_own.profiles%s HAVING count(DISTINCT origin) = 1 AND count(DISTINCT framework) <= 1",
      timeline->profile ? "(?1)" : "");
  int result = sql ? sqlite3_prepare_v2(timeline->db, sql, -1, &statement, NULL) : SQLITE_NOMEM;
  if (!result && timeline->profile) result = sqlite3_bind_value(statement, 1, timeline->profile);
  int step = result ? SQLITE_DONE : sqlite3_step(statement);
  if (step == SQLITE_ROW)
    output_format(timeline->file, "\"tfprofSource\":%s,\n", (const char *)sqlite3_column_text(statement, 0));
  else if (step != SQLITE_DONE) result = step;
  sqlite3_finalize(statement);
  sqlite3_free(sql);
  return result;
}

/* Call stacks, once for the file: {"7": {"name": "file(line): function", "parent": "3"}, ...}. Frames are written as
** torch.profiler does; a semicolon would part two. */
static int write_stacks(struct timeline *timeline) {
  sqlite3_stmt *statement = NULL;
  int64_t count = 0;
  int result = prepare(timeline,
                       " SELECT json_object('name', replace(coalesce(file || '(' || coalesce(line, 0) || '): ', '')"
                       "   || coalesce(function, ''), ';', ','), 'parent', CAST(code_traces.parent_id AS TEXT)),"
                       "   code_traces.id"
                       " FROM tfprof_own.code_traces%s AS code_traces"
                       " CROSS JOIN tfprof_own.code_frames AS frames ON frames.id = leaf_frame_id",
                       &statement);
  while (!result && (result = sqlite3_step(statement)) == SQLITE_ROW) {
    result = SQLITE_OK;
    output_text(timeline->file, count++ ? ",\n\"" : ",\n\"stackFrames\":{\n\"");
    output_integer(timeline->file, sqlite3_column_int64(statement, 1));
    output_text(timeline->file, "\":");
    output_text(timeline->file, (const char *)sqlite3_column_text(statement, 0));
  }
  sqlite3_finalize(statement);
  if (count) output_text(timeline->file, "}");
  return result == SQLITE_DONE ? SQLITE_OK : result;
}

static void timeline_function(sqlite3_context *context, int count, sqlite3_value **values) {
  struct connection *connection = sqlite3_user_data(context);
  struct tfprof_error error;
  struct timeline timeline = {.db = connection->db, .profile = count > 1 ? values[1] : NULL};
  if (count < 1 || count > 2) {
    sqlite3_result_error(context, "tfprof_timeline takes a path and, if wanted, a profile", -1);
    return;
  }
  const char *path = path_argument(context, values[0], "tfprof_timeline");
  if (!path) return;
  size_t length = strlen(path);
  if (output_open(&timeline.file, path, length > 3 && strcmp(path + length - 3, ".gz") == 0, &error)) {
    connection_result_error(context, &error);
    return;
  }
  int result = find_origin(&timeline);
  bool has_failed = false; /* and `error` says how */
  if (!result) result = read_places(&timeline, connection);
  output_format(timeline.file, "{\"schemaVersion\":1,\"displayTimeUnit\":\"ns\",\"baseTimeNanoseconds\":%lld,\n",
                (long long)timeline.rows.places.origin_ns);
  if (!result) result = write_source(&timeline);
  output_text(timeline.file, "\"traceEvents\":[\n");
  for (size_t i = 0; i < sizeof parts / sizeof parts[0] && !result; i++) {
    bool is_select = parts[i].shape < ROWS;
    if (is_select) result = write_part(&timeline, parts[i].shape, parts[i].sql);
    else result = write_rows(&timeline, connection, parts[i].shape - ROWS, &error);
    has_failed = result && !is_select;
  }
  output_text(timeline.file, "\n]");
  if (!result) result = write_stacks(&timeline);
  sqlite3_finalize(timeline.json_check);
  free_places(&timeline.rows.places);
  if (has_failed) {
    connection_result_error(context, &error);
    output_abandon(timeline.file);
    return;
  }
  if (result == SQLITE_NOMEM) {
    sqlite3_result_error_nomem(context);
    output_abandon(timeline.file);
    return;
  }
  if (result) {
    sqlite3_result_error(context, sqlite3_errmsg(timeline.db), -1);
    sqlite3_result_error_code(context, result);
    output_abandon(timeline.file);
    return;
  }
  output_text(timeline.file, "}\n");
  if (output_commit(timeline.file, &error)) {
    connection_result_error(context, &error);
  } else {
    sqlite3_result_int64(context, timeline.event_count);
  }
}

const struct function_spec timeline_functions[] = {
    {.name = "tfprof_timeline",
     .argument_count = -1,
     .has_effects = true,
     .function = timeline_function,
     .text = {"path [, profile]",
              "Writes a Chrome trace for Perfetto and other viewers of timelines.",
              "A path that ends in .gz is compressed. profile selects among what is open, as the hidden argument of "
              "every table does. Returns the number of events. A file that cannot be written is an error. The file "
              "holds names, commands, paths and hosts as what is open does.",
              "SELECT tfprof_timeline('run.json.gz')"}},
    {0},
};
