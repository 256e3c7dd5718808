/* commands.c: the few commands of the prompt. Most are SELECTs on the tables that describe.
**
** Who comes from sqlite3 or psql may type what they know: .tables, .schema ops, .mode csv, .output FILE, \d ops, \dt,
** \dv, \df, \i FILE, \o FILE, \q, \? and ?.
*/
#include "commands.h"
#include "damage.h"
#include "advise.h"
#include "command_part.h"
#include "base/nearest_name.h"
#include "summary.h"
#include "topic_help.h"
#include "vocabulary.h"
#include "watch.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static const char help_text[] =
    "Type SQL with a semicolon at its end, or one of\n"
    "\n"
    "  summary        the run on one screen\n"
    "  advise [-option value]...\n"
    "                 what to improve first; `help advise` has the options\n"
    "  tables         the tables, how many rows each has and what it holds\n"
    "  views [SECTION]\n"
    "                 the views that answer questions, or those of a section: run,\n"
    "                 steps, ops, code, kernels, devices, memory, input, ranks,\n"
    "                 graph, compare; xprof, tensorboard, hta, checks; all\n"
    "  columns NAME   the columns of a table or view\n"
    "  functions      the functions that tfprof adds to SQL\n"
    "  watch [SECONDS] [SQL]\n"
    "                 asks again every 2 seconds, or so many, while a run is\n"
    "                 recorded: SQL, a command, or the last statement once more. It\n"
    "                 ends with the recording, with q or Ctrl-C\n"
    "  read FILE      run the SQL in a file\n"
    "  output [FILE]  write results to a file, or to the terminal again\n"
    "  format NAME    show results as box, chart (a box with bars), csv, tsv, json,\n"
    "                 jsonl or markdown\n"
    "  raw [on|off]   in boxes, show times and bytes as plain numbers, or with units\n"
    "  help [TOPIC]   this text, or more on advise, formats (of files that can be\n"
    "                 opened), a function, or a code of diagnostics.reason\n"
    "  quit           leave, as Ctrl-D does\n"
    "\v"
    "\n"
    "Begin with\n"
    "\n"
    "  SELECT * FROM step_summary;\n"
    "  SELECT * FROM op_summary LIMIT 10;\n"
    "  SELECT * FROM code_summary WHERE self_ns > 0 LIMIT 10;\n"
    "\n"
    "Another run:       SELECT tfprof_open('other-run');\n"
    "One run of many:   SELECT * FROM steps('other-run*');\n"
    "A growing run:     SELECT tfprof_refresh();, or watch\n"
    "\n"
    "Tab completes names. Ctrl-C stops a query and leaves the prompt as it is.\n"
    "Results longer than the screen go through less, or the program that PAGER names.\n"
    "With --no-pager they do not. Ids and points in time are always whole numbers.\n";

/* Those that hold something come first. A title is "Name: sentence". */
static const char tables_sql[] =
    "SELECT name, rows, substr(title, instr(title, ': ') + 2) AS holds FROM tfprof_tables ORDER BY rows = 0";

/* Without those that equal pages of other profilers, those that others are made of, and old names. */
static const char views_sql[] =
    "SELECT section, name, title FROM tfprof_views "
    "WHERE section NOT IN ('xprof', 'tensorboard', 'hta', 'helpers', 'checks', 'old')";

static const char all_views_sql[] = "SELECT section, name, title FROM tfprof_views";

static const char section_sql[] = "SELECT name, title FROM tfprof_views WHERE section = lower(%Q)";

static const char functions_sql[] =
    "SELECT name || '(' || parameters || ')' AS function, title FROM tfprof_functions";

enum command {
  HELP, SHOW, TABLES, VIEWS, COLUMNS, FUNCTIONS, SUMMARY, ADVISE, READ, OUTPUT, FORMAT, RAW, WATCH, QUIT, OF_PART,
  UNKNOWN
};

/* The mark before a word: none may stand before any of them, and must before some. */
enum mark { PLAIN, DOT, BACKSLASH };

static const struct {
  const char *word;
  enum command command;
  enum mark mark; /* PLAIN: with and without a dot, as in sqlite3; else only with this one */
} words[] = {
    {"help", HELP, PLAIN},      {"tables", TABLES, PLAIN},   {"views", VIEWS, PLAIN},   {"columns", COLUMNS, PLAIN},
    {"schema", COLUMNS, PLAIN}, {"summary", SUMMARY, PLAIN}, {"advise", ADVISE, PLAIN}, {"read", READ, PLAIN},
    {"output", OUTPUT, PLAIN},  {"format", FORMAT, PLAIN},   {"mode", FORMAT, DOT},     {"raw", RAW, PLAIN},
    {"quit", QUIT, PLAIN},      {"exit", QUIT, PLAIN},       {"?", HELP, PLAIN},
    {"?", HELP, BACKSLASH},     {"h", HELP, BACKSLASH},      {"d", COLUMNS, BACKSLASH}, {"dt", TABLES, BACKSLASH},
    {"show", SHOW, PLAIN},      {"desc", COLUMNS, PLAIN},    {"describe", COLUMNS, PLAIN},
    {"watch", WATCH, PLAIN},    {"watch", WATCH, BACKSLASH}, {"functions", FUNCTIONS, PLAIN},
    {"df", FUNCTIONS, BACKSLASH},
    {"dv", VIEWS, BACKSLASH},   {"i", READ, BACKSLASH},      {"o", OUTPUT, BACKSLASH},  {"q", QUIT, BACKSLASH},
};

static const char *const own_names[] = {"help", "tables", "views",  "columns", "functions", "summary", "advise",
                                        "read", "output", "format", "raw",     "watch",     "quit"};

const char *command_name(size_t i) {
  size_t own = sizeof own_names / sizeof own_names[0];
  return i < own ? own_names[i] : the_part()->words[i - own];
}

struct command_line {
  enum command command;
  enum mark mark;
  char word[32];
  char *argument; /* what follows, without quotes around it; never NULL */
};

static const char *const sql_beginnings[] = {
    "select", "with", "values", "explain", "pragma", "create", "insert", "update", "delete", "replace", "drop",
    "attach", "detach", "begin", "commit", "end", "rollback", "alter", "savepoint", "release", "analyze", "vacuum",
    "reindex", NULL};

bool sql_begins(const char *text) {
  const char *at = text + strspn(text, " \t\r\n(;");
  if (strncmp(at, "--", 2) == 0 || strncmp(at, "/*", 2) == 0) return true;
  size_t length = 0;
  while (isalpha((unsigned char)at[length])) length++;
  for (const char *const *beginning = sql_beginnings; *beginning; beginning++) {
    if (strlen(*beginning) == length && strncasecmp(at, *beginning, length) == 0) return true;
  }
  return false;
}

/* NULL: none is like the word. */
static const char *nearest_command(const char *word) {
  struct nearest_name nearest = nearest_name_begin(word);
  for (size_t i = 0; command_name(i); i++) nearest_name_try(&nearest, command_name(i));
  return nearest.name;
}

/* More than like a word of SQL. */
static bool is_like_command(const char *word) {
  struct nearest_name nearest = nearest_name_begin(word);
  for (const char *const *name = sql_beginnings; *name; name++) nearest_name_try(&nearest, *name);
  const char *of_sql = nearest.name;
  for (size_t i = 0; command_name(i); i++) nearest_name_try(&nearest, command_name(i));
  return nearest.name != of_sql;
}

/* A word by itself or with options, which no SQL begins with: a command that there is not. So is one that is like a
** command and has what a command has behind it, a single word. */
static bool is_misspelled_command(const char *line, const char *word, const char *after_word) {
  after_word += strspn(after_word, " \t\r\n");
  if (sql_begins(line)) return false;
  if (*after_word == '\0' || *after_word == '-') return true;
  after_word += strcspn(after_word, " \t;\r\n");
  return after_word[strspn(after_word, " \t;\r\n")] == '\0' && is_like_command(word);
}

static enum command find_command(const char *word, enum mark mark) {
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    bool fits = words[i].mark == mark || (words[i].mark == PLAIN && mark == DOT);
    if (fits && strcasecmp(words[i].word, word) == 0) return words[i].command;
  }
  return mark != BACKSLASH && command_part_has(word) ? OF_PART : UNKNOWN;
}

/* False: no command. A word only counts as one when nothing but an argument follows it. */
static bool parse(const char *line, struct command_line *parsed) {
  const char *at = line + strspn(line, " \t");
  *parsed = (struct command_line){.mark = *at == '.' ? DOT : *at == '\\' ? BACKSLASH : PLAIN};
  at += parsed->mark != PLAIN;
  size_t length = strcspn(at, " \t;\r\n");
  bool is_word = isalpha((unsigned char)*at) || (*at == '?' && length == 1); /* ./path is none */
  if (length >= sizeof parsed->word || !is_word) return false;
  memcpy(parsed->word, at, length);
  parsed->command = find_command(parsed->word, parsed->mark);
  at += length;
  bool is_unknown = parsed->command == UNKNOWN && parsed->mark == PLAIN;
  if (is_unknown && !is_misspelled_command(line, parsed->word, at)) return false;
  at += strspn(at, " \t");
  size_t size = strlen(at);
  while (size > 0 && strchr(" \t;\r\n", at[size - 1])) size--;
  if (size >= 2 && (at[0] == '\'' || at[0] == '"') && at[size - 1] == at[0]) {
    at++;
    size -= 2;
  }
  parsed->argument = strndup(at, size);
  return parsed->argument != NULL;
}

static enum script_result of(enum session_result result) {
  return result == SESSION_OK ? SCRIPT_OK : result == SESSION_ERROR ? SCRIPT_ERROR : SCRIPT_INTERRUPTED;
}

/* Runs a SELECT of names and what they mean, with the argument in the place of %Q. */
static enum script_result run_select(struct session *session, const char *format, const char *argument) {
  char *sql = sqlite3_mprintf(format, argument);
  if (!sql) return SCRIPT_ERROR;
  session->style.is_prose = true;
  enum session_result result = session_run(session, sql, NULL);
  session->style.is_prose = false;
  sqlite3_free(sql);
  return of(result);
}

static bool is_there(struct session *session, const char *format, const char *argument) {
  char *sql = sqlite3_mprintf(format, argument);
  sqlite3_stmt *statement = NULL;
  bool found = sql && sqlite3_prepare_v2(session->db, sql, -1, &statement, NULL) == SQLITE_OK &&
               sqlite3_step(statement) == SQLITE_ROW;
  sqlite3_finalize(statement);
  sqlite3_free(sql);
  return found;
}

static bool is_table(struct session *session, const char *name) {
  session_make_views(session);
  return is_there(session, "SELECT 1 FROM pragma_table_info(%Q)", name);
}

static void suggest_table(struct session *session, const char *name) {
  struct vocabulary vocabulary = {0};
  vocabulary_add(&vocabulary, session->db, WORD_TABLE, NULL, NULL);
  const char *nearest = vocabulary_nearest(&vocabulary, name);
  if (nearest) fprintf(stderr, "; did you mean %s?", nearest);
  vocabulary_free(&vocabulary);
}

static enum script_result show_columns(struct session *session, const char *name) {
  if (!*name) {
    fputs("error: columns of which table? `tables` and `views` list them; for instance: columns ops\n", stderr);
    return SCRIPT_ERROR;
  }
  session_make_views(session);
  if (is_there(session, "SELECT 1 FROM tfprof_columns WHERE table_name = lower(%Q) AND is_cache >= 0", name)) {
    return run_select(session,
                      "SELECT column_name, type, unit, description FROM tfprof_columns "
                      "WHERE table_name = lower(%Q) AND is_cache >= 0",
                      name);
  }
  if (is_there(session, "SELECT 1 FROM pragma_table_info(%Q)", name)) {
    return run_select(session, "SELECT name AS column_name, lower(type) AS type FROM pragma_table_info(%Q)", name);
  }
  fprintf(stderr, "error: no such table or view: %s", name);
  suggest_table(session, name);
  fputs("; `tables` and `views` list them\n", stderr);
  return SCRIPT_ERROR;
}

static enum script_result show_views(struct session *session, const char *section) {
  if (!*section) return run_select(session, views_sql, NULL);
  if (strcasecmp(section, "all") == 0) return run_select(session, all_views_sql, NULL);
  if (is_there(session, section_sql, section)) return run_select(session, section_sql, section);
  fprintf(stderr, "error: no section %s of views; `views` lists them by section, `views all` all of them\n", section);
  return SCRIPT_ERROR;
}

enum script_result command_read(struct session *session, const char *path) {
  struct stat facts;
  if (!*path) {
    fputs("error: read which file? for instance: read sql/views/ops/op_summary.sql\n", stderr);
    return SCRIPT_ERROR;
  }
  FILE *file = fopen(path, "re");
  if (file && fstat(fileno(file), &facts) == 0 && S_ISDIR(facts.st_mode)) {
    fclose(file);
    file = NULL;
    errno = EISDIR;
  }
  if (!file) {
    fprintf(stderr, "error: cannot read %s: %s\n", path, strerror(errno));
    return SCRIPT_ERROR;
  }
  enum script_result result = script_run(session, command_run, file, path);
  fclose(file);
  return result;
}

static enum script_result set_format(struct session *session, const char *name) {
  int format = output_format_find(name);
  if (format < 0) {
    fprintf(stderr, "error: there is no format '%s'; the formats are " OUTPUT_FORMAT_LIST "\n", name);
    return SCRIPT_ERROR;
  }
  session->style.format = (enum output_format)format;
  return SCRIPT_OK;
}

static enum script_result set_raw(struct session *session, const char *value) {
  bool is_on = !*value || strcasecmp(value, "on") == 0;
  if (!is_on && strcasecmp(value, "off") != 0) {
    fprintf(stderr, "error: raw is on or off, not '%s'\n", value);
    return SCRIPT_ERROR;
  }
  session->style.is_raw = is_on;
  return SCRIPT_OK;
}

static enum script_result set_output(struct session *session, const char *path) {
  if (strcasecmp(path, "stdout") == 0) path = "";
  if (destination_set(&session->destination, path)) return SCRIPT_OK;
  fprintf(stderr, "error: cannot write %s: %s\n", *path ? path : "the file", strerror(errno));
  return SCRIPT_ERROR;
}

static enum script_result answer_statement(struct session *session, const void *question) {
  struct script script = {.session = session, .run_command = command_run};
  enum script_result result = script_line(&script, question);
  if (result == SCRIPT_OK) result = script_end(&script);
  script_free(&script);
  return result;
}

/* watch, watch 5, watch 5 SELECT ..., watch summary */
static enum script_result watch_command(struct session *session, const char *argument) {
  char word[32];
  size_t length = strcspn(argument, " \t");
  snprintf(word, sizeof word, "%.*s", (int)length, argument);
  double seconds = length < sizeof word ? watch_seconds(word) : 0;
  const char *statement = seconds > 0 ? argument + length + strspn(argument + length, " \t") : argument;
  if (seconds == 0 && (isdigit((unsigned char)*word) || *word == '.' || *word == '-')) {
    fprintf(stderr, "error: watch every %s? seconds from 0.1 to 86400, as in: watch 5 SELECT * FROM step_summary;\n",
            word);
    return SCRIPT_ERROR;
  }
  if (!*statement) statement = session->last;
  if (!statement) {
    fputs("error: watch what? for instance: watch 2 SELECT * FROM step_summary;\n", stderr);
    return SCRIPT_ERROR;
  }
  char *copy = strdup(statement); /* what is watched may be something else that was typed last */
  enum script_result result =
      watch_run(session, seconds > 0 ? seconds : WATCH_SECONDS, answer_statement, copy ? copy : statement);
  free(copy);
  return result;
}

/* Says behind `joint` what a word that is no command may have meant: a table, of which one asks in SQL, or what is
** like it. false: nothing, and nothing was said. */
static bool explain_word(struct session *session, const char *word, const char *joint) {
  struct vocabulary known = {0};
  bool is_a_table = is_table(session, word);
  const char *nearest = is_a_table ? NULL : nearest_command(word), *before = "";
  if (!is_a_table && !nearest) {
    vocabulary_add(&known, session->db, WORD_TABLE, NULL, NULL);
    nearest = vocabulary_nearest(&known, word);
    before = "SELECT * FROM ";
  }
  if (is_a_table) fprintf(stderr, "%sit is a table or view: SELECT * FROM %s;", joint, word);
  if (nearest) fprintf(stderr, "%sdid you mean %s%s?", joint, before, nearest);
  vocabulary_free(&known);
  return is_a_table || nearest;
}

void command_suggest(struct session *session, const char *word) {
  bool is_word = *word != '\0';
  for (const char *at = word; *at; at++) is_word &= isalpha((unsigned char)*at) || *at == '_';
  if (is_word && explain_word(session, word, "tfprof: as a command, ")) fputc('\n', stderr);
}

static enum script_result refuse(struct session *session, const struct command_line *parsed) {
  static const char *const marks[] = {"", ".", "\\"};
  fprintf(stderr, "error: there is no command %s%s", marks[parsed->mark], parsed->word);
  explain_word(session, parsed->word, "; ");
  fputs("; `help` lists the commands\n", stderr);
  return SCRIPT_ERROR;
}

/* help, help scope, help advise, help formats, help percentile. */
static enum script_result help(struct session *session, const char *topic) {
  if (!*topic) {
    const char *end = strchr(help_text, '\v'); /* here comes what the part has to say */
    printf("%.*s%s%s", (int)(end - help_text), help_text, the_part()->prompt_help, end + 1);
    the_part()->explain_more(session);
  } else if (strcasecmp(topic, "advise") == 0) {
    advise_explain();
  } else if (strcasecmp(topic, "formats") == 0) {
    return run_select(session, "SELECT name, description FROM tfprof_formats", NULL);
  } else if (command_part_has(topic)) {
    the_part()->explain(session);
  } else if (!topic_help_print(session, topic)) {
    fprintf(stderr, "error: there is no help on '%s'. There is on ", topic);
    for (const char *const *word = the_part()->words; *word; word++) fprintf(stderr, "%s, ", *word);
    fputs("advise, formats, what `functions` lists, and codes of diagnostics.reason\n", stderr);
    return SCRIPT_ERROR;
  }
  return SCRIPT_OK;
}

bool command_has_help(const char *word) {
  return command_part_has(word) || strcasecmp(word, "advise") == 0 || strcasecmp(word, "formats") == 0;
}

/* UNKNOWN where the line is no command. */
static enum command command_of(const char *line) {
  struct command_line parsed;
  if (!parse(line, &parsed)) return UNKNOWN;
  free(parsed.argument);
  return parsed.command;
}

bool command_takes_file(const char *line) {
  enum command command = command_of(line);
  return command == READ || command == OUTPUT;
}

bool command_takes_table(const char *line) { return command_of(line) == COLUMNS; }

bool command_is(const char *line) {
  struct command_line parsed;
  if (!parse(line, &parsed)) return false;
  free(parsed.argument);
  return parsed.command != UNKNOWN || parsed.mark != PLAIN;
}

static enum script_result run_work(struct session *session, const struct command_line *parsed) {
  bool needs_run = parsed->command == ADVISE || parsed->command == SUMMARY; /* the others tell it themselves */
  if (needs_run && !session_has_run(session, parsed->word)) return SCRIPT_ERROR;
  session_begin_work(session);
  enum session_result result = parsed->command == ADVISE    ? advise_run(session, parsed->argument)
                               : parsed->command == SUMMARY ? summary_print(session)
                                                            : the_part()->run(session, parsed->word, parsed->argument);
  session_end_work(session);
  damage_tell(session); /* of what these read */
  return of(result);
}

/* As other databases have it: show tables, show views, show columns from ops. */
static enum script_result show_what(struct session *session, const struct command_line *parsed) {
  const char *what = parsed->argument, *table = what;
  size_t length = strcspn(what, " \t");
  if (strcasecmp(what, "tables") == 0) return run_select(session, tables_sql, NULL);
  if (strcasecmp(what, "views") == 0) return show_views(session, "");
  if (strcasecmp(what, "functions") == 0) return run_select(session, functions_sql, NULL);
  if (length == strlen("columns") && strncasecmp(what, "columns", length) == 0) {
    table += length + strspn(what + length, " \t");
    if (strncasecmp(table, "from ", 5) == 0 || strncasecmp(table, "in ", 3) == 0)
      table += strcspn(table, " \t") + strspn(table + strcspn(table, " \t"), " \t");
    return show_columns(session, table);
  }
  fputs("error: show tables, show views, show functions, or show columns from ops\n", stderr);
  return SCRIPT_ERROR;
}

static enum script_result run_printing(struct session *session, const struct command_line *parsed) {
  switch (parsed->command) {
    case HELP: return help(session, parsed->argument);
    case SHOW: return show_what(session, parsed);
    case TABLES: return run_select(session, tables_sql, NULL);
    case FUNCTIONS: return run_select(session, functions_sql, NULL);
    case VIEWS: return show_views(session, parsed->argument);
    case COLUMNS:
      if (parsed->mark == BACKSLASH && !*parsed->argument) return run_select(session, tables_sql, NULL);
      return show_columns(session, parsed->argument);
    case SUMMARY:
    case ADVISE:
    case OF_PART: return run_work(session, parsed);
    default: return refuse(session, parsed);
  }
}

bool command_run(struct session *session, const char *line, enum script_result *result) {
  struct command_line parsed;
  if (!parse(line, &parsed)) return false;
  switch (parsed.command) {
    case READ: *result = command_read(session, parsed.argument); break;
    case OUTPUT: *result = set_output(session, parsed.argument); break;
    case FORMAT: *result = set_format(session, parsed.argument); break;
    case RAW: *result = set_raw(session, parsed.argument); break;
    case WATCH: *result = watch_command(session, parsed.argument); break;
    case QUIT: *result = SCRIPT_QUIT; break;
    default:
      destination_begin(&session->destination);
      *result = run_printing(session, &parsed);
      destination_end(&session->destination);
  }
  free(parsed.argument);
  return true;
}
