/* classic.h: the four views of the TensorFlow profiler - scope, graph, code and op - over any profile.
**
** The engine reads the tables nodes, node_inputs, node_types, node_steps, steps, code_traces and code_frames of one
** profile, or where the source knows no graph its ops (ops_graph.h), into a struct classic_model, computes a struct
** classic_result for a view and its options, and writes it as text. No SQLite in here; the table functions
** (classic/vtab/classic_views.c) and the shell build on it.
**
** What the views mean: tensorflow/core/profiler/g3doc/options.md and the tutorials beside it.  In short: nodes whose
** types match -account_type_regexes are accounted; totals are sums over the tree; -start, -trim, -show and -hide and
** the thresholds say what is displayed of it.  All times are in microseconds.  Everything is linear in nodes and edges
** (but for sorting), and nothing recurses: a chain of a million nodes is displayed like any other graph.
*/
#ifndef TFPROF_CLASSIC_H
#define TFPROF_CLASSIC_H

#include <stdio.h>

#include "store/store.h"

enum classic_view { CLASSIC_SCOPE, CLASSIC_GRAPH, CLASSIC_CODE, CLASSIC_OP, CLASSIC_VIEW_count };
extern const char *const classic_view_names[CLASSIC_VIEW_count];
/* -1: there is no such view. */
int classic_find_view(const char *name);

/* ---- options ---- */

enum classic_option {
#define OPTION(name, type, standard, doc) OPTION_##name,
#include "classic/views/options.def"
  OPTION_count
};
enum classic_option_type { OPTION_INTEGER, OPTION_BOOLEAN, OPTION_TEXT, OPTION_PATTERNS };
struct classic_option_spec {
  const char *name;
  enum classic_option_type type;
  const char *standard, *doc;
};
extern const struct classic_option_spec classic_option_specs[OPTION_count];

/* What can be selected and ordered by, in the order of TensorFlow's documentation. */
enum classic_select {
  SELECT_bytes, SELECT_micros, SELECT_params, SELECT_float_ops, SELECT_tensor_value, SELECT_device, SELECT_op_types,
  SELECT_occurrence, SELECT_input_shapes, SELECT_accelerator_micros, SELECT_cpu_micros, SELECT_peak_bytes,
  SELECT_residual_bytes, SELECT_output_bytes, SELECT_num_hidden_ops, SELECT_count
};
extern const char *const classic_select_names[SELECT_count];

/* What is counted of every node. */
enum classic_metric {
  METRIC_bytes, METRIC_peak_bytes, METRIC_residual_bytes, METRIC_output_bytes, METRIC_micros, METRIC_accelerator_micros,
  METRIC_cpu_micros, METRIC_params, METRIC_float_ops, METRIC_occurrence, METRIC_defined, METRIC_count
};
extern const char *const classic_metric_names[METRIC_count];
struct classic_values {
  int64_t of[METRIC_count];
};

struct classic_options {
  char *texts[OPTION_count]; /* as given, without quotes around it */
  int64_t integers[OPTION_count];
  uint64_t given;    /* bit OPTION_x: set by somebody, even to its default */
  uint32_t selected; /* bit SELECT_x */
  int order;         /* enum classic_metric, -1: by name */
  char *output_type, *output_file;
};
bool classic_options_init(struct classic_options *options); /* the defaults; false: no memory */
bool classic_options_copy(struct classic_options *to, const struct classic_options *from);
void classic_options_free(struct classic_options *options);
/* The number of an option, written with or without the hyphen or hyphens before it; -1: there is none. */
int classic_find_option(const char *name);
/* TFPROF_USAGE: names the option, the value and what is possible. */
enum tfprof_status classic_option_set(struct classic_options *options, int option, const char *value,
                                      struct tfprof_error *error);
/* A line such as "scope -max_depth 3 -select params": *view is -1 where the first word is no view (it is then left to
** the caller, as `set`). */
enum tfprof_status classic_options_parse(struct classic_options *options, const char *line, struct tfprof_error *error);

/* ---- generations (generations.c) ---- */

enum classic_generation { GENERATION_2, GENERATION_1_3, GENERATION_0_12, GENERATION_count };
extern const char *const classic_generation_names[GENERATION_count]; /* "2", "1.3", "0.12" */
bool classic_generation_has(int generation, int option);
const char *classic_generation_standard(int generation, int option);
/* Bits of SELECT_x. */
uint32_t classic_generation_selects(int generation);
/* It belongs to all generations alike. */
bool classic_generations_share(int option);
bool classic_option_is_given(const struct classic_options *options, int option);
/* "-max_depth                  10", a line for each option that the generation has. */
void classic_options_print(const struct classic_options *options, FILE *file);

/* ---- the model ---- */

struct classic_type_range { uint32_t first, count; };

struct classic_node {
  string_id name, op, device, shape, output_shapes;
  int64_t row; /* in nodes; -1: none */
  int64_t parameters, flops; /* flops: of one run */
  uint32_t parent; /* enclosing scope; UINT32_MAX: none */
  uint32_t trace;  /* row of code_traces; UINT32_MAX: none */
  uint32_t first_type, first_input, first_exec; /* up to those of the next node */
  bool is_scope;
  bool is_runtime;         /* ran under a name that no graph has */
  bool is_of_function;     /* in the place of a call */
  bool has_flops_of_steps; /* they differ from step to step: costs.c has them of each */
};
struct classic_input {
  int32_t position; /* -1: an edge that is none of the inputs with a shape */
  int32_t source_output;
  uint32_t source; /* UINT32_MAX: unknown */
  string_id shape;
  bool is_control;
};
struct classic_exec {
  uint32_t step;
  bool is_aside; /* left out of the average over steps */
  int64_t of[METRIC_count]; /* up to METRIC_cpu_micros, and METRIC_occurrence */
};
struct classic_trace {
  uint32_t parent, frame; /* UINT32_MAX: none */
};
struct classic_frame {
  string_id file, function, text;
  int64_t line, first_line;
};

struct classic_model {
  const struct pool *pool;
  struct store *store;
  uint32_t profile_number;
  uint32_t node_count;
  struct classic_node *nodes; /* by name; one more at the end */
  string_id *types;
  struct classic_input *inputs;
  struct classic_costs *costs; /* what nodes cost in each step: costs.c */
  struct classic_exec *execs;  /* the same where no table has it; else NULL */
  int64_t *steps; /* their numbers, ascending */
  uint32_t step_count;
  struct classic_trace *traces;
  struct classic_frame *frames;
  uint32_t trace_count, frame_count;
  bool has_traces;
  /* Of a profile that knows no graph (ops_graph.h), else NULL: the nodes of the rows of ops, kernels and transfers,
  ** UINT32_MAX: none; what the rows of devices are called, "/device:gpu:0". */
  uint32_t *op_nodes, *kernel_nodes, *transfer_nodes;
  string_id *device_names;
  bool is_in_nanoseconds; /* the times of execs; values are in microseconds all the same */
};
/* is_compat: as TensorFlow's engine has it, which knows flops and types only of what the graph and its OpLog name. */
enum tfprof_status classic_model_create(struct store *store, struct profile *profile, bool is_compat,
                                        struct classic_model **made, struct tfprof_error *error);
void classic_model_free(struct classic_model *model);
/* What a frame of a capture that has no file is called; *name is NULL for those that have one, and for TensorFlow's.
** The object that a method belongs to is left out, since it is another one each time: "<built-in method add_>" of
** "<built-in method add_ of Tensor object at 0x7f23a5177ed0>".  The caller frees it. False: no memory. */
bool classic_name_without_file(const struct classic_model *model, const struct classic_frame *frame, bool is_gradient,
                               char **name);
/* A type for all nodes whose whole names an expression matches. */
struct classic_user_type {
  char *pattern, *type;
};
/* Once for a model. */
enum tfprof_status classic_model_add_types(struct classic_model *model, const struct classic_user_type *given,
                                           size_t count, struct tfprof_error *error);
/* Whether the lines of the view follow a legend, "node name | ...", and have three times for micros. */
bool classic_has_legend(const struct classic_options *options, enum classic_view view);
/* Sets what a view of an older generation has by default and its other views have not. */
enum tfprof_status classic_adapt_options(struct classic_options *options, enum classic_view view,
                                         struct tfprof_error *error);
/* TFPROF_NOT_FOUND: there is no such step, and the message lists those that there are; or no traces for the code
** view. */
enum tfprof_status classic_check(const struct classic_model *model, enum classic_view view,
                                 const struct classic_options *options, struct tfprof_error *error);
/* Of each node, and one more that is 0: own values in a step, or on average. Shared with others; to be put back. NULL:
** no memory. */
struct classic_node_values {
  uint32_t references;
  int64_t step;
  struct classic_values values[];
};
struct classic_node_values *classic_own_values(const struct classic_model *model, int64_t step);
void classic_own_values_put_back(struct classic_node_values *values);

/* ---- results ---- */

struct classic_row {
  uint32_t item;   /* number of what is displayed in the result; see classic_item_... */
  int32_t depth;   /* scope, graph, code: 1 for the root; op: place in the list from 0 */
  int64_t parent;  /* row; -1: none */
};
struct classic_tensor {
  string_id name, value; /* value: JSON; 0: it cannot be read */
  bool is_real;
};
struct classic_result {
  const struct classic_model *model;
  enum classic_view view;
  struct classic_options options;
  struct classic_row *rows;
  size_t row_count;
  /* by item; the root is number item_count */
  uint32_t item_count;
  const struct classic_values *own; /* of scopes: node_values */
  struct classic_values *total;
  uint8_t *accounted;
  uint32_t *nodes;        /* scope, graph: the node of an item */
  uint32_t *parents;      /* code: the caller's item; UINT32_MAX: none */
  uint32_t *frames;       /* code: the frame of an item, twice its number, and one more where it is of the gradient */
  string_id *names;       /* code: display names; op: op types */
  /* code, op: members[member_first[i] ... member_first[i + 1]) are its nodes, those accounted */
  uint32_t *member_first;
  uint32_t *members;
  const struct classic_values *node_values; /* own values of the model's nodes */
  struct classic_node_values *shared_values;
  struct classic_values *own_made; /* NULL: `own` is node_values */
  struct classic_values *old_values; /* those of generation 0.12; NULL: node_values are the shared ones */
  uint8_t *on_devices;                /* of the model's nodes: its device matches -device_regexes; NULL: all do */
  uint32_t *hidden;                   /* graph with -select num_hidden_ops: of each item, those hidden right above it */
  int32_t *indents;                   /* the same: of each row's line; NULL: two for each depth */
  struct classic_tensor *tensors;     /* with -select tensor_value: by name */
  size_t tensor_count;
  bool has_checkpoint;
};
/* Where classic_check finds that there is no answer, it fails as that does. */
enum tfprof_status classic_compute(const struct classic_model *model, enum classic_view view,
                                   const struct classic_options *options, struct classic_result **made,
                                   struct tfprof_error *error);
void classic_result_free(struct classic_result *result);

const char *classic_item_name(const struct classic_result *result, uint32_t item, size_t *length);
/* The parts of a line; nothing is written where there is nothing. */
void classic_write_device(const struct classic_result *result, uint32_t item, FILE *file);
void classic_write_op_types(const struct classic_result *result, uint32_t item, FILE *file);
void classic_write_shape(const struct classic_result *result, uint32_t item, FILE *file);
void classic_write_input_shapes(const struct classic_result *result, uint32_t item, FILE *file);
/* code, op: the nodes of an item as a JSON list of objects: name, device, shape, input_shapes and the metrics. Of many
** nodes an interrupt leaves a part of the list. */
void classic_write_members(const struct classic_result *result, uint32_t item, FILE *file);
void classic_write_tensor(const struct classic_result *result, uint32_t item, FILE *file);
/* The tensor of an item's name, NULL: the checkpoint has none. */
const struct classic_tensor *classic_find_tensor(const struct classic_result *result, uint32_t item);
/* The exact line (or lines) of a row, with its indentation and line feed. */
void classic_write_line(const struct classic_result *result, size_t row, FILE *file);
/* Explanation, legend and lines. False: interrupted, and not all lines are written. */
bool classic_write_report(const struct classic_result *result, FILE *file);

/* ---- files for other tools ---- */

/* The timeline of scope, graph or code, as trace events in JSON (timeline.c), at `path`. `step` says whose runs graph
** shows; -1 is none. What there is to tell, as the peak of each device's memory, goes to `messages`. TFPROF_USAGE: op
** has no timeline; TFPROF_IO. */
enum tfprof_status classic_write_timeline(const struct classic_result *result, int64_t step, const char *path,
                                          FILE *messages, struct tfprof_error *error);
/* The call stacks of code with the one metric that is selected, for pprof (call_stacks.c). TFPROF_USAGE: another view,
** or another number of metrics; TFPROF_IO. */
enum tfprof_status classic_write_pprof(const struct classic_result *result, const char *path,
                                       struct tfprof_error *error);

/* ---- patterns: regular expressions that must match a whole text ---- */

struct classic_patterns;
/* Parted by commas. One that is no expression matches nothing; *wrong (to be freed) then says so, else NULL. NULL: no
** memory. Where the store is interrupted nothing matches any more. */
struct classic_patterns *classic_patterns_create(struct store *store, const char *list, char **wrong);
/* The same of one expression, in which commas are commas. */
struct classic_patterns *classic_pattern_create(struct store *store, const char *expression, char **wrong);
void classic_patterns_free(struct classic_patterns *patterns);
bool classic_patterns_match(struct classic_patterns *patterns, const char *text, size_t length);
/* Which of them match: bit 0 is the first, the last bit stands for all from the 64th on. */
uint64_t classic_patterns_matching(struct classic_patterns *patterns, const char *text, size_t length);
/* The list is ".*" alone. */
bool classic_patterns_is_all(const struct classic_patterns *patterns);
bool classic_patterns_is_empty(const struct classic_patterns *patterns);
/* TFPROF_INTERRUPTED where some texts were not tried because of an interrupt. */
enum tfprof_status classic_patterns_interrupted(const struct classic_patterns *patterns, struct tfprof_error *error);

#endif
