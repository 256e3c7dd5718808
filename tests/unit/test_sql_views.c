/* test_sql_views.c: stored SELECTs that are broken, missing, or have parameters.
**
** The stored SELECTs of the extension are data; this program has its own, and the linker takes these.
*/
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linked.h"
#include "vtab/stored_select.h"


#define CHECK(name, saves) \
  "SELECT '" name "' AS check_name, 'info' AS severity, '' AS subject, '' AS message, 1.0 AS value, " \
  "2.0 AS threshold, " saves \
  " AS saves_ns, '' AS suggestion, '' AS evidence"

const struct stored_select stored_panels[] = {{.name = NULL}};
const struct stored_select stored_selects[] = {
    {"counts", "view", "steps", NULL, "Tables.", NULL, 0, "SELECT name AS name, rows AS rows FROM tfprof_tables", NULL},
    {"over_counts", "view", "steps", NULL, "A view over a view.", NULL, 0,
     "-- comment\nSELECT count(*) AS n FROM temp.counts", NULL},
    {"no_column", "view", "steps", NULL, "Broken.", NULL, 0, "SELECT nonsense AS x FROM temp.ops", NULL},
    {"no_syntax", "view", "steps", NULL, "Broken.", NULL, 0, "SELEC 1", NULL},
    {"repeat", "view", "steps", NULL, "Numbers.", "first, last", 0,
     "WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last) "
     "SELECT i AS i, ':no' AS text FROM n", NULL},
    {"broken_function", "view", "steps", NULL, "Broken.", "a", 0, "SELECT nonsense AS x FROM temp.ops WHERE :a", NULL},
    {"clash", "view", "steps", NULL, "A parameter called as a column.", "a", 0, "SELECT :a AS a", NULL},
    {"check_low", "check", "checks", NULL, "Finds something.", NULL, 0, CHECK("low", "5"), NULL},
    {"check_high", "check", "checks", NULL, "Finds more.", NULL, 0, CHECK("high", "50"), NULL},
    {"check_null", "check", "checks", NULL, "Finds what saves nothing.", NULL, 0, CHECK("null", "NULL"), NULL},
    {"check_overflow", "check", "checks", NULL, "Fails when it runs, after a row.", NULL, 0,
     CHECK("overflow", "1") " UNION ALL SELECT 'overflow', 'info', '', '', sum(x), 2.0, 1, '', '' "
     "FROM (SELECT 9223372036854775807 AS x UNION ALL SELECT 1)", NULL},
    {"check_short", "check", "checks", NULL, "Lacks columns.", NULL, 0, "SELECT 'short' AS check_name", NULL},
    {"advise", "view", "steps", NULL, "All findings.", NULL, 0,
     "SELECT * FROM temp.tfprof_findings ORDER BY saves_ns DESC NULLS LAST",
     NULL},
    {.name = NULL},
};

static int failures;
static sqlite3 *db;

/* All values, joined; an error's message after "error: ". */
static void expect(const char *sql, const char *expected) {
  char found[4096] = "";
  sqlite3_stmt *statement = NULL;
  int result = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
  while (!result && (result = sqlite3_step(statement)) == SQLITE_ROW) {
    result = SQLITE_OK;
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
      const char *text = (const char *)sqlite3_column_text(statement, i);
      size_t length = strlen(found);
      snprintf(found + length, sizeof found - length, "%s%s", length ? "|" : "", text ? text : "NULL");
    }
  }
  if (result != SQLITE_DONE && result != SQLITE_OK) snprintf(found, sizeof found, "error: %s", sqlite3_errmsg(db));
  sqlite3_finalize(statement);
  if (strcmp(found, expected) != 0) {
    printf("%s\n  gives    %s\n  expected %s\n", sql, found, expected);
    failures++;
  }
}

static void load(void) {
  char *message = NULL;
  if (tfprof_attach(db, &message, true)) {
    printf("loading: %s\n", message ? message : "");
    failures++;
  }
  sqlite3_free(message);
}

int main(void) {
  if (sqlite3_open(":memory:", &db)) abort();
  load();
  expect("SELECT name, kind FROM tfprof_views WHERE kind <> 'broken'",
         "counts|view|over_counts|view|repeat|function|check_low|check|check_high|check|check_null|check|"
         "check_overflow|check|advise|view");
  expect("SELECT name, message FROM tfprof_views WHERE kind = 'broken'",
         "no_column|no such column: nonsense|no_syntax|near \"SELEC\": syntax error|"
         "broken_function|broken_function: no such column: nonsense|"
         "clash|clash: duplicate column name: a|check_short|no such column: severity");
  expect("SELECT n > 20 FROM over_counts", "1");
  /* A check that fails tells so, beside what it found before; the others answer. */
  expect("SELECT check_name, message FROM advise",
         "check_high||check_low||check_overflow||check_null||check_overflow|The check check_overflow could not be "
         "answered: integer overflow|"
         "check_short|The check check_short could not be answered: no such column: severity");
  expect("SELECT severity, subject, value > threshold, length(suggestion) > 0, evidence FROM advise "
         "WHERE check_name = 'check_short'",
         "warning|the check check_short|1|1|SELECT sql, message FROM tfprof_views WHERE name = 'check_short'");
  expect("SELECT subject FROM tfprof_findings WHERE check_name IN ('check_short', 'none', 'counts', NULL)",
         "the check check_short");
  expect("SELECT check_name FROM tfprof_findings WHERE check_name = 'CHECK_SHORT' COLLATE NOCASE", "check_short");
  expect("SELECT count(*) FROM tfprof_findings AS a JOIN tfprof_findings AS b USING (check_name)", "8");

  expect("SELECT i FROM repeat(2, 4)", "2|3|4");
  expect("SELECT i, text FROM temp.repeat(2, 2)", "2|:no");
  expect("SELECT i FROM repeat WHERE last = 3 AND first = 1", "1|2|3");
  expect("SELECT first, last FROM repeat(7, 7)", "7|7");
  expect("SELECT i FROM repeat(1, 9) WHERE i = 5 OR text = 'x' OR i > 8", "5|9");
  expect("SELECT a.i, b.i FROM repeat(1, 2) a JOIN repeat(1, a.i) b", "1|1|2|1|2|2");
  expect("SELECT a.i, b.i FROM repeat b JOIN repeat(1, 2) a ON b.first = a.i AND b.last = a.i", "1|1|2|2");
  expect("SELECT count(*) FROM repeat(1, 3) WHERE first IN (1, 2)", "3");
  expect("SELECT i FROM repeat WHERE first IN (1, 3) AND last = 3", "1|2|3|3");
  expect("SELECT i FROM repeat(1)", "error: repeat: a parameter is missing: use repeat(first, last)");
  expect("SELECT i FROM repeat", "error: repeat: a parameter is missing: use repeat(first, last)");
  expect("SELECT i FROM repeat(1, 2, 3)", "error: too many arguments on repeat() - max 2");
  expect("SELECT i FROM repeat WHERE first > 1 AND last = 3",
         "error: repeat: parameters take = only, as in repeat(first, last)");
  expect("SELECT i FROM repeat WHERE +first = 1 AND last = 3",
         "error: repeat: a parameter is missing: use repeat(first, last)");

  /* What a rollback took away can be made again. */
  expect("DROP VIEW temp.counts", "");
  expect("DROP VIEW temp.check_low", "");
  expect("DROP VIEW temp.advise", "");
  expect("SELECT name, kind FROM tfprof_views WHERE message LIKE 'not there;%'",
         "counts|view|check_low|check|advise|view");
  expect("SELECT message FROM tfprof_findings WHERE check_name = 'check_low'",
         "The check check_low could not be answered: no such table: temp.check_low");
  expect("SELECT tfprof_views_create()", "3");
  expect("SELECT tfprof_views_create()", "0");
  expect("SELECT count(*) FROM advise", "6");
  load();
  expect("SELECT count(*) FROM sqlite_temp_master WHERE type = 'view'", "9");
  if (sqlite3_close(db)) {
    printf("the connection cannot be closed\n");
    failures++;
  }
  return failures != 0;
}
