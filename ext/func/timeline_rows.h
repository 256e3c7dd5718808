/* timeline_rows.h: the tables that most of a timeline comes from, written by several threads.
**
** Rows are sorted by thread in one pass and written thread by thread, in their own order, in stretches that are made
** side by side.  What a row is written as: timeline_events.h, and below streams of XPlane viewer_lines.h.
*/
#ifndef TFPROF_FUNC_TIMELINE_ROWS_H
#define TFPROF_FUNC_TIMELINE_ROWS_H

#include "func/timeline_places.h"
#include "store/store.h"
#include "write/output_file.h"

struct timeline_rows {
  struct store *store;
  struct output_file *file;
  struct timeline_places places;
  int64_t event_count, next_arrow;
  /* 1: the text is JSON, 0: it is not; negative: that could not be found out. */
  int (*is_json)(void *user, const char *text, size_t length);
  void *user;
};

enum timeline_part {
  TIMELINE_OPS, TIMELINE_KERNELS, TIMELINE_CALLS, TIMELINE_LAUNCHES, TIMELINE_MEMORY,
  TIMELINE_VIEWER, /* what stands below streams of XPlane */
};

/* Raises event_count and next_arrow. TFPROF_NO_MEMORY, TFPROF_INTERRUPTED, or what reading says. */
enum tfprof_status timeline_rows_write(struct timeline_rows *rows, enum timeline_part part, struct tfprof_error *error);

#endif
