/* tfprof: SQL on recordings of training runs, at a prompt or in one shot.
**
**   tfprof RUN...                        a prompt: SQL and the few commands that `help` lists
**   tfprof RUN... "SELECT ..."           runs the SQL (or a command, such as advise) and ends
**   tfprof RUN... < questions.sql        runs what comes from standard input, all of it even where something fails
**   tfprof RUN... -f questions.sql       the same of a file
**   tfprof RUN... --watch 2 "SELECT ..." the same again every two seconds, while it is recorded (watch.c)
**   tfprof report RUN... -o report.html  a page to look at (report_command.c)
**   tfprof serve RUN...                  the same page, served to a browser (serve_command.c)
**
** RUN is what tfprof_open() takes: a run directory, a file, a pattern.  Among the arguments, whatever exists as a file
** is a run; what does not and begins like SQL or is a command is run, and so is a last argument with blanks in it,
** since it will be SQL with a mistake.
**
** A part that the build may leave out adds commands and options (command_part.h): those of TensorFlow's own tfprof.  A
** file that is called as a command wins where nothing else is to be opened; ./scope always means the file.
**
** Exit status: 0 all is well, 1 an SQL statement or a command failed, 2 wrong usage, 3 a run cannot be opened.
**
** Files: session (the connection), command_part (those of a part), output, output_box, output_chart and cell
** (formats), summary, finding_list, report_command and serve_command (what the commands print, write and serve), watch
** (the same again and again), script (lines to statements), commands, prompt (readline), complete and vocabulary
** (names), ticker (the line while one waits), display_width (columns of a text).
*/
#include "advise_options.h"
#include "command_part.h"
#include "commands.h"
#include "printable_errors.h"
#include "prompt.h"
#include "report_command.h"
#include "script.h"
#include "serve_command.h"
#include "session.h"
#include "vocabulary.h"
#include "watch.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STATUS_SQL = 1, STATUS_USAGE = 2, STATUS_OPEN = 3 };

static const char help_text[] =
    "SQL on recordings of training runs.\n"
    "\n"
    "  tfprof run                              a prompt; type help there\n"
    "  tfprof run summary                      one screen: where the time went\n"
    "  tfprof run advise                       what to improve first\n"
    "  tfprof run \"SELECT * FROM step_summary\" one answer\n"
    "  tfprof --format csv run \"SELECT name, dur_ns FROM ops\" > ops.csv\n"
    "  tfprof run < questions.sql\n"
    "  tfprof run --watch 2 \"SELECT * FROM step_summary\"   while it runs\n"
    "  tfprof report run -o report.html        a page to look at; report --help\n"
    "  tfprof serve run                        that page in a browser; serve --help\n"
    "  tfprof run tables                       what can be asked; also: views,\n"
    "                                          functions, \"columns ops\"\n"
    "\n"
    "usage: tfprof [options] RUN... [SQL | COMMAND]...\n"
    "\n"
    "  RUN               a run directory, a recording, or a pattern such as 'runs/*'\n"
    "  -f, --file FILE   runs the SQL in FILE, and ends; may come several times\n"
    "      --watch N     asks again every N seconds (2, 500ms, 1m), of what was\n"
    "                    recorded until then. Without SQL it shows the summary.\n"
    "                    - On a terminal the answer stays in its place. Elsewhere\n"
    "                      each stands below a line with the time (csv, tsv: below\n"
    "                      an empty line; json, jsonl: with nothing between).\n"
    "                    - It ends with a last answer when the recording ends, with\n"
    "                      q or Ctrl-C (status 0), and when the SQL fails.\n"
    "                    - It waits for the first recording in an empty directory.\n"
    "                    - Files of other profilers do not say whether more will\n"
    "                      come. They are watched until q or Ctrl-C.\n"
    "      --format F    box (for people), chart (with bars), csv, tsv, json,\n"
    "                    jsonl or markdown; --chart and so on say the same\n"
    "      --width N     columns that a box may take; 0: as many as it likes\n"
    "      --raw         times and bytes in a box as plain numbers, without units\n"
    "      --no-pager    does not show long results through less (or PAGER)\n"
    "  -h, --help        this text\n"
    "  -V, --version     the version\n"
    "\n"
    "\v"
    "TFPROF_OPEN names runs that are opened first, separated by colons.\n"
    "tfprof-capture makes recordings.\n"
    "\n"
    "Exit status: 0 all is well, 1 a statement failed, 2 wrong usage, 3 a run cannot\n"
    "be opened.\n";

/* Of --file. */
struct files {
  const char **paths;
  int count;
};

static const char usage_line[] = "usage: tfprof [options] RUN... [SQL | COMMAND]...; --help explains them\n";

static int usage(const char *what, const char *word) {
  fprintf(stderr, "tfprof: ");
  fprintf(stderr, what, word);
  fprintf(stderr, "\n%s", usage_line);
  return STATUS_USAGE;
}

static bool is_path(const char *word) {
  struct stat facts;
  return stat(word, &facts) == 0;
}

static bool is_statement(const char *word) {
  return sql_begins(word) || command_is(word);
}

/* `tfprof help median` is one command, where no file is meant. */
static void join_help(int *count, char **words, char *help, size_t size) {
  if (*count != 3 || strcasecmp(words[1], "help") != 0 || is_path(words[2])) return;
  snprintf(help, size, "help %s", words[2]);
  words[1] = help;
  *count = 2;
}

/* Whether the last of several words is SQL though it does not begin so: nothing of that name exists, and few paths have
** blanks, or, where it is the only word, semicolons. */
static bool is_meant_as_statement(char **words, int i, int count) {
  if (i != count - 1 || (i == 0 && !strchr(words[i], ';')) || is_path(words[i]) || !strpbrk(words[i], " \t\n"))
    return false;
  glob_t found = {0};
  bool is_pattern = strpbrk(words[i], "*?[") && glob(words[i], GLOB_NOSORT, NULL, &found) == 0;
  if (is_pattern) globfree(&found);
  return !is_pattern;
}

/* The value of an option written `--name VALUE` or `--name=VALUE`. NULL: another option; "" when the value
** is missing. */
static const char *option_value(char **argv, int *i, const char *name) {
  size_t length = strlen(name);
  if (strncmp(argv[*i], name, length) != 0) return NULL;
  if (argv[*i][length] == '=') return argv[*i] + length + 1;
  if (argv[*i][length]) return NULL;
  return argv[*i + 1] ? argv[++*i] : "";
}

static void add_option(void *user, const char *name) { vocabulary_add_word(user, name); }

static const char *const own_options[] = {"file", "watch", "format", "width", "raw", "no-pager", "help", "version"};
enum { OWN_OPTIONS = sizeof own_options / sizeof own_options[0] };

static bool asks_for_command(char **argv, const char *command) {
  size_t length = strlen(command);
  for (int i = 1; argv[i]; i++) {
    if (strncasecmp(argv[i], command, length) != 0) continue;
    if (!argv[i][length] || strchr(" \t\n;", argv[i][length])) return true;
  }
  return false;
}

static void list_option(void *user, const char *name) {
  (void)user;
  fprintf(stderr, " --%s", name);
}

/* Names the option that was meant: one of tfprof itself, or of the commands on the line; else one of any command. */
static int unknown_option(struct session *session, char **argv, const char *word) {
  struct vocabulary known = {0};
  char name[60];
  size_t hyphens = strspn(word, "-");
  bool is_of_views = the_part()->is_asked(session, argv);
  snprintf(name, sizeof name, "%.*s", (int)strcspn(word + hyphens, "="), word + hyphens);
  for (int i = 0; i < OWN_OPTIONS; i++) vocabulary_add_word(&known, own_options[i]);
  for (int i = 0; i < OUTPUT_FORMAT_COUNT; i++) vocabulary_add_word(&known, output_format_names[i]);
  if (asks_for_command(argv, "advise")) advise_add_options(&known);
  if (is_of_views) the_part()->each_option(session, true, add_option, &known);
  const char *nearest = vocabulary_nearest(&known, name);
  if (!nearest) {
    advise_add_options(&known);
    the_part()->each_option(session, true, add_option, &known);
    nearest = vocabulary_nearest(&known, name);
  }
  fprintf(stderr, "tfprof: unknown option '%s'%s%s%s\n", word, nearest ? "; did you mean --" : "",
          nearest ? nearest : "", nearest ? "?" : "");
  vocabulary_free(&known);
  fputs(is_of_views ? the_part()->usage_line : usage_line, stderr);
  if (nearest) return STATUS_USAGE;
  fputs("options:", stderr);
  for (int i = 0; i < OWN_OPTIONS && !is_of_views; i++) list_option(NULL, own_options[i]);
  if (is_of_views) the_part()->each_option(session, true, list_option, NULL);
  fputc('\n', stderr);
  return STATUS_USAGE;
}

/* Where \v stands comes what the part has to say. */
static void show_help(void) {
  const char *end = strchr(help_text, '\v');
  printf("%.*s%s%s", (int)(end - help_text), help_text, the_part()->help_line, end + 1);
}

static bool is_option(const char *word, const char *brief, const char *name) {
  return strcmp(word, brief) == 0 || strcmp(word, name) == 0;
}

/* --file FILE, --format F (also --csv and its like, as sqlite3 has them), --width N. 0: another word; 1: taken; else
** the exit status plus 1. */
static int take_value(char **argv, int *i, struct session *session, struct files *files) {
  const char *value;
  int format = output_format_find(argv[*i] + strspn(argv[*i], "-"));
  if (format >= 0) {
    session->style.format = (enum output_format)format;
  } else if ((value = option_value(argv, i, "--file")) || (value = option_value(argv, i, "-f"))) {
    if (!*value) return usage("%s needs a file", "--file") + 1;
    files->paths[files->count++] = value;
  } else if ((value = option_value(argv, i, "--format"))) {
    format = output_format_find(value);
    if (!*value) return usage("%s needs one of " OUTPUT_FORMAT_LIST, "--format") + 1;
    if (format < 0) return usage("there is no format '%s'; the formats are " OUTPUT_FORMAT_LIST, value) + 1;
    session->style.format = (enum output_format)format;
  } else if ((value = option_value(argv, i, "--watch"))) {
    if (!*value) return usage("%s needs seconds, as in --watch 2", "--watch") + 1;
    session->watch_seconds = watch_seconds(value);
    if (session->watch_seconds == 0)
      return usage("--watch every '%s'? seconds from 0.1 to 86400, as in --watch 2", value) + 1;
  } else if ((value = option_value(argv, i, "--width"))) {
    char *end;
    errno = 0;
    long width = strtol(value, &end, 10);
    if (!*value || *end || errno || width < 0 || width > 100000) return usage("'%s' is no width", value) + 1;
    session->style.width = (int)width;
    session->is_width_given = true;
  } else {
    return 0;
  }
  return 1;
}

/* Takes the options out of argv; what is left are runs and statements. 0, or the exit status plus 1. */
static int take_options(int *argc, char **argv, struct session *session, struct files *files) {
  int kept = 1, taken;
  bool ended = false;
  if (!the_part()->look_ahead(session, argv)) return STATUS_USAGE + 1;
  for (int i = 1; i < *argc; i++) {
    if (ended || argv[i][0] != '-' || !argv[i][1] || (argv[i][1] == '-' && isspace((unsigned char)argv[i][2]))) {
      argv[kept++] = argv[i];
    } else if (strcmp(argv[i], "--") == 0) {
      ended = true;
    } else if (is_option(argv[i], "-h", "--help")) {
      if (the_part()->is_asked(session, argv)) the_part()->explain(session);
      else show_help();
      return 1;
    } else if (is_option(argv[i], "-V", "--version")) {
      puts("tfprof " TFPROF_RELEASE);
      return 1;
    } else if (strcmp(argv[i], "--raw") == 0) {
      session->style.is_raw = true;
    } else if (strcmp(argv[i], "--no-pager") == 0) {
      session->has_no_pager = true;
    } else if ((taken = take_value(argv, &i, session, files))) {
      if (taken > 1) return taken;
    } else {
      taken = the_part()->take_argument(session, argv, &i);
      if (taken < 0) return STATUS_USAGE + 1;
      if (!taken) return unknown_option(session, argv, argv[i]) + 1;
    }
  }
  argv[kept] = NULL;
  *argc = kept;
  return 0;
}

static void look_at_terminal(struct session *session) {
  bool is_terminal = isatty(STDOUT_FILENO);
  const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
  session->style.is_terminal = is_terminal;
  session->style.colour = is_terminal && !(no_colour && *no_colour) && term && strcmp(term, "dumb") != 0;
  struct winsize size;
  session->destination.may_page = is_terminal && isatty(STDIN_FILENO) && !session->has_no_pager;
  if (!session->is_width_given && is_terminal) {
    session->style.width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  }
}

/* What is open: processes, steps, ops, and in how many of the steps these were recorded. */
static void greet(struct session *session) {
  static const char sql[] =
      "SELECT format('%,d process%s', profiles, iif(profiles = 1, '', 'es'))"
      ", iif(steps, format('%,d step%s', steps, iif(steps = 1, '', 's')), NULL)"
      ", iif(ops, format('%,d op%s', ops, iif(ops = 1, '', 's'))"
      " || iif(recorded BETWEEN 1 AND steps - 1, format(' in %,d of these', recorded), ''), NULL) "
      "FROM (SELECT (SELECT count(DISTINCT process_id) FROM temp._process_windows) AS profiles, count(*) AS steps,"
      " CAST(total(ops_recorded) AS INTEGER) AS recorded, (SELECT count(*) FROM tfprof_own.ops) AS ops"
      " FROM tfprof_own.steps)";
  sqlite3_stmt *statement = NULL;
  printf("tfprof %s", TFPROF_RELEASE);
  if (sqlite3_prepare_v2(session->db, sql, -1, &statement, NULL) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW) {
    const char *steps = (const char *)sqlite3_column_text(statement, 1);
    const char *ops = (const char *)sqlite3_column_text(statement, 2);
    printf(", %s open%s%s%s%s", sqlite3_column_text(statement, 0), steps || ops ? ": " : "", steps ? steps : "",
           steps && ops ? ", " : "", ops ? ops : "");
  }
  sqlite3_finalize(statement);
  puts(". Type SQL, or help. Ctrl-D leaves.");
}

static int status_of(const struct session *session, enum script_result result) {
  if (result == SCRIPT_INTERRUPTED) {
    signal(SIGINT, SIG_DFL);
    raise(SIGINT);
  }
  bool is_well = (result == SCRIPT_OK || result == SCRIPT_QUIT) && !session->has_failed;
  return is_well ? 0 : session->lacks_run ? STATUS_USAGE : STATUS_SQL;
}

static struct session *asked; /* by what the command line asks, for on_interrupt() */

/* Ctrl-C outside the prompt: stops the query, and with it the program, in order; but not while a pager has the
** terminal, which goes on with what it has. The third time it ends the program as it always does. */
static void on_interrupt(int number) {
  static volatile sig_atomic_t count;
  bool is_taken = session_interrupt() || asked->destination.pager;
  if (is_taken && ++count < 3) return;
  signal(number, SIG_DFL);
  raise(number);
}

/* What one command line asks for. */
struct question {
  const struct files *files;
  char **words;
  int count;
};

/* SCRIPT_OK: all of it was done. */
static enum script_result answer_words(struct session *session, const void *asked_for) {
  const struct question *question = asked_for;
  char **words = question->words;
  int count = question->count;
  enum script_result result = SCRIPT_OK;
  for (int i = 0; i < question->files->count; i++) {
    result = command_read(session, question->files->paths[i]);
    if (result != SCRIPT_OK) return result;
  }
  for (int i = 0; i < count && result == SCRIPT_OK; i++) {
    struct script script = {.session = session, .run_command = command_run};
    char help[40];
    /* `tfprof help scope` without quotes, as at the prompt. */
    bool is_help = i + 1 < count && strcasecmp(words[i], "help") == 0 && command_has_help(words[i + 1]);
    if (is_help) snprintf(help, sizeof help, "help %s", words[++i]);
    result = script_line(&script, is_help ? help : words[i]);
    if (result == SCRIPT_OK) result = script_end(&script);
    script_free(&script);
  }
  return result;
}

/* Without a prompt. */
static enum script_result run_question(struct session *session, const struct question *question) {
  static char summary[] = "summary", *summary_alone[] = {summary, NULL};
  struct question usual = {question->files, summary_alone, 1};
  bool is_empty = !question->count && !question->files->count;
  if (is_empty) question = &usual; /* of --watch alone */
  if (session->watch_seconds > 0) return watch_run(session, session->watch_seconds, answer_words, question);
  asked = session;
  if (session->destination.may_page) signal(SIGINT, on_interrupt);
  return answer_words(session, question);
}

/* `most_runs`: those after that many are no runs, whatever files there are. */
static int open_and_answer(struct session *session, const struct files *files, char **words, int count, int most_runs) {
  int runs = 0;
  while (runs < most_runs && (is_path(words[runs]) || !is_statement(words[runs]))) {
    if (is_meant_as_statement(words, runs, count)) break;
    runs++;
  }
  for (int i = runs; i < count; i++) {
    if (!is_statement(words[i]) && !is_meant_as_statement(words, i, count)) {
      return usage("'%s' stands after SQL; name the runs first", words[i]);
    }
  }
  for (int i = 0; i < runs; i++) {
    if (session->watch_seconds > 0) watch_wait_for_first(words[i]);
    enum session_result result = session_open_run(session, words[i]);
    if (result == SESSION_ERROR && i > 0 && !is_path(words[i])) command_suggest(session, words[i]);
    if (result != SESSION_OK) return STATUS_OPEN;
  }
  if (runs < count || files->count || session->watch_seconds > 0) {
    struct question question = {files, words + runs, count - runs};
    enum script_result result = run_question(session, &question);
    return result == SCRIPT_OK ? 0 : status_of(session, result);
  }
  if (!isatty(STDIN_FILENO)) return status_of(session, script_run(session, command_run, stdin, "standard input"));
  if (!isatty(STDOUT_FILENO))
    return usage("%s", "standard output is no terminal; give the SQL as an argument or on standard input");
  session->is_interactive = true;
  session_make_views(session); /* for completion, too */
  if (!the_part()->greet(session)) greet(session);
  prompt_run(session);
  return 0;
}

int main(int argc, char **argv) {
  struct session session = {.style = {.format = OUTPUT_BOX}};
  struct files files = {.paths = calloc((size_t)argc, sizeof *files.paths)};
  make_errors_printable();
  setlocale(LC_CTYPE, "C.UTF-8"); /* what readline needs to edit UTF-8; numbers stay as in C */
  if (!the_part()->create(&session) || !files.paths) return usage("not enough memory%s", "");
  if (report_is_asked(argv)) {
    int result = report_command(&session, argv);
    the_part()->destroy(&session);
    free(files.paths);
    return result;
  }
  if (serve_is_asked(argv)) {
    the_part()->destroy(&session);
    free(files.paths);
    return serve_command(argv);
  }
  int status = take_options(&argc, argv, &session, &files);
  bool has_files = the_part()->has_files(&session);
  if (!status && argc == 1 && !has_files && isatty(STDIN_FILENO) && !getenv("TFPROF_OPEN"))
    status = (the_part()->tell_usage(&session) ? 0 : usage("no run is given%s", "")) + 1;
  if (status) {
    free(files.paths);
    the_part()->destroy(&session);
    return status - 1;
  }
  look_at_terminal(&session);
  if (!session_begin(&session) || the_part()->open_files(&session) != SESSION_OK) {
    free(files.paths);
    session_end(&session);
    the_part()->destroy(&session);
    return STATUS_OPEN;
  }
  char help[80];
  join_help(&argc, argv, help, sizeof help);
  /* `tfprof advise run` means `tfprof run advise`. Where something else is to be opened, no file of that name is
  ** meant. */
  int most_runs = argc - 1;
  if (argc > 1 && command_is(argv[1])) {
    bool has_run = argc > 2 && (is_path(argv[2]) || !is_statement(argv[2]));
    if (has_run) {
      char *command = argv[1];
      memmove(argv + 1, argv + 2, (size_t)(argc - 2) * sizeof *argv);
      argv[argc - 1] = command;
      most_runs--;
    } else if (has_files) {
      most_runs = 0;
    }
  }
  the_part()->begin(&session);
  status = open_and_answer(&session, &files, argv + 1, argc - 1, most_runs);
  free(files.paths);
  session_end(&session);
  the_part()->destroy(&session);
  return status;
}
