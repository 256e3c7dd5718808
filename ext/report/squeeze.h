/* squeeze.h: a JavaScript module without what only its reader needs, as embed_page puts it into the page. */
#ifndef TFPROF_REPORT_SQUEEZE_H
#define TFPROF_REPORT_SQUEEZE_H

#include <stdbool.h>
#include <stddef.h>

/* What the script that is written consists of, for who changes it further (shorten.h). */
enum script_token_kind { TOKEN_WORD, TOKEN_OPENER, TOKEN_CLOSER, TOKEN_OTHER };
struct script_token {
  size_t at, length; /* of a template with code in it a token ends behind `${`, as an opener */
  enum script_token_kind kind;
  bool is_member; /* a word after a dot */
};
struct script_tokens {
  struct script_token *tokens;
  size_t count, capacity;
  size_t base; /* what stands before the module that comes; is added to `at` */
};

/* Writes at most `length` + 1 bytes to `out`, the last of them 0, and returns how many come before that.  Where
** something cannot be read with certainty, `*error` says what is wrong and `*place` is its byte; else it is NULL.  What
** is written is appended to the tokens, whose array the caller frees. */
size_t squeeze_module(char *out, const char *source, size_t length, struct script_tokens *tokens, const char **error,
                      size_t *place);

#endif
