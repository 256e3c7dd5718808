/* names_of_ops.c: op_name of kernels and of calls, and parent_name of ops: the name of the op that a column refers to.
**
** It is what most questions want of that op: as a column of their own table rows are grouped by it without a join, in
** an order that an index has.  Saving a dump leaves it out (read/dump/save.c).
*/
#include "derive/passes.h"
#include "derive/rows.h"

#include <stdatomic.h>

struct copying {
  struct profile *profile;
  unsigned table, op_column, name_column;
  uint32_t op_count;
  atomic_int failure; /* an enum tfprof_status */
};

/* Most ops that rows refer to lie near the one before. */
static void copy_segment(struct copying *copying, struct segment *segment) {
  const struct profile_table *content = &copying->profile->tables[TABLE_ops];
  string_id *names = scratch_allocate((size_t)segment->rows * sizeof *names);
  int failure = names ? atomic_load(&copying->failure) : TFPROF_NO_MEMORY;
  size_t hint = 0;
  for (uint32_t first = 0; first < segment->rows && !failure; first += ROWS_BLOCK) {
    uint32_t count = derive_block_rows(segment, first);
    uint32_t ops[ROWS_BLOCK];
    derive_references(segment->columns[copying->op_column], first, count, copying->op_count, ops);
    for (uint32_t i = 0; i < count; i++) {
      const struct segment *of = ops[i] == NO_ROW ? NULL : derive_segment_of(content, ops[i], &hint);
      const struct column *column = of ? of->columns[COLUMN_ops_name] : NULL;
      uint32_t row = of ? ops[i] - (uint32_t)of->first_row : 0;
      string_id name = column && !column_is_null(column, row) ? (string_id)column_integer(column, row) : 0;
      names[first + i] = name ? name : NO_ROW;
    }
    if (store_interrupted(copying->profile->store)) failure = TFPROF_INTERRUPTED;
  }
  if (!failure && derive_set_segment(segment, copying->name_column, names)) failure = TFPROF_NO_MEMORY;
  scratch_free(names);
  if (failure) atomic_store(&copying->failure, failure);
}

static void copy_one_of_all(void *context, size_t i, unsigned worker) {
  struct copying *copying = context;
  (void)worker;
  copy_segment(copying, copying->profile->tables[copying->table].segments[i]);
}

/* segment NULL: of all rows. */
static enum tfprof_status copy_names(struct profile *profile, struct segment *segment, unsigned table,
                                     unsigned op_column, unsigned name_column, struct tfprof_error *error) {
  const struct profile_table *content = &profile->tables[table];
  struct copying copying = {profile, table, op_column, name_column, 0, TFPROF_OK};
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &copying.op_count, error);
  if (status) return status;
  if (segment) copy_segment(&copying, segment);
  else derive_parallel(content->rows, content->segment_count, copy_one_of_all, &copying);
  return derive_failure(atomic_load(&copying.failure), error);
}

#define PASS(table, op_column, name_column) \
  static enum tfprof_status run_of_##table(struct profile *profile, struct segment *segment, \
                                           struct tfprof_error *error) { \
    return copy_names(profile, segment, TABLE_##table, COLUMN_##table##_##op_column, COLUMN_##table##_##name_column, \
                      error); \
  } \
  static enum tfprof_status run_##table(struct profile *profile, struct tfprof_error *error) { \
    return run_of_##table(profile, NULL, error); \
  } \
  const struct derive_pass derive_op_names_of_##table = { \
      .name = "op names of " #table, \
      .summary = "The name of the op that another column refers to.", \
      .makes_table = -1, \
      .reads = {{TABLE_ops, COLUMN_ops_name}}, \
      .reads_here = {{TABLE_##table, COLUMN_##table##_##op_column}}, \
      .writes = {{TABLE_##table, COLUMN_##table##_##name_column}}, \
      .run = run_##table, \
      .run_segment = run_of_##table, \
  };

PASS(ops, parent_id, parent_name)
PASS(kernels, op_id, op_name)
PASS(api_calls, op_id, op_name)
