/* scratch.h: memory that lives no longer than what is being derived.
**
** A pass over a million rows first touches as much memory as it then works through, and that costs as much as the
** work when the kernel hands it out page by page.  What one pass has freed the next one therefore gets, while anything
** is being derived or a statement reads a table; then it goes back to the kernel, so that the process is as small as
** before.  May be used on any thread.
*/
#ifndef TFPROF_STORE_SCRATCH_H
#define TFPROF_STORE_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of unspecified value, aligned for everything; NULL: no memory. */
void *scratch_allocate(size_t bytes);
/* count * size bytes of 0. */
void *scratch_allocate_zeroed(size_t count, size_t size);
/* The first bytes of `memory` (NULL is fine) in a piece of another size; NULL: no memory, and `memory` stays. */
void *scratch_resize(void *memory, size_t bytes);
/* `items` with room for one more than `count`: the same, or a larger piece when they fill the *capacity, whose unit are
** items of `size` bytes. Begins with room for `least`. NULL: no memory, and `items` stays. */
void *scratch_grow(void *items, uint32_t count, uint32_t *capacity, uint32_t least, size_t size);
void scratch_free(void *memory); /* NULL is fine */

/* What is freed between the first of these and the last is kept for reuse; calls may lie within each other. */
void scratch_keep(void);
void scratch_return(void);

#endif
