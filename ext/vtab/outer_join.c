/* outer_join.c: see outer_join.h. */
#include "vtab/outer_join.h"

#include "base/hash.h"
#include "base/list.h"

#include <stdlib.h>
#include <string.h>

SQLITE_EXTENSION_INIT3

enum { REPAIRED_IN = 3051000 };

bool outer_join_is_mistaken(void) { return sqlite3_libversion_number() < REPAIRED_IN; }

bool outer_join_concerns(enum term_operator operator) {
  switch (operator) {
    case TERM_NOT_EQUAL:
    case TERM_IS_NOT:
    case TERM_NOT_NULL:
    case TERM_LIKE:
    case TERM_GLOB:
    case TERM_REGEXP: return true;
    default: return false;
  }
}

/* ---- texts of statements ---- */

/* A word, an operator of comparison, or any other character; what is quoted counts as one character. */
struct token { const char *start; int length; };

static const char *behind_quoted(const char *text) {
  char end = *text == '[' ? ']' : *text;
  for (text++; *text && *text != end;) text++;
  return *text ? text + 1 : text; /* a doubled quote is one that begins anew */
}

static const char *behind_spaces_and_comments(const char *text) {
  for (;;) {
    text += strspn(text, " \t\r\n\f");
    if (text[0] == '-' && text[1] == '-') {
      text += strcspn(text, "\n");
    } else if (text[0] == '/' && text[1] == '*') {
      const char *end = strstr(text + 2, "*/");
      text = end ? end + 2 : text + strlen(text);
    } else {
      return text;
    }
  }
}

static bool is_of_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         (unsigned char)c >= 0x80;
}

static bool next_token(const char **text, struct token *token) {
  const char *start = behind_spaces_and_comments(*text), *end = start + 1;
  if (!*start) return false;
  if (is_of_word(*start)) {
    while (is_of_word(*end)) end++;
  } else if (strchr("'\"`[", *start)) {
    end = behind_quoted(start);
  } else if (strchr("<>=!", *start) && *end && strchr("<>=", *end)) {
    end++;
  }
  *token = (struct token){start, (int)(end - start)};
  *text = end;
  return true;
}

/* Words are separated by spaces. */
static bool is_among(struct token token, const char *words) {
  for (const char *word = words; *word;) {
    int length = (int)strcspn(word, " ");
    if (length == token.length && sqlite3_strnicmp(token.start, word, length) == 0) return true;
    word += length;
    word += strspn(word, " ");
  }
  return false;
}

static const char ends_of_joins[] =
    "LEFT RIGHT FULL INNER CROSS NATURAL JOIN WHERE GROUP HAVING WINDOW ORDER LIMIT UNION EXCEPT INTERSECT , ;";

/* Whether a condition after ON may be, or become once views are put in place of their names, one of those of
** outer_join_concerns().  Not when it is comparisons joined by AND. */
static bool may_concern(const char *condition) {
  struct token token;
  int depth = 0;
  bool is_comparison = false;
  while (next_token(&condition, &token)) {
    if (is_among(token, "<> != NOT NOTNULL DISTINCT LIKE GLOB REGEXP MATCH OR CASE BETWEEN")) return true;
    if (*token.start == '(') depth++;
    if (*token.start == ')' && depth-- == 0) break;
    if (depth) continue;
    if (is_among(token, ends_of_joins)) break;
    if (is_among(token, "= == < <= > >= IS")) is_comparison = true;
    if (!is_among(token, "AND")) continue;
    if (!is_comparison) return true;
    is_comparison = false;
  }
  return !is_comparison;
}

/* The condition of the join whose name ended here; NULL: it has none. */
static const char *condition_of_join(const char *text) {
  struct token token;
  int depth = 0;
  while (next_token(&text, &token)) {
    if (*token.start == '(') depth++;
    if (*token.start == ')' && depth-- == 0) return NULL;
    if (depth == 0 && is_among(token, "ON")) return text;
    if (depth == 0 && is_among(token, ends_of_joins)) return NULL;
  }
  return NULL;
}

/* Whether the text has an outer join that the mistake may be made with. */
static bool has_outer_join(const char *text) {
  struct token token;
  while (next_token(&text, &token)) {
    const char *ahead = text;
    struct token next;
    if (!is_among(token, "LEFT RIGHT FULL") || !next_token(&ahead, &next)) continue;
    if (is_among(next, "OUTER") && !next_token(&ahead, &next)) continue;
    if (!is_among(next, "JOIN")) continue;
    const char *condition = condition_of_join(ahead);
    if (!is_among(token, "LEFT") || (condition && may_concern(condition))) return true;
  }
  return false;
}

struct view { char *name, *sql; bool is_trigger, is_seen; };
struct views { struct view *items; size_t count, capacity; }; /* in the order of their names, once all are read */

static int compare_sql_names(const char *name, size_t length, const char *other) {
  size_t other_length = strlen(other), common = length < other_length ? length : other_length;
  int order = sqlite3_strnicmp(name, other, (int)common);
  return order ? order : (length > other_length) - (length < other_length);
}

static int compare_views(const void *left, const void *right) {
  const struct view *a = left, *b = right;
  return compare_sql_names(a->name, strlen(a->name), b->name);
}

static bool add_views(sqlite3 *db, const char *schema, struct views *views) {
  sqlite3_stmt *statement = NULL;
  char *sql = sqlite3_mprintf(
      "SELECT name, sql, type = 'trigger' FROM \"%w\".sqlite_master WHERE type IN ('view', 'trigger')", schema);
  bool is_complete = sql && sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK;
  while (is_complete && sqlite3_step(statement) == SQLITE_ROW) {
    if (!array_room(views->items, views->count, views->capacity)) {
      is_complete = false;
      break;
    }
    struct view *view = &views->items[views->count++];
    *view = (struct view){.name = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0)),
                          .sql = sqlite3_mprintf("%s", sqlite3_column_text(statement, 1)),
                          .is_trigger = sqlite3_column_int(statement, 2)};
    is_complete = view->name && view->sql;
  }
  if (sqlite3_finalize(statement)) is_complete = false;
  sqlite3_free(sql);
  return is_complete;
}

/* False: not all could be read. */
static bool read_views(sqlite3 *db, struct views *views) {
  sqlite3_stmt *statement;
  bool is_complete = sqlite3_prepare_v2(db, "PRAGMA database_list", -1, &statement, NULL) == SQLITE_OK;
  bool has_temp = false;
  while (is_complete && sqlite3_step(statement) == SQLITE_ROW) {
    const char *schema = (const char *)sqlite3_column_text(statement, 1);
    has_temp |= schema && strcmp(schema, "temp") == 0;
    is_complete = schema && add_views(db, schema, views);
  }
  if (sqlite3_finalize(statement)) is_complete = false;
  is_complete = is_complete && (has_temp || add_views(db, "temp", views));
  if (is_complete && views->count) qsort(views->items, views->count, sizeof *views->items, compare_views);
  return is_complete;
}

static bool reaches_outer_join(const char *text, struct views *views, bool reaches_triggers);

static bool view_reaches_outer_join(struct view *view, struct views *views, bool reaches_triggers) {
  if (view->is_seen) return false;
  view->is_seen = true; /* once is enough, and ends the recursion */
  return reaches_outer_join(view->sql, views, reaches_triggers);
}

/* Of the views that a word, or a text in quotes, may be the name of. */
static bool named_reaches_outer_join(struct token token, struct views *views, bool reaches_triggers) {
  if (strchr("'\"`[", *token.start)) token = (struct token){token.start + 1, token.length > 2 ? token.length - 2 : 0};
  size_t low = 0, high = views->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (compare_sql_names(token.start, (size_t)token.length, views->items[middle].name) > 0) low = middle + 1;
    else high = middle;
  }
  for (; low < views->count; low++) {
    struct view *view = &views->items[low];
    if (compare_sql_names(token.start, (size_t)token.length, view->name) != 0) break;
    if (!view->is_trigger && view_reaches_outer_join(view, views, reaches_triggers)) return true;
  }
  return false;
}

/* The text, or a view named in it, or in that ... */
static bool reaches_outer_join(const char *text, struct views *views, bool reaches_triggers) {
  struct token token;
  if (has_outer_join(text)) return true;
  while (next_token(&text, &token)) {
    bool may_be_name = is_of_word(*token.start) || strchr("'\"`[", *token.start);
    if (may_be_name && named_reaches_outer_join(token, views, reaches_triggers)) return true;
  }
  for (size_t i = 0; i < views->count; i++) {
    struct view *view = &views->items[i];
    /* A name with a quote in it is no single token where it is written. */
    bool is_anywhere = view->is_trigger ? reaches_triggers : strpbrk(view->name, "'\"`]") != NULL;
    if (is_anywhere && view_reaches_outer_join(view, views, reaches_triggers)) return true;
  }
  return false;
}

static bool is_query(const char *sql) {
  sql += strspn(sql, " \t\r\n");
  return sqlite3_strnicmp(sql, "SELECT", 6) == 0;
}

static bool find_outer_join(sqlite3 *db) {
  struct views views = {0};
  bool is_found = false;
  /* The texts of the statements alone answer most often. */
  for (sqlite3_stmt *statement = sqlite3_next_stmt(db, NULL); statement && !is_found;
       statement = sqlite3_next_stmt(db, statement)) {
    if (sqlite3_stmt_busy(statement)) is_found = !sqlite3_sql(statement) || has_outer_join(sqlite3_sql(statement));
  }
  if (!is_found) is_found = !read_views(db, &views);
  for (sqlite3_stmt *statement = sqlite3_next_stmt(db, NULL); statement && !is_found;
       statement = sqlite3_next_stmt(db, statement)) {
    if (!sqlite3_stmt_busy(statement)) continue;
    is_found = reaches_outer_join(sqlite3_sql(statement), &views, !is_query(sqlite3_sql(statement)));
  }
  for (size_t i = 0; i < views.count; i++) {
    sqlite3_free(views.items[i].name);
    sqlite3_free(views.items[i].sql);
  }
  free(views.items);
  return is_found;
}

/* Tells the statements that are running from others. */
static uint64_t running_statements(sqlite3 *db) {
  uint64_t hash = 0;
  for (sqlite3_stmt *statement = sqlite3_next_stmt(db, NULL); statement; statement = sqlite3_next_stmt(db, statement)) {
    if (sqlite3_stmt_busy(statement)) hash = (hash ^ (uint64_t)(uintptr_t)statement) * HASH_FACTOR_1;
  }
  return hash;
}

/* A recursive query opens its tables for each of its rows: the texts are looked at once. */
bool outer_join_is_running(struct connection *connection) {
  struct outer_join_answer *answer = &connection->outer_join;
  uint64_t statements = running_statements(connection->db);
  if (!answer->is_known || answer->statements != statements)
    *answer = (struct outer_join_answer){true, find_outer_join(connection->db), statements};
  return answer->is_running;
}

void outer_join_forget(struct connection *connection) { connection->outer_join.is_known = false; }
