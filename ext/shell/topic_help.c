/* topic_help.c: see topic_help.h. */
#include "topic_help.h"

#include <stdio.h>
#include <stdlib.h>

#include "cell.h"

enum { HEADING, TITLE, DESCRIPTION, EXAMPLE, TOPIC_COLUMNS, PLAIN_WIDTH = 80 };

static const char topic_sql[] =
    "SELECT printf('%s(%s): %s', name, parameters, CASE kind WHEN 'table' THEN 'table function' WHEN 'scalar' THEN "
    "'function' ELSE kind || ' function' END), title, description, example "
    "FROM tfprof_own.tfprof_functions WHERE name = lower(?1) UNION ALL "
    "SELECT printf('%s: diagnostics of severity %s', reason, severity), what_happened, what_to_do, "
    "printf('SELECT * FROM diagnostics WHERE reason = %Q', reason) "
    "FROM tfprof_own.tfprof_reasons WHERE reason = lower(?1)";

/* A heading, then its texts below it, then SQL to try. */
static bool print_topic(const struct session *session, sqlite3_stmt *statement) {
  struct cell cells[TOPIC_COLUMNS] = {0};
  bool has_memory = true;
  int width = session_style(session).width;
  for (int i = 0; i < TOPIC_COLUMNS && has_memory; i++) has_memory = cell_make(statement, i, QUANTITY_NONE, &cells[i]);
  if (has_memory) {
    printf("%s\n\n", cells[HEADING].text);
    for (int i = TITLE; i <= DESCRIPTION; i++) {
      if (!cells[i].length || cells[i].type == SQLITE_NULL) continue;
      cell_print_wrapped(&cells[i], "  ", width ? width : PLAIN_WIDTH);
      putchar('\n');
    }
    printf("  %s;\n", cells[EXAMPLE].text);
  }
  for (int i = 0; i < TOPIC_COLUMNS; i++) free(cells[i].text);
  return has_memory;
}

/* The statement at the row of the name, or NULL. */
static sqlite3_stmt *find_topic(const struct session *session, const char *name) {
  sqlite3_stmt *statement = NULL;
  bool is_found = sqlite3_prepare_v2(session->db, topic_sql, -1, &statement, NULL) == SQLITE_OK &&
                  sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC) == SQLITE_OK &&
                  sqlite3_step(statement) == SQLITE_ROW;
  if (is_found) return statement;
  sqlite3_finalize(statement);
  return NULL;
}

bool topic_help_print(const struct session *session, const char *name) {
  sqlite3_stmt *statement = find_topic(session, name);
  bool is_found = statement != NULL;
  if (is_found && !print_topic(session, statement)) fputs("error: not enough memory\n", stderr);
  sqlite3_finalize(statement);
  return is_found;
}
