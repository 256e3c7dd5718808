/* module_numbers.h: the nodes of modules by the numbers that a capture names them by (recorded_module).
*/
#ifndef TFPROF_DERIVE_MODULE_NUMBERS_H
#define TFPROF_DERIVE_MODULE_NUMBERS_H

#include "derive/match.h"

/* Which node a number stands for: that of its own, or, for a module that was made again, that which a change names. */
struct module_numbers {
  struct match nodes, again;
  uint32_t *owners; /* by change: its node */
  uint32_t node_count;
};

/* Needs nodes.recorded_module, node_changes.recorded_module and node_changes.node_id. Free with module_numbers_free,
** also after a failure. */
enum tfprof_status module_numbers_make(struct module_numbers *numbers, const struct profile *profile,
                                       struct tfprof_error *error);
/* The row in nodes, or NO_ROW. */
uint32_t module_numbers_node(const struct module_numbers *numbers, int64_t number);
void module_numbers_free(struct module_numbers *numbers);

#endif
