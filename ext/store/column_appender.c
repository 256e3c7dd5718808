/* column_appender.c: see column_appender.h. */
#include "store/column_appender.h"

#include "base/list.h"
#include "base/vectors.h"

#include <stdlib.h>
#include <string.h>

static uint64_t element_at(const struct column_appender *appender, uint32_t row) {
  switch (appender->width) {
    case 0: return 0;
    case 1: return ((const uint8_t *)appender->elements)[row];
    case 2: return ((const uint16_t *)appender->elements)[row];
    case 4: return ((const uint32_t *)appender->elements)[row];
  }
  return ((const uint64_t *)appender->elements)[row];
}

static uint64_t largest_of_width(unsigned width) { return width == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * width) - 1; }

/* Room for more rows of the same width. */
static bool grow_appender(struct column_appender *appender, uint32_t row) {
  uint64_t capacity = appender->capacity ? (uint64_t)appender->capacity * 2 : 64;
  while (capacity <= row) capacity *= 2;
  if (capacity > UINT32_MAX) capacity = UINT32_MAX;
  void *elements = realloc(appender->elements, capacity * appender->width);
  if (!elements) return false;
  appender->elements = elements;
  appender->capacity = (uint32_t)capacity;
  return true;
}

/* Makes the rows before `row` elements of `width` bytes above `base`. No sum of the two passes INT64_MAX, so that
** `base` is never above a value. */
static bool convert(struct column_appender *appender, uint32_t row, unsigned width, int64_t base) {
  struct column_appender wider = *appender;
  uint64_t most = (uint64_t)INT64_MAX - (uint64_t)base;
  wider.width = (uint8_t)width;
  wider.base = (uint64_t)base;
  wider.largest = most < largest_of_width(width) ? most : largest_of_width(width);
  wider.elements = NULL;
  wider.capacity = 0;
  if (!grow_appender(&wider, row)) return false;
  for (uint32_t i = 0; i < row; i++)
    column_appender_set_element(&wider, i, element_at(appender, i) + appender->base - (uint64_t)base);
  free(appender->elements);
  *appender = wider;
  return true;
}

/* The range of the rows before `row` and the value, and as much beyond it on the value's side as its width allows. */
static bool widen(struct column_appender *appender, uint32_t row, int64_t value) {
  uint64_t lowest = UINT64_MAX, highest = 0;
  for (uint32_t i = 0; i < row; i++) {
    uint64_t element = element_at(appender, i);
    lowest = element < lowest ? element : lowest;
    highest = element > highest ? element : highest;
  }
  int64_t low = row ? (int64_t)(appender->base + lowest) : value,
          high = row ? (int64_t)(appender->base + highest) : value;
  bool is_below = value < low;
  uint64_t range = is_below ? (uint64_t)high - (uint64_t)value : (uint64_t)value - (uint64_t)low;
  unsigned width = 1;
  while (width < 8 && range > largest_of_width(width)) width *= 2;
  if (width == 8) return convert(appender, row, 8, INT64_MIN);
  if (!is_below) return convert(appender, row, width, low);
  uint64_t room = (largest_of_width(width) - range) / 2, below = (uint64_t)value - (uint64_t)INT64_MIN;
  return convert(appender, row, width, (int64_t)((uint64_t)value - (room < below ? room : below)));
}

bool column_appender_put_slow(struct column_appender *appender, uint32_t row, int64_t value) {
  if (!appender->has_value) { /* what is before it is NULL, and counts as anything */
    appender->has_value = true;
    appender->base = (uint64_t)value;
    appender->capacity = UINT32_MAX;
    return true;
  }
  bool fits = (uint64_t)value - appender->base <= appender->largest;
  if (fits ? !grow_appender(appender, row) : !widen(appender, row, value)) return false;
  column_appender_set_element(appender, row, (uint64_t)value - appender->base);
  return true;
}

/* All bits that elements of the values would have: none is larger than these together. */
VECTOR_CLONES static uint64_t bits_of_elements(const int64_t *values, uint32_t count, uint64_t base) {
  uint64_t bits = 0;
  for (uint32_t i = 0; i < count; i++) bits |= (uint64_t)values[i] - base;
  return bits;
}

bool column_appender_put_all(struct column_appender *appender, uint32_t row, const int64_t *values, uint32_t count) {
  if (appender->has_value && (uint64_t)row + count <= appender->capacity &&
      bits_of_elements(values, count, appender->base) <= appender->largest) {
    column_set_elements(appender->elements, appender->width, row, values, count, appender->base);
    return true;
  }
  for (uint32_t i = 0; i < count; i++) {
    if (!column_appender_put(appender, row + i, values[i])) return false;
  }
  return true;
}

bool column_appender_put_null(struct column_appender *appender, uint32_t row) {
  if (!array_extend(appender->nulls, appender->null_words, (size_t)row / 64 + 1)) return false;
  appender->nulls[row / 64] |= (uint64_t)1 << row % 64;
  /* The row has an element like all others. */
  return !appender->has_value || column_appender_put(appender, row, (int64_t)appender->base);
}

struct column *column_appender_done(struct column_appender *appender, uint32_t rows) {
  if (!appender->has_value) {
    column_appender_free(appender);
    return column_absent(rows);
  }
  struct column *column = column_constant(rows, (int64_t)appender->base);
  if (!column) return NULL;
  size_t words = ((size_t)rows + 63) / 64;
  /* Those after the last NULL are not there yet. */
  if (appender->nulls && !array_extend(appender->nulls, appender->null_words, words)) {
    column_release(column);
    return NULL;
  }
  if (appender->width) {
    void *elements = realloc(appender->elements, rows ? (size_t)rows * appender->width : 1);
    column->form = COLUMN_ARRAY;
    column->width = appender->width;
    column->elements = elements ? elements : appender->elements;
  }
  column->nulls = appender->nulls;
  *appender = (struct column_appender){0};
  return column;
}

void column_appender_free(struct column_appender *appender) {
  free(appender->elements);
  free(appender->nulls);
  *appender = (struct column_appender){0};
}
