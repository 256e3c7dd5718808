/* clock_alignment.h: brings the clocks of the ranks of a run together. */
#ifndef TFPROF_CLOCK_ALIGNMENT_H
#define TFPROF_CLOCK_ALIGNMENT_H

#include "store/store.h"

/* Sets clock_offset_ns and clock_error_ns of the published profiles of a run whose times come from clocks of different
** hosts, and names ranks that are missing in diagnostics. To be called before anything is read from the profiles. What
** cannot be found out stays as it is. */
void clock_alignment_run(struct store *store, uint32_t run_number);

#endif
