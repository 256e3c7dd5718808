/* page_data.c: see page_data.h. */
#include "report/page_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/repeated_texts.h"
#include "write/json_text.h"

/* ---- texts ---- */

/* JSON in an element of HTML. */
static void take_json(void *user, const void *bytes, size_t length) {
  struct output_file *file = user;
  const char *at = bytes, *end = at + length;
  while (at < end) {
    const char *less = memchr(at, '<', (size_t)(end - at));
    output_bytes(file, at, (size_t)((less ? less : end) - at));
    if (less) output_text(file, "\\u003c");
    at = less ? less + 1 : end;
  }
}

void page_bytes(const struct page_texts *texts, const char *text, size_t length) {
  char *clean = texts->redaction && !memchr(text, 0, length) ? redaction_clean(texts->redaction, text) : NULL;
  if (clean) json_text_write(clean, strlen(clean), take_json, texts->file);
  else json_text_write(text, length, take_json, texts->file);
  sqlite3_free(clean);
}

void page_text(const struct page_texts *texts, const char *text) {
  if (text) page_bytes(texts, text, strlen(text));
  else output_text(texts->file, "null");
}

/* ---- panels ---- */

void page_bind(sqlite3_stmt *statement, const struct panel_parameters *parameters) {
  const struct {
    const char *name;
    bool is_given;
    int64_t value;
  } values[] = {{":profile_id", parameters->has_profile, parameters->profile_id},
                {":first_step", parameters->has_steps, parameters->first_step},
                {":last_step", parameters->has_steps, parameters->last_step},
                {":origin_ns", true, parameters->origin_ns}};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    int index = sqlite3_bind_parameter_index(statement, values[i].name);
    if (index && values[i].is_given) sqlite3_bind_int64(statement, index, values[i].value);
  }
}

static void write_number(struct output_file *file, double number) {
  char text[40];
  if (!isfinite(number)) {
    output_text(file, "null");
    return;
  }
  snprintf(text, sizeof text, "%.15g", number);
  if (strtod(text, NULL) != number) snprintf(text, sizeof text, "%.17g", number);
  output_text(file, text);
}

/* A text of the row; a long one that its column had before as [row], the row that has it. */
static void write_text_cell(const struct page_texts *texts, sqlite3_stmt *statement, int column, uint64_t row,
                            struct repeated_texts *repeated) {
  const char *text = (const char *)sqlite3_column_text(statement, column);
  size_t length = (size_t)sqlite3_column_bytes(statement, column);
  uint64_t first;
  if (repeated && text && length >= SHORTEST_REPEATED &&
      repeated_texts_find(repeated, column, row, text, length, &first))
    output_format(texts->file, "[%llu]", (unsigned long long)first);
  else page_bytes(texts, text ? text : "", length);
}

static void write_cell(const struct page_texts *texts, sqlite3_stmt *statement, int column, bool is_secret,
                       uint64_t row, struct repeated_texts *repeated) {
  int type = sqlite3_column_type(statement, column);
  if (type == SQLITE_NULL) {
    output_text(texts->file, "null");
  } else if (is_secret) {
    page_text(texts, page_redacted);
  } else if (type == SQLITE_INTEGER) {
    output_format(texts->file, "%lld", (long long)sqlite3_column_int64(statement, column));
  } else if (type == SQLITE_FLOAT) {
    write_number(texts->file, sqlite3_column_double(statement, column));
  } else {
    write_text_cell(texts, statement, column, row, repeated);
  }
}

/* By its column; a fact that is told as (name, value) by its name. */
static bool is_secret_cell(sqlite3_stmt *statement, int column) {
  if (redaction_hides_column(sqlite3_column_name(statement, column))) return true;
  if (column == 0 || strcmp(sqlite3_column_name(statement, column), "value") != 0 ||
      strcmp(sqlite3_column_name(statement, 0), "name") != 0 || sqlite3_column_type(statement, 0) != SQLITE_TEXT)
    return false;
  return redaction_hides_column((const char *)sqlite3_column_text(statement, 0));
}

static int write_rows(const struct page_texts *texts, sqlite3_stmt *statement, uint64_t most_rows, uint64_t *row_count,
                      struct repeated_texts *repeated) {
  struct output_file *file = texts->file;
  int columns = statement ? sqlite3_column_count(statement) : 0, result = SQLITE_DONE;
  output_text(file, "\"columns\":[");
  for (int i = 0; i < columns; i++) {
    const char *name = sqlite3_column_name(statement, i); /* the page's code asks for it */
    if (i) output_text(file, ",");
    json_text_write(name, strlen(name), take_json, file);
  }
  output_text(file, "],\"rows\":[");
  *row_count = 0;
  while (statement && (result = sqlite3_step(statement)) == SQLITE_ROW && *row_count < most_rows) {
    output_text(file, *row_count ? ",\n[" : "\n[");
    for (int i = 0; i < columns; i++) {
      if (i) output_text(file, ",");
      bool is_secret = texts->redaction && is_secret_cell(statement, i);
      write_cell(texts, statement, i, is_secret, *row_count, repeated);
    }
    output_text(file, "]");
    ++*row_count;
  }
  output_text(file, "]");
  return result;
}

int page_rows(const struct page_texts *texts, sqlite3_stmt *statement, uint64_t most_rows, uint64_t *row_count) {
  return write_rows(texts, statement, most_rows, row_count, NULL);
}

int page_panel(const struct page_texts *texts, sqlite3 *db, const struct stored_select *panel,
               const struct panel_parameters *parameters) {
  sqlite3_stmt *statement = NULL;
  uint64_t rows;
  int result = sqlite3_prepare_v2(db, panel->sql, -1, &statement, NULL);
  output_format(texts->file, "{\"name\":\"%s\",\"sql\":", panel->name);
  json_text_write(panel->sql, strlen(panel->sql), take_json, texts->file);
  output_text(texts->file, ",");
  if (statement) page_bind(statement, parameters);
  struct repeated_texts *repeated = repeated_texts_create(); /* without it texts are written as often as they come */
  int stepped = write_rows(texts, statement, UINT64_MAX, &rows, repeated);
  repeated_texts_free(repeated);
  if (!result) result = stepped;
  output_text(texts->file, ",\"error\":");
  page_text(texts, result == SQLITE_DONE ? NULL : sqlite3_errmsg(db));
  output_text(texts->file, "}");
  sqlite3_finalize(statement);
  return result;
}

/* ---- lanes ---- */

static void write_lane(const struct page_texts *texts, const struct lane_columns *columns, uint32_t index) {
  const struct packed_lane *lane = &columns->lanes[index];
  struct output_file *file = texts->file;
  output_format(file, "%s{\"profile_id\":%u,\"thread_id\":", index ? ",\n" : "\n", (unsigned)lane->profile_number);
  if (lane->thread_id) output_format(file, "%lld", (long long)lane->thread_id);
  else output_text(file, "null");
  output_format(file, ",\"table\":\"%s\",\"bundle\":%u,\"tracks\":[", schema_tables[lane_tables[lane->kind].table].name,
                (unsigned)lane->bundle);
  for (uint32_t i = 0; i < lane->track_count; i++) {
    const struct packed_track *track = &columns->tracks[lane->first_track + i];
    output_format(file, "%s[%u,%llu]", i ? "," : "", (unsigned)track->depth, (unsigned long long)track->count);
  }
  output_text(file, "]}");
}

static void write_name(const struct page_texts *texts, const struct pool *pool, const struct packed_name *name) {
  const struct lane_table *table = &lane_tables[name->kind];
  const char *category = name->category ? pool_text(pool, name->category) : table->word;
  if (table->table == TABLE_kernels && strcmp(category, "compute") == 0) category = table->word;
  output_text(texts->file, "[");
  if (name->name) page_bytes(texts, pool_text(pool, name->name), pool_length(pool, name->name));
  else output_text(texts->file, "null");
  output_text(texts->file, ",");
  page_text(texts, category);
  output_text(texts->file, "]");
}

void page_lanes(const struct page_texts *texts, const struct pool *pool, const struct lane_columns *columns) {
  output_text(texts->file, "\"lanes\":[");
  for (uint32_t i = 0; i < columns->lane_count; i++) write_lane(texts, columns, i);
  output_text(texts->file, "],\"names\":[");
  for (uint32_t i = 0; i < columns->name_count; i++) {
    if (i) output_text(texts->file, ",\n");
    write_name(texts, pool, &columns->names[i]);
  }
  output_text(texts->file, "]");
}
