/* cuda_costs.h: what recording GPUs takes from the program: told to the governor, and kept to what is allowed.
**
** The governor asks at the end of each step, before the records of that step have come: it is told the share of the
** time that launch_budget.h finds, for as long as recording was on.  While every step has its kernels that is what is
** always recorded; in a job that is thinned it is a part of what the steps with ops cost, in proportion to its calls
** that of the thread which ends them.
**
** The prices: of a kernel, copy or fill what launch_times.h has measured, and until then WORK_NS; of a call CALL_NS; of
** either what the writer thread takes from the program for it.  Calls that CUPTI before CUDA 12.5 records unasked count
** as the others do, though they have no rows.
**
** Switching.  In a job that is thinned CUPTI is switched on and off again around each step with ops, with one call for
** each kind, and each function that the program has called so far, on the thread that ends steps.  That is timed, and
** counts among what the step costs: what switching off will take is told with the switching on, for the governor has
** seen the step's cost when it comes.
*/
#ifndef TFPROF_CAPTURE_CUDA_COSTS_H
#define TFPROF_CAPTURE_CUDA_COSTS_H

#include "activity_rows.h"
#include "governor/limits.h"

extern pthread_mutex_t cuda_costs_lock;

/* ---- On the program's threads. */

/* Kernels are recorded from now on, or not; switching took so long of the thread, 0: nothing was switched. */
void cuda_costs_record(bool is_on, uint64_t switch_ns);
/* See struct capture_source. */
void cuda_costs_add(uint32_t thread, struct source_cost *cost);
/* In a forked child. */
void cuda_costs_reset(void);

/* ---- On the writer thread. */

void cuda_costs_open(void);
/* Each second; what was counted since the file began. `can_thin`: CUPTI may be switched off in between. */
void cuda_costs_note(const struct activity_counts *counts, bool can_thin);
/* Not every step can have its kernels, and others can stand for it; whether that would be so if these could. */
bool cuda_costs_want_thinned(void);
bool cuda_costs_are_over(void);
/* The launches of this thread are the ones that the governor compares; 0: none is known. */
uint32_t cuda_costs_watched(void);
/* The job is thinned now, or no longer. */
void cuda_costs_thin(bool is_thinned);
/* What a launch with its kernel takes of the thread that launches, and whether that was measured. */
double cuda_costs_of_launch(bool *is_measured);
/* The share of the time that recording takes while it is on. */
double cuda_costs_share(void);
/* Whether calls are wanted in steps without kernels. */
bool cuda_costs_is_measuring(void);
/* Whether that is to be measured though the job is not thinned (launch_calibration.h). */
bool cuda_costs_want_calibration(void);
void cuda_costs_calibrate(bool is_wanted);
/* What switching on and off again for one step takes of the thread that ends it; 0: not known. */
double cuda_costs_of_switching(void);
void cuda_costs_note_switch(const struct record_switch *change);
/* NULL: everything that CUPTI told is recorded. */
struct launch_times *cuda_costs_times(void);

#endif
