/* python_states.c: interp->threads.head, and next from there on (see python_states.h). */
#include "python_states.h"

#include "guarded_read.h"
#include "python_api.h"
#include "python_layout.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PROOF_TRIES = 3 };

static _Atomic uintptr_t head; /* where the address of the first state lies; 0: not proved */

static bool read_word(uintptr_t address, uintptr_t *word) {
  uint64_t value;
  if (!guarded_word((const void *)address, &value)) return false;
  *word = (uintptr_t)value;
  return true;
}

static bool is_list_right(uintptr_t *place) {
  void *interpreter = python_api.interpreter();
  uintptr_t own = (uintptr_t)python_thread_state(), number, seen;
  uintptr_t first = (uintptr_t)python_api.first_thread(interpreter);
  *place = (uintptr_t)interpreter + (uintptr_t)python_layout.interpreter_threads;
  if (!read_word(*place, &seen) || seen != first) return false;
  if (!read_word(own + (uintptr_t)python_layout.thread_number, &number) || (long)number != syscall(SYS_gettid))
    return false;
  bool has_own = false;
  for (uintptr_t state = first, next; state; state = next) {
    next = (uintptr_t)python_api.next_thread((void *)state);
    has_own |= state == own;
    if (!read_word(state + (uintptr_t)python_layout.thread_next, &seen) || seen != next) return false;
  }
  return has_own;
}

bool python_states_prove(char *reason, size_t size) {
  uintptr_t place = 0;
  bool is_right = false, is_known = python_layout.version && python_layout.interpreter_threads >= 0;
  /* Threads of C may come to Python meanwhile, for which the GIL is not needed. */
  for (int tries = 0; is_known && !is_right && tries < PROOF_TRIES; tries++) is_right = is_list_right(&place);
  atomic_store(&head, is_right ? place : 0);
  if (is_known && !is_right) snprintf(reason, size, "this Python's list of threads is laid out in another way");
  return is_right || !is_known;
}

unsigned python_states_list(struct python_state *states, unsigned room) {
  uintptr_t place = atomic_load(&head), state;
  unsigned count = 0;
  if (!place || !read_word(place, &state)) return 0;
  while (state && count < room) {
    uintptr_t number, next;
    if (!read_word(state + (uintptr_t)python_layout.thread_number, &number) ||
        !read_word(state + (uintptr_t)python_layout.thread_next, &next))
      break;
    if (number > INT32_MAX) break; /* it is no state any more */
    if (number) states[count++] = (struct python_state){state, (uint32_t)number};
    state = next;
  }
  return count;
}
