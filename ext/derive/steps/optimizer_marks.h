/* optimizer_marks.h: what the optimizers of a profile did, and the steps that follow from it (optimizer_steps.h). */
#ifndef TFPROF_DERIVE_STEPS_OPTIMIZER_MARKS_H
#define TFPROF_DERIVE_STEPS_OPTIMIZER_MARKS_H

#include "derive/rows.h"
#include "steps/optimizer_steps.h"

/* What optimizer_marks_find reads. */
#define OPTIMIZER_MARKS_READ                                                                               \
  {TABLE_ops, COLUMN_ops_name}, {TABLE_ops, COLUMN_ops_category}, {TABLE_ops, COLUMN_ops_thread_id},       \
      {TABLE_ops, COLUMN_ops_start_ns}, {TABLE_ops, COLUMN_ops_end_ns}, {TABLE_ops, COLUMN_ops_optimizer}

struct optimizer_marks {
  struct optimizer_steps steps; /* count is 0 where no optimizer stepped */
  string_id name;               /* of the range that ends the first of them */
  int64_t optimizer;            /* its ops.optimizer; NO_VALUE: not known */
  void *room;
};

/* Free with optimizer_marks_free, also after a failure. */
enum tfprof_status optimizer_marks_find(struct profile *profile, struct optimizer_marks *marks,
                                        struct tfprof_error *error);
void optimizer_marks_free(struct optimizer_marks *marks);
/* Tells what was taken for steps, and why, where there was a choice. */
void optimizer_marks_diagnose(struct profile *profile, const struct optimizer_marks *marks);

#endif
