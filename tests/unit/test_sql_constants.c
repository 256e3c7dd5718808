/* test_sql_constants.c: a segment in which a column has one value for all rows is passed over where a query wants
** another, and nothing of it is loaded.
*/
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "linked.h"
#include "vtab/connection.h"


static int failures;
static sqlite3 *db;

static sqlite3_int64 ask(const char *sql) {
  sqlite3_stmt *statement = NULL;
  sqlite3_int64 answer = -1;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
    answer = sqlite3_column_int64(statement, 0);
  else
    printf("%s: %s\n", sql, sqlite3_errmsg(db));
  sqlite3_finalize(statement);
  return answer;
}

static void expect(const char *sql, sqlite3_int64 expected) {
  sqlite3_int64 answer = ask(sql);
  if (answer == expected) return;
  printf("%s\n  gives    %lld\n  expected %lld\n", sql, answer, expected);
  failures++;
}

int main(void) {
  char *message = NULL;
  bool is_of_other_build;
  if (sqlite3_open(":memory:", &db) || tfprof_attach(db, &message, true)) abort();
  ask("SELECT tfprof_open('" TFPROF_SOURCE_DIRECTORY "/tests/fuzz/corpus/tensorflow/profile')");
  struct connection *connection = connection_find(db, &is_of_other_build);
  const struct profile *profile = connection ? store_profile_at(connection->store, 0) : NULL;
  if (!profile || !profile->tables[TABLE_ops].segment_count) abort();
  const struct segment *segment = profile->tables[TABLE_ops].segments[0];
  /* All ops of this source are of the category `op`. */
  static const char *const nothing[] = {"category = 'user'", "category <> 'op'", "category IN ('user', 'module')",
                                        "category GLOB 'u*'", "depth > 0", "depth BETWEEN 3 AND 4 AND category = 'op'"};
  static const char *const orders[] = {"", " ORDER BY id DESC"};
  for (size_t i = 0; i < sizeof nothing / sizeof nothing[0]; i++) {
    for (size_t k = 0; k < 2; k++) {
      char sql[200];
      snprintf(sql, sizeof sql, "SELECT count(*) FROM (SELECT dur_ns + start_ns FROM ops WHERE %s%s LIMIT 9)",
               nothing[i], orders[k]);
      expect(sql, 0);
    }
  }
  if (segment->columns[COLUMN_ops_dur_ns] || segment->columns[COLUMN_ops_start_ns]) {
    printf("columns of a segment without a match were loaded\n");
    failures++;
  }
  sqlite3_int64 rows = ask("SELECT count(*) FROM ops"), length = ask("SELECT sum(dur_ns) FROM ops");
  if (rows <= 0 || length <= 0) failures++;
  expect("SELECT sum(dur_ns) FROM ops WHERE category = 'op'", length);
  expect("SELECT count(*) FROM (SELECT id FROM ops WHERE depth = 0 AND category <> 'user' ORDER BY id DESC)", rows);
  expect("SELECT count(*) FROM ops WHERE category IS NULL", 0);
  sqlite3_close(db);
  return failures != 0;
}
