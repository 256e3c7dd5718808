/* kernel_rows.h: records of kernels as rows.
**
** What a kernel was launched as - its name, geometry and resources - is a row of kernel_configurations, written once;
** a kernel has its number.  A name is compared where its address was met before (CUPTI gives each launch of a kernel
** the same one, until the module is unloaded). On the writer thread only.
*/
#ifndef TFPROF_CAPTURE_KERNEL_ROWS_H
#define TFPROF_CAPTURE_KERNEL_ROWS_H

#include "activity_buffers.h"
#include "activity_lanes.h"

bool kernel_rows_open(struct recorder *recorder);
/* Of so many bytes; as many of the structure are there. */
void kernel_rows_add(struct activity_lanes *lanes, const struct cupti_kernel *record, size_t bytes);
void kernel_rows_close(void);

/* A call that may have launched something began and ended then, on CLOCK_MONOTONIC or DEVICE_CLOCK_UNKNOWN. */
void kernel_rows_note_call(uint64_t correlation, int64_t start, int64_t end);
/* How many kernels began before the call that launched them. */
uint64_t kernel_rows_early(void);
/* How many launches there were whose call is known, and how many of which began so soon after it that the device had
** waited for them (launch_budget.h). */
struct kernel_leads {
  uint64_t judged, exposed;
};
struct kernel_leads kernel_rows_leads(void);

/* Tells what was lost, with what CUPTI and the buffers lost, of which the kinds are not known: kernels are the most. */
void kernel_rows_losses(struct recorder *recorder, struct activity_losses losses);

#endif
