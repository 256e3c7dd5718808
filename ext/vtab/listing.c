/* listing.c: see listing.h.
**
**   tfprof_tables    name, rows, title, message: which tables of the user have the name as well; asking for `rows`
**                    makes the tables that are derived on first use, and reads all there is for what diagnostics tells
**                    of it.  node_type_patterns, which the user fills, comes last
**   tfprof_columns   table_name, column_name, type, unit, description: in the order of SELECT *
**                    of tables, then of views, functions and checks.  Caches (tables.def) are in neither, unless the
**                    hidden column is_cache is named, such as by WHERE is_cache >= 0
**   tfprof_formats   name, description: the kinds of files that tfprof_open() knows by their content; name is what
**                    profiles.format has
**   tfprof_views     name, kind, title, parameters, sql, message: `kind` is view, check, function (a SELECT with
**                    parameters), or broken; `message` says why it cannot be used
**   tfprof_panels    name, title, parameters, sql: what a report shows
**
** One module serves all: a listing is made as a whole when it is read, as an array of cells.
*/
#include "vtab/listing.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "read/read.h"
#include "store/snapshot.h"
#include "vtab/classic_cache.h"
#include "vtab/stored_views.h"

SQLITE_EXTENSION_INIT3

/* The hidden columns is_cache: who names one sees caches, too. */
enum { TABLES_IS_CACHE = 4, COLUMNS_IS_CACHE = 5 };

struct cell {
  char *text;
  bool is_integer;
  sqlite3_int64 integer;
}; /* text from sqlite3_mprintf; NULL and no integer: NULL */

struct rows {
  struct cell *cells;
  size_t count, capacity;
  bool is_out_of_memory;
  enum tfprof_status status; /* of counting; `error` says why */
  struct tfprof_error error;
};

struct listing {
  const char *name, *declaration;
  int column_count;
  void (*list)(struct connection *connection, struct rows *rows, sqlite3_uint64 used); /* used: bits of columns */
};

struct registration {
  struct connection *connection; /* retained */
  const struct listing *listing;
};

struct listing_table {
  sqlite3_vtab base;
  struct connection *connection; /* retained */
  const struct listing *listing;
};

struct listing_cursor {
  sqlite3_vtab_cursor base;
  struct rows rows;
  size_t row;
};

/* ---- what is listed ---- */

static struct cell *add_cell(struct rows *rows) {
  if (!array_room(rows->cells, rows->count, rows->capacity)) {
    rows->is_out_of_memory = true;
    return NULL;
  }
  rows->cells[rows->count] = (struct cell){0};
  return &rows->cells[rows->count++];
}

static void add_text(struct rows *rows, const char *text) {
  struct cell *cell = add_cell(rows);
  if (!cell || !text) return;
  cell->text = sqlite3_mprintf("%s", text);
  rows->is_out_of_memory |= !cell->text;
}

static void add_integer(struct rows *rows, sqlite3_int64 integer) {
  struct cell *cell = add_cell(rows);
  if (cell) *cell = (struct cell){.is_integer = true, .integer = integer};
}

/* The rows of every table, those of diagnostics last, for making the others may add to it. */
static void count_rows(struct connection *connection, struct rows *rows, uint64_t *counts) {
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

static void add_table(struct rows *rows, const struct table_spec *table, sqlite3_int64 count, char *message) {
  add_text(rows, table->name);
  add_integer(rows, count);
  add_text(rows, table->title);
  add_text(rows, message);
  add_integer(rows, table->is_cache);
  sqlite3_free(message);
}

static void list_tables(struct connection *connection, struct rows *rows, sqlite3_uint64 used) {
  uint64_t counts[TABLE_count] = {0};
  if (used & 2) count_rows(connection, rows, counts);
  sqlite3_stmt *namesakes = used & 8 ? prepare_namesakes(connection->db) : NULL;
  for (unsigned table = 0; table < TABLE_count && !rows->status; table++) {
    if (schema_tables[table].is_cache && !(used >> TABLES_IS_CACHE & 1)) continue;
    add_table(rows, &schema_tables[table], (sqlite3_int64)counts[table],
              namesakes ? tell_namesakes(namesakes, schema_tables[table].name) : NULL);
  }
  sqlite3_finalize(namesakes);
  sqlite3_int64 types = classic_types_count(connection);
  if (types >= 0) add_table(rows, &classic_types_table, types, NULL);
}

static const char *type_name(enum column_type type) {
  if (type == TYPE_REAL) return "REAL";
  return type == TYPE_TEXT || type == TYPE_JSON ? "TEXT" : "INTEGER";
}

static void add_columns(struct rows *rows, const struct table_spec *table) {
  for (unsigned column = 0; column < table->column_count; column++) {
    const struct column_spec *spec = &table->columns[column];
    if (spec->visibility != VISIBLE) continue;
    add_text(rows, table->name);
    add_text(rows, spec->name);
    add_text(rows, type_name((enum column_type)spec->type));
    add_text(rows, *spec->unit ? spec->unit : NULL);
    add_text(rows, spec->doc);
    add_integer(rows, table->is_cache);
  }
}

static void add_view_columns(struct rows *rows, const struct stored_select *select) {
  for (const struct stored_column *column = select->columns; column && column->name; column++) {
    add_text(rows, select->name);
    add_text(rows, column->name);
    add_text(rows, column->type);
    add_text(rows, column->unit);
    add_text(rows, column->text);
    add_integer(rows, false);
  }
}

static void list_columns(struct connection *connection, struct rows *rows, sqlite3_uint64 used) {
  for (unsigned table = 0; table < TABLE_count; table++)
    if (!schema_tables[table].is_cache || used >> COLUMNS_IS_CACHE & 1) add_columns(rows, &schema_tables[table]);
  if (classic_types_count(connection) >= 0) add_columns(rows, &classic_types_table);
  for (const struct stored_select *select = stored_selects; select->name; select++) add_view_columns(rows, select);
}

/* Whether a view works is found out by preparing it, which takes most of a millisecond: not where nobody asks. */
static void add_view(struct connection *connection, struct rows *rows, const struct stored_select *select,
                     bool is_tried) {
  bool is_broken = false;
  char *trouble = is_tried ? stored_view_trouble(connection, select, &is_broken) : NULL;
  const char *kind = select->parameters ? "function" : select->kind;
  add_text(rows, select->name);
  add_text(rows, is_broken ? "broken" : kind);
  add_text(rows, select->title);
  add_text(rows, select->parameters);
  add_text(rows, select->sql);
  add_text(rows, trouble);
  sqlite3_free(trouble);
}

static void list_views(struct connection *connection, struct rows *rows, sqlite3_uint64 used) {
  bool is_tried = used & (1 << 1 | 1 << 5); /* its kind, which may be broken, or the message */
  for (const struct stored_select *select = stored_selects; select->name; select++)
    add_view(connection, rows, select, is_tried);
}

static void list_panels(struct connection *connection, struct rows *rows, sqlite3_uint64 used) {
  (void)connection;
  (void)used;
  for (const struct stored_select *panel = stored_panels; panel->name; panel++) {
    add_text(rows, panel->name);
    add_text(rows, panel->title);
    add_text(rows, panel->parameters);
    add_text(rows, panel->sql);
  }
}

static void list_formats(struct connection *connection, struct rows *rows, sqlite3_uint64 used) {
  (void)connection;
  (void)used;
  for (const struct reader *const *reader = readers; *reader; reader++) {
    for (const struct read_format *const *format = (*reader)->formats; *format; format++) {
      add_text(rows, (*format)->name);
      add_text(rows, (*format)->description);
    }
  }
}

static const struct listing listings[] = {
    {"tfprof_tables", "CREATE TABLE x(name TEXT, rows INTEGER, title TEXT, message TEXT, is_cache INTEGER HIDDEN)", 5,
     list_tables},
    {"tfprof_columns",
     "CREATE TABLE x(table_name TEXT, column_name TEXT, type TEXT, unit TEXT, description TEXT, is_cache INTEGER "
     "HIDDEN)",
     6, list_columns},
    {"tfprof_formats", "CREATE TABLE x(name TEXT, description TEXT)", 2, list_formats},
    {"tfprof_views", "CREATE TABLE x(name TEXT, kind TEXT, title TEXT, parameters TEXT, sql TEXT, message TEXT)", 6,
     list_views},
    {"tfprof_panels", "CREATE TABLE x(name TEXT, title TEXT, parameters TEXT, sql TEXT)", 4, list_panels},
};

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
  int result = sqlite3_declare_vtab(db, registration->listing->declaration);
  if (!result) result = sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
  if (result) return result;
  struct listing_table *table = calloc(1, sizeof *table);
  if (!table) return SQLITE_NOMEM;
  table->listing = registration->listing;
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

static void clear_rows(struct rows *rows) {
  for (size_t i = 0; i < rows->count; i++) sqlite3_free(rows->cells[i].text);
  free(rows->cells);
  *rows = (struct rows){0};
}

static int listing_close(sqlite3_vtab_cursor *base) {
  struct listing_cursor *cursor = (struct listing_cursor *)base;
  clear_rows(&cursor->rows);
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
  clear_rows(&cursor->rows);
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
  return cursor->row * (size_t)table->listing->column_count >= cursor->rows.count;
}

static int listing_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
  const struct listing_cursor *cursor = (const struct listing_cursor *)base;
  const struct listing_table *table = (const struct listing_table *)base->pVtab;
  const struct cell *cell = &cursor->rows.cells[cursor->row * (size_t)table->listing->column_count + (size_t)column];
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
