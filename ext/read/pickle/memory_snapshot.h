/* memory_snapshot.h: PyTorch's snapshots of its CUDA memory, as torch.cuda.memory._dump_snapshot() pickles them.
**
** A dict with `segments` (what the caching allocator holds now, in blocks) and `device_traces` (for each device what it
** did until then, if torch.cuda.memory._record_memory_history() was on): documented in torch/cuda/memory.py, _snapshot.
** They become
**
**   memory_segments   the segments there are, and those of the trace that were given back
**   allocations       the blocks in use, and those of the trace that were released; sizes are what the program had
**                     asked for where the trace tells no more
**   memory_events     the trace; in_use_bytes and reserved_bytes are counted back from what there is at the end; where
** it
**                     has no times, places in it stand for them
**   code_traces       the Python and C++ frames of each, innermost first
**
** An allocation is released where the trace says free_completed: from then on its memory can be given out again, while
** free_requested only says that the program has let go of it.
*/
#ifndef TFPROF_MEMORY_SNAPSHOT_H
#define TFPROF_MEMORY_SNAPSHOT_H

#include "read/read.h"

extern const struct read_format read_format_memory_snapshot;
extern const struct reader memory_snapshot_reader;

#endif
