/* guarded_read.h: reads memory that may not be there.
**
** Whatever the layout tables say about the insides of PyTorch and CPython is proved once when recording begins, by
** following it with these reads: a wrong table gives an error there, never a crash of somebody's program.  The writer
** thread follows the stacks of threads that run on meanwhile with them (python_samples.h).  A read is a system
** call, or a way through a pipe on a thread for files where that one is not allowed; the pipe is there from begin to
** end.  Not for the path of an op.
*/
#ifndef TFPROF_CAPTURE_GUARDED_READ_H
#define TFPROF_CAPTURE_GUARDED_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool guarded_read_begin(void);
void guarded_read_end(void);
void guarded_read_after_fork_in_child(void);
/* Copies at most 4096 bytes; false when they cannot be read. */
bool guarded_read(const void *address, void *copy, size_t bytes);
static inline bool guarded_word(const void *address, uint64_t *word) {
  return guarded_read(address, word, sizeof *word);
}

#endif
