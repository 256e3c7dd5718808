/* schema.c: the tables of tables.def as constant data, and looking things up in them.
**
** tables.def is included three times: for the columns of each table, for the positions of its span, and for the list of
** tables.  Everything is static and constant, so any thread may read it at any time.
*/
#include "schema.h"

#include <string.h>

#define DOC_ID "The row's id, unique over everything that is open."
#define DOC_PROFILE "The profile (process or rank) that the row belongs to."
#define DOC_ATTRIBUTES "Whatever else the source says about the row, as a JSON object. NULL when there is nothing."
#define DOC_START "When it began, in nanoseconds since 1970; NULL when unknown."
#define DOC_END "When it ended, in nanoseconds since 1970; NULL when it had not ended or this is unknown."
#define DOC_DURATION "How long it took, from start_ns to end_ns; NULL when either is unknown."

/* A run belongs to no profile. The column is there all the same, so that every table begins with the same two. */
#define PROFILE_VISIBILITY(table) (TABLE_##table == TABLE_runs ? HIDDEN_COLUMN : VISIBLE)

#define COLUMN_SPEC(column_name, id, column_type, column_visibility, column_target, column_unit, column_doc) \
  {.name = column_name, .dump_id = (id), .type = (column_type), .visibility = (column_visibility), \
   .target = (column_target), .unit = column_unit, .doc = column_doc},

#define TABLE(table, dump_id, title) \
  static const struct column_spec columns_of_##table[] = { \
    COLUMN_SPEC("id", 0, TYPE_INTEGER, VISIBLE, SCHEMA_NO_TABLE, "", DOC_ID) \
    COLUMN_SPEC("profile_id", 0, TYPE_REFERENCE, PROFILE_VISIBILITY(table), TABLE_profiles, "", DOC_PROFILE)
#define COLUMN(table, name, dump_id, type, unit, doc) \
    COLUMN_SPEC(#name, dump_id, TYPE_##type, VISIBLE, SCHEMA_NO_TABLE, unit, doc)
#define REFERENCE(table, name, dump_id, target, doc) \
    COLUMN_SPEC(#name, dump_id, TYPE_REFERENCE, VISIBLE, TABLE_##target, "", doc)
#define INTERNAL(table, name, dump_id, type, doc) \
    COLUMN_SPEC(#name, dump_id, TYPE_##type, INTERNAL_COLUMN, SCHEMA_NO_TABLE, "", doc)
#define INTERNAL_REFERENCE(table, name, dump_id, target, doc) \
    COLUMN_SPEC(#name, dump_id, TYPE_REFERENCE, INTERNAL_COLUMN, TABLE_##target, "", doc)
#define SPAN(table, start_id, end_id, dur_id) \
    COLUMN_SPEC("start_ns", start_id, TYPE_TIME, VISIBLE, SCHEMA_NO_TABLE, "ns", DOC_START) \
    COLUMN_SPEC("end_ns", end_id, TYPE_TIME, VISIBLE, SCHEMA_NO_TABLE, "ns", DOC_END) \
    COLUMN_SPEC("dur_ns", dur_id, TYPE_DURATION, VISIBLE, SCHEMA_NO_TABLE, "ns", DOC_DURATION)
#define END(table) \
    COLUMN_SPEC("attributes", 3, TYPE_JSON, VISIBLE, SCHEMA_NO_TABLE, "", DOC_ATTRIBUTES) \
  }; \
  _Static_assert(sizeof columns_of_##table / sizeof columns_of_##table[0] == COLUMN_COUNT_##table, \
                 "the enum and the specs disagree on " #table); \
  _Static_assert((int)COLUMN_COUNT_##table <= (int)SCHEMA_MAXIMUM_COLUMNS, "too many columns in " #table);
#include "tables.def"

/* SPAN_START_ops and so on: the position of the span's first column, or -1. A table without SPAN need not have a
** start_ns, and node_steps has one that is no span, so each constant is a sum that begins with -1 and to which SPAN,
** where there is one, adds the rest. */
enum {
#define TABLE(table, dump_id, title) SPAN_START_##table = -1
#define SPAN(table, start_id, end_id, dur_id) + 1 + COLUMN_##table##_start_ns
#define END(table) ,
#include "tables.def"
};

#define AFTER_START(table, distance) (SPAN_START_##table < 0 ? -1 : SPAN_START_##table + (distance))

const struct table_spec schema_tables[TABLE_count] = {
#define TABLE_SPEC(table, id, table_title, cache) \
  [TABLE_##table] = {.name = #table, .dump_id = (id), .column_count = COLUMN_COUNT_##table, .is_cache = (cache), \
                     .start_column = SPAN_START_##table, .end_column = AFTER_START(table, 1), \
                     .dur_column = AFTER_START(table, 2), .title = table_title, .columns = columns_of_##table},
#define TABLE(table, id, table_title) TABLE_SPEC(table, id, table_title, false)
#define CACHE(table, id, table_title) TABLE_SPEC(table, id, table_title, true)
#include "tables.def"
};

static int lower(int character) {
  return character >= 'A' && character <= 'Z' ? character - 'A' + 'a' : character;
}

/* Not strcasecmp(): that one follows the locale of the host program, SQL names do not. */
static bool same_name(const char *left, const char *right) {
  while (*left && lower((unsigned char)*left) == lower((unsigned char)*right)) {
    left++;
    right++;
  }
  return lower((unsigned char)*left) == lower((unsigned char)*right);
}

int schema_find_table(const char *name) {
  for (int table = 0; table < TABLE_count; table++) {
    if (same_name(schema_tables[table].name, name)) return table;
  }
  return -1;
}

int schema_find_column(const struct table_spec *table, const char *name) {
  for (int column = 0; column < table->column_count; column++) {
    if (same_name(table->columns[column].name, name)) return column;
  }
  return -1;
}

int schema_table_of_dump_id(unsigned dump_id) {
  if (dump_id == 0) return -1;
  for (int table = 0; table < TABLE_count; table++) {
    if (schema_tables[table].dump_id == dump_id) return table;
  }
  return -1;
}

int schema_column_of_dump_id(const struct table_spec *table, unsigned dump_id) {
  if (dump_id == 0) return -1; /* id and profile_id are never stored */
  for (int column = 0; column < table->column_count; column++) {
    if (table->columns[column].dump_id == dump_id) return column;
  }
  return -1;
}

static const char *sql_type(enum column_type type) {
  switch (type) {
    case TYPE_REAL: return "REAL";
    case TYPE_TEXT:
    case TYPE_JSON: return "TEXT";
    case TYPE_INTEGER:
    case TYPE_BOOLEAN:
    case TYPE_TIME:
    case TYPE_DURATION:
    case TYPE_REFERENCE: break;
  }
  return "INTEGER";
}

/* Text that is written as far as it fits and counted in full. */
struct output {
  char *buffer;
  size_t size, length;
};

static void append_sql(struct output *output, const char *text) {
  size_t length = strlen(text);
  if (output->length < output->size) {
    size_t room = output->size - output->length - 1; /* the end mark has its place always */
    size_t fitting = length < room ? length : room;
    memcpy(output->buffer + output->length, text, fitting);
    output->buffer[output->length + fitting] = '\0';
  }
  output->length += length;
}

size_t schema_declaration(const struct table_spec *table, char *buffer, size_t size, int16_t *sql_columns) {
  struct output output = {.buffer = buffer, .size = size, .length = 0};
  int position = 0;
  append_sql(&output, "CREATE TABLE ");
  append_sql(&output, table->name);
  append_sql(&output, "(");
  for (int column = 0; column < table->column_count; column++) {
    const struct column_spec *spec = &table->columns[column];
    if (spec->visibility == INTERNAL_COLUMN) continue;
    append_sql(&output, spec->name);
    append_sql(&output, " ");
    append_sql(&output, sql_type((enum column_type)spec->type));
    append_sql(&output, spec->visibility == HIDDEN_COLUMN ? " HIDDEN, " : ", ");
    if (sql_columns) sql_columns[position] = (int16_t)column;
    position++;
  }
  /* No type: the argument may be a number (an id) as well as a text (a path or glob) and must not be converted. */
  append_sql(&output, "profile HIDDEN)");
  if (sql_columns) sql_columns[position] = -1;
  return output.length;
}
