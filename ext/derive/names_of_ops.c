/* names_of_ops.c: op_name of kernels and of calls, and parent_name of ops: the name of the op that a column refers to.
**
** It is what most questions want of that op: as a column of their own table rows are grouped by it without a join, in
** an order that an index has.  Saving a dump leaves it out (read/dump_save.c).
*/
#include "derive/passes.h"
#include "derive/rows.h"

static enum tfprof_status copy_names(struct profile *profile, unsigned table, unsigned op_column, unsigned name_column,
                                     struct tfprof_error *error) {
  uint32_t rows, *ops = NULL;
  int64_t *names = NULL;
  enum tfprof_status status = derive_row_count(profile, table, &rows, error);
  if (status || !rows) return status;
  string_id *values = scratch_allocate((size_t)rows * sizeof *values);
  if (!values) return error_no_memory(error);
  status = derive_all_references(profile, table, op_column, &ops, error);
  if (!status) status = derive_all_integers(profile, TABLE_ops, COLUMN_ops_name, &names, error);
  for (uint32_t row = 0; row < rows && !status; row++) {
    int64_t name = ops[row] == NO_ROW ? NO_VALUE : names[ops[row]];
    values[row] = name == NO_VALUE ? 0 : (string_id)name;
    if (row % ROWS_BLOCK == 0) status = derive_poll(profile, error);
  }
  if (!status) status = derive_set_texts(profile, table, name_column, values, error);
  scratch_free(values);
  scratch_free(ops);
  scratch_free(names);
  return status;
}

#define PASS(table, op_column, name_column) \
  static enum tfprof_status run_##table(struct profile *profile, struct tfprof_error *error) { \
    return copy_names(profile, TABLE_##table, COLUMN_##table##_##op_column, COLUMN_##table##_##name_column, error); \
  } \
  const struct derive_pass derive_op_names_of_##table = { \
      .name = "op names of " #table, \
      .summary = "The name of the op that another column refers to.", \
      .makes_table = -1, \
      .reads = {{TABLE_ops, COLUMN_ops_name}, {TABLE_##table, COLUMN_##table##_##op_column}}, \
      .writes = {{TABLE_##table, COLUMN_##table##_##name_column}}, \
      .run = run_##table, \
  };

PASS(ops, parent_id, parent_name)
PASS(kernels, op_id, op_name)
PASS(api_calls, op_id, op_name)
