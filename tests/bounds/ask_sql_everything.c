/* ask_sql_everything.c: opens files and asks everything that can be asked of them, within limits of memory and time.
**
**   ask_sql_everything [--memory BYTES] [--cpu SECONDS] [--interrupt MS] [--verbose] DIRECTORY PATH
**   ask_sql_everything ... DIRECTORY KEY VALUE [KEY VALUE...]          TensorFlow's files of one program
**   ask_sql_everything --serve         for each line "BYTES<tab>SECONDS<tab>DIRECTORY<tab>PATH" of the standard input
**
** Every table with all its columns, every view, check and stored function, the four classic views as deep as they go
** with all that they can show, as tables and as the files that -output file, timeline and pprof of the command line
** write, then tfprof_pprof, tfprof_timeline and tfprof_save; all these files go into DIRECTORY.
**
** With --interrupt each question is interrupted once it has taken so much processor time; how much it took after that,
** at most, is told last, with what was asked.  The opening is tried again then, and left alone; and expressions that
** take long to match are asked of each option that takes any.
**
** Of views, checks and panels each number is looked at: no duration lies below 0, no share outside of 0 and 1, no
** percentage that a text tells above 100, and no finding promises more than the run, whatever the file says.
**
** --memory bounds what the process may allocate beyond what it has when the extension is loaded (RLIMIT_DATA), --cpu
** its processor time.  The last line of the output says what was used: bytes of memory at most, beyond the same
** beginning, and seconds.  Exit status: 0; 1 when memory ran out, with what was asked; 2 for wrong usage; 3 when the
** time was over; 4 when a number cannot be true, with the first of each column.  Errors of any other kind are answers,
** as is that the file cannot be opened.
**
** To prepare all questions takes longer than to answer them for a small file.  With --serve they are prepared once,
** with nothing open, and each file is opened in a fork, which has limits of its own: what was prepared counts for its
** memory, and not for its time.  SQLite plans by how many rows there are: a question that reads a table of more than a
** few rows is prepared anew there.  After what a fork has told follows a line "ended STATUS", of a signal -SIGNAL.
*/
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "linked.h"
#include "vtab/connection.h"
#ifdef TFPROF_CLASSIC
#include "classic/vtab/classic_cache.h"
#endif


/* No name of a table or view is longer. */
enum { NAMES = 256, COLUMNS = 200, QUESTION_BYTES = 4096 };

static sqlite3 *db;
static bool is_verbose;
static char question[QUESTION_BYTES]; /* what is being asked, for the handler of the signal */
static unsigned questions;
static long memory_at_start; /* when the extension is loaded */
static rlim_t data_at_start;

/* ---- interrupting ---- */

static double interrupt_after; /* seconds of a question; 0: never */
static atomic_bool is_asking;
static _Atomic double interrupt_at, interrupted_at; /* processor time of the process; 0: not yet */
static double longest_after;
static char longest_question[QUESTION_BYTES];

static double seconds_used(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void *interrupt_questions(void *unused) {
  struct timespec pause = {.tv_nsec = 500000};
  for (;;) {
    nanosleep(&pause, NULL);
    double now = seconds_used();
    if (!is_asking || now < interrupt_at) continue;
    if (interrupted_at <= 0) interrupted_at = now;
    sqlite3_interrupt(db); /* again and again: one that comes while a statement is still prepared is forgotten */
  }
  return unused;
}

static void begin_interrupting(double now) {
  interrupted_at = 0;
  interrupt_at = now + interrupt_after;
  is_asking = true;
}

static void end_interrupting(void) {
  if (!is_asking) return;
  is_asking = false;
  double after = interrupted_at > 0 ? seconds_used() - interrupted_at : 0;
  if (after <= longest_after) return;
  longest_after = after;
  memcpy(longest_question, question, sizeof question);
}

static long peak_of_memory(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

/* Bytes that the process has allocated, as RLIMIT_DATA counts them. */
static rlim_t data_bytes(void) {
  char line[256];
  unsigned long long kilobytes = 0;
  FILE *file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file)) sscanf(line, "VmData: %llu kB", &kilobytes);
  if (file) fclose(file);
  return (rlim_t)kilobytes * 1024;
}

static void time_is_over(int signal) {
  static const char what[] = "the time is over in: ";
  (void)signal;
  (void)!write(STDOUT_FILENO, what, sizeof what - 1);
  (void)!write(STDOUT_FILENO, question, strlen(question));
  (void)!write(STDOUT_FILENO, "\n", 1);
  _exit(3);
}

static void report(void) {
  if (interrupt_after > 0) printf("interrupted: at most %.3f s more, in: %s\n", longest_after, longest_question);
  printf("used %ld bytes and %.3f s for %u questions\n", peak_of_memory() - memory_at_start, seconds_used(), questions);
  fflush(stdout);
}

static void memory_is_out(void) {
  printf("the memory is out in: %s\n", question);
  report();
  exit(1);
}

static double begin_question(const char *text) {
  double started = seconds_used();
  snprintf(question, sizeof question, "%s", text);
  if (interrupt_after > 0 && questions != 1) begin_interrupting(started);
  questions++;
  return started;
}

static void end_question(double started, unsigned long long rows, const char *message, bool is_out_of_memory) {
  if (interrupt_after > 0) end_interrupting();
  if (is_verbose) {
    printf("%8.3f s %6ld MB %9llu rows  %s%s%s\n", seconds_used() - started, (peak_of_memory() - memory_at_start) >> 20,
           rows, question, *message ? ": " : "", message);
    fflush(stdout);
  }
  if (is_out_of_memory) memory_is_out();
}

/* ---- numbers that cannot be true ---- */

static bool is_judged;              /* the answers to what is asked now are those of views */
static unsigned impossible_columns; /* in which one was found */

static bool ends_with(const char *name, const char *tail) {
  size_t length = strlen(name), tail_length = strlen(tail);
  return length >= tail_length && strcmp(name + length - tail_length, tail) == 0;
}

/* Moments, whose numbers go by the clock, and differences of two sides or of two clocks. */
static bool may_be_negative(const char *name) {
  static const char *const tails[] = {"start_ns",     "end_ns",  "time_ns",     "at_ns",    "first_ns",  "last_ns",
                                      "queued_ns",    "from_ns", "offset_ns",   "until_ns", "change_ns", "submitted_ns",
                                      "allocated_ns", "began_ns", "released_ns"};
  for (size_t i = 0; i < sizeof tails / sizeof *tails; i++)
    if (ends_with(name, tails[i])) return true;
  return false;
}

/* A percentage above 100 or a duration below 0 in a text for people; NULL: none. */
static const char *impossible_text(const char *text) {
  for (const char *p = strstr(text, " %"); p; p = strstr(p + 1, " %")) {
    const char *start = p;
    while (start > text && (start[-1] == '.' || (start[-1] >= '0' && start[-1] <= '9'))) start--;
    if (start < p && strtod(start, NULL) > 100) return start;
  }
  return NULL;
}

/* What may be above 1: shares of a peak, as caches serve bytes that the source counts as memory's, and what is
   compared with an even spread. */
static bool is_no_share(const char *name) {
  return strcmp(name, "memory_efficiency_ratio") == 0 || strcmp(name, "balance_ratio") == 0;
}

static double run_ns = INFINITY; /* how long all profiles lasted together */

static void find_run(void) {
  sqlite3_stmt *statement = NULL;
  static const char sql[] = "SELECT sum(1.0 * (end_ns - start_ns)) FROM profiles";
  if (!sqlite3_prepare_v2(db, sql, -1, &statement, NULL) && sqlite3_step(statement) == SQLITE_ROW &&
      sqlite3_column_type(statement, 0) != SQLITE_NULL)
    run_ns = sqlite3_column_double(statement, 0);
  sqlite3_finalize(statement);
}

static bool is_impossible(const char *name, sqlite3_value *value) {
  int type = sqlite3_value_type(value);
  if (type == SQLITE_TEXT) {
    bool is_told = strcmp(name, "message") == 0 || strcmp(name, "statement") == 0 || strcmp(name, "text") == 0;
    return is_told && impossible_text((const char *)sqlite3_value_text(value));
  }
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return false;
  double number = sqlite3_value_double(value);
  if (strcmp(name, "saves_ns") == 0 && ends_with(question, "temp.advise_summary"))
    return number < 0 || number > run_ns + 1;
  if (ends_with(name, "_ns")) return number < 0 && !may_be_negative(name);
  if (is_no_share(name)) return number < 0;
  if (ends_with(name, "_ratio") || ends_with(name, "share")) return !(number >= -1e-9 && number <= 1 + 1e-9);
  return ends_with(name, "_percent") && !(number >= 0 && number <= 100 + 1e-7);
}

static void judge(sqlite3_stmt *statement, bool *is_column_told) {
  for (int i = 0; i < sqlite3_column_count(statement) && i < COLUMNS; i++) {
    const char *name = sqlite3_column_name(statement, i);
    if (is_column_told[i] || !is_impossible(name, sqlite3_column_value(statement, i))) continue;
    printf("cannot be true: %s = %.300s in: %s\n", name, (const char *)sqlite3_column_text(statement, i), question);
    is_column_told[i] = true;
    impossible_columns++;
  }
}

/* ---- what is prepared before there is a file ---- */

enum { KEPT = 500, FEW_ROWS = 200 /* of a table, for which every plan does */ };

static struct kept {
  char *sql;
  sqlite3_stmt *statement; /* NULL: used */
  bool reads[TABLE_count];
} kept[KEPT];
static unsigned kept_count;
static bool is_preparing; /* questions are kept and not asked */
static bool has_many_rows[TABLE_count];

static int note_table(void *unused, int action, const char *name, const char *column, const char *database,
                      const char *view) {
  (void)unused, (void)column, (void)database, (void)view;
  int table = action == SQLITE_READ && name ? schema_find_table(name) : -1;
  if (table >= 0) kept[kept_count].reads[table] = true;
  return SQLITE_OK;
}

static void keep(const char *sql) {
  if (kept_count == KEPT) abort();
  struct kept *one = &kept[kept_count];
  memset(one, 0, sizeof *one);
  if (sqlite3_prepare_v2(db, sql, -1, &one->statement, NULL)) return; /* asked, it will tell why */
  one->sql = strdup(sql);
  kept_count++;
}

static void find_tables_of_many_rows(void) {
  sqlite3_stmt *statement = NULL;
  int result = sqlite3_prepare_v2(db, "SELECT name, rows FROM tfprof_tables WHERE is_cache >= 0", -1, &statement, NULL);
  while (!result && (result = sqlite3_step(statement)) == SQLITE_ROW) {
    int table = schema_find_table((const char *)sqlite3_column_text(statement, 0));
    if (table >= 0) has_many_rows[table] = sqlite3_column_int64(statement, 1) > FEW_ROWS;
    result = SQLITE_OK;
  }
  sqlite3_finalize(statement);
  if (result != SQLITE_DONE) memset(has_many_rows, true, sizeof has_many_rows);
}

/* As it was prepared before, or now; SQLite's result. */
static int prepare(const char *sql, sqlite3_stmt **statement) {
  for (struct kept *one = kept; one < kept + kept_count; one++) {
    if (!one->statement || strcmp(one->sql, sql) != 0) continue;
    bool is_planned = true;
    for (unsigned i = 0; i < TABLE_count; i++) is_planned &= !(one->reads[i] && has_many_rows[i]);
    *statement = one->statement;
    one->statement = NULL;
    if (is_planned) return SQLITE_OK;
    sqlite3_finalize(*statement);
  }
  return sqlite3_prepare_v2(db, sql, -1, statement, NULL);
}

/* ---- asking ---- */

/* Every value of every row of the answer; false: an error. */
static bool ask(const char *sql) {
  if (is_preparing) {
    keep(sql);
    return true;
  }
  bool is_column_told[COLUMNS] = {false};
  sqlite3_stmt *statement = NULL;
  double started = begin_question(sql);
  unsigned long long rows = 0;
  int result = prepare(sql, &statement);
  while (!result && (result = sqlite3_step(statement)) == SQLITE_ROW) {
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
      if (sqlite3_column_type(statement, i) == SQLITE_TEXT) sqlite3_column_bytes(statement, i);
    }
    if (is_judged) judge(statement, is_column_told);
    rows++;
    result = SQLITE_OK;
  }
  bool is_done = result == SQLITE_DONE;
  char message[400];
  snprintf(message, sizeof message, "%s", is_done ? "" : sqlite3_errmsg(db));
  sqlite3_finalize(statement);
  end_question(started, rows, message, result == SQLITE_NOMEM || strstr(message, "out of memory"));
  return is_done;
}

/* ---- the command line of TensorFlow's profiler ---- */

#ifdef TFPROF_CLASSIC
enum output { TO_FILE, TO_TIMELINE, TO_PPROF };
static const char *const output_names[] = {"file", "timeline", "pprof"};

/* One profile. A timeline of the graph view is that of a step. */
static enum tfprof_status write_profile(const struct classic_model *model, enum classic_view view, enum output output,
                                        struct classic_options *options, const char *directory,
                                        struct tfprof_error *error) {
  char path[QUESTION_BYTES];
  struct classic_result *result;
  if (output == TO_TIMELINE && view == CLASSIC_GRAPH) {
    if (!model->step_count) return TFPROF_OK;
    options->integers[OPTION_step] = model->steps[model->step_count - 1];
  }
  int64_t step = options->integers[OPTION_step];
  enum tfprof_status status = classic_compute(model, view, options, &result, error);
  if (status) return status;
  snprintf(path, sizeof path, "%s/classic", directory);
  if (output == TO_TIMELINE) {
    status = classic_write_timeline(result, step, path, stderr, error);
  } else if (output == TO_PPROF) {
    status = classic_write_pprof(result, path, error);
  } else {
    FILE *file = fopen(path, "w");
    if (!file) abort();
    if (!classic_write_report(result, file)) status = error_set(error, TFPROF_INTERRUPTED, "interrupted");
    fclose(file);
  }
  classic_result_free(result);
  return status;
}

static void ask_command(enum classic_view view, enum output output, const char *directory) {
  char text[100];
  bool is_of_other_build;
  struct connection *connection = connection_find(db, &is_of_other_build);
  struct classic_options options;
  struct classic_cached **models;
  struct tfprof_error error = {0};
  size_t count;
  snprintf(text, sizeof text, "%s -output %s", classic_view_names[view], output_names[output]);
  double started = begin_question(text);
  sqlite3_stmt *work = NULL; /* while a statement runs an interrupt stays until it is noticed: as the shell does it */
  sqlite3_prepare_v2(db, "VALUES (1), (2)", -1, &work, NULL);
  sqlite3_step(work);
  connection_begin(connection);
  enum tfprof_status status = classic_options_init(&options) ? TFPROF_OK : error_no_memory(&error);
  if (!status) status = classic_options_parse(&options, "-max_depth 1000000 -order_by micros -select micros", &error);
  if (!status) status = classic_cache_get(connection, NULL, false, &models, &count, &error);
  if (!status) {
    for (size_t i = 0; i < count && !status; i++)
      status = write_profile(models[i]->model, view, output, &options, directory, &error);
    for (size_t i = 0; i < count; i++) classic_cache_put_back(models[i]);
    free(models);
  }
  classic_options_free(&options);
  connection_end(connection);
  sqlite3_finalize(work);
  end_question(started, 0, status ? error.message : "", status == TFPROF_NO_MEMORY);
}

static void ask_commands(const char *directory) {
  for (unsigned view = 0; view < CLASSIC_VIEW_count; view++) {
    for (unsigned output = TO_FILE; output <= TO_PPROF; output++) {
      bool is_there = output == TO_FILE || (output == TO_PPROF ? view == CLASSIC_CODE : view != CLASSIC_OP);
      if (is_there) ask_command(view, output, directory);
    }
  }
}
#else
static void ask_commands(const char *directory) { (void)directory; }
#endif

static unsigned list(const char *sql, char **names) {
  sqlite3_stmt *statement = NULL;
  unsigned count = 0;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL)) {
    printf("%s: %s\n", sql, sqlite3_errmsg(db));
    exit(2);
  }
  while (sqlite3_step(statement) == SQLITE_ROW && count < NAMES) {
    names[count++] = strdup((const char *)sqlite3_column_text(statement, 0));
  }
  sqlite3_finalize(statement);
  return count;
}

/* `format` has one %s or %q for each of the names that the list has. */
static void ask_each(const char *names_sql, const char *format) {
  char *names[NAMES];
  unsigned count = list(names_sql, names);
  for (unsigned i = 0; i < count; i++) {
    char *sql = sqlite3_mprintf(format, names[i]);
    ask(sql);
    sqlite3_free(sql);
    free(names[i]);
  }
}

/* `format` has one %q for the directory. */
static void ask_writer(const char *format, const char *directory) {
  char *sql = sqlite3_mprintf(format, directory);
  ask(sql);
  sqlite3_free(sql);
}

static void ask_patterns(void) {
  static const char *const options[] = {"account_type", "start_name", "trim_name", "show_name", "hide_name"};
  for (unsigned i = 0; i < sizeof options / sizeof options[0]; i++) {
    char *sql = sqlite3_mprintf("SELECT count(*) FROM scope_view WHERE %s_regexes = '(.+)+[%%&]' AND "
                                "max_depth = 1000000", options[i]);
    ask(sql);
    sqlite3_free(sql);
  }
  ask("INSERT INTO temp.node_type_patterns VALUES ('(.+)+[%&]', 'odd')");
  ask("SELECT count(*) FROM graph_view WHERE account_type_regexes = 'odd'");
  ask("DELETE FROM temp.node_type_patterns");
}

static void ask_questions(void) {
  static const char *const views[] = {"scope", "graph", "code", "op"};
  ask_each("SELECT name FROM tfprof_tables WHERE is_cache >= 0", "SELECT * FROM %s"); /* of each there is one plan */
  find_run();
  if (kept_count) find_tables_of_many_rows(); /* all have been read */
  is_judged = true;
  /* advise_summary reads all of advise, and has the largest of its savings; a panel that shows columns of one view as
     they are has nothing that the view has not. */
  ask_each("SELECT name FROM tfprof_views WHERE parameters IS NULL AND name <> 'advise' AND kind <> 'old'",
           "SELECT * FROM temp.%s");
  ask_each("SELECT sql FROM tfprof_panels WHERE NOT sql REGEXP "
           "'^(--.*\\n)*SELECT [a-z_,\\sA]+\\sFROM temp[.][a-z_]+\\s((?!FROM|JOIN|SELECT)[^.])*$'", "%s");
  is_judged = false;
  ask_each("SELECT name FROM tfprof_views WHERE parameters GLOB 'a, b*' AND kind <> 'old'",
           "SELECT * FROM %s('*', '*')");
  ask_each("SELECT name FROM tfprof_views WHERE parameters LIKE 'a, b [, a_first%%' AND kind <> 'old'",
           "SELECT * FROM %s('*', '*', 0, 1000000, 0, 1000000)");
  for (unsigned i = 0; i < sizeof views / sizeof views[0]; i++) {
    char *sql = sqlite3_mprintf(
        "SELECT * FROM %s_view WHERE max_depth = 1000000 AND order_by = 'micros' AND selected = "
        "'bytes,peak_bytes,residual_bytes,output_bytes,micros,accelerator_micros,cpu_micros,params,float_ops,"
        "occurrence,tensor_value,device,op_types,input_shapes'", views[i]);
    ask(sql);
    sqlite3_free(sql);
    sql = sqlite3_mprintf("SELECT name FROM %s_view WHERE account_type_regexes = '.*a.*' AND show_name_regexes = "
                          "'.*b.*,.*c' AND step = 0", views[i]);
    ask(sql);
    sqlite3_free(sql);
  }
  /* Expressions that may part a name in as many ways as it has subsets: a match is tried a bounded time. One name
     that is not would take forever, so not all are tried: the longest are. */
  ask("SELECT count(*) FROM (SELECT DISTINCT name FROM temp.nodes ORDER BY length(name) DESC LIMIT 2000) "
      "WHERE regexp_full_match('(.+)+[%&]', name)");
  ask("SELECT count(*) FROM (SELECT DISTINCT name FROM temp.ops ORDER BY length(name) DESC LIMIT 2000) "
      "WHERE name REGEXP '(.|..)+[%&]'");
}

static void ask_everything(const char *directory) {
  static const char timeline[] = "SELECT tfprof_timeline('%q/time.json')";
  ask_writer(timeline, directory); /* before SQLite can tell how many rows there are, and after */
  ask_questions();
  if (interrupt_after > 0) ask_patterns();
  ask_commands(directory);
  ask_writer("SELECT tfprof_pprof('%q/stacks.pb.gz')", directory);
  ask_writer("SELECT tfprof_dot('%q/module.dot', hlo_module) FROM hlo_instructions LIMIT 1", directory);
  ask_writer(timeline, directory);
  ask_writer("SELECT tfprof_save('%q/saved')", directory);
}

static void limit(rlim_t memory, rlim_t seconds) {
  if (memory) {
    struct rlimit bytes = {data_at_start + memory, data_at_start + memory};
    if (setrlimit(RLIMIT_DATA, &bytes)) abort();
  }
  if (seconds) {
    struct rlimit time = {seconds, seconds + 5};
    signal(SIGXCPU, time_is_over);
    if (setrlimit(RLIMIT_CPU, &time)) abort();
  }
}

static char *sql_of_opening(char **arguments, int count) {
  sqlite3_str *text = sqlite3_str_new(db);
  for (int i = 0; i < count; i++) sqlite3_str_appendf(text, "%s%Q", i ? ", " : "SELECT tfprof_open(", arguments[i]);
  sqlite3_str_appendall(text, ")");
  return sqlite3_str_finish(text);
}

/* Opens what the arguments tell and asks everything; the exit status. */
static int ask_file(const char *directory, char **arguments, int count, rlim_t memory, rlim_t seconds) {
  limit(memory, seconds);
  char *open = sql_of_opening(arguments, count);
  bool is_open = ask(open);
  if (!is_open && interrupt_after > 0) is_open = ask(open);
  else questions++; /* what follows is no opening */
  if (is_open) ask_everything(directory);
  sqlite3_free(open);
  for (sqlite3_stmt *unused; (unused = sqlite3_next_stmt(db, NULL));) sqlite3_finalize(unused);
  sqlite3_close(db);
  report();
  return impossible_columns ? 4 : 0;
}

static int serve(void) {
  char *line = NULL, *fields[4];
  size_t size = 0;
  sqlite3_set_authorizer(db, note_table, NULL);
  is_preparing = true;
  ask_questions();
  is_preparing = is_judged = false;
  sqlite3_set_authorizer(db, NULL, NULL);
  while (getline(&line, &size, stdin) > 0) {
    char *rest = line;
    for (unsigned i = 0; i < 4; i++) fields[i] = strsep(&rest, "\t\n");
    if (!rest) return 2;
    int status;
    pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      int result = ask_file(fields[2], fields + 3, 1, strtoull(fields[0], NULL, 10), strtoull(fields[1], NULL, 10));
      _exit(result); /* exit() would set the standard input back to what the child has read of it */
    }
    if (waitpid(child, &status, 0) != child) abort();
    printf("\nended %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    fflush(stdout);
  }
  free(line);
  return 0;
}

int main(int count, char **arguments) {
  rlim_t memory = 0, seconds = 0;
  bool is_server = false;
  int at = 1;
  for (; at < count && strncmp(arguments[at], "--", 2) == 0; at++) {
    if (strcmp(arguments[at], "--verbose") == 0) is_verbose = true;
    else if (strcmp(arguments[at], "--serve") == 0) is_server = true;
    else if (strcmp(arguments[at], "--memory") == 0 && at + 1 < count) memory = strtoull(arguments[++at], NULL, 10);
    else if (strcmp(arguments[at], "--cpu") == 0 && at + 1 < count) seconds = strtoull(arguments[++at], NULL, 10);
    else if (strcmp(arguments[at], "--interrupt") == 0 && at + 1 < count)
      interrupt_after = strtod(arguments[++at], NULL) / 1000;
    else break;
  }
  if (is_server ? at < count || memory || seconds || interrupt_after > 0
                : count - at < 2 || strncmp(arguments[at], "--", 2) == 0) {
    fprintf(stderr, "usage: ask_sql_everything [--memory BYTES] [--cpu SECONDS] [--interrupt MS] [--verbose] DIRECTORY "
                    "PATH...\n       ask_sql_everything --serve [--verbose]\n");
    return 2;
  }
  char *message = NULL;
  /* As the shell (session_begin): nearly all the time of a small file goes into parsing what is asked. */
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(":memory:", &db, flags, NULL)) abort();
  sqlite3_db_config(db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 512, 4000);
  if (tfprof_attach(db, &message, true)) abort();
  memory_at_start = peak_of_memory();
  data_at_start = data_bytes();
  if (is_server) return serve();
  pthread_t interrupter;
  if (interrupt_after > 0 && pthread_create(&interrupter, NULL, interrupt_questions, NULL)) abort();
  return ask_file(arguments[at], arguments + at + 1, count - at - 1, memory, seconds);
}
