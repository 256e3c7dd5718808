/* ops_nodes.c: which node each op belongs to.  See ops_graph.h for what a node is. */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "classic/views/ops_graph.h"
#include "derive/links/ancestors.h"

static enum tfprof_status load_ops(struct ops_graph *graph) {
  struct profile *profile = graph->profile;
  enum tfprof_status status =
      OPS_REQUIRE(graph, TABLE_ops, COLUMN_ops_name, COLUMN_ops_op_type, COLUMN_ops_category, COLUMN_ops_node_id,
                  COLUMN_ops_thread_id, COLUMN_ops_step_id, COLUMN_ops_parent_id, COLUMN_ops_code_trace_id,
                  COLUMN_ops_input_shapes, COLUMN_ops_input_types, COLUMN_ops_forward_op_id);
  if (!status) status = derive_row_count(profile, TABLE_ops, &graph->op_count, graph->error);
  if (!status) status = derive_row_count(profile, TABLE_threads, &graph->thread_count, graph->error);
  if (!status) status = ops_graph_texts(graph, TABLE_ops, COLUMN_ops_name, &graph->names);
  if (!status) status = ops_graph_texts(graph, TABLE_ops, COLUMN_ops_op_type, &graph->op_types);
  if (!status) status = ops_graph_texts(graph, TABLE_ops, COLUMN_ops_input_shapes, &graph->shapes);
  if (!status) status = ops_graph_texts(graph, TABLE_ops, COLUMN_ops_input_types, &graph->types);
  if (!status) status = derive_all_op_parents(profile, &graph->parents, graph->error);
  const struct {
    unsigned column;
    uint32_t **values;
  } references[] = {{COLUMN_ops_node_id, &graph->modules},
                    {COLUMN_ops_thread_id, &graph->threads},
                    {COLUMN_ops_step_id, &graph->steps},
                    {COLUMN_ops_code_trace_id, &graph->traces},
                    {COLUMN_ops_forward_op_id, &graph->forwards}};
  for (size_t i = 0; i < sizeof references / sizeof *references && !status; i++)
    status = derive_all_references(profile, TABLE_ops, references[i].column, references[i].values, graph->error);
  return status;
}

bool ops_is_step_mark(const char *name) {
  return strncmp(name, "ProfilerStep", 12) == 0 || strncmp(name, "tfprof.step#", 12) == 0;
}

static enum tfprof_status find_kinds(struct ops_graph *graph) {
  string_id *categories = NULL;
  enum tfprof_status status = ops_graph_texts(graph, TABLE_ops, COLUMN_ops_category, &categories);
  string_id user = derive_known_text(graph->profile, "user"), module = derive_known_text(graph->profile, "module"),
            python = derive_known_text(graph->profile, "python");
  graph->kinds = calloc((size_t)graph->op_count + 1, 1);
  if (!status && !graph->kinds) status = error_no_memory(graph->error);
  for (uint32_t op = 0; op < graph->op_count && !status; op++) {
    if (!graph->names[op] || categories[op] == python)
      graph->kinds[op] = OPS_LEFT_OUT;
    else if (categories[op] == module)
      graph->kinds[op] = OPS_MODULE;
    else if (categories[op] != user)
      graph->kinds[op] = OPS_OP;
    else
      graph->kinds[op] = ops_is_step_mark(pool_text(graph->pool, graph->names[op])) ? OPS_LEFT_OUT : OPS_SCOPE;
  }
  free(categories);
  return status;
}

/* ---- nodes ---- */

/* A name is the way to a node, so that names of ops nested a thousand deep would be longer than all else that there is.
** Those that would be longer than this, or than the lesser length once all of them have taken enough, belong to nodes
** that stand higher up. */
enum { MAXIMUM_NAME = 4096, LESSER_NAME = 256, FREE_NAME_BYTES = 64 << 20, NAME_BYTES_OF_AN_OP = 128 };

static size_t most_name_bytes(const struct ops_graph *graph) {
  bool is_much = graph->name_bytes > FREE_NAME_BYTES + NAME_BYTES_OF_AN_OP * (uint64_t)graph->op_count;
  return is_much ? LESSER_NAME : MAXIMUM_NAME;
}

/* Of a text that is longer than a name may be, its beginning: whole characters of UTF-8. */
static size_t own_name_length(const struct ops_graph *graph, string_id name) {
  size_t length = pool_length(graph->pool, name), most = most_name_bytes(graph) / 2;
  const char *text = pool_text(graph->pool, name);
  if (length <= most) return length;
  while (most && ((unsigned char)text[most] & 0xc0) == 0x80) most--;
  return most;
}

/* The parent, or the innermost of those around it in which a node of this name is not too long. */
static uint32_t parent_with_room(struct ops_graph *graph, uint32_t parent, string_id name) {
  size_t own = own_name_length(graph, name), most = most_name_bytes(graph);
  while (parent != NO_ROW && pool_length(graph->pool, graph->list[parent].name) + 1 + own > most) {
    graph->is_too_deep = true;
    parent = graph->list[parent].parent;
  }
  return parent;
}

/* The full name: that of the parent, this one, and a number behind it from the second of the same name on. */
static enum tfprof_status name_node(struct ops_graph *graph, uint32_t parent, string_id name, uint32_t number,
                                    string_id *full) {
  const char *above = parent != NO_ROW ? pool_text(graph->pool, graph->list[parent].name) : "";
  size_t above_length = parent != NO_ROW ? pool_length(graph->pool, graph->list[parent].name) : 0;
  size_t own_length = own_name_length(graph, name), size = above_length + own_length + 20;
  if (!array_reserve(graph->text, graph->text_size, size)) return error_no_memory(graph->error);
  int length =
      snprintf(graph->text, graph->text_size, "%s%s%.*s", above, above_length ? "/" : "", (int)own_length,
               pool_text(graph->pool, name));
  if (number) length += snprintf(graph->text + length, graph->text_size - (size_t)length, "_%u", number);
  graph->name_bytes += (uint64_t)length;
  if (pool_intern(graph->pool, graph->text, (size_t)length, full)) return error_no_memory(graph->error);
  return TFPROF_OK;
}

/* Marks keys whose values count how many nodes of one name a parent has; no row of code_traces has that number. */
enum { COUNTER = NO_ROW - 1 };

enum tfprof_status ops_graph_node(struct ops_graph *graph, uint32_t parent, string_id name, uint32_t trace,
                                  string_id shapes, bool is_scope, uint32_t *node) {
  parent = parent_with_room(graph, parent, name);
  uint64_t place = (uint64_t)parent << 32 | name;
  struct row_key key = {{place, (uint64_t)trace << 32 | (is_scope ? UINT32_MAX : shapes)}};
  struct row_key counter = {{place, (uint64_t)COUNTER << 32 | is_scope}};
  uint32_t found = row_map_number(&graph->node_map, key), counted = row_map_number(&graph->node_map, counter);
  if (found == ROW_MAP_NONE || counted == ROW_MAP_NONE) return error_no_memory(graph->error);
  if (graph->node_map.values[found]) {
    *node = graph->node_map.values[found] - 1;
    return TFPROF_OK;
  }
  string_id full;
  enum tfprof_status status = name_node(graph, parent, name, graph->node_map.values[counted], &full);
  if (status) return status;
  if (graph->count == INT32_MAX || !array_room(graph->list, graph->count, graph->capacity))
    return error_no_memory(graph->error);
  graph->node_map.values[counted]++;
  graph->node_map.values[found] = graph->count + 1;
  *node = graph->count;
  graph->list[graph->count++] = (struct ops_node){.parent = parent,
                                                  .name = full,
                                                  .op = is_scope ? 0 : name,
                                                  .shapes = shapes,
                                                  .trace = trace,
                                                  .row = NO_ROW,
                                                  .accelerator = NO_ROW,
                                                  .last_exec = NO_ROW,
                                                  .is_scope = is_scope};
  return TFPROF_OK;
}

static enum tfprof_status add_edge(struct ops_graph *graph, uint32_t node, uint32_t source, bool is_control) {
  if (graph->edge_count == INT32_MAX || !array_room(graph->edges, graph->edge_count, graph->edge_capacity))
    return error_no_memory(graph->error);
  graph->edges[graph->edge_count++] = (struct ops_edge){node, source, is_control};
  return TFPROF_OK;
}

static enum tfprof_status scope(struct ops_graph *graph, uint32_t parent, const char *name, size_t length,
                                uint32_t *node) {
  string_id text;
  if (pool_intern(graph->pool, name, length, &text)) return error_no_memory(graph->error);
  return ops_graph_node(graph, parent, text, NO_ROW, 0, true, node);
}

/* ---- modules and parameters ---- */

/* "features.0" in the module "features" -> "0"; what dots are left part further scopes. */
static enum tfprof_status module_name(struct ops_graph *graph, string_id name, string_id parent_name, string_id *own) {
  const char *text = pool_text(graph->pool, name);
  size_t length = parent_name ? pool_length(graph->pool, parent_name) : 0;
  if (length && strncmp(text, pool_text(graph->pool, parent_name), length) == 0 && text[length] == '.')
    text += length + 1;
  char *copy = strdup(text);
  if (!copy) return error_no_memory(graph->error);
  for (char *at = copy; *at; at++) *at = *at == '.' ? '/' : *at;
  enum tfprof_status status =
      pool_intern(graph->pool, copy, strlen(copy), own) ? error_no_memory(graph->error) : TFPROF_OK;
  free(copy);
  return status;
}

struct module_columns {
  string_id *names, *types, *shapes;
  uint32_t *parents;
  int64_t *is_scope, *parameters, *trainable;
};

static enum tfprof_status add_module(struct ops_graph *graph, const struct module_columns *columns, uint32_t row) {
  uint32_t parent = columns->parents[row], above = parent == NO_ROW ? NO_ROW : graph->node_of_module[parent];
  bool is_scope = columns->is_scope[row] == 1;
  string_id own;
  enum tfprof_status status =
      module_name(graph, columns->names[row], parent == NO_ROW ? 0 : columns->names[parent], &own);
  uint32_t node = 0;
  /* Two models of one class are two modules: the row makes them differ, as a place does ops. */
  if (!status) status = ops_graph_node(graph, above, own, row, row, is_scope, &node);
  if (status) return status;
  struct ops_node *made = &graph->list[node];
  graph->node_of_module[row] = node;
  made->row = row;
  made->trace = NO_ROW;
  made->shapes = 0;
  made->op = columns->types[row];
  made->shape = columns->shapes[row];
  if (!is_scope && !made->shape) status = derive_text(graph->profile, "1", &made->shape, graph->error);
  made->parameters = columns->parameters[row] == NO_VALUE ? 0 : columns->parameters[row];
  made->is_trainable = columns->trainable[row] == 1;
  return status;
}

/* Modules come before what is in them in most sources, but need not. */
static enum tfprof_status add_modules(struct ops_graph *graph, const struct module_columns *columns) {
  uint32_t rows = graph->module_rows, *way = malloc(((size_t)rows + 1) * sizeof *way);
  uint8_t *seen = calloc((size_t)rows + 1, 1);
  enum tfprof_status status = way && seen ? TFPROF_OK : error_no_memory(graph->error);
  for (uint32_t row = 0; row < rows && !status; row++) {
    uint32_t length = 0;
    for (uint32_t at = row; at != NO_ROW && !seen[at] && columns->names[at]; at = columns->parents[at]) {
      seen[at] = 1;
      way[length++] = at;
    }
    while (length && !status) status = add_module(graph, columns, way[--length]);
  }
  free(way);
  free(seen);
  return status;
}

static enum tfprof_status load_modules(struct ops_graph *graph) {
  struct module_columns c = {0};
  enum tfprof_status status =
      OPS_REQUIRE(graph, TABLE_nodes, COLUMN_nodes_name, COLUMN_nodes_op_type, COLUMN_nodes_parent_id,
                  COLUMN_nodes_is_scope, COLUMN_nodes_shape, COLUMN_nodes_param_count, COLUMN_nodes_trainable);
  struct profile *profile = graph->profile;
  if (!status) status = derive_row_count(profile, TABLE_nodes, &graph->module_rows, graph->error);
  if (!status) status = ops_graph_texts(graph, TABLE_nodes, COLUMN_nodes_name, &c.names);
  if (!status) status = ops_graph_texts(graph, TABLE_nodes, COLUMN_nodes_op_type, &c.types);
  if (!status) status = ops_graph_texts(graph, TABLE_nodes, COLUMN_nodes_shape, &c.shapes);
  if (!status) status = derive_all_references(profile, TABLE_nodes, COLUMN_nodes_parent_id, &c.parents, graph->error);
  if (!status) status = derive_all_integers(profile, TABLE_nodes, COLUMN_nodes_is_scope, &c.is_scope, graph->error);
  if (!status)
    status = derive_all_integers(profile, TABLE_nodes, COLUMN_nodes_param_count, &c.parameters, graph->error);
  if (!status) status = derive_all_integers(profile, TABLE_nodes, COLUMN_nodes_trainable, &c.trainable, graph->error);
  graph->node_of_module = malloc(((size_t)graph->module_rows + 1) * sizeof *graph->node_of_module);
  if (!status && !graph->node_of_module) status = error_no_memory(graph->error);
  if (!status) {
    memset(graph->node_of_module, 0xff, ((size_t)graph->module_rows + 1) * sizeof *graph->node_of_module);
    status = add_modules(graph, &c);
  }
  free(c.names);
  free(c.types);
  free(c.shapes);
  scratch_free(c.parents);
  scratch_free(c.is_scope);
  scratch_free(c.parameters);
  scratch_free(c.trainable);
  return status;
}

/* ---- ops ---- */

/* By row of ops: itself, or else the nearest op around it that is of a kind from `least` to `most`; NO_ROW: none. */
static uint32_t *nearest_of_kinds(struct ops_graph *graph, enum ops_kind least, enum ops_kind most) {
  uint32_t *nearest = malloc(((size_t)graph->op_count + 1) * sizeof *nearest);
  if (!nearest) return NULL;
  for (uint32_t op = 0; op < graph->op_count; op++)
    nearest[op] = graph->kinds[op] >= least && graph->kinds[op] <= most ? op : NO_ROW;
  derive_inherit(graph->parents, nearest, graph->op_count);
  return nearest;
}

/* The nearest around an op, not itself. */
static uint32_t around(const struct ops_graph *graph, uint32_t op, const uint32_t *nearest) {
  return graph->parents[op] == NO_ROW ? NO_ROW : nearest[graph->parents[op]];
}

static uint32_t module_of(const struct ops_graph *graph, uint32_t op) {
  return op == NO_ROW || graph->modules[op] == NO_ROW ? NO_ROW : graph->node_of_module[graph->modules[op]];
}

/* The scope of the gradients of what is in `node`: gradients/<name of the node>. */
static enum tfprof_status gradient_scope(struct ops_graph *graph, uint32_t node, uint32_t *found) {
  uint32_t way[64], length = 0;
  enum tfprof_status status = scope(graph, NO_ROW, "gradients", 9, found);
  for (; node != NO_ROW && length < sizeof way / sizeof *way; node = graph->list[node].parent) way[length++] = node;
  while (length && !status) {
    const struct ops_node *of = &graph->list[way[--length]];
    const char *text = pool_text(graph->pool, of->name);
    uint32_t above = of->parent == NO_ROW ? 0 : pool_length(graph->pool, graph->list[of->parent].name) + 1;
    status = scope(graph, *found, text + above, pool_length(graph->pool, of->name) - above, found);
  }
  return status;
}

/* gradients/<name of the node>_grad, within which the code view finds the forward op. */
static enum tfprof_status gradient_of(struct ops_graph *graph, uint32_t forward, uint32_t *found) {
  uint32_t above;
  enum tfprof_status status = gradient_scope(graph, graph->list[forward].parent, &above);
  if (status) return status;
  const struct ops_node *of = &graph->list[forward];
  uint32_t prefix = of->parent == NO_ROW ? 0 : pool_length(graph->pool, graph->list[of->parent].name) + 1;
  char *name;
  int length = asprintf(&name, "%s_grad", pool_text(graph->pool, of->name) + prefix);
  if (length < 0) return error_no_memory(graph->error);
  status = scope(graph, above, name, (size_t)length, found);
  free(name);
  return status;
}

static bool is_of_gradient(const struct ops_graph *graph, uint32_t op) {
  return strncmp(pool_text(graph->pool, graph->names[op]), "autograd::engine::evaluate_function", 35) == 0;
}

/* Where an op stands. *is_called: the parent is an op that called it. */
static enum tfprof_status place_op(struct ops_graph *graph, uint32_t op, uint32_t *parent, bool *is_called) {
  uint32_t enclosing = around(graph, op, graph->nearest_kept), module = module_of(graph, op);
  uint32_t forward = graph->forwards[op];
  bool is_in_op = enclosing != NO_ROW && graph->kinds[enclosing] == OPS_OP;
  *is_called = is_in_op && (module == NO_ROW || module == module_of(graph, enclosing));
  *parent = enclosing == NO_ROW ? NO_ROW : graph->nodes[enclosing];
  if (*is_called) return TFPROF_OK;
  if (forward != NO_ROW && graph->nodes[forward] != NO_ROW && graph->kinds[forward] == OPS_OP)
    return gradient_of(graph, graph->nodes[forward], parent);
  if (is_of_gradient(graph, op)) return scope(graph, NO_ROW, "gradients", 9, parent);
  /* A range that was opened within the module stands in it; one around it does not. */
  if (module != NO_ROW && module != module_of(graph, enclosing)) *parent = module;
  return TFPROF_OK;
}

static enum tfprof_status add_scope(struct ops_graph *graph, uint32_t op) {
  bool is_module = graph->kinds[op] == OPS_MODULE;
  uint32_t enclosing = around(graph, op, is_module ? graph->nearest_module : graph->nearest_kept);
  uint32_t parent = enclosing == NO_ROW ? NO_ROW : graph->nodes[enclosing], module = module_of(graph, op);
  if (module != NO_ROW && module != module_of(graph, enclosing)) parent = module;
  const char *name = pool_text(graph->pool, graph->names[op]);
  if (is_module && strncmp(name, "nn.Module: ", 11) == 0) name += 11;
  enum tfprof_status status = scope(graph, parent, name, strlen(name), &graph->nodes[op]);
  if (!status && is_module && !graph->list[graph->nodes[op]].op) { /* "Conv2d_0" is of the class Conv2d */
    size_t length = strlen(name), class = length;
    while (class && name[class - 1] >= '0' && name[class - 1] <= '9') class --;
    if (!class || class == length || name[class - 1] != '_') class = length + 1;
    if (pool_intern(graph->pool, name, class - 1, &graph->list[graph->nodes[op]].op))
      status = error_no_memory(graph->error);
  }
  return status;
}

static enum tfprof_status add_op(struct ops_graph *graph, uint32_t op) {
  uint32_t parent, node, thread = graph->threads[op];
  bool is_called;
  enum tfprof_status status = place_op(graph, op, &parent, &is_called);
  if (status) return status;
  uint32_t former = graph->count; /* scopes of gradients may have been made just now */
  status = ops_graph_node(graph, parent, graph->names[op], graph->traces[op], graph->shapes[op], false, &node);
  if (status) return status;
  graph->nodes[op] = node;
  bool is_new = graph->count > former;
  if (is_new) {
    graph->list[node].types = graph->types[op];
    graph->list[node].op = graph->op_types[op];
    uint32_t forward = graph->forwards[op];
    if (is_called)
      status = add_edge(graph, parent, node, false);
    else if (forward != NO_ROW && graph->nodes[forward] != NO_ROW && graph->kinds[forward] == OPS_OP)
      status = add_edge(graph, node, graph->nodes[forward], false);
    if (!status && !is_called && thread != NO_ROW) {
      if (graph->previous[thread] != NO_ROW) status = add_edge(graph, node, graph->previous[thread], true);
      graph->previous[thread] = node;
    }
  }
  return status;
}

/* An op comes after all that are around it, and one of the gradient after its forward op: that comes first in time, but
** may come later in the table where it is of another thread. `ways` has room for a way up for each of both. */
static enum tfprof_status add_op_row(struct ops_graph *graph, uint32_t row, bool is_forward, uint32_t *ways) {
  uint32_t *way = ways + (is_forward ? graph->op_count : 0), length = 0;
  enum tfprof_status status = TFPROF_OK;
  for (uint32_t at = row; at != NO_ROW && graph->nodes[at] == NO_ROW; at = graph->parents[at])
    if (graph->kinds[at] != OPS_LEFT_OUT) way[length++] = at;
  while (length && !status) {
    uint32_t at = way[--length], forward = graph->forwards[at];
    if (!is_forward && forward != NO_ROW && graph->nodes[forward] == NO_ROW)
      status = add_op_row(graph, forward, true, ways);
    if (!status && graph->nodes[at] == NO_ROW)
      status = graph->kinds[at] == OPS_OP ? add_op(graph, at) : add_scope(graph, at);
  }
  return status;
}

/* ---- parameters as inputs ---- */

/* A parameter that ops of a module may take. */
struct takeable {
  uint32_t module;
  string_id shape;
  uint32_t node;
};
struct takeables {
  struct takeable *items; /* by module, shape and node */
  uint32_t *taken;        /* at the first of a module and a shape: how many of these were looked at */
  uint32_t count;
};

static int compare_takeables(const void *left, const void *right) {
  const struct takeable *a = left, *b = right;
  if (a->module != b->module) return a->module < b->module ? -1 : 1;
  if (a->shape != b->shape) return a->shape < b->shape ? -1 : 1;
  return (a->node > b->node) - (a->node < b->node);
}

/* The first that is not before (module, shape). */
static uint32_t find_takeable(const struct takeables *all, uint32_t module, string_id shape) {
  uint32_t low = 0, high = all->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const struct takeable *at = &all->items[middle];
    if (at->module < module || (at->module == module && at->shape < shape)) low = middle + 1;
    else high = middle;
  }
  return low;
}

struct taking {
  struct ops_graph *graph;
  uint32_t node;
  const struct takeables *all;
  uint8_t *is_taken; /* by node */
};

static enum tfprof_status take_parameter(void *context, int32_t place, const char *shape, size_t length) {
  struct taking *taking = context;
  struct ops_graph *graph = taking->graph;
  const struct takeables *all = taking->all;
  uint32_t module = graph->list[taking->node].parent;
  string_id text = pool_find(graph->pool, shape, length);
  uint32_t first = text ? find_takeable(all, module, text) : all->count, i = first;
  (void)place;
  if (first < all->count) i += all->taken[first];
  for (; i < all->count && all->items[i].module == module && all->items[i].shape == text; i++) {
    uint32_t parameter = all->items[i].node;
    all->taken[first] = i + 1 - first;
    if (taking->is_taken[parameter]) continue;
    taking->is_taken[parameter] = 1;
    graph->list[parameter].trace = graph->list[taking->node].trace;
    return add_edge(graph, taking->node, parameter, false);
  }
  return TFPROF_OK;
}

/* Whose ops may take a node: of a parameter its module, or the one around that; else NO_ROW. */
static uint32_t taker_of(const struct ops_graph *graph, uint32_t node, bool is_around) {
  uint32_t module = graph->list[node].shape ? graph->list[node].parent : NO_ROW;
  return module != NO_ROW && is_around ? graph->list[module].parent : module;
}

static enum tfprof_status find_takeables(struct ops_graph *graph, bool is_around, struct takeables *all) {
  all->items = malloc(((size_t)graph->count + 1) * sizeof *all->items);
  all->taken = calloc((size_t)graph->count + 1, sizeof *all->taken);
  if (!all->items || !all->taken) return error_no_memory(graph->error);
  for (uint32_t i = 0; i < graph->count; i++) {
    uint32_t module = taker_of(graph, i, is_around);
    if (module != NO_ROW) all->items[all->count++] = (struct takeable){module, graph->list[i].shape, i};
  }
  qsort(all->items, all->count, sizeof *all->items, compare_takeables);
  return TFPROF_OK;
}

static enum tfprof_status connect(struct ops_graph *graph, bool is_around, uint8_t *is_taken) {
  struct takeables all = {0};
  enum tfprof_status status = find_takeables(graph, is_around, &all);
  uint32_t count = graph->count;
  for (uint32_t i = 0; i < count && !status; i++) {
    const struct ops_node *node = &graph->list[i];
    if (i % ROWS_BLOCK == 0) status = derive_poll(graph->profile, graph->error);
    if (status || node->is_scope || node->shape || node->parent == NO_ROW || !node->shapes) continue;
    uint32_t first = find_takeable(&all, node->parent, 0);
    if (first == all.count || all.items[first].module != node->parent) continue;
    struct taking taking = {graph, i, &all, is_taken};
    status = ops_graph_shapes(graph, node->shapes, node->types, take_parameter, &taking);
  }
  free(all.items);
  free(all.taken);
  return status;
}

/* The ops that a module calls itself take its parameters, and then those of the modules within it that they use without
** calling them, as MultiheadAttention its out_proj: each the first op that has an input of its shape.  The place of
** that op in the program is the parameter's. */
static enum tfprof_status connect_parameters(struct ops_graph *graph) {
  uint8_t *is_taken = calloc((size_t)graph->count + 1, 1);
  enum tfprof_status status = is_taken ? connect(graph, false, is_taken) : error_no_memory(graph->error);
  if (!status) status = connect(graph, true, is_taken);
  free(is_taken);
  return status;
}

enum tfprof_status ops_graph_find_nodes(struct ops_graph *graph) {
  enum tfprof_status status = load_ops(graph);
  if (!status) status = find_kinds(graph);
  if (!status) {
    graph->nearest_kept = nearest_of_kinds(graph, OPS_SCOPE, OPS_OP);
    graph->nearest_module = nearest_of_kinds(graph, OPS_MODULE, OPS_MODULE);
    if (!graph->nearest_kept || !graph->nearest_module) status = error_no_memory(graph->error);
  }
  if (!status) status = load_modules(graph);
  size_t rows = (size_t)graph->op_count + 1;
  uint32_t *ways = malloc(2 * rows * sizeof *ways);
  graph->nodes = malloc(rows * sizeof *graph->nodes);
  graph->previous = malloc(((size_t)graph->thread_count + 1) * sizeof *graph->previous);
  if (!status && (!ways || !graph->nodes || !graph->previous)) status = error_no_memory(graph->error);
  if (!status) {
    memset(graph->nodes, 0xff, rows * sizeof *graph->nodes);
    memset(graph->previous, 0xff, ((size_t)graph->thread_count + 1) * sizeof *graph->previous);
  }
  for (uint32_t row = 0; row < graph->op_count && !status; row++) {
    if (row % ROWS_BLOCK == 0) status = derive_poll(graph->profile, graph->error);
    if (!status) status = add_op_row(graph, row, false, ways);
  }
  if (!status) status = connect_parameters(graph);
  if (!status && graph->is_too_deep)
    profile_diagnose_once(graph->profile, "info", "deep_names",
                          "ops lie so deep within each other that their names would be too long for the classic views: "
                          "they stand in those further out there");
  free(ways);
  return status;
}
