/* next_definition.h: the function that a call would have reached if this library did not define one of that name, too.
*/
#ifndef TFPROF_CAPTURE_NEXT_DEFINITION_H
#define TFPROF_CAPTURE_NEXT_DEFINITION_H

#include <stdint.h>

/* Looks where PyTorch has it (`suffix`: the end of a library's path), then where the linker would have looked for the
** library that calls (`caller`: a place in its code, or NULL), then in all that are loaded, whatever they are called.
** NULL: nobody defines it. Takes long, and may allocate. */
void *next_definition(const char *symbol, const char *suffix, const void *caller);
/* Where the library lies that has the address. */
void library_bounds(const void *address, uintptr_t *begin, uintptr_t *end);

#endif
