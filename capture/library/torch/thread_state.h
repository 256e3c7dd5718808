/* thread_state.h: what PyTorch hands from thread to thread of its callbacks, without building anew what stays as it is.
**
** Around each node of a backward pass the engine gives its thread the state of the thread that called backward(), and
** then its own again (at::ThreadLocalStateGuard).  Of the callbacks of at::RecordFunction that is a list of those of
** the thread alone, nearly always empty, and whether they are called at all; but each time PyTorch makes up from it and
** from the callbacks of all threads what is to be called in each of nine scopes.  With a callback of ours that takes
** twice as long: an hundredth of a step that does little but launch ops.
**
** at::set_record_function_tls_ is called through the procedure linkage table.  This library defines it and leaves out
** what would change nothing: an empty list that takes the place of an empty list, with the same switch.  What the
** callbacks of all threads are PyTorch looks up by their version whenever it is about to call some.  All else goes on
** to PyTorch's own function, and so does everything until it is proved where list and switch lie.
*/
#ifndef TFPROF_CAPTURE_THREAD_STATE_H
#define TFPROF_CAPTURE_THREAD_STATE_H

#include <stdbool.h>
#include <stdint.h>

struct callback_state { /* at::RecordFunctionTLS (ATen/record_function.h): a std::vector and a bool */
  uintptr_t begin, end, room_end;
  bool is_enabled;
};

struct thread_state_functions {
  const struct callback_state *(*get)(void);
  void (*set)(const struct callback_state *state);
  void (*enable)(bool is_enabled);
};
extern struct thread_state_functions thread_state;

/* Looks at what a callback of the calling thread and the switch change there, once torch_find has been successful.
** false: it is not as expected, and nothing is ever left out. */
bool thread_state_prove(void);

#endif
