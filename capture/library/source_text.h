/* source_text.h: the text of a line of the program's source, read by the writer thread when a place is first seen. */
#ifndef TFPROF_CAPTURE_SOURCE_TEXT_H
#define TFPROF_CAPTURE_SOURCE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Without the blanks around it; the length, or 0 when there is no such line, it is blank, or it is not UTF-8. `text`
** lives until the next call. */
size_t source_line(const char *file, int32_t line, const char **text);

#endif
