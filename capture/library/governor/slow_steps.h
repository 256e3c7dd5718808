/* slow_steps.h: steps that take longer than those before them: what is kept is written then (recorder/triggers.h).
**
** A step is slow that takes more than so many times the median of the 31 before it. The first ones, of which too few
** are known, are none, and neither are those that are long regularly (long_steps.h), which are counted. On the writer
** thread.
*/
#ifndef TFPROF_CAPTURE_SLOW_STEPS_H
#define TFPROF_CAPTURE_SLOW_STEPS_H

#include <stdint.h>

#define SLOW_STEP_FACTOR 1.5 /* as long as nothing else is set */

/* Before the first recording. 0: none is slow. */
void slow_steps_set(double factor);
void slow_steps_begin(void);
/* At those that have ended since it was called last. */
void slow_steps_look(void);
/* How many were long regularly since it was called last. */
uint64_t slow_steps_take_regular(void);

#endif
