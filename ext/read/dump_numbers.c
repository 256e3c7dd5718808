/* dump_numbers.c: the numbers that rows have in a file, and those that they have here.
**
** A dump numbers the rows of a table from 0 and leaves out those that were lost.  Here rows are numbered as they come,
** so that what is lost costs nothing, however much it is said to be: arrays by row number are no longer than the rows
** that there are.  References are translated as they are decoded.  Of a table without a gap both numbers are the same.
*/
#include "read/dump_source.h"

#include "read/rows/list.h"

/* Rows without a gap between them, up to the next run. */
struct row_run {
  uint64_t number; /* in the file, of the first */
  uint64_t row;
};

static bool number_frame(struct row_numbers *numbers, const struct dump_frame *frame) {
  const struct row_run *last = numbers->count ? &numbers->runs[numbers->count - 1] : NULL;
  uint64_t next = last ? last->number + (numbers->rows - last->row) : 0;
  if (!last || frame->first_row != next) {
    if (!array_reserve(numbers->runs, numbers->capacity, numbers->count + 1)) return false;
    numbers->runs[numbers->count++] = (struct row_run){frame->first_row, numbers->rows};
  }
  numbers->rows += frame->rows;
  return true;
}

enum tfprof_status dump_number_rows(struct dump_source *source, struct tfprof_error *error) {
  for (; source->frames_numbered < source->file->frame_count; source->frames_numbered++) {
    const struct dump_frame *frame = &source->file->frames[source->frames_numbered];
    int table = schema_table_of_dump_id(frame->table_dump_id);
    if (table >= 0 && !number_frame(&source->numbers[table], frame)) return error_no_memory(error);
  }
  return TFPROF_OK;
}

bool dump_numbers_differ(const struct dump_source *source, unsigned table) {
  const struct row_numbers *numbers = &source->numbers[table];
  return numbers->count > 1 || (numbers->count && numbers->runs[0].number);
}

bool dump_row(const struct dump_source *source, unsigned table, uint64_t number, uint64_t *row) {
  const struct row_numbers *numbers = &source->numbers[table];
  size_t low = 0, high = numbers->count; /* the last run that begins at or before the number */
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (numbers->runs[middle].number <= number) low = middle + 1; else high = middle;
  }
  *row = low < numbers->count ? numbers->runs[low].row : numbers->rows;
  if (low == 0) return false;
  uint64_t found = numbers->runs[low - 1].row + (number - numbers->runs[low - 1].number);
  if (found >= *row) return false;
  *row = found;
  return true;
}

uint64_t dump_number(const struct dump_source *source, unsigned table, uint64_t row) {
  const struct row_numbers *numbers = &source->numbers[table];
  assert(row < numbers->rows);
  size_t low = 0, high = numbers->count;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (numbers->runs[middle].row <= row) low = middle; else high = middle;
  }
  return numbers->runs[low].number + (row - numbers->runs[low].row);
}

void dump_numbers_free(struct dump_source *source) {
  for (unsigned table = 0; table < TABLE_count; table++) free(source->numbers[table].runs);
}
