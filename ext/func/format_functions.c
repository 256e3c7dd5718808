/* format_functions.c: numbers for people to read, with three significant digits.
**
**   format_ns(x)      999 ns, 1.23 µs, 12.3 ms, 123 s
**   format_bytes(x)   999 B, 1.23 KiB, 12.3 MiB: steps of 1024
**   format_count(x)   999, 1.23 k, 12.3 M, 123 G: steps of 1000
**   format_micros(x)  microseconds as the TensorFlow profiler writes them: 999us, 1.23ms, 12.34sec
**
** NULL and what is not a number give NULL.
*/
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "func/functions.h"

SQLITE_EXTENSION_INIT3

static void format_scaled(sqlite3_context *context, sqlite3_value *value, double step, const char *const *units) {
  int type = sqlite3_value_numeric_type(value);
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return;
  double number = sqlite3_value_double(value), size = fabs(number);
  /* What would be rounded to a whole step is given in the next unit. */
  double limit = step == 1000 ? 999.5 : 1023.5;
  int unit = 0, digits = 0;
  char text[400]; /* 1e308 has 309 digits */
  while (size >= limit && units[unit + 1]) {
    size /= step;
    number /= step;
    unit++;
  }
  if (unit > 0 || size != floor(size)) digits = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  snprintf(text, sizeof text, "%.*f%s%s", digits, number, units[unit][0] ? " " : "", units[unit]);
  sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

static void format_ns(sqlite3_context *context, int count, sqlite3_value **values) {
  static const char *const units[] = {"ns", "µs", "ms", "s", NULL};
  (void)count;
  format_scaled(context, values[0], 1000, units);
}

static void format_bytes(sqlite3_context *context, int count, sqlite3_value **values) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", NULL};
  (void)count;
  format_scaled(context, values[0], 1024, units);
}

static void format_count(sqlite3_context *context, int count, sqlite3_value **values) {
  static const char *const units[] = {"", "k", "M", "G", "T", "P", "E", NULL};
  (void)count;
  format_scaled(context, values[0], 1000, units);
}

static void format_micros(sqlite3_context *context, int count, sqlite3_value **values) {
  char text[400];
  (void)count;
  int type = sqlite3_value_numeric_type(values[0]);
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return;
  double micros = sqlite3_value_double(values[0]);
  if (micros < 1000) snprintf(text, sizeof text, "%.0fus", micros);
  else if (micros < 1000000) snprintf(text, sizeof text, "%.2fms", micros / 1e3);
  else snprintf(text, sizeof text, "%.2fsec", micros / 1e6);
  sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

const struct function_spec format_functions[] = {
    {.name = "format_ns", .argument_count = 1, .function = format_ns},
    {.name = "format_bytes", .argument_count = 1, .function = format_bytes},
    {.name = "format_count", .argument_count = 1, .function = format_count},
    {.name = "format_micros", .argument_count = 1, .function = format_micros},
    {0},
};
