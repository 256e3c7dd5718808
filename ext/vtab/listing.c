/* listing.c: see listing.h.
**
** Their columns are described in the arrays below.  Caches (tables.def) are listed where the hidden column is_cache is
** named, such as by WHERE is_cache >= 0.
**
** One module serves all: a listing is made as a whole when it is read, as an array of cells.
*/
#include "vtab/listing.h"

#include <stdlib.h>
#include <string.h>

#include "read/read.h"
#include "schema/reasons.h"
#include "store/snapshot.h"
#include "vtab/findings.h"
#include "vtab/function_listing.h"
#include "vtab/listing_rows.h"
#include "vtab/stored_views.h"
#include "vtab/table_part.h"
#include "vtab/timeline_table.h"

SQLITE_EXTENSION_INIT3

/* The hidden columns is_cache: who names one sees caches, too. */
enum { TABLES_IS_CACHE = 4, COLUMNS_IS_CACHE = 5 };

struct listing {
  const char *name;
  const struct stored_column *columns; /* ends at the first without a name */
  bool has_caches;                     /* the hidden column is_cache comes last */
  /* used: bits of columns */
  void (*list)(struct connection *connection, struct listing_rows *rows, sqlite3_uint64 used);
};

struct registration {
  struct connection *connection; /* retained */
  const struct listing *listing;
};

struct listing_table {
  sqlite3_vtab base;
  struct connection *connection; /* retained */
  const struct listing *listing;
  size_t column_count;
};

struct listing_cursor {
  sqlite3_vtab_cursor base;
  struct listing_rows rows;
  size_t row;
};

/* ---- what is listed ---- */

/* The rows of every table, those of diagnostics last, for making the others may add to it. */
static void count_rows(struct connection *connection, struct listing_rows *rows, uint64_t *counts) {
  connection_begin(connection);
  for (unsigned i = 0; i <= TABLE_count && !rows->status; i++) {
    unsigned table = i < TABLE_count ? i : TABLE_diagnostics;
    struct snapshot *snapshot;
    if (i == TABLE_diagnostics) continue;
    rows->status = store_snapshot(connection->store, table, NULL, &snapshot, &rows->error);
    if (rows->status) break;
    counts[table] = snapshot->rows;
    snapshot_release(snapshot);
  }
  connection_end(connection);
}

/* A statement that finds the tables and views of a name, ?1, in all databases: main.ops, temp.ops. NULL: it cannot be
** had. */
static sqlite3_stmt *prepare_namesakes(sqlite3 *db) {
  sqlite3_stmt *databases = NULL, *statement = NULL;
  if (sqlite3_prepare_v2(db, "SELECT name FROM pragma_database_list", -1, &databases, NULL)) return NULL;
  sqlite3_str *sql = sqlite3_str_new(db);
  while (sqlite3_step(databases) == SQLITE_ROW) {
    const char *name = (const char *)sqlite3_column_text(databases, 0);
    bool is_temp = name && strcmp(name, "temp") == 0;
    sqlite3_str_appendf(sql, "%sSELECT '%q.' || name FROM %s%w%s WHERE name = ?1 COLLATE NOCASE AND type <> 'index'",
                        sqlite3_str_length(sql) ? " UNION ALL " : "", name ? name : "", is_temp ? "" : "\"",
                        is_temp ? "sqlite_temp_master" : name ? name : "", is_temp ? "" : "\".sqlite_master");
  }
  sqlite3_finalize(databases);
  char *text = sqlite3_str_finish(sql);
  if (text) sqlite3_prepare_v2(db, text, -1, &statement, NULL);
  sqlite3_free(text);
  return statement;
}

/* Of the tables that the user has, which of them a name means; to be freed. NULL: ours. */
static char *tell_namesakes(sqlite3_stmt *statement, const char *name) {
  int count = 0;
  sqlite3_str *found = sqlite3_str_new(NULL);
  sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
  while (sqlite3_step(statement) == SQLITE_ROW) {
    sqlite3_str_appendf(found, "%s%s", count++ ? " and " : "", sqlite3_column_text(statement, 0));
  }
  sqlite3_reset(statement);
  if (count) {
    sqlite3_str_appendf(found, " %s yours, which unqualified names mean; this one is tfprof_own.%s",
                        count > 1 ? "are" : "is", name);
  }
  return sqlite3_str_finish(found);
}

static void add_table(struct listing_rows *rows, const struct table_spec *table, sqlite3_int64 count, char *message) {
  listing_add_text(rows, table->name);
  listing_add_integer(rows, count);
  listing_add_text(rows, table->title);
  listing_add_text(rows, message);
  listing_add_integer(rows, table->is_cache);
  sqlite3_free(message);
}

/* Rows of the table of a part that the user fills; -1: it is not there. */
static sqlite3_int64 count_user_rows(const struct connection *connection, const struct table_part *part) {
  sqlite3_stmt *statement = NULL;
  sqlite3_int64 count = -1;
  char *sql = part->user_table ? sqlite3_mprintf("SELECT count(*) FROM temp.\"%w\"", part->user_table->name) : NULL;
  bool is_there = sql && sqlite3_prepare_v2(connection->db, sql, -1, &statement, NULL) == SQLITE_OK;
  if (is_there && sqlite3_step(statement) == SQLITE_ROW) count = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  sqlite3_free(sql);
  return count;
}

static void list_tables(struct connection *connection, struct listing_rows *rows, sqlite3_uint64 used) {
  uint64_t counts[TABLE_count] = {0};
  if (used & 2) count_rows(connection, rows, counts);
  sqlite3_stmt *namesakes = used & 8 ? prepare_namesakes(connection->db) : NULL;
  for (unsigned table = 0; table < TABLE_count && !rows->status; table++) {
    if (schema_tables[table].is_cache && !(used >> TABLES_IS_CACHE & 1)) continue;
    add_table(rows, &schema_tables[table], (sqlite3_int64)counts[table],
              namesakes ? tell_namesakes(namesakes, schema_tables[table].name) : NULL);
  }
  sqlite3_finalize(namesakes);
  for (const struct table_part *const *part = connection->parts; *part; part++) {
    sqlite3_int64 count = count_user_rows(connection, *part);
    if (count >= 0) add_table(rows, (*part)->user_table, count, NULL);
  }
}

static const char *type_name(enum column_type type) {
  if (type == TYPE_REAL) return "REAL";
  return type == TYPE_TEXT || type == TYPE_JSON ? "TEXT" : "INTEGER";
}

static void add_columns(struct listing_rows *rows, const struct table_spec *table) {
  for (unsigned column = 0; column < table->column_count; column++) {
    const struct column_spec *spec = &table->columns[column];
    if (spec->visibility != VISIBLE) continue;
    listing_add_text(rows, table->name);
    listing_add_text(rows, spec->name);
    listing_add_text(rows, type_name((enum column_type)spec->type));
    listing_add_text(rows, *spec->unit ? spec->unit : NULL);
    listing_add_text(rows, spec->doc);
    listing_add_integer(rows, table->is_cache);
  }
}

static void add_described(struct listing_rows *rows, const char *name, const struct stored_column *columns) {
  for (const struct stored_column *column = columns; column && column->name; column++) {
    listing_add_text(rows, name);
    listing_add_text(rows, column->name);
    listing_add_text(rows, column->type);
    listing_add_text(rows, column->unit);
    listing_add_text(rows, column->text);
    listing_add_integer(rows, false);
  }
}

static void add_listing_columns(struct listing_rows *rows);

static void list_columns(struct connection *connection, struct listing_rows *rows, sqlite3_uint64 used) {
  for (unsigned table = 0; table < TABLE_count; table++)
    if (!schema_tables[table].is_cache || used >> COLUMNS_IS_CACHE & 1) add_columns(rows, &schema_tables[table]);
  for (const struct table_part *const *part = connection->parts; *part; part++)
    if (count_user_rows(connection, *part) >= 0) add_columns(rows, (*part)->user_table);
  for (const struct stored_select *select = stored_selects; select->name; select++) {
    add_described(rows, select->name, select->columns);
    if (strcmp(select->name, "advise") == 0) add_described(rows, FINDINGS_TABLE, select->columns);
  }
  add_described(rows, "timeline", timeline_table_columns);
  add_listing_columns(rows);
}

/* Whether a view works is found out by preparing it, which takes most of a millisecond: not where nobody asks. */
static void add_view(struct connection *connection, struct listing_rows *rows, const struct stored_select *select,
                     bool is_tried) {
  bool is_broken = false;
  char *trouble = is_tried ? stored_view_trouble(connection, select, &is_broken) : NULL;
  const char *kind = select->parameters && !select->successor ? "function" : select->kind;
  if (!trouble && select->successor && is_tried)
    trouble = sqlite3_mprintf("is called %s now. This name goes with version 0.3", select->successor);
  listing_add_text(rows, select->name);
  listing_add_text(rows, is_broken ? "broken" : kind);
  listing_add_text(rows, select->title);
  listing_add_text(rows, select->parameters);
  listing_add_text(rows, select->sql);
  listing_add_text(rows, trouble);
  listing_add_text(rows, select->section);
  sqlite3_free(trouble);
}

static void list_views(struct connection *connection, struct listing_rows *rows, sqlite3_uint64 used) {
  bool is_tried = used & (1 << 1 | 1 << 5); /* its kind, which may be broken, or the message */
  for (const struct stored_select *select = stored_selects; select->name; select++)
    add_view(connection, rows, select, is_tried);
}

static void list_panels(struct connection *connection, struct listing_rows *rows, sqlite3_uint64 used) {
  (void)connection;
  (void)used;
  for (const struct stored_select *panel = stored_panels; panel->name; panel++) {
    listing_add_text(rows, panel->name);
    listing_add_text(rows, panel->title);
    listing_add_text(rows, panel->parameters);
    listing_add_text(rows, panel->sql);
  }
}

static void list_formats(struct connection *connection, struct listing_rows *rows, sqlite3_uint64 used) {
  (void)connection;
  (void)used;
  for (const struct reader *const *reader = readers; *reader; reader++) {
    for (const struct read_format *const *format = (*reader)->formats; *format; format++) {
      listing_add_text(rows, (*format)->name);
      listing_add_text(rows, (*format)->description);
    }
  }
}

static void list_reasons(struct connection *connection, struct listing_rows *rows, sqlite3_uint64 used) {
  (void)connection;
  (void)used;
  for (const struct reason_spec *reason = schema_reasons; reason->code; reason++) {
    listing_add_text(rows, reason->code);
    listing_add_text(rows, reason->severities);
    listing_add_text(rows, reason->happened);
    listing_add_text(rows, reason->remedy);
  }
}

#define LAST_COLUMN {NULL, NULL, NULL, NULL}

static const struct stored_column columns_of_tables[] = {
    {"name", "TEXT", NULL, "Name of the table."},
    {"rows", "INTEGER", "count",
     "Number of its rows in all that is open. Asking for it reads everything that is not read yet."},
    {"title", "TEXT", NULL, "What a row is, in a sentence."},
    {"message", "TEXT", NULL, "Tables of yours that have the name as well. NULL where there are none."},
    LAST_COLUMN,
};
static const struct stored_column columns_of_columns[] = {
    {"table_name", "TEXT", NULL, "Name of the table, view, check or function."},
    {"column_name", "TEXT", NULL, "Name of the column. Columns come in the order of SELECT *."},
    {"type", "TEXT", NULL, "INTEGER, REAL or TEXT. Every column may hold NULL, too."},
    {"unit", "TEXT", NULL, "Unit of the values: ns, bytes, count, ratio and others. NULL where there is none."},
    {"description", "TEXT", NULL, "What the column holds, in sentences."},
    LAST_COLUMN,
};
static const struct stored_column columns_of_formats[] = {
    {"name", "TEXT", NULL, "Name of the kind of files, as in profiles.format."},
    {"description", "TEXT", NULL, "What such files are, and what writes them. Files are known by their content."},
    LAST_COLUMN,
};
static const struct stored_column columns_of_reasons[] = {
    {"reason", "TEXT", NULL, "The code, as in diagnostics.reason."},
    {"severity", "TEXT", NULL, "Severities that rows with the code may have: error, warning or info, the worst first."},
    {"what_happened", "TEXT", NULL, "What happened, in sentences. diagnostics.message has the particulars."},
    {"what_to_do", "TEXT", NULL, "What to do about it, in sentences."},
    LAST_COLUMN,
};
static const struct stored_column columns_of_views[] = {
    {"name", "TEXT", NULL, "Name of the stored SELECT."},
    {"kind", "TEXT", NULL, "view, check, function (a SELECT with parameters), old (an old name), or broken."},
    {"title", "TEXT", NULL, "What it shows, in a sentence."},
    {"parameters", "TEXT", NULL, "Arguments of a function in their order. NULL of views and checks."},
    {"sql", "TEXT", NULL, "The SELECT, with the comment that describes it."},
    {"message", "TEXT", NULL, "Why it cannot be used, or by which name. NULL where all is well."},
    {"section", "TEXT", NULL,
     "The section that it is listed in, such as steps, kernels, xprof, hta, helpers, checks or old."},
    LAST_COLUMN,
};
static const struct stored_column columns_of_panels[] = {
    {"name", "TEXT", NULL, "Name of the part of a report."},
    {"title", "TEXT", NULL, "What it shows, in a sentence."},
    {"parameters", "TEXT", NULL, "Parameters of the SELECT in their order. NULL where there are none."},
    {"sql", "TEXT", NULL, "The SELECT, with the comment that describes it."},
    LAST_COLUMN,
};

static const struct listing listings[] = {
    {"tfprof_tables", columns_of_tables, true, list_tables},
    {"tfprof_columns", columns_of_columns, true, list_columns},
    {"tfprof_functions", function_listing_columns, false, function_listing},
    {"tfprof_formats", columns_of_formats, false, list_formats},
    {"tfprof_reasons", columns_of_reasons, false, list_reasons},
    {"tfprof_views", columns_of_views, false, list_views},
    {"tfprof_panels", columns_of_panels, false, list_panels},
};

static void add_listing_columns(struct listing_rows *rows) {
  for (size_t i = 0; i < sizeof listings / sizeof listings[0]; i++)
    add_described(rows, listings[i].name, listings[i].columns);
}

static size_t column_count(const struct listing *listing) {
  size_t count = listing->has_caches;
  for (const struct stored_column *column = listing->columns; column->name; column++) count++;
  return count;
}

/* To be freed with sqlite3_free; NULL: no memory. */
static char *declaration(const struct listing *listing) {
  sqlite3_str *text = sqlite3_str_new(NULL);
  for (const struct stored_column *column = listing->columns; column->name; column++) {
    sqlite3_str_appendf(text, "%s%s %s", column == listing->columns ? "CREATE TABLE x(" : ", ", column->name,
                        column->type);
  }
  sqlite3_str_appendf(text, "%s)", listing->has_caches ? ", is_cache INTEGER HIDDEN" : "");
  return sqlite3_str_finish(text);
}

/* ---- the module ---- */

static void registration_free(void *pointer) {
  struct registration *registration = pointer;
  connection_release(registration->connection);
  free(registration);
}

static int listing_connect(sqlite3 *db, void *data, int count, const char *const *arguments, sqlite3_vtab **made,
                           char **message) {
  const struct registration *registration = data;
  (void)count;
  (void)arguments;
  (void)message;
  char *columns = declaration(registration->listing);
  int result = columns ? sqlite3_declare_vtab(db, columns) : SQLITE_NOMEM;
  sqlite3_free(columns);
  if (!result) result = sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
  if (result) return result;
  struct listing_table *table = calloc(1, sizeof *table);
  if (!table) return SQLITE_NOMEM;
  table->listing = registration->listing;
  table->column_count = column_count(registration->listing);
  table->connection = connection_retain(registration->connection);
  *made = &table->base;
  return SQLITE_OK;
}

static int listing_disconnect(sqlite3_vtab *base) {
  connection_release(((struct listing_table *)base)->connection);
  free(base);
  return SQLITE_OK;
}

static int listing_best_index(sqlite3_vtab *base, sqlite3_index_info *info) {
  (void)base;
  info->idxNum = (int)(info->colUsed & 0x7fffffff);
  info->estimatedCost = 500;
  info->estimatedRows = 500;
  return SQLITE_OK;
}

static int listing_open(sqlite3_vtab *base, sqlite3_vtab_cursor **opened) {
  struct listing_cursor *cursor = calloc(1, sizeof *cursor);
  (void)base;
  if (!cursor) return SQLITE_NOMEM;
  *opened = &cursor->base;
  return SQLITE_OK;
}

static int listing_close(sqlite3_vtab_cursor *base) {
  struct listing_cursor *cursor = (struct listing_cursor *)base;
  listing_clear(&cursor->rows);
  free(cursor);
  return SQLITE_OK;
}

static int listing_filter(sqlite3_vtab_cursor *base, int number, const char *text, int count, sqlite3_value **values) {
  struct listing_cursor *cursor = (struct listing_cursor *)base;
  const struct listing_table *table = (const struct listing_table *)base->pVtab;
  (void)text;
  (void)count;
  (void)values;
  cursor->row = 0;
  listing_clear(&cursor->rows);
  table->listing->list(table->connection, &cursor->rows, (sqlite3_uint64)number);
  if (cursor->rows.status) return connection_table_error(base->pVtab, table->listing->name, &cursor->rows.error);
  return cursor->rows.is_out_of_memory ? SQLITE_NOMEM : SQLITE_OK;
}

static int listing_next(sqlite3_vtab_cursor *base) {
  ((struct listing_cursor *)base)->row++;
  return SQLITE_OK;
}

static int listing_eof(sqlite3_vtab_cursor *base) {
  const struct listing_cursor *cursor = (const struct listing_cursor *)base;
  const struct listing_table *table = (const struct listing_table *)base->pVtab;
  return cursor->row * table->column_count >= cursor->rows.count;
}

static int listing_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
  const struct listing_cursor *cursor = (const struct listing_cursor *)base;
  const struct listing_table *table = (const struct listing_table *)base->pVtab;
  const struct listing_cell *cell = &cursor->rows.cells[cursor->row * table->column_count + (size_t)column];
  /* Copied: a text may be asked for after the next xFilter has freed it. */
  if (cell->is_integer) sqlite3_result_int64(context, cell->integer);
  if (cell->text) sqlite3_result_text(context, cell->text, -1, SQLITE_TRANSIENT);
  return SQLITE_OK;
}

static int listing_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid) {
  *rowid = (sqlite3_int64)((const struct listing_cursor *)base)->row + 1;
  return SQLITE_OK;
}

static const sqlite3_module listing_module = {
    .iVersion = 0,
    .xConnect = listing_connect,
    .xBestIndex = listing_best_index,
    .xDisconnect = listing_disconnect,
    .xOpen = listing_open,
    .xClose = listing_close,
    .xFilter = listing_filter,
    .xNext = listing_next,
    .xEof = listing_eof,
    .xColumn = listing_column,
    .xRowid = listing_rowid,
};

int listing_register(struct connection *connection) {
  for (size_t i = 0; i < sizeof listings / sizeof listings[0]; i++) {
    struct registration *registration = malloc(sizeof *registration);
    if (!registration) return SQLITE_NOMEM;
    *registration = (struct registration){connection_retain(connection), &listings[i]};
    int result =
        sqlite3_create_module_v2(connection->db, listings[i].name, &listing_module, registration, registration_free);
    if (result) return result;
  }
  return SQLITE_OK;
}
