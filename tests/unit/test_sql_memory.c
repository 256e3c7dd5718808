/* test_sql_memory.c: what happens when memory runs out: an error, never a crash, a wrong answer, or a connection that
** cannot be closed.
**
** The Nth allocation of the process is refused, once or from then on, for N = 1, 2, ... until the whole script runs
** through, with larger steps towards the end, where most allocations are alike.  After each failure everything is asked
** again, with memory.
*/
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linked.h"
#include "ops_dump.h"
#include "scratch.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
int main(void) {
  printf("skipped: a sanitizer has replaced the allocator\n");
  return 77;
}
#else


/* The allocator of libc under the names that programs call. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static long countdown = -1; /* -1: not armed */
static bool refuses_for_ever;

static bool is_refused(void) {
  if (countdown < 0) return false;
  if (countdown > 0) {
    countdown--;
    return false;
  }
  if (!refuses_for_ever) countdown = -1;
  return true;
}

void *malloc(size_t size) { return is_refused() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return is_refused() ? NULL : __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return is_refused() ? NULL : __libc_realloc(memory, size); }

static char path[320];
static int failures;

/* Each has one answer, which a first run without failures tells, or an error. */
static struct question { const char *sql; sqlite3_int64 answer; } questions[] = {
    {"SELECT count(*) FROM ops WHERE name LIKE '%1%' AND dur_ns IN (1, 2, 13, 26) AND name <> 'x'", 0},
    {"SELECT count(*) FROM (SELECT name, count(*) FROM ops GROUP BY name ORDER BY name DESC)", 0},
    {"SELECT count(*) FROM (SELECT * FROM ops ORDER BY dur_ns, name DESC)", 0},
    {"SELECT count(*) FROM ops a JOIN ops b ON b.id = a.id AND b.name IN ('op 1', 'op 2', a.name)", 0},
    {"SELECT count(*) FROM (SELECT DISTINCT name FROM ops('*') WHERE dur_ns >= 0)", 0},
    {"SELECT union_ns(start_ns, end_ns) FROM ops", 0},
    {"SELECT CAST(median(dur_ns) + percentile(dur_ns, 50) + stddev(dur_ns) AS INTEGER) FROM ops", 0},
    {"SELECT count(*) FROM ops WHERE regexp_full_match('op [0-4]', name)", 0},
    {"SELECT count(*) > 20 FROM tfprof_views, tfprof_tables WHERE tfprof_tables.name = 'ops'", 0},
    {"SELECT count(description) = count(*) AND count(example) = count(*) FROM tfprof_functions", 0},
    {"SELECT count(*) FROM ops a JOIN ops b ON b.name = a.name", 0},
};
enum { QUESTIONS = sizeof questions / sizeof questions[0] };

static int ask(sqlite3 *db, const char *sql, sqlite3_int64 *answer) {
  sqlite3_stmt *statement = NULL;
  int result = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
  if (!result) {
    int step = sqlite3_step(statement);
    *answer = step == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
    result = step == SQLITE_ROW ? sqlite3_step(statement) : step;
    if (result == SQLITE_DONE) result = SQLITE_OK;
  }
  int finalized = sqlite3_finalize(statement);
  return result ? result : finalized;
}

static void wrong(const char *what, const char *sql, long number, sqlite3_int64 answer) {
  const char *others = refuses_for_ever ? " and all after it" : "";
  printf("allocation %ld refused%s: %s: %s: %lld\n", number, others, what, sql, answer);
  failures++;
}

/* True when nothing was refused. */
static bool try(long number) {
  sqlite3 *db;
  char *message = NULL, open[400];
  sqlite3_int64 answer;
  snprintf(open, sizeof open, "SELECT tfprof_open('%s')", path);
  if (sqlite3_open(":memory:", &db)) abort();
  countdown = number;
  bool is_loaded = tfprof_attach(db, &message, true) == SQLITE_OK;
  bool is_open = is_loaded && ask(db, open, &answer) == SQLITE_OK;
  for (int i = 0; i < QUESTIONS && is_open; i++) {
    int result = ask(db, questions[i].sql, &answer);
    if (result == SQLITE_OK && answer != questions[i].answer) wrong("wrong answer", questions[i].sql, number, answer);
  }
  bool was_refused = countdown <= 0;
  countdown = -1;
  sqlite3_free(message);
  if (is_loaded) {
    if (!is_open && ask(db, open, &answer)) wrong("cannot be opened afterwards", sqlite3_errmsg(db), number, 0);
    for (int i = 0; i < QUESTIONS; i++) {
      if (ask(db, questions[i].sql, &answer)) wrong(sqlite3_errmsg(db), questions[i].sql, number, 0);
      else if (answer != questions[i].answer) wrong("wrong answer afterwards", questions[i].sql, number, answer);
    }
  }
  if (sqlite3_close(db)) wrong("the connection cannot be closed", sqlite3_errmsg(db), number, 0);
  return !was_refused;
}

/* What is right, and that there is something to be right about. */
static void learn(void) {
  sqlite3 *db;
  char *message = NULL, open[400];
  sqlite3_int64 answer;
  snprintf(open, sizeof open, "SELECT tfprof_open('%s')", path);
  if (sqlite3_open(":memory:", &db) || tfprof_attach(db, &message, true) || ask(db, open, &answer)) abort();
  for (int i = 0; i < QUESTIONS; i++) {
    if (ask(db, questions[i].sql, &questions[i].answer) || questions[i].answer <= 0) {
      wrong("cannot be answered", questions[i].sql, -1, questions[i].answer);
    }
  }
  sqlite3_close(db);
}

int main(void) {
  make_test_directory();
  snprintf(path, sizeof path, "%s", test_path("memory.tfprof"));
  write_ops_dump(path, 3, 100, 40, 0);
  learn();
  for (int for_ever = 0; for_ever < 2; for_ever++) {
    refuses_for_ever = for_ever;
    for (long number = 0; !try(number) && failures < 10; number += 1 + number / 8) continue;
  }
  return failures != 0;
}
#endif
