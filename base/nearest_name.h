/* nearest_name.h: which of several names a misspelled word was meant to be, for "did you mean". */
#ifndef TFPROF_NEAREST_NAME_H
#define TFPROF_NEAREST_NAME_H

#include <stddef.h>

struct nearest_name {
  const char *word;
  const char *name; /* the nearest of those that were tried; NULL: none is like the word */
  size_t distance;  /* letters that may still be wrong, and of `name` are */
};

struct nearest_name nearest_name_begin(const char *word);
/* Of names that are equally near the first stays. `name` must last as long as the search. */
void nearest_name_try(struct nearest_name *nearest, const char *name);

#endif
