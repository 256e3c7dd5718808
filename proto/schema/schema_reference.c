/* schema_reference.c: prints the reference of all tables as Markdown.
**
**   schema_reference > reference.md
**
** One section for each table that is no cache, with its title and a table of its columns, all from tables.def.
** Sentences that do not fit into a cell stand below the table. docs/tables.md carries the output between two markers.
** Exit status 1 when the output could not be written.
*/
#include "schema/schema.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST_CELL = 120 };

static const char *type_name(enum column_type type) {
  switch (type) {
    case TYPE_INTEGER: return "integer";
    case TYPE_BOOLEAN: return "0 or 1";
    case TYPE_REAL: return "real";
    case TYPE_TEXT: return "text";
    case TYPE_JSON: return "JSON";
    case TYPE_TIME: return "time";
    case TYPE_DURATION: return "duration";
    case TYPE_REFERENCE: break;
  }
  return "";
}

/* A bar would end the table cell; underscores and stars would be taken for emphasis, angle brackets for a tag. */
static void print_text(const char *text, size_t length) {
  for (const char *end = text + length; text < end; text++) {
    switch (*text) {
      case '|': case '*': case '_': case '<': case '>': case '\\': case '`': putchar('\\'); break;
      default: break;
    }
    putchar(*text);
  }
}

/* Of a text the first sentences that fit into a cell: their length. All, where the first alone is longer. */
static size_t length_in_cell(const char *text) {
  size_t fitting = 0;
  for (size_t at = 0; text[at] && (at < LONGEST_CELL || !fitting); at++)
    if (text[at] == '.' && (text[at + 1] == ' ' || !text[at + 1])) fitting = at + 1;
  return fitting && strlen(text) > LONGEST_CELL ? fitting : strlen(text);
}

static void print_column(const struct column_spec *spec) {
  printf("| `%s` | ", spec->name);
  if (spec->type == TYPE_REFERENCE) {
    const char *target = schema_tables[spec->target].name;
    printf("→ [`%s`](#%s)", target, target);
  } else {
    printf("%s", type_name((enum column_type)spec->type));
  }
  printf(" | %s | ", spec->unit);
  print_text(spec->doc, length_in_cell(spec->doc));
  printf(" |\n");
}

static void print_table(const struct table_spec *table) {
  printf("## %s\n\n", table->name);
  print_text(table->title, strlen(table->title));
  printf("\n\n| column | type | unit | meaning |\n|---|---|---|---|\n");
  for (int column = 0; column < table->column_count; column++)
    if (table->columns[column].visibility == VISIBLE) print_column(&table->columns[column]);
  bool is_first = true;
  for (int column = 0; column < table->column_count; column++) {
    const struct column_spec *spec = &table->columns[column];
    size_t told = length_in_cell(spec->doc);
    if (spec->visibility != VISIBLE || !spec->doc[told]) continue;
    printf("%s- `%s`: ", is_first ? "\n" : "", spec->name);
    print_text(spec->doc + told + 1, strlen(spec->doc + told + 1));
    printf("\n");
    is_first = false;
  }
}

int main(void) {
  for (int table = 0; table < TABLE_count; table++) {
    if (schema_tables[table].is_cache) continue;
    if (table > 0) printf("\n");
    print_table(&schema_tables[table]);
  }
  if (fflush(stdout) != 0 || ferror(stdout)) {
    perror("schema_reference");
    return 1;
  }
  return 0;
}
