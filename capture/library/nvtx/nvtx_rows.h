/* nvtx_rows.h: what NVTX marked becomes rows of ops and, from there, of ranges, and rows of instants. On the writer
** thread.
**
** Ranges lie among the ops as the framework's own do, so that they nest with these.  Where the file grows faster than
** it may (governor/limits.h), ranges have rows in the steps whose ops are recorded, and where they last.
*/
#ifndef TFPROF_CAPTURE_NVTX_ROWS_H
#define TFPROF_CAPTURE_NVTX_ROWS_H

#include "channel/channel_reader.h"
#include "recorder/recorder.h"

enum { NVTX_ITEMS = 1 << ITEM_RANGE | 1 << ITEM_PAYLOAD };

bool nvtx_rows_open(struct recorder *recorder);
void nvtx_rows_item(struct recorder *recorder, const struct channel_item *item);
void nvtx_rows_thread_over(struct recorder *recorder, const struct capture_thread *thread);
/* At the end: what is still open ends then. */
void nvtx_rows_end(struct recorder *recorder, const struct clock_reading *now);
void nvtx_rows_losses(struct recorder *recorder);
void nvtx_rows_close(bool in_child);

#endif
