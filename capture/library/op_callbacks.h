/* op_callbacks.h: what runs at the beginning and the end of every op of the program. */
#ifndef TFPROF_CAPTURE_OP_CALLBACKS_H
#define TFPROF_CAPTURE_OP_CALLBACKS_H

#include <stdbool.h>

/* Registers the callbacks; ops begin to be recorded on all threads. */
bool ops_arm(bool with_inputs, bool with_stacks);
/* No op that begins after this is recorded. Those that run now still report their end. */
void ops_disarm(void);
/* Registers, in place of ours, callbacks that want the same and do nothing: what PyTorch itself takes for calling
** them. */
bool ops_arm_empty(bool with_inputs);

#endif
