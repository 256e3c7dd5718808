/* work_of_ranges.c: to which range ops and kernels belong (range_id), and what devices did for each range.
**
** Ranges of sources that mark them among their ops are the ops of categories `user` and `input`, in the order of ops:
** all rows of ranges where these are made of ops (ranges.c), else those of the domain torch and the category user,
** which the reader of traces adds with each such op.  Where the two are not as many, nothing is known.
**
** An op belongs to the innermost range around it in the tree of ops, a range's own row to the range, a kernel to that
** of the op that launched it.  device_ns and kernel_count of a range count what was launched by all ops inside it,
** those of ranges inside it too; both are NULL of a range that nests with nothing, since what ran in it is not known.
*/
#include "derive/links/ancestors.h"
#include "derive/passes.h"
#include "derive/rows.h"

/* Rows of ops that are ranges, in order; the caller frees them. */
static enum tfprof_status find_mark_ops(struct profile *profile, uint32_t **marks, uint32_t *count,
                                        struct tfprof_error *error) {
  string_id user = derive_known_text(profile, "user"), input = derive_known_text(profile, "input");
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  uint32_t capacity = 0;
  *marks = NULL;
  *count = 0;
  for (size_t s = 0; s < ops->segment_count; s++) {
    const struct segment *segment = ops->segments[s];
    const struct column *categories = segment->columns[COLUMN_ops_category];
    uint32_t next[2] = {derive_find_text(categories, 0, user), derive_find_text(categories, 0, input)};
    while (next[0] < segment->rows || next[1] < segment->rows) {
      unsigned kind = next[0] <= next[1] ? 0 : 1;
      uint32_t *room = scratch_grow(*marks, *count, &capacity, 256, sizeof *room);
      if (!room) return error_no_memory(error);
      *marks = room;
      room[(*count)++] = (uint32_t)segment->first_row + next[kind];
      next[kind] = derive_find_text(categories, next[kind] + 1, kind ? input : user);
    }
    enum tfprof_status status = derive_poll(profile, error);
    if (status) return status;
  }
  return TFPROF_OK;
}

/* Rows of ranges that such ops stand for, in order; the caller frees them. */
static enum tfprof_status find_marked_ranges(struct profile *profile, uint32_t **rows, uint32_t *count,
                                             struct tfprof_error *error) {
  string_id torch = derive_known_text(profile, "torch"), user = derive_known_text(profile, "user");
  bool is_made = profile->tables[TABLE_ranges].is_made;
  uint32_t range_count;
  enum tfprof_status status = derive_row_count(profile, TABLE_ranges, &range_count, error);
  *count = 0;
  *rows = scratch_allocate(((size_t)range_count + 1) * sizeof **rows);
  if (!status && !*rows) status = error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_ranges, &block, &status, error);) {
    string_id domains[ROWS_BLOCK], categories[ROWS_BLOCK];
    block_texts(&block, COLUMN_ranges_domain, domains);
    block_texts(&block, COLUMN_ranges_category, categories);
    for (uint32_t i = 0; i < block.count; i++)
      if (is_made || (domains[i] == torch && categories[i] == user)) (*rows)[(*count)++] = (uint32_t)block.row + i;
  }
  return status;
}

struct range_marks {
  uint32_t *ops, *ranges; /* rows that stand for each other */
  uint32_t count, op_count;
};

static void range_marks_free(struct range_marks *marks) {
  scratch_free(marks->ops);
  scratch_free(marks->ranges);
}

/* count 0: there are none, or it is not known which stands for which. */
static enum tfprof_status range_marks_find(struct range_marks *marks, struct profile *profile,
                                           struct tfprof_error *error) {
  uint32_t ranges = 0;
  *marks = (struct range_marks){0};
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &marks->op_count, error);
  if (!status) status = find_marked_ranges(profile, &marks->ranges, &ranges, error);
  if (!status && ranges) status = find_mark_ops(profile, &marks->ops, &marks->count, error);
  if (marks->count != ranges) marks->count = 0;
  return status;
}

/* ---- ops ---- */

static enum tfprof_status run_ranges_of_ops(struct profile *profile, struct tfprof_error *error) {
  struct range_marks marks;
  uint32_t *parents = NULL, *around = NULL;
  enum tfprof_status status = range_marks_find(&marks, profile, error);
  if (!status && marks.count) {
    status = derive_all_op_parents(profile, &parents, error);
    around = scratch_allocate((size_t)marks.op_count * sizeof *around);
    if (!status && !around) status = error_no_memory(error);
    for (uint32_t op = 0; op < marks.op_count && !status; op++) around[op] = NO_ROW;
    for (uint32_t i = 0; i < marks.count && !status; i++) around[marks.ops[i]] = marks.ranges[i];
    if (!status) {
      derive_inherit(parents, around, marks.op_count);
      status = derive_set_references(profile, TABLE_ops, COLUMN_ops_range_id, around, error);
    }
  }
  scratch_free(parents);
  scratch_free(around);
  range_marks_free(&marks);
  return status;
}

/* ---- kernels ---- */

static enum tfprof_status run_ranges_of_kernels(struct profile *profile, struct tfprof_error *error) {
  uint32_t op_count, range_count, kernel_count, *of_ops = NULL, *ops = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &op_count, error);
  if (!status) status = derive_row_count(profile, TABLE_ranges, &range_count, error);
  if (!status) status = derive_row_count(profile, TABLE_kernels, &kernel_count, error);
  if (status || !op_count || !range_count || !kernel_count) return status;
  status = derive_all_references(profile, TABLE_ops, COLUMN_ops_range_id, &of_ops, error);
  if (!status) status = derive_all_references(profile, TABLE_kernels, COLUMN_kernels_op_id, &ops, error);
  for (uint32_t i = 0; i < kernel_count && !status; i++) ops[i] = ops[i] == NO_ROW ? NO_ROW : of_ops[ops[i]];
  if (!status) status = derive_set_references(profile, TABLE_kernels, COLUMN_kernels_range_id, ops, error);
  scratch_free(of_ops);
  scratch_free(ops);
  return status;
}

/* ---- ranges ---- */

/* How many kernels each op launched, those of the ops inside it with them. `waiting` has room for a number each. */
static void add_up_kernels(const uint32_t *parents, uint32_t *counts, uint32_t *waiting, uint32_t ops) {
  for (uint32_t op = 0; op < ops; op++) {
    if (parents[op] != NO_ROW) waiting[parents[op]]++;
  }
  for (uint32_t op = 0; op < ops; op++) {
    if (waiting[op]) continue;
    waiting[op] = UINT32_MAX; /* done; its parent is next when this was its last child */
    for (uint32_t at = op, up; (up = parents[at]) != NO_ROW; at = up) {
      counts[up] += counts[at];
      if (--waiting[up]) break;
      waiting[up] = UINT32_MAX;
    }
  }
}

static enum tfprof_status count_kernels(struct profile *profile, const struct range_marks *marks, uint32_t **counts,
                                        struct tfprof_error *error) {
  uint32_t *parents = NULL, *waiting = scratch_allocate_zeroed(marks->op_count, sizeof *waiting);
  enum tfprof_status status = derive_all_op_parents(profile, &parents, error);
  *counts = scratch_allocate_zeroed(marks->op_count, sizeof **counts);
  if (!status && (!waiting || !*counts)) status = error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_kernels, &block, &status, error);) {
    uint32_t ops[ROWS_BLOCK];
    block_references(&block, COLUMN_kernels_op_id, marks->op_count, ops);
    for (uint32_t i = 0; i < block.count; i++)
      if (ops[i] != NO_ROW) (*counts)[ops[i]]++;
  }
  if (!status) add_up_kernels(parents, *counts, waiting, marks->op_count);
  scratch_free(parents);
  scratch_free(waiting);
  return status;
}

static enum tfprof_status run_work_of_ranges(struct profile *profile, struct tfprof_error *error) {
  struct range_marks marks = {0};
  uint32_t ranges, *counts = NULL;
  int64_t *work = NULL, *depths = NULL, *times = NULL, *numbers = NULL;
  if (!derive_has_value(profile, TABLE_ops, COLUMN_ops_device_ns)) return TFPROF_OK;
  enum tfprof_status status = derive_row_count(profile, TABLE_ranges, &ranges, error);
  if (!status) status = range_marks_find(&marks, profile, error);
  if (!status && marks.count) {
    status = count_kernels(profile, &marks, &counts, error);
    if (!status) status = derive_all_integers(profile, TABLE_ops, COLUMN_ops_device_ns, &work, error);
    if (!status) status = derive_all_integers(profile, TABLE_ops, COLUMN_ops_depth, &depths, error);
    times = scratch_allocate((size_t)ranges * sizeof *times);
    numbers = scratch_allocate((size_t)ranges * sizeof *numbers);
    if (!status && (!times || !numbers)) status = error_no_memory(error);
    for (uint32_t i = 0; i < ranges && !status; i++) times[i] = numbers[i] = NO_VALUE;
    for (uint32_t i = 0; i < marks.count && !status; i++) {
      uint32_t op = marks.ops[i], range = marks.ranges[i];
      if (depths[op] == NO_VALUE) continue;
      times[range] = work[op];
      numbers[range] = counts[op];
    }
    if (!status) status = derive_set_integers(profile, TABLE_ranges, COLUMN_ranges_device_ns, times, error);
    if (!status) status = derive_set_integers(profile, TABLE_ranges, COLUMN_ranges_kernel_count, numbers, error);
  }
  scratch_free(counts);
  scratch_free(work);
  scratch_free(depths);
  scratch_free(times);
  scratch_free(numbers);
  range_marks_free(&marks);
  return status;
}

const struct derive_pass derive_ranges_of_ops = {
    .name = "ranges of ops",
    .summary = "The innermost range around each op, inherited along the tree of ops.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_category},
              {TABLE_ops, COLUMN_ops_parent_id},
              {TABLE_ranges, COLUMN_ranges_domain},
              {TABLE_ranges, COLUMN_ranges_category}},
    .writes = {{TABLE_ops, COLUMN_ops_range_id}},
    .run = run_ranges_of_ops,
};

const struct derive_pass derive_ranges_of_kernels = {
    .name = "ranges of kernels",
    .summary = "The range of the op that launched each kernel.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_range_id},
              {TABLE_kernels, COLUMN_kernels_op_id},
              {TABLE_ranges, COLUMN_ranges_name}},
    .writes = {{TABLE_kernels, COLUMN_kernels_range_id}},
    .run = run_ranges_of_kernels,
};

const struct derive_pass derive_work_of_ranges = {
    .name = "work of ranges",
    .summary = "What the ops inside each range launched, by the sums of ops and of kernels along the tree of ops.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_category},
              {TABLE_ops, COLUMN_ops_parent_id},
              {TABLE_ops, COLUMN_ops_depth},
              {TABLE_ops, COLUMN_ops_device_ns},
              {TABLE_kernels, COLUMN_kernels_op_id},
              {TABLE_ranges, COLUMN_ranges_domain},
              {TABLE_ranges, COLUMN_ranges_category}},
    .writes = {{TABLE_ranges, COLUMN_ranges_device_ns}, {TABLE_ranges, COLUMN_ranges_kernel_count}},
    .run = run_work_of_ranges,
};
