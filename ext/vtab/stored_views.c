/* stored_views.c: see stored_views.h.
**
** A TEMP view needs no trust in the database and leaves no trace in it.  Its SQL names our tables as stored_select.h
** says, which are never the user's.  Views are named as temp.op_summary.  Where the user had that name in TEMP before,
** ours is called tfprof_own_op_summary, and so in the SQL of all that read it; what other databases have of the name is
** behind a view of TEMP for SQLite, and is found as main.op_summary.
**
** To make all of them takes some 60 ms, which is SQLite's parser: whoever knows what SQL will run, as the shell does,
** makes those that it can ask for.
**
** Where TEMP views cannot be made (PRAGMA query_only, no room for temporary files) the extension loads all the same.
*/
#include "vtab/stored_views.h"

#include <stdlib.h>
#include <string.h>

#include "vtab/findings.h"
#include "vtab/table_part.h"

SQLITE_EXTENSION_INIT3

static size_t count_selects(void) {
  size_t count = 0;
  while (stored_selects[count].name) count++;
  return count;
}

/* ---- names ---- */

static bool is_taken(const struct connection *connection, const struct stored_select *select) {
  return connection->taken_views && connection->taken_views[select - stored_selects];
}

char *stored_view_name(const struct connection *connection, const struct stored_select *select) {
  return sqlite3_mprintf("%s%s", is_taken(connection, select) ? "tfprof_own_" : "", select->name);
}

static bool is_of_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (c & 0x80);
}

/* The end of a word, a comment or a text, or else of the character. */
static const char *skip_token(const char *sql) {
  const char *end = sql;
  while (is_of_word(*end)) end++;
  if (end > sql) return end;
  if (*sql == '-' && sql[1] == '-') return sql + strcspn(sql, "\n");
  if (*sql == '\'') return sql + 1 + strcspn(sql + 1, "'") + (strchr(sql + 1, '\'') != NULL);
  return sql + 1;
}

/* The taken view whose name this is; NULL: none. */
static const struct stored_select *find_taken(const struct connection *connection, const char *name, size_t length) {
  for (const struct stored_select *select = stored_selects; select->name; select++) {
    if (strlen(select->name) == length && strncmp(select->name, name, length) == 0)
      return is_taken(connection, select) ? select : NULL;
  }
  return NULL;
}

/* A view that is called otherwise keeps its name as an alias, by which its columns are named. */
char *stored_view_sql(const struct connection *connection, const struct stored_select *select) {
  static const char temp[] = "temp.";
  if (!connection->taken_views) return sqlite3_mprintf("%s", select->sql);
  sqlite3_str *text = sqlite3_str_new(connection->db);
  for (const char *at = select->sql; *at;) {
    const char *end = skip_token(at);
    if (strncmp(at, temp, sizeof temp - 1) == 0) {
      const char *name = at + sizeof temp - 1;
      end = skip_token(name);
      const struct stored_select *taken = find_taken(connection, name, (size_t)(end - name));
      if (taken) {
        const char *next = end + strspn(end, " \n");
        bool has_alias = sqlite3_strnicmp(next, "AS", 2) == 0 && !is_of_word(next[2]);
        sqlite3_str_appendf(text, "temp.tfprof_own_%s%s%s", taken->name, has_alias ? "" : " AS ",
                            has_alias ? "" : taken->name);
        at = end;
        continue;
      }
    }
    sqlite3_str_append(text, at, (int)(end - at));
    at = end;
  }
  return sqlite3_str_finish(text);
}

/* ---- what is there ---- */

/* What TEMP has of the names of stored_selects, before anything is made. */
struct present {
  bool *is_ours; /* the view, by the name that it has now */
  bool *is_taken; /* something else has the name */
};

static void present_free(struct present *present) {
  free(present->is_ours);
  free(present->is_taken);
}

/* SQLite keeps a statement as it was given, without TEMP. */
static bool is_view_of(const struct connection *connection, const struct stored_select *select, const char *sql) {
  char *own = stored_view_sql(connection, select);
  size_t length = own ? strlen(own) : 0, all = strlen(sql);
  bool is_same = own && all > length && strcmp(sql + all - length, own) == 0;
  sqlite3_free(own);
  return is_same;
}

static void note_present(const struct connection *connection, const char *name, const char *type, const char *sql,
                         struct present *present) {
  static const char prefix[] = "tfprof_own_";
  bool is_renamed = sqlite3_strnicmp(name, prefix, sizeof prefix - 1) == 0;
  const char *own = is_renamed ? name + sizeof prefix - 1 : name;
  for (size_t i = 0; stored_selects[i].name; i++) {
    const struct stored_select *select = &stored_selects[i];
    if (select->parameters || sqlite3_stricmp(own, select->name) != 0) continue;
    bool is_ours = strcmp(type, "view") == 0 && is_renamed == is_taken(connection, select) &&
                   is_view_of(connection, select, sql);
    present->is_ours[i] |= is_ours;
    present->is_taken[i] |= !is_ours && !is_renamed;
    return;
  }
}

/* One look instead of one for each name, as every CREATE VIEW would have SQLite prepare it again. */
static int read_present(const struct connection *connection, struct present *present) {
  size_t count = count_selects();
  *present = (struct present){calloc(count + 1, sizeof(bool)), calloc(count + 1, sizeof(bool))};
  if (!present->is_ours || !present->is_taken) return SQLITE_NOMEM;
  sqlite3_stmt *statement;
  static const char sql[] = "SELECT name, type, sql FROM sqlite_temp_master WHERE type <> 'index'";
  int result = sqlite3_prepare_v2(connection->db, sql, -1, &statement, NULL);
  if (result) return result;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    const char *name = (const char *)sqlite3_column_text(statement, 0);
    const char *type = (const char *)sqlite3_column_text(statement, 1);
    const char *made_by = (const char *)sqlite3_column_text(statement, 2);
    if (name && type) note_present(connection, name, type, made_by ? made_by : "", present);
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

static int create_view(const struct connection *connection, const struct stored_select *select, unsigned *created,
                       char **message) {
  char *name = stored_view_name(connection, select), *sql = stored_view_sql(connection, select);
  char *statement = name && sql ? sqlite3_mprintf("CREATE TEMP VIEW \"%w\" AS\n%s", name, sql) : NULL;
  int result = run_view_sql(connection->db, statement, message);
  sqlite3_free(statement);
  sqlite3_free(name);
  sqlite3_free(sql);
  if (!result) ++*created;
  return result;
}

/* Where the user has taken a name since, those that are there still read what is called that: they go, to be made again
** as what they read is called now. */
static int take_names(struct connection *connection, struct present *present, bool *wanted, char **message) {
  size_t count = count_selects();
  bool is_new = false;
  for (size_t i = 0; i < count; i++) {
    is_new |= present->is_taken[i] && !is_taken(connection, &stored_selects[i]);
  }
  if (!is_new) return SQLITE_OK;
  int result = SQLITE_OK;
  for (size_t i = 0; i < count && !result; i++) {
    if (!present->is_ours[i]) continue;
    char *name = stored_view_name(connection, &stored_selects[i]);
    char *sql = name ? sqlite3_mprintf("DROP VIEW temp.\"%w\"", name) : NULL;
    result = run_view_sql(connection->db, sql, message);
    sqlite3_free(sql);
    sqlite3_free(name);
    wanted[i] = true;
    present->is_ours[i] = false;
  }
  if (!connection->taken_views) connection->taken_views = calloc(count + 1, sizeof(bool));
  if (!connection->taken_views) return SQLITE_NOMEM;
  for (size_t i = 0; i < count; i++) connection->taken_views[i] |= present->is_taken[i];
  return result;
}

/* Makes what is wanted and not there. */
static int create_wanted(struct connection *connection, bool *wanted, struct present *present, unsigned *created,
                         char **message) {
  int result = SQLITE_OK;
  for (const struct table_part *const *part = connection->parts; *part && !result; part++)
    if ((*part)->user_table) result = run_view_sql(connection->db, (*part)->user_table_sql, message);
  if (!result) result = take_names(connection, present, wanted, message);
  for (size_t i = 0; stored_selects[i].name && !result; i++) {
    if (stored_selects[i].parameters || present->is_ours[i] || !wanted[i]) continue;
    result = create_view(connection, &stored_selects[i], created, message);
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

static int create_views(struct connection *connection, bool *wanted, unsigned *created, char **message) {
  sqlite3 *db = connection->db;
  struct present present;
  char *first = NULL;
  *created = 0;
  *message = NULL;
  int result = read_present(connection, &present);
  if (!result) {
    /* One transaction instead of dozens. Where it cannot be had each view is made by itself. */
    bool has_savepoint = run_view_sql(db, "SAVEPOINT tfprof_views", &first) == SQLITE_OK;
    result = create_wanted(connection, wanted, &present, created, message);
    if (has_savepoint) run_view_sql(db, "RELEASE tfprof_views", &first);
  }
  sqlite3_free(first);
  present_free(&present);
  return result;
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

/* Every word that stands neither in a comment nor in a text. A view too many is no harm. */
static void want_words(struct wanting *w, const char *sql) {
  while (*sql) {
    const char *end = skip_token(sql);
    if (is_of_word(*sql)) want_word(w, sql, (size_t)(end - sql));
    sql = end;
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
static char *trial_sql(const struct connection *connection, const struct stored_select *select, const char *name,
                       bool is_missing) {
  if (is_missing) return stored_view_sql(connection, select);
  if (strcmp(select->kind, "check") == 0) return sqlite3_mprintf("SELECT " CHECK_COLUMNS " FROM temp.\"%w\"", name);
  if (!select->parameters) return sqlite3_mprintf("SELECT * FROM temp.\"%w\"", name);
  sqlite3_str *text = sqlite3_str_new(NULL);
  sqlite3_str_appendf(text, "SELECT * FROM tfprof_own.\"%w\"(NULL", name);
  for (const char *comma = strchr(select->parameters, ','); comma; comma = strchr(comma + 1, ',')) {
    sqlite3_str_appendall(text, ", NULL");
  }
  sqlite3_str_appendall(text, ")");
  return sqlite3_str_finish(text);
}

char *stored_view_trouble(const struct connection *connection, const struct stored_select *select, bool *is_broken) {
  sqlite3 *db = connection->db;
  sqlite3_stmt *statement = NULL;
  char *name = stored_view_name(connection, select);
  bool is_missing = !select->parameters && name && !has_temp_view(db, name);
  char *sql = name ? trial_sql(connection, select, name, is_missing) : NULL;
  *is_broken = !sql || sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
  char *trouble = *is_broken ? sqlite3_mprintf("%s", sqlite3_errmsg(db)) : NULL;
  /* Views that it builds on may be missing together with it. */
  if (is_missing && trouble && strncmp(trouble, "no such table: temp.", 20) == 0) {
    sqlite3_free(trouble);
    *is_broken = false;
  }
  sqlite3_finalize(statement);
  if (!*is_broken && is_missing) {
    trouble = sqlite3_mprintf("not there; SELECT tfprof_views_create() makes it");
  } else if (!*is_broken && is_taken(connection, select)) {
    trouble = sqlite3_mprintf("temp.%s is yours, which was there before; this one is %s", select->name, name);
  } else if (!*is_broken) {
    trouble = NULL;
  }
  sqlite3_free(sql);
  sqlite3_free(name);
  return trouble;
}
