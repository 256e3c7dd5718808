/* byte_budget.h: how much of what is recorded may be written, so that the file grows by no more than so much an hour.
**
** An hour's bytes are there at the beginning, so that short runs and the first minutes of long ones are recorded as
** they are; each second brings in its share, up to an hour's bytes again.  When half of them are used up, allocations
** and releases follow the steps whose ops are recorded (memory_rows.h); while more is written than comes in even so,
** one level of steps after the other is given up (sampling_levels.h), and brought back when less than half is used.
**
** Nothing here reads a clock, takes a lock or depends on anything but what it is told.
*/
#ifndef TFPROF_CAPTURE_BYTE_BUDGET_H
#define TFPROF_CAPTURE_BYTE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

enum { REVIEW_SECONDS = 10, PATIENCE_SECONDS = 30, RATE_LEVELS_MAXIMUM = 10 };

struct byte_budget {
  double hour;              /* bytes; 0: no limit */
  double credit;            /* may be below 0 */
  uint64_t written;         /* as it was told last */
  double seconds, reviewed, changed; /* since the beginning: now; when levels were looked at, and changed, last */
  uint64_t written_then;    /* when they were looked at */
  bool is_thinned;          /* allocations follow the recorded steps: for good */
  unsigned levels;          /* of steps that are given up */
};

void byte_budget_begin(struct byte_budget *budget, uint64_t bytes_an_hour);
/* So many bytes are written in all, so many seconds after the beginning. Whether something has changed. */
bool byte_budget_note(struct byte_budget *budget, double seconds, uint64_t written);
/* For how many seconds a piece of memory without a row must have been held to get one: the longer the less is left. */
unsigned byte_budget_patience(const struct byte_budget *budget);

#endif
