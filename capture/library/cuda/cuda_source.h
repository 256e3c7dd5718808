/* cuda_source.h: source "cuda": what GPUs do, and what the program asks of them, by the records of CUPTI.
**
** It begins when the program initialises CUDA, and not before: CUDA cannot be used in a process forked by one in which
** it was begun.  Kernels, copies and the calls that launch them are recorded in every step, until that takes too much
** (limits.h: of the file's size, or of --overhead): then in the steps whose ops are.
*/
#ifndef TFPROF_CAPTURE_CUDA_SOURCE_H
#define TFPROF_CAPTURE_CUDA_SOURCE_H

#include "recorder/source.h"

extern const struct capture_source cuda_source;

/* `who`, a profiler that the program itself uses, is about to listen to CUDA; and has ended. */
void cuda_source_step_aside(bool is_aside, const char *who);

#endif
