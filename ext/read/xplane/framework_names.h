/* framework_names.h: what TensorFlow, JAX and XLA call the events with which they mark their own work. */
#ifndef TFPROF_XPLANE_FRAMEWORK_NAMES_H
#define TFPROF_XPLANE_FRAMEWORK_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Whether an event of a thread of the host, which is no op by its name, is the framework's own work by its name. What
** is not is a mark of the program: jax.profiler.TraceAnnotation, tf.profiler.experimental.Trace. */
bool xplane_is_framework_name(const char *text, size_t length);
/* Whether the thread of that name is one of the framework's own, on which no Python runs. */
bool xplane_is_framework_thread(const char *name);

#endif
