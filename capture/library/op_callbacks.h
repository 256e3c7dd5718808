/* op_callbacks.h: what runs at the beginning and the end of every op of the program.
**
** Two callbacks: one for the ranges of the user, which mark the steps, stays as long as the recording lasts; one for
** everything else comes and goes as ops are to be recorded. PyTorch allows both at any time and from any thread, within
** callbacks, too.  Without the second an op costs what it costs unrecorded.
*/
#ifndef TFPROF_CAPTURE_OP_CALLBACKS_H
#define TFPROF_CAPTURE_OP_CALLBACKS_H

#include <stdatomic.h>
#include <stdbool.h>

/* Ranges begin to be recorded on all threads. Says for ops, too, what is recorded with them. */
bool ranges_arm(bool with_inputs, bool with_stacks);
void ranges_disarm(void);
/* Ops begin to be recorded on all threads. */
bool ops_arm(void);
/* Whether they are recorded now. */
extern _Atomic bool ops_armed;
static inline bool ops_are_armed(void) { return atomic_load_explicit(&ops_armed, memory_order_relaxed); }
/* No op that begins after this is recorded. Those that run now still report their end. */
void ops_disarm(void);
/* Registers, in place of ours, callbacks for ops that want the same and do nothing: what PyTorch itself takes for
** calling them. */
bool ops_arm_empty(void);

#endif
