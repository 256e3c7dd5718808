/* test_sql_threads.c: two threads, each with its own connection to SQLite and its own profiles, share nothing.
**
** Meant to be run with ThreadSanitizer as well.  Each thread opens a dump, asks questions that build every kind of
** index, loads the extension once more, closes, and starts again.
*/
#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linked.h"
#include "ops_dump.h"
#include "scratch.h"


enum { THREADS = 2, ROUNDS = 4, ROWS = 2000 };

struct worker {
  pthread_t thread;
  char path[320];
  int number, failures;
};

static void ask(struct worker *worker, sqlite3 *db, const char *sql, sqlite3_int64 expected) {
  sqlite3_stmt *statement;
  sqlite3_int64 answer = -1;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
    answer = sqlite3_column_int64(statement, 0);
  }
  if (sqlite3_finalize(statement) || (expected >= 0 && answer != expected)) {
    printf("thread %d: %s: %lld instead of %lld, %s\n", worker->number, sql, answer, expected, sqlite3_errmsg(db));
    worker->failures++;
  }
}

static void *work(void *context) {
  struct worker *worker = context;
  for (int round = 0; round < ROUNDS; round++) {
    sqlite3 *db;
    char *message = NULL, sql[400];
    if (sqlite3_open(":memory:", &db) || tfprof_attach(db, &message, true)) abort();
    snprintf(sql, sizeof sql, "SELECT tfprof_open('%s')", worker->path);
    ask(worker, db, sql, -1);
    ask(worker, db, "SELECT count(*) FROM ops", ROWS);
    ask(worker, db, "SELECT count(*) FROM (SELECT name, sum(dur_ns), max(self_ns) FROM ops GROUP BY name)", 40);
    ask(worker, db, "SELECT count(*) FROM (SELECT * FROM ops ORDER BY dur_ns DESC, name)", ROWS);
    ask(worker, db, "SELECT count(*) FROM ops a JOIN ops b ON b.id = a.id", ROWS);
    ask(worker, db, "SELECT count(*) FROM threads t CROSS JOIN ops o ON o.thread_id = t.id", ROWS);
    ask(worker, db, "SELECT count(*) > 0 FROM ops WHERE name LIKE 'OP %' AND name REGEXP '1'", -1);
    ask(worker, db, "SELECT count(*) FROM ops WHERE regexp_full_match('op [0-9]+', name)", ROWS);
    ask(worker, db, "SELECT count(*) >= 0 FROM advise", -1);
    if (tfprof_attach(db, &message, true)) abort();
    ask(worker, db, "SELECT tfprof_close(id) FROM runs", -1);
    ask(worker, db, "SELECT count(*) FROM ops", 0);
    if (sqlite3_close(db) != SQLITE_OK) {
      printf("thread %d: the connection cannot be closed\n", worker->number);
      worker->failures++;
    }
  }
  return NULL;
}

int main(void) {
  struct worker workers[THREADS];
  int failures = 0;
  memset(workers, 0, sizeof workers);
  make_test_directory();
  for (int i = 0; i < THREADS; i++) {
    workers[i].number = i;
    snprintf(workers[i].path, sizeof workers[i].path, "%s/%d.tfprof", test_directory, i);
    write_ops_dump(workers[i].path, 1, ROWS, 40, (unsigned)i);
  }
  for (int i = 0; i < THREADS; i++) {
    if (pthread_create(&workers[i].thread, NULL, work, &workers[i])) abort();
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(workers[i].thread, NULL);
    failures += workers[i].failures;
  }
  return failures != 0;
}
