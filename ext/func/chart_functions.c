/* chart_functions.c: pictures that fit into a cell of a table. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "func/functions.h"
#include "write/block_text.h"

SQLITE_EXTENSION_INIT3

enum { BAR_WIDTH = 20, CURVE_WIDTH = 60, BIN_COUNT = 20, LARGEST_WIDTH = 1000 };

/* What the rows said so far: NaN is a gap. */
struct curve {
  double *values; /* sqlite3_malloc64 */
  uint64_t count, capacity;
  unsigned width;
};

static bool is_number(sqlite3_value *value) {
  int type = sqlite3_value_numeric_type(value);
  return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

/* 0: an error was set. */
static unsigned width_of(sqlite3_context *context, sqlite3_value *value, unsigned standard) {
  if (!value || sqlite3_value_type(value) == SQLITE_NULL) return standard;
  double width = is_number(value) ? sqlite3_value_double(value) : 0;
  if (width >= 1 && width <= LARGEST_WIDTH) return (unsigned)width;
  sqlite3_result_error(context, "a width is a number from 1 to 1000", -1);
  return 0;
}

static void bar(sqlite3_context *context, int count, sqlite3_value **values) {
  char text[LARGEST_WIDTH * BLOCK_TEXT_BYTES];
  unsigned width = width_of(context, count == 3 ? values[2] : NULL, BAR_WIDTH);
  if (!width || !is_number(values[0]) || !is_number(values[1])) return;
  double maximum = sqlite3_value_double(values[1]);
  if (!(maximum > 0)) return;
  double share = isinf(maximum) ? 0 : sqlite3_value_double(values[0]) / maximum;
  sqlite3_result_text(context, text, (int)block_text_bar(share, width, text), SQLITE_TRANSIENT);
}

static void add_to_curve(sqlite3_context *context, sqlite3_value **values, int count, unsigned standard) {
  struct curve *curve = sqlite3_aggregate_context(context, sizeof *curve);
  if (!curve) {
    sqlite3_result_error_nomem(context);
    return;
  }
  if (!curve->width && !(curve->width = width_of(context, count > 1 ? values[1] : NULL, standard))) return;
  if (curve->count == curve->capacity) {
    uint64_t capacity = curve->capacity ? curve->capacity * 2 : 64;
    double *larger = sqlite3_realloc64(curve->values, capacity * sizeof *larger);
    if (!larger) {
      sqlite3_result_error_nomem(context);
      return;
    }
    curve->values = larger;
    curve->capacity = capacity;
  }
  double value = is_number(values[0]) ? sqlite3_value_double(values[0]) : NAN;
  curve->values[curve->count++] = isfinite(value) ? value : NAN;
}

static void sparkline_step(sqlite3_context *context, int count, sqlite3_value **values) {
  add_to_curve(context, values, count, CURVE_WIDTH);
}
static void histogram_step(sqlite3_context *context, int count, sqlite3_value **values) {
  add_to_curve(context, values, count, BIN_COUNT);
}

/* false: no value, only gaps. */
static bool range_of(const double *values, uint64_t count, double *smallest, double *largest) {
  *smallest = INFINITY, *largest = -INFINITY;
  for (uint64_t i = 0; i < count; i++) { /* a NaN is neither */
    if (values[i] < *smallest) *smallest = values[i];
    if (values[i] > *largest) *largest = values[i];
  }
  return *smallest <= *largest;
}

/* 0 ... 1; all are halved, so that a range from -1e308 to 1e308 is a number. */
static double share_of(double value, double smallest, double largest) {
  return smallest < largest ? (value / 2 - smallest / 2) / (largest / 2 - smallest / 2) : 0.5;
}

/* Characters, each a level or, of NaN, a blank. */
static void answer_levels(sqlite3_context *context, const double *shares, uint64_t count) {
  char text[LARGEST_WIDTH * BLOCK_TEXT_BYTES], *end = text;
  for (uint64_t i = 0; i < count; i++) {
    if (isnan(shares[i])) *end++ = ' ';
    else end = mempcpy(end, block_text_level(shares[i]), BLOCK_TEXT_BYTES);
  }
  sqlite3_result_text(context, text, (int)(end - text), SQLITE_TRANSIENT);
}

/* The largest of each of `width` parts of the rows, into the first places. */
static uint64_t shorten_curve(double *values, uint64_t count, unsigned width) {
  if (count <= width) return count;
  for (uint64_t i = 0, next = 0; i < width; i++) {
    uint64_t end = (i + 1) * count / width;
    double largest = NAN;
    for (; next < end; next++) largest = fmax(largest, values[next]); /* the number, where the other is NaN */
    values[i] = largest;
  }
  return width;
}

static void sparkline_final(sqlite3_context *context) {
  struct curve *curve = sqlite3_aggregate_context(context, 0);
  if (!curve) return;
  double smallest, largest;
  if (curve->width && range_of(curve->values, curve->count, &smallest, &largest)) {
    uint64_t count = shorten_curve(curve->values, curve->count, curve->width);
    for (uint64_t i = 0; i < count; i++) {
      if (!isnan(curve->values[i])) curve->values[i] = share_of(curve->values[i], smallest, largest);
    }
    answer_levels(context, curve->values, count);
  }
  sqlite3_free(curve->values);
}

static void histogram_final(sqlite3_context *context) {
  struct curve *curve = sqlite3_aggregate_context(context, 0);
  if (!curve) return;
  double smallest, largest, bins[LARGEST_WIDTH] = {0}, most = 0;
  if (curve->width && range_of(curve->values, curve->count, &smallest, &largest)) {
    for (uint64_t i = 0; i < curve->count; i++) {
      if (isnan(curve->values[i])) continue;
      unsigned bin = (unsigned)(share_of(curve->values[i], smallest, largest) * curve->width);
      double *own = &bins[bin < curve->width ? bin : curve->width - 1];
      if (++*own > most) most = *own;
    }
    for (unsigned i = 0; i < curve->width; i++) bins[i] = bins[i] > 0 ? bins[i] / most : NAN;
    answer_levels(context, bins, curve->width);
  }
  sqlite3_free(curve->values);
}

const struct function_spec chart_functions[] = {
    {.name = "bar",
     .argument_count = 2,
     .function = bar,
     .text = {"value, maximum [, width]",
              "A bar as a text, for value as a share of maximum: ███▌.",
              "The bar has at most width characters (20), which is 1 … 1000. It is empty for a value of less than 0. "
              "NULL where either is no number, and where maximum is not above 0.",
              "SELECT number, bar(dur_ns, max(dur_ns) OVER ()) FROM steps"}},
    {.name = "bar", .argument_count = 3, .function = bar},
    {.name = "sparkline",
     .argument_count = 1,
     .step = sparkline_step,
     .final = sparkline_final,
     .text = {"x [, width]",
              "The values in the order of the rows as a curve, from the smallest to the largest: ▁▂▃█▂.",
              "NULLs and infinities are gaps. Where there are more values than width (60, at most 1000), each "
              "character is the largest of several. An aggregate sees rows in the order of what it selects from. "
              "NULL of no value at all.",
              "SELECT sparkline(dur_ns) FROM (SELECT dur_ns FROM steps ORDER BY start_ns)"}},
    {.name = "sparkline", .argument_count = 2, .step = sparkline_step, .final = sparkline_final},
    {.name = "histogram",
     .argument_count = 1,
     .step = histogram_step,
     .final = histogram_final,
     .text = {"x [, bins]",
              "How many values lie in each of bins equal parts of their range, as a curve: ▂▇█▃▁.",
              "bins is 1 … 1000 (20). A gap is a part without any value. NULL of no value at all.",
              "SELECT histogram(dur_ns) FROM steps"}},
    {.name = "histogram", .argument_count = 2, .step = histogram_step, .final = histogram_final},
    {0},
};
