/* block_text.h: bars and curves as text, in eighths of a character: ▏▎▍▌▋▊▉█ to the right, ▁▂▃▄▅▆▇█ upwards. */
#ifndef TFPROF_BLOCK_TEXT_H
#define TFPROF_BLOCK_TEXT_H

#include <stddef.h>

enum { BLOCK_TEXT_BYTES = 3 }; /* of each character, in UTF-8 */

/* A bar over `share` (0 ... 1, beyond that clamped, NaN is 0) of `width` characters into `text`, which holds width *
** BLOCK_TEXT_BYTES; returns its bytes. What is more than nothing is seen: at least an eighth. */
size_t block_text_bar(double share, unsigned width, char *text);
/* The character as high as `share` of a line; the lowest one for 0 and NaN. BLOCK_TEXT_BYTES bytes and a NUL. */
const char *block_text_level(double share);

#endif
