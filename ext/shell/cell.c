/* cell.c: the texts in a box: printable copies of values, their widths, and breaking them into lines. */
#include "cell.h"
#include "display_width.h"
#include "write/scaled_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *cell_append(char *end, uint32_t c, const char *text, size_t size) {
  bool is_hidden =
      c == 0x7f || (c >= 0x80 && c < 0xa0) || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
  if (c < 0x20) { /* U+2400 ... */
    *end++ = '\xe2';
    *end++ = '\x90';
    *end++ = (char)(0x80 + c);
  } else if (is_hidden || c == DISPLAY_INVALID) {
    end = mempcpy(end, "\xef\xbf\xbd", 3);
  } else {
    end = mempcpy(end, text, size);
  }
  return end;
}

size_t cell_plain_length(const char *text, size_t length) {
  size_t plain = 0;
  while (plain < length && text[plain] >= 0x20 && text[plain] < 0x7f) plain++;
  return plain;
}

bool cell_make_text(const char *text, size_t length, struct cell *cell) {
  size_t plain = cell_plain_length(text, length);
  if (plain == length) {
    cell->length = (uint32_t)length;
    cell->text = malloc(length + 1);
    if (cell->text) memcpy(cell->text, text, length), cell->text[length] = '\0';
    return cell->text != NULL;
  }
  char *end = cell->text = malloc(3 * length + 1);
  if (!end) return false;
  while (length) {
    uint32_t c;
    size_t size = display_decode(text, length, &c);
    if (c == '\n')
      *end++ = '\n';
    else
      end = cell_append(end, c, text, size);
    text += size;
    length -= size;
  }
  *end = '\0';
  cell->length = (uint32_t)(end - cell->text);
  char *smaller = realloc(cell->text, cell->length + 1);
  if (smaller) cell->text = smaller;
  return true;
}

/* Six digits, but all those before the point: what an eye can take in. */
static size_t round_real(double value, char *text, size_t size) {
  double magnitude = fabs(value);
  if (!isfinite(value) || (value != 0 && magnitude < 1e-4) || magnitude >= 1e15) {
    return (size_t)snprintf(text, size, isinf(value) ? (value > 0 ? "Inf" : "-Inf") : "%.6g", value);
  }
  int digits = 6;
  for (double bound = 1; magnitude >= bound && digits > 1; bound *= 10) digits--;
  for (double bound = 0.1; magnitude > 0 && magnitude < bound; bound /= 10) digits++;
  size_t length = (size_t)snprintf(text, size, "%.*f", digits, value);
  while (text[length - 1] == '0' && text[length - 2] != '.') length--;
  return length;
}

bool cell_make(sqlite3_stmt *statement, int column, enum quantity quantity, struct cell *cell) {
  cell->type = (uint8_t)sqlite3_column_type(statement, column);
  bool is_number = cell->type == SQLITE_INTEGER || cell->type == SQLITE_FLOAT;
  cell->number = is_number ? sqlite3_column_double(statement, column) : NAN;
  if (cell->type == SQLITE_NULL) return cell_make_text("NULL", 4, cell);
  if (is_number) {
    char text[SCALED_TEXT_BYTES];
    size_t length = quantity_text(quantity, cell->number, text);
    if (length) return cell_make_text(text, length, cell);
  }
  if (cell->type == SQLITE_FLOAT) {
    char real[512];
    return cell_make_text(real, round_real(cell->number, real, sizeof real), cell);
  }
  if (cell->type != SQLITE_BLOB) {
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text && cell_make_text(text, (size_t)sqlite3_column_bytes(statement, column), cell);
  }
  const unsigned char *bytes = sqlite3_column_blob(statement, column);
  int length = sqlite3_column_bytes(statement, column);
  char *end = cell->text = malloc((size_t)length * 2 + 4);
  if (!end) return false;
  end += sprintf(end, "x'");
  for (int i = 0; i < length; i++) end += sprintf(end, "%02x", bytes[i]);
  *end++ = '\'';
  *end = '\0';
  cell->length = (uint32_t)(end - cell->text);
  return true;
}

int cell_width(const char *text, size_t length) {
  size_t plain = cell_plain_length(text, length);
  int width = (int)plain;
  text += plain;
  length -= plain;
  while (length) {
    uint32_t c;
    size_t size = display_decode(text, length, &c);
    width += display_width(c);
    text += size;
    length -= size;
  }
  return width;
}

size_t cell_fitting(const char *text, size_t length, int width, int *used) {
  size_t taken = 0;
  *used = 0;
  while (taken < length) {
    uint32_t c;
    size_t size = display_decode(text + taken, length - taken, &c);
    if (taken > 0 && *used + display_width(c) > width) break;
    *used += display_width(c);
    taken += size;
  }
  return taken;
}

/* Whether the space there stands between a number and its unit. */
static bool is_before_unit(const char *text, size_t length, size_t space) {
  static const char *const units[] = {"%", "ns", "µs", "ms", "s", "B", "KiB", "MiB", "GiB", "TiB", "k", "M", NULL};
  if (!space || text[space - 1] < '0' || text[space - 1] > '9') return false;
  size_t size = 0;
  while (space + 1 + size < length && !strchr(" ,;:.)", text[space + 1 + size])) size++;
  for (const char *const *unit = units; *unit; unit++)
    if (strlen(*unit) == size && memcmp(*unit, text + space + 1, size) == 0) return true;
  return false;
}

size_t cell_next_line(const char *text, size_t length, int width, size_t *rest) {
  const char *feed = memchr(text, '\n', length);
  size_t line = feed ? (size_t)(feed - text) : length;
  int used;
  size_t taken = cell_fitting(text, line, width, &used);
  if (taken == line) {
    *rest = feed ? line + 1 : line;
    return taken;
  }
  size_t space = taken;
  while (space > 0 && (text[space] != ' ' || is_before_unit(text, line, space))) space--;
  if (space == 0) { /* one long word: after a separator in its second half, a plain one rather than an underscore */
    static const char *const separators[] = {",/:;)", "_"};
    for (int kind = 0; kind < 2; kind++) {
      for (size_t i = taken; i > taken / 2; i--) {
        if (strchr(separators[kind], text[i - 1])) return *rest = i;
      }
    }
    return *rest = taken;
  }
  *rest = space + 1;
  return space;
}

void cell_print_wrapped(const struct cell *cell, const char *first, int width) {
  const char *text = cell->text;
  size_t length = cell->length;
  int indent = cell_width(first, strlen(first));
  bool is_first = true;
  while (length || is_first) {
    size_t rest = length, taken = length;
    if (length) taken = cell_next_line(text, length, width > indent + 20 ? width - indent : INT32_MAX, &rest);
    printf("%*s%s%.*s\n", is_first ? 0 : indent, "", is_first ? first : "", (int)taken, text);
    text += rest;
    length -= rest;
    is_first = false;
  }
}
