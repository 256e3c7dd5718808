/* fuzz_sql_dump.c: any bytes as a dump file, asked by SQL: every table, every stored view, every function that lists,
** and the timeline as a file.
**
** What a table answers to a condition must be what SQLite makes of the same rows without the table's help.
** The last byte chooses whether checksums are put right first.
*/
#include "linked.h"
#include "mend_dump.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A small file may claim very many rows; what that costs is no matter of this test. */
enum { MAXIMUM_ROWS = 20000, MAXIMUM_STEPS = 2000, NAMES = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static sqlite3 *db;
static char path[64];
static int fd = -1;
static char *tables[NAMES], *views[NAMES];
static unsigned steps;

static void require_that(bool holds, const char *sql) {
  if (holds) return;
  fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
  abort();
}

/* Called by SQLite every so many instructions: a view may join much with much. */
static int stop_long_queries(void *context) {
  (void)context;
  return ++steps > MAXIMUM_STEPS;
}

/* The first value; -1: there is none. Errors that data can cause are none of ours. */
static sqlite3_int64 run(const char *sql) {
  sqlite3_stmt *statement = NULL;
  sqlite3_int64 value = -1;
  bool is_first = true;
  steps = 0;
  int result = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
  require_that(result == SQLITE_OK, sql);
  while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
    if (is_first) value = sqlite3_column_int64(statement, 0);
    is_first = false;
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
      const unsigned char *text = sqlite3_column_text(statement, i);
      if (text && strlen((const char *)text) > (size_t)sqlite3_column_bytes(statement, i)) abort();
    }
  }
  sqlite3_finalize(statement);
  return result == SQLITE_DONE ? value : -1;
}

static void list(const char *sql, char **names) {
  sqlite3_stmt *statement;
  unsigned count = 0;
  require_that(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK, sql);
  while (sqlite3_step(statement) == SQLITE_ROW && count < NAMES - 1) {
    names[count++] = strdup((const char *)sqlite3_column_text(statement, 0));
  }
  sqlite3_finalize(statement);
}

static void start(void) {
  char *message = NULL;
  fd = memfd_create("fuzz", MFD_CLOEXEC);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  if (fd < 0 || sqlite3_open(":memory:", &db) || tfprof_attach(db, &message, true)) abort();
  sqlite3_progress_handler(db, 10000, stop_long_queries, NULL);
  list("SELECT name FROM tfprof_tables WHERE is_cache >= 0", tables);
  list("SELECT name FROM tfprof_views WHERE parameters IS NULL AND kind <> 'old'", views);
}

/* A subquery with LIMIT is passed no condition, and its columns compare as those of the table do. */
static void compare(const char *table, const char *column, const char *condition) {
  char *value = sqlite3_mprintf("(SELECT %s AS v FROM %s LIMIT 1 OFFSET 3)", column, table);
  char *ours = sqlite3_mprintf("SELECT count(*) FROM %s o JOIN %s ON o.%s %s", table, value, column, condition);
  char *theirs = sqlite3_mprintf("SELECT count(*) FROM (SELECT %s FROM %s LIMIT -1) o JOIN %s ON o.%s %s", column,
                                 table, value, column, condition);
  sqlite3_int64 left = run(ours), right = run(theirs);
  require_that(left == right || left < 0 || right < 0, ours);
  sqlite3_free(value);
  sqlite3_free(ours);
  sqlite3_free(theirs);
}

static void ask_table(const char *table, unsigned seed) {
  static const char *const conditions[] = {
      "= v", "IS v", "<> v", "< v", ">= v", "IN (v, 1, 'a')", "BETWEEN v AND v + 5", "LIKE v"};
  char *columns[NAMES] = {0}, *sql = sqlite3_mprintf("SELECT name FROM pragma_table_info('%q')", table);
  unsigned count = 0;
  list(sql, columns);
  sqlite3_free(sql);
  while (columns[count]) count++;
  sql = sqlite3_mprintf("SELECT * FROM %s", table);
  run(sql);
  sqlite3_free(sql);
  for (unsigned i = 0; i < 3; i++) {
    const char *column = columns[(seed + i * 7) % count], *other = columns[(seed / 3 + i) % count];
    compare(table, column, conditions[(seed / 5 + i) % 8]);
    sql = sqlite3_mprintf("SELECT %s, count(*) FROM %s GROUP BY %s, %s ORDER BY %s DESC", column, table, column, other,
                          column);
    run(sql);
    sqlite3_free(sql);
  }
  for (unsigned i = 0; i < count; i++) free(columns[i]);
}

/* A file of a few bytes may say that it has millions of rows: those that others are derived from are asked first. */
static bool is_small(void) {
  static const char *const counts[] = {
      "SELECT max(event_count) FROM profiles", "SELECT count(*) FROM threads", "SELECT count(*) FROM code_traces",
      "SELECT max(rows) FROM tfprof_tables"};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    if (run(counts[i]) > MAXIMUM_ROWS) return false;
  }
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (fd < 0) start();
  uint8_t *bytes = malloc(size + 1);
  if (!bytes) abort();
  if (size) memcpy(bytes, data, size);
  if (size && data[size - 1] & 1) mend_dump(bytes, --size);
  if (ftruncate(fd, 0) != 0 || pwrite(fd, bytes, size, 0) != (ssize_t)size) abort();
  free(bytes);
  char *open = sqlite3_mprintf("SELECT tfprof_open('%q')", path);
  sqlite3_int64 number = run(open);
  sqlite3_free(open);
  if (number > 0) {
    unsigned seed = size ? data[size / 2] * 31u + data[size - 1] : 0;
    if (is_small()) {
      run("SELECT tfprof_timeline('/dev/null')");
      /* A part of them for each input, for more inputs. */
      for (unsigned i = seed % 5; tables[i]; i += 5) {
        ask_table(tables[i], seed + i);
        if (!tables[i + 1] || !tables[i + 2] || !tables[i + 3] || !tables[i + 4]) break;
      }
      for (unsigned i = 0; views[i]; i++) {
        if ((i + seed) % 6) continue;
        char *sql = sqlite3_mprintf("SELECT * FROM temp.%s", views[i]);
        run(sql);
        sqlite3_free(sql);
      }
    }
    char *close = sqlite3_mprintf("SELECT tfprof_close(%lld)", number);
    require_that(run(close) == number, close);
    sqlite3_free(close);
  }
  return 0;
}
