/* dump_print.c: rows of one table of a dump file as tab-separated text, for tests that must not depend on the SQL
** side.
**
**   dump_print FILE            tables and their row counts, problems of the file
**   dump_print FILE TABLE      a line of column names, then a line for each row; NULL is \N, tabs and
**                              line ends in texts are \t and \n
*/
#include "dump/reader.h"
#include "schema/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct strings {
  char **texts;
  size_t count, capacity;
};

static enum tfprof_status keep_string(void *context, uint32_t id, const char *text, uint32_t length) {
  struct strings *strings = context;
  if (id >= strings->capacity) {
    strings->capacity = id * 2 + 64;
    strings->texts = realloc(strings->texts, strings->capacity * sizeof *strings->texts);
    if (!strings->texts) return TFPROF_NO_MEMORY;
  }
  while (strings->count <= id) strings->texts[strings->count++] = NULL;
  char *copy = malloc(length + 1);
  if (!copy) return TFPROF_NO_MEMORY;
  memcpy(copy, text ? text : "", length);
  copy[length] = 0;
  strings->texts[id] = copy;
  return TFPROF_OK;
}

static void print_text(const char *text) {
  for (; *text; text++) {
    if (*text == '\t')
      fputs("\\t", stdout);
    else if (*text == '\n')
      fputs("\\n", stdout);
    else if (*text == '\\')
      fputs("\\\\", stdout);
    else
      putchar(*text);
  }
}

static int fail(const struct tfprof_error *error) {
  char text[2200];
  error_text(error, text, sizeof text);
  fprintf(stderr, "dump_print: %s\n", text);
  return 1;
}

static int print_summary(const struct dump_file *file) {
  printf("closed\t%d\n", file->is_closed);
  printf("clocks\t%zu\n", file->clock_count);
  printf("profile\t%s\t%u\t%s\t%s\trank %d of %u\n", file->profile.host ? file->profile.host : "", file->profile.pid,
         file->profile.framework ? file->profile.framework : "",
         file->profile.framework_version ? file->profile.framework_version : "", file->profile.rank,
         file->profile.world_size);
  for (int table = 0; table < TABLE_count; table++) {
    uint64_t rows = 0;
    for (size_t i = 0; i < file->frame_count; i++)
      if (file->frames[i].table_dump_id == schema_tables[table].dump_id) rows += file->frames[i].rows;
    if (rows) printf("rows\t%s\t%llu\n", schema_tables[table].name, (unsigned long long)rows);
  }
  for (size_t i = 0; i < file->problem_count; i++)
    printf("problem\t%s\t%s\t%llu\t%s\n", file->problems[i].severity, file->problems[i].reason,
           (unsigned long long)file->problems[i].count, file->problems[i].message);
  return 0;
}

int main(int argument_count, char **arguments) {
  struct tfprof_error error;
  struct dump_file *file;
  struct dump_cursor *cursor;
  struct strings strings = {0};
  if (argument_count < 2 || argument_count > 3) {
    fprintf(stderr, "usage: dump_print FILE [TABLE]\n");
    return 2;
  }
  if (dump_file_open(arguments[1], &file, &error) != TFPROF_OK) return fail(&error);
  if (argument_count == 2) return print_summary(file);
  int table = schema_find_table(arguments[2]);
  if (table < 0) return fprintf(stderr, "dump_print: there is no table %s\n", arguments[2]), 2;
  const struct table_spec *spec = &schema_tables[table];
  if (dump_file_strings(file, keep_string, &strings, &error) != TFPROF_OK ||
      dump_cursor_open(file, &cursor, &error) != TFPROF_OK)
    return fail(&error);
  printf("row");
  for (unsigned c = 2; c < spec->column_count; c++) printf("\t%s", spec->columns[c].name);
  putchar('\n');
  int64_t *values[SCHEMA_MAXIMUM_COLUMNS] = {0};
  uint64_t *nulls[SCHEMA_MAXIMUM_COLUMNS] = {0};
  for (unsigned c = 0; c < spec->column_count; c++) {
    values[c] = malloc(DUMP_MAXIMUM_FRAME_ROWS * sizeof **values);
    nulls[c] = malloc(DUMP_MAXIMUM_FRAME_ROWS / 8);
    if (!values[c] || !nulls[c]) return 1;
  }
  for (size_t i = 0; i < file->frame_count; i++) {
    const struct dump_frame *frame = &file->frames[i];
    const struct dump_block *blocks[SCHEMA_MAXIMUM_COLUMNS];
    if (frame->table_dump_id != spec->dump_id) continue;
    for (unsigned c = 2; c < spec->column_count; c++) {
      blocks[c] = dump_frame_block(frame, spec->columns[c].dump_id);
      memset(nulls[c], 0, DUMP_MAXIMUM_FRAME_ROWS / 8);
      if (blocks[c] && dump_block_decode(cursor, frame, blocks[c], values[c], nulls[c], &error) != TFPROF_OK)
        return fail(&error);
    }
    for (uint32_t row = 0; row < frame->rows; row++) {
      printf("%llu", (unsigned long long)(frame->first_row + row));
      for (unsigned c = 2; c < spec->column_count; c++) {
        putchar('\t');
        if (!blocks[c] || (blocks[c]->has_nulls && nulls[c][row / 64] >> row % 64 & 1)) {
          fputs("\\N", stdout);
        } else if (spec->columns[c].type == TYPE_TEXT || spec->columns[c].type == TYPE_JSON) {
          uint64_t id = (uint64_t)values[c][row];
          print_text(id < strings.count && strings.texts[id] ? strings.texts[id] : "?");
        } else if (blocks[c]->encoding == DUMP_REAL) {
          double number;
          memcpy(&number, &values[c][row], sizeof number);
          printf("%.17g", number);
        } else {
          printf("%lld", (long long)values[c][row]);
        }
      }
      putchar('\n');
    }
  }
  dump_cursor_close(cursor);
  dump_file_close(file);
  return 0;
}
