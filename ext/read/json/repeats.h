/* repeats.h: events that stand in a file more than once.
**
** Scripts that merge traces may be given one file twice, or may merge a merged file again.  Then every event is there
** twice, with the same times, numbers and names, and everything that is summed is twice as much.  Such events count
** once, and are told with their number.  A profiler that is started twice writes what ran on devices twice.
**
** What has a number of its own (calls, ops, kernels, copies) is the same event where all that the event says is equal,
** and what else belongs to its op does not show it to be that of another process.
** Anything else, marks and counters, may be there twice rightly, and counts once only where a quarter of the numbered
** events are repeats, so that the file was merged with itself.
*/
#ifndef TFPROF_JSON_REPEATS_H
#define TFPROF_JSON_REPEATS_H

#include "store/store.h"

struct source_index;
struct trace;

/* Takes repeats out of a trace whose chunks are all there, before anything but its lists refers to rows, and says in
** trace->numbers_repeat whether calls or ops still have numbers of others. By the index the file is read again. */
enum tfprof_status repeats_remove(struct trace *trace, const struct source_index *index);

#endif
