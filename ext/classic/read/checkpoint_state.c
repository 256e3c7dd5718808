/* checkpoint_state.c: see checkpoint_state.h. */
#include "classic/read/checkpoint_state.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATE_BYTES = 64 << 10 }; /* the path that counts comes first; a list of all that were kept follows */

/* The text in quotes behind the key, in place; NULL: there is none. */
static char *text_of_key(char *text, const char *key) {
  char *at = strstr(text, key);
  if (!at) return NULL;
  at += strlen(key);
  while (isspace((unsigned char)*at) || *at == ':') at++;
  char quote = *at;
  if (quote != '"' && quote != '\'') return NULL;
  char *start = ++at, *to = start;
  while (*at && *at != quote && *at != '\n') {
    if (*at == '\\' && at[1]) at++;
    *to++ = *at++;
  }
  if (*at != quote) return NULL;
  *to = 0;
  return start;
}

char *tf_checkpoint_of_state(const char *path) {
  char *text = calloc(1, STATE_BYTES + 1), *prefix = NULL;
  FILE *file = text ? fopen(path, "re") : NULL;
  size_t length = file ? fread(text, 1, STATE_BYTES, file) : 0;
  const char *name = length ? text_of_key(text, "model_checkpoint_path") : NULL, *slash = strrchr(path, '/');
  int directory = slash ? (int)(slash - path + 1) : 0;
  if (name && *name && asprintf(&prefix, "%.*s%s", *name == '/' ? 0 : directory, path, name) < 0) prefix = NULL;
  if (file) fclose(file);
  free(text);
  return prefix;
}

