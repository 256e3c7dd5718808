/* bench_sql_views.c: how long each stored view, check and panel takes on a large trace, first and warm, and some joins.
**
**   bench_sql_views FILE [LIMIT]   all rows and columns of some joins, of every view, every check (of which the view
**                                  `advise` is made) and every panel (of which `tfprof report` is made), each of the
**                                  four in a connection of its own, as what is derived is shared within one: first,
**                                  then warm; a name given as VIEWS (environment, separated by commas) restricts it
**                                  to these, and KINDS (joins, views, checks, panels) to groups
**
** Warm times are the smallest of RUNS (environment, default 3; 0: none) in milliseconds: of wall time, and of processor
** time of the process, which a busy machine changes less.  What takes longer than LIMIT (300) warm is marked.  The last
** line of a group adds up the processor time: first is what one who asks for all of them once pays.
*/
#include <libgen.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "figures.h"
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

struct figures {
  double wall, cpu;
  long rows;
};

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

struct sums {
  const char *called; /* what stands before the name of a figure: of a view nothing but a backquote */
  double first, warm;
};

static char run_name[128]; /* how figures call what is opened */

static void name_run(const char *path) {
  struct stat status;
  char copy[4096];
  snprintf(copy, sizeof copy, "%s", path);
  const char *name = basename(copy); /* libgen.h's: of `run/` it is `run` */
  size_t length = strcspn(name, ".");
  int end = snprintf(run_name, sizeof run_name, "`%.*s`", length < 60 ? (int)length : 60, name);
  if (!stat(path, &status) && S_ISREG(status.st_mode))
    snprintf(run_name + end, sizeof run_name - (size_t)end, " of %.0f MB", (double)status.st_size / 1e6);
}

static void tell_question(const char *called, const char *name, const char *when, double cpu_ms, int runs) {
  tell_figure(&(struct figure){.subject = "queries",
                               .value = cpu_ms,
                               .unit = "CPU ms",
                               .command = "bench_sql_views FILE",
                               .trials = runs},
              "%s: %s%s%s%s", run_name, called, name, strchr(called, '`') ? "`" : "", when);
}

/* Whether the environment variable, names separated by commas, has the name, or is not set. */
static bool is_chosen(const char *variable, const char *name) {
  char padded[128], among[1024];
  const char *only = getenv(variable);
  snprintf(padded, sizeof padded, ",%s,", name);
  snprintf(among, sizeof among, ",%s,", only ? only : name);
  return strstr(among, padded) != NULL;
}

static void report(sqlite3 *db, const char *name, const char *sql, double limit, struct sums *sums) {
  const char *text = getenv("RUNS");
  int runs = text ? atoi(text) : 3;
  struct figures first = measure(db, sql), best = {0};
  for (int i = 0; i < runs; i++) {
    struct figures next = measure(db, sql);
    if (!i || next.wall < best.wall) best.wall = next.wall;
    if (!i || next.cpu < best.cpu) best.cpu = next.cpu;
  }
  printf("%-34s %8ld rows  first %8.1f (cpu %8.1f)  warm %8.1f (cpu %8.1f)%s\n", name, first.rows, first.wall,
         first.cpu, best.wall, best.cpu, best.wall > limit ? "  above the limit" : "");
  fflush(stdout);
  tell_question(sums->called, name, ", the first time", first.cpu, 0);
  if (runs) tell_question(sums->called, name, ", warm", best.cpu, runs);
  sums->first += first.cpu;
  sums->warm += best.cpu;
}

static void measure_joins(sqlite3 *db, struct sums *sums) {
  static const struct {
    const char *name, *sql;
    double limit;
  } joins[] = {
      {"ops by name", "SELECT name, count(*), sum(dur_ns) FROM ops GROUP BY 1 ORDER BY 3 DESC", 200},
      {"GPU time per op",
       "SELECT ops.name, count(*), sum(kernels.dur_ns) FROM kernels JOIN ops ON ops.id = kernels.op_id GROUP BY 1 "
       "ORDER BY 3 DESC",
       150},
      {"kernels per step",
       "SELECT steps.number, count(*), sum(kernels.dur_ns) FROM steps JOIN kernels ON kernels.step_id = steps.id "
       "GROUP BY steps.id ORDER BY 1",
       150},
      {"steps of kernels",
       "SELECT steps.number, count(*), sum(kernels.dur_ns) FROM kernels JOIN steps ON steps.id = kernels.step_id "
       "GROUP BY 1 ORDER BY 1",
       150},
      {"critical path of one step",
       "SELECT * FROM critical_path WHERE step_id = (SELECT id FROM steps WHERE number = (SELECT max(number) - 1 FROM "
       "steps)) ORDER BY position",
       100},
      {"timeline of everything", "SELECT sum(count), sum(busy_ns) FROM timeline", 30},
      {"timeline of a 200th",
       "SELECT sum(count), sum(busy_ns) FROM profiles AS p, timeline(p.start_ns + p.dur_ns / 2, p.start_ns + "
       "p.dur_ns / 2 + p.dur_ns / 200)",
       15}};
  for (size_t i = 0; i < sizeof joins / sizeof *joins; i++)
    report(db, joins[i].name, joins[i].sql, joins[i].limit, sums);
}

/* The views, or the checks. */
static void measure_views(sqlite3 *db, bool checks, double limit, struct sums *sums) {
  sqlite3_stmt *names;
  static const char wanted[] =
      "SELECT name, kind FROM tfprof_views WHERE (kind = 'check') = ?1 AND kind <> 'old' ORDER BY 1";
  if (sqlite3_prepare_v2(db, wanted, -1, &names, NULL))
    fail(db, "tfprof_views");
  sqlite3_bind_int(names, 1, checks);
  while (sqlite3_step(names) == SQLITE_ROW) {
    char sql[256];
    const char *name = (const char *)sqlite3_column_text(names, 0);
    const char *kind = (const char *)sqlite3_column_text(names, 1);
    if (!is_chosen("VIEWS", name)) continue;
    const char *arguments = strcmp(kind, "function") != 0     ? ""
                            : strcmp(name, "_step_range") == 0 ? "('*', 1, 2)"
                                                              : "('*', '*')";
    snprintf(sql, sizeof sql, "SELECT * FROM %s%s", name, arguments);
    report(db, name, sql, limit, sums);
  }
  sqlite3_finalize(names);
}

static void measure_panels(sqlite3 *db, double limit, struct sums *sums) {
  sqlite3_stmt *panels;
  if (sqlite3_prepare_v2(db, "SELECT name, sql FROM tfprof_panels ORDER BY 1", -1, &panels, NULL))
    fail(db, "tfprof_panels");
  while (sqlite3_step(panels) == SQLITE_ROW) {
    const char *name = (const char *)sqlite3_column_text(panels, 0);
    if (is_chosen("VIEWS", name)) report(db, name, (const char *)sqlite3_column_text(panels, 1), limit, sums);
  }
  sqlite3_finalize(panels);
}

static void measure_kind(const char *group, const char *called, const char *path, double limit) {
  sqlite3 *db;
  char *message = NULL;
  struct sums sums = {.called = called};
  if (!is_chosen("KINDS", group)) return;
  if (sqlite3_open(":memory:", &db) || tfprof_attach(db, &message, true)) fail(db, "cannot start");
  if (getenv("PRAGMAS")) sqlite3_exec(db, getenv("PRAGMAS"), NULL, NULL, NULL);
  char *sql = sqlite3_mprintf("SELECT tfprof_open(%Q)", path);
  struct figures opened = measure(db, sql);
  printf("%s: opened in %.1f ms (cpu %.1f)\n", group, opened.wall, opened.cpu);
  sqlite3_free(sql);
  if (strcmp(group, "joins") == 0) measure_joins(db, &sums);
  else if (strcmp(group, "panels") == 0) measure_panels(db, limit, &sums);
  else measure_views(db, strcmp(group, "checks") == 0, limit, &sums);
  printf("%-34s %8s       first %8s (cpu %8.1f)  warm %8s (cpu %8.1f)\n", group, "", "", sums.first, "", sums.warm);
  tell_question("all ", group, ", one after the other in one connection", sums.first, 0);
  sqlite3_close(db);
}

int main(int count, char **arguments) {
  static const struct {
    const char *name, *called;
  } groups[] = {{"joins", ""}, {"views", "`"}, {"checks", "the check `"}, {"panels", "the panel `"}};
  if (count < 2) {
    fprintf(stderr, "usage: bench_sql_views FILE [LIMIT]\n");
    return 2;
  }
  name_run(arguments[1]);
  double limit = count > 2 ? atof(arguments[2]) : 300;
  for (size_t i = getenv("VIEWS") ? 1 : 0; i < sizeof groups / sizeof *groups; i++)
    measure_kind(groups[i].name, groups[i].called, arguments[1], limit);
  return 0;
}
