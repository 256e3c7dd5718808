/* input_iterators.h: input events of a source that records the iterators of tf.data. */
#ifndef TFPROF_DERIVE_INPUT_ITERATORS_H
#define TFPROF_DERIVE_INPUT_ITERATORS_H

#include "derive/rows.h"

/* What it reads besides USER_ROWS_READ. */
#define INPUT_ITERATORS_READ \
  {TABLE_ops, COLUMN_ops_call}, {TABLE_ops, COLUMN_ops_calling_iterator}, {TABLE_ops, COLUMN_ops_element}

/* Sets parent_id, self_ns, step_id, pipeline, call_id and is_blocking of the rows that the source has. */
enum tfprof_status input_iterators_run(struct profile *profile, struct tfprof_error *error);

#endif
