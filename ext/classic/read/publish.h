/* publish.h: from a collected model to a profile of the store. */
#ifndef TFPROF_TENSORFLOW_PUBLISH_H
#define TFPROF_TENSORFLOW_PUBLISH_H

#include "read/rows/eager_rows.h"
#include "classic/read/model.h"

struct tf_checkpoint;

/* Adds a profile with the tables nodes, node_inputs, node_types, node_steps, steps, devices, threads, ops, kernels,
** allocations, counters, transfers, code_traces, code_frames and tensors. `source` names the format; its data is a
** struct tf_source, which takes over the checkpoint (NULL: none). */
enum tfprof_status tf_publish(struct tf_model *model, uint32_t run_number, const struct profile_source *source,
                              struct tf_checkpoint *checkpoint, const char *path, bool is_complete,
                              struct profile **profile);

/* What a profile of TensorFlow is loaded from after it was opened: its source_data. */
struct tf_source {
  struct tf_checkpoint *checkpoint; /* NULL: none */
  struct tf_packed runs, memory_points;
  int64_t *devices;     /* of lanes: the row of devices, ROW_NULL: none */
  bool *is_accelerator; /* of lanes */
};

/* ---- the parts of publish.c ---- */

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
/* publish_devices.c */
bool tf_publish_devices(struct tf_model *model, struct profile *profile);
/* The row in devices of a canonical device, -1: none. */
int64_t tf_device_row(const struct tf_model *model, string_id lower);
/* publish_steps.c */
bool tf_publish_steps(struct tf_model *model, struct profile *profile, const struct tf_node_order *order);
/* publish_warmup.c: after the nodes, steps and node_steps. */
bool tf_publish_warmup(struct tf_model *model, struct profile *profile);
/* publish_runs.c: takes the runs of the model. */
bool tf_publish_runs(struct tf_model *model, struct profile *profile);
/* As source->load, of ops and kernels. */
enum tfprof_status tf_load_runs(struct segment *segment, const uint16_t *columns, unsigned count, struct column **out,
                                struct tfprof_error *error);
/* A column of a table that is there from the start; NULL: no row has a value. */
static inline const struct column *tf_column_of(const struct profile *profile, unsigned table, unsigned column) {
  return profile->tables[table].segment_count ? profile->tables[table].segments[0]->columns[column] : NULL;
}
static inline int64_t tf_value_at(const struct column *column, int64_t row) {
  return !column || row < 0 || column_is_null(column, (uint32_t)row) ? ROW_NULL : column_integer(column, (uint32_t)row);
}
/* publish_memory.c: as source->load, of counters. */
enum tfprof_status tf_load_counters(struct segment *segment, const uint16_t *columns, unsigned count,
                                    struct column **out, struct tfprof_error *error);
/* publish_memory.c; rank: row in steps of the model's steps */
bool tf_publish_memory(struct tf_model *model, struct profile *profile, const uint32_t *rank);

#endif
