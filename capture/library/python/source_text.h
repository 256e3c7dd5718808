/* source_text.h: the text of a line of the program's source, read by the writer thread when a place is first seen: from
** its file, or else from what Python keeps of it (typed_sources.h). */
#ifndef TFPROF_CAPTURE_SOURCE_TEXT_H
#define TFPROF_CAPTURE_SOURCE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "typed_sources.h"

/* The line without the blanks around it: the length, or 0 when there is no such line, it is blank, or it is not UTF-8.
** `text` lives until the next call. */
size_t source_line(const char *name, int32_t line, const char **text);
/* What Python may keep of a name for which no file can be read; NULL: nothing is known of it and nobody can be asked.
** Its text comes when it is not awaited any more. */
const struct typed_source *source_typed(const char *name);
size_t source_typed_line(const struct typed_source *source, int32_t line, const char **text);

#endif
