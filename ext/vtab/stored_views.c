/* stored_views.c: see stored_views.h.
**
** A TEMP view needs no trust in the database and leaves no trace in it.  Its SQL names our tables as temp.ops: SQLite
** finds the virtual table under that name, and never a table `ops` of the user's database.
**
** Where TEMP views cannot be made (PRAGMA query_only, no room for temporary files) the extension loads all the same.
*/
#include "vtab/stored_views.h"

#include <stdlib.h>
#include <string.h>

#include "vtab/classic_cache.h"
#include "vtab/findings.h"

SQLITE_EXTENSION_INIT3

/* Which of the stored_selects TEMP has before anything is made (to be freed). One look instead of one for each name, as
** every CREATE VIEW would have SQLite prepare it again. */
static int read_present(sqlite3 *db, bool **present) {
  size_t count = 0;
  while (stored_selects[count].name) count++;
  *present = calloc(count + 1, sizeof **present);
  if (!*present) return SQLITE_NOMEM;
  sqlite3_stmt *statement;
  int result = sqlite3_prepare_v2(db, "SELECT name FROM sqlite_temp_master", -1, &statement, NULL);
  if (result) return result;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    const char *name = (const char *)sqlite3_column_text(statement, 0);
    if (!name) continue;
    for (size_t i = 0; i < count; i++) (*present)[i] |= sqlite3_stricmp(name, stored_selects[i].name) == 0;
  }
  return sqlite3_finalize(statement);
}

/* Keeps the first message. */
static int run_view_sql(sqlite3 *db, const char *sql, char **message) {
  char *own = NULL;
  if (!sql) return SQLITE_NOMEM;
  int result = sqlite3_exec(db, sql, NULL, NULL, &own);
  if (result && !*message) {
    *message = own;
  } else {
    sqlite3_free(own);
  }
  return result;
}

static int create_view(sqlite3 *db, const char *name, const char *sql, unsigned *created, char **message) {
  char *statement = sqlite3_mprintf("CREATE TEMP VIEW \"%w\" AS\n%s", name, sql);
  int result = run_view_sql(db, statement, message);
  sqlite3_free(statement);
  if (!result) ++*created;
  return result;
}

static int create_all(sqlite3 *db, const bool *present, unsigned *created, char **message) {
  int result = run_view_sql(db, classic_types_sql, message);
  for (size_t i = 0; stored_selects[i].name && !result; i++) {
    if (stored_selects[i].parameters || present[i]) continue;
    result = create_view(db, stored_selects[i].name, stored_selects[i].sql, created, message);
    /* A file with an error concerns nobody but who reads tfprof_views; any other failure would be repeated by all
    ** others. */
    if (result == SQLITE_ERROR) {
      sqlite3_free(*message);
      *message = NULL;
      result = SQLITE_OK;
    }
  }
  return result;
}

int stored_views_create(struct connection *connection, unsigned *created, char **message) {
  sqlite3 *db = connection->db;
  bool *present;
  char *first = NULL;
  *created = 0;
  *message = NULL;
  int result = read_present(db, &present);
  if (!result) {
    /* One transaction instead of dozens. Where it cannot be had each view is made by itself. */
    bool has_savepoint = run_view_sql(db, "SAVEPOINT tfprof_views", &first) == SQLITE_OK;
    result = create_all(db, present, created, message);
    if (has_savepoint) run_view_sql(db, "RELEASE tfprof_views", &first);
  }
  sqlite3_free(first);
  free(present);
  return result;
}

static bool has_temp_view(sqlite3 *db, const char *name) {
  sqlite3_stmt *statement;
  bool has = false;
  if (sqlite3_prepare_v2(db, "SELECT 1 FROM sqlite_temp_master WHERE name = ?1 COLLATE NOCASE", -1, &statement, NULL))
    return false;
  if (sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC) == SQLITE_OK)
    has = sqlite3_step(statement) == SQLITE_ROW;
  sqlite3_finalize(statement);
  return has;
}

/* A SELECT of everything that is expected of it. */
static char *trial_sql(const struct stored_select *select, bool is_missing) {
  if (is_missing) return sqlite3_mprintf("%s", select->sql);
  if (strcmp(select->kind, "check") == 0)
    return sqlite3_mprintf("SELECT " CHECK_COLUMNS " FROM temp.\"%w\"", select->name);
  if (!select->parameters) return sqlite3_mprintf("SELECT * FROM temp.\"%w\"", select->name);
  sqlite3_str *text = sqlite3_str_new(NULL);
  sqlite3_str_appendf(text, "SELECT * FROM temp.\"%w\"(NULL", select->name);
  for (const char *comma = strchr(select->parameters, ','); comma; comma = strchr(comma + 1, ',')) {
    sqlite3_str_appendall(text, ", NULL");
  }
  sqlite3_str_appendall(text, ")");
  return sqlite3_str_finish(text);
}

char *stored_view_trouble(sqlite3 *db, const struct stored_select *select, bool *is_missing) {
  sqlite3_stmt *statement = NULL;
  *is_missing = !select->parameters && !has_temp_view(db, select->name);
  char *sql = trial_sql(select, *is_missing);
  bool is_broken = !sql || sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
  char *trouble = is_broken ? sqlite3_mprintf("%s", sqlite3_errmsg(db)) : NULL;
  /* Views that it builds on may be missing together with it. */
  if (*is_missing && trouble && strncmp(trouble, "no such table: temp.", 20) == 0) {
    sqlite3_free(trouble);
    is_broken = false;
  }
  sqlite3_finalize(statement);
  sqlite3_free(sql);
  if (is_broken) {
    *is_missing = false;
  } else if (*is_missing) {
    trouble = sqlite3_mprintf("not there; SELECT tfprof_views_create() makes it");
  }
  return trouble;
}
