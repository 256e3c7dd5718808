/* user_rows.c: see user_rows.h.
**
** Rows stay in the order of ops, so that a refresh, which only adds ops at the end, does not renumber them.  The
** nearest one around each is found by going up the tree of ops, past no op twice.
*/
#include "derive/links/ancestors.h"
#include "derive/ranges/user_rows.h"

enum answer { NOT_ASKED, NO, YES };
enum { MARKS = 2 }; /* categories of ops that are marks: user, input */

/* The first row from `row` on of one of the categories; rows: none. `next` are those of each, as far as known. */
static uint32_t next_mark(const struct column *categories, const string_id *marks, uint32_t row, uint32_t *next) {
  uint32_t nearest = categories->rows;
  for (unsigned i = 0; i < MARKS; i++) {
    if (next[i] < row || row == 0) next[i] = derive_find_text(categories, row, marks[i]);
    if (next[i] < nearest) nearest = next[i];
  }
  return nearest;
}

/* Fills rows->ops. */
static enum tfprof_status select_rows(struct user_rows *rows, struct profile *profile, bool (*wanted)(const char *name),
                                      struct tfprof_error *error) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  struct pool *pool = store_pool(profile->store);
  const string_id marks[MARKS] = {derive_known_text(profile, "user"), derive_known_text(profile, "input")};
  uint32_t capacity = 0;
  enum tfprof_status status = TFPROF_OK;
  uint8_t *answers = scratch_allocate_zeroed((size_t)pool_count(pool) + 1, 1); /* enum answer by name */
  if (!answers) return error_no_memory(error);
  for (size_t s = 0; s < ops->segment_count && !status; s++) {
    const struct segment *segment = ops->segments[s];
    const struct column *categories = segment->columns[COLUMN_ops_category];
    uint32_t next[MARKS] = {0, 0}, row = next_mark(categories, marks, 0, next);
    for (; row < segment->rows && !status; row = next_mark(categories, marks, row + 1, next)) {
      if (wanted) {
        string_id name;
        derive_texts(segment->columns[COLUMN_ops_name], row, 1, &name);
        if (answers[name] == NOT_ASKED) answers[name] = name && wanted(pool_text(pool, name)) ? YES : NO;
        if (answers[name] == NO) continue;
      }
      if (rows->count == capacity) {
        capacity = capacity ? capacity * 2 : 256;
        uint32_t *grown = scratch_resize(rows->ops, (size_t)capacity * sizeof *grown);
        if (grown) rows->ops = grown;
        else status = error_no_memory(error);
      }
      if (!status) rows->ops[rows->count++] = (uint32_t)segment->first_row + row;
    }
    if (!status) status = derive_poll(profile, error);
  }
  scratch_free(answers);
  return status;
}

/* Which ops are above which: read where they lie, or all of them where circles had to be cut. */
struct op_tree {
  const struct profile_table *ops;
  uint32_t *parents; /* or NULL */
  size_t hint;       /* the segment of the op before */
};

/* The row of ops above a row of ops, or NO_ROW. */
static uint32_t op_parent(struct op_tree *tree, uint32_t op) {
  struct segment *const *segments = tree->ops->segments;
  uint32_t parent;
  if (tree->parents) return tree->parents[op];
  while (tree->hint && op < segments[tree->hint]->first_row) tree->hint--;
  while (op >= segments[tree->hint]->first_row + segments[tree->hint]->rows) tree->hint++;
  const struct segment *segment = segments[tree->hint];
  derive_references(segment->columns[COLUMN_ops_parent_id], op - (uint32_t)segment->first_row, 1,
                    (uint32_t)tree->ops->rows, &parent);
  return parent;
}

/* The way up from each row ends at the first op whose answer is known, and all ops on it are told the answer, so that
** no op is passed twice. Few ops are ever touched, and of `nearest` only their pages. */
static void find_nearest(struct user_rows *rows, struct op_tree *tree, uint32_t *nearest) {
  enum { UNKNOWN = 0, NONE = 1, FIRST = 2 }; /* FIRST + i: row i */
  for (uint32_t i = 0; i < rows->count; i++) nearest[rows->ops[i]] = FIRST + i;
  for (uint32_t i = 0; i < rows->count; i++) {
    uint32_t first = op_parent(tree, rows->ops[i]), op = first;
    while (op != NO_ROW && nearest[op] == UNKNOWN) op = op_parent(tree, op);
    uint32_t answer = op == NO_ROW ? NONE : nearest[op];
    for (op = first; op != NO_ROW && nearest[op] == UNKNOWN; op = op_parent(tree, op)) nearest[op] = answer;
    rows->parents[i] = answer == NONE ? NO_ROW : answer - FIRST;
  }
}

static enum tfprof_status find_parents(struct user_rows *rows, struct profile *profile, struct tfprof_error *error) {
  struct op_tree tree = {.ops = &profile->tables[TABLE_ops]};
  int64_t *op_depths = NULL;
  uint32_t op_count = 0;
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &op_count, error);
  if (!status) status = user_rows_values(rows, profile, COLUMN_ops_depth, &op_depths, error);
  if (!status && derive_may_have_circles(profile)) status = derive_all_op_parents(profile, &tree.parents, error);
  if (status) {
    scratch_free(op_depths);
    return status;
  }
  uint32_t *nearest = scratch_allocate_zeroed(op_count, sizeof *nearest);
  rows->parents = scratch_allocate(rows->count * sizeof *rows->parents);
  rows->depths = scratch_allocate(rows->count * sizeof *rows->depths);
  if (nearest && rows->parents && rows->depths) {
    find_nearest(rows, &tree, nearest);
    for (uint32_t i = 0; i < rows->count; i++) rows->depths[i] = op_depths[i] == NO_VALUE ? NO_VALUE : -1;
    /* Along each path up to the first row whose depth is known, then down again. */
    for (uint32_t i = rows->count; i-- > 0;) {
      int64_t depth = 0;
      uint32_t row = i;
      for (; row != NO_ROW && rows->depths[row] == -1; row = rows->parents[row]) depth++;
      if (row != NO_ROW && rows->depths[row] != NO_VALUE) depth += rows->depths[row] + 1;
      for (row = i; row != NO_ROW && rows->depths[row] == -1; row = rows->parents[row]) rows->depths[row] = --depth;
    }
  } else {
    status = error_no_memory(error);
  }
  scratch_free(op_depths);
  scratch_free(nearest);
  scratch_free(tree.parents);
  return status;
}

bool user_rows_is_idle(const struct profile *profile) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  const string_id marks[MARKS] = {derive_known_text(profile, "user"), derive_known_text(profile, "input")};
  for (size_t s = 0; s < ops->segment_count; s++) {
    const struct column *categories = ops->segments[s]->columns[COLUMN_ops_category];
    uint32_t next[MARKS] = {0, 0};
    if (!categories || next_mark(categories, marks, 0, next) < categories->rows) return false;
  }
  return true;
}

void user_rows_free(struct user_rows *rows) {
  scratch_free(rows->ops);
  scratch_free(rows->parents);
  scratch_free(rows->depths);
  *rows = (struct user_rows){.count = 0};
}

enum tfprof_status user_rows_values(const struct user_rows *rows, const struct profile *profile, unsigned op_column,
                                    int64_t **values, struct tfprof_error *error) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  size_t s = 0;
  int64_t *all = scratch_allocate(((size_t)rows->count + 1) * sizeof *all);
  if (!all) return error_no_memory(error);
  for (uint32_t i = 0; i < rows->count; i++) {
    while (rows->ops[i] >= ops->segments[s]->first_row + ops->segments[s]->rows) s++;
    uint32_t row = rows->ops[i] - (uint32_t)ops->segments[s]->first_row;
    derive_integers(ops->segments[s]->columns[op_column], row, 1, &all[i]);
  }
  *values = all;
  return TFPROF_OK;
}

static enum tfprof_status copy(const struct user_rows *rows, struct profile *profile, unsigned op_column,
                               unsigned table, unsigned column, struct tfprof_error *error) {
  int64_t *values = NULL;
  enum tfprof_status status = user_rows_values(rows, profile, op_column, &values, error);
  bool is_text = schema_tables[table].columns[column].type == TYPE_TEXT;
  for (uint32_t i = 0; i < rows->count && is_text && !status; i++) {
    if (values[i] == 0) values[i] = NO_VALUE;
  }
  if (!status) status = derive_set_integers(profile, table, column, values, error);
  scratch_free(values);
  return status;
}

enum tfprof_status user_rows_make_table(struct user_rows *rows, struct profile *profile, unsigned table,
                                        bool (*wanted)(const char *name), const struct user_column *columns,
                                        size_t column_count, struct tfprof_error *error) {
  *rows = (struct user_rows){.count = 0};
  enum tfprof_status status = select_rows(rows, profile, wanted, error);
  if (!status && rows->count) status = find_parents(rows, profile, error);
  if (status || !rows->count) return status;
  status = derive_make_table(profile, table, rows->count, error);
  for (size_t i = 0; i < column_count && !status; i++)
    status = copy(rows, profile, columns[i].op_column, table, columns[i].column, error);
  return status;
}
