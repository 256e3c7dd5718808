/* sampling.h: when a recording of our own recorded ops, and for how many steps one speaks.
**
** The recorder writes six counters (capture/library/governor/limits.c, cuda/cuda_source.c): capture_ops_recorded is 1
** from a moment on when ops are recorded and 0 when they are not; capture_ops_interval is K, of how many steps one is
** recorded from then on, or 0 when steps are left out for which no other is meant to speak, as with --steps;
** capture_op_cost is what recording an op takes, better known the later it is said; capture_calibration is 1 from a
** moment on when the work of devices is not recorded, to see what recording it takes, and 0 when it is again;
** capture_steps_before is how many steps had ended before the recording began, of a program that ran already;
** capture_step_cut, where it began within a step, is how many had when that step ended: only a part of it is there.
*/
#ifndef TFPROF_DERIVE_SAMPLING_H
#define TFPROF_DERIVE_SAMPLING_H

#include "derive/rows.h"

struct sampling_changes { /* of one counter, in the order of time */
  int64_t *times;
  double *values;
  uint32_t count, capacity;
};

struct sampling {
  /* count is 0 where the source has no such counter */
  struct sampling_changes recorded, interval, cost, calibration, before, cut;
};

enum tfprof_status sampling_load(struct sampling *sampling, const struct profile *profile, struct tfprof_error *error);
/* One more interval, which holds from a time on that is not before the others. false: no memory. */
bool sampling_add_interval(struct sampling *sampling, int64_t time, double steps);
void sampling_free(struct sampling *sampling);
/* Whether ops were recorded all the time. */
bool sampling_covers(const struct sampling *sampling, int64_t start, int64_t end);
/* Whether the work of devices was left out in any of the time, to see what recording it takes. */
bool sampling_is_calibration(const struct sampling *sampling, int64_t start, int64_t end);
/* Which of the intervals holds at a time, -1 before the first. */
int64_t sampling_interval_at(const struct sampling *sampling, int64_t time);
/* How many steps had ended before it began, or before the first whole one did. */
double sampling_steps_before(const struct sampling *sampling);
/* When the step ended within which it began, and how many had by then; NO_VALUE and 0: it began within none. */
enum tfprof_status sampling_cut_until(const struct profile *profile, int64_t *until_ns, int64_t *steps,
                                      struct tfprof_error *error);
/* Of the last part of a recording (triggers): from when on all is there, and how many steps had ended by then. NO_VALUE
** and 0: it is there from its beginning on. */
enum tfprof_status sampling_kept_from(const struct profile *profile, int64_t *from_ns, int64_t *steps,
                                      struct tfprof_error *error);
/* What recording an op takes, in nanoseconds; NAN: this is not told. */
double sampling_op_cost(const struct sampling *sampling);

#endif
