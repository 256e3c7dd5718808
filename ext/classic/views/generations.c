/* generations.c: the options of older generations of the TensorFlow profiler: which they had, and their defaults.
**
**   2      what is installed with TensorFlow 2, and all that this program has
**   1.3    core/profiler of TensorFlow 1.3, as its command_line.md shows it
**   0.12   contrib/tfprof of TensorFlow 0.12, as its README shows it
**
** Their lines differ, too (lines.c): no explanations and no legend; micros is one pair of times; in 0.12 bytes are
** those of the outputs, and a scalar has no parameters, in 1.3 one, and in neither a shape.  A shape of one element
** counts as a scalar, which files written by the profiler do not tell apart.  Source lines have the text of the line
** behind them.  The op view, which 1.3 brought, is shown by its documents with every op, a legend and three times, as
** in 2: there -account_type_regexes is .* unless it is given.
*/
#include <stdlib.h>
#include <string.h>

#include "classic/views/classic.h"

const char *const classic_generation_names[GENERATION_count] = {"2", "1.3", "0.12"};

struct entry {
  int option; /* -1: the end */
  const char *standard;
};

#define HIDDEN "IsVariableInitialized_[0-9]+,save\\/.*,^zeros[0-9_]*"
/* In the order in which they are printed. */
static const struct entry options_1_3[] = {{OPTION_max_depth, "4"},
                                           {OPTION_min_bytes, "0"},
                                           {OPTION_min_micros, "0"},
                                           {OPTION_min_params, "0"},
                                           {OPTION_min_float_ops, "0"},
                                           {OPTION_min_occurrence, "0"},
                                           {OPTION_step, "-1"},
                                           {OPTION_order_by, "name"},
                                           {OPTION_account_type_regexes, "Variable,VariableV2"},
                                           {OPTION_start_name_regexes, ".*"},
                                           {OPTION_trim_name_regexes, ""},
                                           {OPTION_show_name_regexes, ".*"},
                                           {OPTION_hide_name_regexes, HIDDEN},
                                           {OPTION_account_displayed_op_only, "false"},
                                           {OPTION_select, "params"},
                                           {OPTION_output, ""},
                                           {-1, NULL}};
static const struct entry options_0_12[] = {{OPTION_max_depth, "4"},
                                            {OPTION_min_bytes, "0"},
                                            {OPTION_min_micros, "0"},
                                            {OPTION_min_params, "0"},
                                            {OPTION_min_float_ops, "0"},
                                            {OPTION_device_regexes, ".*"},
                                            {OPTION_order_by, "name"},
                                            {OPTION_account_type_regexes, "Variable,VariableV2"},
                                            {OPTION_start_name_regexes, ".*"},
                                            {OPTION_trim_name_regexes, ""},
                                            {OPTION_show_name_regexes, ".*"},
                                            {OPTION_hide_name_regexes, HIDDEN},
                                            {OPTION_account_displayed_op_only, "false"},
                                            {OPTION_select, "params"},
                                            {OPTION_viz, "false"},
                                            {-1, NULL}};

static const struct entry *entries_of(int generation) {
  return generation == GENERATION_1_3 ? options_1_3 : generation == GENERATION_0_12 ? options_0_12 : NULL;
}

static const struct entry *find_entry(int generation, int option) {
  const struct entry *entry = entries_of(generation);
  while (entry && entry->option >= 0 && entry->option != option) entry++;
  return entry && entry->option >= 0 ? entry : NULL;
}

/* -generation and -compat are ours, and belong to all; output takes the place of dump_to_file, which all take. */
bool classic_generations_share(int option) {
  return option == OPTION_generation || option == OPTION_compat || option == OPTION_output;
}

bool classic_generation_has(int generation, int option) {
  if (generation == GENERATION_2) return option != OPTION_device_regexes && option != OPTION_viz;
  return classic_generations_share(option) || find_entry(generation, option);
}

const char *classic_generation_standard(int generation, int option) {
  const struct entry *entry = find_entry(generation, option);
  return entry ? entry->standard : classic_option_specs[option].standard;
}

uint32_t classic_generation_selects(int generation) {
  uint32_t oldest = 1u << SELECT_bytes | 1u << SELECT_micros | 1u << SELECT_params | 1u << SELECT_float_ops |
                    1u << SELECT_tensor_value | 1u << SELECT_device | 1u << SELECT_op_types;
  if (generation == GENERATION_0_12) return oldest | 1u << SELECT_num_hidden_ops;
  /* accelerator_micros: its documents select it for pprof. num_hidden_ops: its option still names it. */
  if (generation == GENERATION_1_3)
    return oldest | 1u << SELECT_occurrence | 1u << SELECT_input_shapes | 1u << SELECT_accelerator_micros |
           1u << SELECT_num_hidden_ops;
  return ((1u << SELECT_count) - 1) & ~(1u << SELECT_num_hidden_ops);
}

bool classic_option_is_given(const struct classic_options *options, int option) {
  return options->given >> option & 1;
}

bool classic_has_legend(const struct classic_options *options, enum classic_view view) {
  int64_t generation = options->integers[OPTION_generation];
  return generation == GENERATION_2 || (generation == GENERATION_1_3 && view == CLASSIC_OP);
}

static void print_option(const struct classic_options *options, int option, FILE *file) {
  char name[40];
  snprintf(name, sizeof name, "-%s", classic_option_specs[option].name);
  fprintf(file, "%-28s%s\n", name, options->texts[option]);
}

void classic_options_print(const struct classic_options *options, FILE *file) {
  int generation = (int)options->integers[OPTION_generation];
  const struct entry *entry = entries_of(generation);
  for (; entry && entry->option >= 0; entry++) print_option(options, entry->option, file);
  if (generation == GENERATION_0_12)
    fprintf(file, "%-28s%s\n", "-dump_to_file", options->output_file ? options->output_file : "");
  for (int i = 0; i < OPTION_count && generation == GENERATION_2; i++) {
    if (classic_generation_has(generation, i) && (i == OPTION_output || !classic_generations_share(i)))
      print_option(options, i, file);
  }
  /* What another generation's command set still counts. */
  for (int i = 0; i < OPTION_count; i++) {
    if (!classic_generation_has(generation, i) && classic_option_is_given(options, i)) print_option(options, i, file);
  }
  /* Ours, where they change anything. */
  if (generation != GENERATION_2) print_option(options, OPTION_generation, file);
  if (options->integers[OPTION_compat]) print_option(options, OPTION_compat, file);
}
