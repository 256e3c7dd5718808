/* sampling_levels.h: which steps are recorded at a level, the same on every rank of a job.
**
** At level L one step of 2^L is recorded.  The steps are cut into blocks of 2^L, and the one of a block is found from
** below: of the two steps that the half blocks have at level L - 1 a hash of the job, the level and the block's number
** takes one.  So there is exactly one in each block, at a place that no rhythm of the program can know; ranks that
** record at one level record the same steps, without a word between them; and what is recorded at a level is recorded
** at all levels below it, so that a rank with a smaller budget shares the rarer steps of the others.  (Consistent
** probability sampling, as in OpenTelemetry, with one draw in each block.)
**
** Nothing here reads a clock, takes a lock or depends on anything but what it is told.
*/
#ifndef TFPROF_CAPTURE_SAMPLING_LEVELS_H
#define TFPROF_CAPTURE_SAMPLING_LEVELS_H

#include <stdint.h>

enum { LEVEL_MAXIMUM = 10 }; /* one step of 1,024 */

/* What the choice of steps rests on, of a text that all ranks of a job have in common. */
uint64_t sampling_seed_of(const char *job);
/* The highest level at which the step is recorded. */
unsigned sampling_level_of(uint64_t seed, uint64_t step);
/* The highest level of which a block begins with this step. */
unsigned sampling_block_level(uint64_t step);

#endif
