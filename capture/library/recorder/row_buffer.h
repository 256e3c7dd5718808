/* row_buffer.h: rows of one table of the dump, column by column, until they are written as a frame. */
#ifndef TFPROF_CAPTURE_ROW_BUFFER_H
#define TFPROF_CAPTURE_ROW_BUFFER_H

#include "dump/writer.h"

enum { ROW_COLUMNS = 24 };

struct row_column {
  uint16_t dump_id;
  uint8_t order; /* enum dump_order */
  bool is_real;
  bool is_required; /* not NULL: written with row_put */
};

struct row_buffer {
  uint16_t table;
  unsigned column_count;
  const struct row_column *columns;
  uint32_t rows, capacity;
  uint32_t enough;  /* rows to be written, */
  bool *has_enough; /* and where that is noted; NULL: it is not */
  bool is_lasting;  /* rows that come later rest on these (dump_writer_set_lasting) */
  uint64_t first_row; /* the number of row 0: how many rows were written before */
  int64_t *values[ROW_COLUMNS];
  uint64_t *nulls[ROW_COLUMNS];
};

bool row_buffer_begin(struct row_buffer *buffer, uint16_t table, const struct row_column *columns, unsigned count,
                      uint32_t capacity);
void row_buffer_end(struct row_buffer *buffer);
/* A new row, all NULL but for required columns; its place in the buffer, or UINT32_MAX when there is no room even after
** growing. */
uint32_t row_add(struct row_buffer *buffer);
/* Writes the rows as one frame and empties the buffer. On an error the rows stay. */
extern _Atomic uint64_t row_buffer_written_ns; /* when a frame was written last, by the system's clock */
enum tfprof_status row_buffer_write(struct row_buffer *buffer, struct dump_writer *writer, struct tfprof_error *error);

static inline void row_set(struct row_buffer *buffer, uint32_t row, unsigned column, int64_t value) {
  buffer->values[column][row] = value;
  buffer->nulls[column][row / 64] &= ~(1ull << row % 64);
}
/* One that is required, of a row that has none all the same. */
static inline void row_set_null(struct row_buffer *buffer, uint32_t row, unsigned column) {
  buffer->nulls[column][row / 64] |= 1ull << row % 64;
}
/* For columns that are required. */
static inline void row_put(struct row_buffer *buffer, uint32_t row, unsigned column, int64_t value) {
  buffer->values[column][row] = value;
}
void row_set_real(struct row_buffer *buffer, uint32_t row, unsigned column, double value);

#endif
