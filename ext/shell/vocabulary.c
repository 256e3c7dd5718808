/* vocabulary.c: collects words from the database's own description of itself.
**
** Tables, views and columns come from tfprof_tables, tfprof_views and tfprof_columns and, for what the user made, from
** sqlite_schema; functions from pragma_function_list and, where they are tables, from tfprof_functions; keywords from
** SQLite.  Whatever cannot be asked is left out.
*/
#include "vocabulary.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/list.h"
#include "base/nearest_name.h"

static void add_word(struct vocabulary *vocabulary, const char *word, size_t length) {
  if (!array_room(vocabulary->words, vocabulary->count, vocabulary->room)) return;
  char *copy = strndup(word, length);
  if (copy) vocabulary->words[vocabulary->count++] = copy;
}

static void add_query(struct vocabulary *vocabulary, sqlite3 *db, const char *sql, const char *argument) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) return;
  if (argument) sqlite3_bind_text(statement, 1, argument, -1, SQLITE_STATIC);
  while (sqlite3_step(statement) == SQLITE_ROW) {
    const char *word = (const char *)sqlite3_column_text(statement, 0);
    if (word && *word) add_word(vocabulary, word, strlen(word));
  }
  sqlite3_finalize(statement);
}

void vocabulary_add_word(struct vocabulary *vocabulary, const char *word) {
  add_word(vocabulary, word, strlen(word));
}

void vocabulary_add_query(struct vocabulary *vocabulary, sqlite3 *db, const char *sql) {
  add_query(vocabulary, db, sql, NULL);
}

/* Those that are offered; `are_all`: helpers and old names of views, too, which a text may mention. */
static void add_tables(struct vocabulary *vocabulary, sqlite3 *db, bool are_all) {
  add_query(vocabulary, db, "SELECT name FROM tfprof_tables", NULL);
  add_query(vocabulary, db, are_all ? "SELECT name FROM tfprof_views"
                                    : "SELECT name FROM tfprof_views WHERE section NOT IN ('helpers', 'old')", NULL);
  add_query(vocabulary, db, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')", NULL);
  add_query(vocabulary, db, "SELECT name FROM sqlite_temp_schema WHERE type IN ('table', 'view') "
            "AND name NOT IN (SELECT name FROM tfprof_views)", NULL);
  add_query(vocabulary, db,
            "SELECT DISTINCT table_name FROM tfprof_columns WHERE table_name GLOB 'tfprof_*' "
            "UNION SELECT name FROM tfprof_functions WHERE kind = 'table' AND name NOT GLOB '_*'", NULL);
}

static void add_columns(struct vocabulary *vocabulary, sqlite3 *db, const char *table) {
  add_query(vocabulary, db, "SELECT name FROM pragma_table_xinfo(?1)", table);
}

static bool is_word_character(char c) {
  return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_table(const struct vocabulary *tables, const char *word, size_t length) {
  for (size_t i = 0; i < tables->count; i++) {
    if (strlen(tables->words[i]) == length && strncasecmp(tables->words[i], word, length) == 0) return true;
  }
  return false;
}

/* Calls for each table that the text mentions: adds its columns, or, looking for an alias, only where the words after
** it are `AS alias` or `alias`. Strings and comments are not told apart: a word too many does no harm. */
static void add_mentioned_columns(struct vocabulary *vocabulary, sqlite3 *db, const char *sql, const char *alias) {
  struct vocabulary tables = {0};
  add_tables(&tables, db, true);
  vocabulary_sort(&tables);
  for (const char *at = sql; *at;) {
    size_t length = 0;
    while (is_word_character(at[length])) length++;
    if (length == 0) {
      at++;
      continue;
    }
    if (is_table(&tables, at, length)) {
      char *table = strndup(at, length);
      bool is_wanted = !alias;
      if (alias) {
        const char *next = at + length;
        next += strspn(next, " \t\n");
        if (strncasecmp(next, "as", 2) == 0 && !is_word_character(next[2])) next += 2;
        next += strspn(next, " \t\n");
        size_t size = strlen(alias);
        is_wanted = strncasecmp(next, alias, size) == 0 && !is_word_character(next[size]);
      }
      if (table && is_wanted) add_columns(vocabulary, db, table);
      free(table);
    }
    at += length;
  }
  vocabulary_free(&tables);
}

static void add_all_columns(struct vocabulary *vocabulary, sqlite3 *db) {
  add_query(vocabulary, db, "SELECT DISTINCT column_name FROM tfprof_columns "
            "WHERE table_name NOT IN (SELECT name FROM tfprof_views WHERE section = 'old')", NULL);
}

void vocabulary_add(struct vocabulary *vocabulary, sqlite3 *db, unsigned kinds, const char *sql, const char *table) {
  if (table) {
    add_columns(vocabulary, db, table);
    if (vocabulary->count == 0 && sql) add_mentioned_columns(vocabulary, db, sql, table);
    return;
  }
  if (kinds & WORD_KEYWORD) {
    for (int i = 0; i < sqlite3_keyword_count(); i++) {
      const char *word;
      int length;
      if (sqlite3_keyword_name(i, &word, &length) == SQLITE_OK) add_word(vocabulary, word, (size_t)length);
    }
  }
  if (kinds & WORD_TABLE) add_tables(vocabulary, db, false);
  if (kinds & WORD_FUNCTION) {
    /* Operators that are functions inside (->>) are no words. */
    add_query(vocabulary, db, "SELECT DISTINCT name || '(' FROM pragma_function_list WHERE name GLOB '[a-z]*'", NULL);
    add_query(vocabulary, db, "SELECT name || '(' FROM tfprof_functions WHERE kind = 'table' AND name NOT GLOB '_*'",
              NULL);
  }
  if (kinds & WORD_COLUMN) {
    size_t before = vocabulary->count;
    if (sql) add_mentioned_columns(vocabulary, db, sql, NULL);
    if (vocabulary->count == before) add_all_columns(vocabulary, db);
  }
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

void vocabulary_sort(struct vocabulary *vocabulary) {
  if (vocabulary->count == 0) return;
  qsort(vocabulary->words, vocabulary->count, sizeof *vocabulary->words, by_text);
  size_t kept = 1;
  for (size_t i = 1; i < vocabulary->count; i++) {
    if (strcmp(vocabulary->words[i], vocabulary->words[kept - 1]) == 0)
      free(vocabulary->words[i]);
    else
      vocabulary->words[kept++] = vocabulary->words[i];
  }
  vocabulary->count = kept;
}

void vocabulary_free(struct vocabulary *vocabulary) {
  for (size_t i = 0; i < vocabulary->count; i++) free(vocabulary->words[i]);
  free(vocabulary->words);
  *vocabulary = (struct vocabulary){0};
}

const char *vocabulary_nearest(const struct vocabulary *vocabulary, const char *word) {
  struct nearest_name nearest = nearest_name_begin(word);
  for (size_t i = 0; i < vocabulary->count; i++) nearest_name_try(&nearest, vocabulary->words[i]);
  return nearest.name;
}
