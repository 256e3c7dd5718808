/* eager_rows.h: rows that a reader has complete in memory when it opens a file.
**
** For formats that are small or must be read as a whole anyway: every column is an array of numbers, one for each row,
** and becomes a column of the store at once.  ROW_NULL is NULL.  What is not set is absent in the source, and so may be
** derived.
*/
#ifndef TFPROF_EAGER_ROWS_H
#define TFPROF_EAGER_ROWS_H

#include "store/store.h"

#define ROW_NULL INT64_MIN

/* The narrowest column that holds the values, of reals their bits. NULL: no memory. */
struct column *pack_values(const int64_t *values, uint32_t rows, bool is_real);

/* The rows of one table, made a column at a time. A failure of any function stays in *status, and whatever is called
** after it does nothing; so a reader may ask only at the end. */
struct eager_rows {
  struct segment *segment; /* the only one of the table; NULL: no rows, or failed */
  uint32_t count;          /* 0: no rows, or failed */
  int64_t *values;         /* of the column that is being filled: `count` numbers */
  enum tfprof_status *status;
  struct tfprof_error *error;
};

/* All return whether nothing has failed, but for eager_rows_end(), which every begin needs. Without rows there is no
** segment, and nothing to set. TFPROF_LIMIT past 2^31 rows. `status` and `error` are the reader's and outlive the
** rows. */
bool eager_rows_begin(struct eager_rows *rows, struct profile *profile, unsigned table, uint64_t count,
                      enum tfprof_status *status, struct tfprof_error *error);
void eager_rows_end(struct eager_rows *rows);

/* Makes `values` the column, which was not set yet. */
bool eager_rows_set(struct eager_rows *rows, unsigned column);
/* The same, but a column of which no row has a value stays unset: what the file does not have may be derived. */
bool eager_rows_set_known(struct eager_rows *rows, unsigned column);
bool eager_rows_set_constant(struct eager_rows *rows, unsigned column, int64_t value);
/* The column has no value in any row, and nothing derives one. */
bool eager_rows_set_absent(struct eager_rows *rows, unsigned column);
/* Start, duration and end; `values` holds the starts, `lengths` the durations. Without a start or a duration in any row
** all three are absent. */
bool eager_rows_set_span(struct eager_rows *rows, unsigned start, unsigned duration, unsigned end,
                         const int64_t *lengths);
/* Makes a member of the items of a list, one for each row, the column; of texts their ids, of which 0 is NULL as it
** is. */
#define eager_rows_set_members(rows, column, list, member)                                                      \
  do {                                                                                                          \
    for (uint32_t i = 0; i < (rows)->count; i++) (rows)->values[i] = (int64_t)(list).items[i].member;           \
    eager_rows_set((rows), (column));                                                                           \
  } while (0)
/* Takes over `value`, in any case; NULL: there was no memory for it. */
bool eager_rows_take(struct eager_rows *rows, unsigned column, struct column *value);

/* profile_source.load of readers that set everything when they open: there is nothing left to load. */
enum tfprof_status eager_rows_load(struct profile *profile, struct segment *segment, const uint16_t *columns,
                                   unsigned count, struct column **out, struct tfprof_error *error);

#endif
