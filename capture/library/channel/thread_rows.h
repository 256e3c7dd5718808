/* thread_rows.h: threads of the program become rows of threads, when the first thing of theirs is written.  On the
** writer thread only.
*/
#ifndef TFPROF_CAPTURE_THREAD_ROWS_H
#define TFPROF_CAPTURE_THREAD_ROWS_H

#include "recorder/row_buffer.h"
#include "thread_record.h"

struct thread_rows {
  struct row_buffer rows;
  struct dump_writer *writer;
  uint32_t pid, kind;                   /* kind: a string */
  int64_t row_plus_one[THREAD_MAXIMUM]; /* by the number of the thread, from 1 on; 0: it has none yet */
};

bool thread_rows_begin(struct thread_rows *rows, struct dump_writer *writer);
void thread_rows_end(struct thread_rows *rows);
/* Its row, which is made; -1: no memory. */
int64_t thread_rows_add(struct thread_rows *rows, const struct capture_thread *thread);
/* -1: it has none. */
static inline int64_t thread_rows_known(const struct thread_rows *rows, const struct capture_thread *thread) {
  return rows->row_plus_one[thread->number - 1] - 1;
}
static inline int64_t thread_rows_of(struct thread_rows *rows, const struct capture_thread *thread) {
  int64_t row = thread_rows_known(rows, thread);
  return __builtin_expect(row >= 0, 1) ? row : thread_rows_add(rows, thread);
}
/* Another thread will have the structure. */
void thread_rows_forget(struct thread_rows *rows, const struct capture_thread *thread);

#endif
