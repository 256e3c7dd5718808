/* decimal_text.c: see decimal_text.h. */
#include "write/decimal_text.h"

#include <string.h>

static const char pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354"
    "555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

/* From `end` backwards, two at a time; where they begin. */
static char *digits_before(char *end, uint64_t number) {
  while (number >= 100) {
    end -= 2;
    memcpy(end, pairs + 2 * (number % 100), 2);
    number /= 100;
  }
  if (number >= 10) {
    end -= 2;
    memcpy(end, pairs + 2 * number, 2);
  } else {
    *--end = (char)('0' + number);
  }
  return end;
}

static uint64_t distance_from_zero(int64_t number) { return number < 0 ? 0 - (uint64_t)number : (uint64_t)number; }

static size_t copy_signed(char *text, int64_t number, const char *digits, const char *end) {
  char *at = text;
  if (number < 0) *at++ = '-';
  return (size_t)((char *)mempcpy(at, digits, (size_t)(end - digits)) - text);
}

size_t decimal_text(int64_t number, char *text) {
  char digits[DECIMAL_TEXT_BYTES], *end = digits + sizeof digits;
  return copy_signed(text, number, digits_before(end, distance_from_zero(number)), end);
}

size_t decimal_text_thousandths(int64_t number, char *text) {
  char digits[DECIMAL_TEXT_BYTES], *end = digits + sizeof digits;
  uint64_t distance = distance_from_zero(number);
  unsigned behind = (unsigned)(distance % 1000);
  end[-1] = (char)('0' + behind % 10);
  end[-2] = (char)('0' + behind / 10 % 10);
  end[-3] = (char)('0' + behind / 100);
  end[-4] = '.';
  return copy_signed(text, number, digits_before(end - 4, distance / 1000), end);
}
