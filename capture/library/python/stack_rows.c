/* stack_rows.c: see stack_rows.h. */
#include "stack_rows.h"

#include "python_code.h"
#include "python_layout.h"
#include "recorder/dump_ids.h"
#include "source_text.h"

#include <stdlib.h>

enum {
  FRAME_FILE,
  FRAME_LINE,
  FRAME_FUNCTION,
  FRAME_FIRST_LINE,
  FRAME_TEXT,
  FRAME_LANGUAGE,
  FRAME_CELL,
  FRAME_COLUMNS
};
static const struct row_column frame_columns[FRAME_COLUMNS] = {
    {DUMP_code_frames_file, DUMP_UNORDERED, false, false},
    {DUMP_code_frames_line, DUMP_UNORDERED, false, false},
    {DUMP_code_frames_function, DUMP_UNORDERED, false, false},
    {DUMP_code_frames_first_line, DUMP_UNORDERED, false, false},
    {DUMP_code_frames_text, DUMP_UNORDERED, false, false},
    {DUMP_code_frames_language, DUMP_UNORDERED, false, false},
    {DUMP_code_frames_cell, DUMP_UNORDERED, false, false},
};

enum { TRACE_DEPTH, TRACE_LEAF, TRACE_PARENT, TRACE_HASH, TRACE_COLUMNS };
static const struct row_column trace_columns[TRACE_COLUMNS] = {
    {DUMP_code_traces_depth, DUMP_UNORDERED, false, false},
    {DUMP_code_traces_leaf_frame_id, DUMP_UNORDERED, false, false},
    {DUMP_code_traces_parent_id, DUMP_UNORDERED, false, false},
    {DUMP_code_traces_hash, DUMP_UNORDERED, false, false},
};

bool stack_rows_begin(struct stack_rows *rows) {
  memset(rows, 0, sizeof *rows);
  return row_buffer_begin(&rows->frames, DUMP_TABLE_code_frames, frame_columns, FRAME_COLUMNS, 512) &&
         row_buffer_begin(&rows->traces, DUMP_TABLE_code_traces, trace_columns, TRACE_COLUMNS, 512);
}

void stack_rows_end(struct stack_rows *rows) {
  row_buffer_end(&rows->frames);
  row_buffer_end(&rows->traces);
  row_map_end(&rows->frame_map);
  row_map_end(&rows->trace_map);
  free(rows->trace_hashes);
  free(rows->trace_depths);
  free(rows->awaited);
  memset(rows, 0, sizeof *rows);
}

struct code_copy *code_copy_make(struct dump_writer *writer, const struct code_item *item) {
  struct code_copy *code = malloc(sizeof *code + item->table_length + item->file_length + 1);
  if (!code) return NULL;
  const uint8_t *file = item->bytes, *function = file + item->file_length, *table = function + item->function_length;
  code->file = dump_writer_string(writer, (const char *)file, item->file_length);
  code->function = dump_writer_string(writer, (const char *)function, item->function_length);
  code->first_line = item->first_line;
  code->table_length = item->table_length;
  code->hash = intern_hash(file, item->file_length) * 31 + intern_hash(function, item->function_length);
  memcpy(code->table, table, item->table_length);
  code->file_name = (char *)code->table + item->table_length;
  memcpy(code->file_name, file, item->file_length);
  code->file_name[item->file_length] = 0;
  return code;
}

void code_copy_free(struct code_copy *code) { free(code); }

static void set_text(struct stack_rows *rows, struct dump_writer *writer, uint32_t row, const char *text,
                     size_t length) {
  uint32_t string = length ? dump_writer_string(writer, text, length) : 0;
  if (string) row_set(&rows->frames, row, FRAME_TEXT, string);
}

static void set_typed(struct stack_rows *rows, struct dump_writer *writer, uint32_t row,
                      const struct typed_source *source, int32_t line) {
  const char *text = NULL;
  size_t length = source_typed_line(source, line, &text);
  set_text(rows, writer, row, text, length);
  int32_t cell = typed_source_cell(source);
  if (cell > 0) row_set(&rows->frames, row, FRAME_CELL, cell);
}

/* Without memory the row has no text. */
static void await_text(struct stack_rows *rows, uint32_t row, const struct typed_source *source, int32_t line) {
  if (rows->awaited_count == rows->awaited_capacity) {
    uint32_t capacity = rows->awaited_capacity ? rows->awaited_capacity * 2 : 16;
    struct awaited_frame *larger = realloc(rows->awaited, capacity * sizeof *larger);
    if (!larger) return;
    rows->awaited = larger;
    rows->awaited_capacity = capacity;
  }
  rows->awaited[rows->awaited_count++] = (struct awaited_frame){rows->frames.first_row + row, source, line};
}

static void find_text(struct stack_rows *rows, struct dump_writer *writer, uint32_t row, const char *file,
                      int32_t line) {
  const char *text;
  size_t length = source_line(file, line, &text);
  const struct typed_source *source = length ? NULL : source_typed(file);
  if (!source) set_text(rows, writer, row, text, length);
  else if (typed_source_is_told(source)) set_typed(rows, writer, row, source, line);
  else await_text(rows, row, source, line);
}

bool stack_rows_are_awaited(const struct stack_rows *rows) {
  for (uint32_t i = 0; i < rows->awaited_count; i++)
    if (typed_source_is_awaited(rows->awaited[i].source)) return true;
  return false;
}

void stack_rows_complete(struct stack_rows *rows, struct dump_writer *writer) {
  for (uint32_t i = 0; i < rows->awaited_count; i++) {
    const struct awaited_frame *frame = &rows->awaited[i];
    if (frame->row >= rows->frames.first_row)
      set_typed(rows, writer, (uint32_t)(frame->row - rows->frames.first_row), frame->source, frame->line);
  }
  rows->awaited_count = 0;
}

static int64_t frame_row(struct stack_rows *rows, struct dump_writer *writer, const struct code_copy *code,
                         int32_t line) {
  struct row_map_entry *entry = row_map_entry(&rows->frame_map, (uint64_t)code->file << 32 | code->function,
                                              (uint64_t)(uint32_t)code->first_line << 32 | (uint32_t)line);
  if (!entry) return -1;
  if (entry->row_plus_one) return (int64_t)entry->row_plus_one - 1;
  uint32_t row = row_add(&rows->frames);
  if (row == UINT32_MAX) return -1;
  if (code->file) row_set(&rows->frames, row, FRAME_FILE, code->file);
  if (code->function) row_set(&rows->frames, row, FRAME_FUNCTION, code->function);
  if (code->first_line > 0) row_set(&rows->frames, row, FRAME_FIRST_LINE, code->first_line);
  if (line > 0) row_set(&rows->frames, row, FRAME_LINE, line);
  find_text(rows, writer, row, code->file_name, line);
  if (!rows->python) rows->python = dump_writer_string(writer, "python", 6);
  if (rows->python) row_set(&rows->frames, row, FRAME_LANGUAGE, rows->python);
  entry->row_plus_one = (uint32_t)(rows->frames.first_row + row) + 1;
  row_map_added(&rows->frame_map);
  return (int64_t)entry->row_plus_one - 1;
}

static bool reserve_trace(struct stack_rows *rows) {
  if (rows->trace_count < rows->trace_capacity) return true;
  uint32_t capacity = rows->trace_capacity ? rows->trace_capacity * 2 : 1024;
  uint64_t *hashes = realloc(rows->trace_hashes, capacity * sizeof *hashes);
  if (!hashes) return false;
  rows->trace_hashes = hashes;
  uint32_t *depths = realloc(rows->trace_depths, capacity * sizeof *depths);
  if (!depths) return false;
  rows->trace_depths = depths;
  rows->trace_capacity = capacity;
  return true;
}

int64_t stack_trace_row(struct stack_rows *rows, struct dump_writer *writer, int64_t parent,
                        const struct code_copy *code, uint32_t offset) {
  int32_t line = python_line(python_layout.table, code->table, code->table_length, code->first_line, offset);
  int64_t frame = frame_row(rows, writer, code, line);
  if (frame < 0) return -1;
  struct row_map_entry *entry = row_map_entry(&rows->trace_map, (uint64_t)(parent + 1), (uint64_t)frame);
  if (!entry) return -1;
  if (entry->row_plus_one) return (int64_t)entry->row_plus_one - 1;
  bool is_full = rows->trace_count >= TRACE_MAXIMUM;
  rows->is_full |= is_full;
  if (is_full && parent >= 0) return stack_trace_row(rows, writer, -1, code, offset);
  if (rows->trace_count >= TRACE_MAXIMUM + SHORT_TRACE_MAXIMUM || !reserve_trace(rows)) return -1;
  uint32_t row = row_add(&rows->traces);
  if (row == UINT32_MAX) return -1;
  const uint64_t place[3] = {parent < 0 ? 0 : rows->trace_hashes[parent], code->hash, (uint64_t)(uint32_t)line};
  uint64_t hash = intern_hash(place, sizeof place);
  uint32_t depth = parent < 0 ? 1 : rows->trace_depths[parent] + 1;
  row_set(&rows->traces, row, TRACE_DEPTH, depth);
  row_set(&rows->traces, row, TRACE_LEAF, frame);
  if (parent >= 0) row_set(&rows->traces, row, TRACE_PARENT, parent);
  row_set(&rows->traces, row, TRACE_HASH, (int64_t)hash);
  rows->trace_hashes[rows->trace_count] = hash;
  rows->trace_depths[rows->trace_count++] = depth;
  entry->row_plus_one = (uint32_t)(rows->traces.first_row + row) + 1;
  row_map_added(&rows->trace_map);
  return (int64_t)entry->row_plus_one - 1;
}
