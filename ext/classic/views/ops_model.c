/* ops_model.c: the graph of ops_graph.h as the model that the classic views read. */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "classic/views/model.h"
#include "classic/views/ops_graph.h"

/* ---- the model ---- */

struct finishing {
  struct ops_graph *graph;
  struct classic_model *model;
  uint32_t *rank, *order; /* of nodes: place by name, and back */
  uint32_t input_capacity, input_count;
};

static int compare_type_names(const void *left, const void *right, void *context) {
  const struct ops_graph *graph = context;
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  int order = strcmp(pool_text(graph->pool, graph->list[a].name), pool_text(graph->pool, graph->list[b].name));
  return order ? order : a < b ? -1 : a > b;
}

/* "/device:gpu:0", in the form that patterns for TensorFlow's names match. */
static enum tfprof_status device_names(struct ops_graph *graph, string_id **names) {
  string_id *kinds = NULL;
  int64_t *ordinals = NULL;
  enum tfprof_status status = OPS_REQUIRE(graph, TABLE_devices, COLUMN_devices_kind, COLUMN_devices_ordinal);
  if (!status) status = ops_graph_texts(graph, TABLE_devices, COLUMN_devices_kind, &kinds);
  if (!status)
    status = derive_all_integers(graph->profile, TABLE_devices, COLUMN_devices_ordinal, &ordinals, graph->error);
  uint32_t rows = 0;
  if (!status) status = derive_row_count(graph->profile, TABLE_devices, &rows, graph->error);
  *names = calloc((size_t)rows + 1, sizeof **names);
  if (!status && !*names) status = error_no_memory(graph->error);
  for (uint32_t i = 0; i < rows && !status; i++) {
    char text[100];
    int length = snprintf(text, sizeof text, "/device:%.60s:%lld", kinds[i] ? pool_text(graph->pool, kinds[i]) : "gpu",
                          ordinals[i] == NO_VALUE ? 0LL : (long long)ordinals[i]);
    if (pool_intern(graph->pool, text, (size_t)length, &(*names)[i])) status = error_no_memory(graph->error);
  }
  free(kinds);
  scratch_free(ordinals);
  return status;
}

static enum tfprof_status fill_nodes(struct finishing *f) {
  struct ops_graph *graph = f->graph;
  struct classic_model *model = f->model;
  string_id *devices, host, trainable;
  uint32_t types = 0;
  enum tfprof_status status = device_names(graph, &model->device_names);
  devices = model->device_names;
  if (!status) status = derive_text(graph->profile, "/device:cpu:0", &host, graph->error);
  if (!status) status = derive_text(graph->profile, "_trainable_variables", &trainable, graph->error);
  model->nodes = calloc((size_t)graph->count + 1, sizeof *model->nodes);
  model->types = malloc(((size_t)graph->count * 3 + 1) * sizeof *model->types);
  if (!status && (!model->nodes || !model->types)) status = error_no_memory(graph->error);
  model->node_count = status ? 0 : graph->count;
  for (uint32_t i = 0; i < model->node_count; i++) {
    const struct ops_node *from = &graph->list[f->order[i]];
    struct classic_node *node = &model->nodes[i];
    *node = (struct classic_node){.name = from->name,
                                  .op = from->op,
                                  .shape = from->shape,
                                  .parameters = from->parameters,
                                  .row = from->row == NO_ROW ? -1 : (int64_t)from->row,
                                  .flops = from->flops,
                                  .trace = from->trace,
                                  .parent = from->parent == NO_ROW ? UINT32_MAX : f->rank[from->parent],
                                  .first_type = types,
                                  .is_scope = from->is_scope};
    if (from->is_known_placed) node->device = from->accelerator == NO_ROW ? host : devices[from->accelerator];
    if (from->op) model->types[types++] = from->op;
    if (node->device) model->types[types++] = node->device;
    if (from->is_trainable && !from->is_scope) model->types[types++] = trainable;
  }
  if (!status) model->nodes[model->node_count].first_type = types;
  return status;
}

static enum tfprof_status add_input(struct finishing *f, struct classic_input input) {
  struct classic_model *model = f->model;
  if (f->input_count == INT32_MAX || !array_room(model->inputs, f->input_count, f->input_capacity))
    return error_no_memory(f->graph->error);
  model->inputs[f->input_count++] = input;
  return TFPROF_OK;
}

static enum tfprof_status take_shape(void *context, int32_t place, const char *shape, size_t length) {
  struct finishing *f = context;
  struct classic_input input = {.position = place, .source = UINT32_MAX};
  if (pool_intern(f->graph->pool, shape, length, &input.shape)) return error_no_memory(f->graph->error);
  return add_input(f, input);
}

/* The inputs with their shapes, then the edges, of which it is not known which input they are. */
static enum tfprof_status fill_inputs(struct finishing *f) {
  struct ops_graph *graph = f->graph;
  uint32_t *first = calloc((size_t)graph->count + 2, sizeof *first),
           *edges = malloc(((size_t)graph->edge_count + 1) * sizeof *edges);
  enum tfprof_status status = first && edges ? add_input(f, (struct classic_input){0}) : error_no_memory(graph->error);
  f->input_count = 0; /* that was for the array to be there */
  if (!status) {
    for (uint32_t i = 0; i < graph->edge_count; i++) first[graph->edges[i].node + 1]++;
    for (uint32_t i = 0; i < graph->count; i++) first[i + 1] += first[i];
    first[graph->count + 1] = first[graph->count];
    for (uint32_t i = graph->edge_count; i-- > 0;) edges[--first[graph->edges[i].node + 1]] = i;
    /* By now those of a node begin at first[node + 1]. */
  }
  for (uint32_t i = 0; i < graph->count && !status; i++) {
    uint32_t made = f->order[i];
    f->model->nodes[i].first_input = f->input_count;
    status = ops_graph_shapes(graph, graph->list[made].shapes, graph->list[made].types, take_shape, f);
    for (uint32_t k = first[made + 1]; k < first[made + 2] && !status; k++) {
      const struct ops_edge *edge = &graph->edges[edges[k]];
      status = add_input(
          f, (struct classic_input){.position = -1, .source = f->rank[edge->source], .is_control = edge->is_control});
    }
  }
  if (!status) f->model->nodes[graph->count].first_input = f->input_count;
  free(first);
  free(edges);
  return status;
}

/* Hands over which node each op, kernel and transfer belongs to. */
static enum tfprof_status fill_nodes_of_rows(struct finishing *f) {
  struct ops_graph *graph = f->graph;
  struct classic_model *model = f->model;
  const struct {
    unsigned table;
    uint32_t **from, **to;
  } tables[] = {{TABLE_ops, &graph->nodes, &model->op_nodes},
                {TABLE_kernels, &graph->kernel_nodes, &model->kernel_nodes},
                {TABLE_transfers, &graph->transfer_nodes, &model->transfer_nodes}};
  enum tfprof_status status = TFPROF_OK;
  for (size_t t = 0; t < sizeof tables / sizeof *tables && !status; t++) {
    uint32_t rows = 0, *nodes = *tables[t].from;
    status = derive_row_count(graph->profile, tables[t].table, &rows, graph->error);
    for (uint32_t i = 0; i < rows && nodes && !status; i++)
      if (nodes[i] != NO_ROW) nodes[i] = f->rank[nodes[i]];
    *tables[t].to = nodes;
    *tables[t].from = NULL;
  }
  return status;
}

/* What the average over steps leaves out: warm-up where there is more, and what lies outside all steps where there are
** any. */
enum { IS_STEP, IS_WARMUP, IS_OUTSIDE };

static int kind_of_step(uint32_t step, const int64_t *warmup, uint32_t steps) {
  if (step >= steps) return IS_OUTSIDE;
  return warmup[step] == 1 ? IS_WARMUP : IS_STEP;
}

static enum tfprof_status fill_execs(struct finishing *f) {
  struct ops_graph *graph = f->graph;
  struct classic_model *model = f->model;
  int64_t *warmup = NULL;
  uint32_t steps = 0, count = 0;
  enum tfprof_status status = OPS_REQUIRE(graph, TABLE_steps, COLUMN_steps_is_warmup);
  if (!status) status = derive_all_integers(graph->profile, TABLE_steps, COLUMN_steps_is_warmup, &warmup, graph->error);
  if (!status) status = derive_row_count(graph->profile, TABLE_steps, &steps, graph->error);
  model->execs = malloc(((size_t)graph->exec_count + 1) * sizeof *model->execs);
  if (!status && !model->execs) status = error_no_memory(graph->error);
  for (uint32_t i = 0; i < graph->count && !status; i++) {
    int best = IS_OUTSIDE;
    uint32_t begin = model->nodes[i].first_exec = count;
    for (uint32_t at = graph->list[f->order[i]].last_exec; at != NO_ROW; at = graph->execs[at].next) {
      const struct ops_exec *from = &graph->execs[at];
      int kind = kind_of_step(from->step, warmup, steps);
      struct classic_exec *exec = &model->execs[count++];
      *exec = (struct classic_exec){.step = from->step == NO_ROW && steps == 0 ? 0 : from->step};
      exec->of[METRIC_bytes] = from->requested_bytes;
      exec->of[METRIC_peak_bytes] = from->peak_bytes;
      exec->of[METRIC_residual_bytes] = from->residual_bytes;
      exec->of[METRIC_output_bytes] = from->residual_bytes; /* what outlives an op is what it put out */
      exec->of[METRIC_accelerator_micros] = from->accelerator_ns;
      exec->of[METRIC_cpu_micros] = from->cpu_ns;
      exec->of[METRIC_occurrence] = from->runs;
      best = kind < best ? kind : best;
    }
    for (uint32_t k = begin; k < count; k++) {
      model->execs[k].is_aside = kind_of_step(model->execs[k].step, warmup, steps) > best;
    }
  }
  if (!status) model->nodes[graph->count].first_exec = count;
  model->is_in_nanoseconds = true;
  scratch_free(warmup);
  return status;
}

/* A profile without steps counts as one, number 0. */
static enum tfprof_status fill_steps(struct finishing *f) {
  struct ops_graph *graph = f->graph;
  uint32_t rows = 0;
  int64_t *numbers = NULL;
  enum tfprof_status status = OPS_REQUIRE(graph, TABLE_steps, COLUMN_steps_number);
  if (!status) status = derive_row_count(graph->profile, TABLE_steps, &rows, graph->error);
  if (!status) status = derive_all_integers(graph->profile, TABLE_steps, COLUMN_steps_number, &numbers, graph->error);
  if (status) return status;
  f->model->steps = calloc((size_t)rows + 1, sizeof *f->model->steps);
  if (!f->model->steps) status = error_no_memory(graph->error);
  for (uint32_t i = 0; i < rows && !status; i++)
    f->model->steps[i] = numbers[i] == NO_VALUE ? (int64_t)i : numbers[i];
  f->model->step_count = status ? 0 : rows ? rows : 1;
  scratch_free(numbers);
  return status;
}

static void graph_free(struct ops_graph *graph) {
  void *const scratch[] = {graph->parents,  graph->modules, graph->traces,
                           graph->forwards, graph->threads, graph->steps};
  void *const parts[] = {graph->nearest_kept,   graph->nearest_module, graph->kinds,          graph->nodes,
                         graph->names,          graph->op_types,       graph->shapes,         graph->types,
                         graph->node_of_module, graph->kernel_nodes,   graph->transfer_nodes, graph->list,
                         graph->edges,          graph->execs,          graph->previous,       graph->text};
  for (size_t i = 0; i < sizeof scratch / sizeof *scratch; i++) scratch_free(scratch[i]);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) free(parts[i]);
  row_map_free(&graph->exec_map);
  row_map_free(&graph->node_map);
}

bool classic_is_of_ops(const struct profile *profile) {
  const struct profile_table *tables = profile->tables, *accounted = &tables[TABLE_node_steps];
  bool has_work = tables[TABLE_ops].segment_count || tables[TABLE_kernels].segment_count;
  /* Nodes of a graph have types; modules, which ProfileContext may write before any step, have none. */
  bool has_modules = tables[TABLE_nodes].segment_count && !tables[TABLE_node_types].segment_count;
  bool has_runs = tables[TABLE_node_runs].segment_count; /* of sessions, which node_steps adds up */
  return (has_work || has_modules) && ((accounted->is_made && !has_runs) || accounted->segment_count == 0);
}

enum tfprof_status classic_model_of_ops(struct classic_model *model, struct profile *profile,
                                        struct tfprof_error *error) {
  struct ops_graph graph = {.profile = profile, .error = error, .pool = store_pool(profile->store)};
  struct finishing f = {.graph = &graph, .model = model};
  enum tfprof_status status = ops_graph_find_nodes(&graph);
  if (!status) status = ops_graph_add_costs(&graph);
  f.rank = malloc(((size_t)graph.count + 1) * sizeof *f.rank);
  f.order = malloc(((size_t)graph.count + 1) * sizeof *f.order);
  if (!status && (!f.rank || !f.order)) status = error_no_memory(error);
  if (!status) {
    for (uint32_t i = 0; i < graph.count; i++) f.order[i] = i;
    qsort_r(f.order, graph.count, sizeof *f.order, compare_type_names, &graph);
    for (uint32_t i = 0; i < graph.count; i++) f.rank[f.order[i]] = i;
    status = fill_nodes(&f);
  }
  if (!status) status = fill_nodes_of_rows(&f);
  if (!status) status = fill_inputs(&f);
  if (!status) status = fill_execs(&f);
  if (!status) status = fill_steps(&f);
  free(f.rank);
  free(f.order);
  graph_free(&graph);
  return status;
}
