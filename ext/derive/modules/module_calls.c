/* module_calls.c: module_calls.node_id, the module that was called: the capture names it by its number, before it is
** known what it is.
*/
#include "derive/modules/module_numbers.h"
#include "derive/passes.h"

static enum tfprof_status set_nodes(struct profile *profile, const struct module_numbers *numbers,
                                    struct tfprof_error *error) {
  uint32_t rows;
  int64_t *values = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_module_calls, &rows, error);
  if (!status)
    status = derive_all_integers(profile, TABLE_module_calls, COLUMN_module_calls_recorded_module, &values, error);
  uint32_t *nodes = status ? NULL : scratch_allocate((size_t)rows * sizeof *nodes);
  if (!status && !nodes) status = error_no_memory(error);
  for (uint32_t row = 0; row < rows && !status; row++)
    nodes[row] = values[row] == NO_VALUE ? NO_ROW : module_numbers_node(numbers, values[row]);
  if (!status) status = derive_set_references(profile, TABLE_module_calls, COLUMN_module_calls_node_id, nodes, error);
  scratch_free(nodes);
  scratch_free(values);
  return status;
}

static enum tfprof_status run_module_calls(struct profile *profile, struct tfprof_error *error) {
  struct module_numbers numbers = {.owners = NULL};
  if (!derive_has_value(profile, TABLE_module_calls, COLUMN_module_calls_recorded_module)) return TFPROF_OK;
  enum tfprof_status status = module_numbers_make(&numbers, profile, error);
  if (!status) status = set_nodes(profile, &numbers, error);
  module_numbers_free(&numbers);
  return status;
}

const struct derive_pass derive_module_calls = {
    .name = "modules of calls",
    .summary = "The module with the number that the call was recorded with.",
    .makes_table = -1,
    .reads = {{TABLE_module_calls, COLUMN_module_calls_recorded_module},
              {TABLE_nodes, COLUMN_nodes_recorded_module},
              {TABLE_node_changes, COLUMN_node_changes_recorded_module},
              {TABLE_node_changes, COLUMN_node_changes_node_id}},
    .writes = {{TABLE_module_calls, COLUMN_module_calls_node_id}},
    .run = run_module_calls,
};
