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

/* A row of triggers; what is not known is 0. */
struct kept_trigger {
  const char *kind;
  char message[KEPT_TEXT_MAXIMUM];
  int64_t time_ns; /* CLOCK_MONOTONIC, as is kept_from_ns */
  int64_t keep_ns, kept_from_ns;
  int64_t step_plus_one, dur_ns, usual_ns;
};

/* Up to where the areas are written, of a process that goes on; UINT64_MAX: to their end. */
struct kept_extent {
  uint64_t lasting, slots[KEPT_SLOTS];
};
void kept_extent_whole(struct kept_extent *extent);

/* Writes a dump into the empty file `to`. 0, or the errno of what was refused; EILSEQ: nothing was kept. *rows: how
** many it has. */
int kept_dump_write(int from, const struct kept_head *head, const struct kept_extent *extent,
                    const struct kept_trigger *trigger, int to, uint64_t *rows);

#endif
