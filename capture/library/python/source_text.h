/* source_text.h: the text of a line of the program's source, read by the writer thread when a place is first seen: from
** its file, or else from what Python keeps of it (typed_sources.h). */
#ifndef TFPROF_CAPTURE_SOURCE_TEXT_H
#define TFPROF_CAPTURE_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source_statement.h"
#include "typed_sources.h"

/* When the interpreter began, in nanoseconds, of CLOCK_REALTIME_COARSE, by which files are stamped, and of
** CLOCK_MONOTONIC: before anything of the program was compiled. Until that is told no file has a text. */
void source_text_begin(int64_t realtime_ns, int64_t monotonic_ns);
/* false: no line has a text, of files and typed. */
void source_text_want(bool is_wanted);
/* Each second: whether somebody sets the clock back. */
void source_text_tick(int64_t realtime_ns, int64_t monotonic_ns);

/* The line without the blanks around it: the length, or 0 when there is no such line, it is blank, it is not UTF-8, or
** its file may have been changed since the program began. `text` lives until the next call. */
size_t source_line(const char *name, int32_t line, const char **text);
/* The statement that the line lies in, of a function that begins on `function_line`; false: it has no text. */
bool source_statement(const char *name, int32_t line, int32_t function_line, struct statement *statement);
/* How many lines were asked for whose file may have been changed, and the first of those files; NULL: none. */
uint64_t source_lines_left_out(const char **file);
/* What Python may keep of a name for which no file can be read; NULL: nothing is known of it and nobody can be asked.
** Its text comes when it is not awaited any more. */
const struct typed_source *source_typed(const char *name);
size_t source_typed_line(const struct typed_source *source, int32_t line, const char **text);
bool source_typed_statement(const struct typed_source *source, int32_t line, int32_t function_line,
                            struct statement *statement);

#endif
