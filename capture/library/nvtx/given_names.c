/* given_names.c: see given_names.h. */
#include "given_names.h"

#include "channel/resource_names.h"

#include <string.h>

enum { NAME_KIND, NAME_NAME, NAME_HANDLE, NAME_CONTEXT, NAME_STREAM, NAME_COLUMNS };
static const struct row_column name_columns[NAME_COLUMNS] = {
    {DUMP_given_names_kind, DUMP_UNORDERED, false, false},   {DUMP_given_names_name, DUMP_UNORDERED, false, false},
    {DUMP_given_names_handle, DUMP_UNORDERED, false, false}, {DUMP_given_names_context, DUMP_UNORDERED, false, false},
    {DUMP_given_names_stream, DUMP_UNORDERED, false, false},
};
static const struct table_form form = TABLE_FORM(given_names, TABLE_ROWS, "names", name_columns, 64);

static struct row_buffer rows;
static uint64_t seen;

bool given_names_open(struct recorder *recorder) {
  seen = 0;
  return row_tables_add(&recorder->tables, &rows, &form);
}

static uint32_t string_of(struct recorder *recorder, const char *text) {
  return texts_keep(&recorder->texts, recorder->writer, text, strlen(text));
}

static void add_name(void *context, const struct resource_name *name) {
  static const char *const kinds[] = {"thread", "device", "context", "stream", "event", "context", "stream"};
  struct recorder *recorder = context;
  uint32_t row = row_add(&rows);
  if (row == UINT32_MAX) return;
  row_set(&rows, row, NAME_KIND, string_of(recorder, kinds[name->kind]));
  row_set(&rows, row, NAME_NAME, string_of(recorder, name->name));
  row_set(&rows, row, NAME_HANDLE, (int64_t)name->handle);
  if (name->kind < RESOURCE_CONTEXT_NUMBER) return;
  row_set(&rows, row, NAME_CONTEXT, (int64_t)(name->number >> 32));
  if (name->kind == RESOURCE_STREAM_NUMBER) row_set(&rows, row, NAME_STREAM, (int64_t)(uint32_t)name->number);
}

void given_names_tick(struct recorder *recorder) { resource_names_since(&seen, add_name, recorder); }
