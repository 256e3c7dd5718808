/* table_module.c: one sqlite3_module for all tables of the schema, told apart by what it is registered with.
**
** The tables exist without CREATE VIRTUAL TABLE (eponymous; there is no xCreate, so nobody can write one into a
** database file), are read-only, and show nothing but what the connection has opened.  That makes them innocuous: they
** may be used in views of a database that is not trusted.  They take the hidden argument `profile`, as in
** kernels('*rank3*').
*/
#include "vtab/table_module.h"

#include <stdlib.h>
#include <string.h>

#include "vtab/cursor.h"
#include "vtab/outer_join.h"
#include "vtab/plan.h"

SQLITE_EXTENSION_INIT3

/* What a module is registered with. */
struct registration {
  struct connection *connection; /* retained */
  unsigned table;
};

static void registration_free(void *pointer) {
  struct registration *registration = pointer;
  connection_release(registration->connection);
  free(registration);
}

/* Text of a UTF-16 database sorts by its UTF-16 bytes. */
static bool is_utf8(sqlite3 *db) {
  sqlite3_stmt *statement;
  bool is_other = false;
  if (sqlite3_prepare_v2(db, "PRAGMA encoding", -1, &statement, NULL)) return true;
  if (sqlite3_step(statement) == SQLITE_ROW)
    is_other = strcmp((const char *)sqlite3_column_text(statement, 0), "UTF-8") != 0;
  sqlite3_finalize(statement);
  return !is_other;
}

static int table_connect(sqlite3 *db, void *data, int count, const char *const *arguments, sqlite3_vtab **made,
                         char **message) {
  const struct registration *registration = data;
  const struct table_spec *spec = &schema_tables[registration->table];
  char declaration[8192];
  (void)count;
  (void)arguments;
  struct table *table = calloc(1, sizeof *table);
  if (!table) return SQLITE_NOMEM;
  table->spec = spec;
  table->table = registration->table;
  if (schema_declaration(spec, declaration, sizeof declaration, table->sql_columns) >= sizeof declaration) {
    *message = sqlite3_mprintf("%s: the declaration is too long", spec->name);
    free(table);
    return SQLITE_ERROR;
  }
  while (table->sql_columns[table->sql_column_count++] >= 0) continue;
  int result = sqlite3_declare_vtab(db, declaration);
  if (!result) result = sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
  if (result) {
    *message = sqlite3_mprintf("%s: %s", spec->name, sqlite3_errmsg(db));
    free(table);
    return result;
  }
  table->connection = connection_retain(registration->connection);
  table->has_utf8_order = is_utf8(db);
  *made = &table->base;
  return SQLITE_OK;
}

static int table_disconnect(sqlite3_vtab *base) {
  struct table *table = (struct table *)base;
  connection_release(table->connection);
  free(table);
  return SQLITE_OK;
}

static int table_best_index(sqlite3_vtab *base, sqlite3_index_info *info) {
  const struct table *table = (const struct table *)base;
  char *message = NULL;
  struct plan_table plan_table = {
      .spec = table->spec,
      .sql_columns = table->sql_columns,
      .sql_column_count = table->sql_column_count,
      .store = table->connection->store,
      .has_utf8_order = table->has_utf8_order,
      .verify_constraints = table->connection->verify_constraints,
  };
  outer_join_forget(table->connection);
  int result = plan_choose(&plan_table, info, &message);
  if (message) connection_table_message(base, table->spec->name, "%s", message);
  sqlite3_free(message);
  return result;
}

static const sqlite3_module table_module = {
    .iVersion = 0,
    .xConnect = table_connect,
    .xBestIndex = table_best_index,
    .xDisconnect = table_disconnect,
    .xOpen = cursor_open,
    .xClose = cursor_close,
    .xFilter = cursor_filter,
    .xNext = cursor_next,
    .xEof = cursor_eof,
    .xColumn = cursor_column,
    .xRowid = cursor_rowid,
};

int table_module_register(struct connection *connection) {
  for (unsigned table = 0; table < TABLE_count; table++) {
    struct registration *registration = malloc(sizeof *registration);
    if (!registration) return SQLITE_NOMEM;
    *registration = (struct registration){connection_retain(connection), table};
    /* On failure SQLite calls the destructor itself. */
    int result = sqlite3_create_module_v2(connection->db, schema_tables[table].name, &table_module, registration,
                                          registration_free);
    if (result) return result;
  }
  return SQLITE_OK;
}
