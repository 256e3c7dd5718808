/* module_calls.h: calls of modules become rows of module_calls. On the writer thread only.
**
** A thread tells of a call when it has the first op inside it (ITEM_CALL); that it is over shows in what comes next:
** an op of the same thread outside it, or another call.  From when to when it lasted is told by the ops inside it: from
** the start of the first to the end of the last.  Calls of Python, where they are recorded, count as ops here, so that
** with them it is from the start to the end of the call itself.
*/
#ifndef TFPROF_CAPTURE_MODULE_CALLS_H
#define TFPROF_CAPTURE_MODULE_CALLS_H

#include "recorder/clock.h"
#include "recorder/row_buffer.h"

/* The calls that a thread is inside of, outermost first; {0}: none. */
struct open_calls {
  struct open_call *calls;
  uint32_t count, capacity;
};

struct module_calls {
  struct row_buffer rows;
  uint64_t no_room;
};

bool module_calls_begin(struct module_calls *calls);
void module_calls_end(struct module_calls *calls);

/* A call of the module with this number (known_modules.h) begins, `level` others are around it; `thread` is a row. */
void module_call_begins(struct module_calls *calls, struct open_calls *open, const struct clock_map *clock,
                        int64_t thread, uint32_t level, uint32_t module, uint64_t ticks);
/* Its module has this number now. */
void module_call_goes_on(struct open_calls *open, uint32_t level, uint32_t module);
/* An op has ended that has `level` calls around it. */
void module_call_has_op(struct module_calls *calls, struct open_calls *open, const struct clock_map *clock,
                        int64_t thread, uint32_t level, uint64_t start_ticks, uint64_t end_ticks);
/* All calls are over. */
void module_calls_are_over(struct module_calls *calls, struct open_calls *open, const struct clock_map *clock,
                           int64_t thread);
void open_calls_free(struct open_calls *open);

#endif
