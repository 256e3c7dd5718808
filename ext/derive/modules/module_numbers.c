/* module_numbers.c: see module_numbers.h. */
#include "derive/modules/module_numbers.h"

enum tfprof_status module_numbers_make(struct module_numbers *numbers, const struct profile *profile,
                                       struct tfprof_error *error) {
  *numbers = (struct module_numbers){.owners = NULL};
  enum tfprof_status status = derive_row_count(profile, TABLE_nodes, &numbers->node_count, error);
  if (!status) status = match_make(&numbers->nodes, profile, TABLE_nodes, COLUMN_nodes_recorded_module, error);
  if (status || !derive_has_value(profile, TABLE_node_changes, COLUMN_node_changes_recorded_module)) return status;
  status = match_make(&numbers->again, profile, TABLE_node_changes, COLUMN_node_changes_recorded_module, error);
  if (status) return status;
  return derive_all_references(profile, TABLE_node_changes, COLUMN_node_changes_node_id, &numbers->owners, error);
}

uint32_t module_numbers_node(const struct module_numbers *numbers, int64_t number) {
  uint32_t node = match_find(&numbers->nodes, number);
  if (node != NO_ROW || !numbers->owners) return node;
  uint32_t change = match_find(&numbers->again, number);
  if (change != NO_ROW) node = numbers->owners[change];
  return node < numbers->node_count ? node : NO_ROW;
}

void module_numbers_free(struct module_numbers *numbers) {
  match_free(&numbers->nodes);
  match_free(&numbers->again);
  scratch_free(numbers->owners);
}
