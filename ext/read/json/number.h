/* number.h: numbers from their decimal text. */
#ifndef TFPROF_JSON_NUMBER_H
#define TFPROF_JSON_NUMBER_H

#include "read/json/scan.h"

/* Microseconds as text to integer nanoseconds without a double in between: epoch times with three decimals (1.7e15 µs)
** do not fit into one.  Digits beyond the third decimal round half up.  Exponents are understood.  False: no number, or
** beyond 2^62 ns.
*/
bool number_nanoseconds_slowly(const struct field *field, int64_t *ns);
static inline bool number_nanoseconds(const struct field *field, int64_t *ns) {
  static const uint8_t scale[4] = {0, 100, 10, 1};
  const int64_t limit = INT64_MAX / 2000;
  if (field->kind == FIELD_INTEGER && field->number < limit && field->number > -limit) {
    *ns = field->number * 1000;
    return true;
  }
  if (field->kind == FIELD_DECIMAL && field->decimals - 1u < 3 && field->number < limit && field->text[0] != '-') {
    *ns = field->number * 1000 + (int64_t)(field->fraction * scale[field->decimals]);
    return true;
  }
  return number_nanoseconds_slowly(field, ns);
}
/* A number, or a text that is one, decimal or 0x..., as an integer; decimals with a zero fraction count. False: it is
** none. */
bool number_integer(const struct field *field, int64_t *value);
/* Nearest double, whatever the locale; also for Infinity, inf and NaN (false). */
bool number_real(const struct field *field, double *value);

#endif
