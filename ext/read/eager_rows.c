/* eager_rows.c: see eager_rows.h. */
#include "read/eager_rows.h"

#include "dump/vectors.h"

#include <string.h>

VECTOR_CLONES struct column *pack_values(const int64_t *values, uint32_t rows, bool is_real) {
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
  if (column_builder_start(&builder, rows, minimum, maximum, is_real, has_nulls)) return NULL;
  if (has_nulls) {
    for (uint32_t i = 0; i < rows; i++) {
      if (values[i] == ROW_NULL) column_builder_put_null(&builder, i);
    }
  }
  /* Elements of NULL rows hold anything. */
  uint64_t base = (uint64_t)minimum;
  if (is_real) {
    memcpy(builder.elements, values, (size_t)rows * 8);
    for (uint32_t i = 0; has_nulls && i < rows; i++) {
      if (values[i] == ROW_NULL) ((int64_t *)builder.elements)[i] = 0;
    }
  } else if (builder.column->width == 1) {
    for (uint32_t i = 0; i < rows; i++) ((uint8_t *)builder.elements)[i] = (uint8_t)((uint64_t)values[i] - base);
  } else if (builder.column->width == 2) {
    for (uint32_t i = 0; i < rows; i++) ((uint16_t *)builder.elements)[i] = (uint16_t)((uint64_t)values[i] - base);
  } else if (builder.column->width == 4) {
    for (uint32_t i = 0; i < rows; i++) ((uint32_t *)builder.elements)[i] = (uint32_t)((uint64_t)values[i] - base);
  } else if (builder.column->width == 8) {
    for (uint32_t i = 0; i < rows; i++) ((uint64_t *)builder.elements)[i] = (uint64_t)values[i] - base;
  }
  return column_builder_done(&builder);
}

enum tfprof_status eager_rows_begin(struct profile *profile, unsigned table, uint64_t rows, struct segment **segment,
                                    struct tfprof_error *error) {
  struct column_set raw = {{0, 0}};
  *segment = NULL;
  if (rows == 0) return TFPROF_OK;
  if (rows > (uint64_t)1 << 31) {
    return error_set(error, TFPROF_LIMIT, "%llu rows of %s are more than one file may have", (unsigned long long)rows,
                     schema_tables[table].name);
  }
  return profile_add_segment(profile, table, 0, (uint32_t)rows, &raw, NULL, segment, error);
}

enum tfprof_status eager_rows_set_column(struct segment *segment, unsigned column, struct column *value,
                                         struct tfprof_error *error) {
  if (!value) return error_no_memory(error);
  segment->columns[column] = value;
  column_set_add(&segment->is_raw, column);
  return TFPROF_OK;
}

enum tfprof_status eager_rows_set(struct segment *segment, unsigned column, const int64_t *values,
                                  struct tfprof_error *error) {
  if (!segment) return TFPROF_OK;
  bool is_real = schema_tables[segment->table].columns[column].type == TYPE_REAL;
  return eager_rows_set_column(segment, column, pack_values(values, segment->rows, is_real), error);
}

enum tfprof_status eager_rows_set_constant(struct segment *segment, unsigned column, int64_t value,
                                           struct tfprof_error *error) {
  return segment ? eager_rows_set_column(segment, column, column_constant(segment->rows, value), error) : TFPROF_OK;
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
