/* innermost_ops.h: the op that a moment on a thread lies in; of several the one that began last, the innermost.
**
** Every op looks up which of the moments lie inside it, threads side by side.  Where that takes too long - many
** moments, each in many ops - the ops are sorted as well, and one sweep with a stack of the ops that have begun does
** it.
*/
#ifndef TFPROF_INNERMOST_OPS_H
#define TFPROF_INNERMOST_OPS_H

#include "derive/match.h"

/* ops[i] becomes the row of the op around moments[i], NO_ROW: none. Moments are in the order of lane_span_sort(), their
** lanes rows of threads. Reads thread_id, start_ns and end_ns of ops. */
enum tfprof_status innermost_ops_find(struct profile *profile, const struct lane_span *moments, size_t count,
                                      uint32_t *ops, struct tfprof_error *error);

#endif
