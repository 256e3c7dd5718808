/* memory_timeline.h: raw memory timelines, as torch.profiler's export_memory_timeline() writes them to *.raw.json(.gz).
**
** A list of [time in ns, action, bytes, category] for one device, which the file does not name
** (torch/profiler/_memory_profiler.py).  Actions: 1 memory from before the recording (time -1), 2 created, 3 its
** category changes (bytes negative under the old one, then positive under the new one), 4 destroyed (negative).
** Each becomes a row of memory_events with its category as `region`; memory from before the recording gets the first
** time that there is.  Which release belongs to which allocation is not told, so that `allocations` is empty.
*/
#ifndef TFPROF_MEMORY_TIMELINE_H
#define TFPROF_MEMORY_TIMELINE_H

#include "read/read.h"

/* "[[-1, 1, 4096, 0]": whether there is an event of integers at the beginning. */
bool memory_timeline_is(const uint8_t *head, size_t length);
extern const struct read_format read_format_memory_timeline;

#endif
