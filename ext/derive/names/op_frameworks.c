/* op_frameworks.c: ops.framework where the source does not say it of the op itself.
**
** Of one framework all are.  A recording of several has its ops from the callbacks of PyTorch, and those of the others
** from the files of their own profilers, whose rows bring the name along (read/dump/windows.h, read/dump/guests.h).  So
** what is left is PyTorch's, but for what the program marked, of which no framework can be told.
*/
#include "derive/passes.h"
#include "derive/rows.h"
#include "schema/framework_list.h"

#include <stdlib.h>
#include <string.h>

/* The framework of all rows but marks. NULL: no memory. */
static struct column *framework_but_of_marks(const struct segment *segment, string_id framework, string_id mark) {
  const struct column *categories = segment->columns[COLUMN_ops_category];
  uint64_t *nulls = calloc(((size_t)segment->rows + 63) / 64 + 1, sizeof *nulls);
  int64_t *values = malloc(((size_t)segment->rows + 1) * sizeof *values);
  bool is_any_null = false;
  for (uint32_t row = 0; nulls && values && row < segment->rows; row++) {
    bool is_mark = mark && !column_is_null(categories, row) && (string_id)column_integer(categories, row) == mark;
    values[row] = (int64_t)framework;
    if (is_mark) nulls_add(nulls, row);
    is_any_null |= is_mark;
  }
  struct column *made =
      nulls && values ? column_from_integers(values, is_any_null ? nulls : NULL, segment->rows) : NULL;
  free(nulls);
  free(values);
  return made;
}

static enum tfprof_status run_op_frameworks(struct profile *profile, struct tfprof_error *error) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  const char *list = pool_text(store_pool(profile->store), profile->framework);
  bool are_several = list && strchr(list, ',');
  string_id mark = derive_known_text(profile, "user"), framework = are_several ? 0 : profile->framework;
  enum tfprof_status status = TFPROF_OK;
  if (are_several && framework_is_listed(list, "pytorch")) status = derive_text(profile, "pytorch", &framework, error);
  for (size_t s = 0; s < ops->segment_count && !status; s++) {
    struct segment *segment = ops->segments[s];
    struct column *made = !framework     ? column_absent(segment->rows)
                          : !are_several ? column_constant(segment->rows, (int64_t)framework)
                                         : framework_but_of_marks(segment, framework, mark);
    if (segment_set_column(segment, COLUMN_ops_framework, made)) status = error_no_memory(error);
  }
  return status;
}

const struct derive_pass derive_op_frameworks = {
    .name = "frameworks of ops",
    .summary = "Ops are of the framework that the process uses; of several, those that no file of a profiler brought "
               "are PyTorch's.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_category}},
    .writes = {{TABLE_ops, COLUMN_ops_framework}},
    .run = run_op_frameworks,
    .is_alone = true,
};
