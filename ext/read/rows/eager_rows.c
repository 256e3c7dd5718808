/* eager_rows.c: see eager_rows.h. */
#include "read/rows/eager_rows.h"

#include "base/vectors.h"

#include <stdlib.h>
#include <string.h>

static struct column *pack_reals(const int64_t *values, uint32_t rows) {
  uint64_t *nulls = NULL;
  for (uint32_t i = 0; i < rows; i++) {
    if (values[i] != ROW_NULL) continue;
    if (!nulls && !(nulls = calloc((size_t)rows / 64 + 1, sizeof *nulls))) return NULL;
    nulls_add(nulls, i);
  }
  struct column *column = column_from_reals((const double *)(const void *)values, nulls, rows);
  free(nulls);
  return column;
}

VECTOR_CLONES static struct column *pack_integers(const int64_t *values, uint32_t rows) {
  int64_t minimum = INT64_MAX, maximum = INT64_MIN;
  bool has_nulls = false;
  for (uint32_t i = 0; i < rows; i++) {
    int64_t value = values[i];
    has_nulls |= value == ROW_NULL;
    if (value > maximum) maximum = value;
    if (value != ROW_NULL && value < minimum) minimum = value;
  }
  if (maximum == ROW_NULL) return column_absent(rows);
  struct column_builder builder;
  if (column_builder_start(&builder, rows, minimum, maximum, false, has_nulls)) return NULL;
  if (has_nulls) {
    for (uint32_t i = 0; i < rows; i++) {
      if (values[i] == ROW_NULL) column_builder_put_null(&builder, i);
    }
  }
  column_builder_put_all(&builder, 0, values, rows); /* elements of NULL rows hold anything */
  return column_builder_done(&builder);
}

struct column *pack_values(const int64_t *values, uint32_t rows, bool is_real) {
  return is_real ? pack_reals(values, rows) : pack_integers(values, rows);
}

void eager_rows_end(struct eager_rows *rows) {
  free(rows->values);
  rows->values = NULL;
}

bool eager_rows_begin(struct eager_rows *rows, struct profile *profile, unsigned table, uint64_t count,
                      enum tfprof_status *status, struct tfprof_error *error) {
  struct column_set raw = {{0, 0}};
  *rows = (struct eager_rows){.status = status, .error = error};
  if (*status || count == 0) return !*status;
  if (count > (uint64_t)1 << 31) {
    *status = error_set(error, TFPROF_LIMIT, "%llu rows of %s are more than one file may have",
                        (unsigned long long)count, schema_tables[table].name);
    return false;
  }
  rows->values = malloc(count * sizeof *rows->values);
  *status = rows->values ? profile_add_segment(profile, table, 0, (uint32_t)count, &raw, NULL, &rows->segment, error)
                         : error_no_memory(error);
  if (*status) {
    eager_rows_end(rows);
    return false;
  }
  rows->count = (uint32_t)count;
  return true;
}

bool eager_rows_take(struct eager_rows *rows, unsigned column, struct column *value) {
  if (!*rows->status && rows->segment && value) {
    assert(!rows->segment->columns[column] && segment_may_have(rows->segment, column, value));
    rows->segment->columns[column] = value;
    column_set_add(&rows->segment->is_raw, column);
    return true;
  }
  if (!*rows->status && rows->segment) *rows->status = error_no_memory(rows->error);
  column_release(value);
  return !*rows->status;
}

bool eager_rows_set(struct eager_rows *rows, unsigned column) {
  if (*rows->status || !rows->segment) return !*rows->status;
  assert(rows->values && rows->segment->rows == rows->count);
  bool is_real = schema_tables[rows->segment->table].columns[column].type == TYPE_REAL;
  return eager_rows_take(rows, column, pack_values(rows->values, rows->count, is_real));
}

static bool has_values(const int64_t *values, uint32_t count) {
  uint32_t row = 0;
  while (row < count && values[row] == ROW_NULL) row++;
  return row < count;
}

bool eager_rows_set_known(struct eager_rows *rows, unsigned column) {
  return has_values(rows->values, rows->count) ? eager_rows_set(rows, column) : !*rows->status;
}

bool eager_rows_set_constant(struct eager_rows *rows, unsigned column, int64_t value) {
  if (*rows->status || !rows->segment) return !*rows->status;
  return eager_rows_take(rows, column, column_constant(rows->count, value));
}

bool eager_rows_set_absent(struct eager_rows *rows, unsigned column) {
  if (*rows->status || !rows->segment) return !*rows->status;
  return eager_rows_take(rows, column, column_absent(rows->count));
}

bool eager_rows_set_span(struct eager_rows *rows, unsigned start, unsigned duration, unsigned end,
                         const int64_t *lengths) {
  if (*rows->status || !rows->segment) return !*rows->status;
  if (!has_values(rows->values, rows->count) || !has_values(lengths, rows->count)) {
    return eager_rows_set_absent(rows, start) && eager_rows_set_absent(rows, duration) &&
           eager_rows_set_absent(rows, end);
  }
  if (!eager_rows_set(rows, start)) return false;
  memcpy(rows->values, lengths, rows->count * sizeof *lengths);
  struct column *const *columns = rows->segment->columns;
  return eager_rows_set(rows, duration) && eager_rows_take(rows, end, column_sum(columns[start], columns[duration]));
}

enum tfprof_status eager_rows_load(struct profile *profile, struct segment *segment, const uint16_t *columns,
                                   unsigned count, struct column **out, struct tfprof_error *error) {
  (void)profile;
  (void)segment;
  (void)columns;
  (void)error;
  memset(out, 0, count * sizeof *out);
  return TFPROF_OK;
}
