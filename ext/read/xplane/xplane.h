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

#endif
