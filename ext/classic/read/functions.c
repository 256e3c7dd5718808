/* functions.c: see functions.h.
**
** An input in a function is "argument", "argument:0", "node:output:2", its number within the output, which may be a
** list, or "^node".
**
** A program of TensorFlow 2 computes in functions: its graph is a call.  Steps tell what ran under which name; without
** any the nodes of a function take the place of each call, as the runtime puts them there: MatMul in what
** StatefulPartitionedCall calls is StatefulPartitionedCall/MatMul.  Bodies of loops and branches of conditions stand
** there once, below the attribute that names them: while/body/MatMul.  Functions of data sets are no part of a step.
** Functions that call one another again and again can stand for any number of nodes: a graph is expanded as long as
** these take BYTES_OF_A_BYTE of what its file has, and no further.
*/
#include "classic/read/functions.h"

#include "classic/read/fields.h"
#include "classic/read/messages.h"

enum { MOST_DEPTH = 64, FREE_BYTES = 16 << 20, BYTES_OF_A_BYTE = 16, BYTES_OF_A_NODE = 256, LONGEST_NAME = 4096 };

/* ---- reading ---- */

static bool add_argument(struct tf_model *model, struct wire_reader argument) {
  struct wire_field field;
  string_id name = 0;
  while (wire_next(&argument, &field)) {
    size_t length;
    const char *text = wire_text(&field, &length);
    if (field.number == ArgDef_name && !tf_intern(model, text, length, &name)) return false;
  }
  string_id *item = list_add(&model->function_arguments);
  if (!item) return tf_no_memory(model);
  *item = name;
  return true;
}

static bool read_signature(struct tf_model *model, struct wire_reader signature, string_id *name) {
  struct wire_field field;
  while (wire_next(&signature, &field)) {
    size_t length;
    const char *text = wire_text(&field, &length);
    if (field.number == OpDef_name && !tf_intern(model, text, length, name)) return false;
    if (field.number == OpDef_input_arg && field.type == WIRE_BYTES &&
        !add_argument(model, wire_enter(&signature, &field)))
      return false;
  }
  return true;
}

static bool add_function_input(struct tf_model *model, const char *text, size_t length) {
  struct tf_function_input *input = list_add(&model->function_inputs);
  if (!input) return tf_no_memory(model);
  *input = (struct tf_function_input){.is_control = length && *text == '^'};
  text += input->is_control;
  length -= input->is_control;
  const char *colon = memchr(text, ':', length), *last = memrchr(text, ':', length);
  size_t name = colon ? (size_t)(colon - text) : length;
  if (last) input->number = tf_output_number(last + 1, (size_t)(text + length - last - 1));
  return tf_intern(model, text, name, &input->source) &&
         (last == colon || tf_intern(model, colon + 1, (size_t)(last - colon - 1), &input->output));
}

static bool read_function_node(struct tf_model *model, struct wire_reader reader, struct tf_attributes *attributes) {
  struct tf_function_node node = {.first_input = (uint32_t)model->function_inputs.count,
                                  .first_call = (uint32_t)model->function_calls.count};
  struct wire_field field;
  bool ok = true;
  tf_attributes_begin(attributes);
  while (ok && wire_next(&reader, &field)) {
    size_t length;
    const char *text = wire_text(&field, &length);
    struct wire_reader entry = wire_enter(&reader, &field);
    if (field.number == NodeDef_name) ok = tf_intern(model, text, length, &node.name);
    else if (field.number == NodeDef_op) ok = tf_intern(model, text, length, &node.op);
    else if (field.number == NodeDef_input) ok = add_function_input(model, text, length);
    else if (field.number == NodeDef_attr) ok = tf_attributes_take(model, attributes, &entry);
  }
  tf_check(model, &reader);
  struct tf_node looks = {0};
  ok = ok && tf_attributes_finish(model, attributes, &looks);
  for (uint32_t i = 0; ok && i < attributes->call_count; i++) {
    struct tf_function_call *call = list_add(&model->function_calls);
    if (!call) return tf_no_memory(model);
    *call = attributes->calls[i];
  }
  node.attributes = looks.attributes;
  node.data_format = looks.data_format;
  node.output_shapes = looks.output_shapes;
  node.own_shape = looks.own_shape;
  node.constant = looks.constant;
  node.shape = looks.shape;
  node.dtype = looks.dtype;
  node.parameters = looks.parameters;
  node.input_count = (uint32_t)model->function_inputs.count - node.first_input;
  node.call_count = (uint32_t)model->function_calls.count - node.first_call;
  return ok && (!node.name || tf_add_function_node(model, &node));
}

static bool read_function(struct tf_model *model, struct wire_reader reader, struct tf_attributes *attributes) {
  struct tf_function function = {.first_argument = (uint32_t)model->function_arguments.count,
                                 .first_node = (uint32_t)model->function_nodes.count};
  struct wire_field field;
  string_id name = 0;
  bool ok = true;
  while (ok && wire_next(&reader, &field)) {
    if (field.type != WIRE_BYTES) continue;
    struct wire_reader part = wire_enter(&reader, &field);
    if (field.number == FunctionDef_signature) ok = read_signature(model, part, &name);
    else if (field.number == FunctionDef_node_def) ok = read_function_node(model, part, attributes);
  }
  tf_check(model, &reader);
  function.argument_count = (uint32_t)model->function_arguments.count - function.first_argument;
  function.node_count = (uint32_t)model->function_nodes.count - function.first_node;
  if (!ok || !name || tf_map_find(&model->functions_by_name, name, 0) != UINT32_MAX) return ok;
  uint32_t row = (uint32_t)model->functions.count;
  struct tf_function *item = list_add(&model->functions);
  if (!item) return tf_no_memory(model);
  *item = function;
  return tf_map_put(model, &model->functions_by_name, name, 0, row);
}

bool tf_read_functions(struct tf_model *model, struct wire_reader library) {
  struct tf_attributes attributes = {0};
  struct wire_field field;
  bool ok = true;
  while (ok && wire_next(&library, &field)) {
    if (field.number == FunctionDefLibrary_function && field.type == WIRE_BYTES)
      ok = read_function(model, wire_enter(&library, &field), &attributes);
  }
  tf_check(model, &library);
  tf_attributes_free(&attributes);
  return ok;
}

bool tf_add_calls(struct tf_model *model, uint32_t node, const struct tf_attributes *attributes) {
  for (uint32_t i = 0; i < attributes->call_count; i++) {
    struct tf_function_call *call = list_add(&model->calls);
    if (!call) return tf_no_memory(model);
    *call = attributes->calls[i];
    call->node = node;
  }
  return true;
}

/* ---- expanding ---- */

/* How the runs of what is called follow from the call. */
enum manner {
  MANNER_ONCE,
  MANNER_OFTEN, /* the body of a loop, or a branch of a condition: told, as it is counted once */
  MANNER_NEVER  /* in no step */
};

struct call_kind {
  enum manner manner;
  int32_t first_input; /* that becomes the first argument */
};

static struct call_kind kind_of_call(const char *op) {
  if (!op || strstr(op, "Dataset") || strcmp(op, "SymbolicGradient") == 0) return (struct call_kind){MANNER_NEVER, 0};
  if (strcmp(op, "If") == 0 || strcmp(op, "StatelessIf") == 0 || strcmp(op, "Case") == 0 ||
      strcmp(op, "StatelessCase") == 0)
    return (struct call_kind){MANNER_OFTEN, 1};
  bool is_loop = strcmp(op, "While") == 0 || strcmp(op, "StatelessWhile") == 0 || strcmp(op, "MapDefun") == 0;
  return (struct call_kind){is_loop ? MANNER_OFTEN : MANNER_ONCE, 0};
}

/* Outputs of types with several that have names, in order: only the first is reached by its number alone. */
static int32_t first_of_output(const char *op, const char *output) {
  static const struct {
    const char *op, *outputs;
  } known[] = {{"FusedBatchNorm", "y batch_mean batch_variance reserve_space_1 reserve_space_2"},
               {"FusedBatchNormGrad", "x_backprop scale_backprop offset_backprop reserve_space_3 reserve_space_4"},
               {"FusedBatchNormGradV2", "x_backprop scale_backprop offset_backprop reserve_space_3 reserve_space_4"},
               {"FusedBatchNormGradV3", "x_backprop scale_backprop offset_backprop reserve_space_4 reserve_space_5"},
               {"FusedBatchNormV2", "y batch_mean batch_variance reserve_space_1 reserve_space_2"},
               {"FusedBatchNormV3",
                "y batch_mean batch_variance reserve_space_1 reserve_space_2 reserve_space_3"},
               {"MaxPoolWithArgmax", "output argmax"},
               {"Qr", "q r"},
               {"SelfAdjointEigV2", "e v"},
               {"SoftmaxCrossEntropyWithLogits", "loss backprop"},
               {"SparseSoftmaxCrossEntropyWithLogits", "loss backprop"},
               {"Svd", "s u v"},
               {"Switch", "output_false output_true"},
               {"TensorListPopBack", "output_handle tensor"},
               {"TopKV2", "values indices"},
               {"Unique", "y idx"}};
  for (size_t i = 0; op && output && i < sizeof known / sizeof known[0]; i++) {
    if (strcmp(op, known[i].op) != 0) continue;
    size_t length = strlen(output);
    int32_t place = 0;
    for (const char *at = known[i].outputs; *at; place++) {
      size_t size = strcspn(at, " ");
      if (size == length && memcmp(at, output, size) == 0) return place;
      at += size + (at[size] == ' ');
    }
  }
  return 0;
}

enum use { USED = 1, USED_BY_SIGNATURE = 2 };

struct expansion {
  struct tf_model *model;
  struct tf_rows_of first_edges; /* by node, of the one after it, too: its edges lie together */
  struct row_map places;         /* of the function that is expanded: its nodes by name, its arguments with 1 */
  struct tf_rows_of is_used;     /* by function: bits of enum use */
  struct text_buffer name;
  int64_t bytes_left;
};

static bool find_edges(struct expansion *e) {
  struct tf_model *model = e->model;
  for (size_t edge = 0, node = 0; node <= model->nodes.count; node++) {
    while (edge < model->edges.count && model->edges.items[edge].node < node) edge++;
    uint32_t *first = list_add(&e->first_edges);
    if (!first) return tf_no_memory(model);
    *first = (uint32_t)edge;
  }
  return true;
}

/* The edge of the caller that gives argument `number`; NULL: it has none. */
static const struct tf_edge *edge_of_argument(const struct expansion *e, uint32_t caller, int32_t number) {
  const struct tf_edge *edges = e->model->edges.items;
  uint32_t low = e->first_edges.items[caller], end = e->first_edges.items[caller + 1], high = end;
  while (low < high) { /* they come by position, and some may be missing */
    uint32_t middle = low + (high - low) / 2;
    if (edges[middle].position < number) low = middle + 1;
    else high = middle;
  }
  return low < end && edges[low].position == number && !edges[low].is_control ? &edges[low] : NULL;
}

static bool name_below(struct expansion *e, size_t scope, string_id name, string_id *id) {
  e->name.length = scope;
  text_buffer_add(&e->name, "/", 1);
  text_buffer_add(&e->name, pool_text(e->model->pool, name), pool_length(e->model->pool, name));
  return e->name.failed ? tf_no_memory(e->model) : tf_intern(e->model, e->name.bytes, e->name.length, id);
}

static bool expand_input(struct expansion *e, const struct tf_function_call *call, const struct tf_function *function,
                         size_t scope, uint32_t row, int32_t position, const struct tf_function_input *input) {
  struct tf_model *model = e->model;
  struct tf_edge edge = {.node = row, .position = position, .is_control = input->is_control};
  uint32_t place = tf_map_find(&e->places, input->source, 0);
  if (place != UINT32_MAX) {
    const struct tf_function_node *source = &model->function_nodes.items[function->first_node + place];
    string_id name;
    if (!name_below(e, scope, source->name, &name)) return false;
    edge.source = name;
    edge.source_output = input->number + first_of_output(pool_text(model->pool, source->op),
                                                         input->output ? pool_text(model->pool, input->output) : NULL);
  } else {
    uint32_t argument = tf_map_find(&e->places, input->source, 1);
    int32_t first = kind_of_call(pool_text(model->pool, model->nodes.items[call->node].op)).first_input;
    const struct tf_edge *given =
        argument == UINT32_MAX ? NULL : edge_of_argument(e, call->node, (int32_t)argument + first);
    if (!given) return true; /* the shape is not known then */
    edge.source = given->source;
    edge.source_output = given->source_output;
  }
  struct tf_edge *item = list_add(&model->edges);
  if (!item) return tf_no_memory(model);
  *item = edge;
  return true;
}

static bool expand_node(struct expansion *e, const struct tf_function_call *call, const struct tf_function *function,
                        size_t scope, uint32_t place, string_id function_name, bool is_once) {
  struct tf_model *model = e->model;
  struct tf_function_node node = model->function_nodes.items[function->first_node + place];
  string_id name;
  uint32_t row;
  if (!name_below(e, scope, node.name, &name)) return false;
  if (tf_find_node(model, name) != UINT32_MAX) {
    tf_trouble(model, TF_TROUBLE_DUPLICATE, 0);
    return true;
  }
  e->bytes_left -= (int64_t)e->name.length + BYTES_OF_A_NODE;
  if (!tf_add_node(model, name, node.op, &row) || !tf_add_type(model, row, node.op)) return false;
  struct tf_node *item = &model->nodes.items[row];
  item->attributes = node.attributes;
  item->data_format = node.data_format;
  item->output_shapes = node.output_shapes;
  item->own_shape = node.own_shape;
  item->constant = node.constant;
  item->shape = node.shape;
  item->dtype = node.dtype;
  item->parameters = node.parameters;
  item->function = function_name;
  if (is_once) tf_trouble(model, TF_TROUBLE_ONCE, 0);
  for (uint32_t i = 0; i < node.input_count; i++) {
    if (!expand_input(e, call, function, scope, row, (int32_t)i, &model->function_inputs.items[node.first_input + i]))
      return false;
  }
  uint32_t *end = list_add(&e->first_edges);
  if (!end) return tf_no_memory(model);
  *end = (uint32_t)model->edges.count;
  for (uint32_t i = 0; i <= node.call_count; i++) {
    /* The op itself may be a function. */
    bool is_op = i == node.call_count;
    if (is_op && tf_map_find(&model->functions_by_name, node.op, 0) == UINT32_MAX) break;
    struct tf_function_call *next = list_add(&model->calls);
    if (!next) return tf_no_memory(model);
    if (is_op) *next = (struct tf_function_call){.function = node.op, .number = -1};
    else *next = model->function_calls.items[node.first_call + i];
    next->node = row;
    next->depth = call->depth + 1;
    next->is_once = is_once;
  }
  return true;
}

/* Signatures of a SavedModel are functions of their own that call one function, and several may call the same: then the
** graph has what it computes once. True: another one has called it. */
static bool is_repeated_signature(struct expansion *e, const struct tf_function_call *call, uint32_t row) {
  static const char wrapper[] = "__inference_signature_wrapper_";
  const char *name = pool_text(e->model->pool, call->function);
  if (call->depth || !name || strncmp(name, wrapper, sizeof wrapper - 1) != 0) return false;
  const struct tf_function *function = &e->model->functions.items[row];
  const struct tf_function_call *only = NULL;
  for (uint32_t i = 0; i < function->node_count; i++) {
    const struct tf_function_node *node = &e->model->function_nodes.items[function->first_node + i];
    if (node->call_count > 1 || (node->call_count && only)) return false;
    if (node->call_count) only = &e->model->function_calls.items[node->first_call];
  }
  uint32_t called = only ? tf_map_find(&e->model->functions_by_name, only->function, 0) : UINT32_MAX;
  if (called == UINT32_MAX) return false;
  bool is_repeated = (e->is_used.items[called] & USED_BY_SIGNATURE) != 0;
  e->is_used.items[called] |= USED_BY_SIGNATURE;
  return is_repeated;
}

static bool expand_call(struct expansion *e, struct tf_function_call call) {
  struct tf_model *model = e->model;
  uint32_t row = tf_map_find(&model->functions_by_name, call.function, 0);
  struct call_kind kind = kind_of_call(pool_text(model->pool, model->nodes.items[call.node].op));
  if (row == UINT32_MAX || kind.manner == MANNER_NEVER) return true;
  struct tf_function function = model->functions.items[row];
  if (call.depth >= MOST_DEPTH || e->bytes_left < 0) {
    tf_trouble(model, TF_TROUBLE_CALL, 0);
    return true;
  }
  e->is_used.items[row] |= USED;
  if (is_repeated_signature(e, &call, row)) {
    tf_trouble(model, TF_TROUBLE_SIGNATURE, 0);
    return true;
  }
  e->name.length = 0;
  string_id caller = model->nodes.items[call.node].name;
  text_buffer_add(&e->name, pool_text(model->pool, caller), pool_length(model->pool, caller));
  if (kind.manner == MANNER_OFTEN && call.key) {
    text_buffer_print(&e->name, "/%s", pool_text(model->pool, call.key));
    if (call.number >= 0) text_buffer_print(&e->name, "_%d", (int)call.number);
  }
  size_t scope = e->name.length;
  if (scope > LONGEST_NAME) {
    tf_trouble(model, TF_TROUBLE_CALL, 0);
    return true;
  }
  bool ok = true;
  row_map_free(&e->places);
  for (uint32_t i = 0; ok && i < function.node_count; i++) {
    ok = tf_map_put(model, &e->places, model->function_nodes.items[function.first_node + i].name, 0, i);
  }
  for (uint32_t i = 0; ok && i < function.argument_count; i++) {
    ok = tf_map_put(model, &e->places, model->function_arguments.items[function.first_argument + i], 1, i);
  }
  for (uint32_t i = 0; ok && i < function.node_count && e->bytes_left >= 0; i++) {
    ok = tf_goes_on(model) && expand_node(e, &call, &function, scope, i, call.function,
                                          call.is_once || kind.manner == MANNER_OFTEN);
  }
  return ok;
}

/* Nodes of functions that stand in no place of their own. */
static void count_left_out(struct tf_model *model, const struct expansion *e) {
  for (size_t i = 0; i < model->functions.count; i++) {
    if (e && e->is_used.items[i]) continue;
    for (uint32_t k = 0; k < model->functions.items[i].node_count; k++) tf_trouble(model, TF_TROUBLE_FUNCTION, 0);
  }
}

bool tf_expand_calls(struct tf_model *model) {
  struct expansion e = {.model = model};
  if (!model->functions.count) return true;
  if (model->steps.count) {
    count_left_out(model, NULL);
    return true;
  }
  e.bytes_left = FREE_BYTES + model->file_bytes * BYTES_OF_A_BYTE;
  bool ok = find_edges(&e);
  for (size_t i = 0; ok && i < model->functions.count; i++) {
    uint32_t *used = list_add(&e.is_used);
    if (used) *used = 0;
    else ok = tf_no_memory(model);
  }
  for (size_t i = 0, count = model->nodes.count; ok && i < count; i++) {
    string_id op = model->nodes.items[i].op;
    if (!op || tf_map_find(&model->functions_by_name, op, 0) == UINT32_MAX) continue;
    struct tf_function_call *call = list_add(&model->calls);
    if (call) *call = (struct tf_function_call){.node = (uint32_t)i, .function = op, .number = -1};
    else ok = tf_no_memory(model);
  }
  for (size_t i = 0; ok && i < model->calls.count; i++) ok = expand_call(&e, model->calls.items[i]);
  if (ok) count_left_out(model, &e);
  list_free(&e.first_edges);
  list_free(&e.is_used);
  row_map_free(&e.places);
  text_buffer_free(&e.name);
  return ok;
}
