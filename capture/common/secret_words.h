/* secret_words.h: takes keys and passwords out of command lines. */
#ifndef TFPROF_CAPTURE_SECRET_WORDS_H
#define TFPROF_CAPTURE_SECRET_WORDS_H

#include <stdbool.h>

#define SECRET_MASK "***"

/* A copy of the words, up to NULL, in which SECRET_MASK stands for what looks like a key or a password, and the name of
** its option stays. `with_code`: what Python gets behind -c stays. Freed by secret_words_free(); NULL: no memory. */
char **secret_words_mask(char *const *words, bool with_code);
void secret_words_free(char **words);

#endif
