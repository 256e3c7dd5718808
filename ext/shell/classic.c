/* classic.c: see classic.h.
**
** A view is written as TensorFlow's tfprof writes it: with -output stdout the options first and the report between its
** rulers; with -output file the report alone; timeline and pprof are files for other programs.  With several profiles
** open there is a report for each, headed by its file and rank, and a file FILE.N.
*/
#include "classic.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "advise_options.h"
#include "damage.h"
#include "vtab/classic_cache.h"
#include "vtab/settings.h"
#include "write/output_file.h"

struct classic_settings *classic_settings_create(void) {
  struct classic_settings *settings = calloc(1, sizeof *settings);
  if (settings && !classic_options_init(&settings->options)) {
    free(settings);
    settings = NULL;
  }
  return settings;
}

void classic_settings_free(struct classic_settings *settings) {
  if (!settings) return;
  classic_options_free(&settings->options);
  free(settings->advise_words);
  free(settings);
}

static enum session_result fail_classic(const struct tfprof_error *error) {
  char text[2200];
  error_text(error, text, sizeof text);
  fflush(stdout);
  fprintf(stderr, "error: %s\n", text);
  return error->status == TFPROF_INTERRUPTED ? SESSION_INTERRUPTED : SESSION_ERROR;
}

/* ---- the command line ---- */

static const char *const file_keys[] = {"profile_path", "graph_path", "run_meta_path", "step",
                                        "op_log_path",  "checkpoint_path"};

/* The value behind the equals sign, or the next word; NULL: there is none. */
static const char *value_of(char **argv, int *i, size_t name_length) {
  if (argv[*i][name_length] == '=') return argv[*i] + name_length + 1;
  const char *next = argv[*i + 1];
  return next && (next[0] != '-' || (next[1] >= '0' && next[1] <= '9')) ? argv[++*i] : NULL;
}

/* What the options say is what the checks of advise go by, too. */
static void share_compat(struct session *session) {
  bool is_of_other_build;
  char *message = NULL;
  struct connection *connection = connection_find(session->db, &is_of_other_build);
  double is_compat = (double)session->classic->options.integers[OPTION_compat];
  if (connection) settings_set(connection, "compat", is_compat, &message);
  sqlite3_free(message);
}

void classic_begin(struct session *session) { share_compat(session); }

int classic_take_generation(struct session *session, char **argv) {
  for (int i = 1; argv[i]; i++) {
    size_t hyphens = strspn(argv[i], "-");
    struct tfprof_error error;
    if (!hyphens || strncmp(argv[i] + hyphens, "generation", 10) != 0) continue;
    const char *end = argv[i] + hyphens + 10, *value = *end == '=' ? end + 1 : *end ? NULL : argv[i + 1];
    if (!value) continue;
    if (classic_option_set(&session->classic->options, OPTION_generation, value, &error)) {
      fprintf(stderr, "tfprof: %s\n", error.message);
      return -1;
    }
  }
  session->classic->tells_reading = session->classic->options.integers[OPTION_generation] != GENERATION_2;
  return 0;
}

void classic_tell_reading(struct session *session) {
  static const char *const lines[][2] = {{"graph_path", "Parsing GraphDef..."},
                                         {"run_meta_path", "Parsing RunMetadata..."},
                                         {"op_log_path", "Parsing OpLog..."},
                                         {"checkpoint_path", "Parsing Checkpoint..."}};
  struct classic_settings *settings = session->classic;
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
  if (!session->classic->tells_reading) return false;
  puts("1) tfprof help: all commands and options.\n"
       "2) tfprof --graph_path <GraphDef file>: shapes and parameters of a model.\n"
       "3) tfprof --graph_path <GraphDef file> \\\n"
       "          --run_meta_path <RunMetadata file> \\\n"
       "          --op_log_path <OpLog file> \\\n"
       "          --checkpoint_path <checkpoint file>: all that can be told of it.");
  return true;
}

const char classic_usage_line[] =
    "usage: tfprof scope|graph|code|op [options] [RUN]...; tfprof scope --help explains them\n";

bool classic_is_asked(const struct session *session, char **argv) {
  if (session->classic->file_count) return true;
  for (int i = 1; argv[i]; i++) {
    char word[16];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(argv[i], " \t\n;"), argv[i]);
    if (classic_find_view(word) >= 0) return true;
  }
  return false;
}

const char *classic_advise_words(const struct session *session) {
  return session->classic->advise_words ? session->classic->advise_words : "";
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
  struct classic_settings *settings = session->classic;
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
  int generation = (int)session->classic->options.integers[OPTION_generation];
  for (int i = 0; i < OPTION_count; i++) {
    if (classic_generation_has(generation, i)) take(user, classic_option_specs[i].name);
  }
  take(user, "dump_to_file");
  for (size_t i = 0; with_files && i < sizeof file_keys / sizeof file_keys[0]; i++) take(user, file_keys[i]);
}

enum session_result classic_open_files(struct session *session) {
  const struct classic_settings *settings = session->classic;
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

/* ---- views ---- */

/* "run/host-12.tfprof" or "run/host-12.tfprof, rank 3". */
static void write_profile(const struct classic_model *model, FILE *file) {
  const struct profile *profile = store_profile_by_number(model->store, model->profile_number);
  if (!profile) return;
  fputs(profile->path ? pool_text(model->pool, profile->path) : "?", file);
  if (profile->rank >= 0) fprintf(file, ", rank %lld", (long long)profile->rank);
}

/* Who asks for a step asks for the profiles that have it. */
static enum tfprof_status keep_answering(struct classic_cached **models, size_t *count, enum classic_view view,
                                         const struct classic_options *options, struct tfprof_error *error) {
  size_t all = *count;
  enum tfprof_status status = classic_cache_keep_answering(models, count, view, options, error);
  if (!status && *count < all)
    fprintf(stderr, "%zu of %zu profiles are left out: %s\n", all - *count, all, error->message);
  return status;
}

static enum session_result write_reports(struct classic_cached **models, size_t count, enum classic_view view,
                                         const struct classic_options *options, FILE *file) {
  for (size_t i = 0; i < count; i++) {
    struct classic_result *result;
    struct tfprof_error error;
    if (classic_compute(models[i]->model, view, options, &result, &error)) return fail_classic(&error);
    if (file && count > 1) {
      fputs(options->integers[OPTION_generation] == GENERATION_2 ? "\n" : i ? "\n" : "", file);
      write_profile(models[i]->model, file);
      fputs(":\n", file);
    }
    bool is_whole = !file || classic_write_report(result, file);
    classic_result_free(result);
    if (!is_whole) {
      error_set(&error, TFPROF_INTERRUPTED, "interrupted");
      return fail_classic(&error);
    }
  }
  return SESSION_OK;
}

/* What TensorFlow's profiler says before a report where a step ran on an accelerator whose streams it knows nothing of;
** with --compat only, since it is a row of diagnostics, too. */
static void tell_missing_streams(struct session *session, struct classic_cached **models, size_t count, FILE *file) {
  for (size_t i = 0; i < count; i++) {
    char *sql = sqlite3_mprintf("SELECT 1 FROM tfprof_own.diagnostics"
                                " WHERE profile_id = %u AND reason = 'missing_streams'",
                                models[i]->model->profile_number);
    sqlite3_stmt *statement = NULL;
    bool is_missing = sql && sqlite3_prepare_v2(session->db, sql, -1, &statement, NULL) == SQLITE_OK &&
                      sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    if (!is_missing) continue;
    fputs("\n\nFound accelerator operation but misses accelerator stream stats!\n\n"
          "It's likely a gpu tracing issue rather than tf-profiler issue.\n"
          "If you found your operation missing accelerator time, consider to post to discuss@tensorflow.org!\n\n",
          file);
    return;
  }
}

static enum session_result write_file(struct session *session, struct classic_cached **models, size_t count,
                                      enum classic_view view, const struct classic_options *options) {
  struct output_file *file;
  struct tfprof_error error;
  if (output_open(&file, options->output_file, false, &error)) return fail_classic(&error);
  FILE *stream = output_stream(file);
  if (!stream) {
    output_abandon(file);
    error_no_memory(&error);
    return fail_classic(&error);
  }
  bool is_now = options->integers[OPTION_generation] == GENERATION_2;
  if (is_now && options->integers[OPTION_compat]) tell_missing_streams(session, models, count, stream);
  enum session_result result = write_reports(models, count, view, options, stream);
  fclose(stream);
  if (result != SESSION_OK) {
    output_abandon(file);
    return result;
  }
  return output_commit(file, &error) ? fail_classic(&error) : SESSION_OK;
}

static enum session_result write_stdout(struct session *session, struct classic_cached **models, size_t count,
                                        enum classic_view view, const struct classic_options *options) {
  bool is_framed = options->integers[OPTION_generation] == GENERATION_2;
  /* All that -viz did in what was released. */
  if (options->integers[OPTION_viz]) puts("Visualizing feature disabled...");
  if (!is_framed) {
    enum session_result result = write_reports(models, count, view, options, stdout);
    fflush(stdout);
    return result;
  }
  fputs("\n=========================Options=============================\n", stdout);
  classic_options_print(options, stdout);
  fputs("\n==================Model Analysis Report======================\n", stdout);
  if (options->integers[OPTION_compat]) tell_missing_streams(session, models, count, stdout);
  enum session_result result = write_reports(models, count, view, options, stdout);
  fputs("\n======================End of Report==========================\n", stdout);
  fflush(stdout);
  return result;
}

/* FILE, or FILE.N for the one of several profiles that is number N. */
static char *output_path(const char *file, size_t number, size_t count, const char *suffix) {
  char *path;
  int length = count > 1 ? asprintf(&path, "%s.%zu%s", file, number + 1, suffix)
                         : asprintf(&path, "%s%s", file, suffix);
  return length < 0 ? NULL : path;
}

/* One file: FILE_<step>, as in TensorFlow's profiler. */
static enum session_result write_timeline(struct classic_cached *cached, enum classic_view view,
                                          const struct classic_options *options, int64_t step, size_t number,
                                          size_t count) {
  struct classic_result *result;
  struct tfprof_error error;
  char suffix[24];
  snprintf(suffix, sizeof suffix, "_%lld", (long long)step);
  char *path = output_path(options->output_file, number, count, suffix);
  enum tfprof_status status = path ? TFPROF_OK : error_no_memory(&error);
  if (!status) status = classic_compute(cached->model, view, options, &result, &error);
  if (!status) {
    status = classic_write_timeline(result, step, path, stdout, &error);
    classic_result_free(result);
  }
  if (!status) printf("Timeline written to %s; ui.perfetto.dev and chrome://tracing open it.\n", path);
  fflush(stdout);
  free(path);
  return status ? fail_classic(&error) : SESSION_OK;
}

/* Of a capture there may be steps in which nothing was recorded. */
static bool has_runs(const struct classic_model *model, uint32_t step) {
  if (!model->execs) return true;
  for (uint32_t i = 0; i < model->nodes[model->node_count].first_exec; i++) {
    if (model->execs[i].step == step) return true;
  }
  return false;
}

/* graph: a file for each step where none is chosen, since runs belong to steps. */
static enum session_result write_timelines(struct classic_cached **models, size_t count, enum classic_view view,
                                           const struct classic_options *options) {
  enum session_result result = SESSION_OK;
  for (size_t i = 0; i < count && result == SESSION_OK; i++) {
    const struct classic_model *model = models[i]->model;
    int64_t chosen = options->integers[OPTION_step];
    if (view != CLASSIC_GRAPH || chosen >= 0) {
      result = write_timeline(models[i], view, options, chosen, i, count);
      continue;
    }
    struct classic_options of_step;
    if (!classic_options_copy(&of_step, options)) return SESSION_ERROR;
    for (uint32_t k = 0; k < model->step_count && result == SESSION_OK; k++) {
      if (model->steps[k] < 0 || !has_runs(model, k)) continue;
      of_step.integers[OPTION_step] = model->steps[k];
      result = write_timeline(models[i], view, &of_step, model->steps[k], i, count);
    }
    classic_options_free(&of_step);
    if (model->step_count == 0) {
      fputs("error: there are no steps: a timeline of the graph view shows what ran in one\n", stderr);
      result = SESSION_ERROR;
    }
  }
  return result;
}

static enum session_result write_pprofs(struct classic_cached **models, size_t count, enum classic_view view,
                                        const struct classic_options *options) {
  enum tfprof_status status = TFPROF_OK;
  struct tfprof_error error;
  for (size_t i = 0; i < count && !status; i++) {
    struct classic_result *result;
    char *path = output_path(options->output_file, i, count, "");
    status = path ? classic_compute(models[i]->model, view, options, &result, &error) : error_no_memory(&error);
    if (!status) {
      status = classic_write_pprof(result, path, &error);
      classic_result_free(result);
    }
    if (!status) printf("Profile written to %s; go tool pprof -top -sample_index=1 %s opens it.\n", path, path);
    free(path);
  }
  fflush(stdout);
  return status ? fail_classic(&error) : SESSION_OK;
}

static enum session_result run_view(struct session *session, enum classic_view view,
                                    const struct classic_options *options) {
  bool is_of_other_build;
  struct connection *connection = connection_find(session->db, &is_of_other_build);
  struct classic_cached **models;
  struct tfprof_error error;
  size_t count;
  enum session_result result;
  if (!connection) return SESSION_ERROR;
  connection_begin(connection);
  bool is_compat = options->integers[OPTION_compat] != 0;
  enum tfprof_status status = classic_cache_get(connection, NULL, is_compat, &models, &count, &error);
  if (status) {
    connection_end(connection);
    return fail_classic(&error);
  }
  if (keep_answering(models, &count, view, options, &error)) {
    result = fail_classic(&error);
  } else if (count == 0) {
    fputs("error: nothing that is open has nodes, ops or kernels; --profile_path or --graph_path opens a graph\n",
          stderr);
    result = SESSION_ERROR;
  } else if (strcmp(options->output_type, "file") == 0) {
    result = write_file(session, models, count, view, options);
  } else if (strcmp(options->output_type, "none") == 0) {
    result = write_reports(models, count, view, options, NULL);
  } else if (strcmp(options->output_type, "stdout") == 0) {
    result = write_stdout(session, models, count, view, options);
  } else if (strcmp(options->output_type, "timeline") == 0) {
    result = write_timelines(models, count, view, options);
  } else {
    result = write_pprofs(models, count, view, options);
  }
  for (size_t i = 0; i < count; i++) classic_cache_put_back(models[i]);
  free(models);
  connection_end(connection);
  return result;
}

enum session_result classic_run(struct session *session, const char *command, const char *line) {
  struct classic_settings *settings = session->classic;
  struct classic_options options;
  struct tfprof_error error;
  if (!classic_options_copy(&options, &settings->options)) {
    error_no_memory(&error);
    return fail_classic(&error);
  }
  enum session_result result = SESSION_OK;
  if (classic_options_parse(&options, line, &error)) {
    result = fail_classic(&error);
  } else if (strcasecmp(command, "set") == 0) {
    struct classic_options former = settings->options;
    settings->options = options;
    options = former;
    share_compat(session);
    classic_options_print(&settings->options, stdout);
  } else {
    classic_tell_reading(session);
    result = run_view(session, (enum classic_view)classic_find_view(command), &options);
  }
  classic_options_free(&options);
  return result;
}

/* As the tfprof of TensorFlow answers an empty line; not who does nothing with its views. */
void classic_answer_empty_line(const struct session *session) {
  const struct classic_settings *settings = session->classic;
  if (settings->file_count || settings->options.given) classic_options_print(&settings->options, stdout);
}

/* ---- help ---- */

static const char classic_help_text[] =
    "The views of TensorFlow's own tfprof, of its files and of everything else that\n"
    "tfprof opens.\n"
    "\n"
    "  tfprof scope run                        by the scopes of names: modules\n"
    "  tfprof graph run                        by inputs\n"
    "  tfprof code run                         by source lines\n"
    "  tfprof op run --select=micros,occurrence --order_by=micros\n"
    "                                          by kind of op\n"
    "  tfprof op --profile_path=profile_100 --max_depth=9\n"
    "  tfprof --graph_path=G --run_meta_path=R0,R1 --op_log_path=L\n"
    "                                          a prompt, or commands on stdin\n"
    "\n"
    "At the prompt, options stand behind the view. `set -max_depth 4` changes them\n"
    "for all that follows, and shows them. The table node_type_patterns takes types\n"
    "of your own. In SQL the views are scope_view, graph_view, code_view and op_view.\n"
    "\n"
    "Files of one program:\n"
    "\n"
    "--profile_path FILE             What ProfileContext wrote. It stands alone.\n"
    "--graph_path FILE               A GraphDef, binary or as text.\n"
    "--run_meta_path FILE,...        RunMetadata, a file for each step, or a folder.\n"
    "--op_log_path FILE              Types, code traces, flops (OpLogProto).\n"
    "--checkpoint_path FILE          The values of variables.\n"
    "\n"
    "Options, with one hyphen or two, and what holds without them:\n"
    "\n";

/* A name in front, and its text beside it in lines of 80 columns. */
static void explain_classic_option(const char *name, const char *text) {
  enum { INDENT = 32, WIDTH = 80 };
  printf("%-*s ", INDENT - 1, name);
  size_t column = INDENT;
  while (*text) {
    size_t length = strcspn(text, " ");
    if (column > INDENT && column + 1 + length > WIDTH) {
      printf("\n%*s", INDENT, "");
      column = INDENT;
    }
    column += (size_t)printf("%s%.*s", column > INDENT ? " " : "", (int)length, text);
    text += length + (text[length] == ' ');
  }
  putchar('\n');
}

void classic_explain_options(const struct session *session) {
  int generation = (int)session->classic->options.integers[OPTION_generation];
  for (int i = 0; i < OPTION_count; i++) {
    const char *standard = classic_generation_standard(generation, i);
    char name[60];
    if (!classic_generation_has(generation, i)) continue;
    snprintf(name, sizeof name, "-%s%s%s", classic_option_specs[i].name, *standard ? " " : "",
             strlen(standard) < 20 ? standard : "...");
    explain_classic_option(name, classic_option_specs[i].doc);
  }
  explain_classic_option("-dump_to_file FILE", "The old way to say -output file:outfile=FILE.");
}

void classic_help(const struct session *session) {
  fputs(classic_help_text, stdout);
  classic_explain_options(session);
}
