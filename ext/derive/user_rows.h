/* user_rows.h: the ops of category `user` that a pass turns into rows of another table, and which encloses which. */
#ifndef TFPROF_DERIVE_USER_ROWS_H
#define TFPROF_DERIVE_USER_ROWS_H

#include "derive/rows.h"

struct user_rows {
  uint32_t count;
  uint32_t *ops;     /* rows of ops, ascending */
  uint32_t *parents; /* index of the nearest of them around each; NO_ROW: none */
  int64_t *depths;   /* how many of them are around each; NO_VALUE: it nests with nothing */
};

/* Those whose name `wanted` accepts (NULL: all of them). The derived columns of a user row are found by user_rows_*.
** Needs ops.category, name, parent_id and depth. Free with user_rows_free, also after a failure. */
enum tfprof_status user_rows_find(struct user_rows *rows, struct profile *profile, bool (*wanted)(const char *name),
                                  struct tfprof_error *error);
void user_rows_free(struct user_rows *rows);

/* Sets a column of the made table `table` to that of the ops, row by row. */
enum tfprof_status user_rows_copy(const struct user_rows *rows, struct profile *profile, unsigned op_column,
                                  unsigned table, unsigned column, struct tfprof_error *error);
/* The values of a column of ops, NO_VALUE for NULL; the caller frees them. */
enum tfprof_status user_rows_values(const struct user_rows *rows, const struct profile *profile, unsigned op_column,
                                    int64_t **values, struct tfprof_error *error);

#endif
