/* utf8.h: which bytes are characters in UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing beyond U+10FFFF). */
#ifndef TFPROF_UTF8_H
#define TFPROF_UTF8_H

#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* The bytes of the character that begins here, of which `left` (at least 1) are there; 0: there is none. */
size_t utf8_character(const char *text, size_t left);
/* Writes a character, of up to 4 bytes, and returns how many; a surrogate and what is beyond U+10FFFF as U+FFFD. */
size_t utf8_put(char *to, uint32_t character);
/* How many bytes from the start on are characters: `length` for a text that is UTF-8. */
size_t utf8_valid(const char *text, size_t length);

#endif
