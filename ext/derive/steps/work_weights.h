/* work_weights.h: for how many steps the work of devices stands that a step launched. */
#ifndef TFPROF_DERIVE_WORK_WEIGHTS_H
#define TFPROF_DERIVE_WORK_WEIGHTS_H

#include "derive/derive.h"

struct step_work {
  double weight; /* 0: others stand for it */
  bool is_warmup;
  bool is_left_out; /* its work was not recorded, or not all of it */
};

struct work_weights {
  struct step_work *steps; /* by step; scratch memory */
  uint32_t step_count;
  bool is_thinned; /* a step stands for another number of steps than one */
  bool has_warmup, has_left_out;
};

/* Reads what WORK_WEIGHTS_READ names. */
enum tfprof_status work_weights_load(const struct profile *profile, struct work_weights *work,
                                     struct tfprof_error *error);

#define WORK_WEIGHTS_READ \
  {TABLE_steps, COLUMN_steps_is_warmup}, {TABLE_steps, COLUMN_steps_ops_recorded}, \
      {TABLE_steps, COLUMN_steps_sample_weight}, {TABLE_diagnostics, COLUMN_diagnostics_reason}, \
      {TABLE_diagnostics, COLUMN_diagnostics_table_name}, \
      {TABLE_kernels, COLUMN_kernels_profile_id} /* so that its segments are there */

#endif
