/* test_schema.c: tables.def is well formed, and schema.c finds and declares everything in it.
**
** Prints a line for each thing that is wrong; exit status 0 when there is none, else 1.
*/
#include "schema/schema.h"

#include <ctype.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

static bool is_name(const char *text) {
  if (!islower((unsigned char)*text)) return false;
  for (; *text; text++) {
    if (!islower((unsigned char)*text) && !isdigit((unsigned char)*text) && *text != '_') return false;
  }
  return true;
}

static bool is_sentence(const char *text) {
  size_t length = strlen(text);
  return length > 2 && isgraph((unsigned char)text[0]) && text[length - 1] == '.' && text[length - 2] != '.' &&
         !strstr(text, "  ");
}

static bool ends_with(const char *text, const char *ending) {
  size_t length = strlen(text), ending_length = strlen(ending);
  return length >= ending_length && strcmp(text + length - ending_length, ending) == 0;
}

static void test_column(const struct table_spec *table, int index) {
  const struct column_spec *column = &table->columns[index];
  const char *where = table->name, *name = column->name;
  bool is_last = index == table->column_count - 1;

  check(is_name(name), "%s.%s: not a name in lower case", where, name);
  check(is_sentence(column->doc), "%s.%s: not a sentence: '%s'", where, name, column->doc);
  check(strcmp(name, "profile") != 0, "%s.%s: the name of the hidden argument", where, name);
  check(column->unit != NULL, "%s.%s: no unit", where, name);

  if (index < 2) {
    check(column->dump_id == 0, "%s.%s: has a dump id", where, name);
  } else if (is_last) {
    check(column->dump_id == 3, "%s.%s: the dump id is not 3", where, name);
  } else {
    check(column->dump_id >= 4, "%s.%s: the dump id is reserved", where, name);
  }
  for (int other = 0; other < index; other++) {
    const struct column_spec *earlier = &table->columns[other];
    check(strcmp(name, earlier->name) != 0, "%s.%s: two columns of that name", where, name);
    check(column->dump_id == 0 || column->dump_id != earlier->dump_id, "%s.%s: has the dump id of %s", where, name,
          earlier->name);
  }

  if (column->type == TYPE_REFERENCE) {
    check(column->target < TABLE_count, "%s.%s: refers to no table", where, name);
    check(ends_with(name, "_id") || column->visibility == INTERNAL_COLUMN,
          "%s.%s: a reference, but its name does not end with _id", where, name);
  } else {
    check(column->target == SCHEMA_NO_TABLE, "%s.%s: has a target, but is no reference", where, name);
    check(!ends_with(name, "_id"), "%s.%s: ends with _id, but is no reference", where, name);
  }
  if (column->visibility == INTERNAL_COLUMN) return;
  /* Means and their like are no whole nanoseconds. */
  bool is_mean = column->type == TYPE_REAL && strcmp(column->unit, "ns") == 0;
  bool is_time = column->type == TYPE_TIME || column->type == TYPE_DURATION || is_mean;
  check(is_time == ends_with(name, "_ns"), "%s.%s: name and type disagree on whether it is a time", where, name);
  check(is_time == (strcmp(column->unit, "ns") == 0), "%s.%s: type and unit disagree", where, name);
  if (ends_with(name, "_bytes") && column->type != TYPE_BOOLEAN)
    check(!strcmp(column->unit, "bytes"), "%s.%s: the unit is not bytes", where, name);
  if (ends_with(name, "_ratio")) check(!strcmp(column->unit, "ratio"), "%s.%s: the unit is not ratio", where, name);
}

static void test_span(const struct table_spec *table) {
  int start = table->start_column, end = table->end_column, dur = table->dur_column;
  if (start < 0) {
    check(start == -1 && end == -1 && dur == -1, "%s: half a span", table->name);
    check(schema_find_column(table, "dur_ns") == -1, "%s: dur_ns without a span", table->name);
    return;
  }
  check(start == schema_find_column(table, "start_ns") && end == schema_find_column(table, "end_ns") &&
            dur == schema_find_column(table, "dur_ns"),
        "%s: the span is somewhere else", table->name);
}

static void test_table(int index) {
  const struct table_spec *table = &schema_tables[index];
  bool is_runs = index == TABLE_runs;

  check(is_name(table->name), "%s: not a name in lower case", table->name);
  check(table->dump_id > 0, "%s: no dump id", table->name);
  check(strstr(table->title, ": ") && is_sentence(table->title), "%s: title is '%s'", table->name, table->title);
  for (int other = 0; other < index; other++) {
    check(strcmp(table->name, schema_tables[other].name) != 0, "%s: two tables of that name", table->name);
    check(table->dump_id != schema_tables[other].dump_id, "%s: has the dump id of %s", table->name,
          schema_tables[other].name);
  }

  check(strcmp(table->columns[0].name, "id") == 0, "%s: the first column is not id", table->name);
  check(strcmp(table->columns[1].name, "profile_id") == 0, "%s: the second column is not profile_id", table->name);
  check(strcmp(table->columns[table->column_count - 1].name, "attributes") == 0, "%s: attributes does not come last",
        table->name);
  for (int column = 0; column < table->column_count; column++) {
    const struct column_spec *spec = &table->columns[column];
    bool is_hidden = spec->visibility == HIDDEN_COLUMN;
    check(is_hidden == (is_runs && column == 1), "%s.%s: wrongly hidden or shown", table->name, spec->name);
    test_column(table, column);
  }
  test_span(table);
}

static void test_find(void) {
  for (int index = 0; index < TABLE_count; index++) {
    const struct table_spec *table = &schema_tables[index];
    char upper[64];
    size_t length = strlen(table->name);
    for (size_t i = 0; i <= length; i++) upper[i] = (char)toupper((unsigned char)table->name[i]);

    check(schema_find_table(table->name) == index, "%s: not found by name", table->name);
    check(schema_find_table(upper) == index, "%s: not found in capitals", table->name);
    check(schema_table_of_dump_id(table->dump_id) == index, "%s: not found by dump id", table->name);
    for (int column = 0; column < table->column_count; column++) {
      const struct column_spec *spec = &table->columns[column];
      check(schema_find_column(table, spec->name) == column, "%s.%s: not found by name", table->name, spec->name);
      check(schema_column_of_dump_id(table, spec->dump_id) == (spec->dump_id ? column : -1),
            "%s.%s: not found by dump id", table->name, spec->name);
    }
    check(schema_find_column(table, "ID") == 0, "%s: ID in capitals is not found", table->name);
    check(schema_find_column(table, "") == -1, "%s: finds a column without a name", table->name);
    check(schema_find_column(table, "i") == -1, "%s: finds a column by half its name", table->name);
    check(schema_find_column(table, "ids") == -1, "%s: finds a column that is not there", table->name);
    check(schema_column_of_dump_id(table, 65535) == -1, "%s: finds a dump id that is not there", table->name);
  }
  check(schema_find_table("") == -1 && schema_find_table("op") == -1 && schema_find_table("opss") == -1,
        "finds a table that is not there");
  check(schema_table_of_dump_id(0) == -1 && schema_table_of_dump_id(65535) == -1, "finds a dump id that is not there");
  check(schema_table_of_dump_id(65536 + 1) == -1, "cuts a dump id to 16 bits");
}

/* What SQLite makes of the declaration must be what `sql_columns` promises. */
static void test_declaration(sqlite3 *database, const struct table_spec *table) {
  char text[8192], query[128];
  int16_t sql_columns[SCHEMA_MAXIMUM_COLUMNS + 1];
  char *message = NULL;
  sqlite3_stmt *statement = NULL;
  int position = 0;
  size_t length = schema_declaration(table, text, sizeof text, sql_columns);

  check(length == strlen(text), "%s: the declaration's length is %zu, not %zu", table->name, length, strlen(text));
  check(sqlite3_exec(database, text, NULL, NULL, &message) == SQLITE_OK, "%s: %s: %s", table->name,
        message ? message : "", text);
  sqlite3_free(message);

  snprintf(query, sizeof query, "SELECT name, type FROM pragma_table_xinfo('%s') ORDER BY cid", table->name);
  if (sqlite3_prepare_v2(database, query, -1, &statement, NULL) != SQLITE_OK) {
    check(false, "%s: %s", table->name, sqlite3_errmsg(database));
    return;
  }
  for (; sqlite3_step(statement) == SQLITE_ROW; position++) {
    const char *name = (const char *)sqlite3_column_text(statement, 0);
    const char *type = (const char *)sqlite3_column_text(statement, 1);
    if (position > table->column_count) break;
    if (sql_columns[position] < 0) {
      check(strcmp(name, "profile") == 0 && strcmp(type, "HIDDEN") == 0, "%s: the last column is %s %s", table->name,
            name, type);
      position++;
      break;
    }
    const struct column_spec *spec = &table->columns[sql_columns[position]];
    const char *expected = spec->type == TYPE_REAL ? "REAL"
                           : spec->type == TYPE_TEXT || spec->type == TYPE_JSON ? "TEXT" : "INTEGER";
    check(strcmp(name, spec->name) == 0, "%s: column %d is %s, not %s", table->name, position, name, spec->name);
    check(strncmp(type, expected, strlen(expected)) == 0, "%s.%s: declared %s", table->name, name, type);
    check((strstr(type, "HIDDEN") != NULL) == (spec->visibility == HIDDEN_COLUMN), "%s.%s: declared %s", table->name,
          name, type);
    check(spec->visibility != INTERNAL_COLUMN, "%s.%s: internal, but declared", table->name, name);
  }
  check(sqlite3_step(statement) != SQLITE_ROW, "%s: columns after the hidden argument", table->name);
  sqlite3_finalize(statement);
  int declared = 0;
  for (int column = 0; column < table->column_count; column++) {
    declared += table->columns[column].visibility != INTERNAL_COLUMN;
  }
  check(position == declared + 1, "%s: %d columns are declared, not %d", table->name, position, declared + 1);

  char cut[32];
  memset(cut, '#', sizeof cut);
  check(schema_declaration(table, cut, 16, NULL) == length, "%s: length depends on the buffer", table->name);
  check(cut[15] == '\0' && strncmp(cut, text, 15) == 0 && cut[16] == '#', "%s: not cut to the buffer", table->name);
  check(schema_declaration(table, NULL, 0, NULL) == length, "%s: length depends on the buffer", table->name);
}

int main(void) {
  sqlite3 *database = NULL;
  if (sqlite3_open(":memory:", &database) != SQLITE_OK) {
    printf("cannot open a database\n");
    return 1;
  }
  for (int table = 0; table < TABLE_count; table++) {
    test_table(table);
    test_declaration(database, &schema_tables[table]);
  }
  sqlite3_close(database);
  test_find();
  return check_result();
}
