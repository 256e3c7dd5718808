/* numbers.c: the numbers that rows have in a file, and those that they have here.
**
** A dump numbers the rows of a table from 0 and leaves out those that were lost.  Here rows are numbered as they come,
** so that what is lost costs nothing, however much it is said to be: arrays by row number are no longer than the rows
** that there are.  References are translated as they are decoded.  Of a table without a gap both numbers are the same.
** Rows of files that the dump names (windows.h) stand among the others in the order in which they came.
*/
#include "read/dump/source.h"

#include "base/list.h"

/* Rows without a gap between them, up to the next run. */
struct row_run {
  uint64_t number; /* in the file, of the first */
  uint64_t row;
  uint64_t count;
};

static bool number_frame(struct row_numbers *numbers, const struct dump_frame *frame) {
  struct row_run *last = numbers->count ? &numbers->runs[numbers->count - 1] : NULL;
  bool follows = last && frame->first_row == last->number + last->count && numbers->rows == last->row + last->count;
  if (!follows) {
    if (!array_reserve(numbers->runs, numbers->capacity, numbers->count + 1)) return false;
    last = &numbers->runs[numbers->count++];
    *last = (struct row_run){frame->first_row, numbers->rows, 0};
  }
  last->count += frame->rows;
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

void dump_number_others(struct dump_source *source, unsigned table, uint64_t rows) {
  source->numbers[table].rows += rows;
}

bool dump_numbers_differ(const struct dump_source *source, unsigned table) {
  const struct row_numbers *numbers = &source->numbers[table];
  return numbers->count > 1 || (numbers->count && numbers->runs[0].number != numbers->runs[0].row);
}

/* How many runs begin at or before the number. */
static size_t runs_up_to(const struct row_numbers *numbers, uint64_t number) {
  size_t low = 0, high = numbers->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (numbers->runs[middle].number <= number) low = middle + 1; else high = middle;
  }
  return low;
}

bool dump_row(const struct dump_source *source, unsigned table, uint64_t number, uint64_t *row) {
  const struct row_numbers *numbers = &source->numbers[table];
  size_t above = runs_up_to(numbers, number);
  const struct row_run *run = above ? &numbers->runs[above - 1] : NULL;
  bool is_there = run && number - run->number < run->count;
  *row = is_there                  ? run->row + (number - run->number)
         : above < numbers->count  ? numbers->runs[above].row
                                   : numbers->rows;
  return is_there;
}

bool dump_number(const struct dump_source *source, unsigned table, uint64_t row, uint64_t *number) {
  const struct row_numbers *numbers = &source->numbers[table];
  size_t low = 0, high = numbers->count; /* the first run that begins behind the row */
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (numbers->runs[middle].row <= row) low = middle + 1; else high = middle;
  }
  if (!low) return false;
  const struct row_run *run = &numbers->runs[low - 1];
  uint64_t place = row - run->row < run->count ? row - run->row : run->count - 1;
  *number = run->number + place;
  return true;
}

void dump_numbers_free(struct dump_source *source) {
  for (unsigned table = 0; table < TABLE_count; table++) free(source->numbers[table].runs);
}
