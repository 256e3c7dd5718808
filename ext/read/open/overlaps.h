/* overlaps.h: files of a run that hold what one process did at one time. */
#ifndef TFPROF_OVERLAPS_H
#define TFPROF_OVERLAPS_H

#include "store/store.h"

/* Of the published profiles of a run, takes out those that hold nothing but what another one has, and tells of those
** that are of one process and overlap in time. Before clocks are aligned. */
void overlaps_run(struct store *store, uint32_t run_number);

#endif
