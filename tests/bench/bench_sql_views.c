/* bench_sql_views.c: how long each stored view takes on a large trace, first and warm, and some joins.
**
**   bench_sql_views FILE [LIMIT]   all rows and columns of every view, first in a fresh connection (views share what
**                                  is derived: the first one pays), then warm; a name given as VIEWS (environment,
**                                  separated by commas) restricts it to these
**
** Warm times are the smallest of RUNS (environment, default 3) in milliseconds: of wall time, and of processor time of
** the process, which a busy machine changes less.  What takes longer than LIMIT (300) warm is marked.
*/
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "linked.h"


static double clock_ms(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void fail(sqlite3 *db, const char *what) {
  fprintf(stderr, "bench_sql_views: %s: %s\n", what, sqlite3_errmsg(db));
  exit(1);
}

struct figures { double wall, cpu; long rows; };

static struct figures measure(sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement;
  struct figures figures = {clock_ms(CLOCK_MONOTONIC), clock_ms(CLOCK_PROCESS_CPUTIME_ID), 0};
  int status;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL)) fail(db, sql);
  int columns = sqlite3_column_count(statement);
  while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
    for (int i = 0; i < columns; i++) sqlite3_column_type(statement, i);
    figures.rows++;
  }
  if (status != SQLITE_DONE) fail(db, sql);
  sqlite3_finalize(statement);
  figures.wall = clock_ms(CLOCK_MONOTONIC) - figures.wall;
  figures.cpu = clock_ms(CLOCK_PROCESS_CPUTIME_ID) - figures.cpu;
  return figures;
}

static void report(sqlite3 *db, const char *name, const char *sql, double limit) {
  const char *text = getenv("RUNS");
  int runs = text && atoi(text) > 0 ? atoi(text) : 3;
  struct figures first = measure(db, sql), best = measure(db, sql);
  for (int i = 1; i < runs; i++) {
    struct figures next = measure(db, sql);
    if (next.wall < best.wall) best.wall = next.wall;
    if (next.cpu < best.cpu) best.cpu = next.cpu;
  }
  printf("%-34s %8ld rows  first %8.1f  warm %8.1f (cpu %8.1f)%s\n", name, first.rows, first.wall, best.wall, best.cpu,
         best.wall > limit ? "  above the limit" : "");
  fflush(stdout);
}

static void measure_views(sqlite3 *db, double limit) {
  const char *only = getenv("VIEWS");
  sqlite3_stmt *names;
  if (sqlite3_prepare_v2(db, "SELECT name, kind FROM tfprof_views WHERE kind <> 'check' ORDER BY 1", -1, &names, NULL))
    fail(db, "tfprof_views");
  while (sqlite3_step(names) == SQLITE_ROW) {
    char sql[256], padded[128], among[1024];
    const char *name = (const char *)sqlite3_column_text(names, 0);
    const char *kind = (const char *)sqlite3_column_text(names, 1);
    snprintf(padded, sizeof padded, ",%s,", name);
    snprintf(among, sizeof among, ",%s,", only ? only : name);
    if (!strstr(among, padded)) continue;
    const char *arguments = strcmp(kind, "function") != 0    ? ""
                            : strstr(name, "_steps")          ? "('*', 1, 2, '*', 3, 4)"
                            : strcmp(name, "step_range") == 0 ? "('*', 1, 2)"
                                                              : "('*', '*')";
    snprintf(sql, sizeof sql, "SELECT * FROM %s%s", name, arguments);
    report(db, name, sql, limit);
  }
  sqlite3_finalize(names);
}

int main(int count, char **arguments) {
  static const struct { const char *name, *sql; double limit; } joins[] = {
      {"ops by name", "SELECT name, count(*), sum(dur_ns) FROM ops GROUP BY 1 ORDER BY 3 DESC", 200},
      {"GPU time per op",
       "SELECT ops.name, count(*), sum(kernels.dur_ns) FROM kernels JOIN ops ON ops.id = kernels.op_id GROUP BY 1 "
       "ORDER BY 3 DESC", 150},
      {"kernels per step",
       "SELECT steps.number, count(*), sum(kernels.dur_ns) FROM steps JOIN kernels ON kernels.step_id = steps.id "
       "GROUP BY steps.id ORDER BY 1", 150},
      {"steps of kernels",
       "SELECT steps.number, count(*), sum(kernels.dur_ns) FROM kernels JOIN steps ON steps.id = kernels.step_id "
       "GROUP BY 1 ORDER BY 1", 150},
      {"critical path of one step",
       "SELECT * FROM critical_path WHERE step_id = (SELECT id FROM steps WHERE number = (SELECT max(number) - 1 FROM "
       "steps)) ORDER BY position", 100},
      {"timeline of everything", "SELECT sum(count), sum(busy_ns) FROM timeline", 30},
      {"timeline of a 200th",
       "SELECT sum(count), sum(busy_ns) FROM profiles, timeline(start_ns + dur_ns / 2, start_ns + dur_ns / 2 + "
       "dur_ns / 200)", 15}};
  sqlite3 *db;
  char *message = NULL, *sql;
  if (count < 2) {
    fprintf(stderr, "usage: bench_sql_views FILE [LIMIT]\n");
    return 2;
  }
  double limit = count > 2 ? atof(arguments[2]) : 300;
  if (sqlite3_open(":memory:", &db) || tfprof_attach(db, &message, true)) fail(db, "cannot start");
  if (getenv("PRAGMAS")) sqlite3_exec(db, getenv("PRAGMAS"), NULL, NULL, NULL);
  sql = sqlite3_mprintf("SELECT tfprof_open(%Q)", arguments[1]);
  struct figures opened = measure(db, sql);
  printf("%-34s %8s       %14.1f ms (cpu %.1f)\n", "open", "", opened.wall, opened.cpu);
  sqlite3_free(sql);
  if (!getenv("VIEWS")) {
    for (size_t i = 0; i < sizeof joins / sizeof *joins; i++) report(db, joins[i].name, joins[i].sql, joins[i].limit);
  }
  measure_views(db, limit);
  sqlite3_close(db);
  return 0;
}
