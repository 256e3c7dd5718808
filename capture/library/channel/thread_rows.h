/* thread_rows.h: threads of the program and streams of devices become rows of threads, when the first thing of theirs
** is written.  On the writer thread only.
*/
#ifndef TFPROF_CAPTURE_THREAD_ROWS_H
#define TFPROF_CAPTURE_THREAD_ROWS_H

#include "recorder/recorder.h"
#include "thread_record.h"

extern int64_t thread_row_plus_one[THREAD_MAXIMUM]; /* by the number of the thread, from 1 on; 0: it has none yet */

bool thread_rows_open(struct recorder *recorder);
void thread_rows_close(void);
/* Its row, which is made; -1: no memory. */
int64_t thread_row_add(struct recorder *recorder, const struct capture_thread *thread);
/* -1: it has none. */
static inline int64_t thread_row_known(const struct capture_thread *thread) {
  return thread_row_plus_one[thread->number - 1] - 1;
}
static inline int64_t thread_row(struct recorder *recorder, const struct capture_thread *thread) {
  int64_t row = thread_row_known(thread);
  return __builtin_expect(row >= 0, 1) ? row : thread_row_add(recorder, thread);
}
/* threads.logical_thread of a row: PyTorch's own number may become known only after the row was written. */
static inline int64_t thread_row_logical(int64_t row) { return row + 1; }
/* The row of a thread that others name by the system's number of it, which is made. -1: no memory. */
int64_t thread_row_of_tid(struct recorder *recorder, uint32_t tid);
/* A new row. -1: no memory. */
struct stream_lane {
  int64_t device; /* row of devices */
  uint32_t context, stream;
  bool has_priority;
  int32_t priority;
  const char *name; /* NULL: it has none */
};
int64_t thread_row_add_stream(struct recorder *recorder, const struct stream_lane *lane);
/* Another thread will have the structure. */
void thread_row_forget(const struct capture_thread *thread);

#endif
