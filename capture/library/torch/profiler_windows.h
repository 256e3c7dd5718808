/* profiler_windows.h: ops that PyTorch's own profiler recorded, where our callbacks cannot be used.
**
** On a PyTorch whose functions or layout are not as we know them (torch_api.h) the Python hook lets torch.profiler
** watch a few steps now and then, and hands what it saw over here: it goes the way of any other op, through the chunks
** of a thread to the writer thread.  One caller at a time: the GIL is held.
*/
#ifndef TFPROF_CAPTURE_PROFILER_WINDOWS_H
#define TFPROF_CAPTURE_PROFILER_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

struct profiler_op {
  const char *name;
  uint64_t thread;           /* the profiler's number of the thread */
  int64_t start_ns, end_ns;  /* CLOCK_MONOTONIC; the ends of a thread's ops ascend */
  int64_t sequence;          /* -1: none */
  uint32_t forward_thread;   /* 0: none */
  uint8_t scope;             /* enum op_scope */
};

/* false: there is no room for it, which is counted. */
bool profiler_windows_add(const struct profiler_op *op);

#endif
