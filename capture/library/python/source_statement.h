/* source_statement.h: the whole statement of Python that a line lies in, which may go on over several. */
#ifndef TFPROF_CAPTURE_SOURCE_STATEMENT_H
#define TFPROF_CAPTURE_SOURCE_STATEMENT_H

#include <stddef.h>
#include <stdint.h>

enum { STATEMENT_TEXT = 200 }; /* longer ones are cut */

struct statement {
  int32_t first_line, last_line; /* from 1; both are the line itself where nothing else is known */
  size_t length;                 /* of text: the lines joined, blanks and comments between two words are one blank */
  char text[STATEMENT_TEXT];     /* not cut at characters */
};

/* Of the text of a whole source: the statement that `line` lies in, looked for from `function_line` on, where its
** function begins. */
void statement_find(const char *bytes, size_t size, int32_t function_line, int32_t line, struct statement *statement);

#endif
