/* messages.h: the big messages, each read field by field as tf_file_fields() hands them out.
**
** Each function takes one field of the outermost message; `message` is the reader that the field comes from.  False:
** the model cannot go on.  What is damaged or unknown is left out and counted with tf_trouble().
*/
#ifndef TFPROF_TENSORFLOW_MESSAGES_H
#define TFPROF_TENSORFLOW_MESSAGES_H

#include "classic/read/values.h"

typedef bool tf_take_field(struct tf_model *model, struct wire_reader *message, const struct wire_field *field);

/* GraphDef: nodes, edges, shapes. A node that is there already stays as it is. */
tf_take_field tf_take_graph;
/* MetaGraphDef and SavedModel: the same of the graphs in them. */
tf_take_field tf_take_meta_graph, tf_take_saved_model;
/* RunMetadata: the statistics of model->step. */
tf_take_field tf_take_run_metadata;
/* RunMetadata: the nodes of its partition graphs, for when there is no GraphDef. */
tf_take_field tf_take_partition_graphs;
/* OpLogProto: types, flops and traces of nodes that the model has; nodes of its own when no graph was read. */
tf_take_field tf_take_op_log;
/* ProfileProto. */
tf_take_field tf_take_profile;

/* CodeDef; *trace becomes the row + 1 of the whole trace, 0 for an empty one. */
bool tf_read_code(struct tf_model *model, struct wire_reader *code, uint32_t *trace);

#endif
