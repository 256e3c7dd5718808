/* statistics_functions.c: what older SQLite lacks for looking at distributions.
**
** percentile and median mean what they do where SQLite has them built in, errors included.  They are registered only
** where it does not.
*/
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "func/functions.h"

SQLITE_EXTENSION_INIT3

/* ---- percentile, median ---- */

struct sample {
  double *values; /* sqlite3_malloc64 */
  uint64_t count, capacity;
  double fraction;
  bool has_fraction, is_sorted;
};

static void fail_statistic(sqlite3_context *context, const char *format, const char *name) {
  char *message = sqlite3_mprintf(format, name);
  sqlite3_result_error(context, message ? message : "no memory", -1);
  sqlite3_free(message);
}

/* 0 ... 1; false: an error was set. */
static bool fraction_of(sqlite3_context *context, struct sample *sample, int count, sqlite3_value **values) {
  double fraction = 0.5;
  if (count == 2) {
    int type = sqlite3_value_numeric_type(values[1]);
    fraction = sqlite3_value_double(values[1]) / 100;
    if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || !(fraction >= 0 && fraction <= 1)) {
      fail_statistic(context, "the fraction argument to %s() is not between 0.0 and 100.0", "percentile");
      return false;
    }
  }
  if (sample->has_fraction && fabs(fraction - sample->fraction) > 0.001) {
    fail_statistic(context, "the fraction argument to %s() is not the same for all input rows", "percentile");
    return false;
  }
  if (!sample->has_fraction) sample->fraction = fraction;
  sample->has_fraction = true;
  return true;
}

/* The number to add or remove; false: there is none, or an error was set. */
static bool number_of(sqlite3_context *context, int count, sqlite3_value *value, double *number) {
  const char *name = count == 2 ? "percentile" : "median";
  int type = sqlite3_value_type(value);
  if (type == SQLITE_NULL) return false;
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
    fail_statistic(context, "input to %s() is not numeric", name);
    return false;
  }
  *number = sqlite3_value_double(value);
  if (isinf(*number)) {
    fail_statistic(context, "Inf input to %s()", name);
    return false;
  }
  return true;
}

static void percentile_step(sqlite3_context *context, int count, sqlite3_value **values) {
  struct sample *sample = sqlite3_aggregate_context(context, sizeof *sample);
  double number;
  if (!sample) {
    sqlite3_result_error_nomem(context);
    return;
  }
  if (!fraction_of(context, sample, count, values) || !number_of(context, count, values[0], &number)) return;
  if (sample->count == sample->capacity) {
    uint64_t capacity = sample->capacity ? sample->capacity * 2 : 64;
    double *larger = sqlite3_realloc64(sample->values, capacity * sizeof *larger);
    if (!larger) {
      sqlite3_result_error_nomem(context);
      return;
    }
    sample->values = larger;
    sample->capacity = capacity;
  }
  sample->is_sorted = sample->count == 0 || (sample->is_sorted && sample->values[sample->count - 1] <= number);
  sample->values[sample->count++] = number;
}

/* Puts the values in such an order that none before `place` is larger than the one there and none after it smaller
** (Hoare, "Algorithm 65: find", CACM 1961, with the median of three as pivot). The result is what sorting would
** give. */
static void select_place(double *values, uint64_t count, uint64_t place) {
  int64_t low = 0, high = (int64_t)count - 1, wanted = (int64_t)place;
  while (low < high) {
    double a = values[low], b = values[low + (high - low) / 2], c = values[high];
    double pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
    int64_t i = low, j = high;
    while (i <= j) {
      while (values[i] < pivot) i++;
      while (values[j] > pivot) j--;
      if (i > j) break;
      double swap = values[i];
      values[i++] = values[j];
      values[j--] = swap;
    }
    if (wanted <= j) high = j;
    else if (wanted >= i) low = i;
    else return;
  }
}

static int compare_numbers(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static void percentile_inverse(sqlite3_context *context, int count, sqlite3_value **values) {
  struct sample *sample = sqlite3_aggregate_context(context, sizeof *sample);
  double number;
  if (!sample || !number_of(context, count, values[0], &number)) return;
  for (uint64_t i = 0; i < sample->count; i++) {
    if (sample->values[i] != number) continue;
    sample->count--;
    memmove(&sample->values[i], &sample->values[i + 1], (sample->count - i) * sizeof number);
    return;
  }
}

static void answer(sqlite3_context *context, const struct sample *sample) {
  double place = sample->fraction * (double)(sample->count - 1);
  uint64_t below = (uint64_t)place, above = place == (double)below || below == sample->count - 1 ? below : below + 1;
  double low = sample->values[below], high = sample->values[above];
  sqlite3_result_double(context, low + (high - low) * (place - (double)below));
}

/* As a window function it is asked again and again. */
static void percentile_value(sqlite3_context *context) {
  struct sample *sample = sqlite3_aggregate_context(context, 0);
  if (!sample || sample->count == 0) return;
  if (!sample->is_sorted) qsort(sample->values, sample->count, sizeof *sample->values, compare_numbers);
  sample->is_sorted = true;
  answer(context, sample);
}

static void percentile_final(sqlite3_context *context) {
  struct sample *sample = sqlite3_aggregate_context(context, 0);
  if (!sample) return;
  if (sample->count) {
    uint64_t below = (uint64_t)(sample->fraction * (double)(sample->count - 1));
    if (!sample->is_sorted) {
      select_place(sample->values, sample->count, below);
      uint64_t smallest = below + 1; /* of those behind: the next one */
      for (uint64_t i = below + 2; i < sample->count; i++) {
        if (sample->values[i] < sample->values[smallest]) smallest = i;
      }
      if (smallest < sample->count) {
        double swap = sample->values[below + 1];
        sample->values[below + 1] = sample->values[smallest];
        sample->values[smallest] = swap;
      }
    }
    answer(context, sample);
  }
  sqlite3_free(sample->values);
  memset(sample, 0, sizeof *sample);
}

/* ---- stddev ---- */

/* Welford's running mean and sum of squared differences from it, of the distances from the first value: those are exact
** for values that lie close together far from 0, such as times. */
struct moments {
  int64_t count;
  bool first_is_integer;
  int64_t first_integer;
  double first, mean, squares;
};

static double distance_from_first(struct moments *moments, sqlite3_value *value, int type) {
  int64_t difference;
  if (moments->count == 0) {
    moments->first_is_integer = type == SQLITE_INTEGER;
    moments->first_integer = sqlite3_value_int64(value);
    moments->first = sqlite3_value_double(value);
  }
  if (moments->first_is_integer && type == SQLITE_INTEGER &&
      !__builtin_sub_overflow(sqlite3_value_int64(value), moments->first_integer, &difference)) {
    return (double)difference;
  }
  return sqlite3_value_double(value) - moments->first;
}

static void stddev_step(sqlite3_context *context, int count, sqlite3_value **values) {
  struct moments *moments = sqlite3_aggregate_context(context, sizeof *moments);
  int type = sqlite3_value_numeric_type(values[0]);
  (void)count;
  if (!moments) {
    sqlite3_result_error_nomem(context);
    return;
  }
  if (type == SQLITE_NULL) return;
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
    sqlite3_result_error(context, "input to stddev() is not numeric", -1);
    return;
  }
  double value = distance_from_first(moments, values[0], type), difference = value - moments->mean;
  moments->mean += difference / (double)++moments->count;
  moments->squares += difference * (value - moments->mean);
}

static void stddev_final(sqlite3_context *context) {
  const struct moments *moments = sqlite3_aggregate_context(context, 0);
  if (!moments || moments->count < 2) return;
  sqlite3_result_double(context, sqrt(moments->squares / (double)(moments->count - 1)));
}

const struct function_spec statistics_functions[] = {
    {.name = "percentile",
     .argument_count = 2,
     .only_if_absent = true,
     .step = percentile_step,
     .final = percentile_final,
     .value = percentile_value,
     .inverse = percentile_inverse,
     .text = {"x, p",
              "The value below which p percent of the values lie.",
              "p is 0 … 100, the same in all rows. The result is interpolated between neighbours. NULLs are left "
              "out. Without any value the result is NULL. A text and another p are errors. It is that of SQLite "
              "where SQLite has it built in.",
              "SELECT percentile(dur_ns, 95) FROM steps"}},
    {.name = "median",
     .argument_count = 1,
     .only_if_absent = true,
     .step = percentile_step,
     .final = percentile_final,
     .value = percentile_value,
     .inverse = percentile_inverse,
     .text = {"x",
              "The value that half of the values lie below.",
              "The same as percentile(x, 50). NULLs are left out. Without any value the result is NULL. It is that "
              "of SQLite where SQLite has it built in.",
              "SELECT median(dur_ns) FROM steps"}},
    {.name = "stddev",
     .argument_count = 1,
     .step = stddev_step,
     .final = stddev_final,
     .text = {"x",
              "The standard deviation of a sample.",
              "The sum of squares is divided by n - 1. NULLs are left out. NULL for fewer than two values. A text is "
              "an error.",
              "SELECT stddev(dur_ns) FROM steps"}},
    {0},
};
