/* step_reach.h: from when until when steps go on where the host runs ahead of its devices, and which streams tell.
**
** Such a host hands out the work of a step in less time than the device needs for it, as long as there is room in the
** device's queue: in a short recording its steps are as short as launching is.  What a step takes then is the time from
** the end of the work of the step before it to the end of its own.
**
** The end of a step's work is told by the main stream of each device: that on which kernels of most steps run, for the
** longest time; a device that works in a few steps only has none.  Copies and kernels of other streams (the batches to
** come, saving, logging) go on beside the steps, and where a step waits for them, its own kernels run later.  A
** step with nothing on a main stream ends with the kernels that it has elsewhere.  What outlasts the work of later
** steps holds up none of them, and tells no end.
**
** Kernels are lost when the profiler's buffers are full.  A step without an end, since it has no work or the launches
** behind its last known kernel have none, shares the time up to the next end evenly with the steps that end there;
** where half of the steps or more would be such, the last kernel that is known of a step is its end.  Steps behind the
** last known end count as long as those before take on average.
*/
#ifndef TFPROF_STEP_REACH_H
#define TFPROF_STEP_REACH_H

#include "derive/rows.h"

/* Of steps by row; NULL where the host does not run ahead. Both are scratch memory. */
struct step_reach { int64_t *starts, *ends; };

enum tfprof_status step_reach_find(struct profile *profile, struct step_reach *reach, struct tfprof_error *error);
void step_reach_free(struct step_reach *reach);

/* By row of threads: whether it is the main stream of a device. Scratch memory. */
enum tfprof_status step_reach_main_streams(struct profile *profile, bool **is_main, struct tfprof_error *error);

/* What a pass that finds them reads. */
#define STEP_MAIN_STREAMS_READS \
  {TABLE_kernels, COLUMN_kernels_step_id}, {TABLE_kernels, COLUMN_kernels_device_id}, \
  {TABLE_kernels, COLUMN_kernels_thread_id}, {TABLE_kernels, COLUMN_kernels_kind}, \
  {TABLE_kernels, COLUMN_kernels_start_ns}, {TABLE_kernels, COLUMN_kernels_end_ns}, \
  {TABLE_transfers, COLUMN_transfers_step_id}, {TABLE_transfers, COLUMN_transfers_device_id}, \
  {TABLE_transfers, COLUMN_transfers_thread_id}, {TABLE_transfers, COLUMN_transfers_start_ns}, \
  {TABLE_transfers, COLUMN_transfers_end_ns}
#define STEP_REACH_READS \
  STEP_MAIN_STREAMS_READS, {TABLE_steps, COLUMN_steps_start_ns}, {TABLE_steps, COLUMN_steps_end_ns}, \
  {TABLE_api_calls, COLUMN_api_calls_step_id}, {TABLE_api_calls, COLUMN_api_calls_start_ns}, \
  {TABLE_api_calls, COLUMN_api_calls_lacks_kernel}

#endif
