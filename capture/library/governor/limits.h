/* limits.h: the recording keeps to --overhead, --max-rate and --max-size; the file says which steps have their ops.
**
** On the writer thread: each second it is looked at what that takes from the program (writer_costs.h), how fast the
** file grows (byte_budget.h) and how large it is; the sampling of steps (sampling.h) is told, and sources ask.
*/
#ifndef TFPROF_CAPTURE_LIMITS_H
#define TFPROF_CAPTURE_LIMITS_H

#include "recorder/source.h"

/* The lock of sampling.h comes before those of all others, which set_detail may take. */
extern const struct capture_source governor_source;

/* Before a recording begins: how fast the file may grow, 0: as it does, and nothing is thinned; what is allowed. */
void limits_set(uint64_t bytes_an_hour, double overhead);

/* ---- For sources, on the writer thread. */

/* Why what is recorded always, and much, gets rows only where ops are recorded, from now on; NULL: it has them all. */
const char *limits_thinned(void);
/* By which share of the time the program may become slower, where what is recorded always is thinned for that; 0: it is
** not. */
double limits_overhead(void);
/* For how many seconds something without a row must have been there to get one. */
unsigned limits_patience(void);
/* Whether steps with ops stand for those without, and since when. */
bool limits_spoken_for(int64_t *since_ns);

#endif
