/* number.c: see number.h. */
#include "read/json/number.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>

static const double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* A decimal number taken apart: digits * 10^exponent, with at least 19 significant digits kept. */
struct decimal {
  uint64_t digits;
  int exponent;
  bool is_negative, is_exact;
};

static bool decimal_parse(const char *p, const char *end, struct decimal *d) {
  *d = (struct decimal){.is_exact = true};
  if (p < end && (*p == '-' || *p == '+')) d->is_negative = *p++ == '-';
  unsigned seen = 0;
  bool in_fraction = false;
  for (; p < end; p++) {
    if (*p == '.' && !in_fraction) {
      in_fraction = true;
      continue;
    }
    if (*p < '0' || *p > '9') break;
    seen++;
    if (d->digits <= (UINT64_MAX - 9) / 10) {
      d->digits = d->digits * 10 + (uint64_t)(*p - '0');
      d->exponent -= in_fraction;
    } else {
      if (*p != '0') d->is_exact = false;
      d->exponent += !in_fraction;
    }
    if (d->exponent > 100000 || d->exponent < -100000) return false;
  }
  if (!seen) return false;
  if (p < end && (*p == 'e' || *p == 'E')) {
    p++;
    bool is_negative = false;
    int exponent = 0;
    if (p < end && (*p == '-' || *p == '+')) is_negative = *p++ == '-';
    if (p == end) return false;
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
      if (exponent < 100000) exponent = exponent * 10 + (*p - '0');
    }
    d->exponent += is_negative ? -exponent : exponent;
  }
  return p == end;
}

bool number_nanoseconds_slowly(const struct field *field, int64_t *ns) {
  if (field->kind == FIELD_INTEGER) return false; /* too large */
  const char *text = field->text, *end = text + field->length;
  if (field->kind != FIELD_DECIMAL && field->kind != FIELD_TEXT) return false;
  struct decimal d;
  if (!decimal_parse(text, end, &d)) return false;
  int exponent = d.exponent + 3;
  uint64_t value = d.digits;
  for (; exponent > 0 && value; exponent--) {
    if (value > (uint64_t)INT64_MAX / 10) return false;
    value *= 10;
  }
  for (; exponent < -1 && value; exponent++) value /= 10;
  if (exponent == -1) value = value / 10 + (value % 10 >= 5);
  if (value > (uint64_t)INT64_MAX / 2) return false;
  *ns = d.is_negative ? -(int64_t)value : (int64_t)value;
  return true;
}

bool number_integer(const struct field *field, int64_t *value) {
  if (field->kind == FIELD_INTEGER) {
    *value = field->number;
    return true;
  }
  const char *p = field->text, *end = p + field->length;
  if (field->kind == FIELD_TEXT && field->length > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
    uint64_t sum = 0;
    for (p += 2; p < end; p++) {
      unsigned digit = *p >= '0' && *p <= '9'   ? (unsigned)(*p - '0')
                       : *p >= 'a' && *p <= 'f' ? (unsigned)(*p - 'a') + 10
                       : *p >= 'A' && *p <= 'F' ? (unsigned)(*p - 'A') + 10
                                                : 16;
      if (digit == 16 || sum >> 59) return false;
      sum = sum << 4 | digit;
    }
    *value = (int64_t)sum;
    return true;
  }
  if (field->kind != FIELD_DECIMAL && field->kind != FIELD_TEXT) return false;
  struct decimal d;
  if (!decimal_parse(p, end, &d) || !d.is_exact) return false;
  uint64_t sum = d.digits;
  for (; d.exponent > 0 && sum; d.exponent--) {
    if (sum > (uint64_t)INT64_MAX / 10) return false;
    sum *= 10;
  }
  for (; d.exponent < 0 && sum; d.exponent++) {
    if (sum % 10) return false;
    sum /= 10;
  }
  if (sum > INT64_MAX) return false;
  *value = d.is_negative ? -(int64_t)sum : (int64_t)sum;
  return true;
}

/* strtod() reads the point of the host's locale. */
static double slow_real(const char *text, size_t length, bool *is_number) {
  static locale_t plain; /* made once, never freed */
  locale_t locale = __atomic_load_n(&plain, __ATOMIC_ACQUIRE);
  if (!locale) {
    locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t expected = (locale_t)0;
    if (locale && !__atomic_compare_exchange_n(&plain, &expected, locale, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      freelocale(locale);
      locale = expected;
    }
  }
  char copy[128];
  *is_number = false;
  if (!locale || length >= sizeof copy) return 0;
  memcpy(copy, text, length);
  copy[length] = '\0';
  char *end;
  double value = strtod_l(copy, &end, locale);
  *is_number = end == copy + length && length != 0;
  return value;
}

bool number_real(const struct field *field, double *value) {
  if (field->kind == FIELD_INTEGER) {
    *value = (double)field->number;
    return true;
  }
  if (field->kind == FIELD_DECIMAL && field->decimals && field->text[0] != '-') {
    static const uint64_t powers[17] = {1,
                                        10,
                                        100,
                                        1000,
                                        10000,
                                        100000,
                                        1000000,
                                        10000000,
                                        100000000,
                                        1000000000,
                                        10000000000,
                                        100000000000,
                                        1000000000000,
                                        10000000000000,
                                        100000000000000,
                                        1000000000000000,
                                        10000000000000000};
    uint64_t digits;
    if (!__builtin_mul_overflow((uint64_t)field->number, powers[field->decimals], &digits) &&
        !__builtin_add_overflow(digits, field->fraction, &digits) && digits <= UINT64_C(1) << 53) {
      *value = (double)digits / powers_of_ten[field->decimals];
      return true;
    }
  }
  if (field->kind != FIELD_DECIMAL && field->kind != FIELD_LITERAL && field->kind != FIELD_TEXT) return false;
  struct decimal d;
  bool is_number = true;
  /* Exact when digits and power of ten both are (W. D. Clinger, How to read floating point numbers accurately). */
  if (field->kind != FIELD_LITERAL && decimal_parse(field->text, field->text + field->length, &d) && d.is_exact &&
      d.digits <= UINT64_C(1) << 53 && d.exponent >= -22 && d.exponent <= 22) {
    double digits = (double)d.digits;
    *value = d.exponent < 0 ? digits / powers_of_ten[-d.exponent] : digits * powers_of_ten[d.exponent];
    if (d.is_negative) *value = -*value;
  } else {
    *value = slow_real(field->text, field->length, &is_number);
  }
  if (!is_number || isnan(*value)) return false;
  if (*value == 0) *value = 0; /* no negative zero */
  return true;
}
