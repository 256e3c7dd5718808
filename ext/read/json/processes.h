/* processes.h: traces into which somebody merged those of several processes, such as all ranks of a job.
**
** Tools that merge traces write what tells the processes apart into the texts of pids: "[TP00] 1000" beside "[TP01]
** 1001", "rank0_7" beside "rank1_7", "7 (rank 1)".  Everything else repeats: numbers of devices and streams,
** correlations, numbers of ops.  So each process becomes a profile of its own, from the events of its pids, which are
** read as if they stood in a file of their own.  Where pids are numbers alone, stretches of the file may be processes
** (sections.h), else pids are (pids.h).  What nothing tells apart is one profile, in which numbers that several calls
** or ops have link nothing.
*/
#ifndef TFPROF_JSON_PROCESSES_H
#define TFPROF_JSON_PROCESSES_H

#include "read/json/scan.h"
#include "store/store.h"

struct pid_owners;
struct trace;

enum { PART_TEXT = 64, MAXIMUM_PARTS = 256 };
struct trace_part { /* one process of several */
  char text[PART_TEXT]; /* what stands beside the number in its pids */
  uint8_t length;
  bool is_behind; /* the number; else before it */
  bool is_first;  /* it has the events that are of no process, too */
  int64_t rank;   /* the number in that text; -1: none, or several */
  bool is_section;      /* it is a stretch of the file instead: */
  uint64_t from, until;   /* offsets of its first event, and behind its last one */
  struct pid_owners *owners; /* it is a pid instead, the one of its number; NULL: it is not */
  uint32_t number, count; /* its place among the parts, from 0; and how many there are */
};

/* Whether an event at an offset of the file belongs to the part; its pid becomes the number alone. `has_pid`: it has
** one. */
bool part_takes(const struct trace_part *part, struct field *pid, bool has_pid, uint64_t offset);

/* The processes that a whole trace holds, by the texts of its pids, by their places in the file or by pids: *count of
** them, at least two, or 0. The caller frees them by parts_free. */
enum tfprof_status parts_find(struct trace *trace, struct trace_part **parts, uint32_t *count);
void parts_free(struct trace_part *parts, uint32_t count);

/* Of a profile of several processes that nothing tells apart (trace->has_repeats): numbers that more than one call, or
** more than one op, has link nothing, and that is told. So do numbers of devices' work that several pids have. */
enum tfprof_status processes_part_links(const struct trace *trace, struct profile *profile);

#endif
