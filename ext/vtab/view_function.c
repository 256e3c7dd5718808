/* view_function.c: a stored SELECT with :parameters becomes an eponymous virtual table: op_diff('a', 'b').
**
** Its visible columns are those of the SELECT, its hidden ones the parameters in the order in which they first appear.
** They are given by = or as arguments.  A SELECT without its parameter would answer another question, so that what is
** missing is an error, but for those in brackets, which are NULL then.  What the order of joined tables cannot supply
** yet makes SQLite look for another order.
*/
#include "vtab/view_function.h"

#include <stdlib.h>
#include <string.h>

#include "vtab/stored_views.h"

SQLITE_EXTENSION_INIT3

struct registration {
  struct connection *connection; /* retained */
  const struct stored_select *select;
};

struct view {
  sqlite3_vtab base;
  struct connection *connection; /* retained */
  sqlite3 *db;
  const struct stored_select *select;
  int column_count, parameter_count;
};

struct view_cursor {
  sqlite3_vtab_cursor base;
  sqlite3_stmt *statement; /* belongs to the cursor: the connection must have none left when it is closed */
  sqlite3_value **parameters;
  bool is_at_end;
  sqlite3_int64 row;
};

static char *declaration(sqlite3 *db, sqlite3_stmt *statement) {
  sqlite3_str *text = sqlite3_str_new(db);
  sqlite3_str_appendall(text, "CREATE TABLE x(");
  for (int i = 0; i < sqlite3_column_count(statement); i++) {
    const char *type = sqlite3_column_decltype(statement, i);
    sqlite3_str_appendf(text, "%s\"%w\" %s", i ? ", " : "", sqlite3_column_name(statement, i), type ? type : "");
  }
  for (int i = 1; i <= sqlite3_bind_parameter_count(statement); i++) {
    sqlite3_str_appendf(text, ", \"%w\" HIDDEN", sqlite3_bind_parameter_name(statement, i) + 1);
  }
  sqlite3_str_appendall(text, ")");
  return sqlite3_str_finish(text);
}

static int prepare_select(const struct connection *connection, const struct stored_select *select,
                          sqlite3_stmt **statement) {
  char *sql = stored_view_sql(connection, select);
  int result = sql ? sqlite3_prepare_v2(connection->db, sql, -1, statement, NULL) : SQLITE_NOMEM;
  sqlite3_free(sql);
  return result;
}

static int view_connect(sqlite3 *db, void *data, int count, const char *const *arguments, sqlite3_vtab **made,
                        char **message) {
  sqlite3_stmt *statement = NULL;
  (void)count;
  (void)arguments;
  struct view *view = calloc(1, sizeof *view);
  if (!view) return SQLITE_NOMEM;
  const struct registration *registration = data;
  view->db = db;
  view->select = registration->select;
  int result = prepare_select(registration->connection, view->select, &statement);
  if (!result) {
    char *sql = declaration(db, statement);
    view->column_count = sqlite3_column_count(statement);
    view->parameter_count = sqlite3_bind_parameter_count(statement);
    result = sql ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;
    sqlite3_free(sql);
  }
  if (!result) result = sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
  if (result) {
    *message = sqlite3_mprintf("%s: %s", view->select->name, sqlite3_errmsg(db));
    free(view);
  } else {
    view->connection = connection_retain(registration->connection);
    *made = &view->base;
  }
  sqlite3_finalize(statement);
  return result;
}

static int view_disconnect(sqlite3_vtab *base) {
  connection_release(((struct view *)base)->connection);
  free(base);
  return SQLITE_OK;
}

/* Given has a bit for each parameter, in their order. */
static bool is_missing(const struct view *view, int given) {
  int needed = (1 << (view->parameter_count - view->select->optional_count)) - 1;
  return (given & needed) != needed;
}

/* The values of xFilter are the parameters that are given, in their order, of which its number has the bits. */
static int view_best_index(sqlite3_vtab *base, sqlite3_index_info *info) {
  const struct view *view = (const struct view *)base;
  bool is_unusable = false;
  int count = 0, given = 0;
  for (int parameter = 0; parameter < view->parameter_count; parameter++) {
    int found = -1;
    for (int i = 0; i < info->nConstraint; i++) {
      const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
      if (constraint->iColumn != view->column_count + parameter) continue;
      if (constraint->op != SQLITE_INDEX_CONSTRAINT_EQ) {
        return connection_table_message(base, view->select->name, "parameters take = only, as in %s(%s)",
                                        view->select->name, view->select->parameters);
      }
      if (constraint->usable && found < 0) found = i;
      is_unusable |= !constraint->usable;
    }
    if (found < 0) continue;
    given |= 1 << parameter;
    info->aConstraintUsage[found].argvIndex = ++count;
    info->aConstraintUsage[found].omit = 1;
  }
  if (is_unusable) return SQLITE_CONSTRAINT;
  /* Not an error yet: when SQLite weighs up the parts of an OR it offers only them, and adds the rest when it comes to
  ** the final plan. */
  info->idxNum = given;
  info->estimatedCost = is_missing(view, given) ? 1e12 : 100000;
  info->estimatedRows = 100;
  return SQLITE_OK;
}

static int view_open(sqlite3_vtab *base, sqlite3_vtab_cursor **opened) {
  const struct view *view = (const struct view *)base;
  struct view_cursor *cursor = calloc(1, sizeof *cursor);
  if (!cursor) return SQLITE_NOMEM;
  cursor->parameters = calloc((size_t)view->parameter_count + 1, sizeof *cursor->parameters);
  if (!cursor->parameters) {
    free(cursor);
    return SQLITE_NOMEM;
  }
  *opened = &cursor->base;
  return SQLITE_OK;
}

static int view_close(sqlite3_vtab_cursor *base) {
  struct view_cursor *cursor = (struct view_cursor *)base;
  const struct view *view = (const struct view *)base->pVtab;
  sqlite3_finalize(cursor->statement);
  for (int i = 0; i < view->parameter_count; i++) sqlite3_value_free(cursor->parameters[i]);
  free(cursor->parameters);
  free(cursor);
  return SQLITE_OK;
}

static int fail_view(struct view_cursor *cursor, int result) {
  const struct view *view = (const struct view *)cursor->base.pVtab;
  cursor->is_at_end = true;
  connection_table_message(cursor->base.pVtab, view->select->name, "%s", sqlite3_errmsg(view->db));
  return result;
}

static int view_next(sqlite3_vtab_cursor *base) {
  struct view_cursor *cursor = (struct view_cursor *)base;
  int result = sqlite3_step(cursor->statement);
  if (result != SQLITE_ROW && result != SQLITE_DONE) return fail_view(cursor, result);
  cursor->is_at_end = result == SQLITE_DONE;
  cursor->row++;
  return SQLITE_OK;
}

static int view_filter(sqlite3_vtab_cursor *base, int number, const char *text, int count, sqlite3_value **values) {
  struct view_cursor *cursor = (struct view_cursor *)base;
  const struct view *view = (const struct view *)base->pVtab;
  (void)text;
  if (is_missing(view, number)) {
    return connection_table_message(base->pVtab, view->select->name, "a parameter is missing: use %s(%s)",
                                    view->select->name, view->select->parameters);
  }
  sqlite3_reset(cursor->statement);
  if (!cursor->statement) {
    int result = prepare_select(view->connection, view->select, &cursor->statement);
    if (result) return fail_view(cursor, result);
  }
  sqlite3_clear_bindings(cursor->statement);
  for (int i = 0, at = 0; i < view->parameter_count; i++) {
    sqlite3_value_free(cursor->parameters[i]);
    cursor->parameters[i] = NULL;
    if (!(number >> i & 1) || at == count) continue;
    int result = sqlite3_bind_value(cursor->statement, i + 1, values[at]);
    if (result) return fail_view(cursor, result);
    cursor->parameters[i] = sqlite3_value_dup(values[at++]);
    if (!cursor->parameters[i]) return SQLITE_NOMEM;
  }
  cursor->row = 0;
  return view_next(base);
}

static int view_eof(sqlite3_vtab_cursor *base) { return ((struct view_cursor *)base)->is_at_end; }

static int view_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
  struct view_cursor *cursor = (struct view_cursor *)base;
  const struct view *view = (const struct view *)base->pVtab;
  int parameter = column - view->column_count;
  sqlite3_value *value =
      parameter < 0 ? sqlite3_column_value(cursor->statement, column) : cursor->parameters[parameter];
  if (value) sqlite3_result_value(context, value);
  return SQLITE_OK;
}

static int view_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid) {
  *rowid = ((struct view_cursor *)base)->row;
  return SQLITE_OK;
}

static const sqlite3_module view_module = {
    .iVersion = 0,
    .xConnect = view_connect,
    .xBestIndex = view_best_index,
    .xDisconnect = view_disconnect,
    .xOpen = view_open,
    .xClose = view_close,
    .xFilter = view_filter,
    .xNext = view_next,
    .xEof = view_eof,
    .xColumn = view_column,
    .xRowid = view_rowid,
};

static void registration_free(void *pointer) {
  struct registration *registration = pointer;
  connection_release(registration->connection);
  free(registration);
}

int view_function_register(struct connection *connection) {
  for (const struct stored_select *select = stored_selects; select->name; select++) {
    if (!select->parameters) continue;
    struct registration *registration = malloc(sizeof *registration);
    if (!registration) return SQLITE_NOMEM;
    *registration = (struct registration){connection_retain(connection), select};
    /* Which calls the destructor when it fails, too. */
    int result = sqlite3_create_module_v2(connection->db, select->name, &view_module, registration, registration_free);
    if (result) return result;
  }
  return SQLITE_OK;
}
