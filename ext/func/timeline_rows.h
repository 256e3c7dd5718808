/* timeline_rows.h: rows of kernels, calls, launches and memory in use, which are most of a timeline, read from the
** store's columns where they lie.
**
** What a row is written as is what tfprof_timeline's SELECTs wrote for it: same members, same order, byte for byte. A
** SELECT costs more than the text of a row.
*/
#ifndef TFPROF_FUNC_TIMELINE_ROWS_H
#define TFPROF_FUNC_TIMELINE_ROWS_H

#include "store/store.h"
#include "write/output_file.h"

/* A thread or stream, and where it is drawn. */
struct timeline_lane {
  int64_t id, pid, tid, stream; /* stream INT64_MIN: none */
};
struct timeline_device {
  int64_t id, ordinal; /* none of a host */
};

struct timeline_rows {
  struct store *store;
  struct output_file *file;
  const struct timeline_lane *lanes; /* in the order in which they are written; those of a profile together */
  const struct timeline_device *devices;
  size_t lane_count, device_count;
  int64_t origin_ns, event_count, next_arrow;
};

enum timeline_part { TIMELINE_KERNELS, TIMELINE_CALLS, TIMELINE_LAUNCHES };

/* Raises event_count and next_arrow. TFPROF_NO_MEMORY, TFPROF_INTERRUPTED, or what reading says. */
enum tfprof_status timeline_rows_write(struct timeline_rows *rows, enum timeline_part part, struct tfprof_error *error);

#endif
