/* column.h: an immutable array of values of one column of one segment.
**
** Four forms, the narrowest that holds the values:
**   COLUMN_ABSENT    every row is NULL (no memory)
**   COLUMN_CONSTANT  every row has the same value
**   COLUMN_ARRAY     value = base + unsigned element of 1, 2, 4 or 8 bytes; of reals (is_real) 8-byte doubles, or
**                    where few differ their numbers in a dictionary, of 1 or 2 bytes
**   COLUMN_SUM       value = left[row] + right[row]: end_ns is start_ns + dur_ns; either NULL: NULL
** with an optional null bitmap (bit r set: row r is NULL).  Real numbers are in columns of TYPE_REAL and nowhere else,
** which readers see to, so that a column is asked for by its type.  Text is pool ids (0 is NULL as well); references
** are row numbers in the target table; times are in the profile's own clock.  What SQL sees (ids, epoch times) is made
** by segment_value() in segment.h.
**
** Columns are reference-counted, because a refreshed profile shares them with cursors that still read the older one.
*/
#ifndef TFPROF_COLUMN_H
#define TFPROF_COLUMN_H

#include "base/error.h"

#include <assert.h>

enum column_form { COLUMN_ABSENT, COLUMN_CONSTANT, COLUMN_ARRAY, COLUMN_SUM };

struct column {
  uint32_t references;
  uint32_t rows;
  uint8_t form;  /* enum column_form */
  uint8_t width; /* bytes per element of an array */
  bool is_real;
  int64_t base;          /* COLUMN_CONSTANT: the value, or the double's bits; COLUMN_ARRAY: added to each element */
  const void *elements;  /* owned */
  const double *dictionary; /* owned; NULL: none */
  const uint64_t *nulls; /* owned; NULL: no nulls */
  struct column *left, *right; /* COLUMN_SUM: retained */
};

struct column *column_retain(struct column *column);
void column_release(struct column *column); /* NULL is fine */
/* Bytes of memory, shared parts of COLUMN_SUM left out. */
uint64_t column_bytes(const struct column *column);

struct column *column_absent(uint32_t rows);
struct column *column_constant(uint32_t rows, int64_t value);
struct column *column_constant_real(uint32_t rows, double value);
struct column *column_sum(struct column *left, struct column *right); /* retains both */
/* Copies into the narrowest form. nulls (may be NULL) is copied. Values under null bits are ignored. */
struct column *column_from_integers(const int64_t *values, const uint64_t *nulls, uint32_t rows);
struct column *column_from_reals(const double *values, const uint64_t *nulls, uint32_t rows);

/* For a writer that knows the range before it has the values: elements zeroed, to be filled by column_builder_put
** from several threads at disjoint rows; nulls set by bit (word-aligned row ranges may be set from different
** threads). Finish with column_builder_done. A minimum that equals the maximum makes a constant, where put does
** nothing; the two are ignored for reals, which are always an array. */
struct column_builder {
  struct column *column;
  void *elements;
  uint64_t *nulls; /* allocated when may_have_nulls */
};
enum tfprof_status column_builder_start(struct column_builder *builder, uint32_t rows, int64_t minimum, int64_t maximum,
                                        bool is_real, bool may_have_nulls);
static inline void column_builder_put(struct column_builder *builder, uint32_t row, int64_t value);
static inline void column_builder_put_real(struct column_builder *builder, uint32_t row, double value);
static inline void column_builder_put_null(struct column_builder *builder, uint32_t row);
/* Many at once, into rows from `row` on. */
void column_builder_put_all(struct column_builder *builder, uint32_t row, const int64_t *values, uint32_t count);
/* Writes values - base into elements of `width` bytes from element `row` on; width 0: there are none. */
void column_set_elements(void *elements, unsigned width, uint32_t row, const int64_t *values, uint32_t count,
                         uint64_t base);
/* Allocates the null bitmap later, when nulls turn up unexpectedly (not from several threads). */
enum tfprof_status column_builder_allow_nulls(struct column_builder *builder);
/* Drops an all-zero null bitmap; a column of NULLs only becomes absent. */
struct column *column_builder_done(struct column_builder *builder);
void column_builder_cancel(struct column_builder *builder);

/* Bit `row` of a null bitmap. */
static inline bool nulls_have(const uint64_t *nulls, uint32_t row) { return nulls[row >> 6] >> (row & 63) & 1; }
static inline void nulls_add(uint64_t *nulls, uint32_t row) { nulls[row >> 6] |= (uint64_t)1 << (row & 63); }

static inline bool column_is_null(const struct column *c, uint32_t row) {
  assert(row < c->rows);
  if (c->form == COLUMN_ABSENT) return true;
  if (c->form == COLUMN_SUM) return column_is_null(c->left, row) || column_is_null(c->right, row);
  return c->nulls && nulls_have(c->nulls, row);
}

/* The stored integer; meaningless where column_is_null. Arithmetic wraps (the store checks sums of untrusted times
** when reading). */
static inline int64_t column_integer(const struct column *c, uint32_t row) {
  uint64_t element = 0;
  assert(row < c->rows && !c->is_real);
  if (c->form == COLUMN_ARRAY) {
    switch (c->width) {
      case 1: element = ((const uint8_t *)c->elements)[row]; break;
      case 2: element = ((const uint16_t *)c->elements)[row]; break;
      case 4: element = ((const uint32_t *)c->elements)[row]; break;
      default: element = ((const uint64_t *)c->elements)[row]; break;
    }
  } else if (c->form == COLUMN_SUM) {
    return (int64_t)((uint64_t)column_integer(c->left, row) + (uint64_t)column_integer(c->right, row));
  }
  return (int64_t)((uint64_t)c->base + element);
}

/* Copies rows first ... first + count - 1 (`first` a multiple of 64) into `values`, of real columns the bits of the
** doubles, and their null bits into `nulls` ((count + 63) / 64 words, bits past the last row 0). Faster than asking
** row by row. Returns whether there are nulls. */
bool column_read(const struct column *column, uint32_t first, uint32_t count, int64_t *values, uint64_t *nulls);

static inline double column_real(const struct column *c, uint32_t row) {
  union {
    uint64_t bits;
    double real;
  } value;
  assert(row < c->rows && (c->is_real || c->form == COLUMN_ABSENT));
  if (c->dictionary)
    return c->dictionary[c->width == 1 ? ((const uint8_t *)c->elements)[row] : ((const uint16_t *)c->elements)[row]];
  value.bits = c->form == COLUMN_ARRAY ? ((const uint64_t *)c->elements)[row] : (uint64_t)c->base;
  return value.real;
}

static inline void column_builder_put(struct column_builder *b, uint32_t row, int64_t value) {
  uint64_t element = (uint64_t)value - (uint64_t)b->column->base;
  assert(row < b->column->rows && !b->column->is_real);
  assert(b->column->width == 0 || b->column->width == 8 || element >> 8 * b->column->width == 0);
  switch (b->column->width) {
    case 0: break; /* constant */
    case 1: ((uint8_t *)b->elements)[row] = (uint8_t)element; break;
    case 2: ((uint16_t *)b->elements)[row] = (uint16_t)element; break;
    case 4: ((uint32_t *)b->elements)[row] = (uint32_t)element; break;
    default: ((uint64_t *)b->elements)[row] = element; break;
  }
}

static inline void column_builder_put_real(struct column_builder *b, uint32_t row, double value) {
  assert(row < b->column->rows && b->column->is_real);
  if (b->column->width) ((double *)b->elements)[row] = value;
}

static inline void column_builder_put_null(struct column_builder *b, uint32_t row) {
  assert(b->nulls && row < b->column->rows);
  nulls_add(b->nulls, row);
}

#endif
