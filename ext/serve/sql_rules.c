/* sql_rules.c: see sql_rules.h.
**
** The connection is loaded without tfprof's functions that reach the file system (TRUST in tfprof.c), so that these are
** not there at all; SQLite's own are refused by name.  The authorizer is asked when SQL is prepared, about each thing
** that it would do: SELECT, reading a column, recursion and calling functions are allowed, everything else is not:
** ATTACH, PRAGMA (but two that only read), tables, views, triggers, writing of any kind, transactions, virtual tables.
*/
#include "serve/sql_rules.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

enum {
  LONGEST_VALUE = 16 << 20,
  LONGEST_ASKED = 512 << 10,
  LONGEST_PATTERN = 1000,
  LONGEST_SQL = 1 << 20,
  DEEPEST_EXPRESSION = 1000,
  MOST_COLUMNS = 2000
};

/* Those of SQLite and of its shell's extensions that reach files, memory, or other code. */
static const char *const refused_functions[] = {"load_extension",
                                                "readfile",
                                                "writefile",
                                                "edit",
                                                "lsmode",
                                                "fts3_tokenizer",
                                                "sqlite_compileoption_get",
                                                "sqlite_log",
                                                "tfprof_open",
                                                "tfprof_close",
                                                "tfprof_refresh",
                                                "tfprof_save",
                                                "tfprof_timeline",
                                                "tfprof_pprof",
                                                "tfprof_dot",
                                                "tfprof_set",
                                                "tfprof_views_create"};

/* What tfprof's own tables ask of SQLite; without a value it changes nothing. */
static bool is_harmless_pragma(const char *name, const char *value) {
  return name && !value && (strcasecmp(name, "encoding") == 0 || strcasecmp(name, "database_list") == 0);
}

static int authorize(void *user, int action, const char *first, const char *second, const char *database,
                     const char *source) {
  (void)user;
  (void)database;
  (void)source;
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION:
      for (size_t i = 0; i < sizeof refused_functions / sizeof refused_functions[0]; i++) {
        if (second && strcasecmp(second, refused_functions[i]) == 0) return SQLITE_DENY;
      }
      return SQLITE_OK;
    /* What SQLite asks when a table-valued function, such as json_each, is first named; who says UPDATE sqlite_master
    ** is refused for other reasons, since the connection is a defensive one. */
    case SQLITE_UPDATE: return first && strcmp(first, "sqlite_master") == 0 ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_PRAGMA: return is_harmless_pragma(first, second) ? SQLITE_OK : SQLITE_DENY;
    default: return SQLITE_DENY;
  }
}

void sql_rules_apply(sqlite3 *db) {
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, LONGEST_VALUE);
  sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, LONGEST_SQL);
  sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, DEEPEST_EXPRESSION);
  sqlite3_limit(db, SQLITE_LIMIT_COLUMN, MOST_COLUMNS);
  sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
  sqlite3_set_authorizer(db, authorize, NULL);
}

void sql_rules_bound_texts(sqlite3 *db) {
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, LONGEST_ASKED);
  sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, LONGEST_PATTERN);
}
