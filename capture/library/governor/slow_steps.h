/* slow_steps.h: steps that take longer than those before them: what is kept is written then (recorder/triggers.h).
**
** A step is slow that takes more than 1.5 times the median of the 31 before it. The first ones, of which too few are
** known, are none. On the writer thread.
*/
#ifndef TFPROF_CAPTURE_SLOW_STEPS_H
#define TFPROF_CAPTURE_SLOW_STEPS_H

void slow_steps_begin(void);
/* At those that have ended since it was called last. */
void slow_steps_look(void);

#endif
