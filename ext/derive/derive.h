/* derive.h: what is computed once from raw rows.
**
** Each pass is one file, declares what it reads and writes (struct derive_pass in store/pass.h), works on one profile
** at a time in linear time (or n log n where it must sort), and knows neither SQLite nor file formats. The folders are
** what the passes compute:
**
**   links     what called or launched what: parents, ops of calls, calls of kernels, forward ops of backward ones
**   names     names and types that columns repeat, and what names of kernels tell
**   steps     steps, which of them a row belongs to, and for how many one speaks that was recorded
**   time      what time went to: segments and phases of steps, hosts and devices, the critical path
**   devices   what streams went through, and collectives
**   memory    allocations, what they are for, and whose they are
**   code      lines of the program, and what they cost
**   modules   the modules of a model
**   ranges    ranges, and the input events among them
**   serving   requests to a server of models, and the batches that it makes of them
**   flops     floating point operations by the shapes of an op's inputs
**   totals    rows that are alike, added up
**
** rows.h is how passes see columns, match.h how they find rows by numbers and by time.
*/
#ifndef TFPROF_DERIVE_H
#define TFPROF_DERIVE_H

#include "store/store.h"

extern const struct derive_pass *const derive_passes[];
extern const unsigned derive_pass_count;

#endif
