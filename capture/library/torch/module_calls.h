/* module_calls.h: calls of modules become rows of module_calls. On the writer thread only.
**
** A thread tells of a call when it has the first op inside it (ITEM_CALL); that it is over shows in what comes next:
** an op of the same thread outside it, or another call.  From when to when it lasted is told by the ops inside it: from
** the start of the first to the end of the last.  Calls of Python, where they are recorded, count as ops here, so that
** with them it is from the start to the end of the call itself.
*/
#ifndef TFPROF_CAPTURE_MODULE_CALLS_H
#define TFPROF_CAPTURE_MODULE_CALLS_H

#include "channel/channel_reader.h"
#include "recorder/recorder.h"

bool module_calls_open(struct recorder *recorder);
void module_calls_close(void);
/* An ITEM_CALL. */
void module_calls_item(struct recorder *recorder, const struct channel_item *item);
/* An op of the thread has ended that has `level` calls around it. */
void module_call_has_op(struct recorder *recorder, const struct capture_thread *thread, uint32_t level,
                        uint64_t start_ticks, uint64_t end_ticks);
/* All calls are over. */
void module_calls_thread_over(struct recorder *recorder, const struct capture_thread *thread);
void module_calls_losses(struct recorder *recorder);

#endif
