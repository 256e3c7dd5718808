/* stored_views.c: see stored_views.h.
**
** A TEMP view needs no trust in the database and leaves no trace in it.  Its SQL names our tables as temp.ops: SQLite
** finds the virtual table under that name, and never a table `ops` of the user's database.
**
** To make all of them takes some 60 ms, which is SQLite's parser: whoever knows what SQL will run, as the shell does,
** makes those that it can ask for.
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

/* Makes what is wanted and not there. */
static int create_wanted(sqlite3 *db, const bool *wanted, const bool *present, unsigned *created, char **message) {
  int result = run_view_sql(db, classic_types_sql, message);
  for (size_t i = 0; stored_selects[i].name && !result; i++) {
    if (stored_selects[i].parameters || present[i] || !wanted[i]) continue;
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

static int create_views(struct connection *connection, const bool *wanted, unsigned *created, char **message) {
  sqlite3 *db = connection->db;
  bool *present;
  char *first = NULL;
  *created = 0;
  *message = NULL;
  int result = read_present(db, &present);
  if (!result) {
    /* One transaction instead of dozens. Where it cannot be had each view is made by itself. */
    bool has_savepoint = run_view_sql(db, "SAVEPOINT tfprof_views", &first) == SQLITE_OK;
    result = create_wanted(db, wanted, present, created, message);
    if (has_savepoint) run_view_sql(db, "RELEASE tfprof_views", &first);
  }
  sqlite3_free(first);
  free(present);
  return result;
}

static size_t count_selects(void) {
  size_t count = 0;
  while (stored_selects[count].name) count++;
  return count;
}

int stored_views_create(struct connection *connection, unsigned *created, char **message) {
  size_t count = count_selects();
  bool *wanted = malloc((count + 1) * sizeof *wanted);
  if (!wanted) return SQLITE_NOMEM;
  memset(wanted, true, (count + 1) * sizeof *wanted);
  int result = create_views(connection, wanted, created, message);
  free(wanted);
  return result;
}

/* ---- what SQL asks for ---- */

struct wanting {
  size_t count;
  const struct stored_select **by_name;
  bool *wanted;    /* as stored_selects */
  size_t *waiting; /* those whose own SQL was not looked at yet */
  size_t waiting_count;
};

static int by_name(const void *left, const void *right) {
  const struct stored_select *const *a = left, *const *b = right;
  return sqlite3_stricmp((*a)->name, (*b)->name);
}

static void want(struct wanting *w, size_t number) {
  if (w->wanted[number]) return;
  w->wanted[number] = true;
  w->waiting[w->waiting_count++] = number;
}

/* A word of SQL: the name of a stored SELECT, or of the table that runs all checks. */
static void want_word(struct wanting *w, const char *word, size_t length) {
  size_t low = 0, high = w->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct stored_select *select = w->by_name[middle];
    int order = sqlite3_strnicmp(word, select->name, (int)length);
    if (order == 0 && select->name[length]) order = -1;
    if (order == 0) {
      want(w, (size_t)(select - stored_selects));
      return;
    }
    if (order > 0) low = middle + 1;
    else high = middle;
  }
  if (length != strlen(FINDINGS_TABLE) || sqlite3_strnicmp(word, FINDINGS_TABLE, (int)length) != 0) return;
  for (size_t i = 0; i < w->count; i++) {
    if (strcmp(stored_selects[i].kind, "check") == 0) want(w, i);
  }
}

static bool is_of_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (c & 0x80);
}

/* Every word that stands neither in a comment nor in a text. A view too many is no harm. */
static void want_words(struct wanting *w, const char *sql) {
  while (*sql) {
    const char *start = sql;
    while (is_of_word(*sql)) sql++;
    if (sql > start) want_word(w, start, (size_t)(sql - start));
    else if (*sql == '-' && sql[1] == '-') sql += strcspn(sql, "\n");
    else if (*sql == '\'') sql += 1 + strcspn(sql + 1, "'") + (strchr(sql + 1, '\'') != NULL);
    else sql++;
  }
}

int stored_views_create_for(struct connection *connection, const char *sql, unsigned *created, char **message) {
  struct wanting w = {.count = count_selects()};
  w.by_name = malloc((w.count + 1) * sizeof *w.by_name);
  w.wanted = calloc(w.count + 1, sizeof *w.wanted);
  w.waiting = malloc((w.count + 1) * sizeof *w.waiting);
  int result = w.by_name && w.wanted && w.waiting ? SQLITE_OK : SQLITE_NOMEM;
  if (!result) {
    for (size_t i = 0; i < w.count; i++) w.by_name[i] = &stored_selects[i];
    qsort(w.by_name, w.count, sizeof *w.by_name, by_name);
    want_words(&w, sql);
    while (w.waiting_count > 0) want_words(&w, stored_selects[w.waiting[--w.waiting_count]].sql);
    result = create_views(connection, w.wanted, created, message);
  }
  free(w.by_name);
  free(w.wanted);
  free(w.waiting);
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
