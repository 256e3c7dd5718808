/* ops_graph.h: a graph of nodes made from the ops of a profile that knows no graph: what a capture or a trace of
** PyTorch recorded, as the classic views see it.
**
** A node is an op in one place: within one module, range or calling op, from one place of the program, with inputs of
** one shape.  It runs as often as the op was called so.  Its name is the way to it, parted by "/":
**
**   SmallNetwork/features/0/aten::conv2d/aten::convolution     the module (features.0), the op, what it calls
**   SmallNetwork/features/0/weight                             a parameter, of type Parameter
**   Optimizer.step#AdamW.step/aten::add_                       a range that the program or PyTorch marked
**   gradients/SmallNetwork/classifier/aten::linear_grad/...    the gradient of an op, which is how TensorFlow names it
**
** and where several nodes would have one name, _1, _2 and so on behind it.  Times are self times and memory is what an
** op allocated itself, so that totals along the way count everything once.
**
** Inputs (graph view): an op takes the ops that it called, the parameters of its module whose shapes its inputs have
** (which makes its line theirs in the code view), and, in the gradient, the forward op; and by a control edge the op
** before it on its thread, as the order in which they were first seen.  So there are no circles.
*/
#ifndef TFPROF_CLASSIC_OPS_GRAPH_H
#define TFPROF_CLASSIC_OPS_GRAPH_H

#include "base/row_map.h"
#include "classic/views/classic.h"
#include "derive/rows.h"

enum ops_kind { OPS_LEFT_OUT, OPS_SCOPE, OPS_MODULE, OPS_OP }; /* of a row of ops */

struct ops_node {
  uint32_t parent;                /* NO_ROW: the root */
  string_id name, op;             /* full name; type */
  string_id shapes, types, shape; /* of inputs, as ops has them; of a parameter */
  uint32_t trace, row;            /* in code_traces; in nodes: NO_ROW for none */
  uint32_t accelerator;           /* row of devices; NO_ROW: it ran on the host */
  uint32_t last_exec;
  int64_t flops, parameters;
  bool is_scope, is_trainable, is_known_placed;
};

struct ops_edge {
  uint32_t node, source;
  bool is_control;
};

struct ops_exec {
  uint32_t node, step; /* row of steps; NO_ROW: outside all */
  uint32_t next;       /* of the same node; NO_ROW: none */
  int64_t runs, accelerator_ns, cpu_ns, requested_bytes, peak_bytes, residual_bytes;
};

struct ops_graph {
  struct profile *profile;
  struct tfprof_error *error;
  struct pool *pool;
  uint32_t op_count, module_rows;
  /* by row of ops */
  uint8_t *kinds; /* enum ops_kind */
  uint32_t *nearest_kept, *nearest_module; /* itself or the nearest around it that is not left out; that is a module */
  uint32_t *parents, *modules, *traces, *forwards, *threads, *steps, *nodes;
  string_id *names, *op_types, *shapes, *types; /* `types`: of the inputs */
  /* by row of nodes: the modules and parameters that the source knows; NO_ROW: none */
  uint32_t *node_of_module;
  uint32_t *kernel_nodes, *transfer_nodes; /* by row of kernels and transfers; NO_ROW: none */
  struct ops_node *list;
  uint32_t count, capacity;
  struct ops_edge *edges;
  uint32_t edge_count, edge_capacity;
  struct ops_exec *execs;
  uint32_t exec_count, exec_capacity;
  struct row_map exec_map; /* of node and step: which of execs */
  struct row_map node_map; /* of what tells nodes apart: which of list + 1 */
  uint32_t *previous; /* by thread: the node of an outermost op that was seen last for the first time */
  uint32_t thread_count;
  char *text; /* for names */
  size_t text_size;
  uint64_t name_bytes; /* of all */
  bool is_too_deep;    /* nodes stand higher up than they are, for the length of their names */
};

/* Fills list, edges and nodes. */
enum tfprof_status ops_graph_find_nodes(struct ops_graph *graph);
/* Fills execs, flops and where nodes ran; adds nodes for what devices did without a known op. */
enum tfprof_status ops_graph_add_costs(struct ops_graph *graph);
/* A node of its own below `parent`. */
enum tfprof_status ops_graph_node(struct ops_graph *graph, uint32_t parent, string_id name, uint32_t trace,
                                  string_id shapes, bool is_scope, uint32_t *node);
/* The columns of a table are readable after this. */
enum tfprof_status ops_graph_require(struct ops_graph *graph, unsigned table, const uint16_t *columns, size_t count);
/* A text column by row; the caller frees it. */
enum tfprof_status ops_graph_texts(struct ops_graph *graph, unsigned table, unsigned column, string_id **texts);
#define OPS_REQUIRE(graph, table, ...)                             \
  ops_graph_require(graph, table, (const uint16_t[]){__VA_ARGS__}, \
                    sizeof((const uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t))

/* Whether a range of that name is what tells a step. */
bool ops_is_step_mark(const char *name);

/* Calls `take` for each shape in a JSON list of shapes, "[[2,3],[]]": its place in the list, and itself as "2x3", "1"
** for a single number. `types`, the list beside it, tells which inputs are tensors; 0: all that have a shape. */
enum tfprof_status ops_graph_shapes(struct ops_graph *graph, string_id shapes, string_id types,
                                    enum tfprof_status (*take)(void *context, int32_t place, const char *shape,
                                                               size_t length),
                                    void *context);

#endif
