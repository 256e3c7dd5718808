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
** framework and the modules and ops of XLA (viewer_lines.h); marked steps with their numbers, ops with their types.
** What that viewer hides is there as well (memory in use, what iterators hand over), counters are curves, times are
** whole nanoseconds, and there is no limit to the number of events.
**
** Returns how many events were written.
*/
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "func/functions.h"
#include "func/timeline_rows.h"
#include "func/viewer_lines.h"
#include "vtab/connection.h"
#include "write/output_file.h"

SQLITE_EXTENSION_INIT3

/* What the first columns of a SELECT are; those that follow are members of args, named as the column is: texts as they
** are, or JSON that is pasted when the name ends in JSON_MARK.  NULLs are left out. */
enum shape {
  SPAN,    /* name, category, pid, tid, start, duration */
  ASYNC,   /* the same: spans that need not nest, each a pair of events */
  INSTANT, /* name, category, pid, tid, time */
  COUNTER, /* name, category, pid, tid, time */
  ARROW,   /* name, category, pid, tid, time, and the three again of where it points */
  LABEL,   /* name ("process_name" ...), NULL, pid, tid */
  KERNEL,  /* of an XPlane source, for what stands below its stream: the columns of struct viewer_kernel */
  KERNELS, CALLS, LAUNCHES, /* no SELECT: timeline_rows.h */
};

static const char json_mark[] = ":json";
#define TEXT_OF(number) TEXT_AS_IS(number)
#define TEXT_AS_IS(number) #number
/* The number of a device of the process, or of the process itself. */
#define PROCESS \
  "CASE WHEN devices.kind <> 'cpu' AND ordinal IS NOT NULL THEN ordinal + first_device ELSE processes.number END"
/* XProf's numbers: of the host 701, of the first device 2, and here a thousand more for each further profile. */
#define IS_XPLANE "format = 'xplane'"
#define XPLANE_HOST "701 + 1000 * place"
#define XPLANE_DEVICE "2 + 1000 * place"
#define DEVICE "CASE WHEN devices.kind <> 'cpu' THEN ordinal END"
/* What comes from a damaged file must not make the whole trace unreadable. */
#define VALID_JSON(column) " CASE WHEN json_valid(" column ") THEN " column " END"

/* clang-format off: SQL is laid out as in sql/.  In each SELECT, %s is the profile argument of a table. */

/* Before each of the others: where a row is drawn.
**
** SQLite 3.40 takes what windows lie one above the other in for a single row, and looks for it through no index: so
** a device is looked up in its table, and CROSS JOIN says in which order the tables are read. */
static const char lanes_sql[] =
  " WITH numbered AS MATERIALIZED ("
  "   SELECT id, pid, rank, host, command, framework, " IS_XPLANE " AS is_xplane,"
  "     row_number() OVER (ORDER BY id) - 1 AS place, count(*) OVER () AS profile_count,"
  "     row_number() OVER (PARTITION BY pid ORDER BY id) - 1 AS twin"
  "   FROM temp.profiles%s"
  " ), processes AS MATERIALIZED ("
  "   SELECT *, CASE WHEN is_xplane THEN " XPLANE_HOST
  "       ELSE coalesce(pid, 1000000 + place) + twin * 10000000 END AS number,"
  "     CASE WHEN is_xplane THEN " XPLANE_DEVICE " ELSE 1000 * place END AS first_device,"
  "     CASE WHEN is_xplane AND profile_count > 1 THEN coalesce(host || ' ', '') ELSE '' END AS prefix"
  "   FROM numbered"
  " ), processors AS MATERIALIZED ("
  "   SELECT devices.id, devices.kind, devices.name, model, ordinal + first_device AS number, ordinal,"
  "     is_xplane, prefix"
  "   FROM temp.devices%s AS devices JOIN processes ON processes.id = devices.profile_id"
  "   WHERE devices.kind <> 'cpu' AND ordinal IS NOT NULL"
  " ), lanes AS MATERIALIZED ("
  "   SELECT threads.id, threads.name, threads.kind, stream, threads.profile_id, is_xplane,"
  "     is_xplane AND threads.kind = 'stream' AND devices.kind = 'gpu' AS is_viewer_stream,"
  "     row_number() OVER (PARTITION BY threads.profile_id, threads.device_id ORDER BY threads.kind = 'stream'"
  "       AND threads.name NOT LIKE '%%(Compute%%', threads.name LIKE '%%,%%', stream, tid, threads.id) AS place,"
  "     " PROCESS " AS pid, coalesce(stream, tid, threads.id) AS tid"
  "   FROM processes CROSS JOIN temp.threads%s AS threads ON threads.profile_id = processes.id"
  "   LEFT JOIN temp.devices AS devices ON devices.id = threads.device_id"
  " )";

static const struct {
  enum shape shape;
  const char *sql;
} parts[] = {
  {LABEL,
   " SELECT 'process_name', NULL, number, 0,"
   "   CASE WHEN is_xplane THEN prefix || coalesce((SELECT name FROM temp.devices"
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
   " FROM lanes WHERE is_xplane"},
  /* Where the steps are drawn: on each device that XPlane has any on, else on the host. TPUs have such lines. */
  {LABEL,
   " SELECT 'thread_name', NULL, number, 0, iif(is_xplane, 'Steps', 'steps') AS name FROM processes"
   " WHERE id IN (SELECT profile_id FROM temp.steps)"
   "   AND NOT (is_xplane AND id IN (SELECT profile_id FROM temp.device_steps))"},
  {LABEL,
   " SELECT 'thread_name', NULL, number, " TEXT_OF(VIEWER_STEPS) ", 'Steps' AS name FROM processors"
   " WHERE is_xplane AND kind <> 'tpu' AND id IN (SELECT device_id FROM temp.device_steps)"},
  {LABEL,
   " SELECT 'thread_sort_index', NULL, number, " TEXT_OF(VIEWER_STEPS) ", " TEXT_OF(VIEWER_STEPS) " AS sort_index"
   " FROM processors WHERE is_xplane AND kind <> 'tpu' AND id IN (SELECT device_id FROM temp.device_steps)"},
  {SPAN,
   " SELECT coalesce(steps.name, 'step ' || steps.number), 'step', processes.number, 0, start_ns, dur_ns,"
   "   steps.number AS number, is_warmup AS \"warm-up\", ops_recorded AS \"ops recorded\""
   " FROM temp.steps%s AS steps JOIN processes ON processes.id = profile_id"
   " WHERE NOT (is_xplane AND profile_id IN (SELECT profile_id FROM temp.device_steps))"},
  {SPAN,
   " SELECT coalesce(steps.name, 'step ' || steps.number), 'step', processors.number, " TEXT_OF(VIEWER_STEPS) ","
   "   device_steps.start_ns, device_steps.dur_ns, steps.number AS number, busy_ns AS \"busy ns\""
   " FROM temp.device_steps%s AS device_steps JOIN temp.steps AS steps ON steps.id = step_id"
   " JOIN processors ON processors.id = device_id WHERE is_xplane AND kind <> 'tpu'"},
  {KERNEL,
   " SELECT lanes.pid, stream, place, op_name, op_type, step_id, start_ns, end_ns,"
   "   hlo_module || coalesce('(' || program || ')', ''), program, hlo_op"
   " FROM lanes CROSS JOIN temp.kernels%s AS kernels ON lanes.id = kernels.thread_id"
   " WHERE is_viewer_stream ORDER BY lanes.id, start_ns, kernels.id"},
  {SPAN,
   " SELECT CASE WHEN NOT is_xplane THEN ops.name"
   "     WHEN category = 'op' AND hlo_module IS NULL THEN ops.name || coalesce(':' || op_type, '')"
   "     WHEN category = 'user' THEN coalesce((SELECT steps.name FROM temp.steps AS steps"
   "       WHERE steps.id = ops.step_id AND steps.start_ns = ops.start_ns), ops.name)"
   "     ELSE coalesce(ops.name, '') END,"
   "   CASE WHEN category = 'user' THEN 'user_annotation'"
   "     WHEN category IN ('python', 'module') THEN 'python_function' ELSE 'cpu_op' END,"
   "   lanes.pid, lanes.tid, start_ns, dur_ns,"
   "   correlation AS \"External id\", sequence_number AS \"Sequence number\","
   VALID_JSON("input_shapes") " AS \"Input Dims:json\","
   VALID_JSON("input_types") " AS \"Input type:json\","
   VALID_JSON("input_values") " AS \"Concrete Inputs:json\","
   "   module AS \"Module Hierarchy\", flops AS flops, file || ':' || line AS \"called from\", error AS error"
   " FROM lanes CROSS JOIN temp.ops%s AS ops ON lanes.id = thread_id AND start_ns IS NOT NULL"
   " LEFT JOIN temp.code_traces AS code_traces ON code_traces.id = code_trace_id"
   " LEFT JOIN temp.code_frames AS code_frames ON code_frames.id = leaf_frame_id"},
  {KERNELS, NULL},
  {SPAN,
   " SELECT graph_launches.name, 'program', lanes.pid, lanes.tid, graph_launches.start_ns, graph_launches.dur_ns,"
   "   graph AS \"program id\", graph_launches.correlation AS \"run id\""
   " FROM lanes CROSS JOIN temp.graph_launches%s AS graph_launches ON lanes.id = graph_launches.thread_id"
   " WHERE graph_launches.name IS NOT NULL"},
  {SPAN,
   " SELECT transfers.name, CASE transfers.kind WHEN 'memset' THEN 'gpu_memset' ELSE 'gpu_memcpy' END,"
   "   lanes.pid, lanes.tid, transfers.start_ns, transfers.dur_ns,"
   "   " DEVICE " AS device, lanes.stream AS stream, transfers.correlation AS correlation,"
   "   ops.correlation AS \"External id\", bytes AS bytes, bytes_per_second / 1e9 AS \"memory bandwidth (GB/s)\""
   " FROM lanes CROSS JOIN temp.transfers%s AS transfers ON lanes.id = transfers.thread_id"
   " LEFT JOIN temp.devices AS devices ON devices.id = transfers.device_id"
   " LEFT JOIN temp.ops AS ops ON ops.id = op_id"},
  {CALLS, NULL},
  /* Ranges that torch marked, and all of XPlane, are ops already. */
  {SPAN,
   " SELECT ranges.name, 'range', lanes.pid, lanes.tid, start_ns, dur_ns,"
   "   domain AS domain, category AS category, payload AS payload"
   " FROM lanes CROSS JOIN temp.ranges%s AS ranges ON lanes.id = thread_id"
   " WHERE is_process_wide IS NOT 1 AND domain IS NOT 'torch' AND NOT is_xplane"},
  {ASYNC,
   " SELECT ranges.name, 'range', lanes.pid, lanes.tid, start_ns, dur_ns,"
   "   domain AS domain, category AS category, payload AS payload"
   " FROM lanes CROSS JOIN temp.ranges%s AS ranges ON lanes.id = thread_id"
   " WHERE is_process_wide = 1 AND NOT is_xplane"},
  {INSTANT,
   " SELECT instants.name, 'instant', lanes.pid, lanes.tid, time_ns, domain AS domain, payload AS payload"
   " FROM lanes CROSS JOIN temp.instants%s AS instants ON lanes.id = thread_id"},
  {COUNTER,
   " SELECT counters.name, 'counter', " PROCESS ", 0, time_ns, value AS value"
   " FROM temp.counters%s AS counters JOIN processes ON processes.id = counters.profile_id"
   " LEFT JOIN temp.devices AS devices ON devices.id = device_id WHERE value IS NOT NULL"},
  {COUNTER,
   " SELECT 'memory in use', 'memory', " PROCESS ", 0, time_ns,"
   "   in_use_bytes AS bytes, reserved_bytes AS reserved"
   " FROM temp.memory_events%s AS memory_events JOIN processes ON processes.id = memory_events.profile_id"
   " LEFT JOIN temp.devices AS devices ON devices.id = device_id WHERE in_use_bytes IS NOT NULL"},
  {LAUNCHES, NULL},
  {ARROW,
   " SELECT 'backward', 'fwdbwd', lanes.pid, lanes.tid, forward.start_ns, other.pid, other.tid, ops.start_ns"
   " FROM temp.ops%s AS ops CROSS JOIN temp.ops AS forward ON forward.id = ops.forward_op_id"
   " LEFT JOIN temp.ops AS parent ON parent.id = ops.parent_id"
   " CROSS JOIN lanes ON lanes.id = forward.thread_id CROSS JOIN lanes AS other ON other.id = ops.thread_id"
   " WHERE ops.forward_op_id IS NOT NULL AND parent.forward_op_id IS NULL"},
};

/* clang-format on */

enum { MOST_COLUMNS = 24, LONGEST_KEY = 48 };

/* A member of args: the name of a column. */
struct member {
  char key[LONGEST_KEY]; /* ,"name": */
  bool is_json;
};

struct timeline {
  sqlite3 *db;
  sqlite3_value *profile; /* NULL: all */
  struct output_file *file;
  sqlite3_int64 origin_ns, event_count, next_arrow;
  struct viewer_lines *viewer_lines;
  struct timeline_rows rows; /* its lanes and devices; the numbers are those above */
  int column_count; /* of the part that is being written */
  struct member members[MOST_COLUMNS];
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
  return (sqlite3_int64)((uint64_t)ns - (uint64_t)timeline->origin_ns);
}

static void write_value(struct timeline *timeline, sqlite3_stmt *statement, int column, bool is_json) {
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
      if (!text) {
        output_text(timeline->file, "null");
      } else if (is_json) {
        output_text(timeline->file, text);
      } else {
        output_json_text(timeline->file, text, (size_t)sqlite3_column_bytes(statement, column));
      }
  }
}

static void begin_event(struct timeline *timeline, sqlite3_stmt *statement, const char *phase, int pid_column) {
  output_text(timeline->file, timeline->event_count++ ? ",\n{\"ph\":\"" : "{\"ph\":\"");
  output_text(timeline->file, phase);
  output_text(timeline->file, "\",\"name\":");
  write_value(timeline, statement, 0, false);
  if (sqlite3_column_type(statement, 1) != SQLITE_NULL) {
    output_text(timeline->file, ",\"cat\":");
    write_value(timeline, statement, 1, false);
  }
  write_integer(timeline, ",\"pid\":", sqlite3_column_int64(statement, pid_column));
  write_integer(timeline, ",\"tid\":", sqlite3_column_int64(statement, pid_column + 1));
}

/* Once for each part, since asking SQLite for a name costs as much as writing a member. */
static void name_members(struct timeline *timeline, sqlite3_stmt *statement) {
  timeline->column_count = sqlite3_column_count(statement);
  assert(timeline->column_count <= MOST_COLUMNS);
  for (int column = 0; column < timeline->column_count; column++) {
    struct member *member = &timeline->members[column];
    const char *name = sqlite3_column_name(statement, column);
    size_t length = name ? strlen(name) : 0, mark = sizeof json_mark - 1;
    member->is_json = length > mark && memcmp(name + length - mark, json_mark, mark) == 0;
    snprintf(member->key, sizeof member->key, ",\"%.*s\":", (int)(member->is_json ? length - mark : length), name);
  }
}

static void write_args(struct timeline *timeline, sqlite3_stmt *statement, int first) {
  bool has_args = false;
  for (int column = first; column < timeline->column_count; column++) {
    if (sqlite3_column_type(statement, column) == SQLITE_NULL) continue;
    const struct member *member = &timeline->members[column];
    if (!has_args) output_text(timeline->file, ",\"args\":{");
    output_text(timeline->file, member->key + (has_args ? 0 : 1));
    write_value(timeline, statement, column, member->is_json);
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
    case KERNEL: break; /* add_kernel() */
    case KERNELS: case CALLS: case LAUNCHES: break; /* write_rows() */
  }
}

/* ---- what stands below streams of XPlane ---- */

static void begin_label(struct timeline *timeline, const char *name, const struct viewer_span *span) {
  output_text(timeline->file, timeline->event_count++ ? ",\n{\"ph\":\"M\",\"name\":\"" : "{\"ph\":\"M\",\"name\":\"");
  output_format(timeline->file, "%s\",\"pid\":%lld,\"tid\":%lld,\"args\":{", name, (long long)span->pid,
                (long long)span->tid);
}

static void write_viewer_span(void *user, const struct viewer_span *span) {
  struct timeline *timeline = user;
  if (span->is_first) {
    begin_label(timeline, "thread_name", span);
    output_format(timeline->file, "\"name\":\"%s - from #%lld\"}}", span->line_name, (long long)span->stream);
    begin_label(timeline, "thread_sort_index", span);
    output_format(timeline->file, "\"sort_index\":%lld}}", (long long)span->sort_index);
  }
  output_text(timeline->file, timeline->event_count++ ? ",\n{\"ph\":\"X\",\"name\":" : "{\"ph\":\"X\",\"name\":");
  output_json_text(timeline->file, span->name, strlen(span->name));
  write_integer(timeline, ",\"cat\":\"viewer\",\"pid\":", span->pid);
  write_integer(timeline, ",\"tid\":", span->tid);
  write_time(timeline, ",\"ts\":", since_origin(timeline, span->start_ns));
  write_time(timeline, ",\"dur\":", span->end_ns - span->start_ns);
  if (*span->long_name) {
    output_text(timeline->file, ",\"args\":{\"long_name\":");
    output_json_text(timeline->file, span->long_name, strlen(span->long_name));
    output_text(timeline->file, "}");
  }
  output_text(timeline->file, "}");
}

static const char *text_or_nothing(sqlite3_stmt *statement, int column) {
  const unsigned char *text = sqlite3_column_text(statement, column);
  return text ? (const char *)text : "";
}

static int add_kernel(struct timeline *timeline, sqlite3_stmt *statement) {
  struct viewer_kernel kernel = {
      .pid = sqlite3_column_int64(statement, 0),
      .stream = sqlite3_column_int64(statement, 1),
      .place = sqlite3_column_int64(statement, 2),
      .op_name = text_or_nothing(statement, 3),
      .op_type = text_or_nothing(statement, 4),
      .step = sqlite3_column_int64(statement, 5),
      .start_ns = sqlite3_column_int64(statement, 6),
      .end_ns = sqlite3_column_int64(statement, 7),
      .hlo_module = text_or_nothing(statement, 8),
      .program = text_or_nothing(statement, 9),
      .hlo_op = text_or_nothing(statement, 10),
  };
  return viewer_lines_add(timeline->viewer_lines, &kernel) ? SQLITE_OK : SQLITE_NOMEM;
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

static int read_lanes(struct timeline *timeline, struct connection *connection) {
  enum { LANE_NUMBERS = 4, DEVICE_NUMBERS = 2 };
  struct timeline_rows *rows = &timeline->rows;
  sqlite3_int64 *lanes = NULL, *devices = NULL;
  _Static_assert(sizeof *rows->lanes == LANE_NUMBERS * sizeof *lanes, "a lane is its numbers");
  _Static_assert(sizeof *rows->devices == DEVICE_NUMBERS * sizeof *devices, "a device is its numbers");
  *rows = (struct timeline_rows){.store = connection->store, .file = timeline->file,
                                 .origin_ns = timeline->origin_ns};
  int result = read_numbers(timeline, " SELECT id, coalesce(pid, 0), coalesce(tid, 0), stream FROM lanes", LANE_NUMBERS,
                            &lanes, &rows->lane_count);
  rows->lanes = (const struct timeline_lane *)lanes;
  if (!result)
    result = read_numbers(timeline, " SELECT id, ordinal FROM temp.devices WHERE kind <> 'cpu' AND ordinal IS NOT NULL",
                          DEVICE_NUMBERS, &devices, &rows->device_count);
  rows->devices = (const struct timeline_device *)devices;
  return result;
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
  if (!result && shape != KERNEL) name_members(timeline, statement);
  while (!result && (result = sqlite3_step(statement)) == SQLITE_ROW) {
    result = SQLITE_OK;
    if (shape == KERNEL) result = add_kernel(timeline, statement);
    else write_row(timeline, shape, statement);
  }
  sqlite3_finalize(statement);
  if (shape == KERNEL && result == SQLITE_DONE) viewer_lines_end(timeline->viewer_lines);
  return result == SQLITE_DONE ? SQLITE_OK : result;
}

/* The earliest second of anything, so that the numbers stay short and all of them positive. */
static int find_origin(struct timeline *timeline) {
  sqlite3_stmt *statement = NULL;
  int result =
      prepare(timeline,
              "SELECT min(start_ns) / 1000000000 * 1000000000 FROM (SELECT min(start_ns) AS start_ns FROM temp.ops%s"
              " UNION ALL SELECT min(start_ns) FROM temp.steps%s UNION ALL SELECT min(start_ns) FROM temp.kernels)",
              &statement);
  if (!result && (result = sqlite3_step(statement)) == SQLITE_ROW) {
    timeline->origin_ns = sqlite3_column_int64(statement, 0);
    result = SQLITE_DONE;
  }
  sqlite3_finalize(statement);
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
  timeline.viewer_lines = viewer_lines_new(write_viewer_span, &timeline);
  if (!timeline.viewer_lines) {
    sqlite3_result_error_nomem(context);
    return;
  }
  if (output_open(&timeline.file, path, length > 3 && strcmp(path + length - 3, ".gz") == 0, &error)) {
    viewer_lines_free(timeline.viewer_lines);
    connection_result_error(context, &error);
    return;
  }
  int result = find_origin(&timeline);
  bool has_failed = false; /* and `error` says how */
  if (!result) result = read_lanes(&timeline, connection);
  output_format(timeline.file,
                "{\"schemaVersion\":1,\"displayTimeUnit\":\"ns\",\"baseTimeNanoseconds\":%lld,\n\"traceEvents\":[\n",
                (long long)timeline.origin_ns);
  for (size_t i = 0; i < sizeof parts / sizeof parts[0] && !result; i++) {
    enum shape shape = parts[i].shape;
    if (shape < KERNELS) result = write_part(&timeline, shape, parts[i].sql);
    else result = write_rows(&timeline, connection, TIMELINE_KERNELS + (enum timeline_part)(shape - KERNELS), &error);
    has_failed = result && shape >= KERNELS;
  }
  viewer_lines_free(timeline.viewer_lines);
  sqlite3_free((void *)timeline.rows.lanes);
  sqlite3_free((void *)timeline.rows.devices);
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
  output_text(timeline.file, "\n]}\n");
  if (output_commit(timeline.file, &error)) {
    connection_result_error(context, &error);
  } else {
    sqlite3_result_int64(context, timeline.event_count);
  }
}

const struct function_spec timeline_functions[] = {
    {.name = "tfprof_timeline", .argument_count = -1, .has_effects = true, .function = timeline_function},
    {0},
};
