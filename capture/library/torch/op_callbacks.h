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
