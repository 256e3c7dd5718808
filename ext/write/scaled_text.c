/* scaled_text.c: see scaled_text.h. */
#include "write/scaled_text.h"

#include <math.h>
#include <stdio.h>

static size_t scale(double number, double step, const char *const *units, char *text) {
  double size = fabs(number);
  /* What would be rounded to a whole step is given in the next unit. */
  double limit = step == 1000 ? 999.5 : 1023.5;
  int unit = 0, digits = 0;
  while (size >= limit && units[unit + 1]) {
    size /= step;
    number /= step;
    unit++;
  }
  if (unit > 0 || size != floor(size)) digits = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return (size_t)snprintf(text, SCALED_TEXT_BYTES, "%.*f%s%s", digits, number, units[unit][0] ? " " : "", units[unit]);
}

size_t scaled_text_ns(double number, char *text) {
  static const char *const units[] = {"ns", "µs", "ms", "s", NULL};
  return scale(number, 1000, units, text);
}

size_t scaled_text_bytes(double number, char *text) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", NULL};
  return scale(number, 1024, units, text);
}

size_t scaled_text_count(double number, char *text) {
  static const char *const units[] = {"", "k", "M", "G", "T", "P", "E", NULL};
  return scale(number, 1000, units, text);
}

size_t scaled_text_byte_rate(double number, char *text) {
  static const char *const units[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s", "EB/s", NULL};
  return scale(number, 1000, units, text);
}

size_t scaled_text_flops(double number, char *text) {
  static const char *const units[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP", NULL};
  return scale(number, 1000, units, text);
}

size_t scaled_text_flop_rate(double number, char *text) {
  static const char *const units[] = {"FLOP/s",  "kFLOP/s", "MFLOP/s", "GFLOP/s",
                                      "TFLOP/s", "PFLOP/s", "EFLOP/s", NULL};
  return scale(number, 1000, units, text);
}
