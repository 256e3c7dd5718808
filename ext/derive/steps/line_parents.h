/* line_parents.h: what lies in what where causes are looked for: on threads whose rows cross.
**
** ops.parent_id (links/nesting.c) takes a range that crosses another row for asynchronous, and lets nothing lie in it.
** The mark of a step may cross: a recording that a program begins with the Python tracer has the end of the call that
** began it within the first step.  It causes what lies in it all the same.  So on such threads what lies in what is
** found as TensorFlow's and JAX's profiler does (tsl/profiler/utils/group_events.cc): by start, the longer first; the
** parent of a row is the last row before it that encloses it, and a row that ends too early to enclose one encloses
** none after it either.
*/
#ifndef TFPROF_DERIVE_LINE_PARENTS_H
#define TFPROF_DERIVE_LINE_PARENTS_H

#include "derive/rows.h"

/* Changes parents[row], at first ops.parent_id, for the rows of these threads. Needs ops.name, thread_id, start_ns,
** end_ns and depth. */
enum tfprof_status line_parents_find(const struct profile *profile, uint32_t *parents, struct tfprof_error *error);

#endif
