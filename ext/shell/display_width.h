/* display_width.h: how many columns of a terminal a text takes. */
#ifndef TFPROF_SHELL_DISPLAY_WIDTH_H
#define TFPROF_SHELL_DISPLAY_WIDTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DISPLAY_INVALID = 0xfffd }; /* the replacement character, for bytes that are no UTF-8 */

/* The next character of a text of `length` > 0 bytes; returns how many bytes it takes (at least 1). */
size_t display_decode(const char *text, size_t length, uint32_t *character);

/* Columns of a printable character: 0, 1 or 2. */
int display_width(uint32_t character);

#endif
