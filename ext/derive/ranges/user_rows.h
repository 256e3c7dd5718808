/* user_rows.h: the ops of categories `user` and `input`, which the program or its data loader marked, that a pass turns
** into rows of another table, and which encloses which. */
#ifndef TFPROF_DERIVE_USER_ROWS_H
#define TFPROF_DERIVE_USER_ROWS_H

#include "derive/rows.h"

struct user_rows {
  uint32_t count;
  uint32_t *ops;     /* rows of ops, ascending */
  uint32_t *parents; /* index of the nearest of them around each; NO_ROW: none */
  int64_t *depths;   /* how many of them are around each; NO_VALUE: it nests with nothing */
};

void user_rows_free(struct user_rows *rows);

/* A column of ops that becomes one of the made table. */
struct user_column {
  uint16_t op_column, column;
};
/* Finds the ops whose name `wanted` accepts (NULL: all of them) and, where there are any, makes the table of them with
** these columns. Needs USER_ROWS_READ. Free with user_rows_free, also after a failure. */
enum tfprof_status user_rows_make_table(struct user_rows *rows, struct profile *profile, unsigned table,
                                        bool (*wanted)(const char *name), const struct user_column *columns,
                                        size_t column_count, struct tfprof_error *error);
/* derive_pass.is_idle of a pass that does so: no op is known to be such a mark, or may be. */
bool user_rows_is_idle(const struct profile *profile);
/* What it reads. */
#define USER_ROWS_READ                                                                                    \
  {TABLE_ops, COLUMN_ops_name}, {TABLE_ops, COLUMN_ops_category}, {TABLE_ops, COLUMN_ops_thread_id},      \
      {TABLE_ops, COLUMN_ops_start_ns}, {TABLE_ops, COLUMN_ops_end_ns}, {TABLE_ops, COLUMN_ops_dur_ns},   \
      {TABLE_ops, COLUMN_ops_step_id}, {TABLE_ops, COLUMN_ops_parent_id}, {TABLE_ops, COLUMN_ops_depth}
/* The values of a column of ops, NO_VALUE for NULL; the caller frees them. */
enum tfprof_status user_rows_values(const struct user_rows *rows, const struct profile *profile, unsigned op_column,
                                    int64_t **values, struct tfprof_error *error);

#endif
