/* function_listing.c: see function_listing.h.
**
** Functions are described where they are registered (function_spec.h), a stored SELECT with parameters in its first
** comment: what stands between the title and the columns is the description, what follows "Example: " the example.
*/
#include "vtab/function_listing.h"

#include <ctype.h>
#include <string.h>

#include "vtab/function_spec.h"
#include "vtab/table_part.h"
#include "vtab/timeline_table.h"

SQLITE_EXTENSION_INIT3

const struct stored_column function_listing_columns[] = {
    {"name", "TEXT", NULL, "Name of the function."},
    {"kind", "TEXT", NULL,
     "scalar, aggregate, window (an aggregate that may have OVER, too) or table (rows, by SELECT * FROM name(…))."},
    {"parameters", "TEXT", NULL, "Its arguments in their order. Those in brackets may be left out."},
    {"title", "TEXT", NULL, "What it does or is, in a sentence."},
    {"description", "TEXT", NULL, "The arguments with their units, what comes back, what NULL means, and errors."},
    {"example", "TEXT", NULL, "A SELECT that uses it."},
    {"has_effects", "INTEGER", NULL,
     "1 where it opens, closes, writes or sets something. Views and triggers of a database cannot use it."},
    {NULL, NULL, NULL, NULL},
};

static void add_function(struct listing_rows *rows, const char *name, const char *kind,
                         const struct function_text *text, bool has_effects) {
  listing_add_text(rows, name);
  listing_add_text(rows, kind);
  listing_add_text(rows, text->parameters);
  listing_add_text(rows, text->title);
  listing_add_text(rows, text->text);
  listing_add_text(rows, text->example);
  listing_add_integer(rows, has_effects);
}

static void add_registered(const struct connection *connection, struct listing_rows *rows) {
  for (const struct function_spec *const *group = connection->functions; *group; group++) {
    for (const struct function_spec *spec = *group; spec->name; spec++) {
      if (!spec->text.title || (spec->has_effects && !connection->has_effects)) continue;
      add_function(rows, spec->name, spec->value ? "window" : spec->step ? "aggregate" : "scalar", &spec->text,
                   spec->has_effects);
    }
  }
}

/* Whether a line of a comment, from behind its hyphens on, describes a column. */
static bool is_of_columns(const char *line) { return strncmp(line, "   ", 3) == 0 && islower((unsigned char)line[3]); }

/* The paragraphs between the title and the columns, as one line (sqlite3_free); NULL: none, or no memory. */
static char *prose_of(struct listing_rows *rows, const char *sql) {
  sqlite3_str *text = sqlite3_str_new(NULL);
  const char *line = sql + strcspn(sql, "\n");
  while (strncmp(line, "\n--", 3) == 0 && !is_of_columns(line + 3)) {
    const char *begin = line + 3 + strspn(line + 3, " ");
    int length = (int)strcspn(begin, "\n");
    if (length) sqlite3_str_appendf(text, "%s%.*s", sqlite3_str_length(text) ? " " : "", length, begin);
    line = begin + length;
  }
  rows->is_out_of_memory |= sqlite3_str_errcode(text) == SQLITE_NOMEM;
  return sqlite3_str_finish(text);
}

/* The SELECT behind "Example: ", up to its semicolon (sqlite3_free); NULL: none, or no memory. */
static char *example_of(struct listing_rows *rows, const char *sql) {
  static const char mark[] = "Example: ";
  const char *begin = strstr(sql, mark);
  if (!begin) return NULL;
  begin += sizeof mark - 1;
  char *example = sqlite3_mprintf("%.*s", (int)strcspn(begin, ";"), begin);
  rows->is_out_of_memory |= !example;
  return example;
}

static void add_stored(struct listing_rows *rows) {
  for (const struct stored_select *select = stored_selects; select->name; select++) {
    if (!select->parameters || select->successor) continue;
    char *prose = prose_of(rows, select->sql), *example = example_of(rows, select->sql);
    struct function_text text = {select->parameters, select->title, prose, example};
    add_function(rows, select->name, "table", &text, false);
    sqlite3_free(prose);
    sqlite3_free(example);
  }
}

void function_listing(struct connection *connection, struct listing_rows *rows, sqlite3_uint64 used) {
  (void)used;
  add_registered(connection, rows);
  add_function(rows, "timeline", "table", &timeline_table_text, false);
  for (const struct table_part *const *part = connection->parts; *part; part++)
    for (const struct part_function *function = (*part)->functions; function->name; function++)
      add_function(rows, function->name, "table", &function->text, false);
  add_stored(rows);
}
