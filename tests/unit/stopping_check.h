/* stopping_check.h: check() for tests in which nothing after a failure can be trusted: it says what does not hold and
** ends the program with status 1. */
#ifndef TFPROF_STOPPING_CHECK_H
#define TFPROF_STOPPING_CHECK_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((format(printf, 2, 3))) static inline void check(bool holds, const char *format, ...) {
  if (holds) return;
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  printf("\n");
  exit(1);
}

#endif
