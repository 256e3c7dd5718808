/* filter_scan.c: filter_first(), see filter.h: passes over rows that cannot match, sixty-four at a time.
**
** An interval of values is one of the elements that are stored, less a constant; a text is one of them.  Whether any of
** a chunk of elements lies in it takes two instructions for each register full of them.  Ends are sums of two columns,
** which are added up a chunk at a time.
*/
#include "vtab/filter.h"

#include "base/vectors.h"

enum { CHUNK = 64 };

/* The elements low ... low + span of a column of `width` bytes that a value in the filter may be stored as. False: all
** might be. *is_empty: none is. */
static bool interval_of_elements(struct filter *filter, int64_t base, unsigned width, uint64_t *low, uint64_t *span,
                                 bool *is_empty) {
  int64_t minimum, maximum, highest;
  uint64_t most = width == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * width) - 1;
  *is_empty = false;
  if (filter->kind == FILTER_INTEGER_RANGE) {
    minimum = filter->minimum;
    maximum = filter->maximum;
  } else if (filter->kind == FILTER_TEXT_EQUAL) {
    minimum = maximum = filter_text(filter); /* 0: no column that is loaded has it */
  } else {
    return false;
  }
  if (most > INT64_MAX || __builtin_add_overflow(base, (int64_t)most, &highest)) return false;
  *is_empty = maximum < base || minimum > highest || minimum > maximum ||
              (filter->kind == FILTER_TEXT_EQUAL && minimum == 0);
  *low = minimum > base ? (uint64_t)(minimum - base) : 0;
  *span = (maximum < highest ? (uint64_t)(maximum - base) : most) - *low;
  return true;
}

#define FIRST(type) { \
    const type *elements = reader->elements; \
    type from = (type)low, most = (type)span; \
    for (; rows - row >= CHUNK; row += CHUNK) { \
      uint8_t any = 0; \
      for (unsigned i = 0; i < CHUNK; i++) any |= (type)(elements[row + i] - from) <= most; \
      if (any) break; \
    } \
    while (row < rows && (type)(elements[row] - from) > most) row++; \
  }

VECTOR_CLONES static uint32_t first_of_array(const struct column_reader *reader, uint32_t row, uint32_t rows,
                                             uint64_t low, uint64_t span) {
  switch (reader->kind) {
    case READER_1: FIRST(uint8_t) break;
    case READER_2: FIRST(uint16_t) break;
    case READER_4: FIRST(uint32_t) break;
    default: break;
  }
  return row;
}
#undef FIRST

VECTOR_CLONES static bool any_in(const int64_t *values, unsigned count, int64_t minimum, int64_t maximum) {
  uint8_t any = 0;
  for (unsigned i = 0; i < count; i++) any |= (uint8_t)(values[i] >= minimum) & (uint8_t)(values[i] <= maximum);
  return any;
}

/* Up to the first chunk, or part of one, that has a value in the interval, be it of a row that is NULL. */
static uint32_t first_of_values(const struct filter *filter, const struct column_reader *reader, uint32_t row,
                                uint32_t rows) {
  int64_t values[CHUNK], minimum, maximum, added; /* `added` to what the column has: that of the clock */
  uint64_t nulls[1];
  bool is_sum = reader->kind == READER_SUM;
  if (__builtin_sub_overflow(reader->base, is_sum ? 0 : reader->column->base, &added)) return row;
  if (__builtin_sub_overflow(filter->minimum, added, &minimum)) minimum = filter->minimum < 0 ? INT64_MIN : INT64_MAX;
  if (__builtin_sub_overflow(filter->maximum, added, &maximum)) maximum = filter->maximum < 0 ? INT64_MIN : INT64_MAX;
  while (row < rows) {
    uint32_t chunk = row / CHUNK * CHUNK, count = rows - chunk < CHUNK ? rows - chunk : CHUNK;
    column_read(reader->column, chunk, count, values, nulls);
    if (any_in(values + (row - chunk), count - (row - chunk), minimum, maximum)) return row;
    row = chunk + count;
  }
  return row;
}

uint32_t filter_first(struct filter *filter, const struct column_reader *reader, uint32_t row, uint32_t rows) {
  uint64_t low, span;
  bool is_empty;
  if (filter->null_matches || row >= rows) return row;
  bool is_sum = reader->kind == READER_SUM || reader->kind == READER_8;
  if (is_sum && filter->kind == FILTER_INTEGER_RANGE) return first_of_values(filter, reader, row, rows);
  unsigned width = reader->kind == READER_1 ? 1 : reader->kind == READER_2 ? 2 : reader->kind == READER_4 ? 4 : 0;
  if (!width || reader->value_kind == VALUE_REAL) return row;
  if (!interval_of_elements(filter, reader->base, width, &low, &span, &is_empty)) return row;
  return is_empty ? rows : first_of_array(reader, row, rows, low, span);
}
