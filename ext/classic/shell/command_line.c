/* command_line.c: the options and files of the classic tfprof on the command line of the shell.
**
** Its files (--profile_path, --graph_path, --run_meta_path, --op_log_path, --checkpoint_path) and its options may stand
** before or after its command, with one hyphen or two:
**
**   tfprof --graph_path=graph.pbtxt --run_meta_path=run_meta --op_log_path=op_log
**   tfprof scope --profile_path=profile_100 --max_depth=3 --dump_to_file=out.txt
*/
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "classic/shell/classic.h"
#include "shell/advise_options.h"
#include "shell/damage.h"
#include "vtab/settings.h"

static const char *const file_keys[] = {"profile_path", "graph_path", "run_meta_path", "step",
                                        "op_log_path",  "checkpoint_path"};

/* The value behind the equals sign, or the next word; NULL: there is none. */
static const char *value_of(char **argv, int *i, size_t name_length) {
  if (argv[*i][name_length] == '=') return argv[*i] + name_length + 1;
  const char *next = argv[*i + 1];
  return next && (next[0] != '-' || (next[1] >= '0' && next[1] <= '9')) ? argv[++*i] : NULL;
}

/* What the options say is what the checks of advise go by, too. */
void classic_share_compat(struct session *session) {
  bool is_of_other_build;
  char *message = NULL;
  struct connection *connection = connection_find(session->db, &is_of_other_build);
  double is_compat = (double)settings_of(session)->options.integers[OPTION_compat];
  if (connection) settings_set(connection, "compat", is_compat, &message);
  sqlite3_free(message);
}

bool classic_take_generation(struct session *session, char **argv) {
  for (int i = 1; argv[i]; i++) {
    size_t hyphens = strspn(argv[i], "-");
    struct tfprof_error error;
    if (!hyphens || strncmp(argv[i] + hyphens, "generation", 10) != 0) continue;
    const char *end = argv[i] + hyphens + 10, *value = *end == '=' ? end + 1 : *end ? NULL : argv[i + 1];
    if (!value) continue;
    if (classic_option_set(&settings_of(session)->options, OPTION_generation, value, &error)) {
      fprintf(stderr, "tfprof: %s\n", error.message);
      return false;
    }
  }
  settings_of(session)->tells_reading = settings_of(session)->options.integers[OPTION_generation] != GENERATION_2;
  return true;
}

void classic_tell_reading(struct session *session) {
  static const char *const lines[][2] = {{"graph_path", "Parsing GraphDef..."},
                                         {"run_meta_path", "Parsing RunMetadata..."},
                                         {"op_log_path", "Parsing OpLog..."},
                                         {"checkpoint_path", "Parsing Checkpoint..."}};
  struct classic_settings *settings = settings_of(session);
  if (!settings->tells_reading || session->style.format != OUTPUT_BOX) return;
  settings->tells_reading = false;
  puts("Reading Files...");
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    bool is_there = false;
    for (int k = 0; k < settings->file_count; k++) is_there |= strcmp(settings->keys[k], lines[i][0]) == 0;
    if (is_there) puts(lines[i][1]);
  }
  puts("Preparing Views...");
}

bool classic_tell_usage(const struct session *session) {
  if (!settings_of(session)->tells_reading) return false;
  puts("1) tfprof help: all commands and options.\n"
       "2) tfprof --graph_path <GraphDef file>: shapes and parameters of a model.\n"
       "3) tfprof --graph_path <GraphDef file> \\\n"
       "          --run_meta_path <RunMetadata file> \\\n"
       "          --op_log_path <OpLog file> \\\n"
       "          --checkpoint_path <checkpoint file>: all that can be told of it.");
  return true;
}

bool classic_is_asked(const struct session *session, char **argv) {
  if (settings_of(session)->file_count) return true;
  for (int i = 1; argv[i]; i++) {
    char word[16];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(argv[i], " \t\n;"), argv[i]);
    if (classic_find_view(word) >= 0) return true;
  }
  return false;
}

const char *classic_advise_words(const struct session *session) {
  return settings_of(session)->advise_words ? settings_of(session)->advise_words : "";
}

struct option_search {
  const char *name; /* without hyphens */
  bool is_there;
};

static void search_option(void *user, const char *name, const char *standard) {
  struct option_search *search = user;
  const char *dot = strchr(name, '.');
  (void)standard;
  search->is_there |= strcmp(name + 1, search->name) == 0 || (dot && strcmp(dot + 1, search->name) == 0);
}

/* An option of advise, such as --checkers=JobChecker. 1: taken; 0: it is none; -1: said on stderr. */
static int take_advise_argument(struct classic_settings *settings, const char *name, const char *value) {
  struct option_search search = {.name = name};
  char *longer;
  advise_each_option(search_option, &search);
  if (!search.is_there) return 0;
  const char *former = settings->advise_words ? settings->advise_words : "";
  int length =
      value ? asprintf(&longer, "%s -%s '%s'", former, name, value) : asprintf(&longer, "%s -%s", former, name);
  if (length < 0) return -1;
  free(settings->advise_words);
  settings->advise_words = longer;
  return 1;
}

/* What may stand behind a boolean option: any other word is not its value. */
static bool is_truth(const char *word) {
  static const char *const truths[] = {"true", "false", "0", "1"};
  for (size_t i = 0; word && i < sizeof truths / sizeof truths[0]; i++) {
    if (strcasecmp(word, truths[i]) == 0) return true;
  }
  return false;
}

int classic_take_argument(struct session *session, char **argv, int *i) {
  struct classic_settings *settings = settings_of(session);
  struct tfprof_error error;
  char name[40];
  const char *word = argv[*i];
  size_t length = strcspn(word, "="), hyphens = strspn(word, "-");
  if (hyphens < 1 || hyphens > 2 || length - hyphens >= sizeof name) return 0;
  snprintf(name, sizeof name, "%.*s", (int)(length - hyphens), word + hyphens);
  for (size_t k = 0; k < sizeof file_keys / sizeof file_keys[0]; k++) {
    if (strcmp(name, file_keys[k]) != 0 || strcmp(name, "step") == 0) continue;
    const char *value = value_of(argv, i, length);
    if (!value || settings->file_count == 64) {
      fprintf(stderr, "tfprof: --%s needs a file\n", name);
      return -1;
    }
    settings->keys[settings->file_count] = file_keys[k];
    settings->values[settings->file_count++] = value;
    return 1;
  }
  int option = classic_find_option(name);
  bool is_dump = strcmp(name, "dump_to_file") == 0;
  if (option < 0 && !is_dump) {
    int former = *i, taken = take_advise_argument(settings, name, value_of(argv, i, length));
    if (taken <= 0) *i = former;
    return taken;
  }
  int generation = (int)settings->options.integers[OPTION_generation];
  if (option >= 0 && !classic_generation_has(generation, option)) {
    fprintf(stderr, "tfprof: there is no option --%s in generation %s\n", name, classic_generation_names[generation]);
    return -1;
  }
  bool is_boolean = option >= 0 && classic_option_specs[option].type == OPTION_BOOLEAN;
  const char *value = is_boolean && !word[length] && !is_truth(argv[*i + 1]) ? "true" : value_of(argv, i, length);
  enum tfprof_status status = TFPROF_OK;
  char *line = NULL;
  if (is_dump || !value) {
    if (asprintf(&line, "-%s%s%s", name, value ? " " : "", value ? value : "") < 0) status = error_no_memory(&error);
    else status = classic_options_parse(&settings->options, line, &error);
    free(line);
  } else {
    status = classic_option_set(&settings->options, option, value, &error);
  }
  if (status) {
    fprintf(stderr, "tfprof: %s\n", error.message);
    return -1;
  }
  return 1;
}

void classic_each_option(const struct session *session, bool with_files, void (*take)(void *user, const char *name),
                         void *user) {
  int generation = (int)settings_of(session)->options.integers[OPTION_generation];
  for (int i = 0; i < OPTION_count; i++) {
    if (classic_generation_has(generation, i)) take(user, classic_option_specs[i].name);
  }
  take(user, "dump_to_file");
  for (size_t i = 0; with_files && i < sizeof file_keys / sizeof file_keys[0]; i++) take(user, file_keys[i]);
}

enum session_result classic_open_files(struct session *session) {
  const struct classic_settings *settings = settings_of(session);
  sqlite3_stmt *statement = NULL;
  if (settings->file_count == 0) return SESSION_OK;
  sqlite3_str *sql = sqlite3_str_new(session->db);
  sqlite3_str_appendall(sql, "SELECT tfprof_open(");
  for (int i = 0; i < settings->file_count; i++) sqlite3_str_appendf(sql, "%s?, ?", i ? ", " : "");
  sqlite3_str_appendall(sql, ")");
  char *text = sqlite3_str_finish(sql);
  int code = text ? sqlite3_prepare_v2(session->db, text, -1, &statement, NULL) : SQLITE_NOMEM;
  for (int i = 0; i < settings->file_count && code == SQLITE_OK; i++) {
    sqlite3_bind_text(statement, 2 * i + 1, settings->keys[i], -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 2 * i + 2, settings->values[i], -1, SQLITE_STATIC);
  }
  if (code == SQLITE_OK) code = sqlite3_step(statement);
  if (code != SQLITE_ROW) fprintf(stderr, "tfprof: %s\n", sqlite3_errmsg(session->db));
  sqlite3_finalize(statement);
  sqlite3_free(text);
  if (code == SQLITE_ROW) damage_tell(session);
  return code == SQLITE_ROW ? SESSION_OK : code == SQLITE_INTERRUPT ? SESSION_INTERRUPTED : SESSION_ERROR;
}
