/* kept_dump.h: makes a whole dump of what a process has kept (kept_place.h), with a row that says why.
**
** The dump has all frames as they were made, in their order, and the last ones say what brought it about (triggers).
** The library does it while the process lives, or dies; the launcher where it was killed.  So nothing here takes
** memory or a lock: there are system calls only.  What is read may be damaged, and is checked.
*/
#ifndef TFPROF_CAPTURE_KEPT_DUMP_H
#define TFPROF_CAPTURE_KEPT_DUMP_H

#include "kept_place.h"

enum { KEPT_TEXT_MAXIMUM = 256 };

/* A row of triggers; what is not known is 0 or NULL. */
struct kept_trigger {
  const char *kind, *asked_by_kind;
  char message[KEPT_TEXT_MAXIMUM];
  int64_t time_ns; /* CLOCK_MONOTONIC, as are kept_from_ns and kept_to_ns */
  int64_t keep_ns, kept_from_ns, kept_to_ns;
  int64_t step_plus_one, dur_ns, usual_ns;
  int64_t asked_by_process, asked_by_rank_plus_one, asked_processes_plus_one;
};

/* Up to where the areas are written, of a process that goes on; UINT64_MAX: to their end. */
struct kept_extent {
  uint64_t lasting, slots[KEPT_SLOTS];
};
void kept_extent_whole(struct kept_extent *extent);

/* Writes a dump into the empty file `to`, with so many triggers. 0, or the errno of what was refused; EILSEQ: nothing
** was kept. *rows: how many it has. */
int kept_dump_write(int from, const struct kept_head *head, const struct kept_extent *extent,
                    const struct kept_trigger *triggers, unsigned count, int to, uint64_t *rows);

#endif
