/* outermost_ops.c: ops.outermost_id, the op of the framework that a program called, for all that was called inside it.
**
** Ranges that the program marked, modules and Python frames are not what is looked for: they enclose whole steps.  The
** way up from each op is walked once, so that it is linear.
*/
#include "derive/links/ancestors.h"
#include "derive/passes.h"
#include "derive/rows.h"
#include "store/scratch.h"

#include <string.h>

struct search {
  const struct profile_table *ops;
  string_id marks[OP_MARKS]; /* categories of what does not count */
  const uint32_t *parents; /* by row, as are the others */
  uint32_t *outermost;     /* 1 + row; 0: not known yet, NO_ROW: there is none */
  uint32_t *way;
  size_t hint;
};

static bool counts(struct search *search, uint32_t row) {
  const struct segment *segment = derive_segment_of(search->ops, row, &search->hint);
  string_id category;
  if (!segment) return false;
  derive_texts(segment->columns[COLUMN_ops_category], row - (uint32_t)segment->first_row, 1, &category);
  return !derive_is_op_mark(search->marks, category);
}

/* Of a row whose parent has `above`. */
static inline uint32_t below(struct search *search, uint32_t above, uint32_t row) {
  return above == NO_ROW && counts(search, row) ? row + 1 : above;
}

static void climb(struct search *search, uint32_t row) {
  uint32_t length = 0, known = NO_ROW;
  for (; row != NO_ROW; row = search->parents[row]) {
    if (search->outermost[row]) {
      known = search->outermost[row];
      break;
    }
    search->way[length++] = row;
  }
  while (length) {
    row = search->way[--length];
    search->outermost[row] = known = below(search, known, row);
  }
}

/* Of rows first ... end - 1, from the end, for parents mostly come after their children and are known then. */
static void find_outermost(struct search *search, uint32_t first, uint32_t end) {
  for (uint32_t row = end; row-- > first;) {
    uint32_t parent = search->parents[row], above = parent == NO_ROW ? NO_ROW : search->outermost[parent];
    if (search->outermost[row]) continue;
    if (above) search->outermost[row] = below(search, above, row);
    else climb(search, row);
  }
  for (uint32_t row = first; row < end; row++) search->outermost[row] -= search->outermost[row] != NO_ROW;
}

/* Of a segment, or (NULL) of all rows. */
static enum tfprof_status run_segment(struct profile *profile, struct segment *segment, struct tfprof_error *error) {
  struct search search = {.ops = &profile->tables[TABLE_ops]};
  uint32_t rows, *parents = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &rows, error);
  if (status || !rows) return status;
  derive_op_marks(profile, search.marks);
  status = derive_all_op_parents(profile, &parents, error);
  search.parents = parents;
  search.outermost = scratch_allocate_zeroed(rows, sizeof *search.outermost);
  search.way = scratch_allocate((size_t)rows * sizeof *search.way);
  if (!status && (!search.outermost || !search.way)) status = error_no_memory(error);
  if (!status) status = derive_poll(profile, error);
  if (!status && segment) {
    uint32_t first = (uint32_t)segment->first_row;
    find_outermost(&search, first, first + segment->rows);
    if (derive_set_segment(segment, COLUMN_ops_outermost_id, search.outermost + first)) status = error_no_memory(error);
  } else if (!status) {
    find_outermost(&search, 0, rows);
    status = derive_set_references(profile, TABLE_ops, COLUMN_ops_outermost_id, search.outermost, error);
  }
  scratch_free(parents);
  scratch_free(search.outermost);
  scratch_free(search.way);
  return status;
}

static enum tfprof_status run_outermost_ops(struct profile *profile, struct tfprof_error *error) {
  return run_segment(profile, NULL, error);
}

const struct derive_pass derive_outermost_ops = {
    .name = "outermost ops",
    .summary =
        "The outermost op around each op, ranges, modules and Python frames left aside; every way up walked once.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_parent_id}, {TABLE_ops, COLUMN_ops_category}},
    .writes = {{TABLE_ops, COLUMN_ops_outermost_id}},
    .run = run_outermost_ops,
    .run_segment = run_segment,
};
