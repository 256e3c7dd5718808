/* timeline_viewer.h: what XProf's trace viewer draws below streams (viewer_lines.h), written into a timeline.
**
** Which spans there are is found kernel by kernel; their text is made by several threads, some ten thousand at a time.
*/
#ifndef TFPROF_FUNC_TIMELINE_VIEWER_H
#define TFPROF_FUNC_TIMELINE_VIEWER_H

#include "func/timeline_events.h"

struct timeline_viewer;

/* NULL: no memory. */
struct timeline_viewer *timeline_viewer_new(const struct timeline_source *source, struct output_file *file);
/* Of a stream the rows of kernels, which are put into the order of time. */
enum tfprof_status timeline_viewer_write(struct timeline_viewer *viewer, const struct timeline_lane *lane,
                                         uint32_t *rows, uint32_t count, struct tfprof_error *error);
/* Returns how many events were written. NULL is fine. */
int64_t timeline_viewer_free(struct timeline_viewer *viewer);

#endif
