/* stored_views.c: see stored_views.h.
**
** A TEMP view needs no trust in the database and leaves no trace in it.  Its SQL names our tables as temp.ops: SQLite
** finds the virtual table under that name, and never a table `ops` of the user's database.
**
** Where TEMP views cannot be made (PRAGMA query_only, no room for temporary files) the extension loads all the same.
*/
#include "vtab/stored_views.h"

#include <string.h>

#include "vtab/classic_cache.h"

SQLITE_EXTENSION_INIT3

/* What every check has. */
#define CHECK_COLUMNS "check_name, severity, subject, message, value, threshold, saves_ns, suggestion, evidence"

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

/* Keeps the first message. */
static int run(sqlite3 *db, const char *sql, char **message) {
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
  if (has_temp_view(db, name)) return SQLITE_OK;
  char *statement = sqlite3_mprintf("CREATE TEMP VIEW \"%w\" AS\n%s", name, sql);
  int result = run(db, statement, message);
  sqlite3_free(statement);
  if (!result) ++*created;
  return result;
}

/* The SELECT of the view `advise`, of all checks that can be used; NULL: no memory, or no check. */
static char *advise_sql(sqlite3 *db) {
  sqlite3_str *text = sqlite3_str_new(db);
  const char *joint = "SELECT " CHECK_COLUMNS "\nFROM (";
  for (const struct stored_select *select = stored_selects; select->name; select++) {
    bool is_missing;
    if (strcmp(select->kind, "check") != 0) continue;
    char *trouble = stored_view_trouble(db, select, &is_missing);
    if (!trouble) sqlite3_str_appendf(text, "%sSELECT " CHECK_COLUMNS "\n  FROM temp.%s", joint, select->name);
    if (!trouble) joint = "\n  UNION ALL ";
    sqlite3_free(trouble);
  }
  if (sqlite3_str_length(text)) {
    sqlite3_str_appendall(text, ")\nORDER BY saves_ns DESC NULLS LAST, severity = 'info', check_name, subject, message,"
                                "\n  severity, value, evidence");
  }
  return sqlite3_str_finish(text);
}

int stored_views_create(struct connection *connection, unsigned *created, char **message) {
  sqlite3 *db = connection->db;
  char *first = NULL;
  int result = SQLITE_OK;
  *created = 0;
  *message = NULL;
  /* One transaction instead of dozens. Where it cannot be had each view is made by itself. */
  bool has_savepoint = run(db, "SAVEPOINT tfprof_views", &first) == SQLITE_OK;
  result = run(db, classic_types_sql, message);
  for (const struct stored_select *select = stored_selects; select->name && !result; select++) {
    if (select->parameters) continue;
    /* A file with an error concerns nobody but who reads tfprof_views; any other failure would be repeated by all
    ** others. */
    int outcome = create_view(db, select->name, select->sql, created, message);
    if (outcome == SQLITE_ERROR) {
      sqlite3_free(*message);
      *message = NULL;
    } else if (outcome) {
      result = outcome;
      break;
    }
  }
  if (!result && !has_temp_view(db, ADVISE_VIEW)) {
    char *sql = advise_sql(db);
    if (sql) result = create_view(db, ADVISE_VIEW, sql, created, message);
    sqlite3_free(sql);
  }
  if (has_savepoint) run(db, "RELEASE tfprof_views", &first);
  sqlite3_free(first);
  return result;
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
