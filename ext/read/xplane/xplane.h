/* xplane.h: the reader of XSpaces, <host>.xplane.pb: what the profilers of TensorFlow 2, Keras, JAX and XLA write. */
#ifndef TFPROF_XPLANE_H
#define TFPROF_XPLANE_H

#include "read/read.h"

extern const struct read_format read_format_xplane;
extern const struct reader xplane_reader;

/* What a thread is by the numbers of the file, and the row of its device; -1: it is one of the host. */
struct xplane_lane {
  int64_t id, device;
};
/* lanes[row of threads] */
void xplane_lanes_of_threads(const struct profile *profile, struct xplane_lane *lanes);

/* Of profiles of one store. JAX writes the programs that XLA compiled with the first of several files only: what events
** of `to` name is looked for in those of `from`, whose events have been read, and stays, where `to`, whose events have
** not, has none of its own. Then code traces that its rows refer to are rows of `from`. */
void xplane_lend_programs(const struct profile *from, struct profile *to);
/* Of a profile whose events have been read: whether it has programs of its own. */
bool xplane_has_programs(const struct profile *profile);

/* Which process of its job it is, as its devices tell; -1: they do not, or it is none of an XSpace. */
int64_t xplane_process_number(const struct profile *profile);
/* These numbers become ranks, where the profiles of the run have all of them (process_ranks.c). */
void xplane_rank_processes(struct store *store, uint32_t run_number);

#endif
