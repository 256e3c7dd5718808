/* publish.h: from a collected model to a profile of the store. */
#ifndef TFPROF_TENSORFLOW_PUBLISH_H
#define TFPROF_TENSORFLOW_PUBLISH_H

#include "read/eager_rows.h"
#include "read/tensorflow/model.h"

struct tf_checkpoint;
struct tf_kept_runs;

/* Adds a profile with the tables nodes, node_inputs, node_types, node_steps, steps, devices, threads, ops, kernels,
** allocations, counters, transfers, code_traces, code_frames and tensors. `source` names the format; its data is a struct tf_source, which takes over the
** checkpoint (NULL: none). */
enum tfprof_status tf_publish(struct tf_model *model, uint32_t run_number, const struct profile_source *source,
                              struct tf_checkpoint *checkpoint, const char *path, bool is_complete,
                              struct profile **profile);

/* What a profile of TensorFlow is loaded from after it was opened: its source_data. Either may be NULL. */
struct tf_source {
  struct tf_checkpoint *checkpoint;
  struct tf_kept_runs *runs;
};

/* ---- the parts of publish.c ---- */

/* Makes the rows of one table, a column at a time; errors go to the model. */
struct tf_rows {
  struct tf_model *model;
  uint32_t count;
  struct segment *segment;
  int64_t *values; /* of the column that is being filled: count numbers, TF_NULL for NULL */
};
#define TF_NULL ROW_NULL
/* A table without rows is left out: tf_rows_begin is true and `count` 0. False: no memory. */
bool tf_rows_begin(struct tf_rows *rows, struct tf_model *model, struct profile *profile, unsigned table, size_t count);
/* Makes `values` the column. */
bool tf_rows_set(struct tf_rows *rows, unsigned column);
/* Takes over `value`; NULL: there was no memory for it. */
bool tf_rows_take(struct tf_rows *rows, unsigned column, struct column *value);
bool tf_rows_set_constant(struct tf_rows *rows, unsigned column, int64_t value);
/* The column has no value in any row, and nothing derives one. */
bool tf_rows_set_absent(struct tf_rows *rows, unsigned column);
/* start_ns, dur_ns and end_ns; `values` holds the starts, `lengths` the durations. */
bool tf_rows_set_span(struct tf_rows *rows, unsigned start, unsigned dur, unsigned end, const int64_t *lengths);
void tf_rows_end(struct tf_rows *rows);

/* publish_graph.c: puts the nodes into the order of their names, scopes among them. order[i] is the model's node of row
** i, rows[n] the row of the model's node n, parents[i] the row of the enclosing scope, -1 at the top. */
struct tf_node_order {
  uint32_t *order, *rows;
  int64_t *parents;
};
bool tf_order_nodes(struct tf_model *model, struct tf_node_order *order);
void tf_node_order_free(struct tf_node_order *order);
bool tf_publish_nodes(struct tf_model *model, struct profile *profile, const struct tf_node_order *order);
bool tf_publish_inputs(struct tf_model *model, struct profile *profile, const struct tf_node_order *order);
bool tf_publish_types(struct tf_model *model, struct profile *profile, const struct tf_node_order *order);
bool tf_publish_traces(struct tf_model *model, struct profile *profile);
/* publish_steps.c */
bool tf_publish_devices(struct tf_model *model, struct profile *profile);
bool tf_publish_steps(struct tf_model *model, struct profile *profile, const struct tf_node_order *order);
/* publish_runs.c: exec_order[row of node_steps] is the execution. Takes the runs of the model. */
bool tf_publish_runs(struct tf_model *model, struct profile *profile, const uint32_t *exec_order);
void tf_kept_runs_free(struct tf_kept_runs *kept);
/* As source->load, of ops and kernels. */
enum tfprof_status tf_kept_runs_load(struct profile *profile, struct segment *segment, const uint16_t *columns,
                                     unsigned count, struct column **out, struct tfprof_error *error);
/* Widens the span to all runs. */
void tf_kept_runs_span(const struct tf_kept_runs *kept, int64_t *start_ns, int64_t *end_ns);
/* publish_memory.c; rank: row in steps of the model's steps */
bool tf_publish_memory(struct tf_model *model, struct profile *profile, const uint32_t *rank);
/* The row in devices of a canonical device, -1: none. */
int64_t tf_device_row(const struct tf_model *model, string_id lower);

#endif
