/* timeline_places.h: where the rows of a timeline are drawn. */
#ifndef TFPROF_FUNC_TIMELINE_PLACES_H
#define TFPROF_FUNC_TIMELINE_PLACES_H

#include <stddef.h>
#include <stdint.h>

#define TIMELINE_NONE INT64_MIN

/* Each is a row of a SELECT: so many int64_t in this order; NULL is TIMELINE_NONE. */
struct timeline_lane { /* a thread or stream */
  int64_t id, pid, tid, stream, place;
  int64_t is_xplane, is_viewer_stream; /* the latter: has lines below it */
};
struct timeline_device {
  int64_t id, ordinal, pid; /* none of a host */
};
struct timeline_process {
  int64_t profile_id, pid;
};

struct timeline_places {
  const struct timeline_lane *lanes; /* in the order in which they are written; those of a profile together */
  const struct timeline_device *devices;
  const struct timeline_process *processes;
  size_t lane_count, device_count, process_count;
  int64_t origin_ns;
};

#endif
