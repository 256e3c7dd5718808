/* python_samples.h: where Python was, at moments spread over the time in which ops are recorded, while no op ran.
**
** The writer thread looks at the stack of the thread that trains when it wakes, some thirty times a second, at moments
** that are drawn so that no rhythm of the program hides from them (pulse.h).  How it reads a stack while the thread
** runs on is said by python_peek.h.  What the thread waited for (thread_waits.h) is told where it has not run from then
** until its stack was read.
**
** Ops have their stacks already, so while one runs, on that thread or for its backward pass, nothing is kept.
*/
#ifndef TFPROF_CAPTURE_PYTHON_SAMPLES_H
#define TFPROF_CAPTURE_PYTHON_SAMPLES_H

#include "recorder/pulse.h"
#include "recorder/recorder.h"

bool python_samples_open(struct recorder *recorder);
/* Looks, where ops are recorded: it is the moment of that pulse, or a little later. */
void python_samples_take(struct recorder *recorder, const struct pulse *pulse);

#endif
