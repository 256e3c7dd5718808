/* rows.h: the columns of a profile's table as plain values for derive passes, and back.
**
** A pass goes through a table segment by segment in blocks of ROWS_BLOCK rows: derive_integers() and
** derive_references() unpack a block of one column into an array on the stack, whatever form the column has, so that
** the loops of the passes themselves know nothing of forms, widths and null bitmaps.  What a pass makes it collects
** in arrays indexed by row number and hands over with derive_set_*().  Memory of passes is scratch memory
** (store/scratch.h).
**
** Row numbers are 32 bits here (NO_ROW: none); derive_row_count() refuses a table with more rows.
*/
#ifndef TFPROF_DERIVE_ROWS_H
#define TFPROF_DERIVE_ROWS_H

#include "derive/derive.h"
#include "store/scratch.h"

enum { ROWS_BLOCK = 2048 };
#define NO_ROW UINT32_MAX
/* What derive_integers() writes for NULL and what derive_set_integers() takes as NULL. */
#define NO_VALUE INT64_MIN

/* How many rows the block has that begins at row `first` of a segment. */
static inline uint32_t derive_block_rows(const struct segment *segment, uint32_t first) {
  return segment->rows - first < ROWS_BLOCK ? segment->rows - first : ROWS_BLOCK;
}

/* out[i] = the value of row first + i, NO_VALUE for NULL. count is at most ROWS_BLOCK. */
void derive_integers(const struct column *column, uint32_t first, uint32_t count, int64_t *out);
/* The same for references to a table of `limit` rows; NO_ROW for NULL and for what is outside the table. */
void derive_references(const struct column *column, uint32_t first, uint32_t count, uint32_t limit, uint32_t *out);
/* The same for text; 0 for NULL. */
void derive_texts(const struct column *column, uint32_t first, uint32_t count, string_id *out);

/* later - earlier, as far as that can be told in 64 bits: times of a damaged file may be any numbers. */
static inline int64_t derive_difference(int64_t later, int64_t earlier) {
  int64_t difference;
  if (!__builtin_sub_overflow(later, earlier, &difference)) return difference;
  return later > earlier ? INT64_MAX : -INT64_MAX;
}

/* The sum of two spans of time, as far as that can be told. */
static inline int64_t derive_sum(int64_t one, int64_t other) {
  int64_t sum;
  return __builtin_add_overflow(one, other, &sum) ? one > 0 ? INT64_MAX : -INT64_MAX : sum;
}

/* The smallest and the largest value; false when there is a NO_VALUE among them or none at all. */
static inline bool derive_range(const int64_t *values, uint32_t count, int64_t *smallest, int64_t *largest) {
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (uint32_t i = 0; i < count; i++) {
    low = values[i] < low ? values[i] : low;
    high = values[i] > high ? values[i] : high;
  }
  *smallest = low;
  *largest = high;
  return count && low != NO_VALUE;
}

/* The segment that holds a row number, or NULL; *hint is where the one before was found, at first 0. */
static inline const struct segment *derive_segment_of(const struct profile_table *content, uint32_t row, size_t *hint) {
  struct segment *const *segments = content->segments;
  size_t low = *hint;
  if (low >= content->segment_count) return NULL;
  if (row < segments[low]->first_row || row - segments[low]->first_row >= segments[low]->rows) {
    size_t high = content->segment_count;
    for (low = 0; high - low > 1;) {
      size_t middle = low + (high - low) / 2;
      if (segments[middle]->first_row <= row) low = middle; else high = middle;
    }
    *hint = low;
  }
  return row - segments[low]->first_row < segments[low]->rows ? segments[low] : NULL;
}

/* The same for real numbers; NAN for NULL. */
void derive_reals(const struct column *column, uint32_t first, uint32_t count, double *out);

/* The first row from `row` on that has this text, or the number of rows. Passes over rows of a rare text quickly. */
uint32_t derive_find_text(const struct column *column, uint32_t row, string_id text);

/* The first row from `row` on that is not NULL, or the number of rows. */
uint32_t derive_find_value(const struct column *column, uint32_t row);
/* Whether any row of the table has a value there. */
bool derive_has_value(const struct profile *profile, unsigned table, unsigned column);

/* The number after the last row number of the table; TFPROF_LIMIT when it does not fit. */
enum tfprof_status derive_row_count(const struct profile *profile, unsigned table, uint32_t *rows,
                                    struct tfprof_error *error);
/* A whole column, indexed by row number, scratch memory of the caller's. */
enum tfprof_status derive_all_integers(const struct profile *profile, unsigned table, unsigned column, int64_t **values,
                                       struct tfprof_error *error);
enum tfprof_status derive_all_references(const struct profile *profile, unsigned table, unsigned column,
                                         uint32_t **values, struct tfprof_error *error);

/* Makes a column of every segment from values by row number; NO_VALUE, NO_ROW and text 0 become NULL. */
enum tfprof_status derive_set_integers(struct profile *profile, unsigned table, unsigned column, const int64_t *values,
                                       struct tfprof_error *error);
enum tfprof_status derive_set_references(struct profile *profile, unsigned table, unsigned column,
                                         const uint32_t *values, struct tfprof_error *error);
enum tfprof_status derive_set_texts(struct profile *profile, unsigned table, unsigned column, const string_id *values,
                                    struct tfprof_error *error);
/* The same for real numbers; NAN becomes NULL. */
enum tfprof_status derive_set_reals(struct profile *profile, unsigned table, unsigned column, const double *values,
                                    struct tfprof_error *error);
/* The same for one segment, whose rows have values[0 ...], references or texts, where NO_ROW is NULL: for tasks that
** each work on one. */
enum tfprof_status derive_set_segment(struct segment *segment, unsigned column, const uint32_t *values);
/* The same of any integers; NO_VALUE is NULL. */
enum tfprof_status derive_set_segment_integers(struct segment *segment, unsigned column, const int64_t *values);
/* The same of real numbers; NAN is NULL. */
enum tfprof_status derive_set_segment_reals(struct segment *segment, unsigned column, const double *values);
/* The same for a column that most rows are without: values of `count` rows, ascending by row. */
struct row_value {
  uint32_t row, value;
};
enum tfprof_status derive_set_few_references(struct profile *profile, unsigned table, unsigned column,
                                             const struct row_value *values, uint32_t count,
                                             struct tfprof_error *error);

/* The segments of a table that a pass makes; its columns are then set with derive_set_*() or derive_fill_table(). No
** rows, no segment. */
enum tfprof_status derive_make_table(struct profile *profile, unsigned table, uint32_t rows,
                                     struct tfprof_error *error);
/* How to compute a column of a made table: out[i] is the value of row first + i, an int64_t, uint32_t or string_id,
** with NULL as above. Or (MADE_SUM, without `fill`) of which columns that come before it in the list it is the sum. */
struct made_column {
  uint16_t column;
  enum { MADE_INTEGERS, MADE_REFERENCES, MADE_TEXTS, MADE_SUM } kind;
  void (*fill)(const void *context, uint32_t first, uint32_t count, void *out);
  uint16_t left, right;
};
/* Sets columns of all segments of a made table, segments side by side: for tables that are too large to be put
** together in memory once more. */
enum tfprof_status derive_fill_table(struct profile *profile, unsigned table, const struct made_column *columns,
                                     unsigned count, const void *context, struct tfprof_error *error);

/* The id of a text that the pool may hold, else an id that no column has. */
string_id derive_known_text(const struct profile *profile, const char *text);
/* The id of a text, which is put into the pool. */
enum tfprof_status derive_text(struct profile *profile, const char *text, string_id *id, struct tfprof_error *error);

/* parallel_for() for tasks on `rows` rows in all; on the calling thread alone where they are few. Tasks do nothing to
** the store or the pool, but may set columns of different segments and ask store_interrupted(). */
void derive_parallel(uint64_t rows, size_t count, void (*task)(void *context, size_t i, unsigned worker),
                     void *context);
/* What a task could not tell: TFPROF_OK, TFPROF_INTERRUPTED or else TFPROF_NO_MEMORY, with its message. */
enum tfprof_status derive_failure(int status, struct tfprof_error *error);
/* TFPROF_INTERRUPTED when the user asked to stop: to be called once a block. */
enum tfprof_status derive_poll(const struct profile *profile, struct tfprof_error *error);

/* A block of the rows of a table: `count` rows of a segment from its row `first` on, which is `row` of the table. */
struct row_block {
  struct segment *segment;
  size_t segments_begun;
  uint32_t first, count;
  uint64_t row;
};

/* Goes on to the next block, from {0} to the first: while true, and *status is TFPROF_OK. It polls between blocks. */
static inline bool derive_next_block(const struct profile *profile, unsigned table, struct row_block *block,
                                     enum tfprof_status *status, struct tfprof_error *error) {
  const struct profile_table *content = &profile->tables[table];
  if (!*status && block->segment) *status = derive_poll(profile, error);
  if (*status) return false;
  block->first += block->count;
  while (!block->segment || block->first >= block->segment->rows) {
    if (block->segments_begun == content->segment_count) return false;
    block->segment = content->segments[block->segments_begun++];
    block->first = 0;
  }
  block->count = derive_block_rows(block->segment, block->first);
  block->row = block->segment->first_row + block->first;
  return true;
}
/* derive_integers() and its like for the rows of a block. */
static inline void block_integers(const struct row_block *block, unsigned column, int64_t *out) {
  derive_integers(block->segment->columns[column], block->first, block->count, out);
}
static inline void block_references(const struct row_block *block, unsigned column, uint32_t limit, uint32_t *out) {
  derive_references(block->segment->columns[column], block->first, block->count, limit, out);
}
static inline void block_texts(const struct row_block *block, unsigned column, string_id *out) {
  derive_texts(block->segment->columns[column], block->first, block->count, out);
}
static inline void block_reals(const struct row_block *block, unsigned column, double *out) {
  derive_reals(block->segment->columns[column], block->first, block->count, out);
}

/* Categories of rows of ops that are no ops: what the program marks, its modules, and frames of Python. */
enum { OP_MARKS = 3 };
static inline void derive_op_marks(const struct profile *profile, string_id marks[OP_MARKS]) {
  static const char *const names[OP_MARKS] = {"user", "module", "python"};
  for (unsigned i = 0; i < OP_MARKS; i++) marks[i] = derive_known_text(profile, names[i]);
}
static inline bool derive_is_op_mark(const string_id marks[OP_MARKS], string_id category) {
  return category && (category == marks[0] || category == marks[1] || category == marks[2]);
}

#endif
