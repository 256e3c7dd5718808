/* scratch.h: large arrays that live for the length of a pass.
**
** A pass over a million rows first touches as much memory as it then works through, and that costs as much as the
** work when the kernel hands it out in pages of 4 KiB.  Scratch memory asks for huge pages, and is given back to the
** kernel at the end, so that the process is as small as before.
*/
#ifndef TFPROF_DERIVE_SCRATCH_H
#define TFPROF_DERIVE_SCRATCH_H

#include <stddef.h>

/* Bytes of unspecified value, aligned for everything; NULL: no memory. */
void *scratch_allocate(size_t bytes);
void scratch_free(void *memory); /* NULL is fine */

#endif
