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

/* The only segment of a table; no rows, no segment (*segment is NULL). TFPROF_LIMIT past 2^31 rows. */
enum tfprof_status eager_rows_begin(struct profile *profile, unsigned table, uint64_t rows, struct segment **segment,
                                    struct tfprof_error *error);
/* Sets a column that was not set yet. Nothing where segment is NULL. */
enum tfprof_status eager_rows_set(struct segment *segment, unsigned column, const int64_t *values,
                                  struct tfprof_error *error);
enum tfprof_status eager_rows_set_constant(struct segment *segment, unsigned column, int64_t value,
                                           struct tfprof_error *error);

/* Takes the column; NULL stands for no memory. There is a segment. */
enum tfprof_status eager_rows_set_column(struct segment *segment, unsigned column, struct column *value,
                                         struct tfprof_error *error);

/* profile_source.load of readers that set everything when they open: there is nothing left to load. */
enum tfprof_status eager_rows_load(struct profile *profile, struct segment *segment, const uint16_t *columns,
                                   unsigned count, struct column **out, struct tfprof_error *error);

#endif
