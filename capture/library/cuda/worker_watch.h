/* worker_watch.h: what CUPTI's own thread takes of a processor, watched for as long as the job runs.
**
** A CUPTI before that of CUDA 13.4 Update 1 takes more and more of it (NVIDIA's release notes: unbounded growth in
** long-running activity tracing).  The thread is known by what it does: it gives buffers back, and asks for none.  What
** it takes for a record in each minute is compared with the first minute: how many records there are is the program's
** affair, which may begin with little and do more later.  A minute with hardly any says nothing.
**
** On the writer thread. Nothing here reads a clock or depends on anything but what it is told.
*/
#ifndef TFPROF_CAPTURE_WORKER_WATCH_H
#define TFPROF_CAPTURE_WORKER_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct worker_watch {
  long tid;
  double since_ns, used_ns; /* when the minute began, and what it had used then */
  uint64_t records;         /* so many had come then */
  double share;             /* of a processor, that it took in the last minute */
  double first_ns, last_ns; /* what it took for a record in the first minute, in the last one; below 0: not known */
  bool is_told;
};

void worker_watch_begin(struct worker_watch *watch);
/* The thread of this id (0: none is known) has used so much of a processor by now (below 0: not known), and so many
** records have come.  true: what it takes for one has grown, and that is to be told, once. */
bool worker_watch_note(struct worker_watch *watch, long tid, double now_ns, double used_ns, uint64_t records);

#endif
