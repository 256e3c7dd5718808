/* model_changes.c: the columns of nodes that may change while a model is trained: those of the last row of node_changes
** for each node.  A source without such rows (a graph) has the columns itself.
*/
#include "derive/passes.h"
#include "derive/rows.h"
#include "store/scratch.h"

/* The columns that both tables have, of integers and of texts alike as numbers. */
static const struct {
  unsigned of_change, of_node;
  bool is_text;
} followed[] = {
    {COLUMN_node_changes_shape, COLUMN_nodes_shape, true},
    {COLUMN_node_changes_dtype, COLUMN_nodes_dtype, true},
    {COLUMN_node_changes_canonical_device, COLUMN_nodes_canonical_device, true},
    {COLUMN_node_changes_attributes, COLUMN_nodes_attributes, true},
    {COLUMN_node_changes_param_count, COLUMN_nodes_param_count, false},
    {COLUMN_node_changes_param_bytes, COLUMN_nodes_param_bytes, false},
    {COLUMN_node_changes_trainable, COLUMN_nodes_trainable, false},
};

static enum tfprof_status set(struct profile *profile, unsigned column, bool is_text, const int64_t *values,
                              uint32_t rows, struct tfprof_error *error) {
  if (!is_text) return derive_set_integers(profile, TABLE_nodes, column, values, error);
  string_id *texts = scratch_allocate((size_t)rows * sizeof *texts);
  if (!texts) return error_no_memory(error);
  for (uint32_t row = 0; row < rows; row++) texts[row] = values[row] == NO_VALUE ? 0 : (string_id)values[row];
  enum tfprof_status status = derive_set_texts(profile, TABLE_nodes, column, texts, error);
  scratch_free(texts);
  return status;
}

static enum tfprof_status run_model_changes(struct profile *profile, struct tfprof_error *error) {
  uint32_t nodes, changes, *owners = NULL, *last = NULL;
  int64_t *values = NULL, *times = NULL, *kinds = NULL, *result = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_nodes, &nodes, error);
  if (!status) status = derive_row_count(profile, TABLE_node_changes, &changes, error);
  if (status || !nodes || !changes) return status;
  int64_t removed = (int64_t)derive_known_text(profile, "removed");
  int64_t again = (int64_t)derive_known_text(profile, "made again");
  status = derive_all_references(profile, TABLE_node_changes, COLUMN_node_changes_node_id, &owners, error);
  if (!status) status = derive_all_integers(profile, TABLE_node_changes, COLUMN_node_changes_time_ns, &times, error);
  if (!status) status = derive_all_integers(profile, TABLE_node_changes, COLUMN_node_changes_kind, &kinds, error);
  last = scratch_allocate((size_t)nodes * sizeof *last);
  result = scratch_allocate((size_t)nodes * sizeof *result);
  if (!status && (!last || !result)) status = error_no_memory(error);
  for (uint32_t row = 0; row < nodes && !status; row++) last[row] = NO_ROW;
  for (uint32_t row = 0; row < changes && !status; row++)
    if (owners[row] < nodes && !(again && kinds[row] == again)) last[owners[row]] = row;
  for (size_t i = 0; i < sizeof followed / sizeof followed[0] && !status; i++) {
    status = derive_all_integers(profile, TABLE_node_changes, followed[i].of_change, &values, error);
    for (uint32_t row = 0; row < nodes && !status; row++)
      result[row] = last[row] == NO_ROW ? NO_VALUE : values[last[row]];
    if (!status) status = set(profile, followed[i].of_node, followed[i].is_text, result, nodes, error);
    scratch_free(values);
    values = NULL;
  }
  for (uint32_t row = 0; row < nodes && !status; row++) {
    bool is_removed = last[row] != NO_ROW && removed && kinds[last[row]] == removed;
    result[row] = is_removed ? times[last[row]] : NO_VALUE;
  }
  if (!status) status = set(profile, COLUMN_nodes_removed_ns, false, result, nodes, error);
  scratch_free(owners);
  scratch_free(times);
  scratch_free(kinds);
  scratch_free(last);
  scratch_free(result);
  return status;
}

const struct derive_pass derive_model_changes = {
    .name = "changes of the model",
    .summary = "What was last seen of a parameter is what it is.",
    .makes_table = -1,
    .reads = {{TABLE_node_changes, COLUMN_node_changes_node_id},
              {TABLE_node_changes, COLUMN_node_changes_time_ns},
              {TABLE_node_changes, COLUMN_node_changes_kind},
              {TABLE_node_changes, COLUMN_node_changes_shape},
              {TABLE_node_changes, COLUMN_node_changes_dtype},
              {TABLE_node_changes, COLUMN_node_changes_canonical_device},
              {TABLE_node_changes, COLUMN_node_changes_attributes},
              {TABLE_node_changes, COLUMN_node_changes_param_count},
              {TABLE_node_changes, COLUMN_node_changes_param_bytes},
              {TABLE_node_changes, COLUMN_node_changes_trainable}},
    .writes = {{TABLE_nodes, COLUMN_nodes_shape},
               {TABLE_nodes, COLUMN_nodes_dtype},
               {TABLE_nodes, COLUMN_nodes_canonical_device},
               {TABLE_nodes, COLUMN_nodes_attributes},
               {TABLE_nodes, COLUMN_nodes_param_count},
               {TABLE_nodes, COLUMN_nodes_param_bytes},
               {TABLE_nodes, COLUMN_nodes_trainable},
               {TABLE_nodes, COLUMN_nodes_removed_ns}},
    .run = run_model_changes,
};
