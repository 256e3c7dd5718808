/* alike_steps.h: how many optimizers it is whose steps look alike. */
#ifndef TFPROF_DERIVE_STEPS_ALIKE_STEPS_H
#define TFPROF_DERIVE_STEPS_ALIKE_STEPS_H

#include "derive/steps/kinds.h"

#include <stdbool.h>
#include <stdint.h>

/* What there is from the end of one step of an optimizer to the end of the next. */
struct step_signs {
  uint32_t made;    /* tensors of the optimizer's state that are made within the step */
  uint32_t batches; /* that the loader was asked for */
  uint32_t zeroed;  /* calls of zero_grad */
  uint64_t work;    /* a sum over the names of ops within the step */
  bool has_ops;     /* within the step */
};

/* Whether the optimizer made its state in the first of them and runs the same ops in all others. */
bool are_of_one_optimizer(const struct step_signs *steps, uint32_t count);

/* Counts, for each module that runs before two steps and not between them, how many steps it is from one to the other.
** The last place is for those that are further apart. */
struct module_gaps {
  uint32_t counts[LONGEST_PERIOD + 2];
};

void module_gaps_add(struct module_gaps *gaps, uint32_t from, uint32_t to);

/* The number of optimizers that take turns; 0: nothing tells. With *in_batches the turns begin anew with each step that
** has batches before it. */
uint32_t alike_optimizers(const struct step_signs *steps, uint32_t count, const struct module_gaps *gaps,
                          bool *in_batches);

#endif
