/* repeated_calls.h: marks of steps, and where nothing marks them, the calls that stand for them.
**
** What TensorFlow's and JAX's profilers, and our recorder, write of a program that marks no steps tells of each call
** of a compiled function (tf.function, jax.jit, Session.run) by its name (is_repeated_call()).  A program that trains
** calls one of them over and over, and most time passes in it: of the functions that are called at least three times
** on a thread the one for which the median call times the number of calls is largest (the first call, which compiles
** it, may take a hundred times as long).  Each trace of a tf.function has a number of its own and counts as a
** function: Keras trains and validates in two of one name.  Functions of jax.jit that have the same Python name are
** told apart by the programs that they run (ops.called_program) where these come again and again in one order, as
** those of a generator and a discriminator do: then the one that is called most often counts, and of several the
** first.  Programs that come in no order are those of one function, which is compiled for each shape.
**
** A call of a function of jax.jit returns before its work is done: it lasts until the next one begins, the last as long
** as the median of the others, if neither the call itself is longer nor the recording ends before.
*/
#ifndef TFPROF_DERIVE_STEPS_REPEATED_CALLS_H
#define TFPROF_DERIVE_STEPS_REPEATED_CALLS_H

#include "derive/rows.h"

struct mark {
  int64_t start, end, number; /* `number`: of a row that has one */
  uint32_t row, thread;
  string_id name;
};

struct mark_list {
  struct mark *items; /* scratch_free() */
  uint32_t count, capacity;
};

/* False: no memory. */
static inline bool mark_list_add(struct mark_list *list, struct mark mark) {
  struct mark *items = scratch_grow(list->items, list->count, &list->capacity, 256, sizeof *items);
  if (!items) return false;
  list->items = items;
  list->items[list->count++] = mark;
  return true;
}

/* Adds all calls of compiled functions to an empty list, in the order of their rows. */
enum tfprof_status list_repeated_calls(struct profile *profile, struct mark_list *list, struct tfprof_error *error);

/* Calls of a function that may be steps: so many at least; of a program that was recorded for some of its steps, as
** many as it was. */
enum { FEWEST_CALLS = 3, FEWEST_ASKED_CALLS = 1 };

/* Adds the calls to an empty list, all by the name of the first; none where no function was called `fewest` times.
** *last_until_next: each lasts until the next begins, and is a step by itself. */
enum tfprof_status find_repeated_calls(struct profile *profile, uint32_t fewest, struct mark_list *list,
                                       bool *last_until_next, struct tfprof_error *error);

#endif
