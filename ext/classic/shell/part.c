/* part.c: what the classic tfprof adds to the shell (shell/command_part.h): its help, its completion, and the list of
** what it does. */
#include <stdlib.h>
#include <string.h>

#include "classic/shell/classic.h"
#include "shell/command_part.h"

/* ---- life ---- */

static bool create_settings(struct session *session) {
  struct classic_settings *settings = calloc(1, sizeof *settings);
  session->part_settings = settings;
  return settings && classic_options_init(&settings->options);
}

static void destroy_settings(struct session *session) {
  struct classic_settings *settings = session->part_settings;
  if (!settings) return;
  classic_options_free(&settings->options);
  free(settings->advise_words);
  free(settings);
  session->part_settings = NULL;
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

static void explain_options(const struct session *session) {
  int generation = (int)settings_of(session)->options.integers[OPTION_generation];
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

static void explain(const struct session *session) {
  fputs(classic_help_text, stdout);
  explain_options(session);
}

/* At the end of `help`: the options of an older generation, as its own help has them. */
static void explain_generation(const struct session *session) {
  if (settings_of(session)->options.integers[OPTION_generation] == GENERATION_2) return;
  puts("\nThe options of scope, graph, code and op in this generation:\n");
  explain_options(session);
}

/* ---- the prompt ---- */

/* As the tfprof of TensorFlow answers an empty line; not who does nothing with its views. */
static void answer_empty_line(const struct session *session) {
  const struct classic_settings *settings = settings_of(session);
  if (settings->file_count || settings->options.given) classic_options_print(&settings->options, stdout);
}

static bool greet_as_older(struct session *session) {
  bool is_older = settings_of(session)->tells_reading;
  classic_tell_reading(session);
  return is_older;
}

/* False: any value may follow, such as a number or an expression. */
static bool add_values(const struct session *session, const char *option, struct vocabulary *words) {
  int generation = (int)settings_of(session)->options.integers[OPTION_generation], number = classic_find_option(option);
  switch (number) {
    case OPTION_select:
      for (int i = 0; i < SELECT_count; i++) {
        if (classic_generation_selects(generation) & 1u << i) vocabulary_add_word(words, classic_select_names[i]);
      }
      return true;
    case OPTION_order_by:
      vocabulary_add_word(words, "name");
      for (int i = 0; i < METRIC_defined; i++) vocabulary_add_word(words, classic_metric_names[i]);
      return true;
    case OPTION_output: {
      static const char *const types[] = {"stdout", "none", "file:outfile=", "timeline:outfile=", "pprof:outfile="};
      for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) vocabulary_add_word(words, types[i]);
      return true;
    }
    case OPTION_generation:
      for (int i = 0; i < GENERATION_count; i++) vocabulary_add_word(words, classic_generation_names[i]);
      return true;
    case OPTION_account_type_regexes: {
      static const char *const types[] = {"_trainable_variables", "_checkpoint_variables", ".*"};
      for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) vocabulary_add_word(words, types[i]);
      vocabulary_add_query(words, session->db,
                           "SELECT type FROM tfprof_own.node_types UNION SELECT type FROM temp.node_type_patterns"
                           " UNION SELECT op_type FROM tfprof_own.nodes"
                           " UNION SELECT op_type FROM tfprof_own.ops LIMIT 1000");
      return true;
    }
    case OPTION_step:
      vocabulary_add_query(words, session->db, "SELECT DISTINCT number FROM tfprof_own.steps LIMIT 1000");
      return true;
    default:
      if (number < 0 || classic_option_specs[number].type != OPTION_BOOLEAN) return false;
      vocabulary_add_word(words, "true");
      vocabulary_add_word(words, "false");
      return true;
  }
}

/* ---- */

static bool has_files(const struct session *session) { return settings_of(session)->file_count > 0; }

static bool asks_old_advice(const struct session *session) {
  return settings_of(session)->options.integers[OPTION_generation] == GENERATION_1_3;
}

static const char *const words[] = {"scope", "graph", "code", "op", "set", NULL};

const struct command_part classic_commands = {
    .words = words,
    .help_line = "Files and views of TensorFlow's own tfprof: tfprof scope --help\n\n",
    .prompt_help = "  scope, graph, code, op, set\n"
                   "                 the views of TensorFlow's own tfprof: `help scope`\n",
    .usage_line = "usage: tfprof scope|graph|code|op [options] [RUN]...; tfprof scope --help explains them\n",
    .first_checks = classic_first_checks,
    .choice_setting = "expensive_operation.every_source",
    .create = create_settings,
    .destroy = destroy_settings,
    .begin = classic_share_compat,
    .look_ahead = classic_take_generation,
    .take_argument = classic_take_argument,
    .each_option = classic_each_option,
    .is_asked = classic_is_asked,
    .has_files = has_files,
    .open_files = classic_open_files,
    .tell_usage = classic_tell_usage,
    .run = classic_run,
    .explain = explain,
    .explain_more = explain_generation,
    .greet = greet_as_older,
    .begin_answer = classic_tell_reading,
    .answer_empty_line = answer_empty_line,
    .add_values = add_values,
    .advise_words = classic_advise_words,
    .asks_old_advice = asks_old_advice,
    .print_advice = classic_print_advice};
