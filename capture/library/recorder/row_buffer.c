/* row_buffer.c: see row_buffer.h. */
#include "row_buffer.h"

#include "clock.h"

#include <stdlib.h>
#include <string.h>

_Atomic uint64_t row_buffer_written_ns;

static bool resize(struct row_buffer *buffer, uint32_t capacity) {
  for (unsigned i = 0; i < buffer->column_count; i++) {
    int64_t *values = realloc(buffer->values[i], capacity * sizeof *values);
    if (!values) return false;
    buffer->values[i] = values;
    uint64_t *nulls = realloc(buffer->nulls[i], capacity / 64 * sizeof *nulls);
    if (!nulls) return false;
    buffer->nulls[i] = nulls;
  }
  buffer->capacity = capacity;
  return true;
}

bool row_buffer_begin(struct row_buffer *buffer, uint16_t table, const struct row_column *columns, unsigned count,
                      uint32_t capacity) {
  memset(buffer, 0, sizeof *buffer);
  buffer->table = table;
  buffer->columns = columns;
  buffer->column_count = count;
  return resize(buffer, capacity);
}

void row_buffer_end(struct row_buffer *buffer) {
  for (unsigned i = 0; i < buffer->column_count; i++) {
    free(buffer->values[i]);
    free(buffer->nulls[i]);
  }
  memset(buffer, 0, sizeof *buffer);
}

uint32_t row_add(struct row_buffer *buffer) {
  if (buffer->rows == buffer->capacity) {
    if (buffer->capacity * 2 > DUMP_MAXIMUM_FRAME_ROWS || !resize(buffer, buffer->capacity * 2)) return UINT32_MAX;
  }
  uint32_t row = buffer->rows++;
  if (buffer->has_enough && buffer->rows >= buffer->enough) *buffer->has_enough = true;
  /* Values that are NULL are not looked at. */
  for (unsigned i = 0; row % 64 == 0 && i < buffer->column_count; i++)
    buffer->nulls[i][row / 64] = buffer->columns[i].is_required ? 0 : ~0ull;
  return row;
}

void row_set_real(struct row_buffer *buffer, uint32_t row, unsigned column, double value) {
  memcpy(&buffer->values[column][row], &value, sizeof value);
  buffer->nulls[column][row / 64] &= ~(1ull << row % 64);
}

enum tfprof_status row_buffer_write(struct row_buffer *buffer, struct dump_writer *writer, struct tfprof_error *error) {
  if (!buffer->rows) return TFPROF_OK;
  struct dump_column_data columns[ROW_COLUMNS];
  unsigned count = 0;
  for (unsigned i = 0; i < buffer->column_count; i++) {
    uint64_t any_null = 0, any_value = 0;
    for (uint32_t word = 0; word * 64 < buffer->rows; word++) {
      uint64_t valid = buffer->rows - word * 64 >= 64 ? ~0ull : (1ull << (buffer->rows - word * 64)) - 1;
      any_null |= buffer->nulls[i][word] & valid;
      any_value |= ~buffer->nulls[i][word] & valid;
    }
    if (!any_value) continue;
    const struct row_column *column = &buffer->columns[i];
    columns[count++] = (struct dump_column_data){
        .dump_id = column->dump_id,
        .order = column->order,
        .is_real = column->is_real,
        .integers = column->is_real ? NULL : buffer->values[i],
        .reals = column->is_real ? (const double *)(const void *)buffer->values[i] : NULL,
        .nulls = any_null ? buffer->nulls[i] : NULL,
    };
  }
  dump_writer_set_lasting(writer, buffer->is_lasting);
  enum tfprof_status status = dump_writer_rows(writer, buffer->table, buffer->rows, columns, count, error);
  atomic_store_explicit(&row_buffer_written_ns, moment_now_ns(), memory_order_relaxed);
  if (status != TFPROF_OK) return status;
  buffer->first_row += buffer->rows;
  buffer->rows = 0;
  return TFPROF_OK;
}
