/* session.c: one connection to an empty database with the extension in it, and running SQL on it. */
#include "session.h"
#include "damage.h"
#include "linked.h"
#include "ticker.h"
#include "vocabulary.h"
#include "vtab/stored_views.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SMALL_BYTES = 512, SMALL_PIECES = 4000 }; /* set aside for SQLite's parser */

static sqlite3 *volatile running; /* the connection that a query runs on, for session_interrupt() */

bool session_begin(struct session *session) {
  char *message = NULL;
  /* The checks and views are a quarter of a megabyte of SQL, and to parse it is mostly to allocate small pieces.
  ** Nobody asks how much of that is in use, which costs a lock each time. */
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  /* One thread works with it: a lock around each value that is read would cost more than most values do. */
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  int rc = sqlite3_open_v2(":memory:", &session->db, flags, NULL);
  if (rc == SQLITE_OK) sqlite3_db_config(session->db, SQLITE_DBCONFIG_LOOKASIDE, NULL, SMALL_BYTES, SMALL_PIECES);
  if (rc == SQLITE_OK) rc = tfprof_attach(session->db, &message, false);
  if (rc != SQLITE_OK && rc != SQLITE_OK_LOAD_PERMANENTLY) {
    fprintf(stderr, "tfprof: %s\n", message ? message : sqlite3_errstr(rc));
    sqlite3_free(message);
    return false;
  }
  sqlite3_free(message);
  damage_tell(session); /* of what TFPROF_OPEN names */
  return true;
}

/* Trouble is told by tfprof_views. */
static void make_views(struct session *session, const char *sql) {
  bool is_of_other_build;
  unsigned created;
  char *message = NULL;
  struct connection *connection = connection_find(session->db, &is_of_other_build);
  if (connection && sql) stored_views_create_for(connection, sql, &created, &message);
  else if (connection) stored_views_create(connection, &created, &message);
  sqlite3_free(message);
}

void session_make_views(struct session *session) {
  if (session->has_views) return;
  session->has_views = true;
  make_views(session, NULL);
}

/* What looks at the schema sees all views; one that is dropped does not come back; a transaction that is rolled back
** would take those with it that were made within; and where nothing may be written any more, none can be made. */
static bool asks_for_all(const char *sql) {
  static const char *const words[] = {"sqlite_", "pragma", "drop", "begin", "savepoint", "tfprof_views"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (strcasestr(sql, words[i])) return true;
  }
  return false;
}

void session_make_views_for(struct session *session, const char *sql) {
  if (session->has_views) return;
  if (asks_for_all(sql)) session_make_views(session);
  else make_views(session, sql);
}

void session_end(struct session *session) {
  destination_free(&session->destination);
  free(session->told);
  free(session->last);
  sqlite3_close_v2(session->db);
  session->db = NULL;
}

bool session_interrupt(void) {
  sqlite3 *db = running;
  if (db) sqlite3_interrupt(db);
  return db != NULL;
}

/* While a statement runs, an interrupt stays until it is noticed. */
void session_begin_work(struct session *session) {
  if (sqlite3_prepare_v2(session->db, "VALUES (1), (2)", -1, &session->work, NULL) == SQLITE_OK)
    sqlite3_step(session->work);
  running = session->db;
}

void session_end_work(struct session *session) {
  running = NULL;
  sqlite3_finalize(session->work);
  session->work = NULL;
}

enum session_result session_open_run(struct session *session, const char *path) {
  sqlite3_stmt *statement;
  int rc = sqlite3_prepare_v2(session->db, "SELECT tfprof_open(?1)", -1, &statement, NULL);
  if (rc == SQLITE_OK) {
    char label[256];
    snprintf(label, sizeof label, "opening %s", path);
    sqlite3_bind_text(statement, 1, path, -1, SQLITE_STATIC);
    running = session->db;
    ticker_start(label);
    rc = sqlite3_step(statement);
    ticker_stop();
    running = NULL;
  }
  if (rc == SQLITE_ROW || rc == SQLITE_DONE) rc = SQLITE_OK;
  if (rc != SQLITE_OK) fprintf(stderr, "tfprof: %s\n", sqlite3_errmsg(session->db));
  sqlite3_finalize(statement);
  if (rc == SQLITE_OK) damage_tell(session);
  return rc == SQLITE_OK ? SESSION_OK : rc == SQLITE_INTERRUPT ? SESSION_INTERRUPTED : SESSION_ERROR;
}

enum session_result session_refresh(struct session *session, uint64_t *rows) {
  sqlite3_stmt *statement;
  int rc = sqlite3_prepare_v2(session->db, "SELECT tfprof_refresh()", -1, &statement, NULL);
  if (rc == SQLITE_OK) {
    running = session->db;
    rc = sqlite3_step(statement);
    running = NULL;
  }
  if (rc == SQLITE_ROW) *rows = (uint64_t)sqlite3_column_int64(statement, 0);
  else fprintf(stderr, rc == SQLITE_INTERRUPT ? "interrupted\n" : "error: %s\n", sqlite3_errmsg(session->db));
  sqlite3_finalize(statement);
  return rc == SQLITE_ROW ? SESSION_OK : rc == SQLITE_INTERRUPT ? SESSION_INTERRUPTED : SESSION_ERROR;
}

/* ---- errors ---- */

/* Those of the tables that the SQL mentions, where they are not too many to read. */
static void list_columns(const struct vocabulary *columns) {
  enum { MOST_LISTED = 40 };
  if (columns->count == 0 || columns->count > MOST_LISTED) return;
  for (size_t i = 0; i < columns->count; i++) fprintf(stderr, "%s%s", i ? ", " : "; there are ", columns->words[i]);
}

/* "no such column: nme" -> the column that it may have meant, or all. The word is the last of the message. */
static void suggest(struct session *session, const char *message, const char *sql) {
  static const struct {
    const char *beginning;
    unsigned kind;
  } cases[] = {
      {"no such table: ", WORD_TABLE}, {"no such column: ", WORD_COLUMN}, {"no such function: ", WORD_FUNCTION}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    size_t length = strlen(cases[i].beginning);
    if (strncmp(message, cases[i].beginning, length) != 0) continue;
    char word[128];
    const char *name = message + length, *dot = strrchr(name, '.');
    if (dot) name = dot + 1;
    snprintf(word, sizeof word, "%s%s", name, cases[i].kind == WORD_FUNCTION ? "(" : "");
    struct vocabulary vocabulary = {0};
    vocabulary_add(&vocabulary, session->db, cases[i].kind, sql, NULL);
    const char *nearest = vocabulary_nearest(&vocabulary, word);
    if (nearest) fprintf(stderr, "; did you mean %s?", nearest);
    else if (cases[i].kind == WORD_COLUMN) list_columns(&vocabulary);
    vocabulary_free(&vocabulary);
  }
}

/* The line of the text that holds the offset, and a mark below the place. */
static void show_place(const char *sql, int offset) {
  const char *line = sql + offset, *end = sql + offset;
  while (line > sql && line[-1] != '\n') line--;
  end += strcspn(end, "\n");
  int before = (int)(sql + offset - line), length = (int)(end - line), skip = 0;
  enum { BEFORE = 60, SHOWN = 100 };
  if (before > BEFORE) skip = before - BEFORE;
  while (skip > 0 && ((unsigned char)line[skip] & 0xc0) == 0x80) skip--; /* not inside a character */
  if (length - skip > SHOWN) length = skip + SHOWN;
  while (length > skip && length < (int)(end - line) && ((unsigned char)line[length] & 0xc0) == 0x80) length--;
  fputs("  ", stderr);
  for (int i = skip; i < length; i++) putc((unsigned char)line[i] < 0x20 ? ' ' : line[i], stderr);
  fputs("\n  ", stderr);
  for (int i = skip; i < before; i++) {
    if (((unsigned char)line[i] & 0xc0) != 0x80) putc(' ', stderr);
  }
  fputs("^\n", stderr);
}

static void show_error(struct session *session, const char *sql, const char *origin) {
  char *message = strdup(sqlite3_errmsg(session->db)); /* asking for suggestions replaces it */
  int offset = sqlite3_error_offset(session->db);
  destination_end(&session->destination); /* a pager has the screen until then */
  fflush(stdout);
  fprintf(stderr, "error: %s%s%s", origin ? origin : "", origin ? ": " : "", message ? message : "not enough memory");
  if (message) suggest(session, message, sql);
  fputs("\n", stderr);
  if (offset >= 0 && offset <= (int)strlen(sql)) show_place(sql, offset);
  free(message);
}

/* ---- running ---- */

struct output_style session_style(const struct session *session) {
  struct output_style style = session->style;
  if (session->destination.file) {
    style.colour = style.is_terminal = false;
    if (!session->is_width_given) style.width = 0;
  }
  return style;
}

bool session_has_run(struct session *session, const char *command) {
  sqlite3_stmt *statement = NULL;
  static const char sql[] = "SELECT 1 FROM tfprof_own.profiles LIMIT 1";
  bool has_profile = sqlite3_prepare_v2(session->db, sql, -1, &statement, NULL) ||
                     sqlite3_step(statement) != SQLITE_DONE;
  sqlite3_finalize(statement);
  session->lacks_run |= !has_profile;
  if (!has_profile)
    fprintf(stderr,
            "error: %s: nothing is open; tfprof RUN %s begins with a run, SELECT tfprof_open('run'); opens one\n",
            command, command);
  return has_profile;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void show_count(uint64_t rows, double seconds) {
  printf("(%llu row%s, ", (unsigned long long)rows, rows == 1 ? "" : "s");
  if (seconds < 1)
    printf("%.*f ms)\n", seconds < 0.01 ? 1 : 0, seconds * 1e3);
  else
    printf("%.2f s)\n", seconds);
}

/* The table or view that the statement reads first; false: it reads none that is told by its words. */
static bool find_read_name(const char *sql, char *name, size_t size) {
  const char *from = strcasestr(sql, "from ");
  size_t length = 0;
  if (!from) return false;
  from += 5 + strspn(from + 5, " \t\r\n");
  if (strncasecmp(from, "temp.", 5) == 0) from += 5;
  while (length + 1 < size && (isalnum((unsigned char)from[length]) || from[length] == '_')) length++;
  memcpy(name, from, length);
  name[length] = 0;
  return length > 0;
}

/* %Q: the view, a pattern of panels that show it; else the view again.  A panel that shows it first knows it;
** that of findings shows much and none of it for its own sake.  Of what no panel shows: which tables have nothing for
** it.  Only those are counted, since to count may be to derive. Of a table: what else there is. */
static const char why_sql[] =
    "SELECT 'nothing is open: SELECT tfprof_open(''run'');' WHERE NOT EXISTS (SELECT 1 FROM temp.profiles) AND %Q IN "
    "(SELECT name FROM tfprof_tables UNION ALL SELECT name FROM tfprof_views) UNION ALL "
    "SELECT substr(text, 1, instr(text, char(10)) - 1) FROM (SELECT substr(sql, instr(sql, '-- empty: ') + 10) AS text "
    "FROM tfprof_panels WHERE instr(sql, '-- empty: ') AND sql GLOB %Q AND name <> 'findings' "
    "ORDER BY instr(sql, 'FROM temp.') = instr(sql, 'FROM temp.' || %Q) DESC, name) "
    "WHERE EXISTS (SELECT 1 FROM temp.profiles) AND NOT EXISTS (SELECT 1 FROM temp.\"%w\") UNION ALL "
    "SELECT text FROM (WITH RECURSIVE every AS MATERIALIZED (SELECT name, sql, kind FROM tfprof_views), "
    "made(name, sql) AS (SELECT name, sql FROM every WHERE name = %Q AND "
    "kind = 'view' UNION SELECT part.name, part.sql FROM made JOIN every AS part "
    "ON made.sql GLOB '*temp.' || part.name || '[^a-z_]*') "
    "SELECT 'there is nothing in ' || group_concat(name, ', ') || ', of which it is made.' AS text FROM tfprof_tables "
    "WHERE name NOT IN ('device_peaks', 'device_steps', 'links', 'memory_totals') AND CASE WHEN "
    "EXISTS (SELECT 1 FROM made WHERE made.sql GLOB '*tfprof_own.' || tfprof_tables.name || '[^a-z_]*') "
    "THEN rows = 0 END AND NOT EXISTS (SELECT 1 FROM temp.\"%w\")) WHERE text IS NOT NULL UNION ALL "
    "SELECT text FROM (SELECT 'what is open has no ' || replace(%Q, '_', ' ') || coalesce('; it has ' || "
    "group_concat(replace(name, '_', ' '), ', '), '') || '.' AS text FROM tfprof_tables WHERE CASE WHEN name IN "
    "('ops', 'kernels', 'transfers', 'api_calls', 'ranges', 'allocations', 'counters', 'nodes', 'tensors', 'instants') "
    "THEN rows > 0 END) WHERE %Q IN (SELECT name FROM tfprof_tables) AND NOT EXISTS (SELECT 1 FROM temp.\"%w\") "
    "LIMIT 1";

/* Where a view is empty as a whole, why, as the panel of the page says that shows it; on stderr, since it is no row. */
static void tell_why_empty(struct session *session, const char *sql) {
  char name[64];
  sqlite3_stmt *statement = NULL;
  if (!find_read_name(sql, name, sizeof name)) return;
  char *pattern = sqlite3_mprintf("*temp.%s[^a-z_]*", name);
  char *ask = pattern ? sqlite3_mprintf(why_sql, name, pattern, name, name, name, name, name, name, name) : NULL;
  bool is_told = ask && sqlite3_prepare_v2(session->db, ask, -1, &statement, NULL) == SQLITE_OK &&
                 sqlite3_step(statement) == SQLITE_ROW;
  if (is_told) fprintf(stderr, "no rows: %s\n", (const char *)sqlite3_column_text(statement, 0));
  sqlite3_finalize(statement);
  sqlite3_free(pattern);
  sqlite3_free(ask);
}

/* Steps through one statement; its rows go to stdout. The code of the last step; SQLITE_DONE also where nobody wants
** the rest. */
static int run_statement(struct session *session, sqlite3_stmt *statement) {
  double start = now();
  struct output *output = NULL;
  bool has_columns = sqlite3_column_count(statement) > 0, has_memory = true;
  if (session->is_interactive) ticker_start("running");
  running = session->db;
  int rc = sqlite3_step(statement);
  ticker_stop();
  /* Only now: a statement that fails at once prints nothing on stdout. */
  if (has_columns && (rc == SQLITE_ROW || rc == SQLITE_DONE)) {
    struct output_style style = session_style(session);
    output = output_begin(stdout, &style, statement);
    has_memory = output != NULL;
  }
  while (rc == SQLITE_ROW && has_memory) {
    has_memory = output_row(output);
    if (has_memory) rc = destination_is_gone(&session->destination) ? SQLITE_DONE : sqlite3_step(statement);
  }
  running = NULL;
  uint64_t rows = output ? output_end(output) : 0;
  if (!has_memory) return SQLITE_NOMEM;
  bool is_counted = session->is_interactive && !session->destination.file;
  if (rc == SQLITE_DONE && has_columns && is_counted) show_count(rows, now() - start);
  if (rc == SQLITE_DONE && has_columns && !rows && session->style.format == OUTPUT_BOX) {
    fflush(stdout);
    tell_why_empty(session, sqlite3_sql(statement));
  }
  return rc;
}

/* Behind the semicolon that ends the first statement, which SQLite does not tell of one that it cannot parse. */
static const char *behind_statement(const char *sql) {
  char *text = strdup(sql);
  const char *end = sql + strlen(sql);
  for (char *semicolon = text ? strchr(text, ';') : NULL; semicolon; semicolon = strchr(semicolon + 1, ';')) {
    char next = semicolon[1];
    semicolon[1] = 0;
    bool is_complete = sqlite3_complete(text); /* not inside of quotes, a comment or a trigger */
    semicolon[1] = next;
    if (!is_complete) continue;
    end = sql + (semicolon + 1 - text);
    break;
  }
  free(text);
  return end;
}

/* Runs the first statement of `sql`, which may be none; *rest: what follows it. */
static enum session_result run_first(struct session *session, const char *sql, const char *origin, const char **rest) {
  sqlite3_stmt *statement;
  int rc = sqlite3_prepare_v2(session->db, sql, -1, &statement, rest);
  if (rc != SQLITE_OK && !session->has_views) { /* it may name a view as its words do not tell */
    session_make_views(session);
    rc = sqlite3_prepare_v2(session->db, sql, -1, &statement, rest);
  }
  if (rc != SQLITE_OK) {
    show_error(session, sql, origin);
    *rest = behind_statement(sql);
    return SESSION_ERROR;
  }
  if (!statement) return SESSION_OK;
  rc = run_statement(session, statement);
  if (rc == SQLITE_INTERRUPT || rc == SQLITE_NOMEM) {
    destination_end(&session->destination);
    fputs(rc == SQLITE_INTERRUPT ? "interrupted\n" : "error: not enough memory\n", stderr);
  } else if (rc != SQLITE_DONE) {
    show_error(session, sql, origin);
  }
  sqlite3_finalize(statement);
  return rc == SQLITE_DONE ? SESSION_OK : rc == SQLITE_INTERRUPT ? SESSION_INTERRUPTED : SESSION_ERROR;
}

/* All statements; one that fails ends it where they were typed, not in a script. */
static enum session_result run_all(struct session *session, const char *sql, const char *origin) {
  bool has_failed = false;
  while (*sql) {
    destination_begin(&session->destination);
    enum session_result result = run_first(session, sql, origin, &sql);
    if (result == SESSION_INTERRUPTED || (result == SESSION_ERROR && !origin)) return result;
    has_failed |= result == SESSION_ERROR;
    if (ferror(stdout)) break;
  }
  return has_failed ? SESSION_ERROR : SESSION_OK;
}

static bool is_flushed(void) { return fflush(stdout) == 0 && !ferror(stdout); }

enum session_result session_run(struct session *session, const char *sql, const char *origin) {
  session_make_views_for(session, sql);
  enum session_result result = run_all(session, sql, origin);
  bool is_written = is_flushed(); /* to a file, or the terminal when the destination ends */
  destination_end(&session->destination);
  damage_tell(session); /* of what the SQL opened or read */
  if (is_written && is_flushed()) return result;
  perror("error: cannot write the result");
  return SESSION_ERROR;
}
