/* activity_rows.h: a buffer of CUPTI's records becomes rows (cupti_layout.h). On the writer thread only. */
#ifndef TFPROF_CAPTURE_ACTIVITY_ROWS_H
#define TFPROF_CAPTURE_ACTIVITY_ROWS_H

#include "activity_buffers.h"
#include "activity_lanes.h"
#include "launch_times.h"

/* How many records of each sort there were, since the file began. */
struct activity_counts {
  uint64_t of_devices, of_calls; /* kernels, copies, fills; calls, also those without a row, and waits */
  uint64_t launches, kernels;    /* calls that launch one kernel each; kernels */
  uint64_t of_watched;           /* calls of this thread: */
  uint32_t watched;
  uint64_t of_graphs;            /* of the work: that of CUDA graphs, where the numbers of their calls may be wrong */
  uint64_t of_listening;         /* the call of listening_check.h, which the recorder makes */
  uint64_t all;
  uint64_t unknown;          /* of kinds that are not read */
  uint64_t damaged;          /* cut off, or in a buffer that CUPTI itself could not read to its end */
  uint32_t unknown_kinds[4]; /* some of them */
};

bool activity_rows_open(struct recorder *recorder);
void activity_rows_close(void);
/* Writes rows of `buffer`; full tables are written to the file meanwhile. How many records. `times`, or NULL, is told
** of launches; calls that were recorded only for that have no rows. */
uint64_t activity_rows_read(struct activity_lanes *lanes, const struct cupti_api *api,
                            const struct activity_buffer *buffer, struct activity_counts *counts,
                            struct launch_times *times);
/* Writes rows of calls that wait for one which they may be a part of (nested_calls.h), and of work that waits for its
** call (graph_links.h), once a second; `is_all`: of all. */
void activity_rows_write_held(struct activity_lanes *lanes, const struct cupti_api *api, struct activity_counts *counts,
                          struct launch_times *times, bool is_all);
void activity_rows_losses(struct recorder *recorder);

#endif
