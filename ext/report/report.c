/* report.c: see report.h.
**
** In the file come first the style and a header with numbers as plain HTML, so that it reads without JavaScript; then
** the page's code, the rows of the panels as JSON, and last the events.  Rows, names and events are zlib streams in
** base64: a fifth of what they are as text.  Nothing in it is ever fetched, which the policy in its head enforces.  It
** says nothing of when it was written: equal input gives equal bytes.
**
** Texts of a profile may be anything.  In HTML & < > " are escaped; in JSON < is written \u003c, so that no text ends
** the element that it stands in, packed or not.
**
** --redact: what says where, for whom and on what a run ran is left out (redaction.h), as columns and wherever it
** stands in other texts.
*/
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump/compress.h"
#include "report/lane_columns.h"
#include "report/page.h"
#include "report/page_data.h"
#include "report/redaction.h"
#include "write/output_file.h"

enum { FIRST_BUCKET_NS = 1024, MOST_TEXT_BYTES = 1 << 30 };

struct report {
  sqlite3 *db;
  struct store *store;
  const struct report_options *options;
  struct report_summary *summary;
  struct output_file *file;
  struct page_texts texts;
  struct panel_parameters parameters;
  int64_t from_ns, to_ns;
  struct redaction *redaction; /* NULL: nothing is left out */
};

/* ---- texts ---- */

static void write_html(struct report *report, const char *text) {
  char *clean = text && report->redaction ? redaction_clean(report->redaction, text) : NULL;
  for (const char *at = clean ? clean : text ? text : ""; *at; at++) {
    switch (*at) {
      case '&': output_text(report->file, "&amp;"); break;
      case '<': output_text(report->file, "&lt;"); break;
      case '>': output_text(report->file, "&gt;"); break;
      case '"': output_text(report->file, "&quot;"); break;
      default: output_bytes(report->file, at, 1);
    }
  }
  sqlite3_free(clean);
}

static void write_base64(struct output_file *file, const unsigned char *bytes, size_t length) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  char text[4096];
  size_t used = 0;
  for (size_t i = 0; i < length; i += 3) {
    size_t left = length - i;
    uint32_t group =
        (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0u) | (left > 2 ? bytes[i + 2] : 0u);
    text[used++] = digits[group >> 18];
    text[used++] = digits[group >> 12 & 63];
    text[used++] = left > 1 ? digits[group >> 6 & 63] : '=';
    text[used++] = left > 2 ? digits[group & 63] : '=';
    if (used > sizeof text - 4) {
      output_bytes(file, text, used);
      used = 0;
    }
  }
  output_bytes(file, text, used);
}

/* ---- packed texts ---- */

/* From now on what is written with `texts` waits, to be packed. */
static enum tfprof_status begin_packed(struct report *report, struct tfprof_error *error) {
  return output_open_memory(&report->texts.file, MOST_TEXT_BYTES, error);
}

/* What was written since, compressed; to be freed, unless that fails. */
static enum tfprof_status end_packed(struct report *report, struct packed_bytes *packed, struct tfprof_error *error) {
  unsigned char *bytes;
  size_t length;
  enum tfprof_status status = output_take(report->texts.file, &bytes, &length, error);
  report->texts.file = report->file;
  if (status) return status;
  struct dump_compressor *compressor = dump_compressor_create();
  packed->capacity = length + length / 100 + 1024;
  packed->bytes = malloc(packed->capacity);
  packed->length =
      compressor && packed->bytes ? dump_compress(compressor, bytes, length, packed->bytes, packed->capacity) : 0;
  dump_compressor_free(compressor);
  free(bytes);
  if (packed->length) return TFPROF_OK;
  free(packed->bytes);
  *packed = (struct packed_bytes){0};
  return error_no_memory(error);
}

static void write_packed(struct report *report, const char *id, const struct packed_bytes *packed) {
  output_format(report->file, "<script type=\"text/plain\" id=\"%s\">", id);
  write_base64(report->file, packed->bytes, packed->length);
  output_text(report->file, "</script>\n");
}

/* ---- queries ---- */

static enum tfprof_status query_error(const struct report *report, const char *what, struct tfprof_error *error) {
  if (sqlite3_errcode(report->db) == SQLITE_INTERRUPT) return error_set(error, TFPROF_INTERRUPTED, "interrupted");
  return error_set(error, TFPROF_IO, "%s: %s", what, sqlite3_errmsg(report->db));
}

static bool ask_integer(const struct report *report, const char *sql, int64_t *answer) {
  sqlite3_stmt *statement = NULL;
  bool has_answer = sqlite3_prepare_v2(report->db, sql, -1, &statement, NULL) == SQLITE_OK &&
                    sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL;
  if (has_answer) *answer = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return has_answer;
}

/* ---- panels ---- */

/* The rows of all panels. A failure of the SQL of one is told in its place, and the page goes on. */
static enum tfprof_status write_panels(struct report *report, struct tfprof_error *error) {
  struct packed_bytes packed;
  bool has_events = report->options->events != REPORT_EVENTS_NONE, is_first = true;
  enum tfprof_status status = begin_packed(report, error);
  if (status) return status;
  output_text(report->texts.file, "[");
  for (const struct stored_select *panel = stored_panels; panel->name && !status; panel++) {
    if (!has_events && strstr(panel->sql, "\n-- needs: events\n")) continue;
    if (!is_first) output_text(report->texts.file, ",\n");
    is_first = false;
    int result = page_panel(&report->texts, report->db, panel, &report->parameters);
    report->summary->panels++;
    report->summary->failed_panels += result != SQLITE_DONE;
    if (result == SQLITE_INTERRUPT) status = query_error(report, panel->name, error);
  }
  output_text(report->texts.file, "]");
  if (status) {
    output_abandon(report->texts.file);
    report->texts.file = report->file;
    return status;
  }
  status = end_packed(report, &packed, error);
  if (status) return status;
  write_packed(report, "panels", &packed);
  free(packed.bytes);
  return TFPROF_OK;
}

/* The panel `header` as names and values, in HTML. */
static enum tfprof_status write_facts(struct report *report, struct tfprof_error *error) {
  const struct stored_select *panel = stored_panels;
  sqlite3_stmt *statement = NULL;
  while (panel->name && strcmp(panel->name, "header") != 0) panel++;
  if (!panel->name || sqlite3_prepare_v2(report->db, panel->sql, -1, &statement, NULL))
    return query_error(report, "header", error);
  page_bind(statement, &report->parameters);
  int result;
  while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
    bool is_secret = report->redaction && redaction_hides_column((const char *)sqlite3_column_text(statement, 0));
    output_text(report->file, "<div><dt>");
    write_html(report, (const char *)sqlite3_column_text(statement, 0));
    output_text(report->file, "</dt><dd>");
    write_html(report, is_secret ? page_redacted : (const char *)sqlite3_column_text(statement, 1));
    output_text(report->file, "</dd></div>\n");
  }
  static const char shown[] = "source, names, commands, paths, hosts";
  output_format(report->file, "<div title=\"%s\"><dt>%s</dt><dd>%s</dd></div>\n",
                report->redaction ? "Names of functions, modules and source files are shown"
                                  : "tfprof report --redact leaves them out",
                report->redaction ? "without" : "shows", shown);
  enum tfprof_status status = result == SQLITE_DONE ? TFPROF_OK : query_error(report, "header", error);
  sqlite3_finalize(statement);
  return status;
}

/* ---- events ---- */

/* lanes: their names and those of the events, packed. */
static bool fits(const struct report *report, const struct lane_columns *columns, const struct packed_bytes *lanes) {
  const struct report_options *options = report->options;
  return options->events == REPORT_EVENTS_ALL || (columns->bytes + lanes->length) / 3 * 4 <= options->maximum_bytes;
}

static enum tfprof_status pack_lanes(struct report *report, const struct lane_columns *columns,
                                     struct packed_bytes *lanes, struct tfprof_error *error) {
  enum tfprof_status status = begin_packed(report, error);
  if (status) return status;
  output_text(report->texts.file, "{");
  page_lanes(&report->texts, store_pool(report->store), columns);
  output_text(report->texts.file, "}");
  return end_packed(report, lanes, error);
}

/* The columns of the events; where those do not fit without who caused them, or of cells, ever coarser. */
static enum tfprof_status make_events(struct report *report, struct lane_columns *columns, struct packed_bytes *lanes,
                                      struct tfprof_error *error) {
  const uint64_t room = report->options->maximum_bytes;
  int64_t bucket_ns = 0;
  size_t most_cells = SIZE_MAX;
  report->summary->has_causes = true;
  for (;;) {
    enum tfprof_status status = lane_columns_make(columns, report->store, report->from_ns, report->to_ns,
                                                  report->parameters.origin_ns, bucket_ns, NULL, most_cells, error);
    report->summary->bucket_ns = bucket_ns;
    bool is_hopeless = status == TFPROF_LIMIT;
    if (is_hopeless) status = TFPROF_OK;
    else if (!status) status = pack_lanes(report, columns, lanes, error);
    if (status || bucket_ns > INT64_MAX / 8) return status;
    if (!is_hopeless && fits(report, columns, lanes)) return status;
    lane_columns_drop_causes(columns);
    report->summary->has_causes = false;
    if (!is_hopeless && fits(report, columns, lanes)) return status;
    /* A cell takes more bytes than an event: of many more than there is room for events none need be made. */
    if (!bucket_ns)
      most_cells = (size_t)(1.25 * (double)columns->event_count * (double)room /
                            ((double)columns->bytes + (double)lanes->length + 1));
    lane_columns_clear(columns);
    free(lanes->bytes);
    *lanes = (struct packed_bytes){0};
    bucket_ns = bucket_ns ? bucket_ns * 4 : FIRST_BUCKET_NS;
  }
}

static void write_events(struct report *report, const struct lane_columns *columns, const struct packed_bytes *lanes) {
  char id[64];
  write_packed(report, "lanes", lanes);
  for (uint32_t i = 0; i < columns->bundle_count; i++) {
    for (unsigned c = 0; c < LANE_COLUMNS; c++) {
      if (!columns->bundles[i].columns[c].length) continue;
      snprintf(id, sizeof id, "bundle-%u-%s", (unsigned)i, lane_column_names[c]);
      write_packed(report, id, &columns->bundles[i].columns[c]);
    }
  }
}

/* ---- the whole ---- */

static void write_run(struct report *report, const char *title) {
  const struct report_options *options = report->options;
  const struct report_summary *summary = report->summary;
  struct output_file *file = report->file;
  output_text(file, "<script type=\"application/json\" id=\"run\">{\"title\":");
  page_text(&report->texts, title);
  output_text(file, ",\"runs\":");
  page_text(&report->texts, options->is_redacted ? page_redacted : options->runs);
  output_format(file, ",\"release\":\"%s\",\"origin_ns\":\"%lld\",\"redacted\":%s,\"steps\":", TFPROF_RELEASE,
                (long long)report->parameters.origin_ns, options->is_redacted ? "true" : "false");
  if (options->has_steps)
    output_format(file, "[%lld,%lld]", (long long)options->first_step, (long long)options->last_step);
  else output_text(file, "null");
  output_format(file, ",\"events\":%llu,\"cells\":%llu,\"bucket_ns\":%lld,\"has_events\":%s,",
                (unsigned long long)summary->events, (unsigned long long)summary->cells, (long long)summary->bucket_ns,
                summary->has_events ? "true" : "false");
  output_format(file, "\"has_causes\":%s}</script>\n", summary->has_causes ? "true" : "false");
}

static void write_policy(struct report *report) {
  output_format(report->file, "default-src 'none'; script-src %s; style-src %s; ", page_script_hash, page_style_hash);
  output_text(report->file,
              "img-src data: blob:; worker-src blob:; connect-src 'none'; base-uri 'none'; form-action 'none'");
}

static enum tfprof_status write_data(struct report *report, const char *title, struct tfprof_error *error) {
  struct lane_columns columns = {0};
  struct packed_bytes lanes = {0};
  enum tfprof_status status = write_panels(report, error);
  if (!status && report->options->events != REPORT_EVENTS_NONE) {
    status = make_events(report, &columns, &lanes, error);
    report->summary->has_events = !status;
    report->summary->events = columns.event_count;
    report->summary->cells = columns.cell_count;
  } else if (!status) {
    status = pack_lanes(report, &columns, &lanes, error); /* there are none */
  }
  if (!status) {
    write_run(report, title);
    write_events(report, &columns, &lanes);
  }
  lane_columns_clear(&columns);
  free(lanes.bytes);
  return status;
}

static enum tfprof_status write_page(struct report *report, const char *title, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (const struct page_part *part = page_parts; part->text && !status; part++) {
    output_text(report->file, part->text);
    if (!part->place) continue;
    if (strcmp(part->place, "policy") == 0) write_policy(report);
    if (strcmp(part->place, "title") == 0) write_html(report, title);
    if (strcmp(part->place, "style") == 0) output_bytes(report->file, page_style, page_style_length);
    if (strcmp(part->place, "script") == 0) output_bytes(report->file, page_script, page_script_length);
    if (strcmp(part->place, "facts") == 0) status = write_facts(report, error);
    if (strcmp(part->place, "data") == 0) status = write_data(report, title, error);
  }
  return status;
}

enum tfprof_status report_write(sqlite3 *db, struct store *store, const struct report_options *options,
                                struct report_summary *summary, struct tfprof_error *error) {
  struct report *report = calloc(1, sizeof *report);
  if (!report) return error_no_memory(error);
  *report = (struct report){
      .db = db, .store = store, .options = options, .summary = summary, .from_ns = INT64_MIN, .to_ns = INT64_MAX};
  report->parameters = (struct panel_parameters){
      .has_steps = options->has_steps, .first_step = options->first_step, .last_step = options->last_step};
  *summary = (struct report_summary){0};
  ask_integer(report, "SELECT min(start_ns) FROM tfprof_own.profiles", &report->parameters.origin_ns);
  enum tfprof_status status = options->is_redacted ? redaction_find(db, &report->redaction, error) : TFPROF_OK;
  if (options->has_steps && !status) {
    char *sql = sqlite3_mprintf("SELECT %%s FROM tfprof_own.steps WHERE number BETWEEN %lld AND %lld",
                                (long long)options->first_step, (long long)options->last_step);
    char *first = sql ? sqlite3_mprintf(sql, "min(start_ns)") : NULL;
    char *last = sql ? sqlite3_mprintf(sql, "max(end_ns)") : NULL;
    bool has_steps =
        first && last && ask_integer(report, first, &report->from_ns) && ask_integer(report, last, &report->to_ns);
    if (!has_steps) {
      status = error_set(error, TFPROF_NOT_FOUND, "there are no steps %lld to %lld", (long long)options->first_step,
                         (long long)options->last_step);
    }
    sqlite3_free(first);
    sqlite3_free(last);
    sqlite3_free(sql);
  }
  if (!status) status = output_open(&report->file, options->path, false, error);
  if (!status) {
    const char *title = options->title ? options->title : "tfprof report";
    report->texts = (struct page_texts){report->file, report->redaction};
    status = write_page(report, title, error);
    if (status) output_abandon(report->file);
    else status = output_commit(report->file, error);
  }
  redaction_free(report->redaction);
  free(report);
  return status;
}
