/* commands.c: the few commands of the prompt. Each but `read` and `format` is a SELECT on the tables that describe. */
#include "commands.h"
#include "advise.h"
#include "classic.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static const char help_text[] =
    "Type SQL, ended by a semicolon, or one of\n"
    "\n"
    "  tables         the tables, how many rows each has and what it holds\n"
    "  views          the stored views\n"
    "  columns NAME   the columns of a table or view\n"
    "  advise [-checkers NAME,...] [-option value]...\n"
    "                 what to improve first, checker by checker\n"
    "  read FILE      run the SQL in a file\n"
    "  format NAME    show results as box, csv, json, jsonl or markdown\n"
    "  help [COMMAND] this text, or the options of scope, graph, code, op or advise\n"
    "  quit           leave, as Ctrl-D does\n"
    "\n"
    "  scope, graph, code, op [-option value]...\n"
    "                 the views of the TensorFlow profiler: by scope, by inputs, by\n"
    "                 source line, by kind of op, such as\n"
    "                 op -select micros,occurrence -order_by micros -max_depth 9\n"
    "  set [-option value]...\n"
    "                 changes their options for all that follows, and shows them;\n"
    "                 so does an empty line\n"
    "  The table node_type_patterns takes types of your own for them.\n"
    "\n"
    "Begin with\n"
    "\n"
    "  SELECT * FROM step_summary;\n"
    "  SELECT * FROM op_summary LIMIT 10;\n"
    "  SELECT * FROM code_summary LIMIT 10;\n"
    "  SELECT name, count(*), sum(self_ns) FROM ops GROUP BY name ORDER BY 3 DESC LIMIT 10;\n"
    "\n"
    "Another run:       SELECT tfprof_open('other-run');\n"
    "One run of many:   SELECT * FROM steps('other-run*');\n"
    "A growing run:     SELECT tfprof_refresh();\n"
    "\n"
    "Tab completes names. Ctrl-C stops a query and leaves the prompt as it is.\n";

/* Those that hold something come first. A title is "Name: sentence". */
static const char tables_sql[] =
    "SELECT name, rows, substr(title, instr(title, ': ') + 2) AS holds FROM tfprof_tables ORDER BY rows = 0";

enum command { HELP, TABLES, VIEWS, COLUMNS, ADVISE, READ, FORMAT, QUIT, CLASSIC, UNKNOWN };

static const struct {
  const char *word;
  enum command command;
} words[] = {
    {"help", HELP},      {"tables", TABLES}, {"views", VIEWS}, {"columns", COLUMNS},
    {"schema", COLUMNS}, {"advise", ADVISE}, {"read", READ},   {"format", FORMAT},
    {"mode", FORMAT},    {"quit", QUIT},     {"exit", QUIT},   {"scope", CLASSIC},
    {"graph", CLASSIC},  {"code", CLASSIC},  {"op", CLASSIC},  {"set", CLASSIC},
};

const char *const command_names[] = {"help", "tables", "views", "columns", "advise", "read", "format", "quit",
                                     "scope", "graph", "code", "op", "set", NULL};

struct command_line {
  enum command command;
  bool has_dot;
  char word[32];
  char *argument; /* what follows, without quotes around it; never NULL */
};

bool sql_begins(const char *text) {
  static const char *const beginnings[] = {"select",    "with",    "values",  "explain", "pragma",   "create",
                                           "insert",    "update",  "delete",  "replace", "drop",     "attach",
                                           "detach",    "begin",   "commit",  "end",     "rollback", "alter",
                                           "savepoint", "release", "analyze", "vacuum",  "reindex",  NULL};
  const char *at = text + strspn(text, " \t\r\n(;");
  if (strncmp(at, "--", 2) == 0 || strncmp(at, "/*", 2) == 0) return true;
  size_t length = 0;
  while (isalpha((unsigned char)at[length])) length++;
  for (const char *const *beginning = beginnings; *beginning; beginning++) {
    if (strlen(*beginning) == length && strncasecmp(at, *beginning, length) == 0) return true;
  }
  return false;
}

/* A word by itself or with options, which no SQL begins with: a command that there is not. */
static bool is_misspelled_command(const char *line, const char *after_word) {
  after_word += strspn(after_word, " \t\r\n");
  return !sql_begins(line) && (*after_word == '\0' || *after_word == '-');
}

/* False: no command. A word only counts as one when nothing but an argument follows it. */
static bool parse(const char *line, struct command_line *parsed) {
  const char *at = line + strspn(line, " \t");
  *parsed = (struct command_line){.has_dot = *at == '.', .command = UNKNOWN};
  at += parsed->has_dot;
  size_t length = strcspn(at, " \t;\r\n");
  if (length == 0 || length >= sizeof parsed->word || !isalpha((unsigned char)*at)) return false; /* ./path is none */
  memcpy(parsed->word, at, length);
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    bool needs_dot = words[i].command == FORMAT && strcmp(words[i].word, "mode") == 0;
    if (strcasecmp(words[i].word, parsed->word) == 0 && (parsed->has_dot || !needs_dot)) {
      parsed->command = words[i].command;
    }
  }
  at += length;
  if (parsed->command == UNKNOWN && !parsed->has_dot && !is_misspelled_command(line, at)) return false;
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

static enum script_result show_columns(struct session *session, const char *name) {
  if (!*name) {
    fputs("error: columns of which table? `tables` and `views` list them; for instance: columns ops\n", stderr);
    return SCRIPT_ERROR;
  }
  session_make_views(session);
  if (is_there(session, "SELECT 1 FROM tfprof_columns WHERE table_name = lower(%Q)", name)) {
    return run_select(session,
                      "SELECT column_name, type, unit, description FROM tfprof_columns WHERE table_name = lower(%Q)",
                      name);
  }
  if (is_there(session, "SELECT 1 FROM pragma_table_info(%Q)", name)) {
    return run_select(session, "SELECT name AS column_name, lower(type) AS type FROM pragma_table_info(%Q)", name);
  }
  fprintf(stderr, "error: no such table or view: %s; `tables` and `views` list them\n", name);
  return SCRIPT_ERROR;
}

static enum script_result read_file(struct session *session, const char *path) {
  struct stat facts;
  if (!*path) {
    fputs("error: read which file? for instance: read sql/views/op_summary.sql\n", stderr);
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
  enum script_result result = script_run(session, file, path);
  fclose(file);
  return result;
}

static enum script_result set_format(struct session *session, const char *name) {
  int format = output_format_find(name);
  if (format < 0) {
    fprintf(stderr, "error: there is no format '%s'; the formats are box, csv, json, jsonl and markdown\n", name);
    return SCRIPT_ERROR;
  }
  session->style.format = (enum output_format)format;
  return SCRIPT_OK;
}

/* help, help scope, help advise. */
static enum script_result help(struct session *session, const char *topic) {
  if (!*topic) {
    fputs(help_text, stdout);
  } else if (strcasecmp(topic, "advise") == 0) {
    advise_explain();
  } else if (command_is_classic(topic)) {
    classic_explain_options(session);
  } else {
    fprintf(stderr, "error: there is no help on '%s'; it is on scope, graph, code, op, set and advise\n", topic);
    return SCRIPT_ERROR;
  }
  return SCRIPT_OK;
}

bool command_is_classic(const char *word) {
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (words[i].command == CLASSIC && strcasecmp(words[i].word, word) == 0) return true;
  }
  return false;
}

bool command_is(const char *line) {
  struct command_line parsed;
  if (!parse(line, &parsed)) return false;
  free(parsed.argument);
  return parsed.command != UNKNOWN || parsed.has_dot;
}

bool command_run(struct session *session, const char *line, enum script_result *result) {
  struct command_line parsed;
  if (!parse(line, &parsed)) return false;
  *result = SCRIPT_OK;
  switch (parsed.command) {
    case HELP: *result = help(session, parsed.argument); break;
    case TABLES: *result = run_select(session, tables_sql, NULL); break;
    case VIEWS: *result = run_select(session, "SELECT name, title FROM tfprof_views", NULL); break;
    case COLUMNS: *result = show_columns(session, parsed.argument); break;
    case ADVISE:
      session_begin_work(session);
      *result = of(advise_run(session, parsed.argument));
      session_end_work(session);
      break;
    case READ: *result = read_file(session, parsed.argument); break;
    case FORMAT: *result = set_format(session, parsed.argument); break;
    case QUIT: *result = SCRIPT_QUIT; break;
    case CLASSIC:
      session_begin_work(session);
      *result = of(classic_run(session, parsed.word, parsed.argument));
      session_end_work(session);
      break;
    case UNKNOWN:
      fprintf(stderr, "error: there is no command %s%s; `help` lists the commands\n", parsed.has_dot ? "." : "",
              parsed.word);
      *result = SCRIPT_ERROR;
      break;
  }
  free(parsed.argument);
  return true;
}
