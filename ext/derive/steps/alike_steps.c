/* alike_steps.c: see alike_steps.h.
**
** Two networks of one shape that are trained in turns, each by an optimizer of its own, run the same ops as one network
** that is trained twice as long.  What may still tell them apart, the surest first:
**
** 1. State.  An optimizer makes its state in its first step (moments, momentum).  Where the first k steps make some,
**    by the same ops, and no later one does, there are k optimizers; one, where that is the first alone.  LBFGS makes
**    tensors in many steps, but never by the same ops.  A trace that begins later, or an optimizer without state, says
**    nothing.
** 2. Modules.  PyTorch's profiler numbers the instances of modules where it records Python.  Where they run before
**    every k-th step and not between, there are k optimizers.
** 3. Batches.  Where as many steps are made with each batch of the loader, an iteration is a batch.
** 4. Gradients.  Where k optimizers set theirs to zero together, zero_grad is called k times before every k-th step.
**
** All of these hold for nine tenths of the places: what a program does between epochs is left aside.
*/
#include "derive/steps/alike_steps.h"

#include <stddef.h>

static bool is_most(uint32_t part, uint32_t whole) { return (uint64_t)part * 10 >= (uint64_t)whole * 9; }

void module_gaps_add(struct module_gaps *gaps, uint32_t from, uint32_t to) {
  uint32_t gap = from < to ? to - from : from - to;
  if (gap) gaps->counts[gap <= LONGEST_PERIOD ? gap : LONGEST_PERIOD + 1]++;
}

static uint32_t by_state(const struct step_signs *steps, uint32_t count) {
  uint32_t first = 0, later = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (!steps[i].has_ops) return 0; /* left out by what recorded it */
  }
  uint32_t usual = steps[count - 1].made;
  while (first < count && steps[first].made > usual) first++;
  for (uint32_t i = first; i < count; i++) later += steps[i].made != usual;
  for (uint32_t i = 1; i < first; i++) later += steps[i].work != steps[0].work;
  return later || count < 2 * first ? 0 : first;
}

bool are_of_one_optimizer(const struct step_signs *steps, uint32_t count) {
  if (count < 3 || by_state(steps, count) != 1) return false;
  for (uint32_t i = 2; i < count; i++)
    if (steps[i].work != steps[1].work) return false;
  return true;
}

static uint32_t by_modules(const struct module_gaps *gaps) {
  uint32_t all = 0, best = 0;
  for (uint32_t gap = 1; gap <= LONGEST_PERIOD + 1; gap++) {
    all += gaps->counts[gap];
    if (gaps->counts[gap] > gaps->counts[best]) best = gap;
  }
  return all && best <= LONGEST_PERIOD && is_most(gaps->counts[best], all) ? best : 0;
}

/* A group begins with each step that `begins` says so of, and ends before the next; what lies before the first or after
** the last one that begins may not be whole. Most groups' number of steps; 0: they differ, or there are fewer than two
** groups. */
static uint32_t steps_of_groups(const struct step_signs *steps, uint32_t count,
                                bool begins(const struct step_signs *)) {
  uint32_t sizes[LONGEST_PERIOD + 1] = {0}, groups = 0, best = 0, first = count;
  for (uint32_t i = 0; i < count; i++) {
    if (!begins(&steps[i])) continue;
    if (first < i) {
      groups++;
      if (i - first <= LONGEST_PERIOD) sizes[i - first]++;
    }
    first = i;
  }
  for (uint32_t size = 1; size <= LONGEST_PERIOD; size++)
    if (sizes[size] > sizes[best]) best = size;
  return groups > 1 && is_most(sizes[best], groups) ? best : 0;
}

static bool has_batch(const struct step_signs *step) { return step->batches != 0; }
static bool has_zero_grad(const struct step_signs *step) { return step->zeroed != 0; }

static uint32_t by_gradients(const struct step_signs *steps, uint32_t count) {
  uint32_t size = steps_of_groups(steps, count, has_zero_grad), groups = 0, agreed = 0;
  for (uint32_t i = 0; i < count; i++) {
    groups += steps[i].zeroed != 0;
    agreed += steps[i].zeroed == size;
  }
  return size && is_most(agreed, groups) ? size : 0;
}

uint32_t alike_optimizers(const struct step_signs *steps, uint32_t count, const struct module_gaps *gaps,
                          bool *in_batches) {
  *in_batches = false;
  uint32_t optimizers = count ? by_state(steps, count) : 0;
  if (!optimizers) optimizers = by_modules(gaps);
  if (optimizers) return optimizers;
  optimizers = steps_of_groups(steps, count, has_batch);
  *in_batches = optimizers > 1;
  if (optimizers > 1) return optimizers;
  optimizers = by_gradients(steps, count);
  return optimizers > 1 ? optimizers : 0;
}
