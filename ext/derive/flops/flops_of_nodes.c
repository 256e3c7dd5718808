/* flops_of_nodes.c: nodes.flops and node_steps.flops: what the nodes of a graph of TensorFlow compute.
**
** What the source has of a node (an OpLog, a ProfileProto) is taken as it is.  Else flops.def counts from the shapes
** that the graph knows, or that follow from its constants (nodes.inferred_shapes), and, where it does not know them,
** from those of what ran: of a batch of any size, of functions, whose nodes the runtime puts into the graph under
** names of its own, of loops and conditions.  These may differ from step to step, so each step has its own, and the
** node the mean of its runs.  Without any step the nodes of functions stand in the places of calls, those of loops
** and conditions once, as the reader puts them there (functions.c).  The last run of a step stands for those of a
** loop.  A source that has flops of some nodes has them of all that TensorFlow can count in the graph, and those that
** it leaves out there have none.
**
** Nodes that have none are told: those of a type with a formula whose shapes nothing tells, and those that compute
** something by a type that has no formula.
*/
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "derive/flops/recorded_calls.h"
#include "derive/passes.h"

enum type_kind { TYPE_UNKNOWN, TYPE_COUNTED, TYPE_WITHOUT_FORMULA, TYPE_COMPUTES_NOTHING };

struct node_flops {
  struct profile *profile;
  struct recorded_calls calls;
  struct flops_call *call;
  uint32_t node_count, row_count;
  string_id *types, *attributes;  /* by node */
  string_id *inferred;            /* by node: shapes of outputs that the graph does not tell */
  string_id *functions;           /* by node: what it is a node of, in the place of a call; 0: the graph's own */
  int64_t *told, *is_scope;       /* by node */
  int64_t *flops;                 /* by node: of one run */
  string_id *origins;             /* by node */
  int64_t *run_counts, *of_steps; /* by row of node_steps */
  uint8_t *type_kinds;            /* by text: enum type_kind */
  string_id source, graph, run;
  string_id left_out;             /* as an origin: the source could tell, and does not */
  bool has_told;
};

/* Types that move, hold or order values, in the order of their bytes: there is nothing of them to be counted. */
static bool computes_nothing(struct flops_text type) {
  static const char *const moving[] = {
      "Assert", "Assign", "AssignVariableOp", "Bitcast", "BroadcastGradientArgs", "BroadcastTo", "Case", "Cast",
      "Concat", "ConcatOffset", "ConcatV2", "Const", "DynamicPartition", "DynamicStitch", "Empty", "EnsureShape",
      "Enter", "Exit", "ExpandDims", "FIFOQueueV2", "FakeParam", "Fill", "Gather", "GatherNd", "GatherV2", "Identity",
      "IdentityN", "If", "InvertPermutation", "LoopCond", "Merge", "MergeV2Checkpoints", "MirrorPad", "NextIteration",
      "NoOp", "OneHot", "Pack", "Pad", "PadV2", "ParallelConcat", "ParallelDynamicStitch", "PartitionedCall",
      "Placeholder", "PlaceholderWithDefault", "PreventGradient", "Print", "PrintV2", "QueueDequeueV2",
      "QueueEnqueueV2", "Range", "Rank", "ReadVariableOp", "RefEnter", "RefExit", "RefMerge", "RefNextIteration",
      "RefSwitch", "Reshape", "ResourceGather", "RestoreV2", "ReverseV2", "SaveV2", "ScatterNd", "Shape", "ShapeN",
      "ShardedFilename", "Size", "Slice", "Snapshot", "SpaceToBatchND", "Split", "SplitV", "Squeeze", "StackPopV2",
      "StackPushV2", "StackV2", "StatefulPartitionedCall", "StatelessIf", "StatelessWhile", "StopGradient",
      "StridedSlice", "StridedSliceGrad", "StringJoin", "Switch", "TensorArrayReadV3", "TensorArrayScatterV3",
      "TensorArrayV3", "TensorArrayWriteV3", "TensorListFromTensor", "TensorListGetItem", "TensorListPopBack",
      "TensorListPushBack", "TensorListReserve", "TensorListSetItem", "TensorListStack", "Tile", "Transpose", "Unpack",
      "VarHandleOp", "VarIsInitializedOp", "Variable", "VariableShape", "VariableV2", "While", "ZerosLike", "_Arg",
      "_HostRecv", "_HostSend", "_Recv", "_Retval", "_Send"};
  for (size_t low = 0, high = sizeof moving / sizeof moving[0]; low < high;) {
    size_t middle = low + (high - low) / 2, length = strlen(moving[middle]);
    int order = memcmp(type.bytes, moving[middle], length < type.length ? length : type.length);
    if (!order) order = (type.length > length) - (type.length < length);
    if (!order) return true;
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  return false;
}

static enum type_kind kind_of_node(struct node_flops *n, uint32_t node) {
  string_id type = n->types[node];
  struct flops_text text = recorded_text(&n->calls, type);
  if (!text.bytes || n->is_scope[node] == 1) return TYPE_COMPUTES_NOTHING;
  if (!n->type_kinds[type]) {
    const struct flops_formula *formula = flops_find(text.bytes, text.length);
    bool is_counted = formula && formula->kind == FLOPS_CLASSIC;
    n->type_kinds[type] = is_counted               ? TYPE_COUNTED
                          : computes_nothing(text) ? TYPE_COMPUTES_NOTHING
                                                   : TYPE_WITHOUT_FORMULA;
  }
  return (enum type_kind)n->type_kinds[type];
}

static bool is_wanted(struct node_flops *n, uint32_t node) {
  return n->origins[node] == 0 && kind_of_node(n, node) == TYPE_COUNTED;
}

/* NO_VALUE: not known, or too large. */
static int64_t count_node(struct node_flops *n, uint32_t node, struct flops_text inputs, struct flops_text outputs) {
  int64_t flops;
  enum flops_status status = flops_count(n->call, recorded_text(&n->calls, n->types[node]), inputs, outputs,
                                         recorded_text(&n->calls, n->attributes[node]), &flops);
  return status == FLOPS_KNOWN ? flops : NO_VALUE;
}

/* ---- from the graph ---- */

/* A list of shapes as it grows. */
struct shapes {
  char *text;
  size_t length, size;
  uint32_t count;
};

static bool add_input_shape(struct shapes *shapes, struct flops_text shape, bool is_json) {
  if (!array_reserve(shapes->text, shapes->size, shapes->length + shape.length + 8)) return false;
  char *at = shapes->text + shapes->length;
  *at++ = shapes->count++ ? ',' : '[';
  if (!shape.bytes) at = (char *)memcpy(at, "null", 4) + 4;
  else {
    if (!is_json) *at++ = '"';
    at = (char *)memcpy(at, shape.bytes, shape.length) + shape.length;
    if (!is_json) *at++ = '"';
  }
  shapes->length = (size_t)(at - shapes->text);
  return true;
}

/* TensorFlow counts the node where it knows its shapes, but for images whose channels lie second. */
static bool is_of_tensorflow(struct node_flops *n, uint32_t node) {
  struct flops_text type = recorded_text(&n->calls, n->types[node]),
                    attributes = recorded_text(&n->calls, n->attributes[node]);
  const struct flops_formula *formula = flops_find(type.bytes, type.length);
  static const char second[] = "\"data_format\":\"NC";
  bool has_second = attributes.bytes && memmem(attributes.bytes, attributes.length, second, sizeof second - 1);
  return formula && flops_is_of_tensorflow(formula) && !has_second;
}

static void count_by_graph(struct node_flops *n, uint32_t node, struct shapes *shapes) {
  struct flops_text inputs = {"[]", 2};
  if (shapes->count) {
    shapes->text[shapes->length++] = ']'; /* add_shape left room */
    inputs = (struct flops_text){shapes->text, shapes->length};
  }
  string_id outputs = n->calls.graph_outputs[node] ? n->calls.graph_outputs[node] : n->inferred[node];
  int64_t flops = count_node(n, node, inputs, recorded_text(&n->calls, outputs));
  shapes->length = shapes->count = 0;
  if (flops == NO_VALUE) return;
  bool is_left_out = n->has_told && !n->functions[node] && is_of_tensorflow(n, node);
  n->origins[node] = is_left_out ? n->left_out : n->graph;
  if (!is_left_out) n->flops[node] = flops;
}

/* Of the only output of a node, without the brackets of the list; bytes NULL: not known. */
static struct flops_text inferred_shape(struct node_flops *n, uint32_t source, int64_t output) {
  struct flops_text text = source == NO_ROW || output != 0 ? (struct flops_text){NULL, 0}
                                                           : recorded_text(&n->calls, n->inferred[source]);
  return text.bytes && text.length > 2 ? (struct flops_text){text.bytes + 1, text.length - 2}
                                       : (struct flops_text){NULL, 0};
}

/* Edges of a node lie together, as readers of graphs make them. */
static enum tfprof_status count_graph(struct node_flops *n, struct tfprof_error *error) {
  struct row_block block = {0};
  struct shapes shapes = {0};
  uint32_t node = NO_ROW;
  enum tfprof_status status = TFPROF_OK;
  while (derive_next_block(n->profile, TABLE_node_inputs, &block, &status, error)) {
    uint32_t nodes[ROWS_BLOCK], sources[ROWS_BLOCK];
    int64_t controls[ROWS_BLOCK], outputs[ROWS_BLOCK];
    string_id texts[ROWS_BLOCK];
    block_references(&block, COLUMN_node_inputs_node_id, n->node_count, nodes);
    block_references(&block, COLUMN_node_inputs_source_node_id, n->node_count, sources);
    block_integers(&block, COLUMN_node_inputs_source_output, outputs);
    block_integers(&block, COLUMN_node_inputs_is_control, controls);
    block_texts(&block, COLUMN_node_inputs_shape, texts);
    for (uint32_t i = 0; i < block.count && !status; i++) {
      if (nodes[i] != node && node != NO_ROW && is_wanted(n, node)) count_by_graph(n, node, &shapes);
      node = nodes[i];
      if (node == NO_ROW || controls[i] == 1 || !is_wanted(n, node)) continue;
      struct flops_text shape =
          texts[i] ? recorded_text(&n->calls, texts[i]) : inferred_shape(n, sources[i], outputs[i]);
      if (!add_input_shape(&shapes, shape, !texts[i])) status = error_no_memory(error);
    }
  }
  if (!status && node != NO_ROW && is_wanted(n, node)) count_by_graph(n, node, &shapes);
  free(shapes.text);
  return status;
}

/* ---- from what ran ---- */

static bool is_op_of_node(struct node_flops *n, uint32_t row, uint32_t node) {
  struct flops_text op = recorded_call_op(&n->calls, row), type = recorded_text(&n->calls, n->types[node]);
  return op.bytes && op.length == type.length && !memcmp(op.bytes, type.bytes, op.length);
}

static int64_t times_runs(int64_t flops, int64_t runs) {
  int64_t product;
  return flops == NO_VALUE || runs == NO_VALUE || __builtin_mul_overflow(flops, runs, &product) ? NO_VALUE : product;
}

struct mean {
  double flops, runs;
};

static enum tfprof_status count_runs(struct node_flops *n, struct tfprof_error *error) {
  struct mean *means = scratch_allocate_zeroed((size_t)n->node_count + 1, sizeof *means);
  enum tfprof_status status = means ? TFPROF_OK : error_no_memory(error);
  for (uint32_t first = 0, end; first < n->row_count && !status; first = end) {
    end = recorded_calls_next_step(&n->calls, first);
    status = derive_poll(n->profile, error);
    for (uint32_t row = first; row < end && !status; row++) {
      uint32_t node = n->calls.nodes[row];
      if (node >= n->node_count || !is_wanted(n, node) || !is_op_of_node(n, row, node)) continue;
      struct flops_text inputs = recorded_call_inputs(&n->calls, row);
      if (!inputs.bytes) status = error_no_memory(error);
      else if (n->run_counts[row] > 0) {
        int64_t flops = count_node(n, node, inputs, recorded_text(&n->calls, n->calls.outputs[row]));
        n->of_steps[row] = times_runs(flops, n->run_counts[row]);
        if (n->of_steps[row] == NO_VALUE) continue;
        means[node].flops += (double)n->of_steps[row];
        means[node].runs += (double)n->run_counts[row];
        n->flops[node] = flops;
      }
    }
  }
  for (uint32_t node = 0; node < n->node_count && !status; node++) {
    if (!(means[node].runs > 0)) continue;
    double mean = means[node].flops / means[node].runs;
    if (mean < 9e15) n->flops[node] = (int64_t)(mean + 0.5); /* larger ones stay that of the last run */
    n->origins[node] = n->run;
  }
  scratch_free(means);
  return status;
}

/* ---- all ---- */

static const char *const node_flops_texts[] = {
    "source", "graph", "run", "info", "flops_without_shapes",
    "nodes have no floating point operations, as neither the graph nor a step tells the shapes that they work on",
    "flops_without_formula",
    "nodes have no floating point operations, as their types have no formula; flops_formula() says which have", NULL};

static void tell_missing(struct node_flops *n) {
  int64_t without_shapes = 0, without_formula = 0, known = 0;
  for (uint32_t node = 0; node < n->node_count; node++) {
    known += n->origins[node] != 0;
    if (n->origins[node]) continue;
    enum type_kind kind = kind_of_node(n, node);
    without_shapes += kind == TYPE_COUNTED;
    without_formula += kind == TYPE_WITHOUT_FORMULA;
  }
  struct segment *segment = n->profile->tables[TABLE_nodes].segments[0];
  if (!known && !without_shapes) return; /* no graph of TensorFlow */
  if (without_shapes)
    segment_diagnose(segment, COLUMN_nodes_flops, node_flops_texts[3], node_flops_texts[4], without_shapes, -1, "%s",
                     node_flops_texts[5]);
  if (without_formula)
    segment_diagnose(segment, COLUMN_nodes_flops, node_flops_texts[3], node_flops_texts[6], without_formula, -1, "%s",
                     node_flops_texts[7]);
}

static enum tfprof_status read_node_texts(struct node_flops *n, struct tfprof_error *error) {
  struct row_block block = {0};
  enum tfprof_status status = TFPROF_OK;
  while (derive_next_block(n->profile, TABLE_nodes, &block, &status, error)) {
    block_texts(&block, COLUMN_nodes_op_type, n->types + block.row);
    block_texts(&block, COLUMN_nodes_attributes, n->attributes + block.row);
    block_texts(&block, COLUMN_nodes_function, n->functions + block.row);
    block_texts(&block, COLUMN_nodes_inferred_shapes, n->inferred + block.row);
  }
  return status;
}

static enum tfprof_status prepare_flops(struct node_flops *n, struct tfprof_error *error) {
  enum tfprof_status status = recorded_calls_make(&n->calls, n->profile, error);
  n->node_count = n->calls.node_count;
  n->row_count = n->calls.row_count;
  if (!status) status = derive_all_integers(n->profile, TABLE_nodes, COLUMN_nodes_told_flops, &n->told, error);
  if (!status) status = derive_all_integers(n->profile, TABLE_nodes, COLUMN_nodes_is_scope, &n->is_scope, error);
  if (!status)
    status = derive_all_integers(n->profile, TABLE_node_steps, COLUMN_node_steps_run_count, &n->run_counts, error);
  size_t nodes = (size_t)n->node_count + 1, rows = (size_t)n->row_count + 1;
  n->types = scratch_allocate_zeroed(nodes, sizeof *n->types);
  n->attributes = scratch_allocate_zeroed(nodes, sizeof *n->attributes);
  n->functions = scratch_allocate_zeroed(nodes, sizeof *n->functions);
  n->inferred = scratch_allocate_zeroed(nodes, sizeof *n->inferred);
  n->flops = scratch_allocate(nodes * sizeof *n->flops);
  n->origins = scratch_allocate_zeroed(nodes, sizeof *n->origins);
  n->of_steps = scratch_allocate(rows * sizeof *n->of_steps);
  n->type_kinds = scratch_allocate_zeroed((size_t)pool_count(store_pool(n->profile->store)) + 1, 1);
  n->call = flops_call_create();
  bool ok = n->types && n->attributes && n->functions && n->inferred && n->flops && n->origins && n->of_steps &&
            n->type_kinds && n->call;
  if (!status && !ok) status = error_no_memory(error);
  if (status) return status;
  n->source = derive_known_text(n->profile, "source");
  n->graph = derive_known_text(n->profile, "graph");
  n->run = derive_known_text(n->profile, "run");
  n->left_out = derive_known_text(n->profile, "flops_without_shapes"); /* any that is no origin */
  for (uint32_t row = 0; row < n->row_count; row++) n->of_steps[row] = NO_VALUE;
  for (uint32_t node = 0; node < n->node_count; node++) {
    n->flops[node] = n->told[node];
    if (n->told[node] == NO_VALUE) continue;
    n->origins[node] = n->source;
    n->has_told = true;
  }
  return read_node_texts(n, error);
}

static enum tfprof_status run_flops_of_nodes(struct profile *profile, struct tfprof_error *error) {
  struct node_flops n = {.profile = profile};
  enum tfprof_status status = TFPROF_OK;
  if (!profile->tables[TABLE_nodes].segment_count) return TFPROF_OK;
  status = prepare_flops(&n, error);
  if (!status) status = count_graph(&n, error);
  if (!status) status = count_runs(&n, error);
  for (uint32_t row = 0; row < n.row_count && !status; row++) {
    uint32_t node = n.calls.nodes[row];
    if (node < n.node_count && n.origins[node] != n.run) n.of_steps[row] = times_runs(n.flops[node], n.run_counts[row]);
  }
  for (uint32_t node = 0; node < n.node_count && !status; node++)
    if (n.origins[node] == n.left_out) n.origins[node] = 0;
  if (!status) status = derive_set_integers(profile, TABLE_nodes, COLUMN_nodes_flops, n.flops, error);
  if (!status) status = derive_set_texts(profile, TABLE_nodes, COLUMN_nodes_flops_origin, n.origins, error);
  if (!status) status = derive_set_integers(profile, TABLE_node_steps, COLUMN_node_steps_flops, n.of_steps, error);
  if (!status) tell_missing(&n);
  recorded_calls_free(&n.calls);
  flops_call_free(n.call);
  scratch_free(n.types);
  scratch_free(n.attributes);
  scratch_free(n.functions);
  scratch_free(n.inferred);
  scratch_free(n.told);
  scratch_free(n.is_scope);
  scratch_free(n.flops);
  scratch_free(n.origins);
  scratch_free(n.run_counts);
  scratch_free(n.of_steps);
  scratch_free(n.type_kinds);
  return status;
}

/* A source without graphs: none of these columns can be there. */
static bool has_no_graph(const struct profile *profile) {
  const struct profile_table *nodes = &profile->tables[TABLE_nodes];
  if (!nodes->segment_count) return true;
  const struct column_set *raw = &nodes->segments[0]->is_raw;
  return !column_set_has(raw, COLUMN_nodes_told_flops) && !column_set_has(raw, COLUMN_nodes_output_shapes) &&
         !column_set_has(raw, COLUMN_nodes_inferred_shapes) && !column_set_has(raw, COLUMN_nodes_is_runtime);
}

const struct derive_pass derive_flops_of_nodes = {
    .name = "flops of nodes",
    .summary = "What the source tells, else formulas of flops.def on shapes of the graph or of what ran.",
    .makes_table = -1,
    .reads = {{TABLE_nodes, COLUMN_nodes_name},
              {TABLE_nodes, COLUMN_nodes_op_type},
              {TABLE_nodes, COLUMN_nodes_attributes},
              {TABLE_nodes, COLUMN_nodes_told_flops},
              {TABLE_nodes, COLUMN_nodes_function},
              {TABLE_nodes, COLUMN_nodes_is_scope},
              {TABLE_nodes, COLUMN_nodes_output_shapes},
              {TABLE_nodes, COLUMN_nodes_inferred_shapes},
              {TABLE_node_inputs, COLUMN_node_inputs_node_id},
              {TABLE_node_inputs, COLUMN_node_inputs_source_node_id},
              {TABLE_node_inputs, COLUMN_node_inputs_source_output},
              {TABLE_node_inputs, COLUMN_node_inputs_is_control},
              {TABLE_node_inputs, COLUMN_node_inputs_shape},
              {TABLE_node_steps, COLUMN_node_steps_node_id},
              {TABLE_node_steps, COLUMN_node_steps_step_id},
              {TABLE_node_steps, COLUMN_node_steps_run_count},
              {TABLE_node_steps, COLUMN_node_steps_recorded_call},
              {TABLE_node_steps, COLUMN_node_steps_output_shapes}},
    .writes = {{TABLE_nodes, COLUMN_nodes_flops},
               {TABLE_nodes, COLUMN_nodes_flops_origin},
               {TABLE_node_steps, COLUMN_node_steps_flops}},
    .run = run_flops_of_nodes,
    .has_diagnostics = true,
    .texts = node_flops_texts,
    .is_idle = has_no_graph,
};

/* ---- the shapes themselves ---- */

static enum tfprof_status run_input_shapes_of_runs(struct profile *profile, struct tfprof_error *error) {
  struct recorded_calls calls;
  enum tfprof_status status = recorded_calls_make(&calls, profile, error);
  string_id *shapes = scratch_allocate_zeroed((size_t)calls.row_count + 1, sizeof *shapes);
  if (!status && !shapes) status = error_no_memory(error);
  for (uint32_t first = 0, end; first < calls.row_count && !status; first = end) {
    end = recorded_calls_next_step(&calls, first);
    status = derive_poll(profile, error);
    for (uint32_t row = first; row < end && !status; row++) {
      if (!calls.calls[row]) continue;
      struct flops_text inputs = recorded_call_inputs(&calls, row);
      status = inputs.bytes ? pool_intern(store_pool(profile->store), inputs.bytes, inputs.length, &shapes[row])
                            : TFPROF_NO_MEMORY;
      if (status) status = error_no_memory(error);
    }
  }
  if (!status)
    status = derive_set_texts(profile, TABLE_node_steps, COLUMN_node_steps_input_shapes, shapes, error);
  recorded_calls_free(&calls);
  scratch_free(shapes);
  return status;
}

static bool has_no_calls(const struct profile *profile) {
  const struct profile_table *rows = &profile->tables[TABLE_node_steps], *runs = &profile->tables[TABLE_node_runs];
  if (rows->is_made) return !runs->segment_count;
  return !rows->segment_count ||
         !column_set_has(&rows->segments[0]->is_raw, COLUMN_node_steps_recorded_call);
}

const struct derive_pass derive_input_shapes_of_runs = {
    .name = "input shapes of runs",
    .summary = "What the nodes that a call names gave in its step.",
    .makes_table = -1,
    .reads = {{TABLE_nodes, COLUMN_nodes_name},
              {TABLE_nodes, COLUMN_nodes_output_shapes},
              {TABLE_node_steps, COLUMN_node_steps_node_id},
              {TABLE_node_steps, COLUMN_node_steps_step_id},
              {TABLE_node_steps, COLUMN_node_steps_recorded_call},
              {TABLE_node_steps, COLUMN_node_steps_output_shapes}},
    .writes = {{TABLE_node_steps, COLUMN_node_steps_input_shapes}},
    .run = run_input_shapes_of_runs,
    .is_alone = true, /* it makes texts */
    .is_idle = has_no_calls,
};
