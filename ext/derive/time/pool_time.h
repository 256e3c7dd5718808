/* pool_time.h: when the threads of a pool computed for steps, beside the thread that a step is marked on.
**
** XLA and TensorFlow's executors compute on threads of their own, for which the step's thread waits in Python: that is
** no time outside of ops.  Whatever asks for time in which no op ran asks here as well: host_steps and
** ranges.outside_ns.
*/
#ifndef TFPROF_DERIVE_POOL_TIME_H
#define TFPROF_DERIVE_POOL_TIME_H

#include "derive/match.h"

struct pool_time {
  struct lane_span *spans; /* ascending, none touching the next; only their times tell something */
  int64_t *before;         /* by span: how long those before it are */
  uint32_t count;
};

/* Ops of category op that are of a step and ran on another thread than it: of XPlane files, and of TensorFlow and JAX
** in a recording; none of PyTorch. Needs POOL_TIME_READ. Free with pool_time_free, also after a failure. */
enum tfprof_status pool_time_load(struct pool_time *pool, const struct profile *profile, struct tfprof_error *error);
void pool_time_free(struct pool_time *pool);
#define POOL_TIME_READ                                                                                      \
  {TABLE_steps, COLUMN_steps_thread_id}, {TABLE_ops, COLUMN_ops_category}, {TABLE_ops, COLUMN_ops_step_id}, \
      {TABLE_ops, COLUMN_ops_framework}, {TABLE_ops, COLUMN_ops_thread_id},                                 \
      {TABLE_ops, COLUMN_ops_start_ns}, {TABLE_ops, COLUMN_ops_end_ns}

/* The first span that ends behind `time`; count: none does. */
uint32_t pool_time_first(const struct pool_time *pool, int64_t time);
/* How long the pool computed from `start` to `end`. */
int64_t pool_time_between(const struct pool_time *pool, int64_t start, int64_t end);

#endif
