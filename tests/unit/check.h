/* check.h: check() for tests: says what does not hold, and counts it; the test goes on.
**
** Include it in one file of a program only.  main() returns check_result().
*/
#ifndef TFPROF_CHECK_H
#define TFPROF_CHECK_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int check_failures;

__attribute__((format(printf, 2, 3), unused)) static bool check(bool holds, const char *format, ...) {
  va_list arguments;
  if (holds) return true;
  if (check_failures++ < 40) {
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
  }
  return false;
}

__attribute__((unused)) static int check_result(void) {
  if (check_failures > 40) printf("... %d failures in all\n", check_failures);
  return check_failures ? 1 : 0;
}

#endif
