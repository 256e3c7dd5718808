/* stack_rows.c: see stack_rows.h. */
#include "stack_rows.h"

#include "base/list.h"
#include "python_code.h"
#include "python_layout.h"
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
  FRAME_STATEMENT_LINE,
  FRAME_STATEMENT_TEXT,
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
    {DUMP_code_frames_statement_line, DUMP_UNORDERED, false, false},
    {DUMP_code_frames_statement_text, DUMP_UNORDERED, false, false},
};

enum { TRACE_DEPTH, TRACE_LEAF, TRACE_PARENT, TRACE_HASH, TRACE_COLUMNS };
static const struct row_column trace_columns[TRACE_COLUMNS] = {
    {DUMP_code_traces_depth, DUMP_UNORDERED, false, false},
    {DUMP_code_traces_leaf_frame_id, DUMP_UNORDERED, false, false},
    {DUMP_code_traces_parent_id, DUMP_UNORDERED, false, false},
    {DUMP_code_traces_hash, DUMP_UNORDERED, false, false},
};

static const struct table_form frames_form =
    TABLE_FORM(code_frames, TABLE_DEFINITION, "frames of stacks", frame_columns, 512);
static const struct table_form traces_form = TABLE_FORM(code_traces, TABLE_DEFINITION, "stacks", trace_columns, 512);

struct awaited_frame { /* a row whose text has been asked for */
  uint64_t row;
  const struct typed_source *source;
  int32_t line, function_line; /* where its function begins */
};

static struct {
  struct row_buffer frames, traces;
  struct awaited_frame *awaited;
  uint32_t awaited_count, awaited_capacity;
  struct key_map frame_map, trace_map;
  uint64_t *trace_hashes; /* by row */
  uint32_t *trace_depths;
  uint32_t trace_count, hash_capacity, depth_capacity;
  bool is_full;
  uint32_t python; /* the string "python" */
} stacks;

bool stack_rows_open(struct recorder *recorder) {
  memset(&stacks, 0, sizeof stacks);
  return row_tables_add(&recorder->tables, &stacks.frames, &frames_form) &&
         row_tables_add(&recorder->tables, &stacks.traces, &traces_form);
}

void stack_rows_close(void) {
  key_map_end(&stacks.frame_map);
  key_map_end(&stacks.trace_map);
  free(stacks.trace_hashes);
  free(stacks.trace_depths);
  free(stacks.awaited);
}

bool stack_rows_are_full(void) { return stacks.is_full; }

/* Of the hooks' modules, or of a wrapper that says to be of the file of what it stands around (_tfprof_calls.py). */
static bool is_own_name(const uint8_t *name, uint32_t length) {
  static const char prefix[] = "<_tfprof";
  return length >= sizeof prefix - 1 && !memcmp(name, prefix, sizeof prefix - 1);
}

static uint32_t keep_text(struct recorder *recorder, const char *text, size_t length) {
  return texts_keep(&recorder->texts, recorder->writer, text, length);
}

struct code_copy *code_copy_make(struct recorder *recorder, const struct code_item *item) {
  struct code_copy *code = malloc(sizeof *code + item->table_length + item->file_length + 1);
  if (!code) return NULL;
  const uint8_t *file = item->bytes, *function = file + item->file_length, *table = function + item->function_length;
  code->file = keep_text(recorder, (const char *)file, item->file_length);
  code->function = keep_text(recorder, (const char *)function, item->function_length);
  code->first_line = item->first_line;
  code->table_length = item->table_length;
  code->hash = hash_bytes(file, item->file_length) * 31 + hash_bytes(function, item->function_length);
  memcpy(code->table, table, item->table_length);
  code->file_name = (char *)code->table + item->table_length;
  memcpy(code->file_name, file, item->file_length);
  code->file_name[item->file_length] = 0;
  code->is_own = is_own_name(file, item->file_length) || is_own_name(function, item->function_length);
  return code;
}

void code_copy_free(struct code_copy *code) { free(code); }

static void set_text(struct recorder *recorder, uint32_t row, unsigned column, const char *text, size_t length) {
  uint32_t string = length ? keep_text(recorder, text, length) : 0;
  if (string) row_set(&stacks.frames, row, column, string);
}

static void set_statement(struct recorder *recorder, uint32_t row, int32_t line, const struct statement *statement) {
  if (statement->first_line == statement->last_line) return;
  if (statement->first_line != line) row_set(&stacks.frames, row, FRAME_STATEMENT_LINE, statement->first_line);
  set_text(recorder, row, FRAME_STATEMENT_TEXT, statement->text, statement->length);
}

static void set_typed(struct recorder *recorder, uint32_t row, const struct typed_source *source, int32_t line,
                      int32_t function_line) {
  struct statement statement;
  const char *text = NULL;
  size_t length = source_typed_line(source, line, &text);
  set_text(recorder, row, FRAME_TEXT, text, length);
  if (length && source_typed_statement(source, line, function_line, &statement))
    set_statement(recorder, row, line, &statement);
  int32_t cell = typed_source_cell(source);
  if (cell > 0) row_set(&stacks.frames, row, FRAME_CELL, cell);
}

/* Without memory the row has no text. */
static void await_text(uint32_t row, const struct typed_source *source, int32_t line, int32_t function_line) {
  if (!array_room(stacks.awaited, stacks.awaited_count, stacks.awaited_capacity)) return;
  stacks.awaited[stacks.awaited_count++] =
      (struct awaited_frame){stacks.frames.first_row + row, source, line, function_line};
}

static void find_text(struct recorder *recorder, uint32_t row, const char *file, int32_t line, int32_t function_line) {
  const char *text;
  size_t length = source_line(file, line, &text);
  const struct typed_source *source = length ? NULL : source_typed(file);
  if (!source) {
    struct statement statement;
    set_text(recorder, row, FRAME_TEXT, text, length);
    if (length && source_statement(file, line, function_line, &statement))
      set_statement(recorder, row, line, &statement);
  } else if (typed_source_is_told(source)) {
    set_typed(recorder, row, source, line, function_line);
  } else {
    await_text(row, source, line, function_line);
    recorder->is_held = true;
  }
}

bool stack_rows_are_awaited(void) {
  for (uint32_t i = 0; i < stacks.awaited_count; i++)
    if (typed_source_is_awaited(stacks.awaited[i].source)) return true;
  return false;
}

void stack_rows_complete(struct recorder *recorder) {
  for (uint32_t i = 0; i < stacks.awaited_count; i++) {
    const struct awaited_frame *frame = &stacks.awaited[i];
    if (frame->row >= stacks.frames.first_row)
      set_typed(recorder, (uint32_t)(frame->row - stacks.frames.first_row), frame->source, frame->line,
                frame->function_line);
  }
  stacks.awaited_count = 0;
}

static bool traces_are_full(void) { return stacks.trace_count >= TRACE_MAXIMUM + SHORT_TRACE_MAXIMUM; }

/* -1: no memory, or it would be a new one, of a trace that is not kept. */
static int64_t frame_row(struct recorder *recorder, const struct code_copy *code, int32_t line) {
  struct key_map_entry *entry = key_map_entry(&stacks.frame_map, (uint64_t)code->file << 32 | code->function,
                                              (uint64_t)(uint32_t)code->first_line << 32 | (uint32_t)line);
  if (!entry) return -1;
  if (entry->row_plus_one) return (int64_t)entry->row_plus_one - 1;
  uint32_t row = traces_are_full() ? UINT32_MAX : row_add(&stacks.frames);
  if (row == UINT32_MAX) return -1;
  if (code->file) row_set(&stacks.frames, row, FRAME_FILE, code->file);
  if (code->function) row_set(&stacks.frames, row, FRAME_FUNCTION, code->function);
  if (code->first_line > 0) row_set(&stacks.frames, row, FRAME_FIRST_LINE, code->first_line);
  if (line > 0) row_set(&stacks.frames, row, FRAME_LINE, line);
  find_text(recorder, row, code->file_name, line, code->first_line);
  if (!stacks.python) stacks.python = dump_writer_string(recorder->writer, "python", 6);
  if (stacks.python) row_set(&stacks.frames, row, FRAME_LANGUAGE, stacks.python);
  entry->row_plus_one = (uint32_t)(stacks.frames.first_row + row) + 1;
  key_map_added(&stacks.frame_map);
  return (int64_t)entry->row_plus_one - 1;
}

static bool reserve_trace(void) {
  return array_room(stacks.trace_hashes, stacks.trace_count, stacks.hash_capacity) &&
         array_room(stacks.trace_depths, stacks.trace_count, stacks.depth_capacity);
}

int64_t stack_trace_row(struct recorder *recorder, int64_t parent, const struct code_copy *code, uint32_t offset) {
  if (code->is_own) return parent < 0 ? TRACE_OUTSIDE : parent;
  int32_t line = python_line(python_layout.table, code->table, code->table_length, code->first_line, offset);
  int64_t frame = frame_row(recorder, code, line);
  if (parent < 0) parent = -1;
  if (frame < 0) return TRACE_LOST;
  struct key_map_entry *entry = key_map_entry(&stacks.trace_map, (uint64_t)(parent + 1), (uint64_t)frame);
  if (!entry) return TRACE_LOST;
  if (entry->row_plus_one) return (int64_t)entry->row_plus_one - 1;
  bool is_full = stacks.trace_count >= TRACE_MAXIMUM;
  stacks.is_full |= is_full;
  if (is_full && parent >= 0) return stack_trace_row(recorder, -1, code, offset);
  if (traces_are_full() || !reserve_trace()) return TRACE_LOST;
  uint32_t row = row_add(&stacks.traces);
  if (row == UINT32_MAX) return TRACE_LOST;
  const uint64_t place[3] = {parent < 0 ? 0 : stacks.trace_hashes[parent], code->hash, (uint64_t)(uint32_t)line};
  uint64_t hash = hash_bytes(place, sizeof place);
  uint32_t depth = parent < 0 ? 1 : stacks.trace_depths[parent] + 1;
  row_set(&stacks.traces, row, TRACE_DEPTH, depth);
  row_set(&stacks.traces, row, TRACE_LEAF, frame);
  if (parent >= 0) row_set(&stacks.traces, row, TRACE_PARENT, parent);
  row_set(&stacks.traces, row, TRACE_HASH, (int64_t)hash);
  stacks.trace_hashes[stacks.trace_count] = hash;
  stacks.trace_depths[stacks.trace_count++] = depth;
  entry->row_plus_one = (uint32_t)(stacks.traces.first_row + row) + 1;
  key_map_added(&stacks.trace_map);
  return (int64_t)entry->row_plus_one - 1;
}
