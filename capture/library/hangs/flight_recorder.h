/* flight_recorder.h: which collective a process is in, by PyTorch's Flight Recorder, asked without the GIL.
**
** PyTorch notes the last collectives of each process group, from 2.13 on also those of Gloo, and has a function that
** writes them as JSON.  It takes a lock of PyTorch's, which one that hangs may hold: so it is called on a thread of its
** own, for which nobody waits longer than he wants to, and which is left where it is if it does not come back.
*/
#ifndef TFPROF_CAPTURE_FLIGHT_RECORDER_H
#define TFPROF_CAPTURE_FLIGHT_RECORDER_H

#include "flight_json.h"

/* Asks. While an earlier question is not answered nothing is asked. */
void flight_recorder_ask(void);
/* Whether the answer is there, or none will come. */
bool flight_recorder_has_answered(void);
/* The answer; none: 0. It stays as it is until the next question. */
unsigned flight_recorder_groups(const struct flight_group **groups);
/* In a forked child, which has no such thread. */
void flight_recorder_reset(void);

#endif
