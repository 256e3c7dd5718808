/* op_callbacks.h: what runs at the beginning and the end of every op of the program.
**
** Ranges of the user, which mark the steps, are recorded as long as the recording lasts, everything else comes and goes
** as ops are to be recorded: PyTorch has one callback for ranges alone, or one for both.  It allows to change them at
** any time and from any thread, within callbacks, too.  Without that for ops an op costs what it costs unrecorded.
*/
#ifndef TFPROF_CAPTURE_OP_CALLBACKS_H
#define TFPROF_CAPTURE_OP_CALLBACKS_H

#include "recorder/parts.h"
#include "recorder/source.h"

#include <stdbool.h>
#include <stdint.h>

/* Ops, ranges of the user, and those that the recorder notes by itself. */
extern const struct capture_source ops_source;
extern struct capture_part ops_part, shapes_part, steps_part;

/* What calling a callback that does nothing takes for an op here, in nanoseconds, 0: it is not known; before recording
** begins. Returns what recording one is then taken to take. */
double ops_set_cost(double called_ns);
/* That there is a callback for ranges makes PyTorch take longer for each op of a backward pass, unless what it does
** there can be left out (thread_state.h): measured 36 microseconds in a step of 3,300 ops, this share of what recording
** those takes; left out, it takes less than without us. */
#define RANGES_SHARE (1.0 / 40)

/* Says what is recorded with ranges and ops. Before the functions below. */
void callbacks_prepare(bool with_inputs, bool with_stacks);
/* Ranges begin to be recorded on all threads. */
bool ranges_arm(void);
void ranges_disarm(void);
/* Ops begin to be recorded on all threads. */
bool ops_arm(void);
/* No op that begins after this is recorded. Those that run now still report their end. */
void ops_disarm(void);
/* Registers a callback that wants the same as ours and does nothing but count ops and ranges: what PyTorch itself takes
** for calling any. */
bool ops_arm_empty(void);
void ops_disarm_empty(void);
/* How many it has counted since it was registered. */
uint64_t ops_counted_empty(void);

#endif
