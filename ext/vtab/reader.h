/* reader.h: one column of one segment, ready to be read row by row as SQL sees it.
**
** The same values as segment_value() of segment.h, but what that decides for each value is decided here once for each
** segment: the form of the column, and the constant that turns row numbers into ids and clock readings into times.
*/
#ifndef TFPROF_READER_H
#define TFPROF_READER_H

#include "store/store.h"

enum reader_kind {
  READER_NULL,     /* every row */
  READER_CONSTANT, /* base */
  READER_ROW,      /* base + row */
  READER_1, READER_2, READER_4, READER_8, /* base + element of so many bytes */
  READER_SUM,      /* base + the sum of column->left and column->right */
  READER_REAL,     /* element */
  READER_REAL_1, READER_REAL_2, /* of column->dictionary, which the element is a number of */
  READER_REAL_CONSTANT, /* the bits of base */
};

struct column_reader {
  uint8_t kind;          /* enum reader_kind */
  uint8_t value_kind;    /* VALUE_INTEGER, VALUE_REAL or VALUE_TEXT of struct value */
  int64_t base;
  const void *elements;
  const uint64_t *nulls; /* NULL: none */
  const struct column *column;
};

/* The column must be loaded. */
void reader_bind(struct column_reader *reader, const struct segment *segment, unsigned column);

static inline bool reader_is_null(const struct column_reader *reader, uint32_t row) {
  if (reader->nulls) return nulls_have(reader->nulls, row);
  if (reader->kind == READER_SUM) return column_is_null(reader->column, row);
  return reader->kind == READER_NULL;
}

/* An integer or a string id; meaningless where reader_is_null. */
static inline int64_t reader_integer(const struct column_reader *reader, uint32_t row) {
  uint64_t element = 0;
  switch (reader->kind) {
    case READER_1: element = ((const uint8_t *)reader->elements)[row]; break;
    case READER_2: element = ((const uint16_t *)reader->elements)[row]; break;
    case READER_4: element = ((const uint32_t *)reader->elements)[row]; break;
    case READER_8: element = ((const uint64_t *)reader->elements)[row]; break;
    case READER_ROW: element = row; break;
    case READER_SUM: element = (uint64_t)column_integer(reader->column, row); break;
    default: break;
  }
  return (int64_t)((uint64_t)reader->base + element);
}

/* Of a REAL column, which may be stored as integers. A NaN is no value for SQL: it is NULL. */
static inline double reader_real(const struct column_reader *reader, uint32_t row) {
  union { int64_t bits; double real; } constant = {.bits = reader->base};
  if (reader->kind == READER_REAL) return ((const double *)reader->elements)[row];
  if (reader->kind == READER_REAL_1) return reader->column->dictionary[((const uint8_t *)reader->elements)[row]];
  if (reader->kind == READER_REAL_2) return reader->column->dictionary[((const uint16_t *)reader->elements)[row]];
  return reader->kind == READER_REAL_CONSTANT ? constant.real : (double)reader_integer(reader, row);
}

/* The value as segment_value() gives it. */
static inline struct value reader_value(const struct column_reader *reader, uint32_t row) {
  const struct value nothing = {.kind = VALUE_NULL};
  if (reader_is_null(reader, row)) return nothing;
  if (reader->value_kind == VALUE_INTEGER)
    return (struct value){.kind = VALUE_INTEGER, .integer = reader_integer(reader, row)};
  if (reader->value_kind == VALUE_TEXT) {
    string_id text = (string_id)reader_integer(reader, row);
    return text ? (struct value){.kind = VALUE_TEXT, .text = text} : nothing;
  }
  double real = reader_real(reader, row);
  return real == real ? (struct value){.kind = VALUE_REAL, .real = real} : nothing;
}

#endif
