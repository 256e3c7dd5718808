/* tfprof: SQL on recordings of training runs, at a prompt or in one shot.
**
**   tfprof RUN...                        a prompt: SQL and the few commands that `help` lists
**   tfprof RUN... "SELECT ..."           runs the SQL (or a command, such as advise) and ends
**   tfprof RUN... < questions.sql        runs what comes from standard input, all of it even where something fails
**
** RUN is what tfprof_open() takes: a run directory, a file, a pattern.  Among the arguments, whatever exists as a file
** is a run; what does not and begins like SQL or is a command is run, and so is a last argument with blanks in it,
** since it will be SQL with a mistake.
**
** The classic tfprof is in here: the commands scope, graph, code, op and set at the prompt or as first word, its files
** (--profile_path, --graph_path, --run_meta_path, --op_log_path, --checkpoint_path) and its options, with one hyphen or
** two, before or after.  A file of such a name wins where nothing else is to be opened; ./scope always means the file.
**
**   tfprof --graph_path=graph.pbtxt --run_meta_path=run_meta --op_log_path=op_log
**   tfprof scope --profile_path=profile_100 --max_depth=3 --dump_to_file=out.txt
**
** Exit status: 0 all is well, 1 an SQL statement or a command failed, 2 wrong usage, 3 a run cannot be opened.
**
** Files: session (the connection), classic (its commands), output, output_box and cell (formats), script (lines to
** statements), commands, prompt (readline), complete and vocabulary (names), ticker (the line while one waits),
** display_width (columns of a text).
*/
#include "classic.h"
#include "commands.h"
#include "prompt.h"
#include "script.h"
#include "session.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
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
    "  tfprof run                              a prompt; `help` there says more\n"
    "  tfprof run \"SELECT * FROM step_summary\" one answer\n"
    "  tfprof run advise                       what to improve first\n"
    "  tfprof --format csv run \"SELECT name, dur_ns FROM ops\" > ops.csv\n"
    "  tfprof run < questions.sql\n"
    "\n"
    "usage: tfprof [options] RUN... [SQL | COMMAND]...\n"
    "\n"
    "  RUN               a run directory, a recording, or a pattern such as 'runs/*'\n"
    "      --format F    box (for people), csv, json, jsonl or markdown\n"
    "      --width N     columns that a box may take; 0: as many as it likes\n"
    "      --generation G  classic views as in TensorFlow 2, 1.3 or 0.12\n"
    "      --compat      with the mistakes of TensorFlow's own views and advice\n"
    "      --help        this text\n"
    "      --version     the version\n"
    "\n"
    "TensorFlow's files of one program, and the views scope, graph, code and op:\n"
    "\n"
    "  tfprof op --profile_path=profile_100 --select=micros --order_by=micros\n"
    "  tfprof --graph_path=G --run_meta_path=R0,R1 --op_log_path=L\n"
    "\n"
    "The tables are described by `tfprof run tables`, `tfprof run views` and\n"
    "`tfprof run \"columns ops\"`. tfprof-capture makes recordings.\n"
    "\n"
    "Exit status: 0 all is well, 1 a statement failed, 2 wrong usage, 3 a run cannot\n"
    "be opened.\n";

static int usage(const char *what, const char *word) {
  fprintf(stderr, "tfprof: ");
  fprintf(stderr, what, word);
  fputs("\nusage: tfprof [options] RUN... [SQL | COMMAND]...; --help explains them\n", stderr);
  return STATUS_USAGE;
}

static bool is_path(const char *word) {
  struct stat facts;
  return stat(word, &facts) == 0;
}

static bool is_statement(const char *word) {
  return sql_begins(word) || command_is(word);
}

/* Whether the last of several words is SQL though it does not begin so: nothing of that name exists, and few paths have
** blanks. */
static bool is_meant_as_statement(char **words, int i, int count) {
  if (i != count - 1 || i == 0 || is_path(words[i]) || !strpbrk(words[i], " \t\n")) return false;
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

/* Lists those of the views, too. */
static int unknown_option(struct session *session, const char *word) {
  struct tfprof_error error;
  char name[60];
  size_t hyphens = strspn(word, "-");
  snprintf(name, sizeof name, "-%.*s", (int)strcspn(word + hyphens, "="), word + hyphens);
  int status = usage("unknown option '%s'", word);
  if (classic_options_parse(&session->classic->options, name, &error))
    fprintf(stderr, "for the views %s; `tfprof help advise` lists those of advise\n", error.message);
  return status;
}

/* Takes the options out of argv; what is left are runs and statements. 0, or the exit status plus 1. */
static int take_options(int *argc, char **argv, struct session *session) {
  int kept = 1;
  bool ended = false;
  if (classic_take_generation(session, argv)) return STATUS_USAGE + 1;
  for (int i = 1; i < *argc; i++) {
    const char *value;
    if (ended || argv[i][0] != '-' || !argv[i][1] || (argv[i][1] == '-' && isspace((unsigned char)argv[i][2]))) {
      argv[kept++] = argv[i];
    } else if (strcmp(argv[i], "--") == 0) {
      ended = true;
    } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      fputs(help_text, stdout);
      return 1;
    } else if (strcmp(argv[i], "--version") == 0) {
      puts("tfprof " TFPROF_RELEASE);
      return 1;
    } else if ((value = option_value(argv, &i, "--format"))) {
      int format = output_format_find(value);
      if (!*value) return usage("%s needs one of box, csv, json, jsonl and markdown", "--format") + 1;
      if (format < 0)
        return usage("there is no format '%s'; the formats are box, csv, json, jsonl and markdown", value) + 1;
      session->style.format = (enum output_format)format;
    } else if ((value = option_value(argv, &i, "--width"))) {
      char *end;
      errno = 0;
      long width = strtol(value, &end, 10);
      if (!*value || *end || errno || width < 0 || width > 100000) return usage("'%s' is no width", value) + 1;
      session->style.width = (int)width;
      session->is_width_given = true;
    } else {
      int taken = classic_take_argument(session, argv, &i);
      if (taken < 0) return STATUS_USAGE + 1;
      if (!taken) return unknown_option(session, argv[i]) + 1;
    }
  }
  argv[kept] = NULL;
  *argc = kept;
  return 0;
}

static void look_at_terminal(struct session *session) {
  bool is_terminal = isatty(STDOUT_FILENO);
  const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
  session->style.colour = is_terminal && !(no_colour && *no_colour) && term && strcmp(term, "dumb") != 0;
  struct winsize size;
  if (!session->is_width_given && is_terminal) {
    session->style.width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  }
}

static void greet(struct session *session) {
  sqlite3_stmt *statement = NULL;
  long long profiles = 0;
  if (sqlite3_prepare_v2(session->db, "SELECT count(*) FROM temp.profiles", -1, &statement, NULL) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW) {
    profiles = sqlite3_column_int64(statement, 0);
  }
  sqlite3_finalize(statement);
  printf("tfprof %s, %lld process%s open. Type SQL, or help. Ctrl-D leaves.\n", TFPROF_RELEASE, profiles,
         profiles == 1 ? "" : "es");
}

static int status_of(const struct session *session, enum script_result result) {
  if (result == SCRIPT_INTERRUPTED) raise(SIGINT);
  bool is_well = (result == SCRIPT_OK || result == SCRIPT_QUIT) && !session->has_failed;
  return is_well ? 0 : STATUS_SQL;
}

/* `most_runs`: those after that many are no runs, whatever files there are. */
static int run(struct session *session, char **words, int count, int most_runs) {
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
    if (session_open_run(session, words[i]) != SESSION_OK) return STATUS_OPEN;
  }
  for (int i = runs; i < count; i++) {
    struct script script = {.session = session};
    enum script_result result = script_line(&script, words[i]);
    if (result == SCRIPT_OK) result = script_end(&script);
    script_free(&script);
    if (result != SCRIPT_OK) return status_of(session, result);
  }
  if (runs < count) return 0;
  if (!isatty(STDIN_FILENO)) return status_of(session, script_run(session, stdin, "standard input"));
  if (!isatty(STDOUT_FILENO))
    return usage("%s", "standard output is no terminal; give the SQL as an argument or on standard input");
  session->is_interactive = true;
  session_make_views(session); /* for completion, too */
  greet(session);
  prompt_run(session);
  return 0;
}

int main(int argc, char **argv) {
  struct session session = {.style = {.format = OUTPUT_BOX}};
  setlocale(LC_CTYPE, "C.UTF-8"); /* what readline needs to edit UTF-8; numbers stay as in C */
  session.classic = classic_settings_create();
  if (!session.classic) return usage("not enough memory%s", "");
  int status = take_options(&argc, argv, &session);
  bool has_files = session.classic->file_count > 0;
  if (!status && argc == 1 && !has_files && isatty(STDIN_FILENO) && !getenv("TFPROF_OPEN"))
    status = usage("no run is given%s", "") + 1;
  if (status) {
    classic_settings_free(session.classic);
    return status - 1;
  }
  look_at_terminal(&session);
  if (!session_begin(&session) || classic_open_files(&session) != SESSION_OK) {
    session_end(&session);
    classic_settings_free(session.classic);
    return STATUS_OPEN;
  }
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
  classic_begin(&session);
  status = run(&session, argv + 1, argc - 1, most_runs);
  session_end(&session);
  classic_settings_free(session.classic);
  return status;
}
