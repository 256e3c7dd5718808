/* xplane.h: the reader of XSpaces, <host>.xplane.pb: what the profilers of TensorFlow 2, Keras, JAX and XLA write. */
#ifndef TFPROF_XPLANE_H
#define TFPROF_XPLANE_H

#include "read/read.h"

extern const struct read_format read_format_xplane;
extern const struct reader xplane_reader;

#endif
