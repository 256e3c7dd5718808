/* sections.h: traces that somebody appended to one another, so that each process is a stretch of the file.
**
** Where pids are numbers, nothing else may tell the processes apart: in containers every rank has pid 1.  But a
** profiler gives each call, each op and each step a number of its own, and most scripts that merge traces append all
** events of one file to those of another.  So a number that comes again begins the next process.
*/
#ifndef TFPROF_JSON_SECTIONS_H
#define TFPROF_JSON_SECTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

struct trace;
struct trace_part;

/* Whether calls, ops or steps of the trace have numbers of others, as in a file of several processes. */
bool sections_repeat(const struct trace *trace);
/* Whether kernels or copies have numbers of others, as those of one launch of a graph. */
bool sections_repeat_work(const struct trace *trace);

/* The processes of a trace that is whole and whose numbers repeat, as stretches of the file: *count of them, at least
** two, or 0 where they do not lie one behind the other. The caller frees them. */
enum tfprof_status sections_find(const struct trace *trace, struct trace_part **parts, uint32_t *count);

/* Gives a profile that is a stretch of the file its rank, where that is known, and tells of it, or of its pid. */
void sections_tell(const struct trace *trace, struct profile *profile);

#endif
