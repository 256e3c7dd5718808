/* limits.h: the recording keeps to --overhead, --max-rate, --max-gpu-rate and --max-size; the file says which steps
** have their ops.
**
** On the writer thread: each second it is looked at what that takes from the program (writer_costs.h), how fast the
** file grows (byte_budget.h) and how large it is; the sampling of steps (sampling.h) is told, and sources ask.  What
** devices did has a budget of its own beside that of all else: a job that launches much would have used up the common
** one in minutes, and one that allocates much would leave out kernels.
*/
#ifndef TFPROF_CAPTURE_LIMITS_H
#define TFPROF_CAPTURE_LIMITS_H

#include "recorder/source.h"

/* The lock of sampling.h comes before those of all others, which set_detail may take. */
extern const struct capture_source governor_source;

struct limits {
  uint64_t bytes_an_hour, device_bytes_an_hour; /* 0: the file may grow as it does */
  double overhead;                              /* that is allowed */
  bool is_sampled; /* steps with ops stand for those without; else what devices did is thinned beyond --max-size only */
};
/* Before a recording begins. */
void limits_set(const struct limits *limits);

/* ---- For sources, on the writer thread. */

/* By how much the file, and what lies beside it, may grow in an hour; 0: as it does. */
uint64_t limits_bytes_an_hour(void);
/* Why what is recorded always, and much, gets rows only where ops are recorded, from now on; NULL: it has them all. */
const char *limits_thinned(void);
/* The same of what devices did. */
const char *limits_devices_thinned(void);
/* The file is as large as it may be: no step is recorded in full any more. */
bool limits_is_full(void);
/* What the writer thread takes from the program for a record of a device, in nanoseconds. */
double limits_device_record_ns(void);
/* By which share of the time the program may become slower, where what devices did is thinned for that; 0: it is
** not. */
double limits_overhead(void);
/* For how many seconds something without a row must have been there to get one. */
unsigned limits_patience(void);
/* Whether steps with ops stand for those without, and since when. */
bool limits_spoken_for(int64_t *since_ns);

#endif
