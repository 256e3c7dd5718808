/* test_sql_interrupt.c: sqlite3_interrupt() ends what the first query of a big profile has to do; all stays usable.
**
** SQLite before 3.41 cannot be asked whether it was interrupted; the extension finds out by stepping a statement.
*/
#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"
#include "linked.h"
#include "ops_dump.h"
#include "scratch.h"


/* Under sanitizers a quarter of the rows keeps the query as long as all do without them. */
enum { FRAMES = WATCHES_MEMORY ? 20 : 80, ROWS = FRAMES * DUMP_FRAME_ROWS, ROUNDS = 12 };

static const char question[] =
    "SELECT count(*), max(depth), max(self_ns) FROM "
    "(SELECT * FROM ops ORDER BY name DESC, dur_ns, start_ns DESC, self_ns)";
static char path[320];
static long delay_us;

static void *interrupt(void *db) {
  struct timespec delay = {.tv_nsec = delay_us * 1000};
  nanosleep(&delay, NULL);
  sqlite3_interrupt(db);
  return NULL;
}

static int ask(sqlite3 *db, const char *sql, sqlite3_int64 *answer) {
  sqlite3_stmt *statement = NULL;
  int result = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
  if (!result && sqlite3_step(statement) == SQLITE_ROW) *answer = sqlite3_column_int64(statement, 0);
  int finalized = sqlite3_finalize(statement);
  return result ? result : finalized;
}

int main(void) {
  int interrupted = 0, failures = 0;
  make_test_directory();
  snprintf(path, sizeof path, "%s", test_path("interrupt.tfprof"));
  write_ops_dump(path, FRAMES, DUMP_FRAME_ROWS, 400, 0);
  for (int round = 0; round < ROUNDS; round++) {
    sqlite3 *db;
    char *message = NULL, open[400];
    sqlite3_int64 answer = 0;
    pthread_t thread;
    snprintf(open, sizeof open, "SELECT tfprof_open('%s')", path);
    if (sqlite3_open(":memory:", &db) || tfprof_attach(db, &message, true) || ask(db, open, &answer)) abort();
    delay_us = 1000L << round / 2; /* 1 ms to 32 ms */
    if (pthread_create(&thread, NULL, interrupt, db)) abort();
    int result = ask(db, question, &answer);
    pthread_join(thread, NULL);
    /* SQLite calls it an error where it comes while a virtual table is made, which a query is prepared with. */
    bool is_in_words = result == SQLITE_ERROR && strcmp(sqlite3_errmsg(db), "ops: interrupted") == 0;
    if (result == SQLITE_INTERRUPT || is_in_words) {
      interrupted++;
    } else if (result != SQLITE_OK) {
      printf("%d: %s\n", result, sqlite3_errmsg(db));
      failures++;
    }
    if (ask(db, question, &answer) || answer != ROWS) {
      printf("afterwards: %lld, %s\n", answer, sqlite3_errmsg(db));
      failures++;
    }
    if (sqlite3_close(db)) {
      printf("the connection cannot be closed\n");
      failures++;
    }
  }
  printf("%d of %d were interrupted\n", interrupted, ROUNDS);
  if (interrupted == 0) {
    printf("no query was interrupted\n");
    failures++;
  }
  return failures != 0;
}
