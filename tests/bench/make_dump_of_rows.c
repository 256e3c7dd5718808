/* make_dump_of_rows: writes a dump of the rows that it reads, so that a test says itself what was recorded.
**
**   make_dump_of_rows PATH [RECORDER [JOB RANK]] < ROWS
**
** RECORDER is what the file says wrote it, JOB and RANK what its process was.
** Lines of ROWS are fields parted by tabs.  "= TABLE COLUMN..." says what the lines after it hold, until the next such
** line: a row each, a field for each column, as tables.def names them.  An empty field is NULL; a reference is the
** number of a row of its table, from 0 on in the order in which they come; times are nanoseconds since 1970.  Whatever
** is left out is derived when the dump is read, as of any recording.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump/writer.h"
#include "schema/schema.h"

static struct tfprof_error error;
static struct dump_writer *writer;

/* The frame that is being filled. */
static const struct table_spec *table;
static const struct column_spec *columns[SCHEMA_MAXIMUM_COLUMNS];
static unsigned column_count;
static uint32_t rows;
static int64_t integers[SCHEMA_MAXIMUM_COLUMNS][DUMP_FRAME_ROWS];
static double reals[SCHEMA_MAXIMUM_COLUMNS][DUMP_FRAME_ROWS];
static uint64_t nulls[SCHEMA_MAXIMUM_COLUMNS][DUMP_FRAME_ROWS / 64];

static void refuse(const char *what, const char *text) {
  fprintf(stderr, "make_dump_of_rows: %s: %s\n", what, text);
  exit(1);
}

static void stop(void) {
  char text[2200];
  error_text(&error, text, sizeof text);
  refuse("it cannot be written", text);
}

static void write_frame(void) {
  struct dump_column_data data[SCHEMA_MAXIMUM_COLUMNS];
  if (!rows) return;
  for (unsigned i = 0; i < column_count; i++)
    data[i] = (struct dump_column_data){.dump_id = columns[i]->dump_id,
                                        .is_real = columns[i]->type == TYPE_REAL,
                                        .integers = integers[i],
                                        .reals = reals[i],
                                        .nulls = nulls[i]};
  if (dump_writer_rows(writer, table->dump_id, rows, data, column_count, &error)) stop();
  memset(nulls, 0, sizeof nulls);
  rows = 0;
}

static void begin_table(char *fields) {
  write_frame();
  char *name = strsep(&fields, "\t");
  int number = name ? schema_find_table(name) : -1;
  if (number < 0) refuse("no such table", name ? name : "");
  table = &schema_tables[number];
  column_count = 0;
  while (fields) {
    name = strsep(&fields, "\t");
    int column = schema_find_column(table, name);
    if (column < 0 || column_count == SCHEMA_MAXIMUM_COLUMNS) refuse("no such column", name);
    columns[column_count++] = &table->columns[column];
  }
}

static void add_row(char *fields) {
  if (!table) refuse("a row before any table", fields);
  for (unsigned i = 0; i < column_count; i++) {
    const char *field = strsep(&fields, "\t");
    if (!field) refuse("a row with too few fields", table->name);
    integers[i][rows] = 0;
    reals[i][rows] = 0;
    if (!*field) nulls[i][rows / 64] |= (uint64_t)1 << rows % 64;
    else if (columns[i]->type == TYPE_REAL) reals[i][rows] = strtod(field, NULL);
    else if (columns[i]->type == TYPE_TEXT || columns[i]->type == TYPE_JSON)
      integers[i][rows] = dump_writer_string(writer, field, strlen(field));
    else integers[i][rows] = strtoll(field, NULL, 10);
  }
  if (fields) refuse("a row with too many fields", table->name);
  if (++rows == DUMP_FRAME_ROWS) write_frame();
}

int main(int argument_count, char **arguments) {
  if (argument_count != 2 && argument_count != 3 && argument_count != 5) {
    fprintf(stderr, "usage: make_dump_of_rows PATH [RECORDER [JOB RANK]] < ROWS\n");
    return 2;
  }
  bool is_of_job = argument_count == 5;
  const struct dump_profile profile = {
      .host = "host", .recorder = arguments[2], .job = is_of_job ? arguments[3] : NULL, .clock_domain = "realtime",
      .rank = is_of_job ? atoi(arguments[4]) : -1, .created_realtime_ns = 1};
  if (dump_writer_create(arguments[1], true, &profile, &writer, &error)) stop();
  char *line = NULL;
  size_t size = 0;
  for (ssize_t length; (length = getline(&line, &size, stdin)) >= 0;) {
    if (length && line[length - 1] == '\n') line[length - 1] = 0;
    if (line[0] == '=' && line[1] == '\t') begin_table(line + 2);
    else add_row(line);
  }
  free(line);
  write_frame();
  if (dump_writer_close(writer, &error)) stop();
  return 0;
}
