/* diagnostic_rows.c: see diagnostic_rows.h. */
#include "diagnostic_rows.h"

#include "dump_ids.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
  DIAGNOSTIC_SEVERITY,
  DIAGNOSTIC_REASON,
  DIAGNOSTIC_MESSAGE,
  DIAGNOSTIC_COUNT,
  DIAGNOSTIC_TABLE,
  DIAGNOSTIC_COLUMNS
};
static const struct row_column diagnostic_columns[DIAGNOSTIC_COLUMNS] = {
    {DUMP_diagnostics_severity, DUMP_UNORDERED, false, false},
    {DUMP_diagnostics_reason, DUMP_UNORDERED, false, false},
    {DUMP_diagnostics_message, DUMP_UNORDERED, false, false},
    {DUMP_diagnostics_count, DUMP_UNORDERED, false, false},
    {DUMP_diagnostics_table_name, DUMP_UNORDERED, false, false},
};

bool diagnostic_rows_begin(struct row_buffer *rows) {
  return row_buffer_begin(rows, DUMP_TABLE_diagnostics, diagnostic_columns, DIAGNOSTIC_COLUMNS, 64);
}

void diagnostic_rows_add(struct row_buffer *rows, struct dump_writer *writer, const char *severity, const char *reason,
                         int64_t count, const char *table, const char *format, ...) {
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  uint32_t row = row_add(rows);
  if (row == UINT32_MAX) return;
  row_set(rows, row, DIAGNOSTIC_SEVERITY, dump_writer_string(writer, severity, strlen(severity)));
  row_set(rows, row, DIAGNOSTIC_REASON, dump_writer_string(writer, reason, strlen(reason)));
  row_set(rows, row, DIAGNOSTIC_MESSAGE, dump_writer_string(writer, message, strlen(message)));
  if (count) row_set(rows, row, DIAGNOSTIC_COUNT, count);
  if (table) row_set(rows, row, DIAGNOSTIC_TABLE, dump_writer_string(writer, table, strlen(table)));
}
