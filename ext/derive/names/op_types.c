/* op_types.c: ops.op_type where the source says nothing.
**
** It is the name: without a graph, ops have no other type.  It costs no memory, as it shares the array of names.
*/
#include "derive/passes.h"
#include "derive/rows.h"

static enum tfprof_status run_op_types(struct profile *profile, struct tfprof_error *error) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  for (size_t s = 0; s < ops->segment_count; s++) {
    struct segment *segment = ops->segments[s];
    struct column *names = column_retain(segment->columns[COLUMN_ops_name]);
    if (segment_set_column(segment, COLUMN_ops_op_type, names)) return error_no_memory(error);
  }
  return TFPROF_OK;
}

const struct derive_pass derive_op_types = {
    .name = "op types",
    .summary = "An op's type is its name where the source says nothing else.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_name}},
    .writes = {{TABLE_ops, COLUMN_ops_op_type}},
    .run = run_op_types,
    .is_alone = true,
};
