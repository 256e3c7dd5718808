/* hang_rows.h: what the threads of a process that hangs are at becomes rows of hangs and hang_threads. On the writer
** thread only.
*/
#ifndef TFPROF_CAPTURE_HANG_ROWS_H
#define TFPROF_CAPTURE_HANG_ROWS_H

#include "recorder/recorder.h"

struct hang {
  int64_t start_ns, looked_ns, noticed_ns; /* of clock_monotonic_ns() */
  int64_t step_number, usual_ns, limit_ns; /* usual_ns 0: not known */
  bool is_working, with_c_stacks;
};

bool hang_rows_open(struct recorder *recorder);
/* How much processor time each thread has had by now. */
void hang_rows_look(void);
/* A while later: the rows, of all threads that there are. */
void hang_rows_tell(struct recorder *recorder, const struct hang *hang);

#endif
