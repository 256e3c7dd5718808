/* recorded_calls.h: the shapes of what a node took, from the call that a source recorded of it ("MatMul(x, w:1, ^a)")
** and from what the nodes that it names gave in the same step. */
#ifndef TFPROF_DERIVE_RECORDED_CALLS_H
#define TFPROF_DERIVE_RECORDED_CALLS_H

#include "derive/flops/flops.h"
#include "derive/rows.h"

struct recorded_calls {
  const struct profile *profile;
  uint32_t node_count, row_count;  /* of nodes, of node_steps */
  uint32_t *nodes, *steps;         /* by row of node_steps */
  string_id *calls, *outputs;      /* by row of node_steps; outputs: JSON */
  string_id *graph_outputs;        /* by node: what the graph says */
  string_id *step_outputs;         /* by node: what the step said that is looked at */
  uint32_t *named;                 /* by text: the node of that name, NO_ROW */
  uint32_t named_count;
  char *text;                      /* what recorded_call_inputs() made last */
  size_t text_size;
};

/* Needs node_steps.node_id, step_id, recorded_call and output_shapes, nodes.name and output_shapes. Free with
** recorded_calls_free, also after a failure. */
enum tfprof_status recorded_calls_make(struct recorded_calls *calls, const struct profile *profile,
                                       struct tfprof_error *error);
void recorded_calls_free(struct recorded_calls *calls);
/* Where the rows end, from `first` on, that are of the same step; their calls can be asked for then. */
uint32_t recorded_calls_next_step(struct recorded_calls *calls, uint32_t first);
/* The op of a row's call. bytes NULL: it has none. */
struct flops_text recorded_call_op(const struct recorded_calls *calls, uint32_t row);
/* The shapes of its inputs as a JSON list; bytes NULL: no memory. */
struct flops_text recorded_call_inputs(struct recorded_calls *calls, uint32_t row);
/* A text of the profile. */
struct flops_text recorded_text(const struct recorded_calls *calls, string_id id);

#endif
