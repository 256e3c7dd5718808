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

#include "dump/writer.h"
#include "schema/schema.h"
#include "scratch.h"

int sqlite3_tfprof_init(sqlite3 *db, char **message, const void *api);

enum { FRAMES = 80, ROWS = FRAMES * DUMP_FRAME_ROWS, ROUNDS = 12 };

static const char question[] =
    "SELECT count(*), max(depth), max(self_ns) FROM "
    "(SELECT * FROM ops ORDER BY name DESC, dur_ns, start_ns DESC, self_ns)";
static char path[320];
static long delay_us;

static void write_dump(void) {
  static int64_t names[DUMP_FRAME_ROWS], ends[DUMP_FRAME_ROWS], durations[DUMP_FRAME_ROWS], threads[DUMP_FRAME_ROWS];
  struct tfprof_error error;
  struct dump_writer *writer;
  struct dump_profile profile = {.host = "host", .clock_domain = "realtime", .rank = -1, .created_realtime_ns = 1};
  const struct column_spec *columns = schema_tables[TABLE_ops].columns;
  struct dump_column_data data[] = {
      {.dump_id = columns[COLUMN_ops_name].dump_id, .integers = names},
      {.dump_id = columns[COLUMN_ops_thread_id].dump_id, .integers = threads},
      {.dump_id = columns[COLUMN_ops_end_ns].dump_id, .order = DUMP_ASCENDING, .integers = ends},
      {.dump_id = columns[COLUMN_ops_dur_ns].dump_id, .integers = durations},
  };
  if (dump_writer_create(path, true, &profile, &writer, &error)) abort();
  for (int frame = 0; frame < FRAMES; frame++) {
    for (int i = 0; i < DUMP_FRAME_ROWS; i++) {
      char name[32];
      int length = snprintf(name, sizeof name, "op %d", i * 7 % 400);
      names[i] = dump_writer_string(writer, name, (size_t)length);
      ends[i] = 1000 * ((int64_t)frame * DUMP_FRAME_ROWS + i + 1);
      durations[i] = (i * 7919 + frame * 31) % 90001;
    }
    if (dump_writer_rows(writer, schema_tables[TABLE_ops].dump_id, DUMP_FRAME_ROWS, data, 4, &error)) abort();
  }
  if (dump_writer_close(writer, &error)) abort();
}

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
  write_dump();
  for (int round = 0; round < ROUNDS; round++) {
    sqlite3 *db;
    char *message = NULL, open[400];
    sqlite3_int64 answer = 0;
    pthread_t thread;
    snprintf(open, sizeof open, "SELECT tfprof_open('%s')", path);
    if (sqlite3_open(":memory:", &db) || sqlite3_tfprof_init(db, &message, NULL) || ask(db, open, &answer)) abort();
    delay_us = 1000L << round / 2; /* 1 ms to 32 ms */
    if (pthread_create(&thread, NULL, interrupt, db)) abort();
    int result = ask(db, question, &answer);
    pthread_join(thread, NULL);
    if (result == SQLITE_INTERRUPT) {
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
  if (interrupted == 0) {
    printf("no query was interrupted\n");
    failures++;
  }
  return failures != 0;
}
