/* shorten.h: names of a script that mean nothing outside of it, as short ones. */
#ifndef TFPROF_REPORT_SHORTEN_H
#define TFPROF_REPORT_SHORTEN_H

#include "report/squeeze.h"

/* Writes the script, of which the tokens are all that squeeze_module() wrote, with a 0 behind it, and returns how long
** it is.  `out` has room for twice its length.  Where something cannot be read with certainty, `*error` says what is
** wrong and `*place` is its byte. */
size_t shorten_names(char *out, const char *script, size_t length, const struct script_tokens *tokens,
                     const char **error, size_t *place);

#endif
