/* column_appender.h: a column for a writer that knows neither the range of the values nor how many there will be.
**
** Elements are kept as in a column (column.h), in the narrowest width that has been enough so far; a value beyond it
** makes all before it wider.  Since the range at least doubles each time, appending takes constant time on average.
** Rows are appended in order from 0 on, each once; the columns of one table share the writer's count of rows.
**
**   struct column_appender bytes = {0};
**   for (row = 0; row < count; row++) ok = ok && column_appender_put(&bytes, row, value[row]);
**   struct column *column = ok ? column_appender_done(&bytes, count) : NULL;
**   column_appender_free(&bytes);
*/
#ifndef TFPROF_COLUMN_APPENDER_H
#define TFPROF_COLUMN_APPENDER_H

#include "store/column.h"

#include <assert.h>

struct column_appender {
  void *elements;
  uint64_t *nulls;        /* NULL: there are none so far */
  uint64_t base, largest; /* elements are value - base, and at most this */
  size_t null_words;
  uint32_t capacity; /* rows that there is room for */
  uint8_t width;     /* bytes per element; 0: all values are the base */
  bool has_value;
};

/* `row` must have room and `element` fit. */
static inline void column_appender_set_element(struct column_appender *appender, uint32_t row, uint64_t element) {
  assert(row < appender->capacity && element <= appender->largest);
  switch (appender->width) {
    case 0: break;
    case 1: ((uint8_t *)appender->elements)[row] = (uint8_t)element; break;
    case 2: ((uint16_t *)appender->elements)[row] = (uint16_t)element; break;
    case 4: ((uint32_t *)appender->elements)[row] = (uint32_t)element; break;
    default: ((uint64_t *)appender->elements)[row] = element; break;
  }
}

/* The general case of column_appender_put. */
bool column_appender_put_slow(struct column_appender *appender, uint32_t row, int64_t value);
/* False: no memory; the row is not there. */
static inline bool column_appender_put(struct column_appender *appender, uint32_t row, int64_t value) {
  uint64_t element = (uint64_t)value - appender->base;
  if (element > appender->largest || row >= appender->capacity) return column_appender_put_slow(appender, row, value);
  column_appender_set_element(appender, row, element);
  return true;
}
/* Many at once, into rows from `row` on: as column_appender_put for each, and faster. */
bool column_appender_put_all(struct column_appender *appender, uint32_t row, const int64_t *values, uint32_t count);
bool column_appender_put_null(struct column_appender *appender, uint32_t row);
/* The column of all `rows` rows, which takes the memory of the appender; NULL: no memory. */
struct column *column_appender_done(struct column_appender *appender, uint32_t rows);
void column_appender_free(struct column_appender *appender);

#endif
