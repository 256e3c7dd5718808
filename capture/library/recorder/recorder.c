/* recorder.c: see recorder.h. */
#include "recorder.h"

#include "parts.h"

#include <assert.h>
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

bool recorder_open(struct recorder *recorder, const struct capture_source *const *sources,
                   struct dump_writer *writer) {
  memset(recorder, 0, sizeof *recorder);
  recorder->sources = sources;
  recorder->writer = recorder->tables.writer = writer;
  bool is_open = clock_map_begin(&recorder->clock) &&
                 row_buffer_begin(&recorder->diagnostics, DUMP_TABLE_diagnostics, diagnostic_columns,
                                  DIAGNOSTIC_COLUMNS, 64) &&
                 device_rows_open(&recorder->devices, &recorder->tables);
  recorder->diagnostics.is_lasting = true;
  for EACH_SOURCE(source, sources)
    if (is_open) {
      recorder->opened++;
      if (source->open) is_open = source->open(recorder);
    }
  return is_open;
}

void recorder_close(struct recorder *recorder, bool in_child) {
  for (unsigned i = 0; i < recorder->opened; i++)
    if (recorder->sources[i]->close) recorder->sources[i]->close(in_child);
  row_tables_end(&recorder->tables);
  row_buffer_end(&recorder->diagnostics);
  clock_map_end(&recorder->clock);
  texts_end(&recorder->texts);
  memset(recorder, 0, sizeof *recorder);
}

/* ---- Writing. */

void recorder_complain(struct recorder *recorder, const struct tfprof_error *error) {
  if (recorder->has_complained) return;
  recorder->has_complained = true;
  char text[2200];
  error_text(error, text, sizeof text);
  capture_say(
      "cannot write: %s; what was written before is kept, the program goes on, and recording goes on when this has "
      "passed",
      text);
}

static void write_tables(struct recorder *recorder, enum table_role role, uint32_t least) {
  struct tfprof_error error;
  if (!row_tables_write(&recorder->tables, role, least, &error)) recorder_complain(recorder, &error);
}

void recorder_write_context(struct recorder *recorder) {
  struct tfprof_error error;
  for EACH_SOURCE(source, recorder->sources)
    if (source->complete) source->complete(recorder);
  if (!row_tables_define(&recorder->tables, &error)) recorder_complain(recorder, &error);
  write_tables(recorder, TABLE_CONTEXT, 1);
}

static void write_rows(struct recorder *recorder, uint32_t least) {
  if (!recorder->tables.is_blocked) recorder_write_context(recorder);
  write_tables(recorder, TABLE_ROWS, least);
  recorder->tables.has_full = false;
  recorder->full_rows_written = recorder->full_rows;
}

void recorder_write(struct recorder *recorder) {
  double begin_ns = clock_thread_ns();
  uint64_t device_rows, rows = row_tables_waiting(&recorder->tables, &device_rows);
  uint64_t full_rows = recorder->full_rows - recorder->full_rows_written;
  write_rows(recorder, 1);
  recorder_note_use(recorder, begin_ns, full_rows, device_rows, rows);
}

void recorder_write_full(struct recorder *recorder) { write_rows(recorder, DUMP_FRAME_ROWS); }

void recorder_note_use(struct recorder *recorder, double begin_ns, uint64_t full_rows, uint64_t device_rows,
                       uint64_t rows) {
  if (!full_rows && !device_rows) return;
  if (rows < full_rows + device_rows) rows = full_rows + device_rows;
  double a_row_ns = (clock_thread_ns() - begin_ns) / (double)rows;
  recorder->full_ns += a_row_ns * (double)full_rows;
  recorder->device_ns += a_row_ns * (double)device_rows;
}

/* ---- What is missing, and what is said. */

void recorder_lost(struct recorder *recorder, struct loss loss) {
  assert(recorder->loss_count < LOSSES_MAXIMUM);
  recorder->losses[recorder->loss_count++] = loss;
}

static uint64_t missing_in(const struct recorder *recorder, const struct row_buffer *rows) {
  uint64_t missing = 0;
  for (unsigned i = 0; i < recorder->loss_count; i++)
    if (recorder->losses[i].rows == rows) missing += recorder->losses[i].count;
  return missing;
}

static void diagnose_losses(struct recorder *recorder) {
  for (unsigned i = 0; i < recorder->loss_count; i++) {
    const struct loss *loss = &recorder->losses[i];
    if (loss->count)
      recorder_diagnose(recorder, loss->severity, "capture_dropped", (int64_t)loss->count, loss->table, "%s",
                        loss->message);
  }
  if (recorder->texts.refused)
    recorder_diagnose(recorder, "info", "capture_dropped", (int64_t)recorder->texts.refused, NULL,
                      "names (of ops, functions, threads), lists of input shapes, lines of source or payloads were "
                      "left out because there are too many different ones");
  uint64_t refused = dump_writer_strings_refused(recorder->writer);
  if (refused)
    recorder_diagnose(recorder, "warning", "capture_dropped", (int64_t)refused, NULL,
                      "texts were left out, which read as NULL, because they are too long, too many, or memory was "
                      "short");
  uint64_t strays = dump_writer_strays(recorder->writer);
  if (strays)
    recorder_diagnose(recorder, "error", "capture_stray_write", (int64_t)strays, NULL,
                      "the program replaced the descriptor of the dump while it was written to, which this system does "
                      "not let us prevent: what was written then may stand in a file of the program's, too");
  for (unsigned i = 0; i < recorder->tables.count; i++) {
    const struct row_table *table = &recorder->tables.tables[i];
    if (table->lost)
      recorder_diagnose(recorder, "error", "capture_dropped", (int64_t)table->lost, table->form->name,
                        "%s were lost because the disk did not take them, or memory was short", table->form->contents);
  }
}

void recorder_tell_losses(struct recorder *recorder, bool is_end) {
  recorder->loss_count = 0;
  for EACH_SOURCE(source, recorder->sources)
    if (source->losses) source->losses(recorder);
  for (unsigned i = 0; i < recorder->tables.count; i++) {
    struct row_table *table = &recorder->tables.tables[i];
    row_tables_tell(&recorder->tables, table, missing_in(recorder, table->rows), is_end);
  }
  if (is_end) diagnose_losses(recorder);
}

void recorder_diagnose(struct recorder *recorder, const char *severity, const char *reason, int64_t count,
                       const char *table, const char *format, ...) {
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  struct row_buffer *rows = &recorder->diagnostics;
  struct dump_writer *writer = recorder->writer;
  uint32_t row = row_add(rows);
  if (row == UINT32_MAX) return;
  row_set(rows, row, DIAGNOSTIC_SEVERITY, dump_writer_string(writer, severity, strlen(severity)));
  row_set(rows, row, DIAGNOSTIC_REASON, dump_writer_string(writer, reason, strlen(reason)));
  row_set(rows, row, DIAGNOSTIC_MESSAGE, dump_writer_string(writer, message, strlen(message)));
  if (count) row_set(rows, row, DIAGNOSTIC_COUNT, count);
  if (table) row_set(rows, row, DIAGNOSTIC_TABLE, dump_writer_string(writer, table, strlen(table)));
}
