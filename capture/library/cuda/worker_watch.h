/* worker_watch.h: what CUPTI's own thread takes of a processor, watched for as long as the job runs.
**
** A CUPTI before that of CUDA 13.4 Update 1 takes more and more of it (NVIDIA's release notes: unbounded growth in
** long-running activity tracing).  The thread is known by what it does: it gives buffers back, and asks for none.  Each
** minute's share is compared with that of the first minute in which it was there.
**
** On the writer thread. Nothing here reads a clock or depends on anything but what it is told.
*/
#ifndef TFPROF_CAPTURE_WORKER_WATCH_H
#define TFPROF_CAPTURE_WORKER_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct worker_watch {
  long tid;
  double since_ns, used_ns; /* when it was looked at last, and what it had used then */
  double first, last;       /* shares of a processor: of the first minute, of the last one; below 0: not known */
  bool is_told;
};

void worker_watch_begin(struct worker_watch *watch);
/* The thread of this id (0: none is known) has used so much of a processor by now (below 0: not known).  true: it has
** grown, and that is to be told, once. */
bool worker_watch_note(struct worker_watch *watch, long tid, double now_ns, double used_ns);

#endif
