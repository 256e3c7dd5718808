/* output_chart.c: a result as a chart: a box with a bar for each row (output_box.c), or, of a single column, how often
** its numbers are how large:
**
**   dur_ns    rows
**   3.01 ms      2  ▌
**   3.12 ms    120  ████████████████████████████████████████
**   3.24 ms     41  █████████████▋
**    … 3.35 ms
**
** A line is a range, from its number to that of the next line.  The ranges are equal, or, where the largest number is
** more than a hundred times the middle one and all are above 0, have equal ratios, since else nearly all rows would be
** in the first. Rows that are no numbers are counted behind.
*/
#include "base/list.h"
#include "cell.h"
#include "output_private.h"
#include "write/block_text.h"
#include "write/scaled_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BINS = 20, BAR_WIDTH = 40, LEAST_BAR = 10, SKEW = 100, NUMBER_BYTES = SCALED_TEXT_BYTES };

struct numbers {
  double *values;
  size_t count, room;
  uint64_t others; /* rows that are no numbers */
};

static bool chart_begin(struct output *output) {
  if (output->column_count != 1) return output_box.begin(output);
  output->numbers = calloc(1, sizeof *output->numbers);
  return output->numbers != NULL;
}

static bool chart_row(struct output *output) {
  struct numbers *numbers = output->numbers;
  if (!numbers) return output_box.row(output);
  int type = sqlite3_column_type(output->statement, 0);
  double value = sqlite3_column_double(output->statement, 0);
  if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || !isfinite(value)) {
    numbers->others++;
    return true;
  }
  if (!array_room(numbers->values, numbers->count, numbers->room)) return false;
  numbers->values[numbers->count++] = value;
  return true;
}

static int compare_values(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* Where the ranges of a histogram begin, the last being its end; the values are in order. How many ranges: one more
** than the number of rows has binary digits (Sturges, "The choice of a class interval", JASA 1926). */
static int find_bounds(const struct numbers *numbers, double bounds[MOST_BINS + 1]) {
  double first = numbers->values[0], last = numbers->values[numbers->count - 1];
  int bins = first < last ? 1 + (int)ceil(log2((double)numbers->count)) : 1;
  if (bins > MOST_BINS) bins = MOST_BINS;
  bool is_skewed = first > 0 && last > SKEW * numbers->values[numbers->count / 2];
  for (int i = 0; i < bins; i++) {
    double share = (double)i / bins;
    bounds[i] = is_skewed ? first * pow(last / first, share) : first * (1 - share) + last * share;
  }
  bounds[bins] = last;
  return bins;
}

static int number_text(const struct output *output, enum quantity quantity, double number, char *text) {
  size_t length = output->style.is_raw ? 0 : quantity_text(quantity, number, text);
  if (!length) length = (size_t)snprintf(text, NUMBER_BYTES, "%.6g", number);
  text[length] = '\0';
  return cell_width(text, length);
}

static void print_line(const struct output *output, const char *text, int width, int column, uint64_t rows,
                       uint64_t most, int bar_width) {
  char bar[BAR_WIDTH * BLOCK_TEXT_BYTES];
  size_t length = block_text_bar((double)rows / (double)most, (unsigned)bar_width, bar);
  fprintf(output->file, "%*s%s  %8llu%s%.*s\n", column - width, "", text, (unsigned long long)rows, rows ? "  " : "",
          (int)length, bar);
}

/* The values are in order. */
static void print_histogram(const struct output *output, const struct numbers *numbers, const char *name) {
  char texts[MOST_BINS + 1][NUMBER_BYTES];
  int widths[MOST_BINS + 1], column = cell_width(name, strlen(name));
  double bounds[MOST_BINS + 1];
  uint64_t rows[MOST_BINS] = {0}, most = 1;
  int bins = find_bounds(numbers, bounds);
  for (size_t i = 0, bin = 0; i < numbers->count; i++) {
    while (bin + 1 < (size_t)bins && numbers->values[i] >= bounds[bin + 1]) bin++;
    if (++rows[bin] > most) most = rows[bin];
  }
  enum quantity quantity = quantity_of_name(name);
  for (int i = 0; i <= bins; i++) {
    widths[i] = number_text(output, quantity, bounds[i], texts[i]);
    if (widths[i] > column) column = widths[i];
  }
  int space = output->style.width ? output->style.width - column - 12 : BAR_WIDTH;
  int bar_width = space > BAR_WIDTH ? BAR_WIDTH : space < LEAST_BAR ? LEAST_BAR : space;
  fprintf(output->file, "%*s%s      rows\n", column - cell_width(name, strlen(name)), "", name);
  for (int i = 0; i < bins; i++) print_line(output, texts[i], widths[i], column, rows[i], most, bar_width);
  int indent = column > widths[bins] + 2 ? column - widths[bins] - 2 : 0;
  if (bins > 1) fprintf(output->file, "%*s… %s\n", indent, "", texts[bins]);
}

static void chart_end(struct output *output) {
  struct numbers *numbers = output->numbers;
  if (!numbers) {
    output_box.end(output);
    return;
  }
  const char *given = sqlite3_column_name(output->statement, 0);
  struct cell name = {0};
  if (given && cell_make_text(given, strcspn(given, "\n"), &name)) {
    if (numbers->count) {
      qsort(numbers->values, numbers->count, sizeof *numbers->values, compare_values);
      print_histogram(output, numbers, name.text);
    }
    if (numbers->others)
      fprintf(output->file, "%s%llu row%s no number%s\n", numbers->count ? "and " : "",
              (unsigned long long)numbers->others, numbers->others == 1 ? " is" : "s are",
              numbers->others == 1 ? "" : "s");
  }
  free(name.text);
  free(numbers->values);
  free(numbers);
}

const struct output_kind output_chart = {chart_begin, chart_row, chart_end};
