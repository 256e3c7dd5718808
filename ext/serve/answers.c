/* answers.c: see answers.h.
**
**   panel     {"version":N, "panel":{…}}: the panel as a report has it (page_data.h)
**   sql       {"columns":[…], "rows":[…], "error":null, "place":-1, "more":false, "interrupted":false, "ns":N,
**             "version":N}; place: the offset of what is wrong
**   changes   {"version":N, "growing":true, "age_ns":N, "steps":N, "sampled":N, "troubles":[[file, message], …],
**             "trouble_count":N}: of troubles the first three
**   events    a number of 32 bits, the lowest byte first: the length of the JSON that follows; that JSON, the lanes and
**             names of page_data.h with, for each bundle, the lengths of its columns; these columns (lane_columns.h)
*/
#include "serve/answers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/lane_columns.h"
#include "report/page_data.h"
#include "serve/sql_rules.h"

enum { MOST_ANSWER_BYTES = 256 << 20, EVENTS_AT_ONCE = 400000, BUCKETS = 4096 };

static const int64_t refresh_pause_ns = 1500000000;

void answer_text(struct job *job, unsigned status, const char *format, ...) {
  char text[2400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  free(job->bytes);
  job->status = status;
  job->type = "text/plain; charset=utf-8";
  job->bytes = (unsigned char *)strdup(text);
  job->length = job->bytes ? strlen(text) : 0;
}

static void answer_error(struct job *job, const struct tfprof_error *error) {
  char text[2200];
  error_text(error, text, sizeof text);
  answer_text(job, error->status == TFPROF_LIMIT ? 413 : 500, "%s\n", text);
}

static void finish_answer(struct job *job, struct output_file *file, const char *type) {
  struct tfprof_error error;
  job->status = 200;
  job->type = type;
  if (output_take(file, &job->bytes, &job->length, &error)) answer_error(job, &error);
}

/* ---- rows ---- */

static const struct stored_select *find_panel(const char *name) {
  const struct stored_select *panel = stored_panels;
  while (panel->name && strcmp(panel->name, name) != 0) panel++;
  return panel->name ? panel : NULL;
}

static void answer_panel(struct served_run *run, struct job *job, struct output_file *file) {
  const struct request_values *values = &job->values;
  const struct page_texts texts = {.file = file};
  const struct panel_parameters parameters = {.has_profile = values->has_profile,
                                              .profile_id = values->profile_id,
                                              .has_steps = values->has_steps,
                                              .first_step = values->first_step,
                                              .last_step = values->last_step,
                                              .origin_ns = run->origin_ns};
  output_format(file, "{\"version\":%llu,\"panel\":", (unsigned long long)run->version);
  job->is_interrupted = page_panel(&texts, run->db, find_panel(values->name), &parameters) == SQLITE_INTERRUPT;
  output_text(file, "}");
  finish_answer(job, file, "application/json");
}

/* Whether there is a second statement behind the first. */
static bool has_more_sql(sqlite3 *db, const char *rest) {
  sqlite3_stmt *statement = NULL;
  const char *tail = rest;
  while (tail && *tail && !statement) {
    const char *before = tail;
    if (sqlite3_prepare_v2(db, tail, -1, &statement, &tail) != SQLITE_OK) return true;
    if (tail == before) break;
  }
  bool is_there = statement != NULL;
  sqlite3_finalize(statement);
  return is_there;
}

static void answer_sql(struct served_run *run, struct job *job, struct output_file *file) {
  const struct page_texts texts = {.file = file};
  const struct panel_parameters parameters = {.has_profile = job->values.has_profile,
                                              .profile_id = job->values.profile_id,
                                              .has_steps = job->values.has_steps,
                                              .first_step = job->values.first_step,
                                              .last_step = job->values.last_step,
                                              .origin_ns = run->origin_ns};
  sqlite3_stmt *statement = NULL;
  const char *rest = NULL, *trouble = NULL;
  uint64_t rows;
  int64_t begin = served_now();
  sql_rules_bound_texts(run->db);
  int place = -1, result = sqlite3_prepare_v2(run->db, job->sql, -1, &statement, &rest);
  if (result) {
    place = sqlite3_error_offset(run->db);
  } else if (!statement) {
    trouble = "there is no SQL";
  } else if (has_more_sql(run->db, rest)) {
    trouble = "one statement at a time";
    sqlite3_finalize(statement);
    statement = NULL;
  } else {
    page_bind(statement, &parameters);
  }
  output_text(file, "{");
  int stepped = page_rows(&texts, statement, job->values.rows, &rows);
  if (!result) result = stepped;
  if (result != SQLITE_DONE && result != SQLITE_ROW) trouble = sqlite3_errmsg(run->db);
  if (result == SQLITE_AUTH)
    trouble = "not authorized: what is open can be asked here (SELECT), not changed; a prompt, `tfprof RUN`, does both";
  output_text(file, ",\"error\":");
  page_text(&texts, trouble);
  output_format(file, ",\"place\":%d,\"more\":%s,\"interrupted\":%s,\"ns\":%lld,\"version\":%llu}", place,
                result == SQLITE_ROW ? "true" : "false", result == SQLITE_INTERRUPT ? "true" : "false",
                (long long)(served_now() - begin), (unsigned long long)run->version);
  sqlite3_finalize(statement);
  finish_answer(job, file, "application/json");
}

/* What of the files that are open cannot be read, or no more: the first few. */
static void write_troubles(struct served_run *run, struct output_file *file) {
  static const char sql[] =
      "SELECT file, message, count(*) OVER () FROM tfprof_own.diagnostics WHERE severity = 'error' ORDER BY id LIMIT 3";
  const struct page_texts texts = {.file = file};
  sqlite3_stmt *statement = NULL;
  sqlite3_int64 count = 0;
  output_text(file, ",\"troubles\":[");
  if (sqlite3_prepare_v2(run->db, sql, -1, &statement, NULL) == SQLITE_OK) {
    while (sqlite3_step(statement) == SQLITE_ROW) {
      const char *path = (const char *)sqlite3_column_text(statement, 0);
      const char *slash = path ? strrchr(path, '/') : NULL;
      output_text(file, count ? ",[" : "[");
      page_text(&texts, slash && slash[1] ? slash + 1 : path);
      output_text(file, ",");
      page_text(&texts, (const char *)sqlite3_column_text(statement, 1));
      output_text(file, "]");
      count = sqlite3_column_int64(statement, 2);
    }
  }
  sqlite3_finalize(statement);
  output_format(file, "],\"trouble_count\":%lld", (long long)count);
}

static void answer_changes(struct served_run *run, struct job *job, struct output_file *file) {
  struct served_state state;
  served_run_look(run, &state);
  output_format(file, "{\"version\":%llu,\"growing\":%s,\"age_ns\":%lld,\"steps\":%lld,\"sampled\":%lld",
                (unsigned long long)run->version, state.is_growing ? "true" : "false", (long long)state.age_ns,
                (long long)state.step_count, (long long)state.sampled_count);
  write_troubles(run, file);
  output_text(file, "}");
  finish_answer(job, file, "application/json");
}

/* ---- events ---- */

static void count_events(struct served_run *run) {
  static const char sql[] =
      "SELECT (SELECT count(*) FROM tfprof_own.ranges) + (SELECT count(*) FROM tfprof_own.ops) +"
      " (SELECT count(*) FROM tfprof_own.api_calls) + (SELECT count(*) FROM tfprof_own.kernels) +"
      " (SELECT count(*) FROM tfprof_own.transfers) + (SELECT count(*) FROM tfprof_own.collectives),"
      " (SELECT max(end_ns) - min(start_ns) FROM tfprof_own.profiles)";
  sqlite3_stmt *statement = NULL;
  if (run->counted_version == run->version) return;
  run->event_count = 0;
  run->span_ns = 0;
  if (sqlite3_prepare_v2(run->db, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
    run->event_count = (uint64_t)sqlite3_column_int64(statement, 0);
    run->span_ns = sqlite3_column_int64(statement, 1);
    run->counted_version = run->version;
  }
  sqlite3_finalize(statement);
}

/* The power of two that is at most that long. */
static int64_t round_bucket(int64_t ns) {
  int64_t bucket = 1;
  while (bucket <= ns / 2) bucket *= 2;
  return bucket > 1 ? bucket : 0;
}

static int64_t add_clipped(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return b < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}

static void write_lengths(struct output_file *file, const struct lane_columns *columns) {
  output_text(file, ",\"bytes\":[");
  for (uint32_t i = 0; i < columns->bundle_count; i++) {
    for (unsigned c = 0; c < LANE_COLUMNS; c++)
      output_format(file, "%s%zu", c ? "," : i ? "],[" : "[", columns->bundles[i].columns[c].length);
  }
  output_text(file, columns->bundle_count ? "]]" : "]");
  output_text(file, ",\"columns\":[");
  for (unsigned c = 0; c < LANE_COLUMNS; c++) output_format(file, "%s\"%s\"", c ? "," : "", lane_column_names[c]);
  output_text(file, "]");
}

static void answer_events(struct served_run *run, struct job *job, struct output_file *file) {
  const struct request_values *values = &job->values;
  const int64_t from = values->has_window ? add_clipped(run->origin_ns, values->from_ns) : INT64_MIN;
  const int64_t to = values->has_window ? add_clipped(run->origin_ns, values->to_ns) : INT64_MAX;
  struct lane_columns columns;
  struct output_file *head;
  struct tfprof_error error;
  int64_t bucket = values->bucket_ns;
  count_events(run);
  if (run->event_count <= EVENTS_AT_ONCE) bucket = 0;
  else if (!values->has_window) bucket = round_bucket(run->span_ns / BUCKETS);
  enum tfprof_status status = output_open_memory(&head, MOST_ANSWER_BYTES, &error);
  connection_begin(run->connection);
  if (!status) {
    status = lane_columns_make(&columns, run->connection->store, from, to, run->origin_ns, bucket, run->index, SIZE_MAX,
                               &error);
    if (status) output_abandon(head);
  }
  connection_end(run->connection);
  if (status) {
    output_abandon(file);
    answer_error(job, &error);
    return;
  }
  output_format(head, "{\"version\":%llu,\"bucket_ns\":%lld,\"all\":%llu,\"events\":%llu,\"cells\":%llu,",
                (unsigned long long)run->version, (long long)bucket, (unsigned long long)run->event_count,
                (unsigned long long)columns.event_count, (unsigned long long)columns.cell_count);
  page_lanes(&(struct page_texts){.file = head}, store_pool(run->connection->store), &columns);
  write_lengths(head, &columns);
  output_text(head, "}");
  unsigned char *json;
  size_t length;
  status = output_take(head, &json, &length, &error);
  if (!status) {
    const unsigned char prefix[4] = {(unsigned char)length, (unsigned char)(length >> 8), (unsigned char)(length >> 16),
                                     (unsigned char)(length >> 24)};
    output_bytes(file, prefix, sizeof prefix);
    output_bytes(file, json, length);
    for (uint32_t i = 0; i < columns.bundle_count; i++) {
      for (unsigned c = 0; c < LANE_COLUMNS; c++)
        if (columns.bundles[i].columns[c].length)
          output_bytes(file, columns.bundles[i].columns[c].bytes, columns.bundles[i].columns[c].length);
    }
    free(json);
    finish_answer(job, file, "application/octet-stream");
  } else {
    output_abandon(file);
    answer_error(job, &error);
  }
  lane_columns_clear(&columns);
}

void answer_job(struct served_run *run, struct job *job) {
  struct output_file *file;
  struct tfprof_error error;
  if (job->kind == JOB_PANEL && !find_panel(job->values.name)) {
    answer_text(job, 404, "there is no panel '%s'; tfprof_panels lists them\n", job->values.name);
    return;
  }
  enum tfprof_status status = TFPROF_OK;
  if (job->kind != JOB_PANEL) status = served_run_refresh(run, refresh_pause_ns, &error);
  if (!status) status = output_open_memory(&file, MOST_ANSWER_BYTES, &error);
  if (status) {
    answer_error(job, &error);
    return;
  }
  switch (job->kind) {
    case JOB_EVENTS: answer_events(run, job, file); break;
    case JOB_CHANGES: answer_changes(run, job, file); break;
    case JOB_PANEL: answer_panel(run, job, file); break;
    case JOB_SQL: answer_sql(run, job, file); break;
    case JOB_RECORDABLE:
    case JOB_RECORD: output_abandon(file); /* the recorder's */
  }
}
