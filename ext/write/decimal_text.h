/* decimal_text.h: integers as text, for files of so many numbers that snprintf would take most of the time. */
#ifndef TFPROF_DECIMAL_TEXT_H
#define TFPROF_DECIMAL_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum { DECIMAL_TEXT_BYTES = 24 }; /* a sign, 19 or 20 digits, a point */

/* Each writes at most DECIMAL_TEXT_BYTES, without a NUL, and returns how many. */
size_t decimal_text(int64_t number, char *text);
/* Of thousandths: -1 is -0.001. */
size_t decimal_text_thousandths(int64_t number, char *text);

#endif
