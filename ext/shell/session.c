/* session.c: one connection to an empty database with the extension in it, and running SQL on it. */
#include "session.h"
#include "ticker.h"
#include "vocabulary.h"
#include "vtab/stored_views.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The extension's tables and functions (ext/tfprof.c), linked in. */
int tfprof_attach_without_views(sqlite3 *db, char **message);

static sqlite3 *volatile running; /* the connection that a query runs on, for session_interrupt() */

bool session_begin(struct session *session) {
  char *message = NULL;
  int rc = sqlite3_open_v2(":memory:", &session->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
  if (rc == SQLITE_OK) rc = tfprof_attach_without_views(session->db, &message);
  if (rc != SQLITE_OK && rc != SQLITE_OK_LOAD_PERMANENTLY) {
    fprintf(stderr, "tfprof: %s\n", message ? message : sqlite3_errstr(rc));
    sqlite3_free(message);
    return false;
  }
  sqlite3_free(message);
  return true;
}

void session_make_views(struct session *session) {
  if (session->has_views) return;
  bool is_of_other_build;
  unsigned created;
  char *message = NULL;
  struct connection *connection = connection_find(session->db, &is_of_other_build);
  session->has_views = true;
  if (connection) stored_views_create(connection, &created, &message); /* trouble is told by tfprof_views */
  sqlite3_free(message);
}

void session_end(struct session *session) {
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
  return rc == SQLITE_OK ? SESSION_OK : rc == SQLITE_INTERRUPT ? SESSION_INTERRUPTED : SESSION_ERROR;
}

/* ---- errors ---- */

/* "no such column: nme" -> the columns that it may have meant. The word is the last of the message. */
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
  fflush(stdout);
  fprintf(stderr, "error: %s%s%s", origin ? origin : "", origin ? ": " : "", message ? message : "not enough memory");
  if (message) suggest(session, message, sql);
  fputs("\n", stderr);
  if (offset >= 0 && offset <= (int)strlen(sql)) show_place(sql, offset);
  free(message);
}

/* ---- running ---- */

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

/* Steps through one statement; its rows go to stdout. The code of the last step. */
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
    output = output_begin(stdout, &session->style, statement);
    has_memory = output != NULL;
  }
  while (rc == SQLITE_ROW && has_memory) {
    has_memory = output_row(output);
    if (has_memory) rc = sqlite3_step(statement);
  }
  running = NULL;
  uint64_t rows = output ? output_end(output) : 0;
  if (!has_memory) return SQLITE_NOMEM;
  if (rc == SQLITE_DONE && has_columns && session->is_interactive) show_count(rows, now() - start);
  return rc;
}

enum session_result session_run(struct session *session, const char *sql, const char *origin) {
  session_make_views(session);
  while (*sql) {
    sqlite3_stmt *statement;
    const char *rest;
    int rc = sqlite3_prepare_v2(session->db, sql, -1, &statement, &rest);
    if (rc == SQLITE_OK && statement) {
      rc = run_statement(session, statement);
      if (rc == SQLITE_INTERRUPT)
        fputs("interrupted\n", stderr);
      else if (rc == SQLITE_NOMEM)
        fputs("error: not enough memory\n", stderr);
      else if (rc != SQLITE_DONE)
        show_error(session, sql, origin);
      sqlite3_finalize(statement);
      if (rc == SQLITE_INTERRUPT) return SESSION_INTERRUPTED;
      if (rc != SQLITE_DONE) return SESSION_ERROR;
    } else if (rc != SQLITE_OK) {
      show_error(session, sql, origin);
      return SESSION_ERROR;
    }
    sql = rest;
  }
  if (fflush(stdout) != 0 || ferror(stdout)) {
    perror("error: cannot write the result");
    return SESSION_ERROR;
  }
  return SESSION_OK;
}
