/* recording_cost.h: what recording ops took from the program, and what of it each part of a step paid.
**
** A recording of our own tells what a record of an op takes (capture_op_cost, sampling.h).  Nearly all of that is paid
** outside the op itself: the time is read last when an op begins and first when it ends, so it lies in whatever is
** around the op, just before it begins.  In a step that is small ops and nothing else it is a third of the time.  So:
**
**   ops.self_ns          is without what the ops cost that it called (nesting.c), ops.net_ns without what all inside it
**                        cost (net_times.c): totals of ops, modules and lines add these up
**   steps.recording_ns   what the ops cost that ran on the step's thread, and on those that run its backward pass
**                        (step_marks.c); other threads pay for theirs beside the step
**   steps.net_ns         is the step without it; host_steps and step_phases divide just that among the parts of a step
**                        (recording_share), which so add up to steps.net_ns
**
** An op gives no more than its own time: what the ops that it called cost beyond that, its caller has not paid, and
** host_steps takes it off where the outermost ops were called.
**
** Views take the net time of a step, op or phase, and know no more of the matter.
*/
#ifndef TFPROF_DERIVE_RECORDING_COST_H
#define TFPROF_DERIVE_RECORDING_COST_H

#include "derive/steps/step_lookup.h"

struct recording_cost {
  double of_op;           /* nanoseconds; 0: nothing tells */
  string_id op, autograd; /* categories of rows that are records of ops */
  uint32_t thread_count;
  bool *runs_backward; /* by row of threads; NULL where of_op is 0 */
};

/* Needs RECORDING_COST_READ. Free with recording_cost_free, also after a failure. */
enum tfprof_status recording_cost_load(struct recording_cost *cost, const struct profile *profile,
                                       struct tfprof_error *error);
void recording_cost_free(struct recording_cost *cost);
#define RECORDING_COST_READ                                                              \
  {TABLE_counters, COLUMN_counters_name}, {TABLE_counters, COLUMN_counters_time_ns},     \
      {TABLE_counters, COLUMN_counters_value}, {TABLE_threads, COLUMN_threads_kind},     \
      {TABLE_ops, COLUMN_ops_category}, {TABLE_ops, COLUMN_ops_thread_id}

/* Whether a row of that category is a record of an op. */
static inline bool recording_is_op(const struct recording_cost *cost, string_id category) {
  return category && (category == cost->op || category == cost->autograd);
}
/* Whether a step of one thread pays for what is recorded on another one (or the same; NO_ROW: not known). */
static inline bool recording_is_paid(const struct recording_cost *cost, uint32_t thread, uint32_t step_thread) {
  if (step_thread == NO_ROW || thread == NO_ROW) return step_thread == NO_ROW;
  return thread == step_thread || cost->runs_backward[thread];
}

/* counts[step]: how many ops it paid for, by where they began. */
enum tfprof_status recording_count_ops(const struct recording_cost *cost, const struct profile *profile,
                                       struct step_lookup *lookup, const uint32_t *step_threads, int64_t *counts,
                                       struct tfprof_error *error);

/* Divides what recording took in all among parts in which so many ops were recorded: no part gives more than its time,
** and what one cannot give the others do, the last ones first.  taken[] adds up to `total`, or to all of the time. */
void recording_share(int64_t total, const int64_t *counts, const int64_t *times, unsigned parts, int64_t *taken);

#endif
