/* device_spans.h: what a device itself says it was at: its steps, and the programs that it ran, by time.
**
** TPUs record these beside their ops, on lines of their own; nothing else links an op to them.
*/
#ifndef TFPROF_DEVICE_SPANS_H
#define TFPROF_DEVICE_SPANS_H

#include "derive/match.h"

struct device_spans {
  struct lane_span *items; /* lane: row of devices; row: that of what the span is of; by device and start */
  uint32_t count;
};

/* Steps that devices told (steps.c), by each device's own rows of ops; each is the row of steps with its number. Reads
** ops.name, marked_step, thread_id, start_ns and end_ns, threads.device_id, steps.origin and number. */
enum tfprof_status device_spans_of_steps(struct profile *profile, struct device_spans *spans,
                                         struct tfprof_error *error);
/* Rows of graph_launches that the source has; none where they are made. */
enum tfprof_status device_spans_of_launches(struct profile *profile, struct device_spans *spans,
                                            struct tfprof_error *error);
void device_spans_free(struct device_spans *spans);
/* The row of the span of the device that a moment lies in, NO_ROW: in none. */
uint32_t device_spans_find(const struct device_spans *spans, uint32_t device, int64_t moment);

#endif
