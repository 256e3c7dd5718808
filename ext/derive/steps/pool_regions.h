/* pool_regions.h: what thread pools ran, from the marks that TensorFlow's and JAX's profiler puts around each task.
**
** A task handed to a pool is ThreadpoolListener::Record, which produces a context; the thread that takes it up marks
** ThreadpoolListener::StartRegion, which consumes it, and ThreadpoolListener::StopRegion when it is done.  The marks
** have no length: a region reaches from one to the next StopRegion of its thread (tsl/profiler/utils/
** preprocess_xplane.h).  A mark that lacks the other makes none.
*/
#ifndef TFPROF_DERIVE_POOL_REGIONS_H
#define TFPROF_DERIVE_POOL_REGIONS_H

#include "derive/rows.h"

#define POOL_REGION_START "ThreadpoolListener::StartRegion"

struct pool_region {
  int64_t start, end;
  uint32_t thread, row; /* of the op that marks where it begins */
};

struct pool_regions {
  struct pool_region *items; /* by thread, start and row; those of a thread do not overlap */
  uint32_t count;
};

/* Needs ops.name, thread_id and start_ns. Free with pool_regions_free, also after a failure. */
enum tfprof_status pool_regions_find(struct pool_regions *regions, const struct profile *profile,
                                     struct tfprof_error *error);
void pool_regions_free(struct pool_regions *regions);

/* The region of a thread that a span lies in; NULL: none. */
const struct pool_region *pool_region_around(const struct pool_regions *regions, uint32_t thread, int64_t start,
                                             int64_t end);

#endif
