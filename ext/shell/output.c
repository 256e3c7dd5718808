/* output.c: picks the format, and the formats for programs: csv, tsv, json, jsonl, markdown. output_box.c is for
** people. */
#include "cell.h"
#include "display_width.h"
#include "output_private.h"
#include "write/json_text.h"

#include <math.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const output_format_names[OUTPUT_FORMAT_COUNT] = {"box",   "csv",      "tsv",  "json",
                                                              "jsonl", "markdown", "chart"};

int output_format_find(const char *name) {
  for (int i = 0; i < OUTPUT_FORMAT_COUNT; i++) {
    if (strcasecmp(name, output_format_names[i]) == 0) return i;
  }
  return -1;
}

struct output *output_begin(FILE *file, const struct output_style *style, sqlite3_stmt *statement) {
  static const struct output_kind *const kinds[OUTPUT_FORMAT_COUNT] = {&output_box, &output_csv, &output_tsv,
                                                                       &output_json, &output_jsonl, &output_markdown,
                                                                       &output_chart};
  struct output *output = calloc(1, sizeof *output);
  if (!output) return NULL;
  output->file = file;
  __fsetlocking(file, FSETLOCKING_BYCALLER); /* no other thread prints; three million rows notice */
  output->style = *style;
  output->statement = statement;
  output->kind = kinds[style->format];
  output->column_count = sqlite3_column_count(statement);
  if (output->kind->begin(output)) return output;
  output_end(output);
  return NULL;
}

bool output_row(struct output *output) {
  output->rows++;
  return output->kind->row(output);
}

uint64_t output_end(struct output *output) {
  uint64_t rows = output->rows;
  output->kind->end(output);
  if (output->names) {
    for (int i = 0; i < output->column_count; i++) free(output->names[i]);
    free(output->names);
  }
  free(output);
  return rows;
}

void output_format_real(double value, char *text) {
  if (isinf(value)) {
    strcpy(text, value > 0 ? "Inf" : "-Inf");
    return;
  }
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, 32, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  if (!strpbrk(text, ".e")) strcat(text, ".0");
}

void output_hexadecimal(FILE *file, const void *bytes, int length) {
  const unsigned char *byte = bytes;
  for (int i = 0; i < length; i++) fprintf(file, "%02x", byte[i]);
}

static const char *column_text(const struct output *output, int column, size_t *length) {
  const char *text = (const char *)sqlite3_column_text(output->statement, column);
  *length = (size_t)sqlite3_column_bytes(output->statement, column);
  return text ? text : "";
}

/* ---- csv, tsv ---- */

/* Writes the first character, or bytes that are none, as it is in a box, ESC as U+241B, and returns how many bytes that
** was. */
static size_t put_printable(FILE *file, const char *text, size_t length) {
  char piece[8];
  uint32_t c;
  size_t size = display_decode(text, length, &c);
  fwrite(piece, 1, (size_t)(cell_append(piece, c, text, size) - piece), file);
  return size;
}

/* What spreadsheets compute, also behind white space, unless it is a number or a sign by itself. */
static bool is_formula(const char *text, size_t length) {
  char *end;
  size_t space = strspn(text, " \t\r\n");
  if (length < space + 2 || !strchr("=+-@", text[space])) return false;
  strtod(text, &end); /* SQLite ends texts with a NUL */
  return end == text || end != text + length;
}

static void csv_text(FILE *file, const char *text, size_t length, bool is_terminal) {
  bool is_quoted = length == 0 || text[0] == ' ' || text[length - 1] == ' ';
  for (size_t i = 0; i < length && !is_quoted; i++) {
    if (text[i] == '"' || text[i] == ',' || text[i] == '\n' || text[i] == '\r') is_quoted = true;
  }
  is_terminal = is_terminal && cell_plain_length(text, length) < length;
  if (is_quoted) putc('"', file);
  if (is_formula(text, length)) putc('\'', file);
  if (!is_quoted && !is_terminal) {
    fwrite(text, 1, length, file);
    return;
  }
  for (size_t i = 0; i < length;) {
    if (text[i] == '"') putc('"', file);
    if (!is_terminal || text[i] == '\n') putc(text[i++], file);
    else i += put_printable(file, text + i, length - i);
  }
  if (is_quoted) putc('"', file);
}

static void tsv_text(FILE *file, const char *text, size_t length, bool is_terminal) {
  if (is_formula(text, length)) putc('\'', file);
  for (size_t i = 0; i < length;) {
    const char *escape = NULL;
    switch (text[i]) {
      case '\t': escape = "\\t"; break;
      case '\n': escape = "\\n"; break;
      case '\r': escape = "\\r"; break;
      case '\\': escape = "\\\\"; break;
    }
    if (escape) {
      fputs(escape, file);
      i++;
    } else if (is_terminal) {
      i += put_printable(file, text + i, length - i);
    } else {
      putc(text[i++], file);
    }
  }
}

/* csv and tsv: what parts the columns, and how a text is written. */
struct separated {
  char separator;
  void (*text)(FILE *file, const char *text, size_t length, bool is_terminal);
};
static const struct separated by_commas = {',', csv_text}, by_tabs = {'\t', tsv_text};

static bool separated_begin(struct output *output, const struct separated *how) {
  for (int i = 0; i < output->column_count; i++) {
    const char *name = sqlite3_column_name(output->statement, i);
    if (!name) return false;
    if (i > 0) putc(how->separator, output->file);
    how->text(output->file, name, strlen(name), output->style.is_terminal);
  }
  putc('\n', output->file);
  return true;
}

static bool separated_row(struct output *output, const struct separated *how) {
  sqlite3_stmt *statement = output->statement;
  for (int i = 0; i < output->column_count; i++) {
    char real[32];
    size_t length;
    const char *text;
    if (i > 0) putc(how->separator, output->file);
    switch (sqlite3_column_type(statement, i)) {
      case SQLITE_NULL: break;
      case SQLITE_INTEGER: fprintf(output->file, "%lld", (long long)sqlite3_column_int64(statement, i)); break;
      case SQLITE_FLOAT:
        output_format_real(sqlite3_column_double(statement, i), real);
        fputs(real, output->file);
        break;
      case SQLITE_BLOB:
        output_hexadecimal(output->file, sqlite3_column_blob(statement, i), sqlite3_column_bytes(statement, i));
        break;
      default: text = column_text(output, i, &length); how->text(output->file, text, length, output->style.is_terminal);
    }
  }
  putc('\n', output->file);
  return true;
}

static bool csv_begin(struct output *output) { return separated_begin(output, &by_commas); }
static bool csv_row(struct output *output) { return separated_row(output, &by_commas); }
static bool tsv_begin(struct output *output) { return separated_begin(output, &by_tabs); }
static bool tsv_row(struct output *output) { return separated_row(output, &by_tabs); }

static void nothing_at_end(struct output *output) {
  (void)output;
}

const struct output_kind output_csv = {csv_begin, csv_row, nothing_at_end};
const struct output_kind output_tsv = {tsv_begin, tsv_row, nothing_at_end};

/* ---- json, jsonl ---- */

static void take_bytes(void *file, const void *bytes, size_t length) { fwrite(bytes, 1, length, file); }

static void json_text(FILE *file, const char *text, size_t length) {
  json_text_write(text, length, take_bytes, file);
}

/* `id`, `id` become `id`, `id:1`, so that no key comes twice. */
static bool json_name(struct output *output, int column) {
  const char *name = sqlite3_column_name(output->statement, column);
  char *unique = name ? strdup(name) : NULL;
  if (!unique) return false;
  for (int i = 0, mark = 1; i < column; i++) {
    if (strcmp(output->names[i], unique) != 0) continue;
    free(unique);
    if (asprintf(&unique, "%s:%d", name, mark++) < 0) return false;
    i = -1; /* this one may be taken too */
  }
  output->names[column] = unique;
  return true;
}

static bool json_begin(struct output *output) {
  output->names = calloc((size_t)output->column_count, sizeof *output->names);
  if (!output->names) return false;
  for (int i = 0; i < output->column_count; i++) {
    if (!json_name(output, i)) return false;
  }
  return true;
}

static void json_object(struct output *output) {
  FILE *file = output->file;
  sqlite3_stmt *statement = output->statement;
  putc('{', file);
  for (int i = 0; i < output->column_count; i++) {
    char real[32];
    size_t length;
    const char *text;
    if (i > 0) putc(',', file);
    json_text(file, output->names[i], strlen(output->names[i]));
    putc(':', file);
    switch (sqlite3_column_type(statement, i)) {
      case SQLITE_NULL: fputs("null", file); break;
      case SQLITE_INTEGER: fprintf(file, "%lld", (long long)sqlite3_column_int64(statement, i)); break;
      case SQLITE_FLOAT:
        output_format_real(sqlite3_column_double(statement, i), real);
        fputs(isfinite(sqlite3_column_double(statement, i)) ? real : "null", file);
        break;
      case SQLITE_BLOB:
        putc('"', file);
        output_hexadecimal(file, sqlite3_column_blob(statement, i), sqlite3_column_bytes(statement, i));
        putc('"', file);
        break;
      default: text = column_text(output, i, &length); json_text(file, text, length);
    }
  }
  putc('}', file);
}

static bool json_row(struct output *output) {
  fputs(output->rows == 1 ? "[" : ",\n", output->file);
  json_object(output);
  return true;
}

static void json_end(struct output *output) {
  fputs(output->rows ? "]\n" : "[]\n", output->file);
}

static bool jsonl_row(struct output *output) {
  json_object(output);
  putc('\n', output->file);
  return true;
}

const struct output_kind output_json = {json_begin, json_row, json_end};
const struct output_kind output_jsonl = {json_begin, jsonl_row, nothing_at_end};

/* ---- markdown ---- */

static void markdown_text(FILE *file, const char *text, size_t length) {
  for (size_t i = 0; i < length;) {
    if (text[i] == '\n') {
      fputs("<br>", file);
      i++;
    } else {
      if (text[i] && strchr("|\\`*_<>[]", text[i])) putc('\\', file);
      i += put_printable(file, text + i, length - i);
    }
  }
}

static bool markdown_begin(struct output *output) {
  for (int i = 0; i < output->column_count; i++) {
    const char *name = sqlite3_column_name(output->statement, i);
    if (!name) return false;
    fputs(i > 0 ? " | " : "| ", output->file);
    markdown_text(output->file, name, strlen(name));
  }
  fputs(" |\n", output->file);
  return true;
}

/* The line under the header says which columns are numbers, so it waits for the first row. */
static void markdown_rule(struct output *output) {
  for (int i = 0; i < output->column_count; i++) {
    int type = output->rows ? sqlite3_column_type(output->statement, i) : SQLITE_NULL;
    fputs(type == SQLITE_INTEGER || type == SQLITE_FLOAT ? "|---:" : "|---", output->file);
  }
  fputs("|\n", output->file);
}

static bool markdown_row(struct output *output) {
  if (output->rows == 1) markdown_rule(output);
  for (int i = 0; i < output->column_count; i++) {
    fputs(i > 0 ? " | " : "| ", output->file);
    if (sqlite3_column_type(output->statement, i) == SQLITE_BLOB) {
      output_hexadecimal(output->file, sqlite3_column_blob(output->statement, i),
                         sqlite3_column_bytes(output->statement, i));
    } else if (sqlite3_column_type(output->statement, i) == SQLITE_FLOAT) {
      char real[32];
      output_format_real(sqlite3_column_double(output->statement, i), real);
      fputs(real, output->file);
    } else if (sqlite3_column_type(output->statement, i) != SQLITE_NULL) {
      size_t length;
      const char *text = column_text(output, i, &length);
      markdown_text(output->file, text, length);
    }
  }
  fputs(" |\n", output->file);
  return true;
}

static void markdown_end(struct output *output) {
  if (output->rows == 0) markdown_rule(output);
}

const struct output_kind output_markdown = {markdown_begin, markdown_row, markdown_end};
