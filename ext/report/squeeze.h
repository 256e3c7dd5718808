/* squeeze.h: a JavaScript module without what only its reader needs, as embed_page puts it into the page. */
#ifndef TFPROF_REPORT_SQUEEZE_H
#define TFPROF_REPORT_SQUEEZE_H

#include <stddef.h>

/* Writes at most `length` + 1 bytes to `out`, the last of them 0, and returns how many come before that.  Where
** something cannot be read with certainty, `*error` says what is wrong and `*place` is its byte.  Else it is NULL. */
size_t squeeze_module(char *out, const char *source, size_t length, const char **error, size_t *place);

#endif
