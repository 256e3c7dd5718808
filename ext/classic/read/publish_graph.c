/* publish_graph.c: the tables of the graph: nodes, node_inputs, node_types, code_traces, code_frames. */
#include "classic/read/publish.h"

#include "classic/read/values.h"
#include "store/gradient_names.h"

/* Names nested deeper, or longer, are no scopes of any real graph; every scope would be a row. Nor have the names of
** all scopes so many bytes, and for each of the files so many more: in names a scope is written once for each node in
** it. */
enum { MAXIMUM_SCOPES = 256, MAXIMUM_SCOPED_NAME = 4096, FREE_SCOPE_BYTES = 32 << 20, SCOPE_BYTES_OF_A_BYTE = 8 };

/* ---- scopes and order ---- */

/* The name of what encloses a name, of `length` bytes: up to its last slash. The scope that was asked for last is
** mostly that of the next node, too. */
static bool find_scope(struct tf_model *model, const char *text, size_t length, bool adds, string_id *last,
                       uint32_t *row) {
  const char *known = pool_text(model->pool, *last);
  if (!known || pool_length(model->pool, *last) != length || memcmp(known, text, length) != 0) {
    if (adds && !tf_intern(model, text, length, last)) return false;
    if (!adds) *last = length ? pool_find(model->pool, text, length) : 0;
  }
  *row = *last || length == 0 ? tf_find_node(model, *last) : UINT32_MAX;
  return true;
}

/* Finds what encloses the node, and adds what is no node itself, as long as *left is more than their names have. */
static bool add_scopes(struct tf_model *model, uint32_t row, int64_t *left, string_id *last) {
  string_id name = model->nodes.items[row].name;
  const char *text = pool_text(model->pool, name);
  size_t length = text ? pool_length(model->pool, name) : 0;
  unsigned depth = 0;
  for (const char *at = text; depth <= MAXIMUM_SCOPES && at && (at = memchr(at, '/', (size_t)(text + length - at)));
       at++)
    depth++;
  if (depth == 0) return true;
  bool adds = depth <= MAXIMUM_SCOPES && length <= MAXIMUM_SCOPED_NAME && *left > 0;
  if (!adds) tf_trouble(model, TF_TROUBLE_SCOPE, 0);
  for (const char *slash; length && (slash = memrchr(text, '/', length));) {
    uint32_t scope;
    length = (size_t)(slash - text);
    if (!find_scope(model, text, length, adds, last, &scope)) return false;
    bool is_new = scope == UINT32_MAX;
    if (is_new && !adds) return true;
    if (is_new && !tf_add_node(model, *last, 0, &scope)) return false;
    if (is_new) {
      *left -= (int64_t)length;
      model->nodes.items[scope].function = model->nodes.items[row].function; /* the graph's own nodes came before */
    }
    model->nodes.items[row].parent = scope + 1;
    if (!is_new) return true; /* what encloses it is there as well, or will be */
    model->nodes.items[scope].is_scope = true;
    row = scope;
  }
  return true;
}

void tf_node_order_free(struct tf_node_order *order) {
  free(order->order);
  free(order->rows);
  free(order->parents);
}

bool tf_order_nodes(struct tf_model *model, struct tf_node_order *order) {
  size_t own = model->nodes.count;
  int64_t file_bytes = model->file_bytes < INT64_MAX / 16 ? model->file_bytes : 0;
  int64_t left = FREE_SCOPE_BYTES + SCOPE_BYTES_OF_A_BYTE * file_bytes;
  string_id last = 0;
  for (size_t i = 0; i < own; i++) {
    if (!tf_goes_on(model) || !add_scopes(model, (uint32_t)i, &left, &last)) return false;
  }
  size_t count = model->nodes.count;
  string_id *names = malloc((count + 1) * sizeof *names);
  order->order = malloc((count + 1) * sizeof *order->order);
  order->rows = malloc((count + 1) * sizeof *order->rows);
  order->parents = malloc((count + 1) * sizeof *order->parents);
  bool ok = names && order->order && order->rows && order->parents;
  size_t first = 0; /* the empty name, which the pool has not, comes first */
  if (ok) {
    size_t named = 0;
    for (size_t i = 0; i < count; i++) {
      if (model->nodes.items[i].name) names[named++] = model->nodes.items[i].name;
      else order->order[first++] = (uint32_t)i;
    }
    ok = pool_sort(model->pool, names, named) == TFPROF_OK;
    for (size_t i = 0; ok && i < named; i++) order->order[first + i] = tf_find_node(model, names[i]);
  }
  for (size_t i = 0; ok && i < count; i++) {
    assert(order->order[i] < count);
    order->rows[order->order[i]] = (uint32_t)i;
  }
  for (size_t i = 0; ok && i < count; i++) {
    uint32_t parent = model->nodes.items[order->order[i]].parent;
    order->parents[i] = parent ? (int64_t)order->rows[parent - 1] : -1;
  }
  free(names);
  return ok ? true : tf_no_memory(model);
}

/* ---- nodes ---- */

static int64_t text_value(string_id id) { return id ? (int64_t)id : ROW_NULL; }

static bool is_variable(const char *op) {
  return op && (strcmp(op, "Variable") == 0 || strcmp(op, "VariableV2") == 0 || strcmp(op, "VarHandleOp") == 0);
}

/* The processor that schedules what runs on a device: gpu:3 becomes cpu:0. */
static bool host_device(struct tf_model *model, string_id device, int64_t *host) {
  const char *text = pool_text(model->pool, device);
  *host = text_value(device);
  const char *gpu = text ? strstr(text, "gpu:") : NULL;
  if (!gpu) return true;
  struct text_buffer changed = {0};
  string_id id;
  text_buffer_add(&changed, text, (size_t)(gpu - text));
  text_buffer_add(&changed, "cpu:0", 5);
  gpu += 4 + strspn(gpu + 4, "0123456789");
  text_buffer_add(&changed, gpu, strlen(gpu));
  bool ok = changed.failed ? tf_no_memory(model) : tf_intern(model, changed.bytes, changed.length, &id);
  text_buffer_free(&changed);
  if (ok) *host = text_value(id);
  return ok;
}

static unsigned dtype_bytes(const char *name) {
  for (int i = 1; name && i < 100; i++) {
    const char *other = tf_dtype_name(i);
    if (other && strcmp(other, name) == 0) return tf_dtype_bytes(i);
  }
  return 0;
}

static int64_t parameter_bytes(const struct tf_model *model, const struct tf_node *node) {
  int64_t bytes, width = dtype_bytes(pool_text(model->pool, node->dtype));
  if (node->parameters < 0 || width == 0 || __builtin_mul_overflow(node->parameters, width, &bytes)) return ROW_NULL;
  return bytes;
}

/* Whether variables are trainable is known where any is said to be. */
static bool set_trainable(struct tf_model *model, struct eager_rows *rows, const struct tf_node_order *order) {
  string_id label = pool_find(model->pool, "_trainable_variables", 20);
  bool is_known = false;
  for (size_t i = 0; i < model->types.count && !is_known; i++) is_known = label && model->types.items[i].type == label;
  for (uint32_t i = 0; i < rows->count; i++) {
    const struct tf_node *node = &model->nodes.items[order->order[i]];
    rows->values[i] = is_known && is_variable(pool_text(model->pool, node->op)) ? 0 : ROW_NULL;
  }
  for (size_t i = 0; i < model->types.count && is_known; i++) {
    if (model->types.items[i].type == label) rows->values[order->rows[model->types.items[i].node]] = 1;
  }
  return eager_rows_set_known(rows, COLUMN_nodes_trainable);
}

/* The row of the node that one is the gradient of. */
static int64_t forward_row(const struct tf_model *model, const struct tf_node_order *order, uint32_t i) {
  const struct tf_node *node = &model->nodes.items[order->order[i]];
  const char *name = node->is_scope ? NULL : pool_text(model->pool, node->name), *forward;
  size_t length;
  if (!name || !gradient_forward_name(name, &forward, &length)) return ROW_NULL;
  string_id id = pool_find(model->pool, forward, length);
  uint32_t row = id ? tf_find_node(model, id) : UINT32_MAX;
  return row == UINT32_MAX || model->nodes.items[row].is_scope ? ROW_NULL : (int64_t)order->rows[row];
}

bool tf_publish_nodes(struct tf_model *model, struct profile *profile, const struct tf_node_order *order) {
  struct eager_rows rows;
  if (!eager_rows_begin(&rows, profile, TABLE_nodes, model->nodes.count, &model->status, model->error)) return false;
  const struct tf_node *nodes = model->nodes.items;
  bool ok = true;
#define SET(column, expression)                           \
  for (uint32_t i = 0; ok && i < rows.count; i++) {       \
    const struct tf_node *node = &nodes[order->order[i]]; \
    (void)node;                                           \
    rows.values[i] = (expression);                        \
  }                                                       \
  ok = ok && eager_rows_set_known(&rows, COLUMN_nodes_##column);
  string_id empty = 0;
  ok = pool_intern(model->pool, "", 0, &empty) == TFPROF_OK;
  SET(name, node->name ? node->name : empty)
  SET(op_type, text_value(node->op))
  SET(canonical_device, text_value(node->device))
  SET(is_scope, node->is_scope)
  SET(shape, text_value(node->shape))
  SET(output_shapes, text_value(node->output_shapes))
  SET(inferred_shapes, text_value(node->inferred_shapes))
  SET(dtype, text_value(node->dtype))
  SET(data_format, text_value(node->data_format))
  SET(attributes, text_value(node->attributes))
  SET(told_flops, node->flops ? node->flops : ROW_NULL)
  SET(is_runtime, node->is_runtime ? 1 : ROW_NULL)
  SET(function, text_value(node->function))
  SET(forward_node_id, forward_row(model, order, i))
  SET(code_trace_id, node->trace ? (int64_t)node->trace - 1 : ROW_NULL)
  SET(parent_id, order->parents[i] < 0 ? ROW_NULL : order->parents[i])
  SET(param_count, is_variable(pool_text(model->pool, node->op)) && node->parameters >= 0 ? node->parameters : ROW_NULL)
  SET(param_bytes, is_variable(pool_text(model->pool, node->op)) ? parameter_bytes(model, node) : ROW_NULL)
#undef SET
  /* Neighbours are on the same device. */
  for (uint32_t i = 0; ok && i < rows.count; i++) {
    string_id device = nodes[order->order[i]].device;
    if (i && device == nodes[order->order[i - 1]].device) rows.values[i] = rows.values[i - 1];
    else ok = host_device(model, device, &rows.values[i]);
  }
  ok = ok && eager_rows_set_known(&rows, COLUMN_nodes_host_device);
  for (uint32_t i = 0; ok && i < rows.count; i++) {
    string_id device = nodes[order->order[i]].device;
    int64_t row = i && device == nodes[order->order[i - 1]].device ? rows.values[i - 1] : tf_device_row(model, device);
    rows.values[i] = row < 0 ? ROW_NULL : row;
  }
  ok = ok && eager_rows_set_known(&rows, COLUMN_nodes_device_id);
  /* A scope's name is the beginning of those in it, and so comes before them. */
  for (uint32_t i = 0; ok && i < rows.count; i++)
    rows.values[i] = order->parents[i] < 0 ? 0 : rows.values[order->parents[i]] + 1;
  ok = ok && eager_rows_set_known(&rows, COLUMN_nodes_depth) && set_trainable(model, &rows, order);
  eager_rows_end(&rows);
  return ok;
}

/* ---- edges ---- */

/* A way through a JSON list of shapes, "[[5,12],null]": `at` is element `number`. */
struct shape_list {
  const char *at;
  int32_t number;
};

static struct shape_list shapes_of(const struct tf_model *model, string_id shapes) {
  const char *at = pool_text(model->pool, shapes);
  return (struct shape_list){at && *at == '[' ? at + 1 : "", 0};
}

/* The text of element `number`, which must not be before the one that was asked for last; 0: unknown. "5x12". */
static bool shape_at(struct tf_model *model, struct shape_list *list, int32_t number, string_id *shape) {
  const char *at = list->at;
  *shape = 0;
  for (; list->number < number && *at && *at != ']'; list->number++) {
    at += *at == '[' ? strcspn(at, "]") + 1 : strcspn(at, ",]");
    if (*at == ',') at++;
  }
  list->at = at;
  if (*at != '[' || list->number != number) return true;
  size_t length = strcspn(++at, "]");
  if (length == 0) return tf_intern(model, "1", 1, shape);
  char *copy = tf_scratch(model, length);
  if (!copy) return false;
  for (size_t i = 0; i < length; i++) copy[i] = at[i] == ',' ? 'x' : at[i];
  return tf_intern(model, copy, length, shape);
}

/* Which node has a number in its ProfileProto, where of several the first counts. The numbers of TensorFlow's files are
** 0, 1, 2 ... and so their own places. */
struct file_ids {
  uint32_t *rows; /* by number: row + 1 of the model's node, 0: none */
  size_t count;
  struct row_map others;
};

static bool find_file_ids(struct tf_model *model, struct file_ids *ids) {
  bool ok = true;
  ids->count = 4 * model->nodes.count + 1024;
  ids->rows = calloc(ids->count, sizeof *ids->rows);
  if (!ids->rows) return tf_no_memory(model);
  for (size_t i = 0; ok && i < model->nodes.count; i++) {
    uint64_t id = (uint64_t)model->nodes.items[i].file_id;
    if (model->nodes.items[i].is_scope) continue;
    if (id >= ids->count)
      ok = tf_map_find(&ids->others, id, 0) != UINT32_MAX || tf_map_put(model, &ids->others, id, 0, (uint32_t)i);
    else if (!ids->rows[id]) ids->rows[id] = (uint32_t)i + 1;
  }
  return ok;
}

/* The model's node that an edge comes from; UINT32_MAX: none. */
static uint32_t source_node(const struct tf_model *model, const struct file_ids *ids, const struct tf_edge *edge) {
  if (!edge->is_by_file_id) return tf_find_node(model, (string_id)edge->source);
  uint64_t id = (uint64_t)edge->source;
  return id < ids->count ? ids->rows[id] - 1 : tf_map_find(&ids->others, id, 0);
}

/* Edge numbers ordered by the row of their node; within a node as they came. NULL: no memory. */
static uint32_t *order_edges(const struct tf_model *model, const struct tf_node_order *order) {
  size_t nodes = model->nodes.count, count = model->edges.count;
  uint32_t *starts = calloc(nodes + 1, sizeof *starts), *edges = malloc((count + 1) * sizeof *edges);
  if (starts && edges) {
    for (size_t i = 0; i < count; i++) starts[order->rows[model->edges.items[i].node] + 1]++;
    for (size_t i = 0; i < nodes; i++) starts[i + 1] += starts[i];
    for (size_t i = 0; i < count; i++) edges[starts[order->rows[model->edges.items[i].node]]++] = (uint32_t)i;
    free(starts);
    return edges;
  }
  free(starts);
  free(edges);
  return NULL;
}

static int compare_positions(const void *left, const void *right, void *context) {
  const struct tf_model *model = context;
  const struct tf_edge *a = &model->edges.items[*(const uint32_t *)left],
                       *b = &model->edges.items[*(const uint32_t *)right];
  if (a->position != b->position) return a->position < b->position ? -1 : 1;
  return *(const uint32_t *)left < *(const uint32_t *)right ? -1 : 1;
}

/* Those of one node by position: in a ProfileProto they come in any order. */
static void order_positions(struct tf_model *model, uint32_t *edges) {
  size_t count = model->edges.count;
  for (size_t first = 0, last; first < count; first = last) {
    bool is_ordered = true;
    for (last = first + 1; last < count; last++) {
      const struct tf_edge *a = &model->edges.items[edges[last - 1]], *b = &model->edges.items[edges[last]];
      if (a->node != b->node) break;
      is_ordered &= a->position <= b->position;
    }
    if (!is_ordered) qsort_r(edges + first, last - first, sizeof *edges, compare_positions, model);
  }
}

/* By source, then its output. */
struct taken {
  uint32_t source, place;
  int32_t output;
};

static int compare_taken(const void *left, const void *right) {
  const struct taken *a = left, *b = right;
  if (a->source != b->source) return a->source < b->source ? -1 : 1;
  return a->output < b->output ? -1 : a->output > b->output;
}

/* rows->values are the rows of the sources. Each long list of shapes is gone through once, however many take from it.
*/
static bool set_input_shapes(struct tf_model *model, struct eager_rows *rows, const struct tf_node_order *order,
                             const uint32_t *edges) {
  struct taken *taken = malloc(((size_t)rows->count + 1) * sizeof *taken);
  enum { SHORT_LIST = 200 };
  uint32_t count = 0;
  struct shape_list list;
  string_id shape = 0;
  bool ok = taken ? true : tf_no_memory(model), is_sorted = true;
  for (uint32_t i = 0; ok && i < rows->count; i++) {
    const struct tf_edge *edge = &model->edges.items[edges[i]];
    int64_t source = rows->values[i];
    rows->values[i] = ROW_NULL;
    string_id shapes =
        source == ROW_NULL || edge->is_control ? 0 : model->nodes.items[order->order[source]].output_shapes;
    if (!shapes) continue;
    if (pool_length(model->pool, shapes) <= SHORT_LIST) {
      list = shapes_of(model, shapes);
      ok = shape_at(model, &list, edge->source_output, &shape);
      rows->values[i] = text_value(shape);
      continue;
    }
    taken[count++] = (struct taken){order->order[source], i, edge->source_output};
    is_sorted = is_sorted && (count < 2 || compare_taken(&taken[count - 2], &taken[count - 1]) <= 0);
  }
  if (ok && !is_sorted) qsort(taken, count, sizeof *taken, compare_taken);
  for (uint32_t i = 0; ok && i < count; i++) {
    bool is_same = i > 0 && taken[i].source == taken[i - 1].source;
    if (!is_same) list = shapes_of(model, model->nodes.items[taken[i].source].output_shapes);
    if (!is_same || taken[i].output != taken[i - 1].output) ok = shape_at(model, &list, taken[i].output, &shape);
    rows->values[taken[i].place] = text_value(shape);
  }
  free(taken);
  return ok && eager_rows_set_known(rows, COLUMN_node_inputs_shape);
}

bool tf_publish_inputs(struct tf_model *model, struct profile *profile, const struct tf_node_order *order) {
  struct eager_rows rows;
  if (!eager_rows_begin(&rows, profile, TABLE_node_inputs, model->edges.count, &model->status, model->error))
    return false;
  uint32_t *edges = order_edges(model, order);
  struct file_ids ids = {0};
  bool ok = edges ? true : tf_no_memory(model);
  if (ok) order_positions(model, edges);
  bool is_by_file_id = rows.count && model->edges.items[0].is_by_file_id; /* all are, or none */
  ok = ok && (!is_by_file_id || find_file_ids(model, &ids));
#define SET(column, expression)                                 \
  for (uint32_t i = 0; ok && i < rows.count; i++) {             \
    const struct tf_edge *edge = &model->edges.items[edges[i]]; \
    rows.values[i] = (expression);                              \
  }                                                             \
  ok = ok && eager_rows_set_known(&rows, COLUMN_node_inputs_##column);
  SET(node_id, order->rows[edge->node])
  SET(position, edge->position)
  SET(source_output, edge->is_control ? ROW_NULL : edge->source_output)
  SET(is_control, edge->is_control)
#undef SET
  for (uint32_t i = 0; ok && i < rows.count; i++) {
    uint32_t source = source_node(model, &ids, &model->edges.items[edges[i]]);
    rows.values[i] = source == UINT32_MAX ? ROW_NULL : (int64_t)order->rows[source];
    if (source == UINT32_MAX) tf_trouble(model, TF_TROUBLE_INPUT, 0);
  }
  ok = ok && eager_rows_set_known(&rows, COLUMN_node_inputs_source_node_id);
  ok = ok && set_input_shapes(model, &rows, order, edges);
  free(edges);
  free(ids.rows);
  row_map_free(&ids.others);
  eager_rows_end(&rows);
  return ok;
}

/* ---- types ---- */

static int compare_types(const void *left, const void *right, void *context) {
  const struct pool *pool = context;
  const struct tf_type *a = left, *b = right;
  if (a->node != b->node) return a->node < b->node ? -1 : 1;
  return a->type == b->type ? 0 : strcmp(pool_text(pool, a->type), pool_text(pool, b->type));
}

bool tf_publish_types(struct tf_model *model, struct profile *profile, const struct tf_node_order *order) {
  size_t count = model->types.count, kept = 0;
  /* By row, then text; each once. Most nodes have two types, which lie together already. */
  struct tf_type *types = malloc((count + 1) * sizeof *types);
  uint32_t *starts = calloc(model->nodes.count + 1, sizeof *starts);
  if (!types || !starts) {
    free(types);
    free(starts);
    return tf_no_memory(model);
  }
  for (size_t i = 0; i < count; i++) starts[order->rows[model->types.items[i].node] + 1]++;
  for (size_t i = 0; i < model->nodes.count; i++) starts[i + 1] += starts[i];
  for (size_t i = 0; i < count; i++) {
    uint32_t row = order->rows[model->types.items[i].node];
    types[starts[row]++] = (struct tf_type){row, model->types.items[i].type};
  }
  for (size_t first = 0, last; first < count; first = last) {
    for (last = first + 1; last < count && types[last].node == types[first].node;) last++;
    bool is_sorted = true;
    for (size_t i = first + 1; i < last && is_sorted; i++)
      is_sorted = compare_types(&types[i - 1], &types[i], model->pool) <= 0;
    if (!is_sorted) qsort_r(types + first, last - first, sizeof *types, compare_types, model->pool);
    for (size_t i = first; i < last; i++) {
      if (i == first || types[i].type != types[i - 1].type) types[kept++] = types[i];
    }
  }
  free(starts);
  struct eager_rows rows;
  bool ok = eager_rows_begin(&rows, profile, TABLE_node_types, kept, &model->status, model->error);
  for (uint32_t i = 0; ok && i < rows.count; i++) rows.values[i] = types[i].node;
  ok = ok && eager_rows_set_known(&rows, COLUMN_node_types_node_id);
  for (uint32_t i = 0; ok && i < rows.count; i++) rows.values[i] = types[i].type;
  ok = ok && eager_rows_set_known(&rows, COLUMN_node_types_type);
  free(types);
  eager_rows_end(&rows);
  return ok;
}

/* ---- traces ---- */

/* A text of a frame. A key that is not written is 0, which stands for "none" in what TensorFlow writes, and in older
** files of ours for a text like any other. */
static int64_t frame_text(struct tf_model *model, const struct tf_frame *frame, int64_t key) {
  if (key == TF_NONE && (frame->is_inline || !model->has_text_zero)) return ROW_NULL;
  if (frame->is_inline) return key;
  if (key == TF_NONE) key = 0;
  uint32_t id = tf_map_find(&model->string_map, (uint64_t)key, 0);
  if (id == UINT32_MAX) tf_trouble(model, TF_TROUBLE_STRING, 0);
  return id == UINT32_MAX || id == 0 ? ROW_NULL : (int64_t)id;
}

static bool publish_hashes(struct tf_model *model, struct eager_rows *rows, const int64_t *files,
                           const int64_t *functions) {
  for (uint32_t i = 0; i < rows->count; i++) {
    uint32_t parent = stacks_parent(&model->traces, i), frame = stacks_frame(&model->traces, i);
    const char *file = files[frame] == ROW_NULL ? NULL : pool_text(model->pool, (string_id)files[frame]);
    const char *function = functions[frame] == ROW_NULL ? NULL : pool_text(model->pool, (string_id)functions[frame]);
    rows->values[i] =
        stacks_hash(parent ? &rows->values[parent - 1] : NULL, file, function, model->frames.items[frame].line);
  }
  return eager_rows_set_known(rows, COLUMN_code_traces_hash);
}

bool tf_publish_traces(struct tf_model *model, struct profile *profile) {
  struct eager_rows frames, traces;
  string_id python;
  uint32_t zero = tf_map_find(&model->string_map, 0, 0);
  const char *text = zero == UINT32_MAX ? NULL : pool_text(model->pool, zero);
  model->has_text_zero = text && strcmp(text, "none") != 0;
  if (!tf_intern(model, "python", 6, &python)) return false;
  if (!eager_rows_begin(&frames, profile, TABLE_code_frames, model->frames.count, &model->status, model->error))
    return false;
  int64_t *files = malloc((model->frames.count + 1) * sizeof *files);
  int64_t *functions = malloc((model->frames.count + 1) * sizeof *functions);
  bool ok = files && functions ? true : tf_no_memory(model);
#define SET(column, expression)                             \
  for (uint32_t i = 0; ok && i < frames.count; i++) {       \
    const struct tf_frame *frame = &model->frames.items[i]; \
    (void)frame;                                            \
    frames.values[i] = (expression);                        \
  }                                                         \
  ok = ok && eager_rows_set_known(&frames, COLUMN_code_frames_##column);
  SET(file, files[i] = frame_text(model, frame, frame->file))
  SET(function, functions[i] = frame_text(model, frame, frame->function))
  SET(line, frame->line)
  SET(first_line, frame->first_line < 0 ? ROW_NULL : frame->first_line)
  SET(text, frame_text(model, frame, frame->text))
  SET(language, python)
#undef SET
  eager_rows_end(&frames);
  if (!ok ||
      !eager_rows_begin(&traces, profile, TABLE_code_traces, model->traces.count, &model->status, model->error)) {
    free(files);
    free(functions);
    return false;
  }
  ok = stacks_set(&traces, &model->traces) && publish_hashes(model, &traces, files, functions);
  free(files);
  free(functions);
  eager_rows_end(&traces);
  return ok;
}
