/* json_text.h: any bytes as a JSON string: control characters escaped, what is not UTF-8 replaced by U+FFFD. */
#ifndef TFPROF_JSON_TEXT_H
#define TFPROF_JSON_TEXT_H

#include <stddef.h>

/* Hands the string with its quotes to `take`, in pieces. Never fails; text may hold NULs. */
void json_text_write(const char *text, size_t length, void (*take)(void *user, const void *bytes, size_t length),
                     void *user);
/* The same without the quotes: for strings that are several texts. */
void json_text_write_part(const char *text, size_t length, void (*take)(void *user, const void *bytes, size_t length),
                          void *user);

#endif
