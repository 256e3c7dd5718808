/* gradient_names.h: which nodes of a graph of TensorFlow compute gradients, by their names, and of which other node. */
#ifndef TFPROF_GRADIENT_NAMES_H
#define TFPROF_GRADIENT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The name of the forward node of "...gradients/<name>_grad/...". False: it is none of the gradient. */
static inline bool gradient_forward_name(const char *name, const char **forward, size_t *length) {
  static const char before[] = "gradients/", behind[] = "_grad/";
  const char *start = strstr(name, before);
  if (!start) return false;
  start += sizeof before - 1;
  const char *end = strstr(start, behind);
  if (!end || end == start) return false;
  *forward = start;
  *length = (size_t)(end - start);
  return true;
}

#endif
