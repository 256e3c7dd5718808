/* python_frames.h: the Python call stack of the calling thread, read without the GIL.
**
** The thread that is inside an op cannot change its own frames meanwhile, and frames keep their code objects alive, so
** the chain from its thread state may be followed as it lies in memory: 1 to 2 ns a frame, where the public API takes
** the GIL and 10 ns (then 40 for a line). Where what lies is said by python_layout.h; it is believed once the Python
** hook has compared our view of its own stack with sys._getframe(), reading through guarded_read
** (python_describe_stack).
*/
#ifndef TFPROF_CAPTURE_PYTHON_FRAMES_H
#define TFPROF_CAPTURE_PYTHON_FRAMES_H

#include "channel/thread_record.h"
#include "python_layout.h"

/* The stack of the caller as text, for the proof: one line a frame from the innermost outwards, "code-address offset
** line first_line file function", the texts in UTF-8 with the characters of control replaced. Returns the length; 0:
** it could not be read. */
size_t python_describe_stack(char *text, size_t size);
/* Who gives numbers to the modules that frames of python_module_code call: the thread's number of the one at this
** address, whose class is at `type`, or 0; and resolves it at the end of the callback (module_sightings.h). */
struct module_watch {
  uint32_t (*number)(struct capture_thread *thread, uintptr_t address, uintptr_t type);
  void (*resolve)(struct capture_thread *thread, bool may_wait);
};
void python_watch_modules(const struct module_watch *watch);

/* The modules on the caller's stack from the innermost outwards and the numbers of their calls, for the proof; how
** many. */
unsigned python_describe_modules(uint64_t *modules, uint64_t *calls, unsigned room);

/* The number of the stack that begins at this frame, in the tables of the thread; 0: none. `tells_calls`: ops are
** recorded now, and so the thread writes an ITEM_CALL for each call of a module on it that it meets for the first
** time. */
uint32_t python_stack_node(struct capture_thread *thread, const uint8_t *frame, bool tells_calls);
/* The same for an op, which resolves the modules that are new there. `recent`, which may be
** NULL, is where its innermost frame was when the same was asked for before. */
uint32_t python_stack_node_of_op(struct capture_thread *thread, const uint8_t *frame, struct recent_node *recent);

#endif
