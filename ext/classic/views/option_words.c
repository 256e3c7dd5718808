/* option_words.c: what the options of the classic views, their metrics and the views themselves are called. */
#include <string.h>
#include <strings.h>

#include "classic/views/classic.h"

const char *const classic_view_names[CLASSIC_VIEW_count] = {"scope", "graph", "code", "op"};

const struct classic_option_spec classic_option_specs[OPTION_count] = {
#define OPTION(name, type, standard, doc) {#name, OPTION_##type, standard, doc},
#include "classic/views/options.def"
};

const char *const classic_select_names[SELECT_count] = {
    "bytes", "micros", "params", "float_ops", "tensor_value", "device", "op_types", "occurrence", "input_shapes",
    "accelerator_micros", "cpu_micros", "peak_bytes", "residual_bytes", "output_bytes", "num_hidden_ops"};

const char *const classic_metric_names[METRIC_count] = {
    "bytes", "peak_bytes", "residual_bytes", "output_bytes", "micros", "accelerator_micros", "cpu_micros", "params",
    "float_ops", "occurrence", "defined"};

int classic_find_view(const char *name) {
  for (int i = 0; i < CLASSIC_VIEW_count; i++) {
    if (strcasecmp(classic_view_names[i], name) == 0) return i;
  }
  return -1;
}

int classic_find_option(const char *name) {
  while (*name == '-') name++;
  for (int i = 0; i < OPTION_count; i++) {
    if (strcmp(classic_option_specs[i].name, name) == 0) return i;
  }
  return -1;
}
