/* step_weights.h: for how many steps each one speaks whose ops were recorded. */
#ifndef TFPROF_DERIVE_STEP_WEIGHTS_H
#define TFPROF_DERIVE_STEP_WEIGHTS_H

#include "derive/steps/sampling.h"

struct step_facts { /* of the steps of a profile, by row */
  uint32_t count;
  const uint32_t *order; /* the rows by their starts */
  const int64_t *starts, *ends, *recorded, *warmup;
  const int64_t *costs; /* of recording their ops, in nanoseconds; NO_VALUE: not known */
};

/* Fills weights[count]: 0: others speak for the step; NAN: none does. */
enum tfprof_status step_weights_find(const struct step_facts *steps, const struct sampling *sampling, double *weights,
                                     struct tfprof_error *error);

#endif
