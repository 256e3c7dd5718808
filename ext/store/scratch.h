/* scratch.h: memory that lives no longer than what is being derived.
**
** A pass over a million rows first touches as much memory as it then works through, and that costs as much as the
** work when the kernel hands it out page by page.  What one pass has freed the next one therefore gets, while anything
** is being derived; then it goes back to the kernel, so that the process is as small as before.  May be used on any
** thread.
*/
#ifndef TFPROF_SCRATCH_H
#define TFPROF_SCRATCH_H

#include <stddef.h>

/* Bytes of unspecified value, aligned for everything; NULL: no memory. */
void *scratch_allocate(size_t bytes);
/* count * size bytes of 0. */
void *scratch_allocate_zeroed(size_t count, size_t size);
/* The first bytes of `memory` (NULL is fine) in a piece of another size; NULL: no memory, and `memory` stays. */
void *scratch_resize(void *memory, size_t bytes);
void scratch_free(void *memory); /* NULL is fine */

/* What is freed between the first of these and the last is kept for reuse; calls may lie within each other. */
void scratch_keep(void);
void scratch_return(void);

#endif
