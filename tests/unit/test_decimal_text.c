/* test_decimal_text.c: integers and thousandths as text, against snprintf. */
#include "write/decimal_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(const char *found, size_t length, const char *expected, int64_t number) {
  if (length <= DECIMAL_TEXT_BYTES && length == strlen(expected) && memcmp(found, expected, length) == 0) return;
  fprintf(stderr, "%" PRId64 ": \"%.*s\", expected \"%s\"\n", number, (int)length, found, expected);
  exit(1);
}

/* A point and three digits, whatever they are. */
static void thousandths(int64_t number, char *text, size_t size) {
  uint64_t magnitude = number < 0 ? -(uint64_t)number : (uint64_t)number;
  snprintf(text, size, "%s%" PRIu64 ".%03u", number < 0 ? "-" : "", magnitude / 1000, (unsigned)(magnitude % 1000));
}

static void check(int64_t number) {
  char found[DECIMAL_TEXT_BYTES + 8], expected[64];
  snprintf(expected, sizeof expected, "%" PRId64, number);
  expect(found, decimal_text(number, found), expected, number);
  thousandths(number, expected, sizeof expected);
  expect(found, decimal_text_thousandths(number, found), expected, number);
}

int main(void) {
  uint64_t state = 88172645463325252u;
  for (int64_t number = -11000; number <= 11000; number++) check(number);
  for (int64_t power = 1; power <= INT64_MAX / 10; power *= 10) {
    for (int64_t around = -2; around <= 2; around++) {
      check(power + around);
      check(-(power + around));
    }
  }
  for (unsigned i = 0; i < 200000; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    check((int64_t)(state >> (i % 64)));
    check(-(int64_t)(state >> (i % 63 + 1)));
  }
  check(INT64_MAX);
  check(INT64_MIN);
  return 0;
}
